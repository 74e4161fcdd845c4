/* client_place: where `faro client` finds its analyzer: at the address of its settings, or at that
 * of the newest move, which is kept in STATE.move. The analyzer may not be at its new address yet,
 * or not any more at the old one, so the address that fails gives way to the other. An address that
 * was changed in the settings is the only one: a person knows better. */
#ifndef FARO_SERVICE_CLIENT_CLIENT_PLACE_H
#define FARO_SERVICE_CLIENT_CLIENT_PLACE_H

#include "service/client/client_send.h"
#include "service/client/client_settings.h"

typedef struct faro_client_place {
  char address[FARO_URL_MAX + 1]; /* where to ask now */
  char first[FARO_URL_MAX + 1];   /* that of the settings */
  char second[FARO_URL_MAX + 1];  /* that of a standby; empty: none. The caller sets it */
  char file[FARO_CLIENT_PATH + 8];
  bool keep;       /* the file may be written */
  bool changed;    /* the settings have another address than when the move was kept */
  uint64_t stored; /* number of the move in the file; 0: none */
} faro_client_place;

/* Gives the client the move that was kept, if any. `state` may be empty. */
faro_status faro_client_place_open(faro_client_place *place, faro_client *client, const char *analyzer,
                                   const char *state, bool keep, faro_error *error) FARO_WARN_UNUSED;
/* Asks for a newer move, gives it to the client and keeps it. FARO_SYSTEM: no address answers. */
faro_status faro_client_place_look(faro_client_place *place, faro_client *client, faro_sender *sender,
                                   faro_error *error) FARO_WARN_UNUSED;
/* Turns from the address in use to the standby's, or back, because that one does not serve what is
 * needed. Documents are signed, so any address will do. False: there is no standby. */
bool faro_client_place_turn(faro_client_place *place);
/* Whether there is no need to ask again after the campaign was joined: it is not a successor, which
 * may have moved itself, and the move is kept. */
bool faro_client_place_settled(const faro_client_place *place, const faro_client *client);

#endif
