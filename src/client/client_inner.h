/* client_inner: what the files of a client share. */
#ifndef FARO_CLIENT_CLIENT_INNER_H
#define FARO_CLIENT_CLIENT_INNER_H

#include <faro/client.h>

#include "wire/wire.h"

/* The campaign as a whole, with the addresses and keys of now; NULL before a campaign. Valid until
 * the next document. */
const faro_campaign *faro_client_view(const faro_client *client);
/* The address for the part of a shuffler, from 0; NULL if the campaign has no such shuffler. */
const char *faro_client_address(const faro_client *client, size_t shuffler);
/* Whether one more message of this client is covered, wherever every message counts that left the
 * device, accepted or not: for the local releases, and for what a shuffled claim promises even if
 * shufflers and analyzer collude. */
bool faro_client_covered(const faro_client *client);
/* Whether a refused report may be made again, with new noise, for a later batch (docs/privacy.md,
 * "Late rewards"). */
bool faro_client_remakes(const faro_client *client);

#endif
