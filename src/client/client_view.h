/* client_view: the campaign of a client as a whole, for programs of this tree. Applications ask
 * faro_client_terms_of. */
#ifndef FARO_CLIENT_CLIENT_VIEW_H
#define FARO_CLIENT_CLIENT_VIEW_H

#include <faro/client.h>

#include "wire/wire.h"

/* With the addresses and keys of now; NULL before a campaign. Valid until the next document. */
const faro_campaign *faro_client_view(const faro_client *client);

#endif
