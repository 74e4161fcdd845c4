/* follow: see the header. */
#include "service/shuffler/follow.h"

#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "service/role/log.h"
#include "service/role/process.h"

struct faro_follow {
  faro_follow_params params;
  faro_sender *sender;
  pthread_t thread;
  bool running;
};

/* Verifies a plan and keeps it. */
static faro_status take(const faro_follow *f, const faro_sent *sent, faro_error *error) {
  const faro_follow_params *p = &f->params;
  faro_plan_document plan;
  faro_plan_row row;
  unsigned char signer[FARO_KEY_BYTES];
  faro_place_signer(p->place, signer);
  faro_status status = faro_plan_document_open(&plan, sent->bytes, sent->length, signer, error);
  if (status == FARO_OK) status = faro_plan_check(p->campaign, &plan, &row, error);
  if (status == FARO_OK) status = faro_intake_follow(p->intake, &row, sent->bytes, sent->length, error);
  if (status == FARO_OK)
    faro_log(FARO_LOG_INFO, "plan", "sI sI sI", "version", (json_int_t)plan.version, "phase",
             (json_int_t)plan.phase, "reports", (json_int_t)plan.size);
  return status;
}

/* Asks once for the plan after `version`. A plan that is refused stays refused until somebody
 * helps, and without one that is kept no report is taken: the role is unwell, and asks again. */
static bool ask(faro_follow *f, uint64_t version) {
  char address[FARO_URL_MAX + 1], url[FARO_URL_MAX + 64];
  char text[FARO_ILL_TEXT];
  faro_sent sent = {0};
  faro_error error = {0};
  faro_place_address(f->params.place, address);
  snprintf(url, sizeof url, "%s/v1/policy?after=%" PRIu64, address, version);
  faro_status status = faro_send_get(f->sender, url, &sent, &error);
  if (status == FARO_SYSTEM || (status == FARO_OK && sent.status >= 500)) faro_place_failed(f->params.place);
  if (status != FARO_OK || sent.status != 200) return false;
  status = take(f, &sent, &error);
  if (status != FARO_OK)
    snprintf(text, sizeof text, "the analyzer's plan after version %" PRIu64 " %s: %.300s", version,
             status == FARO_INVALID ? "is refused" : "cannot be kept", error.message);
  faro_health_set(f->params.health, FARO_ILL_PLAN, status != FARO_OK ? text : "");
  return status == FARO_OK;
}

/* While a batch is open, its plan is known and the next one cannot be. */
static void *follow(void *context) {
  faro_follow *f = context;
  const faro_plans *plans = f->params.campaign->plans;
  faro_backoff backoff = {0};
  while (!faro_process_ending() && !faro_plans_over(plans)) {
    const uint64_t version = faro_plans_newest(plans);
    if (faro_intake_closed(f->params.intake, version, 0.2)) {
      if (ask(f, version)) backoff = (faro_backoff){0};
      else
        for (double left = faro_backoff_next(&backoff); left > 0 && !faro_process_ending(); left -= 0.1)
          faro_sleep(left < 0.1 ? left : 0.1);
    }
  }
  return NULL;
}

faro_status faro_follow_create(faro_follow **made, const faro_follow_params *params, faro_error *error) {
  const faro_sender_params sender = {.authority = params->authority, .stopping = faro_process_ending};
  faro_follow *f = calloc(1, sizeof *f);
  if (!f) return faro_fail(error, FARO_MEMORY, "cannot allocate the follower of plans");
  f->params = *params;
  faro_status status = faro_sender_create(&f->sender, &sender, error);
  if (status == FARO_OK) {
    f->running = pthread_create(&f->thread, NULL, follow, f) == 0;
    if (!f->running) status = faro_fail(error, FARO_SYSTEM, "cannot start a thread");
  }
  if (status == FARO_OK) *made = f;
  else faro_follow_destroy(f);
  return status;
}

void faro_follow_destroy(faro_follow *f) {
  if (!f) return;
  if (f->running) pthread_join(f->thread, NULL);
  faro_sender_destroy(f->sender);
  free(f);
}
