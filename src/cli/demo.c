/* demo: faro demo --clients N */
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <faro/rounds.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/verify.h"
#include "trial/demo_run.h"
#include "wire/split.h"

typedef struct request {
  faro_demo_params demo;          /* trial.shufflers 0, trial.batch 0: not given */
  size_t learner, release, world; /* indices of their words */
  faro_level level;
  const char *directory;
  bool keep, hold;
} request;

/* Environments in which a client sends the features of an arm: in linear-known it sends its own
 * actions, and in the others rewards are not linear. */
FARO_WORDS(worlds, "linear-iid", "linear-fixed", "linear-adversarial", "linear-population", "glm-logistic",
           "glm-probit")
#define X(name, text) text,
FARO_WORDS(levels, FARO_LEVEL_LIST(X))
#undef X

#define TRIAL(member) FARO_AT(request, demo.trial.member)
#define CROWD(member) FARO_AT(request, demo.crowd.member)

static const faro_field options[] = {
    {"clients", FARO_FIELD_COUNT, TRIAL(clients), .least = 8, .most = 1000000, .value = "N",
     .help = "number of clients; 5000 by default"},
    {"learner", FARO_FIELD_CHOICE, FARO_AT(request, learner), .words = faro_learning_kind, .value = "L",
     .help = "posterior by default; dpe, pe and hanna work in phases and have an environment whose arms "
             "stay"},
    {"release", FARO_FIELD_CHOICE, FARO_AT(request, release), .words = faro_campaign_release, .value = "R",
     .help = "shuffle-bits by default"},
    {"batch", FARO_FIELD_COUNT, TRIAL(batch), .least = 2, .most = 1000000, .value = "B",
     .help = "reports in the first batch; by default an eighth of the clients, or half of them if batches "
             "do not grow"},
    {"growth", FARO_FIELD_REAL, TRIAL(growth), .least = 1, .most = 1000, .value = "G",
     .help = "a batch ends when all reports so far have grown by this factor; 1: batches of one size. 2 by "
             "default; 1 for concurrent-bits, and below 6 rounds"},
    {"largest", FARO_FIELD_COUNT, TRIAL(largest), .least = 2, .most = 1000000, .value = "B",
     .help = "reports in the largest batch; half of the clients by default"},
    {"rounds", FARO_FIELD_COUNT, FARO_AT(request, demo.rounds), .least = 2, .most = 100000, .value = "M",
     .help = "batches to release; 12 by default; not for learners in phases or rounds, which go on to their "
             "end"},
    {"fits", FARO_FIELD_COUNT, TRIAL(fits), .most = FARO_WIRE_FITS_MAX, .value = "K",
     .help = "glm-batched only: rounds of a term in which clients report once more what they kept; 1 by "
             "default"},
    {"shufflers", FARO_FIELD_COUNT, TRIAL(shufflers), .least = 1, .most = FARO_SHUFFLERS_MAX, .value = "K",
     .help = "concurrent-bits only: number of shufflers; 3 by default"},
    {"collectors", FARO_FIELD_COUNT, TRIAL(collectors), .least = 1, .most = FARO_COLLECTORS_MAX, .value = "N",
     .help = "collectors of each shuffler, whose own process joins their portions; by default a shuffler is "
             "one process"},
    {"split", FARO_FIELD_FLAG, TRIAL(split),
     .help =
         "split counts between each shuffler and an adder, so that neither sees those of one client if it "
         "follows the protocol; shuffle-bits and concurrent-bits only"},
    {"epsilon", FARO_FIELD_REAL, TRIAL(epsilon), .least = 1e-4, .most = 1000, .value = "E",
     .help = "epsilon of the claim; 1 by default"},
    {"delta", FARO_FIELD_REAL, TRIAL(delta), .least = 1e-15, .most = 0.999, .value = "D",
     .help = "delta of the claim; 1e-6 by default"},
    {"level", FARO_FIELD_CHOICE, FARO_AT(request, level), .words = levels, .value = "L",
     .help = "what the claim protects; user by default"},
    {"honest", FARO_FIELD_REAL, TRIAL(honest), .least = 1e-3, .most = 1, .value = "H",
     .help = "share of a batch whose noise the claim counts on; 1 by default"},
    {"environment", FARO_FIELD_CHOICE, FARO_AT(request, world), .words = worlds, .value = "E",
     .help = "linear-iid by default"},
    {"dimension", FARO_FIELD_COUNT, TRIAL(dimension), .least = 2, .most = FARO_WIRE_DIMENSION_MAX,
     .value = "d", .help = "features per arm; 5 by default"},
    {"arms", FARO_FIELD_COUNT, TRIAL(arms), .least = 2, .most = 10000, .value = "K",
     .help = "arms per choice; 10 by default"},
    {"seed", FARO_FIELD_COUNT, CROWD(seed), .most = 0x1p64, .value = "S",
     .help = "seed of the environment; 1 by default"},
    {"post", FARO_FIELD_COUNT, CROWD(group), .least = 1, .most = 1000, .value = "G",
     .help = "reports per post, as from a gateway; 1 by default: each client posts by itself"},
    {"threads", FARO_FIELD_COUNT, CROWD(threads), .least = 1, .most = 128, .value = "N",
     .help = "clients that report at the same time; 32 by default"},
    {"directory", FARO_FIELD_WORD, FARO_AT(request, directory), .value = "DIR",
     .help = "put files into DIR and keep them; by default a folder in $TMPDIR or /tmp, which is deleted "
             "unless --keep is given or something goes wrong"},
    {"keep", FARO_FIELD_FLAG, FARO_AT(request, keep), .help = "keep the folder in $TMPDIR or /tmp"},
    {"hold", FARO_FIELD_FLAG, FARO_AT(request, hold),
     .help = "keep the roles running after the last batch, to look at the page, until Enter, Ctrl-C or the "
             "end of "
             "the input"},
};

/* A client is at most once in a batch, so batches cannot grow beyond the clients. In a few rounds
 * of small batches nobody would report twice, and there would be nothing to replay. */
static void complete_schedule(faro_trial_params *t, uint64_t rounds) {
  enum { FEW = 6 };
  const bool one_size = rounds < FEW || faro_release_kind_find(t->release)->trust == FARO_TRUST_CONCURRENT;
  if (t->growth == 0) t->growth = one_size ? 1 : 2;
  if (t->largest == 0) t->largest = t->clients / 2;
  if (t->batch == 0) t->batch = t->growth > 1 ? t->clients / 8 : t->clients / 2;
  if (t->batch < 2) t->batch = 2;
  if (t->growth > 1 && t->largest < t->batch) t->largest = t->batch;
}

/* A world whose arms stay, and whose people report averages if the learner asks for them. The
 * default world has other arms for everybody. */
static int complete_world(request *r) {
  const faro_trial_params *t = &r->demo.trial;
  const bool averages = faro_trial_averages(t);
  const char *wanted = averages ? "linear-population" : "linear-fixed";
  if (r->world == 0) (void)faro_words_find(worlds, wanted, &r->world);
  const faro_env_kind *kind = faro_env_find(worlds(r->world));
  const unsigned traits = averages ? FARO_ENV_STAYS | FARO_ENV_POPULATION : FARO_ENV_STAYS;
  if ((kind->traits & traits) == traits) return CLI_GO;
  return cli_usage(&cli_demo, "--environment must be %s for learner %s (got %s)",
                   averages ? wanted : "linear-fixed or linear-population", t->learner, kind->name);
}

/* Learners in phases choose their batches. Where clients report averages, each does it once, and a
 * tenth of them in each phase; rewards have a standard deviation of 1 there. */
static int complete_phases(request *r) {
  enum { SHARE = 50, REPORTS = 4, PHASES = 10, ROUNDS = 4096 };
  faro_trial_params *t = &r->demo.trial;
  const bool averages = faro_trial_averages(t);
  if (t->growth > 0)
    return cli_usage(&cli_demo, "--growth is not for learner %s, which chooses its batches", t->learner);
  if (t->batch == 0) t->batch = averages ? t->clients / PHASES : t->clients / SHARE;
  if (t->batch < 2) t->batch = 2;
  if (t->largest == 0) t->largest = averages ? t->clients : t->clients / 2;
  if (t->largest < t->batch) t->largest = t->batch;
  t->horizon = averages ? ROUNDS : REPORTS * t->clients;
  if (averages) {
    t->reports = t->clients;
    t->noise = 1;
    t->spread = 0.1;
    r->level = FARO_LEVEL_USER;
  }
  /* Where a client's rounds in several releases do not share a budget, each has its own. */
  if (!averages && !faro_release_kind_find(t->release)->splits) r->level = FARO_LEVEL_EVENT;
  t->contributions = averages ? 1 : r->level == FARO_LEVEL_USER ? REPORTS + 1 : 0;
  return complete_world(r);
}

/* People that the terms need, if a fourth of those who played do not come back for a fit; 0 if
 * there is no plan. */
static uint64_t people_of(const faro_trial_params *t, faro_error *error) {
  const faro_rounds_params params = {.learner = t->learner,
                                     .release = t->release,
                                     .dimension = t->dimension,
                                     .arms = t->arms,
                                     .horizon = t->horizon,
                                     .link = t->link,
                                     .bound = t->bound,
                                     .fits = t->fits,
                                     .epsilon = t->epsilon,
                                     .delta = t->delta,
                                     .level = t->contributions > 0 ? FARO_LEVEL_USER : FARO_LEVEL_EVENT,
                                     .contributions = t->contributions,
                                     .honest = t->honest};
  faro_rounds *rounds = NULL;
  uint64_t people[FARO_ROUNDS_MAX], all = 0;
  if (faro_rounds_create(&rounds, &params, faro_source_none(), error) != FARO_OK) return 0;
  const size_t terms = faro_rounds_terms(rounds, people);
  for (size_t i = 0; i < terms; i++) all += people[i] + t->fits * (people[i] / 4 + 1);
  faro_rounds_destroy(rounds);
  return all;
}

/* Learners in rounds choose their batches by the horizon: the longest for which the clients
 * suffice. */
static int complete_rounds(request *r) {
  enum { LONGEST = 32, LEAST = 64 };
  faro_trial_params *t = &r->demo.trial;
  faro_error error = {0};
  if (r->world == 0) (void)faro_words_find(worlds, "glm-logistic", &r->world);
  const faro_env_kind *kind = faro_env_find(worlds(r->world));
  if (kind->link == FARO_LINK_LINEAR)
    return cli_usage(&cli_demo, "--environment must be glm-logistic or glm-probit for learner %s (got %s)",
                     t->learner, kind->name);
  if (t->growth > 0 || t->batch > 0 || t->largest > 0)
    return cli_usage(&cli_demo,
                     "--batch, --growth and --largest are not for learner %s, which chooses its "
                     "batches",
                     t->learner);
  t->link = kind->link;
  t->bound = 2; /* that of the environment */
  t->contributions = t->fits > 0 || r->level == FARO_LEVEL_USER ? t->fits + 1 : 0;
  for (t->horizon = LONGEST * t->clients;; t->horizon /= 2) {
    const uint64_t people = t->horizon >= LEAST ? people_of(t, &error) : 0;
    if (people > 0 && people <= t->clients) return CLI_GO;
    if (people == 0)
      return cli_usage(&cli_demo, "--clients must be more for learner %s (got %" PRIu64 ")%s%s", t->learner,
                       t->clients, *error.message ? ": " : "", error.message);
  }
}

static bool is_in_rounds(const faro_trial_params *t) {
  return faro_learner_find(t->learner)->protocol == FARO_PROTOCOL_ASKER;
}

/* Fills in what was not given. */
static int complete(request *r) {
  faro_trial_params *t = &r->demo.trial;
  faro_crowd_params *crowd = &r->demo.crowd;
  t->learner = faro_learning_kind(r->learner);
  t->release = faro_campaign_release(r->release);
  if (faro_trial_in_phases(t)) {
    const int status = complete_phases(r);
    if (status != CLI_GO) return status;
  }
  if (is_in_rounds(t)) {
    const int status = complete_rounds(r);
    if (status != CLI_GO) return status;
  }
  crowd->world = worlds(r->world);
  if (!is_in_rounds(t) && faro_env_find(crowd->world)->link != FARO_LINK_LINEAR)
    return cli_usage(&cli_demo, "--environment %s requires --learner glm-batched (got %s)", crowd->world,
                     t->learner);
  if (t->shufflers > 0 && strcmp(t->release, faro_release_concurrent_bits.name) != 0)
    return cli_usage(&cli_demo, "--shufflers requires --release concurrent-bits (got %s)", t->release);
  if (t->shufflers == 0) t->shufflers = 3;
  if (t->collectors > 0 && faro_trial_in_phases(t))
    return cli_usage(&cli_demo, "--collectors is not for learner %s: batches must be known in advance",
                     t->learner);
  if (!faro_trial_in_phases(t) && !is_in_rounds(t)) complete_schedule(t, r->demo.rounds);
  const bool grows = t->growth > 1 || faro_trial_in_phases(t);
  const uint64_t most = grows && t->largest > t->batch ? t->largest : t->batch;
  if (most > t->clients)
    return cli_usage(&cli_demo, "--%s must be at most the number of clients, %" PRIu64 " (got %" PRIu64 ")",
                     most == t->batch ? "batch" : "largest", t->clients, most);
  t->batches = r->demo.rounds + 1;
  while (crowd->threads > 1 && crowd->threads * crowd->group >= t->clients) crowd->threads /= 2;
  if (faro_trial_in_phases(t) || is_in_rounds(t)) return CLI_GO;
  const uint64_t reports = faro_trial_horizon(t);
  /* In the local model a client itself refuses to send more than its claim covers, and here clients
   * share one library. */
  if (faro_release_kind_find(t->release)->trust == FARO_TRUST_LOCAL) r->level = FARO_LEVEL_EVENT;
  if (r->level == FARO_LEVEL_USER) t->contributions = (reports + t->clients - 1) / t->clients;
  /* Some collectors have fewer clients than others, and these must report more often. */
  if (r->level == FARO_LEVEL_USER && t->collectors > 1) t->contributions++;
  return CLI_GO;
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

/* The document is kept with the other files, so that `faro verify` can be asked too. */
static void say_verified(const faro_trial *trial) {
  char path[CLI_PATH];
  char above[FARO_NUMBER_SIZE];
  faro_verification found = {0};
  faro_error error = {0};
  snprintf(path, sizeof path, "%s/campaign", trial->params.directory);
  faro_status status = faro_write_file(path, trial->document, trial->document_length, 0644, &error);
  if (status == FARO_OK) status = cli_verify_campaign(&trial->campaign, &found, &error);
  const faro_finding *f = status == FARO_OK ? &found.claim[0].finding : NULL;
  if (!f) printf("claim computed again: %s\n", error.message);
  else if (f->verdict == FARO_VERIFIED)
    printf("claim computed again: verified, delta is at most %s\n", faro_above(f->high, 6, above));
  else printf("claim computed again: %s: %s\n", faro_verify_word(f->verdict), f->reason);
  faro_verification_clear(&found);
}

static void began(void *context, const faro_trial *trial) {
  const request *r = context;
  const faro_campaign *c = &trial->campaign;
  char url[FARO_URL_MAX + 1];
  printf("%" PRIu64 " clients, %s behind %s%s, batches of %" PRIu64, trial->params.clients, c->learner,
         c->release->name, faro_campaign_is_split(c) ? " with split counts" : "", c->params.batch);
  if (c->params.growth > 1 || faro_campaign_in_phases(c) || faro_campaign_in_rounds(c))
    printf(" to %" PRIu64, faro_campaign_largest(c));
  printf("; %zu process%s\nfiles in %s\n", trial->processes, trial->processes == 1 ? "" : "es",
         trial->params.directory);
  char pair[FARO_PAIR_SIZE];
  printf("claim: %s, %s level%s; trust %s; %s\n", faro_pair_above(c->claim.epsilon, c->claim.delta, pair),
         faro_level_name(c->claim.level),
         c->claim.level == FARO_LEVEL_USER ? ", all reports of a client" : "",
         faro_trust_name(c->claim.trust), c->claim.proven ? "proven" : "not proven");
  say_verified(trial);
  printf("dashboard: %s (%s)\n\n", faro_trial_url(trial, 0, "/", url),
         r->hold ? "held at the end" : "until the last batch; --hold keeps it");
  printf("%7s %9s %9s %9s %9s %11s\n", "policy", "reports", "a second", "reward", "regret", "of uniform");
  fflush(stdout);
}

/* Whether there is nothing more to wait for: Enter on a terminal, the end of any other input. */
static bool input_ended(bool terminal) {
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  char ignored[256];
  if (poll(&input, 1, 200) <= 0) return false;
  return terminal || read(STDIN_FILENO, ignored, sizeof ignored) <= 0;
}

static void hold(void *context, const faro_trial *trial) {
  (void)context;
  char name[24], url[FARO_URL_MAX + 1];
  const bool terminal = isatty(STDIN_FILENO);
  printf("\n");
  for (size_t role = 0; role < trial->processes; role++)
    printf("%s: %s\n", faro_trial_role(trial, role, name), faro_trial_url(trial, role, "", url));
  printf("running until %s\n", terminal ? "Enter or Ctrl-C" : "the end of the input, SIGINT or SIGTERM");
  fflush(stdout);
  while (!interrupted && !input_ended(terminal)) continue;
  interrupted = 0; /* this ends the waiting only; the checks still follow */
}

/* With much noise the last policy may be no better than random choice. More rounds alone do not
 * help: the budget covers all reports of a client, so the noise grows with their number. */
static void admit(const faro_demo_step *step) {
  if (step->regret < step->uniform) return;
  printf("\nno better than random choice: use more --clients, or a --release with less noise\n");
}

/* The end of a campaign in phases, or in rounds, where no arms are counted. */
static void print_end(const faro_demo_step *step) {
  if (step->left == 0)
    printf("\nall rounds are over: people who come now have regret %.4f, against %.4f at random\n",
           step->regret, step->uniform);
  else
    printf("\narm %" PRIu64 " is played for good: regret %.4f, against %.4f at random; %" PRIu64
           " arm%s left after %" PRIu64 " phases\n",
           step->best, step->regret, step->uniform, step->left, step->left == 1 ? " is" : "s are",
           step->phase);
  admit(step);
  fflush(stdout);
}

static void stepped(void *context, const faro_demo_step *step) {
  const request *r = context;
  if (step->reports == 0) {
    print_end(step);
    return;
  }
  enum { WIDTH = 20 };
  const double share = step->uniform > 0 ? step->regret / step->uniform : 0;
  const int filled = share < 1 ? (int)(share * WIDTH + 0.5) : WIDTH;
  printf("%7" PRIu64 " %9" PRIu64 " %9.0f %9.4f %9.4f %10.1f%% %.*s\n", step->version, step->reports,
         (double)step->reports / step->seconds, step->reward, step->regret, 100 * share, filled,
         "####################");
  if (step->phase == 0 && step->version == r->demo.rounds) admit(step);
  fflush(stdout);
}

/* Prints words from `column` on, at most SCREEN columns wide. The line already has `used`. */
static void print_words(const char *text, int column, int used) {
  enum { SCREEN = 80 };
  while (*text) {
    const int length = (int)strcspn(text, " ");
    if (used > column && used + 1 + length > SCREEN) {
      printf("\n");
      used = 0;
    }
    const int blanks = used < column ? column - used : 1;
    printf("%*s%.*s", blanks, "", length, text);
    used += blanks + length;
    text += length;
    text += strspn(text, " ");
  }
  printf("\n");
}

/* "passed (a) what was checked (what was found)" */
static void print_check(const faro_check *c) {
  enum { INDENT = 14 };
  char line[1024];
  snprintf(line, sizeof line, "%s (%s)", c->text, c->found);
  print_words(line, INDENT, printf("  %s  (%c)", c->passed ? "passed" : "FAILED", c->letter));
}

static void print_checks(const faro_checks *list) {
  size_t passed = 0;
  printf("\nchecks\n");
  for (const char *letter = "abcdefghijklmnopqrstuvwxyz"; *letter; letter++)
    for (size_t i = 0; i < list->count; i++) {
      const faro_check *c = &list->row[i];
      if (c->letter != *letter) continue;
      print_check(c);
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
  request r = {.demo = {.trial = {.clients = 5000,
                                  .dimension = 5,
                                  .arms = 10,
                                  .epsilon = 1,
                                  .delta = 1e-6,
                                  .honest = 0.9,
                                  .norm = 1,
                                  .high = 1,
                                  .fits = 1,
                                  .keep = (size_t)1 << 30},
                        .crowd = {.threads = 32, .group = 1, .seed = 1, .patience = 300, .listen = 100000},
                        .rounds = 12,
                        .stopping = stopping},
               .level = FARO_LEVEL_USER};
  int words = 0;
  (void)faro_words_find(faro_learning_kind, "posterior", &r.learner);
  (void)faro_words_find(faro_campaign_release, faro_release_shuffle_bits.name, &r.release);
  int status = cli_read(&cli_demo, &r, argc, argv, &words);
  if (status == CLI_GO) status = complete(&r);
  if (status != CLI_GO) return status;
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
    .options = options,
    .count = sizeof options / sizeof *options,
    .about =
        "Makes keys, tokens and settings, starts an analyzer and shufflers as processes on loopback, lets\n"
        "simulated clients report, shows how the policy improves, and checks at the end what the\n"
        "deployment promises.\n",
    .help = "Exit status: 0 all checks passed, 1 a check failed.\n"
            "\n"
            "examples:\n"
            "  faro demo --clients 5000\n"
            "  faro demo --release concurrent-bits --shufflers 3 --rounds 16\n"
            "  faro demo --learner pe\n",
};
