/* account: faro account MECHANISM. Reads the options, finds the form that they match, and prints
 * its answer. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/account/account.h"
#include "cli/cli.h"
#include "report/json.h"

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

/* ---- functions for mechanisms */

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

/* Options are read as text first: their ranges depend on the mechanism. */
static const faro_field options[] = {
#define X(id, name, kind, metavar, text_of_help, ...)                                                        \
  {name,         FARO_FIELD_WORD,    FARO_AT(account, text[ACCOUNT_##id]),                                   \
   .once = true, .value = (metavar), .help = (text_of_help)},
    ACCOUNT_OPTION_LIST(X)
#undef X
        {"json", FARO_FIELD_FLAG, FARO_AT(account, json),
         .help = "print the numbers only, as JSON, at full precision"},
};

static const char *mechanism_name(size_t index) {
  return index < MECHANISMS ? mechanisms[index]->name : NULL;
}

/* All options that a mechanism knows. */
static unsigned known_options(const account_mechanism *m) {
  unsigned known = 0;
  for (size_t i = 0; i < ACCOUNT_FORMS_MAX && m->form[i].solve; i++)
    known |= m->form[i].need | m->form[i].may;
  return known;
}

/* ---- help */

enum { OPTION_FIELDS = sizeof options / sizeof *options, HELP_TEXT = 1200 };

static bool asks_for_help(int argc, char **argv) {
  for (int i = 0; i < argc; i++)
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
  return false;
}

/* Prints the help of a command that is made for this. */
static int print_help(const cli_command *command) {
  static char help[] = "--help";
  char *argv[] = {help, NULL};
  account unused = {0};
  int words = 0;
  return cli_read(command, &unused, 1, argv, &words);
}

/* One mechanism: its forms and its options only. */
static int help_mechanism(const account_mechanism *m) {
  const unsigned known = known_options(m);
  faro_field own[OPTION_FIELDS];
  char usage[HELP_TEXT];
  char example[HELP_TEXT];
  size_t count = 0;
  for (size_t i = 0; i < OPTION_FIELDS; i++) {
    if (i < ACCOUNT_TIMES && !(known & (1u << i))) continue;
    own[count] = options[i];
    if (i == ACCOUNT_SENSITIVITY && m->sensitivity) own[count].help = m->sensitivity;
    count++;
  }
  snprintf(usage, sizeof usage, "account %s %s [--json]", m->name, m->usage);
  snprintf(example, sizeof example, "%s%sexample:\n  faro account %s %s\n", m->about ? m->about : "",
           m->about ? "\n" : "", m->name, m->example);
  const cli_command command = {.name = "account",
                               .usage = usage,
                               .summary = m->summary,
                               .options = own,
                               .count = count,
                               .help = example};
  return print_help(&command);
}

/* The list of mechanisms, each with an example. */
static int help_all(void) {
  faro_text list = FARO_TEXT_INIT;
  faro_text_add(&list, "%s\n", cli_account.about);
  for (size_t i = 0; i < MECHANISMS; i++)
    faro_text_add(&list, "  %-18s %s\n    faro account %s %s\n", mechanisms[i]->name, mechanisms[i]->summary,
                  mechanisms[i]->name, mechanisms[i]->example);
  const cli_command command = {.name = cli_account.name,
                               .usage = cli_account.usage,
                               .summary = cli_account.summary,
                               .about = list.data,
                               .help =
                                   "Run `faro account MECHANISM --help` for the options of one of them.\n"};
  const int status = list.failed ? EXIT_SYSTEM : print_help(&command);
  faro_text_clear(&list);
  return status;
}

/* ---- reading */

/* Reads the mechanism, its file if it takes one, and the options as text. */
static int read_question(account *a, int argc, char **argv) {
  int words = 0;
  size_t which = 0;
  if (asks_for_help(argc, argv))
    return faro_words_find(mechanism_name, argv[0], &which) ? help_mechanism(mechanisms[which]) : help_all();
  int status = cli_read(&cli_account, a, argc, argv, &words);
  if (status == CLI_GO) status = cli_choose(&cli_account, "mechanism", words > 0 ? argv[0] : NULL, &which);
  if (status != CLI_GO) return status;
  a->mechanism = mechanisms[which];
  if (words > 1 && !a->mechanism->file) return cli_usage(&cli_account, "unexpected argument %s", argv[1]);
  a->file = words > 1 ? argv[1] : NULL;
  for (int i = 0; i < ACCOUNT_OPTIONS; i++)
    if (a->text[i]) a->given |= 1u << i;
  return CLI_GO;
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

/* Refuses an option that no form of the mechanism has. */
static int refuse_foreign(const account *a) {
  const account_mechanism *m = a->mechanism;
  const unsigned known = known_options(m);
  for (int i = 0; i < ACCOUNT_OPTIONS; i++)
    if (a->given & ~known & (1u << i)) {
      char got[FARO_GOT];
      char text[ACCOUNT_TEXT];
      return cli_usage(&cli_account, "%s has no option --%s (got %s); it takes %s", m->name,
                       account_option_name((account_option)i), account_shown(a->text[i], got),
                       set_text(known, ", ", text));
    }
  return CLI_GO;
}

/* Refuses options that match no form: too few or too many. */
static int no_form(const account *a) {
  const account_mechanism *m = a->mechanism;
  char forms[ACCOUNT_FORMS_MAX * ACCOUNT_TEXT] = "";
  char text[ACCOUNT_TEXT];
  size_t used = 0;
  for (size_t i = 0; i < ACCOUNT_FORMS_MAX && m->form[i].solve; i++)
    used += (size_t)snprintf(forms + used, sizeof forms - used, "%s%s", i ? ", or " : "",
                             set_text(m->form[i].need, " ", text));
  return cli_usage(&cli_account, "%s needs %s (got %s)", m->name, forms,
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
    const faro_field field = account_field((account_option)i, a->mechanism->own);
    const faro_node node = {.type = FARO_NODE_TEXT, .origin = FARO_FROM_ARGV, .text = a->text[i]};
    faro_error error = {0};
    if (!a->text[i] || faro_field_read(&field, &node, &a->value[i])) continue;
    (void)faro_field_refuse(&field, "--", field.name, &node, &error);
    return cli_usage(&cli_account, "%s", error.message);
  }
  return CLI_GO;
}

/* ---- the answer */

/* A number that is not finite is never printed. */
static int no_answer(const account *a) {
  char delta[FARO_NUMBER_SIZE];
  if (strcmp(a->bad, "epsilon") == 0 && a->given & ACCOUNT_BIT(DELTA))
    fprintf(stderr, "faro account: no epsilon reaches delta %s with this noise; try a larger --delta\n",
            faro_short(a->value[ACCOUNT_DELTA], delta));
  else fprintf(stderr, "faro account: %s has no finite %s for these values\n", a->mechanism->name, a->bad);
  return EXIT_INPUT;
}

static void print_number(const json_t *value) {
  char text[FARO_NUMBER_SIZE];
  if (json_is_null(value)) printf("none (out of the theorem's range)");
  else if (json_is_integer(value)) printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
  else printf("%s", faro_short(json_real_value(value), text));
}

/* Prints the points of a curve, one per line. */
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
  if (a->json) return cli_print(stdout, faro_json_text(a->fields, false));
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
  if (status == CLI_GO) status = read_values(a);
  if (status != CLI_GO) return status;
  const account_form *form = find_form(a);
  if (!form) return no_form(a);
  if (a->mechanism->file && !a->file)
    return cli_usage(&cli_account, "%s needs a file: a YAML list of mechanisms, or - for standard input",
                     a->mechanism->name);
  a->fields = json_object();
  if (!a->fields) a->why.failed = true;
  status = form->solve(a);
  return status == EXIT_DONE ? show(a) : status;
}

static int run(int argc, char **argv) {
  account a = {.why = FARO_TEXT_INIT};
  const int status = read_question(&a, argc, argv);
  const int result = status == CLI_GO && a.mechanism ? answer(&a) : status;
  json_decref(a.fields);
  faro_text_clear(&a.why);
  return result;
}

const cli_command cli_account = {
    .name = "account",
    .usage = "account MECHANISM [OPTIONS] [--json]",
    .summary = "compute the privacy of a given noise, or the least noise for a given privacy",
    .run = run,
    .options = options,
    .count = sizeof options / sizeof *options,
    .words = 2,
    .first = mechanism_name,
    .about =
        "Neighbours differ in one user's data. Results are upper bounds: noise that is enough, or an\n"
        "epsilon and delta that hold. What is not given is computed: noise from epsilon and delta, epsilon\n"
        "from noise and delta, or delta from noise and epsilon.\n",
    .help = "Each mechanism takes some of these options; `faro account MECHANISM --help` says which.\n"
            "\n"
            "examples:\n"
            "  faro account gaussian --sensitivity 1 --epsilon 1 --delta 1e-6\n"
            "  faro account bits --users 1000 --dimension 1 --sensitivity 1 --epsilon 1 --delta 1e-6\n"
            "  faro account shuffle --local-epsilon 4 --users 100000 --delta 1e-6 --json\n",
};
