/* child: see the header. */
#include "trial/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

/* Runs between fork and exec: nothing here may allocate. */
_Noreturn static void become(const char *const *argv, int log) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(log, STDERR_FILENO);
  dup2(log, STDOUT_FILENO);
  union {
    const char *const *given;
    char *const *taken; /* execv changes nothing, but its type says that it might */
  } words = {argv};
  execv(argv[0], words.taken);
  _exit(127);
}

faro_status faro_child_start(faro_child *child, const char *const *argv, const char *log, faro_error *error) {
  const int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return faro_fail(error, FARO_SYSTEM, "cannot write %s: %s", log, strerror(errno));
  const pid_t pid = fork();
  if (pid == 0) become(argv, fd);
  close(fd);
  if (pid < 0) return faro_fail(error, FARO_SYSTEM, "cannot start %s: %s", argv[0], strerror(errno));
  child->pid = pid;
  return FARO_OK;
}

/* Writing beyond the limit fails with EFBIG (the roles ignore SIGXFSZ), which is close to a full
 * disk. The hard limit stays infinite, so the limit can be lifted again. */
void faro_child_limit(const faro_child *child, uint64_t bytes) {
  const struct rlimit limit = {.rlim_cur = bytes == UINT64_MAX ? RLIM_INFINITY : bytes,
                               .rlim_max = RLIM_INFINITY};
  if (child->pid != 0) (void)prlimit(child->pid, RLIMIT_FSIZE, &limit, NULL);
}

/* Whether it has ended; *status is that of waitpid. */
static bool reaped(faro_child *child, int *status) {
  if (child->pid == 0 || waitpid(child->pid, status, WNOHANG) != child->pid) return false;
  child->pid = 0;
  return true;
}

bool faro_child_running(faro_child *child) {
  int status = 0;
  return child->pid != 0 && !reaped(child, &status);
}

int faro_child_wait(faro_child *child, double seconds) {
  int status = 0;
  const double end = faro_clock() + seconds;
  while (!reaped(child, &status)) {
    if (child->pid == 0 || faro_clock() > end) return -1;
    faro_sleep(0.001);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int faro_child_end(faro_child *child, int number, double seconds) {
  if (child->pid == 0) return -1;
  int status = 0;
  kill(child->pid, number);
  const double end = faro_clock() + seconds;
  while (!reaped(child, &status)) {
    if (faro_clock() > end) kill(child->pid, SIGKILL);
    faro_sleep(0.001);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
