/* document: signed text, the same for campaigns and policies.
 *
 *   faro-campaign-1 <128 hexadecimal digits>\n{...}
 *
 * What is signed, and hashed, is the word, "\n" and all that follows the line. */
#ifndef FARO_WIRE_DOCUMENT_H
#define FARO_WIRE_DOCUMENT_H

#include "wire/json.h"
#include "wire/wire.h"

/* Takes the JSON over (releases it) and gives out the document. `digest` may be NULL. */
faro_status faro_document_sign(const char *word, faro_text *json, const faro_sign_key *key,
                               unsigned char *digest, char **text, size_t *length,
                               faro_error *error) FARO_WARN_UNUSED;
/* Verifies, then parses. Clear the tree if it was FARO_OK. */
faro_status faro_document_open(const char *word, const char *text, size_t length,
                               const unsigned char signer[static FARO_KEY_BYTES], unsigned char *digest,
                               faro_tree *tree, faro_error *error) FARO_WARN_UNUSED;

/* Numbers of JSON are written with a point in any locale. */
void faro_document_add(faro_text *json, const char *before, double value);

#endif
