/* document: signed text, for campaigns, policies and plans.
 *
 *   faro-campaign-3 <128 hexadecimal digits>\n{...}
 *
 * What is signed and hashed is the first word, "\n" and everything after the first line. */
#ifndef FARO_WIRE_DOCUMENT_H
#define FARO_WIRE_DOCUMENT_H

#include "wire/json.h"
#include "wire/wire.h"

/* Signs the JSON, clears it, and gives the document. `digest` may be NULL. */
faro_status faro_document_sign(const char *word, faro_text *json, const faro_sign_key *key,
                               unsigned char *digest, char **text, size_t *length,
                               faro_error *error) FARO_WARN_UNUSED;
/* The digest that the document would have; clears the JSON. */
faro_status faro_document_hash(const char *word, faro_text *json,
                               unsigned char digest[static FARO_DIGEST_BYTES],
                               faro_error *error) FARO_WARN_UNUSED;
/* Verifies the signature, then parses. On FARO_OK the caller clears the tree. */
faro_status faro_document_open(const char *word, const char *text, size_t length,
                               const unsigned char signer[static FARO_KEY_BYTES], unsigned char *digest,
                               faro_tree *tree, faro_error *error) FARO_WARN_UNUSED;

/* Parses without verifying: for a document that says itself which key must have signed it. */
faro_status faro_document_read(const char *word, const char *text, size_t length, faro_tree *tree,
                               faro_error *error) FARO_WARN_UNUSED;

/* Whether a document of any kind is signed by the key; and the same document, signed by another. */
bool faro_document_is_signed(const char *text, size_t length,
                             const unsigned char signer[static FARO_KEY_BYTES]);
faro_status faro_document_sign_again(const char *text, size_t length, const faro_sign_key *key, char **again,
                                     size_t *again_length, faro_error *error) FARO_WARN_UNUSED;

/* The digest of a document of any kind, without verifying it. False if its first line is not that
 * of a document. */
bool faro_document_digest(const char *text, size_t length, unsigned char digest[static FARO_DIGEST_BYTES]);

/* Adds a number to JSON, with a decimal point in any locale. */
void faro_document_add(faro_text *json, const char *before, double value);

#endif
