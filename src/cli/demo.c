/* demo: faro demo --clients N */
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "trial/demo_run.h"

enum {
  OPTION_CLIENTS,
  OPTION_RELEASE,
  OPTION_BATCH,
  OPTION_ROUNDS,
  OPTION_SHUFFLERS,
  OPTION_DIMENSION,
  OPTION_ARMS,
  OPTION_ENVIRONMENT,
  OPTION_EPSILON,
  OPTION_DELTA,
  OPTION_LEVEL,
  OPTION_HONEST,
  OPTION_POST,
  OPTION_THREADS,
  OPTION_SEED,
  OPTION_DIRECTORY,
  OPTION_KEEP,
  OPTION_HOLD,
  OPTION_COUNT
};
static const cli_option options[OPTION_COUNT] = {
    [OPTION_CLIENTS] = {"clients", true},     [OPTION_RELEASE] = {"release", true},
    [OPTION_BATCH] = {"batch", true},         [OPTION_ROUNDS] = {"rounds", true},
    [OPTION_SHUFFLERS] = {"shufflers", true}, [OPTION_DIMENSION] = {"dimension", true},
    [OPTION_ARMS] = {"arms", true},           [OPTION_ENVIRONMENT] = {"environment", true},
    [OPTION_EPSILON] = {"epsilon", true},     [OPTION_DELTA] = {"delta", true},
    [OPTION_LEVEL] = {"level", true},         [OPTION_HONEST] = {"honest", true},
    [OPTION_POST] = {"post", true},           [OPTION_THREADS] = {"threads", true},
    [OPTION_SEED] = {"seed", true},           [OPTION_DIRECTORY] = {"directory", true},
    [OPTION_KEEP] = {"keep", false},          [OPTION_HOLD] = {"hold", false},
};

typedef struct request {
  faro_demo_params demo;
  uint64_t dimension, arms, threads, group;
  size_t level, world;
  const char *directory;
  bool keep, hold;
  bool several; /* --shufflers was given */
} request;

/* Environments in which a client sends the features of an arm: in linear-known it sends actions of
 * its own, and the others have no linear rewards. */
static const char *const worlds[] = {"linear-iid", "linear-fixed", "linear-adversarial", "linear-population"};
enum { WORLDS = sizeof worlds / sizeof *worlds };
static const char *const levels[] = {"event", "user"};

static int take_release(faro_trial_params *t, const char *value) {
  const char *names[FARO_RELEASES_MAX];
  size_t index = 0;
  const int status =
      cli_take_choice(&cli_demo, "release", value, names, faro_release_deployable(names), &index);
  if (status == EXIT_DONE) t->release = names[index];
  return status;
}

static int take_option(request *r, int option, const char *value) {
  const cli_command *c = &cli_demo;
  faro_trial_params *t = &r->demo.trial;
  switch (option) {
  case OPTION_CLIENTS: return cli_take_count(c, "clients", value, 8, 1000000, &t->clients);
  case OPTION_RELEASE: return take_release(t, value);
  case OPTION_BATCH: return cli_take_count(c, "batch", value, 2, 1000000, &t->batch);
  case OPTION_ROUNDS: return cli_take_count(c, "rounds", value, 2, 100000, &r->demo.rounds);
  case OPTION_SHUFFLERS:
    r->several = true;
    return cli_take_count(c, "shufflers", value, 1, FARO_SHUFFLERS_MAX, &t->shufflers);
  case OPTION_DIMENSION:
    return cli_take_count(c, "dimension", value, 2, FARO_WIRE_DIMENSION_MAX, &r->dimension);
  case OPTION_ARMS: return cli_take_count(c, "arms", value, 2, 10000, &r->arms);
  case OPTION_ENVIRONMENT: return cli_take_choice(c, "environment", value, worlds, WORLDS, &r->world);
  case OPTION_EPSILON: return cli_take_real(c, "epsilon", value, 1e-4, 1000, &t->epsilon);
  case OPTION_DELTA: return cli_take_real(c, "delta", value, 1e-15, 0.999, &t->delta);
  case OPTION_LEVEL: return cli_take_choice(c, "level", value, levels, 2, &r->level);
  case OPTION_HONEST: return cli_take_real(c, "honest", value, 1e-3, 1, &t->honest);
  case OPTION_POST: return cli_take_count(c, "post", value, 1, 1000, &r->group);
  case OPTION_THREADS: return cli_take_count(c, "threads", value, 1, 128, &r->threads);
  case OPTION_SEED: return cli_take_count(c, "seed", value, 0, UINT64_MAX, &r->demo.crowd.seed);
  case OPTION_DIRECTORY: r->directory = value; return EXIT_DONE;
  case OPTION_HOLD: r->hold = true; return EXIT_DONE;
  default: r->keep = true; return EXIT_DONE;
  }
}

static int parse(request *r, int argc, char **argv) {
  int place = 0;
  const char *value = NULL;
  for (;;) {
    const int which = cli_next(&cli_demo, options, OPTION_COUNT, argc, argv, &place, &value);
    if (which == CLI_END) return EXIT_DONE;
    if (which == CLI_HELP) return CLI_HELP;
    if (which == CLI_BAD) return EXIT_USAGE;
    if (which == CLI_WORD) return cli_usage(&cli_demo, "unexpected argument %s", value);
    const int status = take_option(r, which, value);
    if (status != EXIT_DONE) return status;
  }
}

/* Fills in what was not given. */
static int complete(request *r) {
  faro_trial_params *t = &r->demo.trial;
  r->demo.crowd.world = worlds[r->world];
  t->dimension = (size_t)r->dimension;
  t->arms = (size_t)r->arms;
  if (r->several && strcmp(t->release, "concurrent-bits") != 0)
    return cli_usage(&cli_demo, "--shufflers is for --release concurrent-bits (got %s)", t->release);
  if (t->batch == 0) t->batch = t->clients / 2;
  if (t->batch > t->clients)
    return cli_usage(&cli_demo,
                     "--batch must be at most the number of clients, %" PRIu64 " (got %" PRIu64 ")",
                     t->clients, t->batch);
  while (r->threads > 1 && r->threads * r->group >= t->clients) r->threads /= 2;
  r->demo.crowd.threads = (size_t)r->threads;
  r->demo.crowd.group = (size_t)r->group;
  const uint64_t reports = (r->demo.rounds + 1) * t->batch;
  /* In the local model a client itself refuses to send more than its claim covers, and here clients
   * share one library. */
  if (faro_release_kind_find(t->release)->trust == FARO_TRUST_LOCAL) r->level = FARO_LEVEL_EVENT;
  if (r->level == FARO_LEVEL_USER) t->contributions = (reports + t->clients - 1) / t->clients;
  return EXIT_DONE;
}

/* Path of this program, to start it again as another role. */
static const char *self(char path[static CLI_PATH]) {
  const ssize_t length = readlink("/proc/self/exe", path, CLI_PATH - 1);
  path[length > 0 ? length : 0] = '\0';
  return path;
}

static volatile sig_atomic_t interrupted;
static void on_signal(int number) { interrupted = number; }
static bool stopping(void) { return interrupted != 0; }

static void began(void *context, const faro_trial *trial) {
  (void)context;
  const faro_campaign *c = &trial->campaign;
  char url[FARO_URL_MAX + 1];
  printf("%" PRIu64 " clients, %s, batches of %" PRIu64 "; %zu process%s; files in %s\n",
         trial->params.clients, c->release->name, c->params.batch, trial->roles,
         trial->roles == 1 ? "" : "es", trial->params.directory);
  printf("claim: (%g, %g) at %s level%s, trust %s, %s\n", c->claim.epsilon, c->claim.delta,
         faro_level_name(c->claim.level),
         c->claim.level == FARO_LEVEL_USER ? " for all reports of a client" : "",
         faro_trust_name(c->claim.trust), c->claim.proven ? "proven" : "not proven");
  printf("dashboard: %s\n\n", faro_trial_url(trial, 0, "/", url));
  printf("%7s %9s %9s %9s %9s %11s\n", "policy", "reports", "a second", "reward", "regret", "of uniform");
  fflush(stdout);
}

/* Waits for Enter on a terminal, or for a signal. */
static void hold(void *context, const faro_trial *trial) {
  (void)context;
  char name[24], url[FARO_URL_MAX + 1];
  const bool terminal = isatty(STDIN_FILENO);
  printf("\n");
  for (size_t role = 0; role < trial->roles; role++)
    printf("%s: %s\n", faro_trial_role(trial, role, name), faro_trial_url(trial, role, "", url));
  printf("running until %s\n", terminal ? "Enter or Ctrl-C" : "SIGINT or SIGTERM");
  fflush(stdout);
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  while (!interrupted && poll(&input, terminal ? 1 : 0, 200) <= 0) continue;
  interrupted = 0; /* this ends the waiting only; the checks still follow */
}

/* Noise can leave the last policy no better than random choice. More rounds alone do not help: the
 * budget covers all reports of a client, so the noise grows with them. */
static void admit(const faro_demo_step *step) {
  if (step->regret < step->uniform) return;
  printf("\nno better than random choice: with this much noise use more --clients or another --release\n");
}

static void stepped(void *context, const faro_demo_step *step) {
  const request *r = context;
  enum { WIDTH = 24 };
  const double share = step->uniform > 0 ? step->regret / step->uniform : 0;
  const int filled = share < 1 ? (int)(share * WIDTH + 0.5) : WIDTH;
  printf("%7" PRIu64 " %9" PRIu64 " %9.0f %9.4f %9.4f %10.1f%% %.*s\n", step->version, step->reports,
         (double)step->reports / step->seconds, step->reward, step->regret, 100 * share, filled,
         "########################");
  if (step->version == r->demo.rounds) admit(step);
  fflush(stdout);
}

static void print_checks(const faro_checks *list) {
  size_t passed = 0;
  printf("\nchecks\n");
  for (const char *letter = "abcdefghijklmnopqrstuvwxyz"; *letter; letter++)
    for (size_t i = 0; i < list->count; i++) {
      const faro_check *c = &list->row[i];
      if (c->letter != *letter) continue;
      printf("  %s  (%c) %-70s %s\n", c->passed ? "passed" : "FAILED", *letter, c->text, c->found);
      passed += c->passed;
    }
  printf("%zu of %zu passed\n", passed, list->count);
}

static int play(request *r) {
  faro_checks list = {0};
  faro_error error = {0};
  const faro_demo_view view = {
      .began = began, .stepped = stepped, .hold = r->hold ? hold : NULL, .context = r};
  const struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  signal(SIGPIPE, SIG_IGN);
  const faro_status status = faro_demo_run(&r->demo, &view, &list, &error);
  if (list.count > 0) print_checks(&list);
  if (status != FARO_OK) return cli_fail(&error);
  return faro_checks_passed(&list) ? EXIT_DONE : EXIT_CHECK;
}

static bool is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static int run(int argc, char **argv) {
  request r = {.demo = {.trial = {.release = faro_release_shuffle_bits.name,
                                  .clients = 5000,
                                  .shufflers = 3,
                                  .epsilon = 1,
                                  .delta = 1e-6,
                                  .honest = 1,
                                  .optimism = 0.2,
                                  .norm = 1,
                                  .high = 1,
                                  .keep = (size_t)1 << 30},
                        .crowd = {.seed = 1, .patience = 60, .listen = 100000},
                        .rounds = 12,
                        .stopping = stopping},
               .dimension = 5,
               .arms = 10,
               .threads = 32,
               .group = 1,
               .level = FARO_LEVEL_USER};
  int status = parse(&r, argc, argv);
  if (status == CLI_HELP) return EXIT_DONE;
  if (status == EXIT_DONE) status = complete(&r);
  if (status != EXIT_DONE) return status;
  const char *place = getenv("TMPDIR");
  char command[CLI_PATH], directory[CLI_PATH];
  if (!place || !*place) place = "/tmp";
  const bool fits =
      snprintf(directory, sizeof directory, "%s/faro-demo-XXXXXX", place) < (int)sizeof directory;
  r.demo.trial.command = self(command);
  r.demo.trial.directory = r.directory ? r.directory : fits ? mkdtemp(directory) : NULL;
  if (!r.demo.trial.directory) {
    fprintf(stderr, "faro: cannot create a folder in %.200s\n", place);
    return EXIT_SYSTEM;
  }
  status = play(&r);
  /* Keep the files if something went wrong while it ran; refused settings leave nothing behind. */
  const bool clean = status == EXIT_DONE || status == EXIT_STOPPED || status == EXIT_INPUT;
  if (!r.directory && !r.keep && clean) faro_trial_remove(directory);
  else if (is_folder(r.demo.trial.directory)) printf("files are in %s\n", r.demo.trial.directory);
  return status;
}

const cli_command cli_demo = {
    .name = "demo",
    .usage =
        "demo [--clients N] [--release R] [--batch B] [--rounds M] [--directory DIR] [--keep] [--hold] ...",
    .summary = "run a whole deployment on this machine, with simulated clients, and check it at the end",
    .run = run,
    .help =
        "Makes keys, tokens and settings, starts an analyzer and shufflers as processes on loopback, lets "
        "simulated\n"
        "clients report, shows how the policy improves, and checks at the end what the deployment promises.\n"
        "\n"
        "  --clients N      5000 by default\n"
        "  --release R      shuffle-bits (the default), concurrent-bits, shuffle-amplified, local, "
        "local-bits,\n"
        "                   central-tree, central-bits\n"
        "  --batch B        reports per batch; half of the clients by default\n"
        "  --rounds M       batches to release; 12 by default\n"
        "  --shufflers K    concurrent-bits only; 3 by default\n"
        "  --epsilon E, --delta D, --level L, --honest H   the claim: 1, 1e-6, user, 1 by default\n"
        "  --environment E  linear-iid (the default), linear-fixed, linear-adversarial or linear-population; "
        "with\n"
        "                   --dimension d (5), --arms K (10), --seed S (1)\n"
        "  --post G         reports per post, as from a gateway; 1 by default: each client posts by itself\n"
        "  --threads N      clients that report at the same time; 32 by default\n"
        "  --directory DIR  put files into DIR and keep them; by default a folder in $TMPDIR or /tmp, which "
        "is "
        "deleted\n"
        "                   unless --keep is given or something goes wrong\n"
        "  --hold           keep the roles running after the last batch, to look at the page, until Enter or "
        "Ctrl-C\n"
        "\n"
        "Exit status: 0 all checks passed, 1 a check failed.\n"
        "\n"
        "examples:\n"
        "  faro demo --clients 5000\n"
        "  faro demo --release concurrent-bits --shufflers 3 --rounds 16\n",
};
