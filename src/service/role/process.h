/* process: what every role sets up: no core dumps, a graceful end, notices to systemd. */
#ifndef FARO_SERVICE_ROLE_PROCESS_H
#define FARO_SERVICE_ROLE_PROCESS_H

#include <faro/base.h>

/* Turns off core dumps and debuggers (a dump would hold reports) and overwrites freed memory.
 * faro_process_begin does this too; a command that ends by signals in the usual way needs only
 * this. */
faro_status faro_process_hide(faro_error *error) FARO_WARN_UNUSED;

/* Call it before any thread is created. Hides the process, ignores SIGPIPE and SIGXFSZ (the calls
 * report these errors), and lets faro_process_wait report SIGTERM and SIGINT, and
 * faro_process_reloading SIGHUP. */
faro_status faro_process_begin(faro_error *error) FARO_WARN_UNUSED;

/* Waits until a signal asks the process to end (true), or the time is up or another signal came
 * (false). Once true, always true. */
bool faro_process_wait(int milliseconds);
/* Whether a signal has asked the process to read its files again since the last call. */
bool faro_process_reloading(void);
bool faro_process_ending(void);
/* Acts as if such a signal had come: for a role that cannot go on. */
void faro_process_end(void);

/* The end of a role. First: whether it was asked to end, or failed with this status; if asked,
 * systemd and the log are told. Then, when its parts have stopped: the last line of the log. */
bool faro_process_stopping(faro_status status);
void faro_process_stopped(bool wanted);

/* Sends "READY=1", "STOPPING=1" and so on to $NOTIFY_SOCKET, if systemd has set it. */
void faro_process_notify(const char *state);

#endif
