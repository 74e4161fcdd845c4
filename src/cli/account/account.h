/* account: what the files of `faro account` share. A mechanism is a table of forms; a form is a set of options and the
 * function that answers it. account.c reads options, finds the form and prints; the other files know mechanisms. */
#ifndef FARO_CLI_ACCOUNT_ACCOUNT_H
#define FARO_CLI_ACCOUNT_ACCOUNT_H

#include <faro/faro.h>
#include <jansson.h>

#include "base/text.h"
#include "cli/cli.h"

/* The options that take a value, and the keys of a list of mechanisms: name, least (0: above 0), greatest, and whether
 * whole numbers alone are allowed. The last, ACCOUNT_TIMES, is a key only. */
#define ACCOUNT_OPTION_LIST(X)                                                                               \
  X(SENSITIVITY, "sensitivity", 0, 1e6, false)                                                               \
  X(EPSILON, "epsilon", 1e-4, 1000, false)                                                                   \
  X(DELTA, "delta", 1e-15, 0.999, false)                                                                     \
  X(SIGMA, "sigma", 1e-6, 1e9, false)                                                                        \
  X(SCALE, "scale", 1e-6, 1e9, false)                                                                        \
  X(RHO, "rho", 1e-12, 1e4, false)                                                                           \
  X(LOCAL_EPSILON, "local-epsilon", 1e-4, 1000, false)                                                       \
  X(LOCAL_DELTA, "local-delta", 1e-15, 0.999, false)                                                         \
  X(USERS, "users", 1, 1e9, true)                                                                            \
  X(DIMENSION, "dimension", 1, 1e6, true)                                                                    \
  X(GRID, "grid", 1, 1e6, true)                                                                              \
  X(NOISE_BITS, "noise-bits", 1, 1e15, true)                                                                 \
  X(BIAS, "bias", 0.25, 0.5, false)                                                                          \
  X(HONEST, "honest", 0.001, 1, false)                                                                       \
  X(STEPS, "steps", 1, 1e9, true)                                                                            \
  X(CONTRIBUTIONS, "contributions", 1, 1e9, true)                                                            \
  X(TIMES, "times", 1, 1e6, true)

typedef enum account_option {
#define X(name, text, low, high, whole) ACCOUNT_##name,
  ACCOUNT_OPTION_LIST(X)
#undef X
      ACCOUNT_OPTIONS
} account_option;

/* Sets of options. */
#define ACCOUNT_BIT(name) (1u << ACCOUNT_##name)

typedef struct account_range {
  double low, high; /* low 0: above 0 */
  bool whole;
  bool zero; /* 0 is allowed too */
} account_range;

enum { ACCOUNT_OWN_MAX = 4, ACCOUNT_FORMS_MAX = 4, ACCOUNT_SHOWN = FARO_SHORT_SIZE, ACCOUNT_TEXT = 160 };

typedef struct account account;

/* Fields put, a sentence said: EXIT_DONE. Else the exit status, the reason printed. */
typedef int account_solve(account *a);

typedef struct account_form {
  unsigned need, may;
  account_solve *solve; /* NULL ends the list */
} account_form;

/* An option whose range differs from that of the list. */
typedef struct account_own {
  account_option option;
  account_range range; /* high 0 ends the list */
} account_own;

typedef struct account_mechanism {
  const char *name;
  bool file; /* takes a file */
  account_form form[ACCOUNT_FORMS_MAX];
  account_own own[ACCOUNT_OWN_MAX];
} account_mechanism;

extern const account_mechanism account_gaussian, account_laplace, account_discrete_laplace,
    account_discrete_gaussian, account_response, account_zcdp, account_bits, account_shuffle, account_tree,
    account_factored, account_compose;

/* A question and its answer. */
struct account {
  const account_mechanism *mechanism;
  const char *text[ACCOUNT_OPTIONS]; /* as typed */
  double value[ACCOUNT_OPTIONS];     /* 0 where not given */
  unsigned given;
  const char *file;
  bool json;
  json_t *fields;
  faro_text why;   /* the sentence */
  const char *bad; /* a field that came out as no finite number */
};

const char *account_option_name(account_option option);
account_range account_range_of(account_option option, const account_own own[ACCOUNT_OWN_MAX]);
/* Reads what a person typed, refusing what is no number or outside the range. */
bool account_read(account_option option, const account_range *range, const char *text, double *value);
/* "a number from 0.0001 to 1000" */
const char *account_allowed(account_option option, const account_range *range, char out[static ACCOUNT_TEXT]);
/* See faro_shorten; "nothing" for an empty text. */
const char *account_shown(const char *text, char out[static ACCOUNT_SHOWN]);

/* The value of an option, or `fallback` where it is not given. */
double account_value(const account *a, account_option option, double fallback);

/* A field of the answer; whole numbers print as such. */
void account_put(account *a, const char *name, double value);
void account_put_whole(account *a, const char *name, double value);
/* What was computed, and from which result. */
void account_say(account *a, const char *format, ...) FARO_PRINTF(2, 3);
/* "faro account: ..." on stderr; returns EXIT_USAGE. */
int account_refuse(const char *format, ...) FARO_PRINTF(1, 2);

/* a / b, not below the true quotient. */
double account_divide_up(double a, double b);

#endif
