/* shard: every instance is in exactly one shard, shards are fair, and what they leave in a folder
 * makes the results of one process, whatever was killed, repeated or mixed. */
#include <faro/shard.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/journal.h"
#include "sim/machine.h"
#include "sim/shard.h"
#include "support/play.h"

enum { HEADER = 192, MACHINE = 80, PROGRAM = 48, DIGEST = 16 }; /* offsets in a journal's head */
enum { RECORD = 16 + sizeof(faro_play_record) };

/* Wrapped by the linker, which prescribes the name: a file system without locks has no flock. */
int __wrap_flock(int file, int how); // NOLINT
int __real_flock(int file, int how); // NOLINT
static int lock_error;               /* 0: locks work */

int __wrap_flock(int file, int how) { // NOLINT
  if (lock_error == 0) return __real_flock(file, how);
  errno = lock_error;
  return -1;
}

static const char FILE_TEXT[] =
    "environment: {name: linear-fixed, dimension: 3, arms: 5}\n"
    "horizon: 100\ninstances: 5\ndelta: 0.1\ncalibration: figure\nsweep: {epsilon: [1, 2, 5]}\n"
    "algorithms:\n"
    "  - {learner: linucb, release: none}\n"
    "  - {learner: linucb, release: shuffle-bits, batch: 10}\n"
    "  - {learner: linucb, release: local}\n";

/* ---- a folder */

static char folder[64];

static int set_up(void **state) {
  (void)state;
  snprintf(folder, sizeof folder, "/tmp/faro-shard-XXXXXX");
  lock_error = 0;
  return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  char command[100];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command); // NOLINT(cert-env33-c): a path of our own
}

static const char *in_folder(const char *name) {
  static char path[200];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static faro_status play_shard(const faro_experiment *e, size_t shard, size_t shards, faro_results **results,
                              faro_error *error) {
  char journal[200];
  faro_shard_journal(folder, shard, shards, journal, sizeof journal);
  const faro_run_options options = {.jobs = 2, .journal = journal, .shard = shard, .shards = shards};
  return faro_run(e, &options, results, error);
}

static size_t play(const faro_experiment *e, size_t shard, size_t shards) {
  faro_results *part = NULL;
  assert_ok(play_shard(e, shard, shards, &part, error));
  assert_null(part->outcome);
  assert_null(part->record);
  const size_t total = part->total;
  faro_results_destroy(part);
  return total;
}

typedef struct missing {
  size_t count;
  size_t shard[20]; /* how many of each shard, of `shards` */
  size_t shards;
  size_t first[20];
} missing;

static void note(void *context, size_t cell, size_t instance) {
  missing *m = context;
  m->count++;
  m->shard[faro_shard_of(m->first[cell], instance, m->shards)]++;
}

static faro_status merge(const faro_experiment *e, missing *m, faro_results **results, faro_error *why) {
  faro_shard_list list = {0};
  assert_ok(faro_shard_find(&list, folder, error));
  faro_shard_deal(e, m->first);
  const faro_run_options options = {
      .journals = list.path, .journal_count = list.count, .missing = note, .context = m};
  const faro_status status = faro_run(e, &options, results, why);
  faro_shard_clear(&list);
  return status;
}

static void assert_same(const faro_results *a, const faro_results *b) {
  assert_int_equal(a->cells, b->cells);
  for (size_t i = 0; i < a->cells * a->instances; i++) {
    faro_play_record x = a->record[i];
    faro_play_record y = b->record[i];
    x.seconds = y.seconds = 0; /* a wall clock's, in no CSV file */
    assert_memory_equal(&x, &y, sizeof x);
  }
  for (size_t c = 0; c < a->cells; c++)
    assert_memory_equal(&a->outcome[c].regret, &b->outcome[c].regret, sizeof a->outcome[c].regret);
}

static void assert_merges(const faro_experiment *e) {
  faro_results *merged = NULL;
  faro_results *whole = NULL;
  missing m = {.shards = 1};
  assert_ok(merge(e, &m, &merged, error));
  assert_ok(faro_run(e, &(faro_run_options){.jobs = 2}, &whole, error));
  assert_same(merged, whole);
  faro_results_destroy(merged);
  faro_results_destroy(whole);
}

/* Changes bytes of a file in the folder. */
static void write_at(const char *name, long offset, const void *bytes, size_t length) {
  FILE *file = fopen(in_folder(name), "r+b");
  assert_non_null(file);
  assert_int_equal(fseek(file, offset, offset < 0 ? SEEK_END : SEEK_SET), 0);
  assert_int_equal(fwrite(bytes, 1, length, file), length);
  fclose(file);
}

/* ---- membership */

/* Counted naively: each instance that is played is in one shard; of every cell, every algorithm
 * and all together, shards have equally many, up to one. */
static void check_fair(const faro_experiment *e, size_t shards) {
  size_t first[200];
  size_t all[40] = {0};
  size_t algorithm[40][10] = {{0}};
  assert_true(e->count <= 200 && shards < 40 && e->algorithms <= 10);
  faro_shard_deal(e, first);
  for (size_t cell = 0; cell < e->count; cell++) {
    size_t here[40] = {0};
    for (size_t i = 0; i < e->instances && e->cell[cell].twin == cell; i++) {
      const size_t shard = faro_shard_of(first[cell], i, shards);
      assert_true(shard >= 1 && shard <= shards);
      here[shard]++;
      all[shard]++;
      algorithm[shard][cell % e->algorithms]++;
    }
    for (size_t s = 1; s <= shards; s++)
      for (size_t t = 1; t < s; t++) assert_true(here[s] <= here[t] + 1 && here[t] <= here[s] + 1);
  }
  for (size_t s = 1; s <= shards; s++)
    for (size_t t = 1; t < s; t++) {
      assert_true(all[s] <= all[t] + 1 && all[t] <= all[s] + 1);
      for (size_t a = 0; a < e->algorithms; a++)
        assert_true(algorithm[s][a] <= algorithm[t][a] + 1 && algorithm[t][a] <= algorithm[s][a] + 1);
    }
}

static void test_shard__every_shard_has_its_share_of_every_algorithm(void **state) {
  (void)state;
  for (size_t instances = 1; instances <= 8; instances++) {
    faro_experiment *e = parse_experiment(
        "environment: {name: linear-fixed, dimension: 3, arms: 5}\nhorizon: 50\ninstances: %zu\n"
        "sweep: {epsilon: [1, 2, 5]}\nalgorithms:\n"
        "  - {learner: linucb, release: none}\n  - {learner: linucb, release: local}\n"
        "  - {learner: lints, release: local}\n  - {learner: posterior, release: local}\n",
        instances);
    for (size_t shards = 1; shards < 40; shards++) check_fair(e, shards);
    faro_experiment_destroy(e);
  }
}

/* What shards play is what they are said to: together everything, nothing twice. */
static void test_shard__parts_add_up(void **state) {
  (void)state;
  faro_experiment *e = parse_experiment(FILE_TEXT);
  const size_t total = 5 * (1 + 3 + 3); /* linucb without privacy is played at one epsilon */
  for (size_t shards = 1; shards <= 7; shards += 3) {
    size_t sum = 0;
    for (size_t s = 1; s <= shards; s++) sum += play(e, s, shards);
    assert_int_equal(sum, total);
  }
  assert_merges(e);
  faro_experiment_destroy(e);
}

static void test_shard__wrong_numbers_are_refused(void **state) {
  (void)state;
  faro_experiment *e = parse_experiment(FILE_TEXT);
  faro_results *results = NULL;
  const struct {
    size_t shard, shards;
    const char *says;
  } bad[] = {{0, 2, "shard must be 1 .. 2"},
             {3, 2, "shard must be 1 .. 2, the number of shards (got 3)"},
             {1, 0, "shard must be"},
             {1, 2000000, "shards must be at most 1000000 (got 2000000)"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    faro_error why = {0};
    assert_int_equal(play_shard(e, bad[i].shard, bad[i].shards, &results, &why), FARO_INVALID);
    assert_non_null(strstr(why.message, bad[i].says));
  }
  faro_error why = {0};
  assert_int_equal(faro_run(e, &(faro_run_options){.shard = 1, .shards = 2}, &results, &why), FARO_INVALID);
  assert_non_null(strstr(why.message, "journal must be given"));
  assert_null(results);
  faro_experiment_destroy(e);
}

static void test_shard__has_no_report(void **state) {
  (void)state;
  faro_experiment *e = parse_experiment(FILE_TEXT);
  faro_results *part = NULL;
  faro_report *report = NULL;
  faro_error why = {0};
  assert_ok(play_shard(e, 1, 30, &part, error));
  assert_int_equal(faro_report_make(&report, e, part, &why), FARO_INVALID);
  assert_non_null(strstr(why.message, "merge all shards first"));
  faro_results_destroy(part);
  faro_experiment_destroy(e);
}

/* ---- merging */

static void test_merge__names_what_is_missing_by_shard(void **state) {
  (void)state;
  faro_experiment *e = parse_experiment(FILE_TEXT);
  for (size_t s = 1; s <= 4; s++) (void)play(e, s, 4);
  char journal[200];
  faro_shard_journal(folder, 3, 4, journal, sizeof journal);
  assert_int_equal(remove(journal), 0);
  faro_shard_journal(folder, 2, 4, journal, sizeof journal); /* and one torn record */
  struct stat info;
  assert_int_equal(stat(journal, &info), 0);
  assert_int_equal(truncate(journal, info.st_size - 9), 0);
  missing m = {.shards = 4};
  faro_results *results = NULL;
  faro_error why = {0};
  assert_int_equal(merge(e, &m, &results, &why), FARO_INVALID);
  assert_null(results);
  assert_string_equal(why.message, "10 of 35 instances are missing"); /* 9 of shard 3, and one of shard 2 */
  assert_int_equal(m.count, 10);
  assert_int_equal(m.shard[3], 9);
  assert_int_equal(m.shard[2], 1);
  assert_int_equal(stat(journal, &info), 0);
  assert_true((info.st_size - HEADER) % RECORD != 0); /* merging cuts nothing: the shard may be running */
  (void)play(e, 2, 4);
  (void)play(e, 3, 4);
  assert_merges(e);
  faro_experiment_destroy(e);
}

/* 2 of 3 were played, then all of 2, and a run without shards began too. */
static void test_merge__shards_of_several_numbers_mix(void **state) {
  (void)state;
  faro_experiment *e = parse_experiment(FILE_TEXT);
  (void)play(e, 1, 3);
  (void)play(e, 3, 3);
  (void)play(e, 1, 2);
  (void)play(e, 2, 2);
  faro_shard_list list = {0};
  assert_ok(faro_shard_find(&list, folder, error));
  assert_int_equal(list.count, 4);
  assert_int_equal(list.shards[0], 2);
  assert_int_equal(list.shard[1], 2);
  assert_int_equal(list.shards[3], 3);
  assert_int_equal(list.shard[3], 3);
  /* a run on top plays the rest: nothing */
  char journal[200];
  faro_shard_journal(folder, 0, 0, journal, sizeof journal);
  faro_results *results = NULL;
  const faro_run_options options = {.journal = journal, .journals = list.path, .journal_count = list.count};
  assert_ok(faro_run(e, &options, &results, error));
  assert_int_equal(results->resumed, 35);
  assert_int_equal(results->total, 35);
  faro_results_destroy(results);
  faro_shard_clear(&list);
  assert_merges(e);
  faro_experiment_destroy(e);
}

static void test_merge__unequal_records_are_refused(void **state) {
  (void)state;
  faro_experiment *e = parse_experiment(FILE_TEXT);
  (void)play(e, 1, 1);
  (void)play(e, 2, 2);
  /* another machine: the last digit of the regret of the first record of shard 2 of 2 */
  char journal[200];
  faro_shard_journal(folder, 2, 2, journal, sizeof journal);
  uint32_t id[2];
  faro_play_record record;
  FILE *file = fopen(journal, "rb");
  assert_non_null(file);
  assert_int_equal(fseek(file, HEADER, SEEK_SET), 0);
  assert_int_equal(fread(id, sizeof id, 1, file), 1);
  assert_int_equal(fread(&record, sizeof record, 1, file), 1);
  fclose(file);
  for (int different = 0; different < 2; different++) {
    faro_journal *made = NULL;
    faro_journal_each *const none = NULL;
    if (different) record.regret *= 1 + 1e-15;
    record.seconds += 5; /* a slower machine, which is no difference */
    faro_shard_journal(folder, 2, 3, journal, sizeof journal);
    assert_ok(faro_journal_open(&made, journal, e->digest, FARO_PLAY_VALUES, true, none, NULL, error));
    assert_ok(faro_journal_add(made, id[0], id[1], (const double *)&record, error));
    faro_journal_close(made);
    if (!different) assert_merges(e);
  }
  missing m = {.shards = 1};
  faro_results *results = NULL;
  faro_error why = {0};
  char says[400];
  char point[FARO_SHARD_POINT];
  assert_int_equal(merge(e, &m, &results, &why), FARO_INVALID);
  assert_null(results);
  snprintf(says, sizeof says,
           "instances.1-of-1.journal and instances.2-of-3.journal disagree about %s, instance %u:",
           faro_shard_point(e, id[0], point), id[1]);
  assert_non_null(strstr(why.message, says));
  faro_experiment_destroy(e);
}

/* The same within one journal: equal ones count once, and the journal stays whole. */
static void test_journal__duplicates_are_skipped_and_contrary_ones_named(void **state) {
  (void)state;
  faro_experiment *e = parse_experiment(FILE_TEXT);
  faro_results *results = NULL;
  assert_int_equal(play(e, 1, 7), 5);
  unsigned char record[RECORD];
  FILE *file = fopen(in_folder("instances.1-of-7.journal"), "r+b");
  assert_non_null(file);
  assert_int_equal(fseek(file, HEADER, SEEK_SET), 0);
  assert_int_equal(fread(record, sizeof record, 1, file), 1);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  assert_int_equal(fwrite(record, sizeof record, 1, file), 1);
  fclose(file);
  struct stat info;
  assert_ok(play_shard(e, 1, 7, &results, error));
  assert_int_equal(results->resumed, 5);
  faro_results_destroy(results);
  assert_int_equal(stat(in_folder("instances.1-of-7.journal"), &info), 0);
  assert_int_equal(info.st_size, HEADER + 6 * RECORD);
  faro_journal *journal = NULL;
  faro_play_record other;
  uint32_t id[2];
  memcpy(id, record, sizeof id);
  memcpy(&other, record + sizeof id, sizeof other);
  other.curve[3] += 1;
  char path[200];
  faro_shard_journal(folder, 2, 7, path, sizeof path);
  assert_int_equal(rename(in_folder("instances.1-of-7.journal"), path), 0);
  lock_error = ENOLCK; /* a second writer, which appends what is contrary */
  assert_ok(faro_journal_open(&journal, path, e->digest, FARO_PLAY_VALUES, true, NULL, NULL, error));
  assert_ok(faro_journal_add(journal, id[0], id[1], (const double *)(record + sizeof id), error));
  assert_ok(faro_journal_add(journal, id[0], id[1], (const double *)&other, error));
  faro_journal_close(journal);
  faro_shard_journal(folder, 1, 7, path, sizeof path);
  assert_int_equal(rename(in_folder("instances.2-of-7.journal"), path), 0);
  results = NULL;
  faro_error why = {0};
  assert_int_equal(play_shard(e, 1, 7, &results, &why), FARO_INVALID);
  assert_non_null(
      strstr(why.message, "instances.1-of-7.journal and instances.1-of-7.journal disagree about"));
  assert_int_equal(stat(path, &info), 0);
  assert_int_equal(info.st_size, HEADER + 2 * RECORD); /* left as it is */
  faro_experiment_destroy(e);
}

/* ---- heads */

static void test_head__what_decides_the_bytes_is_compared(void **state) {
  (void)state;
  faro_experiment *e = parse_experiment(FILE_TEXT);
  assert_non_null(strstr(faro_machine(), "fma="));
  assert_non_null(strstr(faro_machine(), "order="));
  char other[FARO_MACHINE_SIZE];
  snprintf(other, sizeof other, "%s", faro_machine());
  char *fma = strstr(other, "fma=") + 4;
  *fma = *fma == 'y' ? 'n' : 'y';
  char big[FARO_MACHINE_SIZE] = "order=odd";
  const struct {
    long offset;
    const void *bytes;
    size_t length;
    const char *says;
  } change[] = {{MACHINE, other, sizeof other, "played on another kind of machine (fma is "},
                {MACHINE, big, sizeof big, "played on another kind of machine (order is odd there and "},
                {MACHINE, "\xff\xff", 2, "played on another kind of machine (it says"},
                {PROGRAM, "another", 7, "played by another build of faro"},
                {DIGEST, "another", 7, "this is the unfinished run of another experiment"},
                {0, "farojnl1", 8, "this is no journal, or one of another version"}};
  for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
    faro_results *results = NULL;
    missing m = {.shards = 1};
    (void)play(e, 1, 2);
    (void)play(e, 2, 2);
    write_at("instances.1-of-2.journal", change[i].offset, change[i].bytes, change[i].length);
    for (int merging = 0; merging < 2; merging++) {
      faro_error why = {0};
      const faro_status status = merging ? merge(e, &m, &results, &why) : play_shard(e, 1, 2, &results, &why);
      assert_int_equal(status, FARO_INVALID);
      assert_non_null(strstr(why.message, change[i].says));
      assert_non_null(strstr(why.message, "instances.1-of-2.journal: "));
      assert_non_null(strstr(why.message, merging ? "play its part again" : "--fresh"));
      assert_null(results);
    }
    assert_false(faro_journal_suits(in_folder("instances.1-of-2.journal"), e->digest));
    assert_false(faro_journal_fits(in_folder("instances.1-of-2.journal"), e->digest));
    assert_true(faro_journal_suits(in_folder("instances.2-of-2.journal"), e->digest));
    assert_true(faro_journal_suits(in_folder("nothing"), e->digest));
    assert_int_equal(remove(in_folder("instances.1-of-2.journal")), 0);
  }
  faro_experiment_destroy(e);
}

static void test_machine__the_first_difference_is_named(void **state) {
  (void)state;
  char out[FARO_DIFFERENCE_SIZE];
  assert_string_equal(faro_machine_difference("a=1 b=2", "a=1 b=2", out), "");
  assert_string_equal(faro_machine_difference("", "", out), "");
  assert_string_equal(faro_machine_difference("a=1 b=2", "a=1 b=3", out), "b is 2 there and 3 here");
  assert_string_equal(faro_machine_difference("a=1", "a=12", out), "a is 1 there and 12 here");
  assert_string_equal(faro_machine_difference("a=1", "a=1 b=2", out), "it says \"\"");
  assert_string_equal(faro_machine_difference("c=1 b=2", "a=1 b=2", out), "it says \"c=1 b=2\"");
  assert_true(faro_processors() >= 1);
}

/* ---- no locks, and no room */

static void test_locks__a_file_system_without_them_works(void **state) {
  (void)state;
  static const int errors[] = {ENOLCK, ENOSYS, EOPNOTSUPP, EINVAL};
  faro_experiment *e = parse_experiment(FILE_TEXT);
  for (size_t i = 0; i < 4; i++) {
    lock_error = errors[i];
    for (size_t s = 1; s <= 3; s++) (void)play(e, s, 3);
    lock_error = 0;
    assert_merges(e);
    for (size_t s = 1; s <= 3; s++) {
      char path[200];
      faro_shard_journal(folder, s, 3, path, sizeof path);
      assert_int_equal(remove(path), 0);
    }
  }
  lock_error = EWOULDBLOCK; /* there are locks, and somebody has this one */
  faro_results *results = NULL;
  faro_error why = {0};
  assert_int_equal(play_shard(e, 1, 3, &results, &why), FARO_SYSTEM);
  assert_non_null(strstr(why.message, "another run is writing there"));
  faro_experiment_destroy(e);
}

/* Two writers where nothing keeps them apart: the second notices, and nothing wrong is kept. */
static void test_locks__a_second_writer_is_noticed(void **state) {
  (void)state;
  faro_experiment *e = parse_experiment(FILE_TEXT);
  faro_journal *one = NULL;
  faro_journal *two = NULL;
  char path[200];
  const double values[FARO_PLAY_VALUES] = {1, 2, 3};
  faro_shard_journal(folder, 1, 2, path, sizeof path);
  lock_error = ENOLCK;
  assert_ok(faro_journal_open(&one, path, e->digest, FARO_PLAY_VALUES, false, NULL, NULL, error));
  assert_ok(faro_journal_open(&two, path, e->digest, FARO_PLAY_VALUES, false, NULL, NULL, error));
  assert_ok(faro_journal_add(one, 0, 0, values, error));
  faro_error why = {0};
  assert_int_equal(faro_journal_add(two, 0, 1, values, &why), FARO_SYSTEM);
  assert_non_null(strstr(why.message, "another run is writing there too"));
  assert_ok(faro_journal_add(one, 0, 1, values, error));
  faro_journal_close(one);
  faro_journal_close(two);
  faro_experiment_destroy(e);
}

/* ---- the folder */

static void test_keep__the_folder_makes_the_experiment_again(void **state) {
  (void)state;
  const faro_override overrides[] = {{"horizon", "60"}, {"epsilon", "[1, 3]"}};
  const faro_experiment_options how = {
      .overrides = overrides, .override_count = 2, .quick = true, .name = "mine"};
  faro_experiment *e = NULL;
  faro_experiment *again = NULL;
  assert_ok(faro_experiment_parse(&e, "test.yaml", FILE_TEXT, sizeof FILE_TEXT - 1, &how, error));
  faro_error why = {0};
  assert_int_equal(faro_shard_recall(&again, folder, NULL, &why), FARO_INVALID);
  assert_non_null(strstr(why.message, "no shards are there"));
  for (int twice = 0; twice < 2; twice++) assert_ok(faro_shard_keep(e, folder, error));
  assert_ok(faro_shard_recall(&again, folder, &(faro_experiment_options){.command = "faro merge"}, error));
  assert_memory_equal(again->digest, e->digest, sizeof e->digest);
  assert_string_equal(again->identity, e->identity);
  assert_string_equal(again->name, "mine");
  assert_string_equal(again->command, "faro merge");
  assert_int_equal(again->count, e->count);
  faro_experiment_destroy(again);
  /* another one is refused */
  again = parse_experiment(FILE_TEXT);
  why = (faro_error){0};
  assert_int_equal(faro_shard_keep(again, folder, &why), FARO_INVALID);
  assert_non_null(strstr(why.message, "keeps shards of another experiment"));
  faro_experiment_destroy(again);
  again = NULL;
  /* an edited file too */
  write_at("experiment.yaml", 0, "horizon: 70\n#", 13);
  why = (faro_error){0};
  assert_int_equal(faro_shard_recall(&again, folder, NULL, &why), FARO_INVALID);
  assert_null(again);
  write_at("shards.json", 0, "[", 1);
  why = (faro_error){0};
  assert_int_equal(faro_shard_recall(&again, folder, NULL, &why), FARO_INVALID);
  assert_non_null(strstr(why.message, "shards.json:"));
  faro_experiment_destroy(e);
}

static void test_find__takes_journals_and_nothing_else(void **state) {
  (void)state;
  static const char *const names[] = {"instances.journal",
                                      "instances.2-of-10.journal",
                                      "instances.10-of-10.journal",
                                      "instances.1-of-9.journal",
                                      "instances.0-of-9.journal",
                                      "instances.10-of-9.journal",
                                      "instances.1-of-9.journal.x",
                                      "instances.1-of-9.journa",
                                      "instances.1of9.journal",
                                      "instances.-1-of-9.journal",
                                      "instances.1-of-.journal",
                                      "instances..journal",
                                      "instances",
                                      "instances.99999999999-of-9.journal"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) fclose(fopen(in_folder(names[i]), "w"));
  faro_shard_list list = {0};
  assert_ok(faro_shard_find(&list, folder, error));
  assert_int_equal(list.count, 4);
  assert_string_equal(list.path[0], in_folder("instances.journal"));
  assert_string_equal(list.path[1], in_folder("instances.1-of-9.journal"));
  assert_string_equal(list.path[2], in_folder("instances.2-of-10.journal"));
  assert_string_equal(list.path[3], in_folder("instances.10-of-10.journal"));
  faro_shard_clear(&list);
  assert_survives_exhaustion(faro_shard_find(&list, folder, error));
  faro_shard_clear(&list);
  faro_error why = {0};
  assert_int_equal(faro_shard_find(&list, "/no/such/folder", &why), FARO_INVALID);
}

/* ---- which shard this process is */

static const char *const variables[] = {"OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "SLURM_ARRAY_TASK_ID",
                                        "SLURM_ARRAY_TASK_COUNT",
                                        "SLURM_ARRAY_TASK_MIN",
                                        "SLURM_ARRAY_TASK_MAX",
                                        "SLURM_ARRAY_TASK_STEP",
                                        "PBS_ARRAY_INDEX",
                                        "PARALLEL_SEQ"};

/* The environment has these variables, "NAME=VALUE NAME=VALUE", and no other of the table. */
static void set_environment(const char *text) {
  char copy[400];
  snprintf(copy, sizeof copy, "%s", text);
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) unsetenv(variables[i]);
  for (char *rest = copy, *one = NULL; (one = strtok_r(rest, " ", &rest));) {
    char *value = strchr(one, '=');
    *value = '\0';
    assert_int_equal(setenv(one, value + 1, 1), 0);
  }
}

#define SLURM(id, count, min, max, rest)                                                                     \
  "SLURM_ARRAY_TASK_ID=" #id " SLURM_ARRAY_TASK_COUNT=" #count " SLURM_ARRAY_TASK_MIN=" #min                 \
  " SLURM_ARRAY_TASK_MAX=" #max rest

static void test_read__numbers_and_variables(void **state) {
  (void)state;
  const struct {
    const char *environment, *text;
    size_t shard, shards;
    const char *says; /* NULL: it is read */
  } cases[] = {
      {"", "3/16", 3, 16, NULL},
      {"", "1/1", 1, 1, NULL},
      {"", "1000000/1000000", 1000000, 1000000, NULL},
      {"", "0/16", 0, 0,
       "shard must be I/N with I from 1 to N and N at most 1000000, auto, or auto/N (got 0/16)"},
      {"", "17/16", 0, 0, "(got 17/16)"},
      {"", "3", 0, 0, "(got 3)"},
      {"", "3/", 0, 0, "(got 3/)"},
      {"", "/16", 0, 0, "(got /16)"},
      {"", "3/16x", 0, 0, "(got 3/16x)"},
      {"", "-3/16", 0, 0, "(got -3/16)"},
      {"", "", 0, 0, "(got )"},
      {"", "1/99999999999999999999", 0, 0, "N at most 1000000"},
      {"", "auto/0", 0, 0, "(got auto/0)"},
      {"", "auto", 0, 0, "none is set: OMPI_COMM_WORLD_RANK, PMI_RANK, SLURM_ARRAY_TASK_ID"},
      {"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2", "auto", 1, 2, NULL},
      {"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2", "auto", 2, 2, NULL},
      {"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2", "auto/2", 2, 2, NULL},
      {"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2", "auto/16", 0, 0,
       "shard auto/16 does not fit OMPI_COMM_WORLD_SIZE, which is 2"},
      {"OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=2", "auto", 0, 0,
       "needs OMPI_COMM_WORLD_RANK from 0 to 1 (got 2)"},
      {"OMPI_COMM_WORLD_RANK=2", "auto", 0, 0, "needs a whole number in OMPI_COMM_WORLD_SIZE (got nothing)"},
      {"PMI_RANK=x PMI_SIZE=2", "auto", 0, 0, "needs a whole number in PMI_RANK (got x)"},
      {"PMI_RANK=4 PMI_SIZE=5", "auto", 5, 5, NULL},
      {SLURM(1, 16, 1, 16, ""), "auto", 1, 16, NULL},
      {SLURM(16, 16, 1, 16, " SLURM_ARRAY_TASK_STEP=1"), "auto", 16, 16, NULL},
      {SLURM(0, 16, 0, 15, ""), "auto", 1, 16, NULL},
      {SLURM(14, 8, 0, 14, " SLURM_ARRAY_TASK_STEP=2"), "auto", 8, 8, NULL},
      {SLURM(13, 8, 0, 14, " SLURM_ARRAY_TASK_STEP=2"), "auto", 0, 0, "because it has gaps"},
      {SLURM(7, 2, 3, 7, ""), "auto", 0, 0,
       "cannot number the 2 jobs of this array from 3 to 7, because it has gaps; use auto/N"},
      {SLURM(7, 2, 3, 7, ""), "auto/16", 7, 16, NULL},
      {SLURM(0, 2, 0, 1, ""), "auto/16", 0, 0, "needs SLURM_ARRAY_TASK_ID from 1 to 16 (got 0)"},
      {"PBS_ARRAY_INDEX=3", "auto", 0, 0, "finds PBS_ARRAY_INDEX, which does not say how many"},
      {"PBS_ARRAY_INDEX=3", "auto/16", 3, 16, NULL},
      {"PARALLEL_SEQ=16", "auto/16", 16, 16, NULL},
      {"PARALLEL_SEQ=17", "auto/16", 0, 0, "needs PARALLEL_SEQ from 1 to 16 (got 17)"},
      {"PARALLEL_SEQ=17 PMI_RANK=0 PMI_SIZE=2", "auto", 1, 2, NULL},
      {"PARALLEL_SEQ=1 PMI_RANK=0 PMI_SIZE=2", "auto/2", 0, 0, "finds both PMI_RANK and PARALLEL_SEQ"},
      {SLURM(1, 16, 1, 16, " OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2"), "auto", 0, 0,
       "finds both OMPI_COMM_WORLD_RANK and SLURM_ARRAY_TASK_ID; say which shard this is, as I/N"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    size_t shard = 0;
    size_t shards = 0;
    faro_error why = {0};
    set_environment(cases[i].environment);
    const faro_status status = faro_shard_read(cases[i].text, &shard, &shards, &why);
    if (status != (cases[i].says ? FARO_INVALID : FARO_OK)) fail_msg("%s: %s", cases[i].text, why.message);
    if (cases[i].says && !strstr(why.message, cases[i].says))
      fail_msg("\"%s\" is not in: %s", cases[i].says, why.message);
    assert_int_equal(shard, cases[i].shard);
    assert_int_equal(shards, cases[i].shards);
  }
  set_environment("");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_shard__every_shard_has_its_share_of_every_algorithm),
      TEST(test_shard__parts_add_up),
      TEST(test_shard__wrong_numbers_are_refused),
      TEST(test_shard__has_no_report),
      TEST(test_merge__names_what_is_missing_by_shard),
      TEST(test_merge__shards_of_several_numbers_mix),
      TEST(test_merge__unequal_records_are_refused),
      TEST(test_journal__duplicates_are_skipped_and_contrary_ones_named),
      TEST(test_head__what_decides_the_bytes_is_compared),
      TEST(test_machine__the_first_difference_is_named),
      TEST(test_locks__a_file_system_without_them_works),
      TEST(test_locks__a_second_writer_is_noticed),
      TEST(test_keep__the_folder_makes_the_experiment_again),
      TEST(test_find__takes_journals_and_nothing_else),
      TEST(test_read__numbers_and_variables),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
