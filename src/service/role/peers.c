/* peers: see the header. */
#include "service/role/peers.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double PATIENCE = 20; /* seconds; a shuffler greets every five */
static const double STALE = 8;     /* seconds in which whoever is up to date has greeted */

const faro_peers_words faro_peers_shufflers = {"shuffler", "analyzer", "database", FARO_ILL_SILENT,
                                               FARO_ILL_DIFFERS};
const faro_peers_words faro_peers_collectors = {"collector", "joiner", "state", FARO_ILL_COLLECTOR,
                                                FARO_ILL_COLLECTION};

void faro_peers_init(faro_peers *p, const faro_peers_words *words, size_t count, double now) {
  *p = (faro_peers){.words = words, .count = count, .start = now};
  pthread_mutex_init(&p->mutex, NULL);
}

void faro_peers_clear(faro_peers *p) { pthread_mutex_destroy(&p->mutex); }

void faro_peers_expect(faro_peers *p, size_t shuffler, uint64_t next, double now) {
  pthread_mutex_lock(&p->mutex);
  if (p->peer[shuffler].next != next) p->peer[shuffler].heard = now;
  p->peer[shuffler].next = next;
  pthread_mutex_unlock(&p->mutex);
}

static bool is_behind(const faro_peer *peer, const faro_greeting *g) {
  return peer->next > g->first + 1 || peer->next > g->open;
}

/* A greeting may be older than the batches that arrived while it was on the way, and one of several
 * front-ends may not have heard yet of what another one has handed over. So what is missing at the
 * shuffler counts only if nothing has arrived since the greeting before, and none that knew all of
 * it came lately; what is missing here counts at once, because it cannot come any more. */
static bool cannot_fit(const faro_peer *peer, const faro_greeting *g, double now) {
  const bool quiet = peer->greeted && peer->next == peer->next_then && now - peer->fitted > STALE;
  return !g->same || g->first > peer->next || (quiet && is_behind(peer, g));
}

void faro_peers_greeted(faro_peers *p, const faro_greeting *greeting, double now) {
  pthread_mutex_lock(&p->mutex);
  faro_peer *peer = &p->peer[greeting->shuffler];
  peer->differs = cannot_fit(peer, greeting, now);
  if (!peer->differs && !is_behind(peer, greeting)) peer->fitted = now;
  peer->last = *greeting;
  peer->next_then = peer->next;
  peer->greeted = true;
  peer->heard = now;
  pthread_mutex_unlock(&p->mutex);
}

bool faro_peers_agree(faro_peers *p) {
  pthread_mutex_lock(&p->mutex);
  bool agree = p->count > 0;
  for (size_t i = 0; i < p->count; i++) {
    const faro_peer *peer = &p->peer[i];
    const faro_greeting *last = &peer->last;
    agree = agree && peer->greeted && !peer->differs && last->same && last->epoch == p->epoch &&
            last->first <= peer->next && peer->next <= last->first + 1;
  }
  pthread_mutex_unlock(&p->mutex);
  return agree;
}

void faro_peers_next(faro_peers *p, uint64_t next[static FARO_SHUFFLERS_MAX]) {
  pthread_mutex_lock(&p->mutex);
  for (size_t i = 0; i < FARO_SHUFFLERS_MAX; i++) next[i] = p->peer[i].next;
  pthread_mutex_unlock(&p->mutex);
}

/* Since when nothing was heard of it. */
static double silence(const faro_peers *p, const faro_peer *peer, double now) {
  return now - fmax(peer->heard, p->start);
}

static void say_silent(const faro_peers *p, size_t i, double now, faro_text *out) {
  const faro_peer *peer = &p->peer[i];
  const char *comma = out->length > 0 ? "; " : "";
  if (silence(p, peer, now) <= PATIENCE) return;
  if (peer->heard > 0)
    faro_text_add(out, "%s%s %zu does not answer, for %.0f s now", comma, p->words->peer, i,
                  now - peer->heard);
  else
    faro_text_add(out, "%s%s %zu has not been heard of since the %s was started", comma, p->words->peer, i,
                  p->words->self);
}

static void say_differs(const faro_peers *p, size_t i, faro_text *out) {
  const faro_peer *peer = &p->peer[i];
  const char *comma = out->length > 0 ? "; " : "";
  if (!peer->differs) return;
  if (!peer->last.same) faro_text_add(out, "%s%s %zu holds another campaign", comma, p->words->peer, i);
  else if (peer->last.first > peer->next)
    faro_text_add(out,
                  "%s%s %zu has handed over %" PRIu64 " batches, but only %" PRIu64
                  " are here: an old copy of the %s was restored",
                  comma, p->words->peer, i, peer->last.first, peer->next, p->words->state);
  else
    faro_text_add(out,
                  "%s%" PRIu64 " batches of %s %zu are here, but it collects batch %" PRIu64
                  ": an old copy of its state was restored",
                  comma, peer->next, p->words->peer, i, peer->last.open);
}

void faro_peers_check(faro_peers *p, bool finished, double now, faro_health *health) {
  faro_text silent = FARO_TEXT_INIT;
  faro_text differs = FARO_TEXT_INIT;
  pthread_mutex_lock(&p->mutex);
  for (size_t i = 0; i < p->count && !finished; i++) {
    say_silent(p, i, now, &silent);
    say_differs(p, i, &differs);
  }
  pthread_mutex_unlock(&p->mutex);
  faro_health_set(health, p->words->silent, silent.data);
  faro_health_set(health, p->words->differs, differs.data);
  faro_text_clear(&silent);
  faro_text_clear(&differs);
}

bool faro_peers_heard(faro_peers *p, size_t shuffler, double now) {
  pthread_mutex_lock(&p->mutex);
  const double heard = p->peer[shuffler].heard;
  pthread_mutex_unlock(&p->mutex);
  return heard > 0 && now - heard <= PATIENCE;
}

static const char *state_of(const faro_peers *p, const faro_peer *peer, double now) {
  if (silence(p, peer, now) > PATIENCE) return "silent";
  if (peer->differs) return "differs";
  if (!peer->greeted) return "unknown";
  return peer->last.unwell ? "unwell" : "well";
}

json_t *faro_peers_json(faro_peers *p, const faro_campaign *campaign, double now) {
  json_t *all = json_array();
  pthread_mutex_lock(&p->mutex);
  for (size_t i = 0; i < p->count; i++) {
    const faro_peer *peer = &p->peer[i];
    json_t *seconds = peer->heard > 0 ? json_real(now - peer->heard) : json_null();
    if (json_array_append_new(all, json_pack("{ss sI so ss}", "url", campaign->shuffler[i].url, "next",
                                             (json_int_t)peer->next, "seconds", seconds, "state",
                                             state_of(p, peer, now))) != 0)
      break;
  }
  pthread_mutex_unlock(&p->mutex);
  return all;
}
