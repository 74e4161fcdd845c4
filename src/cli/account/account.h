/* account: what the files of `faro account` share. A mechanism is a table of forms; a form is a set
 * of options and the function that computes the answer for them. account.c reads the options, finds
 * the form and prints; the other files hold the mechanisms. */
#ifndef FARO_CLI_ACCOUNT_ACCOUNT_H
#define FARO_CLI_ACCOUNT_ACCOUNT_H

#include <faro/faro.h>
#include <jansson.h>

#include "base/text.h"
#include "cli/cli.h"

/* The options that take a number: name, type, what --help calls the value, help, range. */
#define ACCOUNT_OPTION_LIST(X)                                                                               \
  X(SENSITIVITY, "sensitivity", REAL, "S",                                                                   \
    "greatest difference of two users' values; 1 by default: L2 (gaussian, tree, "                           \
    "factored), L1 (laplace), a whole number (discrete-*); bits: see below",                                 \
    .most = 1e6, .above = true)                                                                              \
  X(EPSILON, "epsilon", REAL, "E", "epsilon of the guarantee", .least = 1e-4, .most = 1000)                  \
  X(DELTA, "delta", REAL, "D", "delta of the guarantee", .least = 1e-15, .most = 0.999)                      \
  X(SIGMA, "sigma", REAL, "S", "standard deviation of the Gaussian distribution", .least = 1e-6,             \
    .most = 1e9)                                                                                             \
  X(SCALE, "scale", REAL, "B", "scale of the Laplace distribution", .least = 1e-6, .most = 1e9)              \
  X(RHO, "rho", REAL, "R", "parameter of zero-concentrated privacy", .least = 1e-12, .most = 1e4)            \
  X(LOCAL_EPSILON, "local-epsilon", REAL, "E0",                                                              \
    "epsilon of one message; response tells the truth with probability e^E0 / (1 + e^E0)", .least = 1e-4,    \
    .most = 1000)                                                                                            \
  X(LOCAL_DELTA, "local-delta", REAL, "D0", "delta of one message; 0 by default", .least = 1e-15,            \
    .most = 0.999)                                                                                           \
  X(USERS, "users", WHOLE, "N", "number of users", .least = 1, .most = 1e9)                                  \
  X(DIMENSION, "dimension", WHOLE, "D", "bits: number of coordinates", .least = 1, .most = 1e6)              \
  X(GRID, "grid", WHOLE, "G", "bits: steps per original unit; chosen by default", .least = 1, .most = 1e6)   \
  X(NOISE_BITS, "noise-bits", WHOLE, "B", "bits: noise bits per user and coordinate", .least = 1,            \
    .most = 1e15)                                                                                            \
  X(BIAS, "bias", OTHER, "P",                                                                                \
    "bits: probability that a noise bit is one: 1/2; in one dimension with --noise-bits "                    \
    "also 1/4",                                                                                              \
    .read = account_read_bias, .allowed = "1/2 or 1/4")                                                      \
  X(HONEST, "honest", REAL, "H", "bits: share of the users that add their noise bits; 1 by default",         \
    .least = 0.001, .most = 1)                                                                               \
  X(STEPS, "steps", WHOLE, "T", "tree, factored: number of releases", .least = 1, .most = 1e9)               \
  X(CONTRIBUTIONS, "contributions", WHOLE, "M",                                                              \
    "tree, factored: releases, of the T, that one user may be in; 1 by default", .least = 1, .most = 1e9)

/* The options, and one more that is only a key in a list of mechanisms. */
typedef enum account_option {
#define X(id, ...) ACCOUNT_##id,
  ACCOUNT_OPTION_LIST(X)
#undef X
      ACCOUNT_TIMES,
  ACCOUNT_OPTIONS
} account_option;

/* Sets of options. */
#define ACCOUNT_BIT(name) (1u << ACCOUNT_##name)

enum { ACCOUNT_OWN_MAX = 4, ACCOUNT_FORMS_MAX = 4, ACCOUNT_TEXT = 160 };

/* A delta that may be 0. */
#define ACCOUNT_DELTA_OR_ZERO                                                                                \
  { "delta", FARO_FIELD_REAL, .least = 1e-15, .most = 0.999, .zero = "0" }

typedef struct account account;

/* Adds the fields and the sentence of the answer and returns EXIT_DONE; or prints the reason and
 * returns another exit status. */
typedef int account_solve(account *a);

typedef struct account_form {
  unsigned need, may;
  account_solve *solve; /* NULL ends the list */
} account_form;

typedef struct account_mechanism {
  const char *name;
  const char *summary;     /* one line for lists */
  const char *usage;       /* the options of its forms */
  const char *sensitivity; /* what --sensitivity means here; NULL: it has none, or as in the list above */
  const char *about;       /* more for --help; NULL: nothing */
  const char *example;     /* arguments after `faro account NAME` */
  bool file;               /* takes the path of a file */
  account_form form[ACCOUNT_FORMS_MAX];
  faro_field own[ACCOUNT_OWN_MAX]; /* options with a range other than in the list above */
} account_mechanism;

extern const account_mechanism account_gaussian, account_laplace, account_discrete_laplace,
    account_discrete_gaussian, account_response, account_zcdp, account_bits, account_shuffle, account_tree,
    account_factored, account_compose;

/* A question and its answer. */
struct account {
  const account_mechanism *mechanism;
  const char *text[ACCOUNT_OPTIONS]; /* as typed */
  double value[ACCOUNT_OPTIONS];     /* 0 if not given */
  unsigned given;
  const char *file;
  bool json;
  json_t *fields;
  faro_text why;   /* the sentence of the answer */
  const char *bad; /* a field whose value is not finite; else NULL */
};

bool account_read_bias(const char *text, void *out);
const char *account_option_name(account_option option);
/* The field of an option, for an array of ACCOUNT_OPTIONS doubles; `own` overrides the
 * list. */
faro_field account_field(account_option option, const faro_field own[static ACCOUNT_OWN_MAX]);
/* Makes a text from the command line printable, for messages. */
const char *account_shown(const char *text, char out[static FARO_GOT]);

/* The value of an option, or `fallback` if it is not given. */
double account_value(const account *a, account_option option, double fallback);

/* Adds a field to the answer. account_put_whole prints it as a whole number. */
void account_put(account *a, const char *name, double value);
void account_put_whole(account *a, const char *name, double value);
/* Adds the sentence: what was computed, and the result that it is based on. */
void account_say(account *a, const char *format, ...) FARO_PRINTF(2, 3);

/* a / b, rounded so that it is not below the true quotient. */
double account_divide_up(double a, double b);

#endif
