/* child: processes of a trial. Started with their standard error in a file, ended by their id alone. */
#ifndef FARO_TRIAL_CHILD_H
#define FARO_TRIAL_CHILD_H

#include <faro/base.h>
#include <sys/types.h>

typedef struct faro_child {
  pid_t pid; /* 0: not running */
} faro_child;

/* argv ends with NULL; what the child says is added to the file `log`. It is killed when the thread that started it ends,
 * however that happens. */
faro_status faro_child_start(faro_child *child, const char *const *argv, const char *log,
                             faro_error *error) FARO_WARN_UNUSED;
/* From now on no file of the child may grow beyond so many bytes: a full disk, for it. UINT64_MAX: there is room again. */
void faro_child_limit(const faro_child *child, uint64_t bytes);
bool faro_child_running(faro_child *child);
/* Sends the signal and waits for the end; killed after `seconds`. The exit status, -1 where a signal ended it. */
int faro_child_end(faro_child *child, int signal, double seconds);

#endif
