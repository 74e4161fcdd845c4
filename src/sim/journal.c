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

static const char MAGIC[8] = {'f', 'a', 'r', 'o', 'j', 'n', 'l', '1'};

typedef struct header {
  char magic[8];
  unsigned char digest[32];
  uint64_t record;
} header;

struct faro_journal {
  FILE *file;
  char *path;
  size_t values, record;
  unsigned char *buffer; /* one record */
};

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
static faro_journal *create(const char *path, size_t values, faro_status *status, faro_error *error) {
  faro_journal *made = calloc(1, sizeof *made);
  unsigned char *buffer = NULL;
  if (made) {
    made->values = values;
    made->record = 2 * sizeof(uint32_t) + values * sizeof(double) + crypto_shorthash_BYTES;
    buffer = made->buffer = calloc(1, made->record);
    made->path = strdup(path);
  }
  if (!made || !buffer || !made->path)
    *status = faro_fail(error, FARO_MEMORY, "cannot allocate the journal %s", faro_path_end(path));
  else if (!(made->file = fopen(path, "a+b")))
    *status = faro_fail(error, FARO_SYSTEM, "%s: cannot be opened: %s", faro_path_end(path), strerror(errno));
  else return made;
  faro_journal_close(made);
  return NULL;
}

/* Reads records up to the first that is torn or implausible. Returns the length of the good
 * part. */
static long read_records(faro_journal *journal, bool (*each)(void *, uint32_t, uint32_t, const double *),
                         void *context, double *values) {
  long good = ftell(journal->file);
  while (fread(journal->buffer, journal->record, 1, journal->file) == 1) {
    unsigned char sum[crypto_shorthash_BYTES];
    checksum(journal, sum);
    if (memcmp(sum, journal->buffer + journal->record - sizeof sum, sizeof sum) != 0) break;
    uint32_t id[2];
    memcpy(id, journal->buffer, sizeof id);
    memcpy(values, journal->buffer + sizeof id, journal->values * sizeof *values);
    if (!each(context, id[0], id[1], values)) break;
    good = ftell(journal->file);
  }
  return good;
}

static faro_status write_header(const faro_journal *journal, const unsigned char *digest, faro_error *error) {
  header head = {.record = journal->record};
  memcpy(head.magic, MAGIC, sizeof MAGIC);
  memcpy(head.digest, digest, sizeof head.digest);
  if (ftruncate(fileno(journal->file), 0) != 0 || fwrite(&head, sizeof head, 1, journal->file) != 1 ||
      fflush(journal->file) != 0)
    return faro_fail(error, FARO_SYSTEM, "%s: cannot be written: %s", faro_path_end(journal->path),
                     strerror(errno));
  return FARO_OK;
}

static faro_status load(faro_journal *journal, const unsigned char *digest, bool fresh,
                        bool (*each)(void *, uint32_t, uint32_t, const double *), void *context,
                        faro_error *error) {
  if (flock(fileno(journal->file), LOCK_EX | LOCK_NB) != 0)
    return faro_fail(error, FARO_SYSTEM, "%s: another run is writing there", faro_path_end(journal->path));
  struct stat ours;
  struct stat there;
  if (fstat(fileno(journal->file), &ours) != 0 || stat(journal->path, &there) != 0 ||
      ours.st_ino != there.st_ino)
    return faro_fail(error, FARO_SYSTEM, "%s: another run has just ended there; try again",
                     faro_path_end(journal->path));
  header head;
  rewind(journal->file);
  if (fresh || fread(&head, sizeof head, 1, journal->file) != 1) /* new or torn */
    return write_header(journal, digest, error);
  if (memcmp(head.magic, MAGIC, sizeof MAGIC) != 0 || memcmp(head.digest, digest, sizeof head.digest) != 0 ||
      head.record != journal->record)
    return faro_fail(error, FARO_INVALID,
                     "%s: this is the unfinished run of another experiment or of another version of faro; "
                     "use --fresh to discard it, or another --out",
                     faro_path_end(journal->path));
  double *values = calloc(journal->values, sizeof *values);
  if (!values)
    return faro_fail(error, FARO_MEMORY, "cannot allocate memory to read the journal %s", journal->path);
  const long good = read_records(journal, each, context, values);
  free(values);
  if (good < 0 || fseek(journal->file, good, SEEK_SET) != 0 || ftruncate(fileno(journal->file), good) != 0)
    return faro_fail(error, FARO_SYSTEM, "%s: cannot be continued: %s", faro_path_end(journal->path),
                     strerror(errno));
  return FARO_OK;
}

bool faro_journal_suits(const char *path, const unsigned char digest[static 32]) {
  FILE *file = fopen(path, "rb");
  header head;
  if (!file) return errno == ENOENT || errno == ENOTDIR;
  const bool whole = fread(&head, sizeof head, 1, file) == 1;
  fclose(file);
  return !whole || (memcmp(head.magic, MAGIC, sizeof MAGIC) == 0 &&
                    memcmp(head.digest, digest, sizeof head.digest) == 0);
}

faro_status faro_journal_open(faro_journal **journal, const char *path, const unsigned char digest[static 32],
                              size_t values, bool fresh,
                              bool (*each)(void *, uint32_t, uint32_t, const double *), void *context,
                              faro_error *error) {
  faro_status status = FARO_OK;
  faro_journal *made = create(path, values, &status, error);
  if (!made) return status;
  status = load(made, digest, fresh, each, context, error);
  if (status == FARO_OK) *journal = made;
  else faro_journal_close(made);
  return status;
}

faro_status faro_journal_add(faro_journal *journal, uint32_t cell, uint32_t instance, const double *values,
                             faro_error *error) {
  const uint32_t id[2] = {cell, instance};
  memcpy(journal->buffer, id, sizeof id);
  memcpy(journal->buffer + sizeof id, values, journal->values * sizeof *values);
  unsigned char sum[crypto_shorthash_BYTES];
  checksum(journal, sum);
  memcpy(journal->buffer + journal->record - sizeof sum, sum, sizeof sum);
  if (fwrite(journal->buffer, journal->record, 1, journal->file) != 1 || fflush(journal->file) != 0)
    return faro_fail(error, FARO_SYSTEM, "%s: cannot be written: %s", faro_path_end(journal->path),
                     strerror(errno));
  return FARO_OK;
}

bool faro_journal_fits(const char *path, const unsigned char digest[static 32]) {
  FILE *file = fopen(path, "rb");
  header head;
  const bool read = file && fread(&head, sizeof head, 1, file) == 1;
  if (file) fclose(file);
  return read && memcmp(head.magic, MAGIC, sizeof MAGIC) == 0 &&
         memcmp(head.digest, digest, sizeof head.digest) == 0;
}
