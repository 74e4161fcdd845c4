/* account_read: the fields of the options. */
#include <string.h>

#include "cli/account/account.h"

/* Only these biases are allowed. */
bool account_read_bias(const char *text, void *out) {
  static const struct {
    const char *text;
    double value;
  } biases[] = {{"1/2", 0.5}, {"0.5", 0.5}, {"1/4", 0.25}, {"0.25", 0.25}};
  for (size_t i = 0; i < sizeof biases / sizeof *biases; i++)
    if (strcmp(text, biases[i].text) == 0) {
      *(double *)out = biases[i].value;
      return true;
    }
  return false;
}

static const faro_field table[ACCOUNT_OPTIONS] = {
#define X(id, name, kind, value, help, ...) {name, FARO_FIELD_##kind, __VA_ARGS__},
    ACCOUNT_OPTION_LIST(X)
#undef X
        {"times", FARO_FIELD_WHOLE, .least = 1, .most = 1e6},
};

const char *account_option_name(account_option option) { return table[option].name; }

faro_field account_field(account_option option, const faro_field own[static ACCOUNT_OWN_MAX]) {
  faro_field field = table[option];
  for (size_t i = 0; i < ACCOUNT_OWN_MAX && own[i].name; i++)
    if (strcmp(own[i].name, field.name) == 0) field = own[i];
  field.offset = (size_t)option * sizeof(double);
  field.size = sizeof(double);
  return field;
}

const char *account_shown(const char *text, char out[static FARO_GOT]) {
  const faro_node node = {.type = FARO_NODE_TEXT, .origin = FARO_FROM_ARGV, .text = text};
  return faro_node_shown(&node, out);
}
