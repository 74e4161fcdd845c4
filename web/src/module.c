/* module: what faro.mjs calls. One module is one client and its queue (faro/client.h,
 * faro/queue.h). Every function that can fail returns a faro_status, whose message is at
 * web_message. Texts end with a zero; what a call gives back is valid until the next one. */
#include <faro/queue.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "client/client_inner.h"
#include "place.h"
#include "wire/wire.h"

#define EXPORT(name) __attribute__((export_name(#name)))

static struct {
  faro_queue *queue;
  faro_client *client;
  faro_error error;
  faro_client_terms terms;
  faro_queue_counts counts;
  faro_queue_post post;
  faro_reply reply;
  size_t arm;
  bool asked; /* for the reward of the arm */
} web;

/* Memory of the page's arguments. */

EXPORT(web_alloc) void *web_alloc(size_t size) { return malloc(size > 0 ? size : 1); }
EXPORT(web_free) void web_free(void *bytes, size_t size) {
  if (bytes) sodium_memzero(bytes, size);
  free(bytes);
}

EXPORT(web_message) const char *web_message(void) { return web.error.message; }

/* The name of a status, as the page sees it; NULL past the last one. */
EXPORT(web_status_name) const char *web_status_name(size_t status) {
  static const char *const names[] = {"ok",      "invalid", "memory", "system", "interrupted", "weak",
                                      "foreign", "old",     "late",   "over",   "spent"};
  return status < sizeof names / sizeof *names ? names[status] : NULL;
}

/* Opening. */

EXPORT(web_close) void web_close(void) {
  faro_client_close(web.client);
  faro_queue_close(web.queue);
  place_forget();
  memset(&web, 0, sizeof web);
}

typedef struct web_opening {
  const unsigned char *signer, *token;
  const unsigned char *state;
  size_t state_length;
  const char *trust;
  const unsigned char *shufflers;
  const char *urls; /* one after another, each with its zero */
  size_t shuffler_count;
  size_t most;
  uint32_t user_level, insecure, fixed, unused;
  double epsilon, delta, honest;
} web_opening;
_Static_assert(sizeof(web_opening) == 80, "faro.mjs writes it by hand");

EXPORT(web_open) int web_open(const web_opening *o) {
  const char *urls[FARO_SHUFFLERS_MAX] = {0};
  const char *url = o->urls;
  web_close();
  if (o->shuffler_count > FARO_SHUFFLERS_MAX)
    return faro_fail(&web.error, FARO_INVALID, "shufflers must be at most %d (got %zu)", FARO_SHUFFLERS_MAX,
                     o->shuffler_count);
  for (size_t i = 0; i < o->shuffler_count; i++, url += strlen(url) + 1) urls[i] = url;
  faro_client_params params = {.signer = o->signer,
                               .token = o->token,
                               .epsilon = o->epsilon,
                               .delta = o->delta,
                               .trust = o->trust,
                               .user_level = o->user_level != 0,
                               .honest = o->honest,
                               .insecure = o->insecure != 0,
                               .fixed = o->fixed != 0,
                               .shufflers = o->shuffler_count > 0 ? o->shufflers : NULL,
                               .shuffler_urls = o->shuffler_count > 0 ? urls : NULL,
                               .shuffler_count = o->shuffler_count};
  place_give(o->state, o->state_length);
  const faro_queue_params kept = {.path = "the state in this browser", .most = o->most};
  faro_status status = faro_queue_open(&web.queue, &kept, &web.error);
  if (status == FARO_OK) faro_queue_restore(web.queue, &params);
  if (status == FARO_OK) status = faro_client_open(&web.client, &params, &web.error);
  place_give(NULL, 0);
  return (int)status;
}

/* Calls that need a client: the message of the call before is dropped. */
static faro_error *fresh(void) {
  web.error = (faro_error){0};
  return &web.error;
}

static int absent(void) { return (int)faro_fail(fresh(), FARO_INVALID, "the client is closed"); }

EXPORT(web_campaign) int web_campaign(const void *bytes, size_t length) {
  return web.client ? (int)faro_client_campaign(web.client, bytes, length, fresh()) : absent();
}
EXPORT(web_policy) int web_policy(const void *bytes, size_t length) {
  return web.client ? (int)faro_client_policy(web.client, bytes, length, fresh()) : absent();
}
EXPORT(web_move) int web_move(const void *bytes, size_t length) {
  return web.client ? (int)faro_client_move(web.client, bytes, length, fresh()) : absent();
}

/* A shuffler in parts: where its list is, and the list. */

EXPORT(web_shuffler_url) const char *web_shuffler_url(size_t shuffler) {
  return web.client ? faro_client_shuffler_url(web.client, shuffler) : NULL;
}
EXPORT(web_collectors) int web_collectors(size_t shuffler, const void *bytes, size_t length) {
  return web.client ? (int)faro_client_collectors(web.client, shuffler, bytes, length, fresh()) : absent();
}
EXPORT(web_address) const char *web_address(size_t shuffler) {
  return web.client ? faro_client_address(web.client, shuffler) : NULL;
}

/* Choices and rewards. The arm is at web_arm. */

EXPORT(web_choose) int web_choose(const double *features, size_t count) {
  return web.client ? (int)faro_client_choose(web.client, features, count, &web.arm, fresh()) : absent();
}
EXPORT(web_arm) size_t web_arm(void) { return web.arm; }

EXPORT(web_keep) int web_keep(const char *id, const double *features) {
  return web.client ? (int)faro_queue_keep(web.queue, web.client, id, features, fresh()) : absent();
}
EXPORT(web_reward) int web_reward(const char *id, double reward) {
  return web.client ? (int)faro_queue_reward(web.queue, web.client, id, reward, fresh()) : absent();
}
EXPORT(web_forget) int web_forget(const char *id) {
  return web.client ? (int)faro_queue_forget(web.queue, web.client, id, fresh()) : absent();
}
EXPORT(web_add) int web_add(double chosen, const double *features, double reward) {
  return web.client ? (int)faro_queue_add(web.queue, web.client, (uint64_t)chosen, features, reward, fresh())
                    : absent();
}
EXPORT(web_save) int web_save(void) {
  return web.client ? (int)faro_queue_save(web.queue, web.client, fresh()) : absent();
}

/* Campaigns in phases: the arm to play is at web_arm, and whether its reward is asked for at
 * web_counts. */

EXPORT(web_in_phases) int web_in_phases(void) { return web.client && faro_client_in_phases(web.client); }
EXPORT(web_turn) int web_turn(void) {
  return web.client ? (int)faro_queue_turn(web.queue, web.client, &web.arm, &web.asked, fresh()) : absent();
}
EXPORT(web_counts) int web_counts(void) { return web.asked; }
EXPORT(web_played) int web_played(size_t arm, double reward) {
  return web.client ? (int)faro_queue_played(web.queue, web.client, arm, reward, fresh()) : absent();
}

/* Sending: web_post_url is NULL if there is nothing to send. */

EXPORT(web_next) int web_next(void) {
  return web.client ? (int)faro_queue_next(web.queue, web.client, &web.post, fresh()) : absent();
}
EXPORT(web_post_url) const char *web_post_url(void) { return web.post.url; }
EXPORT(web_post_bytes) const unsigned char *web_post_bytes(void) { return web.post.bytes; }
EXPORT(web_post_length) size_t web_post_length(void) { return web.post.length; }
EXPORT(web_post_shuffler) size_t web_post_shuffler(void) {
  return faro_wire_report_head(web.post.bytes).shuffler;
}

EXPORT(web_answer) int web_answer(long status, const void *body, size_t length, double retry_after) {
  if (!web.client) return absent();
  return (int)faro_queue_answer(web.queue, web.client, status, body, length, retry_after, &web.reply,
                                fresh());
}
EXPORT(web_reply_kind) int web_reply_kind(void) { return (int)web.reply.kind; }
EXPORT(web_reply_refusal) int web_reply_refusal(void) { return (int)web.reply.refusal; }
EXPORT(web_reply_after) double web_reply_after(void) { return web.reply.after; }
EXPORT(web_again) void web_again(void) {
  if (web.queue) faro_queue_again(web.queue);
}
EXPORT(web_refusal_text) const char *web_refusal_text(int refusal) {
  return faro_refusal_text((faro_refusal)refusal);
}

/* The state to keep; length 0: nothing new. */

EXPORT(web_stored) const unsigned char *web_stored(void) {
  size_t length = 0;
  return place_stored(&length);
}
EXPORT(web_stored_length) size_t web_stored_length(void) {
  size_t length = 0;
  (void)place_stored(&length);
  return length;
}
EXPORT(web_stored_forget) void web_stored_forget(void) { place_forget(); }

/* What the client knows, by name: the page reads the tables, so that a member is written once. */

typedef enum kind { TEXT, REAL, LARGE, SIZE, FLAG } kind;
typedef struct member {
  const char *name;
  kind kind;
  const void *at;
} member;

#define TERM(kind, name)                                                                                     \
  { #name, kind, &web.terms.name }
static const member terms[] = {
    TERM(TEXT, campaign),   TERM(TEXT, release),        TERM(TEXT, analyzer),      TERM(REAL, epsilon),
    TERM(REAL, delta),      TERM(REAL, total_epsilon),  TERM(REAL, total_delta),   TERM(TEXT, trust),
    TERM(FLAG, user_level), TERM(LARGE, contributions), TERM(REAL, alone_epsilon), TERM(REAL, alone_delta),
    TERM(REAL, honest),     TERM(LARGE, batch),         TERM(LARGE, largest),      TERM(LARGE, batches),
    TERM(LARGE, wait),      TERM(LARGE, arms),          TERM(REAL, norm),          TERM(REAL, low),
    TERM(REAL, high),       TERM(SIZE, shufflers),      TERM(FLAG, split)};
#define COUNT(kind, name)                                                                                    \
  { #name, kind, &web.counts.name }
static const member counts[] = {COUNT(SIZE, open),       COUNT(SIZE, waiting),  COUNT(SIZE, kept),
                                COUNT(LARGE, delivered), COUNT(LARGE, refused), COUNT(LARGE, late),
                                COUNT(LARGE, dropped),   COUNT(LARGE, again),   COUNT(LARGE, ended)};

/* The i-th member of the terms, or of the counts; NULL past the last one, and if there is no
 * campaign yet. */
static const member *member_at(int of_counts, size_t i) {
  if (of_counts && web.queue) web.counts = faro_queue_count(web.queue);
  const bool known =
      of_counts ? web.queue != NULL : web.client && faro_client_terms_of(web.client, &web.terms);
  const size_t size = of_counts ? sizeof counts / sizeof *counts : sizeof terms / sizeof *terms;
  return known && i < size ? &(of_counts ? counts : terms)[i] : NULL;
}

EXPORT(web_member_name) const char *web_member_name(int of_counts, size_t i) {
  const member *m = member_at(of_counts, i);
  return m ? m->name : NULL;
}
EXPORT(web_member_kind) int web_member_kind(int of_counts, size_t i) {
  return (int)member_at(of_counts, i)->kind;
}
EXPORT(web_member_text) const char *web_member_text(int of_counts, size_t i) {
  return *(const char *const *)member_at(of_counts, i)->at;
}
EXPORT(web_member_number) double web_member_number(int of_counts, size_t i) {
  const member *m = member_at(of_counts, i);
  switch (m->kind) {
  case REAL: return *(const double *)m->at;
  case LARGE: return (double)*(const uint64_t *)m->at;
  case SIZE: return (double)*(const size_t *)m->at;
  case FLAG: return *(const bool *)m->at;
  default: return 0;
  }
}

EXPORT(web_version) double web_version(void) {
  return web.client ? (double)faro_client_version(web.client) : 0;
}
EXPORT(web_sequence) double web_sequence(void) {
  return web.client ? (double)faro_client_sequence(web.client) : 0;
}
EXPORT(web_dimension) size_t web_dimension(void) {
  return web.client ? faro_client_dimension(web.client) : 0;
}
EXPORT(web_over) int web_over(void) { return web.client && faro_client_over(web.client); }
EXPORT(web_moved) double web_moved(void) { return web.client ? (double)faro_client_moved(web.client) : 0; }
EXPORT(web_analyzer) const char *web_analyzer(void) {
  return web.client ? faro_client_analyzer(web.client) : NULL;
}
/* 32 bytes, or NULL. */
EXPORT(web_digest) const unsigned char *web_digest(void) {
  return web.client ? faro_client_digest(web.client) : NULL;
}
EXPORT(web_pin_key) const unsigned char *web_pin_key(size_t shuffler) {
  return web.client ? faro_client_pin_key(web.client, shuffler) : NULL;
}
EXPORT(web_pin_url) const char *web_pin_url(size_t shuffler) {
  return web.client ? faro_client_pin_url(web.client, shuffler) : NULL;
}
/* Writes the 16 bytes of a token's hash, as shufflers know it. */
EXPORT(web_token_hash) void web_token_hash(const unsigned char *token, unsigned char *hash) {
  faro_token_hash(token, hash);
}
EXPORT(web_library) const char *web_library(void) { return faro_version(); }
