/* many: for a process that reports for many clients, such as the simulated clients of a trial. */
#ifndef FARO_CLIENT_MANY_H
#define FARO_CLIENT_MANY_H

#include <faro/client.h>

/* From now on this is another client, which has neither reported nor played. It keeps campaign and
 * policy, and the token; the caller restamps reports (faro_wire_report_restamp). */
void faro_client_change(faro_client *client);

#endif
