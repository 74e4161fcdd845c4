/* ledger_document: the head of a ledger as a signed document. */
#include "field/reader.h"
#include "wire/document.h"

static const char word[] = "faro-ledger-1";

static const faro_field fields[] = {
    {"campaign", FARO_FIELD_HEX, FARO_AT(faro_ledger_head, campaign)},
    {"rows", FARO_FIELD_COUNT, FARO_AT(faro_ledger_head, rows), .most = 0x1p53},
    {"hash", FARO_FIELD_HEX, FARO_AT(faro_ledger_head, hash)},
};

faro_status faro_ledger_head_write(const faro_ledger_head *head, const faro_sign_key *key, char **text,
                                   size_t *length, faro_error *error) {
  char campaign[2 * FARO_DIGEST_BYTES + 1], hash[2 * FARO_DIGEST_BYTES + 1];
  faro_text json = FARO_TEXT_INIT;
  faro_text_add(&json, "{\"campaign\":\"%s\",\"rows\":%llu,\"hash\":\"%s\"}\n",
                faro_hex_write(head->campaign, FARO_DIGEST_BYTES, campaign), (unsigned long long)head->rows,
                faro_hex_write(head->hash, FARO_DIGEST_BYTES, hash));
  return faro_document_sign(word, &json, key, NULL, text, length, error);
}

faro_status faro_ledger_head_open(faro_ledger_head *head, const char *text, size_t length,
                                  const unsigned char signer[static FARO_KEY_BYTES], faro_error *error) {
  faro_tree tree = {0};
  faro_ledger_head read = {0};
  faro_status status = faro_document_open(word, text, length, signer, NULL, &tree, error);
  if (status == FARO_OK) {
    faro_reader r = {.tree = &tree, .all = true, .error = error};
    faro_read_fields(&r, 0, NULL, fields, sizeof fields / sizeof *fields, &read);
    status = faro_reader_end(&r);
  }
  faro_tree_clear(&tree);
  if (status == FARO_OK) *head = read;
  return status;
}
