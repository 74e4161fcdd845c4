/* process: what every role does with its process: no core dumps, a graceful end, readiness told to systemd. */
#ifndef FARO_SERVICE_ROLE_PROCESS_H
#define FARO_SERVICE_ROLE_PROCESS_H

#include <faro/base.h>

/* Core dumps and debuggers off (a dump would hold reports), freed memory overwritten. Part of begin, and all that a command
 * needs which ends by signals as others do. */
faro_status faro_process_hide(faro_error *error) FARO_WARN_UNUSED;

/* Before any thread is made. Hides, ignores signals for what a call's status says too (SIGPIPE, SIGXFSZ); SIGTERM and
 * SIGINT are told by faro_process_wait. */
faro_status faro_process_begin(faro_error *error) FARO_WARN_UNUSED;

/* Waits until a signal asks for the end (true), at most so many milliseconds (false). Once true, always true. */
bool faro_process_wait(int milliseconds);
bool faro_process_ending(void);
/* As if a signal had come: a role that cannot go on ends all of it. */
void faro_process_end(void);

/* "READY=1", "STOPPING=1" to $NOTIFY_SOCKET, where systemd set one. */
void faro_process_notify(const char *state);

#endif
