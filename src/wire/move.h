/* move: how the addresses and keys of a campaign change. The campaign itself, its digest, its
 * budget and all sequence numbers stay as they are.
 *
 * A move is a signed document that says everything anew: the analyzer's address and sealing key,
 * each hand-over of the signing key since the campaign was founded, and each step of a shuffler to
 * another address or key. Moves are numbered, and the newest one is enough.
 *
 *   founder --(old and new key sign)--> signer 1 --(both sign)--> signer 2 ... signs the move
 *   shuffler's key in the campaign --(signs)--> its next address and key --(signs)--> ...
 *
 * Each hand-over is signed by both keys, so a reader that pins any of them can verify all. A step
 * of a shuffler is signed by the shuffler's own key: neither the analyzer alone nor the shuffler
 * alone can send clients elsewhere. docs/protocol.md gives the bytes, docs/threat-model.md the
 * reasons. */
#ifndef FARO_WIRE_MOVE_H
#define FARO_WIRE_MOVE_H

#include "wire/wire.h"

enum { FARO_STEPS_MAX = 64 }; /* hand-overs of the signing key; steps of all shufflers together */

typedef struct faro_move_signer {
  unsigned char key[FARO_KEY_BYTES];
  unsigned char by_old[FARO_SIGNATURE_BYTES], by_new[FARO_SIGNATURE_BYTES];
} faro_move_signer;

typedef struct faro_move_step {
  uint64_t shuffler;
  char url[FARO_URL_MAX + 1];
  unsigned char key[FARO_KEY_BYTES];
  unsigned char consent[FARO_SIGNATURE_BYTES]; /* by the key that the shuffler had before */
} faro_move_step;

typedef struct faro_move {
  unsigned char campaign[FARO_DIGEST_BYTES];
  uint64_t number;                       /* from 1 */
  unsigned char founder[FARO_KEY_BYTES]; /* the key that signed the campaign */
  char analyzer[FARO_URL_MAX + 1];
  unsigned char seal[FARO_KEY_BYTES];
  size_t signers; /* hand-overs, in order */
  faro_move_signer signer[FARO_STEPS_MAX];
  size_t steps; /* of shufflers, in order */
  faro_move_step step[FARO_STEPS_MAX];
} faro_move;

/* The key that signs now, and the i-th one since the founder's, which is 0; NULL past the last. */
const unsigned char *faro_move_signer_key(const faro_move *move);
const unsigned char *faro_move_key_at(const faro_move *move, size_t index);

/* Adds a hand-over to a new signing key. */
faro_status faro_move_hand_over(faro_move *move, const faro_sign_key *from, const faro_sign_key *to,
                                faro_error *error) FARO_WARN_UNUSED;
/* The consent of a shuffler, under its key of now, to its next address and key. */
void faro_move_consent(const faro_move *move, uint64_t shuffler, const char *url,
                       const unsigned char key[static FARO_KEY_BYTES], const faro_sign_key *now,
                       unsigned char consent[static FARO_SIGNATURE_BYTES]);

/* Writes the move as a document, signed by the key of now; free() it. */
faro_status faro_move_write(const faro_move *move, const faro_sign_key *key, char **text, size_t *length,
                            faro_error *error) FARO_WARN_UNUSED;
/* Reads a document strictly and verifies its signature and all hand-overs. `pinned` must be the key
 * of the founder or of a later signer. The steps of shufflers are checked by faro_move_apply. */
faro_status faro_move_open(faro_move *move, const char *text, size_t length,
                           const unsigned char pinned[static FARO_KEY_BYTES],
                           faro_error *error) FARO_WARN_UNUSED;
/* Whether a reader that has seen `before` may accept `next`: it has a higher number, and what was
 * handed over before is part of it. *newer: false if it is the same move. FARO_OLD: its number is
 * not higher. */
faro_status faro_move_follows(const faro_move *before, const faro_move *next, bool *newer,
                              faro_error *error) FARO_WARN_UNUSED;
/* Checks every step of a shuffler, and gives the campaign with the addresses and keys of now.
 * `founded` is the campaign as its document says; `now` may be the same object. */
faro_status faro_move_apply(const faro_move *move, const faro_campaign *founded, faro_campaign *now,
                            faro_error *error) FARO_WARN_UNUSED;
/* The move that changes nothing, number 0: where the first real one starts. */
void faro_move_none(faro_move *move, const faro_campaign *founded,
                    const unsigned char founder[static FARO_KEY_BYTES]);

#endif
