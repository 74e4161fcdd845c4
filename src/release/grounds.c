/* grounds: see the header. What all mechanisms have in common; each adds its noise
 * (mechanism.h). */
#include "release/grounds.h"

#include <stdlib.h>

void faro_ground_number(faro_text *out, const char *name, double value) {
  char number[FARO_NUMBER_SIZE];
  faro_text_add(out, ",\"%s\":%s", name, faro_number(value, number));
}

void faro_ground_word(faro_text *out, const char *name, const char *word) {
  faro_text_add(out, ",\"%s\":\"%s\"", name, word);
}

void faro_ground_sd(const faro_release *r, double factor, faro_text *out) {
  const faro_contribution *c = &r->contribution;
  const double on = r->unit[0]; /* (0, 0) is the first entry of a packed matrix, (1, 0) the second */
  const double off = c->gram > c->dimension ? r->unit[1] : on;
  const double rest = r->unit[c->length - 1];
  char number[3][FARO_NUMBER_SIZE];
  faro_text_add(out, ",\"sd\":[%s,%s,%s]", faro_number(factor * on, number[0]),
                faro_number(factor * off, number[1]), faro_number(factor * rest, number[2]));
}

static const char *form_name(faro_form form) {
  switch (form) {
  case FARO_FORM_MOMENTS: return "moments";
  case FARO_FORM_GRAM: return "gram";
  case FARO_FORM_REWARDS: return "rewards";
  case FARO_FORM_VALUES: return "values";
  case FARO_FORM_BALL: return "ball";
  }
  return "";
}

static bool weighed(const faro_contribution *c) { return c->gram > 0 && c->off != c->on; }

static void write_contribution(const faro_contribution *c, faro_text *out) {
  faro_text_add(out, ",\"contribution\":{\"form\":\"%s\",\"dimension\":%zu,\"weighed\":%s",
                form_name(c->form), c->dimension, weighed(c) ? "true" : "false");
  if (c->blocks > 1) faro_text_add(out, ",\"blocks\":%zu", c->blocks);
  faro_ground_number(out, "norm", c->norm);
  faro_ground_number(out, "low", c->low);
  faro_ground_number(out, "high", c->high);
  if (c->form == FARO_FORM_REWARDS) faro_ground_number(out, "middle", c->middle);
  faro_ground_word(out, "link", faro_link_name(c->link));
  faro_text_add(out, "}");
}

char *faro_release_grounds(const faro_release *release) {
  const faro_mechanism *mechanism = release->kind->mechanism;
  faro_text out = FARO_TEXT_INIT;
  if (release->kind->trust == FARO_TRUST_NONE || !mechanism->grounds) return NULL;
  if (mechanism->alone && release->deployed) return NULL; /* its whole numbers are not recorded */
  faro_text_add(&out, "{\"release\":\"%s\"", release->kind->name);
  write_contribution(&release->contribution, &out);
  faro_ground_number(&out, "repeats", (double)release->repeats);
  faro_ground_number(&out, "batches", (double)release->batches);
  faro_ground_number(&out, "people", (double)faro_schedule_users(&release->schedule, release->batches));
  mechanism->grounds(release, &out);
  faro_text_add(&out, "}");
  if (out.failed) faro_text_clear(&out);
  return out.data;
}
