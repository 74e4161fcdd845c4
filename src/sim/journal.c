/* journal: see the header. */
#include "sim/journal.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "sim/machine.h"

static const char MAGIC[8] = {'f', 'a', 'r', 'o', 'j', 'n', 'l', '2'};

typedef struct header {
  char magic[8];
  uint64_t record;
  unsigned char digest[32];
  unsigned char program[FARO_PROGRAM_BYTES];
  char machine[FARO_MACHINE_SIZE];
} header;

struct faro_journal {
  FILE *file;
  char *path;
  size_t values, record;
  off_t end;             /* where the file ends if nobody else writes it */
  unsigned char *buffer; /* one record */
};

static size_t record_size(size_t values) {
  return 2 * sizeof(uint32_t) + values * sizeof(double) + crypto_shorthash_BYTES;
}

static void checksum(const faro_journal *journal, unsigned char out[static crypto_shorthash_BYTES]) {
  static const unsigned char key[crypto_shorthash_KEYBYTES] = "faro journal v1";
  crypto_shorthash(out, journal->buffer, journal->record - crypto_shorthash_BYTES, key);
}

void faro_journal_close(faro_journal *journal) {
  if (!journal) return;
  if (journal->file) fclose(journal->file);
  free(journal->buffer);
  free(journal->path);
  free(journal);
}

/* Opens the journal's file. Returns NULL if that fails, and *status says why. */
static faro_journal *create(const char *path, const char *mode, size_t values, faro_status *status,
                            faro_error *error) {
  faro_journal *made = calloc(1, sizeof *made);
  unsigned char *buffer = NULL;
  if (made) {
    made->values = values;
    made->record = record_size(values);
    buffer = made->buffer = calloc(1, made->record);
    made->path = strdup(path);
  }
  if (!made || !buffer || !made->path)
    *status = faro_fail(error, FARO_MEMORY, "cannot allocate the journal %s", faro_path_end(path));
  else if (!(made->file = fopen(path, mode)))
    *status = faro_fail(error, FARO_SYSTEM, "%s: cannot be opened: %s", faro_path_end(path), strerror(errno));
  else return made;
  faro_journal_close(made);
  return NULL;
}

/* ---- the head */

static header head_of(const unsigned char *digest, size_t values) {
  header head = {.record = record_size(values)};
  memcpy(head.magic, MAGIC, sizeof MAGIC);
  memcpy(head.digest, digest, sizeof head.digest);
  memcpy(head.program, faro_program(), sizeof head.program);
  snprintf(head.machine, sizeof head.machine, "%s", faro_machine());
  return head;
}

/* Why a head is not ours: nothing if it is. A journal of an older version is of another build. */
static const char *find_fault(const header *there, const header *here,
                              char difference[static FARO_DIFFERENCE_SIZE]) {
  char machine[FARO_MACHINE_SIZE + 1] = "";
  memcpy(machine, there->machine, FARO_MACHINE_SIZE);
  *difference = '\0';
  if (memcmp(there->magic, MAGIC, sizeof MAGIC) != 0) return "this is no journal, or one of another version";
  if (*faro_machine_difference(machine, here->machine, difference))
    return "its instances were played on another kind of machine";
  if (memcmp(there->program, here->program, sizeof here->program) != 0)
    return "its instances were played by another build of faro";
  if (memcmp(there->digest, here->digest, sizeof here->digest) != 0 || there->record != here->record)
    return "this is the unfinished run of another experiment";
  return NULL;
}

static faro_status check_head(const char *path, const header *there, const header *here, const char *advice,
                              faro_error *error) {
  char difference[FARO_DIFFERENCE_SIZE];
  const char *fault = find_fault(there, here, difference);
  if (!fault) return FARO_OK;
  const char *remedy = strncmp(difference, "blas ", 5) == 0 ? "; OPENBLAS_CORETYPE can set it" : "";
  return faro_fail(error, FARO_INVALID, "%s: %s%s%s%s%s; %s", faro_path_end(path), fault,
                   *difference ? " (" : "", difference, remedy, *difference ? ")" : "", advice);
}

/* Reads the head. false: the file is empty, or its head was torn when it was written. Anything else
 * is not a journal. */
static bool read_head(FILE *file, header *there) {
  *there = (header){.magic = ""};
  const size_t length = fread(there, 1, sizeof *there, file);
  const size_t compared = length < sizeof MAGIC ? length : sizeof MAGIC;
  return length == sizeof *there || memcmp(there->magic, MAGIC, compared) != 0;
}

static faro_status write_header(const faro_journal *journal, const header *head, faro_error *error) {
  if (ftruncate(fileno(journal->file), 0) != 0 || fwrite(head, sizeof *head, 1, journal->file) != 1 ||
      fflush(journal->file) != 0)
    return faro_fail(error, FARO_SYSTEM, "%s: cannot be written: %s", faro_path_end(journal->path),
                     strerror(errno));
  return FARO_OK;
}

/* ---- records */

/* Reads records up to the first that is torn or senseless. *good is the length of the good part. */
static faro_status read_records(faro_journal *journal, faro_journal_each *each, void *context, long *good,
                                faro_error *error) {
  double *values = calloc(journal->values, sizeof *values);
  faro_record_verdict verdict = FARO_RECORD_TAKEN;
  if (!values)
    return faro_fail(error, FARO_MEMORY, "cannot allocate memory to read the journal %s",
                     faro_path_end(journal->path));
  *good = ftell(journal->file);
  while (verdict == FARO_RECORD_TAKEN && fread(journal->buffer, journal->record, 1, journal->file) == 1) {
    unsigned char sum[crypto_shorthash_BYTES];
    checksum(journal, sum);
    if (memcmp(sum, journal->buffer + journal->record - sizeof sum, sizeof sum) != 0) break;
    uint32_t id[2];
    memcpy(id, journal->buffer, sizeof id);
    memcpy(values, journal->buffer + sizeof id, journal->values * sizeof *values);
    verdict = each(context, id[0], id[1], values, error);
    if (verdict == FARO_RECORD_TAKEN) *good = ftell(journal->file);
  }
  free(values);
  return verdict == FARO_RECORD_CONTRARY ? FARO_INVALID : FARO_OK;
}

/* Locks the file, if its file system has locks. */
static faro_status lock(const faro_journal *journal, faro_error *error) {
  const bool none = flock(fileno(journal->file), LOCK_EX | LOCK_NB) != 0;
  if (none && errno != ENOLCK && errno != ENOSYS && errno != EOPNOTSUPP && errno != EINVAL)
    return faro_fail(error, FARO_SYSTEM, "%s: another run is writing there", faro_path_end(journal->path));
  struct stat ours;
  struct stat there;
  if (fstat(fileno(journal->file), &ours) == 0 && stat(journal->path, &there) == 0 &&
      ours.st_ino == there.st_ino)
    return FARO_OK;
  return faro_fail(error, FARO_SYSTEM, "%s: another run has just ended there; try again",
                   faro_path_end(journal->path));
}

/* Cuts what is torn off the end, and remembers where the end is. */
static faro_status cut(faro_journal *journal, long good, faro_error *error) {
  if (good < 0 || fseek(journal->file, good, SEEK_SET) != 0 || ftruncate(fileno(journal->file), good) != 0)
    return faro_fail(error, FARO_SYSTEM, "%s: cannot be continued: %s", faro_path_end(journal->path),
                     strerror(errno));
  journal->end = good;
  return FARO_OK;
}

static faro_status load(faro_journal *journal, const header *head, bool fresh, faro_journal_each *each,
                        void *context, faro_error *error) {
  header there;
  long good = 0;
  faro_status status = lock(journal, error);
  if (status != FARO_OK) return status;
  rewind(journal->file);
  if (fresh || !read_head(journal->file, &there)) {
    journal->end = sizeof *head;
    return write_header(journal, head, error);
  }
  status = check_head(journal->path, &there, head, "use --fresh to discard it, or another --out", error);
  if (status == FARO_OK) status = read_records(journal, each, context, &good, error);
  return status == FARO_OK ? cut(journal, good, error) : status;
}

faro_status faro_journal_open(faro_journal **journal, const char *path, const unsigned char digest[static 32],
                              size_t values, bool fresh, faro_journal_each *each, void *context,
                              faro_error *error) {
  const header head = head_of(digest, values);
  faro_status status = FARO_OK;
  faro_journal *made = create(path, "a+b", values, &status, error);
  if (!made) return status;
  status = load(made, &head, fresh, each, context, error);
  if (status == FARO_OK) *journal = made;
  else faro_journal_close(made);
  return status;
}

faro_status faro_journal_read(const char *path, const unsigned char digest[static 32], size_t values,
                              faro_journal_each *each, void *context, faro_error *error) {
  const header head = head_of(digest, values);
  header there;
  long good = 0;
  faro_status status = FARO_OK;
  faro_journal *journal = create(path, "rb", values, &status, error);
  if (!journal) return status;
  if (read_head(journal->file, &there)) { /* else it has just begun */
    status = check_head(path, &there, &head, "remove it, and play its part again", error);
    if (status == FARO_OK) status = read_records(journal, each, context, &good, error);
  }
  faro_journal_close(journal);
  return status;
}

/* Somebody else has written to the file, or cut it. */
static faro_status refuse_second(const faro_journal *journal, faro_error *error) {
  return faro_fail(error, FARO_SYSTEM,
                   "%s: another run is writing there too, and this file system has no locks; end all of them "
                   "but one and run it again",
                   faro_path_end(journal->path));
}

faro_status faro_journal_add(faro_journal *journal, uint32_t cell, uint32_t instance, const double *values,
                             faro_error *error) {
  const uint32_t id[2] = {cell, instance};
  struct stat now;
  memcpy(journal->buffer, id, sizeof id);
  memcpy(journal->buffer + sizeof id, values, journal->values * sizeof *values);
  unsigned char sum[crypto_shorthash_BYTES];
  checksum(journal, sum);
  memcpy(journal->buffer + journal->record - sizeof sum, sum, sizeof sum);
  if (fstat(fileno(journal->file), &now) == 0 && now.st_size != journal->end)
    return refuse_second(journal, error);
  if (fwrite(journal->buffer, journal->record, 1, journal->file) != 1 || fflush(journal->file) != 0)
    return faro_fail(error, FARO_SYSTEM, "%s: cannot be written: %s", faro_path_end(journal->path),
                     strerror(errno));
  journal->end += (off_t)journal->record;
  return FARO_OK;
}

/* Whether the head of the file is ours: 1 or 0; -1: there is none. */
static int compare_head(FILE *file, const unsigned char *digest) {
  char difference[FARO_DIFFERENCE_SIZE];
  header there;
  if (!read_head(file, &there)) return -1;
  header head = head_of(digest, 0);
  head.record = there.record;
  return find_fault(&there, &head, difference) == NULL;
}

bool faro_journal_suits(const char *path, const unsigned char digest[static 32]) {
  FILE *file = fopen(path, "rb");
  if (!file) return errno == ENOENT || errno == ENOTDIR;
  const int same = compare_head(file, digest);
  fclose(file);
  return same != 0;
}

bool faro_journal_fits(const char *path, const unsigned char digest[static 32]) {
  FILE *file = fopen(path, "rb");
  const int same = file ? compare_head(file, digest) : 0;
  if (file) fclose(file);
  return same == 1;
}
