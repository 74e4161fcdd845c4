/* child: a process of a trial. Its output goes to a file; it is ended by its process id only. */
#ifndef FARO_TRIAL_CHILD_H
#define FARO_TRIAL_CHILD_H

#include <faro/base.h>
#include <sys/types.h>

typedef struct faro_child {
  pid_t pid; /* 0: not running */
} faro_child;

/* argv ends with NULL. Output is appended to the file `log`. The child is killed when the thread
 * that started it ends, for whatever reason. */
faro_status faro_child_start(faro_child *child, const char *const *argv, const char *log,
                             faro_error *error) FARO_WARN_UNUSED;
/* Limits the size of the child's files from now on, like a full disk. UINT64_MAX: no limit. */
void faro_child_limit(const faro_child *child, uint64_t bytes);
bool faro_child_running(faro_child *child);
/* Waits until the child ends by itself. Returns its exit status, -1 if a signal ended it or if it
 * still runs after `seconds`. */
int faro_child_wait(faro_child *child, double seconds);
/* Sends the signal and waits for the end; kills the child after `seconds`. Returns the exit status,
 * -1 if a signal ended it. */
int faro_child_end(faro_child *child, int signal, double seconds);

#endif
