/* account: faro account MECHANISM. Reads the options, finds the form that they make, and prints its answer. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/account/account.h"
#include "cli/cli.h"

static const account_mechanism *const mechanisms[] = {&account_gaussian,
                                                      &account_laplace,
                                                      &account_discrete_laplace,
                                                      &account_discrete_gaussian,
                                                      &account_response,
                                                      &account_zcdp,
                                                      &account_bits,
                                                      &account_shuffle,
                                                      &account_tree,
                                                      &account_factored,
                                                      &account_compose};
enum { MECHANISMS = sizeof mechanisms / sizeof *mechanisms };

/* ---- what mechanisms use */

double account_value(const account *a, account_option option, double fallback) {
  return a->given & (1u << option) ? a->value[option] : fallback;
}

static void put(account *a, const char *name, double value, json_t *number) {
  if (!isfinite(value) && !a->bad) a->bad = name;
  if (json_object_set_new(a->fields, name, number) != 0 && isfinite(value)) a->why.failed = true;
}

void account_put(account *a, const char *name, double value) { put(a, name, value, json_real(value)); }

void account_put_whole(account *a, const char *name, double value) {
  const bool whole = value == floor(value) && fabs(value) < 9e18;
  put(a, name, value, whole ? json_integer((json_int_t)value) : json_real(value));
}

void account_say(account *a, const char *format, ...) {
  char sentence[600];
  va_list args;
  va_start(args, format);
  vsnprintf(sentence, sizeof sentence, format, args);
  va_end(args);
  faro_text_add(&a->why, "%s", sentence);
}

double account_divide_up(double a, double b) {
  const double quotient = a / b;
  return fma(quotient, b, -a) < 0 ? nextafter(quotient, INFINITY) : quotient;
}

/* ---- the question */

static int set_mechanism(account *a, const char *word) {
  const char *names[MECHANISMS];
  char list[160] = "";
  size_t used = 0;
  for (size_t i = 0; i < MECHANISMS; i++) {
    names[i] = mechanisms[i]->name;
    if (word && strcmp(names[i], word) == 0) {
      a->mechanism = mechanisms[i];
      return EXIT_DONE;
    }
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
  }
  if (!word) return account_refuse("which mechanism? one of %s", list);
  const char *nearest = faro_nearest(word, names, MECHANISMS);
  char got[ACCOUNT_SHOWN];
  return account_refuse("unknown mechanism \"%s\"%s%s%s; one of %s", account_shown(word, got),
                        nearest ? " (did you mean " : "", nearest ? nearest : "", nearest ? "?)" : "", list);
}

static int set_word(account *a, const char *word) {
  char got[ACCOUNT_SHOWN];
  if (!a->mechanism) return set_mechanism(a, word);
  if (!a->mechanism->file)
    return account_refuse("%s takes options only (got %s)", a->mechanism->name, account_shown(word, got));
  if (a->file)
    return account_refuse("%s takes one file (got %s too)", a->mechanism->name, account_shown(word, got));
  a->file = word;
  return EXIT_DONE;
}

static int set_option(account *a, int option, const char *text) {
  char first[ACCOUNT_SHOWN];
  char second[ACCOUNT_SHOWN];
  if (a->given & (1u << option))
    return account_refuse("--%s is given twice (got %s and %s)", account_option_name((account_option)option),
                          account_shown(a->text[option], first), account_shown(text, second));
  a->text[option] = text;
  a->given |= 1u << option;
  return EXIT_DONE;
}

/* EXIT_DONE and the words as they were typed, or -1 when help was printed, or an exit status. */
static int parse(account *a, int argc, char **argv) {
  enum { TYPED = ACCOUNT_TIMES, OPTION_JSON = TYPED, OPTION_COUNT };
  cli_option options[OPTION_COUNT] = {[OPTION_JSON] = {"json", false}};
  for (int i = 0; i < TYPED; i++) options[i] = (cli_option){account_option_name((account_option)i), true};
  int place = 0;
  const char *value = NULL;
  for (;;) {
    int status = EXIT_DONE;
    const int found = cli_next(&cli_account, options, OPTION_COUNT, argc, argv, &place, &value);
    if (found == CLI_END) return a->mechanism ? EXIT_DONE : set_mechanism(a, NULL);
    if (found == CLI_HELP) return -1;
    if (found == OPTION_JSON) a->json = true;
    else if (found == CLI_WORD) status = set_word(a, value);
    else if (found >= 0) status = set_option(a, found, value);
    else return EXIT_USAGE;
    if (status != EXIT_DONE) return status;
  }
}

/* The options of a set in words: "--sigma and --delta". */
static const char *set_text(unsigned set, const char *between, char out[static ACCOUNT_TEXT]) {
  size_t used = 0;
  *out = '\0';
  for (int i = 0; i < ACCOUNT_OPTIONS; i++)
    if (set & (1u << i) && used < ACCOUNT_TEXT)
      used += (size_t)snprintf(out + used, ACCOUNT_TEXT - used, "%s--%s", used ? between : "",
                               account_option_name((account_option)i));
  return out;
}

/* An option that no form of the mechanism knows. */
static int refuse_foreign(const account *a) {
  const account_mechanism *m = a->mechanism;
  unsigned known = 0;
  for (size_t i = 0; i < ACCOUNT_FORMS_MAX && m->form[i].solve; i++)
    known |= m->form[i].need | m->form[i].may;
  for (int i = 0; i < ACCOUNT_OPTIONS; i++)
    if (a->given & ~known & (1u << i)) {
      char got[ACCOUNT_SHOWN];
      char text[ACCOUNT_TEXT];
      return account_refuse("%s has no --%s (got %s); it takes %s", m->name,
                            account_option_name((account_option)i), account_shown(a->text[i], got),
                            set_text(known, ", ", text));
    }
  return EXIT_DONE;
}

/* Options that together make no question: too few, or too many. */
static int no_form(const account *a) {
  const account_mechanism *m = a->mechanism;
  char forms[ACCOUNT_FORMS_MAX * ACCOUNT_TEXT] = "";
  char text[ACCOUNT_TEXT];
  size_t used = 0;
  for (size_t i = 0; i < ACCOUNT_FORMS_MAX && m->form[i].solve; i++)
    used += (size_t)snprintf(forms + used, sizeof forms - used, "%s%s", i ? ", or " : "",
                             set_text(m->form[i].need, " ", text));
  return account_refuse("%s needs %s (got %s)", m->name, forms,
                        a->given ? set_text(a->given, " ", text) : "none of them");
}

static const account_form *find_form(const account *a) {
  for (size_t i = 0; i < ACCOUNT_FORMS_MAX && a->mechanism->form[i].solve; i++) {
    const account_form *form = &a->mechanism->form[i];
    if (!(form->need & ~a->given) && !(a->given & ~(form->need | form->may))) return form;
  }
  return NULL;
}

static int read_values(account *a) {
  for (int i = 0; i < ACCOUNT_OPTIONS; i++) {
    const account_option option = (account_option)i;
    if (!(a->given & (1u << i))) continue;
    const account_range range = account_range_of(option, a->mechanism->own);
    char allowed[ACCOUNT_TEXT];
    char got[ACCOUNT_SHOWN];
    if (!account_read(option, &range, a->text[i], &a->value[i]))
      return account_refuse("--%s must be %s (got %s)", account_option_name(option),
                            account_allowed(option, &range, allowed), account_shown(a->text[i], got));
  }
  return EXIT_DONE;
}

/* ---- the answer */

/* A number that is none is never printed: it says that the question has no answer. */
static int no_answer(const account *a) {
  char delta[FARO_NUMBER_SIZE];
  if (strcmp(a->bad, "epsilon") == 0 && a->given & ACCOUNT_BIT(DELTA))
    fprintf(stderr,
            "faro account: no epsilon is enough for --delta %s with these values; a larger one may be\n",
            faro_number(a->value[ACCOUNT_DELTA], delta));
  else
    fprintf(stderr, "faro account: %s cannot be told with these values of %s\n", a->bad, a->mechanism->name);
  return EXIT_INPUT;
}

static void print_number(const json_t *value) {
  char text[FARO_NUMBER_SIZE];
  if (json_is_null(value)) printf("none (out of the theorem's range)");
  else if (json_is_integer(value)) printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
  else printf("%s", faro_number(json_real_value(value), text));
}

/* The points of a curve, a line each. */
static void print_curve(const json_t *curve) {
  size_t i = 0;
  const json_t *point = NULL;
  json_array_foreach(curve, i, point) {
    printf("  delta ");
    print_number(json_object_get(point, "delta"));
    printf("  epsilon ");
    print_number(json_object_get(point, "epsilon"));
    printf("\n");
  }
}

static int show(const account *a) {
  if (a->bad) return no_answer(a);
  if (a->why.failed) {
    fprintf(stderr, "faro: out of memory\n");
    return EXIT_SYSTEM;
  }
  if (a->json) return cli_print(stdout, json_dumps(a->fields, JSON_REAL_PRECISION(17)));
  const char *name = NULL;
  json_t *value = NULL;
  json_object_foreach(a->fields, name, value) {
    printf(json_is_array(value) ? "%s:\n" : "%s = ", name);
    if (json_is_array(value)) print_curve(value);
    else print_number(value);
    if (!json_is_array(value)) printf("\n");
  }
  printf("%s\n", a->why.data);
  return EXIT_DONE;
}

static int answer(account *a) {
  int status = refuse_foreign(a);
  if (status == EXIT_DONE) status = read_values(a);
  if (status != EXIT_DONE) return status;
  const account_form *form = find_form(a);
  if (!form) return no_form(a);
  if (a->mechanism->file && !a->file)
    return account_refuse("%s needs a file: a YAML list of mechanisms, or - for standard input",
                          a->mechanism->name);
  a->fields = json_object();
  if (!a->fields) a->why.failed = true;
  status = form->solve(a);
  return status == EXIT_DONE ? show(a) : status;
}

static int run(int argc, char **argv) {
  account a = {.why = FARO_TEXT_INIT};
  const int status = parse(&a, argc, argv);
  const int result = status == EXIT_DONE ? answer(&a) : status < 0 ? EXIT_DONE : status;
  json_decref(a.fields);
  faro_text_clear(&a.why);
  return result;
}

const cli_command cli_account = {
    .name = "account",
    .usage = "account MECHANISM [OPTIONS] [--json]",
    .summary = "from noise to privacy, and from privacy to the least noise",
    .run = run,
    .help =
        "Neighbours differ in one user's data. What is computed is an upper bound: enough noise, or an "
        "epsilon\n"
        "and delta that hold.\n"
        "\n"
        "  gaussian, discrete-gaussian    (--epsilon E --delta D | --sigma S --delta D | --sigma S --epsilon "
        "E)\n"
        "  laplace, discrete-laplace      (--epsilon E [--delta D] | --scale B [--delta D] | --scale B "
        "--epsilon E)\n"
        "  zcdp                           (--epsilon E --delta D | --rho R --delta D)\n"
        "  response                       (--epsilon E [--delta D] | --local-epsilon E0 [--delta D | "
        "--epsilon E])\n"
        "  bits     --users N --dimension D --sensitivity S --delta D (--epsilon E [--grid G] |\n"
        "           --grid G --noise-bits B) [--bias 1/2] [--honest H]\n"
        "  shuffle  --users N (--local-epsilon E0 (--delta D | --epsilon E) | --epsilon E --delta D)\n"
        "           [--local-delta D0]\n"
        "  tree, factored  --steps T (--epsilon E --delta D | --sigma S --delta D | --sigma S --epsilon E)\n"
        "           [--contributions M]\n"
        "  compose  FILE (--delta D | --epsilon E)\n"
        "\n"
        "What is not given is computed: noise from epsilon and delta, epsilon from noise and delta, delta "
        "from\n"
        "noise and epsilon.\n"
        "\n"
        "  --sensitivity S    greatest difference of two users' values, 1 if not given: L2 (gaussian, tree,\n"
        "                     factored), L1 (laplace), a whole number (discrete-*); of bits see below\n"
        "  --sigma, --scale   standard deviation of the Gaussian, scale of the Laplace distribution\n"
        "  --local-epsilon    of one message; response tells the truth with probability e^E0 / (1 + e^E0)\n"
        "  --contributions M  releases, of the T, in which one user may be; 1 if not given\n"
        "  --json             the numbers as JSON, to the last digit\n"
        "\n"
        "bits: every user sends, for every coordinate, G bits that encode the entry and B noise bits; the "
        "sums of\n"
        "the bits are seen.\n"
        "  --dimension D      number of coordinates\n"
        "  --sensitivity S    bound on the L2 norm of the difference of two users' vectors, in original "
        "units,\n"
        "                     every entry lying in an interval of width 1\n"
        "  --grid G           steps of one original unit: a difference of norm s moves the counts by about s "
        "G\n"
        "                     plus rounding. Finer costs bits, coarser costs rounding; chosen if not given\n"
        "  --noise-bits B     noise bits of one user and coordinate\n"
        "  --bias P           probability that a noise bit is one: 1/2; in one dimension with --noise-bits "
        "also 1/4\n"
        "  --honest H         share of the users that add their noise bits; 1 if not given\n"
        "  noise_sd           standard deviation of the noise in one coordinate of the sum, in original "
        "units\n"
        "  noise_bits_total   of all users, for one coordinate; bits_per_user: D (G + B)\n"
        "\n"
        "compose: FILE (- is standard input) is a YAML list; `times` is how often, 1 if not given:\n"
        "  - {mechanism: gaussian, sigma: 2, sensitivity: 1, times: 100}\n"
        "  - {mechanism: laplace, scale: 3, sensitivity: 1}\n"
        "  - {mechanism: response, local-epsilon: 1, times: 5}\n"
        "  - {mechanism: pure, epsilon: 0.1, delta: 1e-8}\n"
        "\n"
        "examples:\n"
        "  faro account gaussian --sensitivity 1 --epsilon 1 --delta 1e-6\n"
        "  faro account bits --users 1000 --dimension 1 --sensitivity 1 --epsilon 1 --delta 1e-6\n"
        "  faro account shuffle --local-epsilon 4 --users 100000 --delta 1e-6 --json\n",
};
