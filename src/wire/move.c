/* move: see the header. */
#include "wire/move.h"

#include <sodium.h>
#include <string.h>

#include "field/reader.h"
#include "wire/document.h"

static const char word[] = "faro-move-1";

/* What is signed besides the document itself. */

enum { MAGIC = 4, HEAD = MAGIC + FARO_DIGEST_BYTES };

/* "FRS1", digest, number of the hand-over from 0, key before, key after. */
enum { SIGNER_BYTES = HEAD + 8 + 2 * FARO_KEY_BYTES };
static void signer_bytes(const faro_move *m, size_t index, const unsigned char *to,
                         unsigned char out[static SIGNER_BYTES]) {
  memcpy(out, "FRS1", MAGIC);
  memcpy(out + MAGIC, m->campaign, FARO_DIGEST_BYTES);
  faro_store64(out + HEAD, index);
  memcpy(out + HEAD + 8, index > 0 ? m->signer[index - 1].key : m->founder, FARO_KEY_BYTES);
  memcpy(out + HEAD + 8 + FARO_KEY_BYTES, to, FARO_KEY_BYTES);
}

/* "FRC1", digest, shuffler, number of its step from 0, key, address; returns the length. */
enum { STEP_BYTES = HEAD + 4 + 8 + FARO_KEY_BYTES + FARO_URL_MAX };
static size_t step_bytes(const faro_move *m, uint64_t shuffler, uint64_t index, const char *url,
                         const unsigned char *key, unsigned char out[static STEP_BYTES]) {
  const size_t length = strnlen(url, FARO_URL_MAX);
  memcpy(out, "FRC1", MAGIC);
  memcpy(out + MAGIC, m->campaign, FARO_DIGEST_BYTES);
  faro_store32(out + HEAD, (uint32_t)shuffler);
  faro_store64(out + HEAD + 4, index);
  memcpy(out + HEAD + 12, key, FARO_KEY_BYTES);
  memcpy(out + HEAD + 12 + FARO_KEY_BYTES, url, length);
  return HEAD + 12 + FARO_KEY_BYTES + length;
}

const unsigned char *faro_move_signer_key(const faro_move *move) {
  return move->signers > 0 ? move->signer[move->signers - 1].key : move->founder;
}

const unsigned char *faro_move_key_at(const faro_move *move, size_t index) {
  if (index > move->signers) return NULL;
  return index > 0 ? move->signer[index - 1].key : move->founder;
}

static bool has_signer(const faro_move *m, const unsigned char *key) {
  bool found = memcmp(m->founder, key, FARO_KEY_BYTES) == 0;
  for (size_t i = 0; i < m->signers; i++) found = found || memcmp(m->signer[i].key, key, FARO_KEY_BYTES) == 0;
  return found;
}

faro_status faro_move_hand_over(faro_move *move, const faro_sign_key *from, const faro_sign_key *to,
                                faro_error *error) {
  unsigned char bytes[SIGNER_BYTES];
  if (move->signers == FARO_STEPS_MAX)
    return faro_fail(error, FARO_INVALID, "the signing key was changed %d times, which is the most allowed",
                     FARO_STEPS_MAX);
  if (memcmp(from->public_key, faro_move_signer_key(move), FARO_KEY_BYTES) != 0)
    return faro_fail(error, FARO_INVALID, "the old signing key must be the one that signs now");
  if (has_signer(move, to->public_key))
    return faro_fail(error, FARO_INVALID, "the new signing key must not have signed before");
  faro_move_signer *next = &move->signer[move->signers];
  signer_bytes(move, move->signers, to->public_key, bytes);
  memcpy(next->key, to->public_key, FARO_KEY_BYTES);
  crypto_sign_detached(next->by_old, NULL, bytes, sizeof bytes, from->secret);
  crypto_sign_detached(next->by_new, NULL, bytes, sizeof bytes, to->secret);
  move->signers++;
  return FARO_OK;
}

/* How many steps a shuffler has made before step `end`. */
static uint64_t steps_before(const faro_move *m, uint64_t shuffler, size_t end) {
  uint64_t count = 0;
  for (size_t i = 0; i < end; i++) count += m->step[i].shuffler == shuffler;
  return count;
}

void faro_move_consent(const faro_move *move, uint64_t shuffler, const char *url,
                       const unsigned char key[static FARO_KEY_BYTES], const faro_sign_key *now,
                       unsigned char consent[static FARO_SIGNATURE_BYTES]) {
  unsigned char bytes[STEP_BYTES];
  const size_t length =
      step_bytes(move, shuffler, steps_before(move, shuffler, move->steps), url, key, bytes);
  crypto_sign_detached(consent, NULL, bytes, length, now->secret);
}

void faro_move_none(faro_move *move, const faro_campaign *founded,
                    const unsigned char founder[static FARO_KEY_BYTES]) {
  memset(move, 0, sizeof *move);
  memcpy(move->campaign, founded->digest, FARO_DIGEST_BYTES);
  memcpy(move->founder, founder, FARO_KEY_BYTES);
  memcpy(move->analyzer, founded->analyzer, sizeof move->analyzer);
  memcpy(move->seal, founded->seal, FARO_KEY_BYTES);
}

/* Writing. */

static void add_hex(faro_text *json, const char *before, const unsigned char *bytes, size_t size) {
  char digits[2 * FARO_SIGNATURE_BYTES + 1];
  faro_text_add(json, "%s\"%s\"", before, faro_hex_write(bytes, size, digits));
}

static void add_signers(faro_text *json, const faro_move *m) {
  faro_text_add(json, ",\n\"signers\":[");
  for (size_t i = 0; i < m->signers; i++) {
    add_hex(json, i ? ",\n{\"key\":" : "{\"key\":", m->signer[i].key, FARO_KEY_BYTES);
    add_hex(json, ",\"old\":", m->signer[i].by_old, FARO_SIGNATURE_BYTES);
    add_hex(json, ",\"new\":", m->signer[i].by_new, FARO_SIGNATURE_BYTES);
    faro_text_add(json, "}");
  }
  faro_text_add(json, "]");
}

static void add_steps(faro_text *json, const faro_move *m) {
  faro_text_add(json, ",\n\"shufflers\":[");
  for (size_t i = 0; i < m->steps; i++) {
    const faro_move_step *step = &m->step[i];
    faro_text_add(json, "%s{\"shuffler\":%llu,\"url\":", i ? ",\n" : "", (unsigned long long)step->shuffler);
    faro_json_quote(json, step->url);
    add_hex(json, ",\"key\":", step->key, FARO_KEY_BYTES);
    add_hex(json, ",\"consent\":", step->consent, FARO_SIGNATURE_BYTES);
    faro_text_add(json, "}");
  }
  faro_text_add(json, "]}\n");
}

faro_status faro_move_write(const faro_move *move, const faro_sign_key *key, char **text, size_t *length,
                            faro_error *error) {
  faro_text json = FARO_TEXT_INIT;
  add_hex(&json, "{\"campaign\":", move->campaign, FARO_DIGEST_BYTES);
  faro_text_add(&json, ",\"number\":%llu", (unsigned long long)move->number);
  add_hex(&json, ",\n\"founder\":", move->founder, FARO_KEY_BYTES);
  faro_text_add(&json, ",\n\"analyzer\":{\"url\":");
  faro_json_quote(&json, move->analyzer);
  add_hex(&json, ",\"seal\":", move->seal, FARO_KEY_BYTES);
  faro_text_add(&json, "}");
  add_signers(&json, move);
  add_steps(&json, move);
  return faro_document_sign(word, &json, key, NULL, text, length, error);
}

/* Reading. */

#define AT(member) FARO_AT(faro_move, member)
#define SIGNER(member) FARO_EACH(faro_move, signer[0].member, signer)
#define STEP(member) FARO_EACH(faro_move, step[0].member, step)

static const faro_field fields[] = {
    {"campaign", FARO_FIELD_HEX, AT(campaign)},
    {"number", FARO_FIELD_COUNT, AT(number), .least = 1, .most = 0x1p53},
    {"founder", FARO_FIELD_HEX, AT(founder)},
    {"analyzer.url", FARO_FIELD_TEXT, AT(analyzer)},
    {"analyzer.seal", FARO_FIELD_HEX, AT(seal)},
    {"signers", FARO_FIELD_LIST, AT(signers), .most = FARO_STEPS_MAX},
    {"signers[].key", FARO_FIELD_HEX, SIGNER(key)},
    {"signers[].old", FARO_FIELD_HEX, SIGNER(by_old)},
    {"signers[].new", FARO_FIELD_HEX, SIGNER(by_new)},
    {"shufflers", FARO_FIELD_LIST, AT(steps), .most = FARO_STEPS_MAX},
    {"shufflers[].shuffler", FARO_FIELD_COUNT, STEP(shuffler), .most = FARO_SHUFFLERS_MAX - 1},
    {"shufflers[].url", FARO_FIELD_TEXT, STEP(url)},
    {"shufflers[].key", FARO_FIELD_HEX, STEP(key)},
    {"shufflers[].consent", FARO_FIELD_HEX, STEP(consent)},
};

static faro_status check_signers(const faro_move *m, faro_error *error) {
  for (size_t i = 0; i < m->signers; i++) {
    const faro_move_signer *next = &m->signer[i];
    const unsigned char *from = i > 0 ? m->signer[i - 1].key : m->founder;
    unsigned char bytes[SIGNER_BYTES];
    signer_bytes(m, i, next->key, bytes);
    if (crypto_sign_verify_detached(next->by_old, bytes, sizeof bytes, from) != 0 ||
        crypto_sign_verify_detached(next->by_new, bytes, sizeof bytes, next->key) != 0)
      return faro_fail(error, FARO_INVALID,
                       "signers[%zu] must be signed by the signing key before it and by its own", i);
  }
  return FARO_OK;
}

/* The document says which key signs it. That key is believed only if the hand-overs lead from the
 * pinned key to it. */
static faro_status read_move(faro_move *m, const char *text, size_t length, faro_error *error) {
  faro_tree tree = {0};
  faro_status status = faro_document_read(word, text, length, &tree, error);
  if (status == FARO_OK) {
    faro_reader r = {.tree = &tree, .all = true, .error = error};
    faro_read_fields(&r, 0, NULL, fields, sizeof fields / sizeof *fields, m);
    status = faro_reader_end(&r);
  }
  faro_tree_clear(&tree);
  return status;
}

faro_status faro_move_open(faro_move *move, const char *text, size_t length,
                           const unsigned char pinned[static FARO_KEY_BYTES], faro_error *error) {
  faro_move read;
  faro_tree tree = {0};
  memset(&read, 0, sizeof read);
  faro_status status = read_move(&read, text, length, error);
  if (status == FARO_OK)
    status = faro_document_open(word, text, length, faro_move_signer_key(&read), NULL, &tree, error);
  faro_tree_clear(&tree);
  if (status == FARO_OK) status = check_signers(&read, error);
  if (status == FARO_OK && !has_signer(&read, pinned))
    status = faro_fail(error, FARO_INVALID,
                       "the pinned key is neither the founder's nor that of a later signer of this move");
  if (status == FARO_OK) *move = read;
  return status;
}

faro_status faro_move_follows(const faro_move *before, const faro_move *next, bool *newer,
                              faro_error *error) {
  *newer = next->number > before->number;
  const bool same = memcmp(before, next, sizeof *next) == 0;
  if (same) return FARO_OK;
  if (memcmp(before->campaign, next->campaign, FARO_DIGEST_BYTES) != 0 ||
      memcmp(before->founder, next->founder, FARO_KEY_BYTES) != 0)
    return faro_fail(error, FARO_INVALID, "the move is of another campaign or founder than the one before");
  if (!*newer)
    return faro_fail(error, FARO_OLD, "move %llu was seen before, and this one has number %llu",
                     (unsigned long long)before->number, (unsigned long long)next->number);
  const bool extends = next->signers >= before->signers && next->steps >= before->steps &&
                       memcmp(before->signer, next->signer, before->signers * sizeof *next->signer) == 0 &&
                       memcmp(before->step, next->step, before->steps * sizeof *next->step) == 0;
  if (extends) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "move %llu does not contain the hand-overs of move %llu, which was seen before: somebody "
                   "who holds an old key may have made it",
                   (unsigned long long)next->number, (unsigned long long)before->number);
}

static faro_status take_step(const faro_move *m, size_t index, faro_campaign *c, faro_error *error) {
  const faro_move_step *step = &m->step[index];
  unsigned char bytes[STEP_BYTES];
  if (step->shuffler >= c->shufflers)
    return faro_fail(error, FARO_INVALID, "shufflers[%zu].shuffler must be below %zu (got %llu)", index,
                     c->shufflers, (unsigned long long)step->shuffler);
  faro_campaign_shuffler *shuffler = &c->shuffler[step->shuffler];
  const size_t length =
      step_bytes(m, step->shuffler, steps_before(m, step->shuffler, index), step->url, step->key, bytes);
  if (crypto_sign_verify_detached(step->consent, bytes, length, shuffler->key) != 0)
    return faro_fail(
        error, FARO_INVALID,
        "shufflers[%zu].consent is not that of shuffler %llu: a shuffler's address and key change "
        "only with its consent, signed by the key that it had before",
        index, (unsigned long long)step->shuffler);
  memcpy(shuffler->url, step->url, sizeof shuffler->url);
  memcpy(shuffler->key, step->key, FARO_KEY_BYTES);
  return FARO_OK;
}

faro_status faro_move_apply(const faro_move *move, const faro_campaign *founded, faro_campaign *now,
                            faro_error *error) {
  faro_campaign c = *founded;
  faro_status status = FARO_OK;
  if (memcmp(move->campaign, founded->digest, FARO_DIGEST_BYTES) != 0)
    status = faro_fail(error, FARO_INVALID, "the move does not belong to campaign %s", founded->id);
  for (size_t i = 0; status == FARO_OK && i < move->steps; i++) status = take_step(move, i, &c, error);
  memcpy(c.analyzer, move->analyzer, sizeof c.analyzer);
  memcpy(c.seal, move->seal, FARO_KEY_BYTES);
  if (status == FARO_OK) status = faro_campaign_check_places(&c, faro_move_signer_key(move), error);
  if (status == FARO_OK) *now = c;
  return status;
}
