/* life: see the header. */
#include "service/analyzer/life.h"

#include <string.h>

#include "base/text.h"

static const char *const names[] = {
#define X(name, text) text,
    FARO_LIFE_LIST(X)
#undef X
};

#define FROM(name) (1U << FARO_LIFE_##name)

static const struct {
  const char *verb;
  unsigned from; /* states in which it is allowed */
  faro_life to;
} changes[] = {
    {"open", FROM(DRAFT), FARO_LIFE_OPEN},
    {"pause", FROM(OPEN), FARO_LIFE_PAUSED},
    {"resume", FROM(PAUSED), FARO_LIFE_OPEN},
    {"finish", FROM(OPEN) | FROM(PAUSED), FARO_LIFE_FINISHED},
    {"archive", FROM(FINISHED), FARO_LIFE_ARCHIVED},
};
enum { CHANGES = sizeof changes / sizeof *changes };

const char *faro_life_name(faro_life life) { return names[life]; }

faro_status faro_life_read(const char *name, faro_life *life, faro_error *error) {
  for (size_t i = 0; i < FARO_LIVES; i++)
    if (strcmp(name, names[i]) == 0) {
      *life = (faro_life)i;
      return FARO_OK;
    }
  char shown[FARO_SHOWN];
  return faro_fail(error, FARO_INVALID, "the state is damaged: a campaign cannot be %s",
                   faro_printable(name, shown, sizeof shown));
}

const char *faro_life_verb(size_t index) { return index < CHANGES ? changes[index].verb : NULL; }

/* "pause, finish", or "nothing". */
static const char *allowed_in(faro_life now, faro_text *text) {
  for (size_t i = 0; i < CHANGES; i++)
    if (changes[i].from & 1U << now)
      faro_text_add(text, "%s%s", text->length > 0 ? ", " : "", changes[i].verb);
  return text->length > 0 && !text->failed ? text->data : "nothing";
}

faro_status faro_life_after(faro_life now, const char *verb, faro_life *after, faro_error *error) {
  char shown[FARO_SHOWN];
  faro_text text = FARO_TEXT_INIT;
  for (size_t i = 0; i < CHANGES; i++)
    if (strcmp(verb, changes[i].verb) == 0 && changes[i].from & 1U << now) {
      *after = changes[i].to;
      return FARO_OK;
    }
  const faro_status status =
      faro_fail(error, FARO_INVALID, "the campaign is %s, so %s is not possible; possible: %s",
                faro_life_name(now), faro_printable(verb, shown, sizeof shown), allowed_in(now, &text));
  faro_text_clear(&text);
  return status;
}
