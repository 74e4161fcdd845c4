/* place: where a shuffler finds its analyzer, and which keys hold. The settings and the campaign
 * say it first; moves (wire/move.h) change it. The newest move is kept in STATE.move, and an older
 * one is never followed again. A move is kept only after it was found to fit to the campaign.
 *
 * The analyzer may not be at its new address yet, or not any more at its old one, and a standby may
 * have taken over. So there are up to three addresses, that of the move and two of the settings,
 * and the one that failed gives way to the next.
 *
 * The highest epoch that an analyzer has proven (wire.h) is kept in STATE.epoch: the shuffler deals
 * with no analyzer of a lower one any more. All functions may be called from any thread. */
#ifndef FARO_SERVICE_SHUFFLER_PLACE_H
#define FARO_SERVICE_SHUFFLER_PLACE_H

#include "service/http/sender.h"
#include "service/shuffler/shuffler_settings.h"
#include "wire/move.h"

typedef struct faro_place faro_place;

/* Reads STATE.move if it exists. The settings must outlive the place. */
faro_status faro_place_create(faro_place **place, const faro_shuffler_settings *settings,
                              faro_error *error) FARO_WARN_UNUSED;
void faro_place_destroy(faro_place *place); /* NULL is allowed */

/* The key that signed the campaign: the pinned one, or the founder's if the pinned one is later. */
void faro_place_founder(faro_place *place, unsigned char key[static FARO_KEY_BYTES]);
/* The key that signs policies and plans now. */
void faro_place_signer(faro_place *place, unsigned char key[static FARO_KEY_BYTES]);
/* Gives the campaign, as it was founded, the addresses and keys of the move, if there is one. Later
 * moves must fit to the same campaign. */
faro_status faro_place_apply(faro_place *place, faro_campaign *campaign, faro_error *error) FARO_WARN_UNUSED;
/* The newest move; number 0 if there is none. */
void faro_place_move(faro_place *place, const faro_campaign *campaign, faro_move *move);

/* The address to ask now, and what to call if it does not answer. */
void faro_place_address(faro_place *place, char url[static FARO_URL_MAX + 1]);
void faro_place_failed(faro_place *place);
/* The address with this index; false if there are fewer. The one in use, and to use another. */
enum { FARO_PLACES = 3 };
bool faro_place_at(faro_place *place, size_t index, char url[static FARO_URL_MAX + 1]);
size_t faro_place_now(faro_place *place);
void faro_place_use(faro_place *place, size_t index);
/* The highest epoch, and its proof. */
uint64_t faro_place_epoch(faro_place *place, unsigned char proof[static FARO_SIGNATURE_BYTES]);
/* An analyzer of the campaign says which epoch it has. FARO_OLD: a higher one was seen;
 * FARO_INVALID: the proof is wrong. A higher one is durable on return. */
faro_status faro_place_see(faro_place *place, const unsigned char digest[static FARO_DIGEST_BYTES],
                           uint64_t epoch, const unsigned char proof[static FARO_SIGNATURE_BYTES],
                           faro_error *error) FARO_WARN_UNUSED;
/* Asks for a newer move, and keeps it. A move that is refused is logged. */
void faro_place_look(faro_place *place, faro_sender *sender);

#endif
