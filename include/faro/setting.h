/* setting: a number, switch, word or text that a person may set, as one row of a table.
 *
 * Learners and environments declare their own settings with such a table and a struct that holds
 * the values. Experiments, lists, help and messages read the table; only the kind itself reads the
 * struct.
 *
 *     typedef struct lints_settings { double scale; } lints_settings;
 *     static const faro_setting settings[] = {
 *         {"scale", FARO_SETTING_REAL, offsetof(lints_settings, scale), 0.01, 100, 1, NULL, "factor
 *         ..."},
 *         {0}}; */
#ifndef FARO_SETTING_H
#define FARO_SETTING_H

#include <faro/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The comments name the type of the member that holds the value. For numbers words[0], if given,
 * stands for 0. */
typedef enum faro_setting_type {
  FARO_SETTING_REAL,      /* double: least .. most */
  FARO_SETTING_REAL_OPEN, /* double: above least and below most */
  FARO_SETTING_COUNT,     /* uint64_t: least .. most */
  FARO_SETTING_SWITCH,    /* bool */
  FARO_SETTING_CHOICE,    /* an enum: the index among the words */
  FARO_SETTING_TEXT       /* const char *: a text, or a list of words as one text: "a, b". NULL: none */
} faro_setting_type;

typedef struct faro_setting {
  const char *name; /* NULL ends a table */
  faro_setting_type type;
  size_t offset; /* offset of the member in the struct */
  double least, most;
  double preset;            /* the default; NaN: required */
  const char *const *words; /* ends with NULL */
  const char *help;
} faro_setting;

/* The most bytes of a text. */
enum { FARO_SETTING_TEXT_MAX = 4000 };

/* The member's value as a number, whatever its type. For a text: whether there is one; it is put by
 * faro_setting_put_text, which keeps the pointer, not a copy. */
FARO_API double faro_setting_get(const faro_setting *setting, const void *values);
FARO_API void faro_setting_put(const faro_setting *setting, void *values, double value);
/* The text of the member; NULL: none, or the setting is not a text. */
FARO_API const char *faro_setting_text(const faro_setting *setting, const void *values);
FARO_API void faro_setting_put_text(const faro_setting *setting, void *values, const char *text);
/* Sets every member of the table to its default. `settings` may be NULL. */
FARO_API void faro_settings_preset(const faro_setting *settings, void *values);

#ifdef __cplusplus
}
#endif

#endif
