/* vectors: files that every implementation of the protocol must read, or refuse, as
 * tests/service/vectors/manifest says. A line of it has five fields separated by tabs: file, check,
 * the campaign it is read with, what it is, and the outcome.
 *
 * FARO_BLESS=1 writes all of them again, from fixed keys, with their outcomes; read them before
 * they are committed. These keys are public: they are for tests only. */
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "support/support.h"
#include "wire/split.h"

#define FOLDER "tests/service/vectors/"
enum { D = 2, ENTRIES = 5, LIMIT = 1 << 21, DIRECTION = 100 };

static faro_sign_key analyzer, shuffler, stranger, adder;
static faro_seal_key box, other_box, adder_box;

static void sign_key(faro_sign_key *key, unsigned char seed_byte) {
  unsigned char seed[crypto_sign_SEEDBYTES];
  memset(seed, seed_byte, sizeof seed);
  crypto_sign_seed_keypair(key->public_key, key->secret, seed);
}

static void seal_key(faro_seal_key *key, unsigned char seed_byte) {
  unsigned char seed[crypto_box_SEEDBYTES];
  memset(seed, seed_byte, sizeof seed);
  crypto_box_seed_keypair(key->public_key, key->secret, seed);
}

static int make_keys(void **state) {
  (void)state;
  if (sodium_init() < 0) return 1;
  sign_key(&analyzer, 1);
  sign_key(&shuffler, 2);
  sign_key(&stranger, 3);
  seal_key(&box, 4);
  seal_key(&other_box, 5);
  sign_key(&adder, 7);
  seal_key(&adder_box, 8);
  return 0;
}

/* The outcome of a file. */

typedef struct loaded {
  char *bytes;
  size_t length;
} loaded;

static loaded load(const char *file) {
  char path[512];
  loaded l = {0};
  snprintf(path, sizeof path, FOLDER "%s", file);
  assert_ok(faro_read_file(path, LIMIT, &l.bytes, &l.length, error));
  return l;
}

static void describe_campaign(faro_text *out, const loaded *l) {
  faro_campaign c = {0};
  faro_error e = {0};
  char digest[2 * FARO_DIGEST_BYTES + 1];
  if (faro_campaign_open(&c, l->bytes, l->length, analyzer.public_key, &e) != FARO_OK)
    return faro_text_add(out, "refused: %s", e.message);
  faro_text_add(out, "ok: id %s, release %s, %zu bytes a report, digest %s", c.id, c.release->name,
                faro_wire_report_size(&c), faro_hex_write(c.digest, FARO_DIGEST_BYTES, digest));
}

static void describe_policy(faro_text *out, const loaded *l) {
  faro_policy_document document = {0};
  faro_error e = {0};
  if (faro_policy_document_open(&document, l->bytes, l->length, analyzer.public_key, &e) != FARO_OK)
    return faro_text_add(out, "refused: %s", e.message);
  const faro_policy p = document.policy;
  faro_text_add(out, "ok: version %llu, rule %d, beta %.17g, explore %.17g, theta",
                (unsigned long long)p.version, (int)p.rule, p.beta, p.explore);
  for (size_t i = 0; i < p.dimension; i++) faro_text_add(out, " %.17g", p.theta[i]);
  faro_text_add(out, ", w");
  for (size_t i = 0; i < p.dimension * (p.dimension + 1) / 2; i++) faro_text_add(out, " %.17g", p.w[i]);
  for (size_t i = 0; document.at && i < p.dimension; i++)
    faro_text_add(out, "%s %.17g", i == 0 ? ", at" : "", document.at[i]);
  faro_policy_document_clear(&document);
}

static void describe_plan(faro_text *out, const faro_campaign *c, const loaded *l) {
  static faro_plan_document plan;
  faro_plan_row row;
  faro_error e = {0};
  char digest[2 * FARO_DIGEST_BYTES + 1];
  if (faro_plan_document_open(&plan, l->bytes, l->length, analyzer.public_key, &e) != FARO_OK)
    return faro_text_add(out, "refused: %s", e.message);
  if (faro_campaign_in_phases(c) && faro_plan_check(c, &plan, &row, &e) != FARO_OK)
    return faro_text_add(out, "refused by the campaign: %s", e.message);
  faro_text_add(out, "ok: version %llu, phase %llu, best %llu of %llu, size %llu, play",
                (unsigned long long)plan.version, (unsigned long long)plan.phase,
                (unsigned long long)plan.best, (unsigned long long)plan.left, (unsigned long long)plan.size);
  for (size_t i = 0; i < plan.arms; i++)
    faro_text_add(out, " %llu:%llu", (unsigned long long)plan.play[i].arm,
                  (unsigned long long)plan.play[i].pulls);
  faro_text_add(out, ", digest %s", faro_hex_write(plan.digest, FARO_DIGEST_BYTES, digest));
}

static void describe_body(faro_text *out, const faro_campaign *c, uint64_t batch, const unsigned char *body) {
  int64_t numbers[ENTRIES] = {0};
  faro_error e = {0};
  if (faro_campaign_form(c) == FARO_WIRE_BITS)
    for (size_t i = 0; i < c->entries; i++) numbers[i] = faro_load32(body + 4 * i);
  else if (faro_wire_report_unseal(c, &box, batch, body, numbers, &e) != FARO_OK)
    return faro_text_add(out, ", refused when opened: %s", e.message);
  faro_text_add(out, ", numbers");
  for (size_t i = 0; i < c->entries; i++) faro_text_add(out, " %lld", (long long)numbers[i]);
}

static void describe_report(faro_text *out, const faro_campaign *c, const loaded *l) {
  faro_wire_report r = {0};
  faro_error e = {0};
  char token[2 * FARO_TOKEN_BYTES + 1];
  if (faro_wire_report_read(c, (unsigned char *)l->bytes, l->length, &r, &e) != FARO_OK)
    return faro_text_add(out, "refused: %s", e.message);
  faro_text_add(out, "ok: version %llu, sequence %llu, shuffler %u, token %s", (unsigned long long)r.version,
                (unsigned long long)r.sequence, r.shuffler, faro_hex_write(r.token, FARO_TOKEN_BYTES, token));
  describe_body(out, c, r.version - 1, r.body);
}

static void describe_batch(faro_text *out, const faro_campaign *c, const loaded *l) {
  faro_batch b = {0};
  faro_error e = {0};
  if (faro_batch_read(c, (unsigned char *)l->bytes, l->length, &b, &e) != FARO_OK)
    return faro_text_add(out, "refused: %s", e.message);
  faro_text_add(out, "ok: shuffler %u, batch %llu, reports %llu", b.shuffler, (unsigned long long)b.number,
                (unsigned long long)b.count);
  if (faro_campaign_form(c) != FARO_WIRE_BITS) return describe_body(out, c, b.number, b.body);
  faro_text_add(out, ", totals");
  for (size_t i = 0; i < ENTRIES; i++)
    faro_text_add(out, " %llu", (unsigned long long)faro_load64(b.body + 8 * i));
}

/* Split counts: what shuffler and adder together make of a report. */
static void describe_split(faro_text *out, const faro_campaign *c, const loaded *l) {
  faro_wire_report r = {0};
  faro_error e = {0};
  unsigned char share[8 * ENTRIES] = {0};
  uint64_t mask[ENTRIES] = {0};
  if (faro_wire_report_read(c, (unsigned char *)l->bytes, l->length, &r, &e) != FARO_OK)
    return faro_text_add(out, "refused: %s", e.message);
  faro_split_add(c, r.body, share);
  faro_text_add(out, "ok: shares");
  for (size_t i = 0; i < ENTRIES; i++)
    faro_text_add(out, " %llu", (unsigned long long)faro_load64(share + 8 * i));
  if (faro_share_add(c, &adder_box, r.body + faro_split_packed(c), mask, &e) != FARO_OK)
    return faro_text_add(out, ", refused by the adder: %s", e.message);
  faro_text_add(out, ", mask");
  for (size_t i = 0; i < ENTRIES; i++) faro_text_add(out, " %llu", (unsigned long long)mask[i]);
}

static void describe_shares(faro_text *out, const faro_campaign *c, const loaded *l) {
  faro_batch b = {0};
  faro_error e = {0};
  if (faro_shares_read(c, (unsigned char *)l->bytes, l->length, &b, &e) != FARO_OK)
    return faro_text_add(out, "refused: %s", e.message);
  faro_text_add(out, "ok: shuffler %u, batch %llu, reports %llu", b.shuffler, (unsigned long long)b.number,
                (unsigned long long)b.count);
}

static void describe_joined(faro_text *out, const faro_campaign *c, const loaded *l) {
  faro_batch b = {0};
  faro_error e = {0};
  int64_t totals[ENTRIES];
  if (faro_batch_read(c, (unsigned char *)l->bytes, l->length, &b, &e) != FARO_OK)
    return faro_text_add(out, "refused: %s", e.message);
  if (faro_split_join(c, &b, &box, totals, &e) != FARO_OK)
    return faro_text_add(out, "ok, but spoiled: %s", e.message);
  faro_text_add(out, "ok: batch %llu, totals", (unsigned long long)b.number);
  for (size_t i = 0; i < ENTRIES; i++) faro_text_add(out, " %lld", (long long)totals[i]);
}

static void describe_notice(faro_text *out, const faro_campaign *c, const loaded *l) {
  faro_batch b = {0};
  faro_error e = {0};
  if (faro_notice_read(c, l->bytes, l->length, &b, &e) != FARO_OK)
    return faro_text_add(out, "refused: %s", e.message);
  faro_text_add(out, "ok: shuffler %u, batch %llu, reports %llu", b.shuffler, (unsigned long long)b.number,
                (unsigned long long)b.count);
}

/* A direction of responses: the seed, the index, and its first numbers, as the stream gives them.
 */
static void describe_direction(faro_text *out, const loaded *l) {
  unsigned long long seed = 0, index = 0;
  int at = 0;
  size_t count = 0;
  faro_sim_rng sim;
  assert_int_equal(sscanf(l->bytes, "%llu %llu%n", &seed, &index, &at), 2);
  faro_sim_open(&sim, seed, index, FARO_ROLE_DIRECTION);
  for (char *text = l->bytes + at, *end; count < DIRECTION; text = end, count++) {
    const double stated = strtod(text, &end);
    assert_true(end > text);
    assert_close(stated, faro_sim_normal(&sim), 1e-12);
  }
  faro_text_add(out, "ok: %zu numbers", count);
}

/* A checkout sets its own file modes, so a key is read from a file of its own. Its name must not be
 * part of the outcome. */
static void describe_key(faro_text *out, const char *kind, const loaded *l) {
  faro_error e = {0};
  faro_sign_key sign;
  faro_seal_key seal;
  unsigned char public_key[FARO_KEY_BYTES];
  char digits[2 * FARO_KEY_BYTES + 1];
  char before[4096];
  char folder[] = "/tmp/faro-vector-XXXXXX";
  assert_non_null(getcwd(before, sizeof before));
  assert_non_null(mkdtemp(folder));
  assert_int_equal(chdir(folder), 0);
  const int fd = open("key", O_WRONLY | O_CREAT | O_EXCL, 0600);
  assert_true(fd >= 0 && write(fd, l->bytes, l->length) == (ssize_t)l->length);
  close(fd);
  faro_status status = FARO_OK;
  if (strcmp(kind, FARO_SIGN_SECRET) == 0) {
    status = faro_sign_key_load("key", &sign, &e);
    if (status == FARO_OK) memcpy(public_key, sign.public_key, sizeof public_key);
  } else if (strcmp(kind, FARO_SEAL_SECRET) == 0) {
    status = faro_seal_key_load("key", &seal, &e);
    if (status == FARO_OK) memcpy(public_key, seal.public_key, sizeof public_key);
  } else status = faro_key_load("key", kind, public_key, sizeof public_key, &e);
  assert_int_equal(unlink("key"), 0);
  assert_int_equal(chdir(before), 0);
  assert_int_equal(rmdir(folder), 0);
  if (status != FARO_OK) faro_text_add(out, "refused: %s", e.message);
  else faro_text_add(out, "ok: public key %s", faro_hex_write(public_key, FARO_KEY_BYTES, digits));
}

/* Reports and batches of a campaign in phases are read with its first plan. */
static void follow_plan(faro_campaign *c) {
  static faro_plan_document plan;
  faro_plan_row row;
  const loaded document = load("plan-good");
  assert_ok(faro_plans_create(&c->plans, 1, error));
  assert_ok(faro_plan_document_open(&plan, document.bytes, document.length, analyzer.public_key, error));
  assert_ok(faro_plan_check(c, &plan, &row, error));
  assert_ok(faro_plans_add(c->plans, &row, error));
  free(document.bytes);
}

static void describe(faro_text *out, const char *file, const char *check, const char *with) {
  const loaded l = load(file);
  faro_campaign c = {0};
  if (strcmp(with, "-") != 0) {
    const loaded document = load(with);
    assert_ok(faro_campaign_open(&c, document.bytes, document.length, analyzer.public_key, error));
    free(document.bytes);
  }
  if (faro_campaign_in_phases(&c) && strcmp(check, "plan") != 0) follow_plan(&c);
  if (strcmp(check, "campaign") == 0) describe_campaign(out, &l);
  else if (strcmp(check, "plan") == 0) describe_plan(out, &c, &l);
  else if (strcmp(check, "policy") == 0) describe_policy(out, &l);
  else if (strcmp(check, "report") == 0) describe_report(out, &c, &l);
  else if (strcmp(check, "batch") == 0) describe_batch(out, &c, &l);
  else if (strcmp(check, "split") == 0) describe_split(out, &c, &l);
  else if (strcmp(check, "shares") == 0) describe_shares(out, &c, &l);
  else if (strcmp(check, "joined") == 0) describe_joined(out, &c, &l);
  else if (strcmp(check, "notice") == 0) describe_notice(out, &c, &l);
  else if (strcmp(check, "direction") == 0) describe_direction(out, &l);
  else describe_key(out, check, &l);
  faro_plans_destroy(c.plans);
  free(l.bytes);
  assert_false(out->failed);
  /* The accountant computes how large entries may be: the last digits may differ between
   * machines. */
  char *limit = strstr(out->data, " must be ");
  const bool theirs =
      strstr(out->data, "entry ") || strstr(out->data, "total ") || strstr(out->data, "encoding ");
  if (limit && theirs) strcpy(limit + 9, "...");
}

/* Making them. */

static FILE *manifest;

static void emit(const char *file, const char *check, const char *with, const char *what, const void *bytes,
                 size_t length) {
  char path[512];
  snprintf(path, sizeof path, FOLDER "%s", file);
  FILE *out = fopen(path, "wb");
  assert_non_null(out);
  assert_int_equal(fwrite(bytes, 1, length, out), length);
  assert_int_equal(fclose(out), 0);
  faro_text result = FARO_TEXT_INIT;
  describe(&result, file, check, with);
  fprintf(manifest, "%s\t%s\t%s\t%s\t%s\n", file, check, with, what, result.data);
  faro_text_clear(&result);
}

static faro_campaign campaign_of(const char *kind, size_t shufflers) {
  faro_campaign c = {.release = faro_release_kind_find(kind),
                     .arms = 10,
                     .centre = 0.5,
                     .learner = "linucb",
                     .failure = 0.1};
  snprintf(c.id, sizeof c.id, "vector-%s", kind);
  assert_ok(faro_contribution_init(&c.contribution, D, 1, -1, 1, error));
  c.params = (faro_release_params){.epsilon = 1,
                                   .delta = 1e-6,
                                   .horizon = 1000,
                                   .batch = 50,
                                   .shufflers = shufflers > 1 ? shufflers : 0,
                                   .level = FARO_LEVEL_USER,
                                   .contributions = 2,
                                   .honest = shufflers > 0 ? 0.9 : 1,
                                   .calibration = FARO_CALIBRATION_TIGHT};
  memcpy(c.seal, box.public_key, sizeof c.seal);
  snprintf(c.analyzer, sizeof c.analyzer, "https://analyzer.example");
  c.shufflers = shufflers;
  for (size_t i = 0; i < shufflers; i++) {
    snprintf(c.shuffler[i].url, sizeof c.shuffler[i].url, "https://shuffler-%zu.example:8443", i);
    memcpy(c.shuffler[i].key, shuffler.public_key, FARO_KEY_BYTES);
  }
  return c;
}

/* A document as docs/protocol.md defines it, without the library's own writer. */
static loaded sign(const char *word, const char *json, size_t length, const faro_sign_key *key) {
  const size_t head = strlen(word) + 1;
  unsigned char *bytes = malloc(head + length);
  unsigned char signature[FARO_SIGNATURE_BYTES];
  char digits[2 * FARO_SIGNATURE_BYTES + 1];
  snprintf((char *)bytes, head, "%s", word);
  bytes[head - 1] = '\n';
  memcpy(bytes + head, json, length);
  crypto_sign_detached(signature, NULL, bytes, head + length, key->secret);
  free(bytes);
  loaded l = {.length = strlen(word) + 1 + 2 * FARO_SIGNATURE_BYTES + 1 + length};
  l.bytes = malloc(l.length + 1);
  const int line = sprintf(l.bytes, "%s %s\n", word, faro_hex_write(signature, sizeof signature, digits));
  memcpy(l.bytes + line, json, length);
  return l;
}

/* The text with `from`, which must be there, replaced once. */
static char *edited(const char *text, const char *from, const char *to) {
  const char *at = strstr(text, from);
  if (!at) fail_msg("\"%s\" is not in: %s", from, text);
  char *out = malloc(strlen(text) + strlen(to) + 1);
  sprintf(out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  return out;
}

typedef struct edit {
  const char *name, *what, *from, *to;
} edit;

static void emit_edits(const char *word, const char *check, const char *json, const edit *edits,
                       size_t count) {
  for (size_t i = 0; i < count; i++) {
    char file[128];
    snprintf(file, sizeof file, "%s-%s", check, edits[i].name);
    char *text = edited(json, edits[i].from, edits[i].to);
    const loaded l = sign(word, text, strlen(text), &analyzer);
    emit(file, check, "-", edits[i].what, l.bytes, l.length);
    free(l.bytes);
    free(text);
  }
}

/* Faults before the JSON is read, and text that is not JSON. */
static void emit_damage(const char *word, const char *check, const char *json) {
  char file[128];
  loaded l = sign(word, json, strlen(json), &analyzer);
  l.bytes[l.length] = '\0';
#define NAME(end) (snprintf(file, sizeof file, "%s-" end, check), file)
  emit(NAME("empty"), check, "-", "nothing at all", "", 0);
  emit(NAME("cut"), check, "-", "the last byte is missing", l.bytes, l.length - 1);
  emit(NAME("longer"), check, "-", "a byte more than was signed", l.bytes, l.length + 1);
  char *text = strdup(l.bytes);
  text[strlen(word) - 1] = word[strlen(word) - 1] == '1' ? '2' : '1';
  emit(NAME("word"), check, "-", "another version of the protocol", text, strlen(text));
  free(text);
  text = edited(l.bytes, "\n", " ");
  emit(NAME("line"), check, "-", "the first line does not end", text, strlen(text));
  free(text);
  text = strdup(l.bytes);
  for (char *c = text; *c != '\n'; c++)
    if (*c >= 'a' && *c <= 'f' && c > text + strlen(word)) *c = (char)(*c - 'a' + 'A');
  emit(NAME("capitals"), check, "-", "a signature in capitals", text, strlen(text));
  free(text);
  l.bytes[l.length - 3] ^= 1;
  emit(NAME("changed"), check, "-", "a byte was changed", l.bytes, l.length);
  free(l.bytes);
  l = sign(word, json, strlen(json), &stranger);
  emit(NAME("stranger"), check, "-", "signed by another key", l.bytes, l.length);
  free(l.bytes);
  static const struct {
    const char *end, *what, *json;
  } bad[] = {{"array", "an array for an object", "[]"},
             {"null", "null for an object", "null"},
             {"nothing", "signed, and empty", ""},
             {"blank", "signed, and blank", " \n"},
             {"open", "an object that does not end", "{\"id\":"},
             {"deep", "nested too deeply", "[[[[[[[[[1]]]]]]]]]"},
             {"literal", "a word that JSON does not have", "{\"id\":NaN}"},
             {"zero-first", "a number with a zero before it", "{\"id\":01}"},
             {"point", "a number that ends with its point", "{\"id\":1.}"},
             {"huge", "a number beyond the doubles", "{\"id\":1e999}"},
             {"plus", "a number with a plus", "{\"id\":+1}"},
             {"comma", "a comma before the end", "{\"id\":1,}"},
             {"single", "single quotes", "{'id':1}"},
             {"comment", "a comment", "{} // no"},
             {"twice", "two documents", "{} {}"},
             {"duplicate", "a key that is there twice", "{\"id\":1,\"id\":2}"},
             {"duplicate-escaped", "the same, one with an escape", "{\"id\":1,\"\\u0069d\":2}"},
             {"control", "a control character in a string", "{\"id\":\"a\tb\"}"},
             {"zero-character", "the character U+0000", "{\"id\":\"\\u0000\"}"},
             {"surrogate", "half of a surrogate pair", "{\"id\":\"\\ud800\"}"},
             {"escape", "an escape that JSON does not have", "{\"id\":\"\\x41\"}"},
             {"utf8-overlong", "an overlong character", "{\"id\":\"\xC0\xAF\"}"},
             {"utf8-cut", "a character that is cut off", "{\"id\":\"\xE2\x82\"}"},
             {"latin1", "a string that is not UTF-8", "{\"id\":\"\xE9\"}"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    l = sign(word, bad[i].json, strlen(bad[i].json), &analyzer);
    snprintf(file, sizeof file, "%s-json-%s", check, bad[i].end);
    emit(file, check, "-", bad[i].what, l.bytes, l.length);
    free(l.bytes);
  }
#undef NAME
}

static void emit_campaigns(const char *json) {
  static const edit edits[] = {
      {"unknown", "a key that is not known", "\"learner\":", "\"extra\":1,\"learner\":"},
      {"slip", "a key with a slip of the keyboard", "\"norm\":", "\"nrom\":"},
      {"missing", "a key that is missing", ",\"failure\":0.1", ""},
      {"type", "a string for a number", "\"horizon\":1000", "\"horizon\":\"1000\""},
      {"fraction", "a fraction for a whole number", "\"horizon\":1000", "\"horizon\":1000.5"},
      {"negative", "epsilon below 0", "\"epsilon\":1,", "\"epsilon\":-1,"},
      {"delta-zero", "delta is 0", "\"delta\":1e-06,\"horizon\"", "\"delta\":0,\"horizon\""},
      {"dimension", "more dimensions than there may be", "\"dimension\":2", "\"dimension\":257"},
      {"arms", "no arms", "\"arms\":10", "\"arms\":0"},
      {"learner", "another learner: readers need not know it", "\"linucb\"", "\"rs-glm\""},
      {"optimism", "a setting of version 1", "\"failure\":0.1", "\"failure\":0.1,\"optimism\":0.2"},
      {"settings", "a setting of the learner's own", "\"settings\":[",
       "\"settings\":[{\"name\":\"scale\",\"value\":2}"},
      {"settings-name", "a setting without a name", "\"settings\":[",
       "\"settings\":[{\"name\":\"\",\"value\":2}"},
      {"failure", "a region that always fails", "\"failure\":0.1", "\"failure\":1"},
      {"bounds", "an interval that is none", "\"low\":-1", "\"low\":1"},
      {"centre", "rewards from far away", "\"centre\":0.5", "\"centre\":1e7"},
      {"kind", "a release that does not exist", "\"kind\":\"shuffle-bits\"", "\"kind\":\"shuffle-bit\""},
      {"no-privacy", "a release without privacy", "\"kind\":\"shuffle-bits\"", "\"kind\":\"none\""},
      {"floating", "a release whose noise is no integer", "\"kind\":\"shuffle-bits\"",
       "\"kind\":\"central\""},
      {"batch", "a batch of one", "\"batch\":50", "\"batch\":1"},
      {"batch-zero", "a batch that is left open", "\"batch\":50", "\"batch\":0"},
      {"batch-large", "a batch above the horizon", "\"batch\":50", "\"batch\":1001"},
      {"growth", "batches that shrink", "\"growth\":1", "\"growth\":0.5"},
      {"growth-encoding", "batches that grow, encoded as if they did not", "\"growth\":1", "\"growth\":2"},
      {"largest", "a bound on batches that do not grow", "\"largest\":0", "\"largest\":100"},
      {"kind-amplified", "a kind that has a better alternative", "\"kind\":\"shuffle-bits\"",
       "\"kind\":\"shuffle-amplified\""},
      {"honest", "nobody is honest", "\"honest\":0.9", "\"honest\":0"},
      {"honest-more", "more than all are honest", "\"honest\":0.9", "\"honest\":1.1"},
      {"level", "a level that does not exist", "\"level\":\"user\"", "\"level\":\"household\""},
      {"claim-epsilon", "the claim says less than the release gives", "\"claim\":{\"epsilon\":1",
       "\"claim\":{\"epsilon\":0.5"},
      {"claim-delta", "the claim's delta is too small", "\"delta\":1e-06,\"trust\"",
       "\"delta\":1e-07,\"trust\""},
      {"claim-trust", "the claim says that nobody is trusted", "\"trust\":\"shuffle\"",
       "\"trust\":\"local\""},
      {"claim-contributions", "the claim covers more rounds than the noise", "\"contributions\":2,\"by\"",
       "\"contributions\":3,\"by\""},
      {"claim-trust-weaker", "the claim says that somebody is trusted who need not be",
       "\"trust\":\"shuffle\"", "\"trust\":\"joint\""},
      {"claim-level", "the claim is for one report of a user",
       "\"level\":\"user\",\"contributions\":2,\"by\"", "\"level\":\"event\",\"contributions\":2,\"by\""},
      {"claim-fewer", "the claim covers fewer rounds than the noise", "\"contributions\":2,\"by\"",
       "\"contributions\":1,\"by\""},
      {"nonce", "a nonce that is too short", "\"nonce\":\"00", "\"nonce\":\""},
      {"claim-weaker", "a claim that says less than is true may be stated", "\"claim\":{\"epsilon\":1",
       "\"claim\":{\"epsilon\":2"},
      {"encoding", "another encoder than the parameters give", "\"most\":", "\"most\":1"},
      {"encoding-bits", "fewer bits of noise than the parameters give", "\"bits\":", "\"bits\":1"},
      {"encoding-from", "an encoder that begins late", "\"from\":0", "\"from\":1"},
      {"encoding-size", "batches of another size", "\"size\":50", "\"size\":49"},
      {"encoding-more", "an encoder too many", "\"encoding\":[{", "\"encoding\":[{},{"},
      {"url", "an address that is none", "\"https://analyzer.example\"", "\"ftp://analyzer.example\""},
      {"url-slash", "an address with a slash at the end", "analyzer.example\"", "analyzer.example/\""},
      {"url-query", "an address with a query", "analyzer.example\"", "analyzer.example?a=b\""},
      {"id", "an id with a blank", "\"vector-shuffle-bits\"", "\"vector shuffle bits\""},
      {"id-long", "an id that is too long", "\"vector-shuffle-bits\"",
       "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\""},
      {"blanks", "blanks between, where JSON allows them", "{\"id\":", " {\n\t\"id\" : "},
      {"escapes", "letters as escapes", "\"vector-shuffle-bits\"", "\"\\u0076ector-shuffle-bits\""}};
  emit_damage("faro-campaign-3", "campaign", json);
  emit_edits("faro-campaign-3", "campaign", json, edits, sizeof edits / sizeof *edits);
  char zero[2 * FARO_KEY_BYTES + 1];
  char good[2 * FARO_KEY_BYTES + 1];
  char party[FARO_URL_MAX + 2 * FARO_KEY_BYTES];
  char signs[2 * FARO_KEY_BYTES + 1];
  char own[2 * FARO_KEY_BYTES + 1];
  const unsigned char zeroes[FARO_KEY_BYTES] = {0};
  faro_hex_write(zeroes, FARO_KEY_BYTES, zero);
  faro_hex_write(box.public_key, FARO_KEY_BYTES, good);
  snprintf(party, sizeof party, "{\"url\":\"https://shuffler-0.example:8443\",\"key\":\"%s\"}",
           faro_hex_write(shuffler.public_key, FARO_KEY_BYTES, signs));
  const edit keys[] = {{"key-order", "a key that every seal to is the same", good, zero},
                       {"key-short", "a key that is too short", good, "00"},
                       {"shufflers-none", "no shuffler", party, ""},
                       {"shufflers-type", "a number for a shuffler", party, "1"},
                       {"shufflers-own", "a shuffler with the analyzer's key", signs,
                        faro_hex_write(analyzer.public_key, FARO_KEY_BYTES, own)}};
  emit_edits("faro-campaign-3", "campaign", json, keys, sizeof keys / sizeof *keys);
}

static void emit_policies(const faro_campaign *c) {
  double theta[D] = {0.1, -2.5};
  double w[3] = {1, 0.25, 0.3333333333333333};
  const faro_policy policy = {.version = 3, .dimension = D, .beta = 1.5, .theta = theta, .w = w};
  char *text = NULL;
  size_t length = 0;
  assert_ok(faro_policy_document_write(&policy, c->digest, &analyzer, &text, &length, error));
  emit("policy-good", "policy", "-", "as an analyzer makes it", text, length);
  const char *json = strchr(text, '\n') + 1;
  static const edit edits[] = {
      {"unknown", "a key that is not known", "\"beta\":", "\"gamma\":1,\"beta\":"},
      {"missing", "a key that is missing", "\"beta\":1.5,", ""},
      {"version", "version 0", "\"version\":3", "\"version\":0"},
      {"version-huge", "a version beyond 2^53", "\"version\":3", "\"version\":9007199254740994"},
      {"version-fraction", "a version and a half", "\"version\":3", "\"version\":3.5"},
      {"dimension", "more dimensions than numbers", "\"dimension\":2", "\"dimension\":3"},
      {"dimension-huge", "too many dimensions", "\"dimension\":2", "\"dimension\":100000"},
      {"rule", "a rule that does not exist", "\"width\"", "\"depth\""},
      {"rule-sample", "a rule that draws", "\"width\"", "\"sample\""},
      {"rule-optimist", "the other one", "\"width\"", "\"optimist\""},
      {"explore", "an arm drawn more often than always", "\"explore\":0", "\"explore\":1.5"},
      {"beta", "a radius below 0", "\"beta\":1.5", "\"beta\":-1.5"},
      {"theta-string", "a string for a number", "\"theta\":[0.1,", "\"theta\":[\"0.1\","},
      {"theta-null", "null for a number", "\"theta\":[0.1,", "\"theta\":[null,"},
      {"w-short", "a number too few", "\"w\":[1,", "\"w\":["},
      {"w-long", "a number too many", "\"w\":[1,", "\"w\":[1,1,"},
      {"w-nested", "an array within the array", "\"w\":[1,", "\"w\":[[1],"}};
  emit_damage("faro-policy-2", "policy", json);
  emit_edits("faro-policy-2", "policy", json, edits, sizeof edits / sizeof *edits);
  char digest[2 * FARO_DIGEST_BYTES + 1];
  const edit cut = {"campaign-short", "a digest that is too short",
                    faro_hex_write(c->digest, FARO_DIGEST_BYTES, digest), "00"};
  emit_edits("faro-policy-2", "policy", json, &cut, 1);
  const loaded l = sign("faro-campaign-3", json, strlen(json), &analyzer);
  emit("policy-as-campaign", "policy", "-", "signed as a campaign", l.bytes, l.length);
  free(l.bytes);
  free(text);
}

/* A sealed box with a fixed sender's key, from libsodium's description: the key, then a box with
 * the nonce BLAKE2b-192(sender's key, receiver's key). */
static void seal(const unsigned char *plain, size_t size, const unsigned char *to, unsigned char *out) {
  faro_seal_key sender;
  unsigned char nonce[crypto_box_NONCEBYTES];
  crypto_generichash_state hash;
  seal_key(&sender, 6);
  crypto_generichash_init(&hash, NULL, 0, sizeof nonce);
  crypto_generichash_update(&hash, sender.public_key, FARO_KEY_BYTES);
  crypto_generichash_update(&hash, to, FARO_KEY_BYTES);
  crypto_generichash_final(&hash, nonce, sizeof nonce);
  memcpy(out, sender.public_key, FARO_KEY_BYTES);
  assert_int_equal(crypto_box_easy(out + FARO_KEY_BYTES, plain, size, nonce, to, sender.secret), 0);
}

typedef struct bytes {
  unsigned char data[4096 + 64 * 1024];
  size_t length;
} bytes;

static void put(bytes *b, const void *data, size_t length) {
  memcpy(b->data + b->length, data, length);
  b->length += length;
}
static void put32(bytes *b, uint32_t value) { faro_store32(b->data + b->length, value), b->length += 4; }
static void put64(bytes *b, uint64_t value) { faro_store64(b->data + b->length, value), b->length += 8; }

static const int64_t values[ENTRIES] = {0, 1, 2, 3, 5}; /* counts: this many above the least */

static void put_sealed(bytes *b, const faro_campaign *c, const int64_t *numbers, const unsigned char *to) {
  bytes plain = {.length = 0};
  put(&plain, c->digest, FARO_DIGEST_BYTES);
  for (size_t i = 0; i < c->entries; i++) put64(&plain, (uint64_t)numbers[i]);
  seal(plain.data, plain.length, to, b->data + b->length);
  b->length += plain.length + FARO_SEAL_BYTES;
}

static bytes report_of(const faro_campaign *c, uint64_t version, uint64_t sequence, uint32_t to,
                       const int64_t *numbers) {
  bytes b = {.length = 0};
  put(&b, "FRR2", 4);
  put(&b, c->plans ? faro_plans_at(c->plans, version)->digest : c->digest, 16);
  put64(&b, version);
  put64(&b, sequence);
  put32(&b, to);
  for (int i = 0; i < FARO_TOKEN_BYTES; i++) b.data[b.length++] = (unsigned char)(0xA0 + i);
  if (faro_campaign_form(c) != FARO_WIRE_BITS) put_sealed(&b, c, numbers, box.public_key);
  else
    for (size_t i = 0; i < ENTRIES; i++)
      put32(&b, (uint32_t)(faro_campaign_encoding(c, to, version - 1)->least + numbers[i]));
  return b;
}

static void emit_report(const char *kind, const char *end, const char *what, const bytes *b) {
  char file[128], with[128];
  snprintf(file, sizeof file, "report-%s-%s", kind, end);
  snprintf(with, sizeof with, "campaign-%s", kind);
  emit(file, "report", with, what, b->data, b->length);
}

static void emit_heads(const char *kind, const faro_campaign *c) {
  bytes b = report_of(c, 1, 1, 0, values);
  emit_report(kind, "good", "as a client makes it", &b);
  b.length--;
  emit_report(kind, "cut", "the last byte is missing", &b);
  b.length += 2;
  emit_report(kind, "longer", "a byte too many", &b);
  b.length = FARO_REPORT_HEAD;
  emit_report(kind, "head", "a head alone", &b);
  b.length = 0;
  emit_report(kind, "empty", "nothing", &b);
  b = report_of(c, 1, 1, 0, values);
  b.data[3] = '1';
  emit_report(kind, "magic", "another version of the protocol", &b);
  b = report_of(c, 1, 1, 0, values);
  b.data[4] ^= 1;
  emit_report(kind, "campaign", "of another campaign", &b);
  b = report_of(c, 0, 1, 0, values);
  emit_report(kind, "version", "version 0", &b);
  b = report_of(c, 1, 0, 0, values);
  emit_report(kind, "sequence", "sequence number 0", &b);
  b = report_of(c, INT64_MAX, INT64_MAX, 0, values);
  emit_report(kind, "greatest", "the greatest numbers; it is for the receiver to find the version unknown",
              &b);
  b = report_of(c, 1, UINT64_C(1) << 63, 0, values);
  emit_report(kind, "beyond", "a sequence number that is too great", &b);
  b = report_of(c, 1, 1, (uint32_t)(c->shufflers ? c->shufflers : 1), values);
  emit_report(kind, "shuffler", "a shuffler that the campaign does not have", &b);
}

static void emit_counts(const char *kind, const faro_campaign *c) {
  const int64_t range = c->encoding[0].most - c->encoding[0].least;
  const int64_t all[ENTRIES] = {0, 0, 0, 0, range};
  const int64_t more[ENTRIES] = {0, 0, 0, 0, range + 1};
  const int64_t less[ENTRIES] = {0, 0, 0, 0, -1};
  bytes b = report_of(c, 1, 1, 0, all);
  emit_report(kind, "most", "as many ones as a report may have", &b);
  b = report_of(c, 1, 1, 0, more);
  emit_report(kind, "more", "more ones than an honest report has", &b);
  b = report_of(c, 1, 1, 0, less);
  emit_report(kind, "less", "fewer ones than an honest report has", &b);
}

static void emit_boxes(const char *kind, const faro_campaign *c) {
  bytes b = report_of(c, 1, 1, 0, values);
  b.data[FARO_REPORT_HEAD + 40] ^= 1;
  emit_report(kind, "box-changed", "a byte of the box was changed", &b);
  b = report_of(c, 1, 1, 0, values);
  b.length = FARO_REPORT_HEAD;
  put_sealed(&b, c, values, other_box.public_key);
  emit_report(kind, "box-key", "sealed to another key", &b);
  faro_campaign other = *c;
  other.digest[31] ^= 1;
  b.length = FARO_REPORT_HEAD;
  put_sealed(&b, &other, values, box.public_key);
  emit_report(kind, "box-campaign", "a box of another campaign, in a head of this one", &b);
  int64_t large[ENTRIES] = {0};
  large[c->entries - 1] = INT64_MAX;
  b = report_of(c, 1, 1, 0, large);
  emit_report(kind, "more", "a number that is too great", &b);
  const int64_t small[ENTRIES] = {INT64_MIN};
  b = report_of(c, 1, 1, 0, small);
  emit_report(kind, "less", "a number that is too small", &b);
}

static bytes batch_of(const faro_campaign *c, uint32_t from, uint64_t number, uint64_t count,
                      const faro_sign_key *key, uint64_t total) {
  bytes b = {.length = 0};
  put(&b, "FRB2", 4);
  put(&b, c->digest, 16);
  put32(&b, from);
  put64(&b, number);
  put64(&b, count);
  if (faro_campaign_form(c) == FARO_WIRE_BITS)
    for (size_t i = 0; i < ENTRIES; i++)
      put64(&b, count * (uint64_t)faro_campaign_encoding(c, 0, number)->least + (i == 0 ? total : i));
  else
    for (uint64_t i = 0; i < count; i++) put_sealed(&b, c, values, box.public_key);
  crypto_sign_detached(b.data + b.length, NULL, b.data, b.length, key->secret);
  b.length += FARO_SIGNATURE_BYTES;
  return b;
}

static void emit_batch(const char *kind, const char *end, const char *what, const bytes *b) {
  char file[128], with[128];
  snprintf(file, sizeof file, "batch-%s-%s", kind, end);
  snprintf(with, sizeof with, "campaign-%s", kind);
  emit(file, "batch", with, what, b->data, b->length);
}

static void emit_batches(const char *kind, const faro_campaign *c) {
  const uint64_t size = c->encoding[0].size;
  bytes b = batch_of(c, 0, 0, size, &shuffler, 7);
  emit_batch(kind, "good", "as a shuffler makes it", &b);
  b.length--;
  emit_batch(kind, "cut", "the last byte is missing", &b);
  b.length = FARO_BATCH_HEAD;
  emit_batch(kind, "head", "a head alone", &b);
  b.length = FARO_BATCH_HEAD - 1;
  emit_batch(kind, "short", "less than a head", &b);
  b = batch_of(c, 0, 0, size, &shuffler, 7);
  b.data[FARO_BATCH_HEAD] ^= 1;
  emit_batch(kind, "changed", "a byte was changed", &b);
  b = batch_of(c, 0, 0, size, &shuffler, 7);
  b.data[0] = 'G';
  emit_batch(kind, "magic", "no batch", &b);
  b = batch_of(c, 0, 0, size, &shuffler, 7);
  b.data[19] ^= 1;
  emit_batch(kind, "campaign", "of another campaign", &b);
  b = batch_of(c, 0, 0, size, &stranger, 7);
  emit_batch(kind, "stranger", "signed by another key", &b);
  b = batch_of(c, 0, 0, size - 1, &shuffler, 7);
  emit_batch(kind, "fewer", "a report too few", &b);
  b = batch_of(c, 0, 0, size + 1, &shuffler, 7);
  emit_batch(kind, "more", "a report too many", &b);
  b = batch_of(c, (uint32_t)c->shufflers, 0, size, &shuffler, 7);
  emit_batch(kind, "shuffler", "a shuffler that the campaign does not have", &b);
  b = batch_of(c, 0, c->batches - 1, size, &shuffler, 7);
  emit_batch(kind, "last", "the last batch", &b);
  b = batch_of(c, 0, c->batches, size, &shuffler, 7);
  emit_batch(kind, "beyond", "a batch beyond the horizon", &b);
  if (faro_campaign_form(c) != FARO_WIRE_BITS) return;
  b = batch_of(c, 0, 0, size, &shuffler, size * (uint64_t)(c->encoding[0].most - c->encoding[0].least) + 1);
  emit_batch(kind, "excess", "more ones than so many reports can have", &b);
  b = batch_of(c, 0, 0, size, &shuffler, UINT64_MAX); /* -1 */
  emit_batch(kind, "lack", "fewer ones than so many reports can have", &b);
}

/* A notice before a batch; `magic` is that of what is signed. */
static void emit_notice(const faro_campaign *c, const char *end, const char *what, const bytes *batch,
                        const char *magic, const faro_sign_key *key) {
  unsigned char notice[FARO_BATCH_HEAD + FARO_SIGNATURE_BYTES], part[FARO_BATCH_HEAD];
  char file[128], with[128], digits[2 * sizeof notice + 1];
  memcpy(notice, batch->data, FARO_BATCH_HEAD);
  memcpy(part, magic, 4);
  memcpy(part + 4, notice + 4, sizeof part - 4);
  crypto_sign_detached(notice + FARO_BATCH_HEAD, NULL, part, sizeof part, key->secret);
  faro_hex_write(notice, sizeof notice, digits);
  snprintf(file, sizeof file, "notice-%s-%s", c->release->name, end);
  snprintf(with, sizeof with, "campaign-%s", c->release->name);
  emit(file, "notice", with, what, digits,
       strcmp(end, "cut") == 0 ? 2 * sizeof notice - 1 : 2 * sizeof notice);
}

static void emit_notices(const faro_campaign *c) {
  const uint64_t size = c->encoding[0].size;
  bytes b = batch_of(c, 0, 0, size, &shuffler, 7);
  emit_notice(c, "good", "as a shuffler says it", &b, "FRH2", &shuffler);
  emit_notice(c, "cut", "the last digit is missing", &b, "FRH2", &shuffler);
  emit_notice(c, "stranger", "signed by another key", &b, "FRH2", &stranger);
  emit_notice(c, "batch", "signed as a batch is", &b, "FRB2", &shuffler);
  b.data[0] = 'G';
  emit_notice(c, "magic", "the head of no batch", &b, "FRH2", &shuffler);
  b = batch_of(c, 0, c->batches, size, &shuffler, 7);
  emit_notice(c, "beyond", "a batch beyond the horizon", &b, "FRH2", &shuffler);
}

static void emit_key(const char *file, const char *kind, const char *what, const char *text) {
  emit(file, kind, "-", what, text, strlen(text));
}

static void emit_keys(void) {
  char digits[2 * FARO_SECRET_BYTES + 1];
  char text[512];
  faro_hex_write(analyzer.secret, FARO_SECRET_BYTES, digits);
  snprintf(text, sizeof text, FARO_SIGN_SECRET " %s\n", digits);
  emit_key("key-analyzer.secret", FARO_SIGN_SECRET, "of the analyzer, that signs documents", text);
  emit_key("key-kind", FARO_SEAL_SECRET, "a key of another kind", text);
  text[strlen(text) - 1] = '\0';
  emit_key("key-no-newline", FARO_SIGN_SECRET, "without a newline at the end", text);
  text[strlen(text) - 1] ^= 1;
  emit_key("key-halves", FARO_SIGN_SECRET, "halves that do not belong together", text);
  text[strlen(text) - 1] = '\0';
  emit_key("key-short", FARO_SIGN_SECRET, "a digit is missing", text);
  snprintf(text, sizeof text, FARO_SIGN_SECRET " %s\n\n", digits);
  emit_key("key-two-lines", FARO_SIGN_SECRET, "an empty line more", text);
  snprintf(text, sizeof text, " " FARO_SIGN_SECRET " %s\n", digits);
  emit_key("key-blank", FARO_SIGN_SECRET, "a blank before it", text);
  digits[0] = 'g';
  snprintf(text, sizeof text, FARO_SIGN_SECRET " %s\n", digits);
  emit_key("key-digit", FARO_SIGN_SECRET, "a letter that is no digit", text);
  emit_key("key-empty", FARO_SIGN_SECRET, "nothing", "");
  memset(text, 'a', 300);
  text[300] = '\0';
  emit_key("key-long", FARO_SIGN_SECRET, "more than a line can have", text);
  snprintf(text, sizeof text, FARO_SIGN_SECRET " %s\n",
           faro_hex_write(shuffler.secret, FARO_SECRET_BYTES, digits));
  emit_key("key-shuffler.secret", FARO_SIGN_SECRET, "of all shufflers, that signs batches", text);
  snprintf(text, sizeof text, FARO_SEAL_SECRET " %s\n", faro_hex_write(box.secret, FARO_KEY_BYTES, digits));
  emit_key("key-seal.secret", FARO_SEAL_SECRET, "of the analyzer, that opens reports", text);
  snprintf(text, sizeof text, FARO_SIGN_PUBLIC " %s\n",
           faro_hex_write(analyzer.public_key, FARO_KEY_BYTES, digits));
  emit_key("key-analyzer.public", FARO_SIGN_PUBLIC, "what clients pin", text);
  for (char *c = digits; *c; c++)
    if (*c >= 'a' && *c <= 'f') *c = (char)(*c - 'a' + 'A');
  snprintf(text, sizeof text, FARO_SIGN_PUBLIC " %s\n", digits);
  emit_key("key-capitals", FARO_SIGN_PUBLIC, "digits in capitals", text);
}

static const struct {
  const char *kind;
  size_t shufflers;
} kinds[] = {{"shuffle-bits", 1},   {"concurrent-bits", 2}, {"shuffle-gaussian", 1}, {"shuffle-response", 1},
             {"local-gaussian", 0}, {"local-response", 0},  {"central-tree", 0}};

/* Batches of 50, 50, 100, 200, 200, 200 and 200: each size has its own noise. */
static void emit_growing(void) {
  static const char name[] = "growing";
  faro_campaign c = campaign_of("shuffle-bits", 1);
  char *text = NULL;
  size_t length = 0;
  c.params.growth = 2;
  c.params.largest = 200;
  snprintf(c.id, sizeof c.id, "vector-growing");
  assert_ok(faro_campaign_write(&c, &analyzer, &text, &length, error));
  emit("campaign-growing", "campaign", "-", "batches that grow", text, length);
  free(text);
  const faro_encoding *first = &c.encoding[0], *second = &c.encoding[1];
  assert_true(second->from == 2 && second->most < first->most && second->least < first->least);
  bytes b = report_of(&c, 3, 1, 0, values);
  emit_report(name, "second", "for a batch of the second size", &b);
  const int64_t as_first[ENTRIES] = {0, 0, 0, 0, first->most - second->least};
  b = report_of(&c, 3, 1, 0, as_first);
  emit_report(name, "noise", "as many ones as a smaller batch would allow", &b);
  b = batch_of(&c, 0, 2, 100, &shuffler, 7);
  emit_batch(name, "second", "of the second size", &b);
  b = batch_of(&c, 0, 2, 50, &shuffler, 7);
  emit_batch(name, "small", "of the first size, too late", &b);
  b = batch_of(&c, 0, 1, 100, &shuffler, 7);
  emit_batch(name, "early", "of the second size, too early", &b);
}

/* Clients report averages of up to five arms, each once; the first plan asks for five. */
static faro_campaign campaign_in_phases(void) {
  faro_campaign c = campaign_of("shuffle-bits", 1);
  snprintf(c.id, sizeof c.id, "vector-phases");
  snprintf(c.learner, sizeof c.learner, "dpe");
  c.params.contributions = 1;
  c.params.largest = 500;
  c.phases = (faro_phases){.numbers = ENTRIES, .reports = 1000, .noise = 1};
  c.features = c.arms * D;
  for (size_t i = 0; i < c.features; i++) c.feature[i] = (double)i / 32;
  return c;
}

static void emit_plans(const char *json) {
  static const edit edits[] = {
      {"unknown", "a key that is not known", "\"phase\":", "\"extra\":1,\"phase\":"},
      {"missing", "a key that is missing", "\"phase\":1,", ""},
      {"version", "version 0", "\"version\":1", "\"version\":0"},
      {"version-late", "a version beyond the last", "\"version\":1", "\"version\":16385"},
      {"pulls", "an arm that is not played", "\"pulls\":4", "\"pulls\":0"},
      {"left", "no arm is left", "\"left\":10", "\"left\":0"}};
  emit_damage("faro-plan-1", "plan", json);
  emit_edits("faro-plan-1", "plan", json, edits, sizeof edits / sizeof *edits);
}

/* Plans that are well-formed, and are read with the campaign. */
static void emit_asked(const char *end, const char *what, faro_plan_document plan) {
  char file[128], *text = NULL;
  size_t length = 0;
  snprintf(file, sizeof file, "plan-%s", end);
  assert_ok(faro_plan_document_write(&plan, &analyzer, &text, &length, error));
  emit(file, "plan", "campaign-phases", what, text, length);
  if (strcmp(end, "good") == 0) emit_plans(strchr(text, '\n') + 1);
  free(text);
}

static void emit_phases(void) {
  static faro_plan_document plan;
  faro_campaign c = campaign_in_phases();
  char *text = NULL;
  size_t length = 0;
  assert_ok(faro_campaign_write(&c, &analyzer, &text, &length, error));
  emit("campaign-phases", "campaign", "-", "in phases", text, length);
  free(text);
  plan = (faro_plan_document){.version = 1, .phase = 1, .left = 10, .size = 50, .arms = ENTRIES};
  for (size_t i = 0; i < ENTRIES; i++) plan.play[i] = (faro_plan_play){.arm = 2 * i, .pulls = 4 + i};
  memcpy(plan.campaign, c.digest, FARO_DIGEST_BYTES);
  emit_asked("good", "as an analyzer makes it", plan);
  faro_plan_document other = plan;
  other.size = 49;
  emit_asked("small", "a batch below the least one", other);
  other.size = 501;
  emit_asked("large", "a batch above the largest one", other);
  other = plan;
  other.play[1].arm = 10;
  emit_asked("arm", "an arm that there is not", other);
  other = plan;
  other.arms = ENTRIES + 1;
  other.play[ENTRIES] = (faro_plan_play){1, 1};
  emit_asked("numbers", "more numbers than were agreed", other);
  other = plan;
  other.size = other.arms = 0;
  emit_asked("end", "the campaign is over", other);
  other.size = 50;
  emit_asked("nothing-to-play", "a batch that plays nothing", other);
  other = plan;
  other.campaign[0] ^= 1;
  emit_asked("campaign", "of another campaign", other);
  follow_plan(&c);
  bytes b = report_of(&c, 1, 1, 0, values);
  emit_report("phases", "good", "as a client makes it", &b);
  memcpy(b.data + 4, c.digest, 16);
  emit_report("phases", "tag", "it names the campaign, not the plan", &b);
  b = report_of(&c, 1, 1, 0, values);
  b.data[20] = 2;
  emit_report("phases", "ahead", "of a plan that is not known here", &b);
  b = batch_of(&c, 0, 0, 50, &shuffler, 7);
  emit_batch("phases", "good", "of the first plan", &b);
  b = batch_of(&c, 0, 0, 51, &shuffler, 7);
  emit_batch("phases", "more", "a report too many", &b);
  faro_plans_destroy(c.plans);
}

/* Two terms of two rounds. */
static faro_campaign campaign_in_rounds(void) {
  faro_campaign c = campaign_of("shuffle-bits", 1);
  snprintf(c.id, sizeof c.id, "vector-rounds");
  snprintf(c.learner, sizeof c.learner, "glm-batched");
  c.params.contributions = 2;
  c.centre = 0;
  c.rounds = (faro_campaign_rounds){
      .link = FARO_LINK_LOGISTIC, .bound = 2, .fits = 1, .terms = 2, .term = {{50}, {80}}};
  assert_ok(faro_contribution_linearised(&c.contribution, D, 1, c.rounds.link, c.rounds.bound, error));
  return c;
}

static void emit_point(const faro_campaign *c) {
  static const edit edits[] = {
      {"rounds-rule", "a rule that rounds do not have", "\"rule\":\"design\"", "\"rule\":\"sample\""},
      {"rounds-rule-width", "as at the end", "\"rule\":\"design\"", "\"rule\":\"width\""},
      {"rounds-point", "a point of three numbers", "\"at\":[", "\"at\":[0,"},
      {"rounds-no-point", "no point", ",\"at\":[0.5,-1]", ""}};
  double theta[D] = {0.5, -1.25}, w[] = {1, 0.25, 0.5}, at[D] = {0.5, -1};
  const faro_policy policy = {
      .rule = FARO_RULE_DESIGN, .version = 3, .dimension = D, .beta = 2.5, .theta = theta, .w = w};
  char *text = NULL;
  size_t length = 0;
  assert_ok(faro_policy_document_write_at(&policy, at, c->digest, &analyzer, &text, &length, error));
  emit("policy-rounds-good", "policy", "-", "of a round", text, length);
  emit_edits("faro-policy-3", "policy", strchr(text, '\n') + 1, edits, sizeof edits / sizeof *edits);
  free(text);
}

static void emit_rounds(void) {
  static const edit edits[] = {
      {"rounds-link", "a link whose moments are not bounded", "\"link\":\"logistic\"",
       "\"link\":\"poisson\""},
      {"rounds-bound", "no bound", "\"bound\":2", "\"bound\":0"},
      {"rounds-fits", "more fits than rounds of a person", "\"fits\":1", "\"fits\":2"},
      {"rounds-size", "a size that the encoding does not have", "\"terms\":[{\"size\":50}",
       "\"terms\":[{\"size\":51}"},
      {"rounds-terms", "no terms", "[{\"size\":50},{\"size\":80}]", "[]"}};
  faro_campaign c = campaign_in_rounds();
  char *text = NULL;
  size_t length = 0;
  assert_ok(faro_campaign_write(&c, &analyzer, &text, &length, error));
  emit("campaign-rounds", "campaign", "-", "in rounds", text, length);
  emit_edits("faro-campaign-3", "campaign", strchr(text, '\n') + 1, edits, sizeof edits / sizeof *edits);
  free(text);
  emit_point(&c);
  bytes b = report_of(&c, 1, 1, 0, values);
  emit_report("rounds", "good", "of the first round", &b);
  b = report_of(&c, 4, 1, 0, values);
  emit_report("rounds", "last", "of the last round", &b);
  b = batch_of(&c, 0, 3, 80, &shuffler, 7);
  emit_batch("rounds", "good", "the last one", &b);
  b = batch_of(&c, 0, 1, 80, &shuffler, 7);
  emit_batch("rounds", "early", "of the second term's size, too early", &b);
  b = batch_of(&c, 0, 4, 80, &shuffler, 7);
  emit_batch("rounds", "late", "after the last round", &b);
}

/* Split counts, written without the library's own writer. The mask is the stream of ChaCha20. */
enum { SPLIT_BATCH = 50, SPLIT_SEED = 9 };

static void split_mask(unsigned width, uint64_t mask[static ENTRIES]) {
  unsigned char seed[32], nonce[12] = {0}, stream[8 * ENTRIES];
  memset(seed, SPLIT_SEED, sizeof seed);
  crypto_stream_chacha20_ietf(stream, sizeof stream, nonce, seed);
  for (size_t i = 0; i < ENTRIES; i++) mask[i] = faro_load64(stream + 8 * i) & ((UINT64_C(1) << width) - 1);
}

static void put_box(bytes *b, const faro_campaign *c, const unsigned char *to) {
  unsigned char plain[FARO_DIGEST_BYTES + FARO_SEED_BYTES];
  memcpy(plain, c->digest, FARO_DIGEST_BYTES);
  memset(plain + FARO_DIGEST_BYTES, SPLIT_SEED, FARO_SEED_BYTES);
  seal(plain, sizeof plain, to, b->data + b->length);
  b->length += FARO_BOX_BYTES;
}

static bytes split_report(const faro_campaign *c, const unsigned char *to) {
  bytes b = report_of(c, 1, 1, 0, values);
  uint64_t mask[ENTRIES];
  const unsigned width = c->share_bits;
  b.length = FARO_REPORT_HEAD;
  split_mask(width, mask);
  memset(b.data + b.length, 0, faro_split_packed(c));
  for (size_t i = 0; i < ENTRIES; i++)
    for (unsigned bit = 0; bit < width; bit++) {
      const uint64_t share = (uint64_t)c->encoding[0].least + (uint64_t)values[i] - mask[i];
      const size_t at = i * width + bit;
      b.data[b.length + at / 8] |= (unsigned char)((share >> bit & 1) << (at % 8));
    }
  b.length += faro_split_packed(c);
  put_box(&b, c, to);
  return b;
}

static void put_frame_head(bytes *b, const faro_campaign *c, const char *magic, uint64_t number) {
  put(b, magic, 4);
  put(b, c->digest, 16);
  put32(b, 0);
  put64(b, number);
  put64(b, SPLIT_BATCH);
}

static void put_signature(bytes *b, size_t from, const faro_sign_key *key) {
  crypto_sign_detached(b->data + b->length, NULL, b->data + from, b->length - from, key->secret);
  b->length += FARO_SIGNATURE_BYTES;
}

static bytes shares_of(const faro_campaign *c, const faro_sign_key *key) {
  bytes b = {.length = 0};
  put_frame_head(&b, c, "FRX1", 0);
  for (size_t i = 0; i < SPLIT_BATCH; i++) put_box(&b, c, adder_box.public_key);
  put_signature(&b, 0, key);
  return b;
}

/* A batch whose totals are `more` above the least, joined; its sum is for batch `number`. */
static bytes joined_of(const faro_campaign *c, uint64_t number, uint64_t left_out, uint64_t more,
                       const faro_sign_key *key) {
  bytes b = {.length = 0}, plain = {.length = 0};
  uint64_t mask[ENTRIES];
  split_mask(c->share_bits, mask);
  put_frame_head(&b, c, "FRB2", 0);
  for (size_t i = 0; i < ENTRIES; i++)
    put64(&b, (SPLIT_BATCH * (uint64_t)c->encoding[0].least + more - mask[i]) &
                  ((UINT64_C(1) << c->share_bits) - 1));
  const size_t sum = b.length;
  put_frame_head(&b, c, "FRA1", number);
  put64(&plain, left_out);
  for (size_t i = 0; i < ENTRIES; i++) put64(&plain, mask[i]);
  seal(plain.data, plain.length, box.public_key, b.data + b.length);
  b.length += plain.length + FARO_SEAL_BYTES;
  put_signature(&b, sum, key);
  put_signature(&b, 0, &shuffler);
  return b;
}

static void emit_split_frames(const faro_campaign *c) {
  bytes b = split_report(c, adder_box.public_key);
  emit("split-report", "split", "campaign-split", "as a client makes it", b.data, b.length);
  emit("split-report-cut", "split", "campaign-split", "the last byte is missing", b.data, b.length - 1);
  b = split_report(c, box.public_key);
  emit("split-report-sealed", "split", "campaign-split", "the seed is sealed to the analyzer", b.data,
       b.length);
  b = shares_of(c, &shuffler);
  emit("split-shares", "shares", "campaign-split", "as a shuffler makes them", b.data, b.length);
  emit("split-shares-fewer", "shares", "campaign-split", "a box is missing", b.data,
       b.length - FARO_BOX_BYTES);
  b = shares_of(c, &stranger);
  emit("split-shares-stranger", "shares", "campaign-split", "signed by another key", b.data, b.length);
  b = joined_of(c, 0, 0, 7, &adder);
  emit("split-batch", "joined", "campaign-split", "with the adder's sum", b.data, b.length);
  b = joined_of(c, 1, 0, 7, &adder);
  emit("split-batch-other", "joined", "campaign-split", "with the sum of another batch", b.data, b.length);
  b = joined_of(c, 0, 0, 7, &shuffler);
  emit("split-batch-own", "joined", "campaign-split", "with a sum that the shuffler signed", b.data,
       b.length);
  b = joined_of(c, 0, 2, 7, &adder);
  emit("split-batch-left-out", "joined", "campaign-split", "two boxes were left out", b.data, b.length);
  b = joined_of(c, 0, 0, UINT64_MAX, &adder); /* -1 */
  emit("split-batch-lack", "joined", "campaign-split", "fewer ones than so many reports have", b.data,
       b.length);
}

static void emit_split(void) {
  static const edit edits[] = {{"split-none", "no adders", "\"adders\":[", "\"adders\":[],\"none\":["}};
  faro_campaign c = campaign_of("shuffle-bits", 1);
  char *text = NULL;
  size_t length = 0;
  c.adders = 1;
  memcpy(c.adder[0].key, adder.public_key, FARO_KEY_BYTES);
  memcpy(c.adder[0].seal, adder_box.public_key, FARO_KEY_BYTES);
  snprintf(c.id, sizeof c.id, "vector-split");
  assert_ok(faro_campaign_write(&c, &analyzer, &text, &length, error));
  emit("campaign-split", "campaign", "-", "counts are split", text, length);
  emit_edits("faro-campaign-4", "campaign", strchr(text, '\n') + 1, edits, 1);
  const loaded third =
      sign("faro-campaign-3", strchr(text, '\n') + 1, strlen(strchr(text, '\n') + 1), &analyzer);
  emit("campaign-split-version", "campaign", "-", "adders in version 3", third.bytes, third.length);
  free(third.bytes);
  free(text);
  emit_split_frames(&c);
}

static void emit_directions(void) {
  static const struct {
    uint64_t seed, index;
  } cases[] = {{0, 0}, {1, 0}, {1, 1}, {(UINT64_C(1) << 45) - 1, 127}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    faro_text text = FARO_TEXT_INIT;
    faro_sim_rng sim;
    char file[32];
    faro_sim_open(&sim, cases[i].seed, cases[i].index, FARO_ROLE_DIRECTION);
    faro_text_add(&text, "%llu %llu\n", (unsigned long long)cases[i].seed,
                  (unsigned long long)cases[i].index);
    for (size_t k = 0; k < DIRECTION; k++) faro_text_add(&text, "%.17g\n", faro_sim_normal(&sim));
    snprintf(file, sizeof file, "direction-%zu", i);
    emit(file, "direction", "-", "seed and index, then numbers of the direction, not yet cut", text.data,
         text.length);
    faro_text_clear(&text);
  }
}

/* Kept as earlier versions wrote them. A campaign of version 2 is still read. */
static void emit_earlier(void) {
  const loaded campaign = load("version-1-campaign"), policy = load("version-1-policy");
  const loaded second = load("version-2-campaign");
  emit("version-2-campaign", "campaign", "-", "of version 2 of the protocol", second.bytes, second.length);
  free(second.bytes);
  emit("version-1-campaign", "campaign", "-", "of version 1 of the protocol", campaign.bytes,
       campaign.length);
  emit("version-1-policy", "policy", "-", "of version 1 of the protocol", policy.bytes, policy.length);
  free(campaign.bytes);
  free(policy.bytes);
}

static void bless(void) {
  manifest = fopen(FOLDER "manifest", "w");
  assert_non_null(manifest);
  emit_keys();
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    faro_campaign c = campaign_of(kinds[k].kind, kinds[k].shufflers);
    char *text = NULL;
    size_t length = 0;
    char file[128];
    assert_ok(faro_campaign_write(&c, &analyzer, &text, &length, error));
    snprintf(file, sizeof file, "campaign-%s", kinds[k].kind);
    emit(file, "campaign", "-", "as an analyzer makes it", text, length);
    if (k == 0) emit_campaigns(strchr(text, '\n') + 1);
    if (k == 0) emit_policies(&c);
    free(text);
    emit_heads(kinds[k].kind, &c);
    if (faro_campaign_form(&c) == FARO_WIRE_BITS) emit_counts(kinds[k].kind, &c);
    else emit_boxes(kinds[k].kind, &c);
    if (c.shufflers > 0) emit_batches(kinds[k].kind, &c);
    if (c.shufflers > 0) emit_notices(&c);
  }
  emit_growing();
  emit_phases();
  emit_rounds();
  emit_split();
  emit_directions();
  emit_earlier();
  assert_int_equal(fclose(manifest), 0);
}

/* Checking them. */

static void check_line(char *line) {
  char *field[5];
  for (int i = 0; i < 5; i++) {
    field[i] = line;
    line = i < 4 ? strchr(line, '\t') : NULL;
    if (i < 4 && !line) fail_msg("a line of the manifest has fewer than five fields: %s", field[0]);
    if (line) *line++ = '\0';
  }
  faro_text result = FARO_TEXT_INIT;
  describe(&result, field[0], field[1], field[2]);
  if (strcmp(result.data, field[4]) != 0)
    fail_msg("%s (%s)\n  should be: %s\n  but it is: %s", field[0], field[3], field[4], result.data);
  faro_text_clear(&result);
}

static void test_vectors__are_read_and_refused_as_the_manifest_says(void **state) {
  (void)state;
  if (getenv("FARO_BLESS")) bless();
  loaded all = load("manifest");
  size_t lines = 0;
  for (char *line = all.bytes; line < all.bytes + all.length; lines++) {
    char *end = memchr(line, '\n', (size_t)(all.bytes + all.length - line));
    assert_non_null(end);
    *end = '\0';
    check_line(line);
    line = end + 1;
  }
  assert_true(lines > 150);
  free(all.bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_vectors__are_read_and_refused_as_the_manifest_says)};
  return cmocka_run_group_tests(tests, make_keys, NULL);
}
