/* process: see the header. sd_notify is one datagram, so libsystemd is not needed for it. */
#include "service/role/process.h"

#include <errno.h>
#include <malloc.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "service/role/log.h"

static atomic_bool ending, reloading;
static sem_t asked; /* posted when the process is asked to end, or to read files again */

/* Runs in any thread: libraries start threads before main sets up signals. */
static void on_signal(int number) {
  atomic_store(number == SIGHUP ? &reloading : &ending, true);
  sem_post(&asked);
}

faro_status faro_process_hide(faro_error *error) {
  const struct rlimit none = {0, 0};
  if (setrlimit(RLIMIT_CORE, &none) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
    return faro_fail(error, FARO_SYSTEM, "cannot turn off core dumps: %s", strerror(errno));
  mallopt(M_PERTURB, 0xA5); /* overwrites freed memory: libraries free reports too */
  return FARO_OK;
}

faro_status faro_process_begin(faro_error *error) {
  const struct sigaction notice = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  const struct sigaction ignore = {.sa_handler = SIG_IGN};
  const faro_status status = faro_process_hide(error);
  if (status != FARO_OK) return status;
  if (sem_init(&asked, 0, 0) != 0 || sigaction(SIGTERM, &notice, NULL) != 0 ||
      sigaction(SIGINT, &notice, NULL) != 0 || sigaction(SIGHUP, &notice, NULL) != 0 ||
      sigaction(SIGPIPE, &ignore, NULL) != 0 || sigaction(SIGXFSZ, &ignore, NULL) != 0)
    return faro_fail(error, FARO_SYSTEM, "cannot set up signals: %s", strerror(errno));
  return FARO_OK;
}

bool faro_process_ending(void) { return atomic_load(&ending); }

bool faro_process_wait(int milliseconds) {
  const struct timespec until = faro_clock_after(milliseconds / 1e3);
  if (!atomic_load(&ending)) (void)sem_clockwait(&asked, CLOCK_MONOTONIC, &until);
  return atomic_load(&ending);
}

bool faro_process_reloading(void) { return atomic_exchange(&reloading, false); }

void faro_process_end(void) { on_signal(0); }

bool faro_process_stopping(faro_status status) {
  const bool wanted = status == FARO_OK || (status == FARO_INTERRUPTED && faro_process_ending());
  if (!wanted) return false;
  faro_process_notify("STOPPING=1");
  faro_log(FARO_LOG_INFO, "stopping", NULL);
  return true;
}

void faro_process_stopped(bool wanted) {
  faro_log_flush();
  if (wanted) faro_log(FARO_LOG_INFO, "stopped", NULL);
}

void faro_process_notify(const char *state) {
  const char *path = getenv("NOTIFY_SOCKET");
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (!path || (*path != '/' && *path != '@') || strlen(path) >= sizeof address.sun_path) return;
  const size_t length = strlen(path);
  memcpy(address.sun_path, path, length);
  if (*path == '@') address.sun_path[0] = '\0'; /* an abstract socket */
  const int socket_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket_fd < 0) return;
  (void)sendto(socket_fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address,
               (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
  close(socket_fd);
}
