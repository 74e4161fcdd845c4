/* document: see the header. */
#include "service/role/campaign_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "service/role/log.h"
#include "service/role/process.h"

enum { PATH_SIZE = 4096 };

static bool write_flushed(const char *path, const char *bytes, size_t length, mode_t mode) {
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
  if (file < 0) return false;
  bool good = mode != 0600 || fchmod(file, mode) == 0; /* one that was left over may be open to others */
  while (good && length > 0) {
    const ssize_t written = write(file, bytes, length);
    good = written > 0;
    bytes += good ? written : 0;
    length -= good ? (size_t)written : 0;
  }
  good = good && fsync(file) == 0;
  return close(file) == 0 && good;
}

static faro_status put(const char *path, const void *bytes, size_t length, mode_t mode, faro_error *error) {
  char beside[PATH_SIZE];
  if (snprintf(beside, sizeof beside, "%s.new", path) < (int)sizeof beside &&
      write_flushed(beside, bytes, length, mode) && rename(beside, path) == 0 && faro_flush_folder(path))
    return FARO_OK;
  return faro_fail(error, FARO_SYSTEM, "%s: cannot be written: %s", faro_path_end(path), strerror(errno));
}

faro_status faro_file_put(const char *path, const void *bytes, size_t length, faro_error *error) {
  return put(path, bytes, length, 0644, error);
}

faro_status faro_file_put_private(const char *path, const void *bytes, size_t length, faro_error *error) {
  return put(path, bytes, length, 0600, error);
}

faro_status faro_place_check(const char *name, const char *path, faro_error *error) {
  char copy[PATH_SIZE];
  snprintf(copy, sizeof copy, "%s", path);
  const char *folder = dirname(copy);
  if (access(folder, R_OK | W_OK | X_OK) == 0) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "%s cannot be made in %s: %s", name, faro_path_end(folder),
                   strerror(errno));
}

faro_status faro_campaign_kept(faro_campaign *campaign, const char *path,
                               const unsigned char signer[static FARO_KEY_BYTES], faro_error *error) {
  char *text = NULL;
  size_t length = 0;
  faro_error inner = {0};
  faro_status status = faro_read_file(path, FARO_DOCUMENT_MAX, &text, &length, error);
  if (status != FARO_OK) return status;
  status = faro_campaign_open(campaign, text, length, signer, &inner);
  free(text);
  if (status != FARO_OK) faro_fail(error, status, "%s: %.300s", faro_path_end(path), inner.message);
  return status;
}

/* Asks once. What is there and cannot be verified is an end; what is not there yet is asked for again. */
static faro_status ask(faro_campaign *campaign, const char *path, const char *url,
                       const unsigned char signer[static FARO_KEY_BYTES], faro_sender *sender, bool *again,
                       faro_error *error) {
  char whole[FARO_URL_MAX + 32];
  faro_sent sent = {0};
  snprintf(whole, sizeof whole, "%s/v1/campaign", url);
  faro_status status = faro_send_get(sender, whole, &sent, error);
  if (status == FARO_OK && sent.status != 200)
    status = faro_fail(error, FARO_SYSTEM, "%s: answered with status %ld", whole, sent.status);
  *again = status == FARO_SYSTEM;
  if (status == FARO_OK) status = faro_campaign_open(campaign, sent.bytes, sent.length, signer, error);
  return status == FARO_OK ? faro_file_put(path, sent.bytes, sent.length, error) : status;
}

faro_status faro_campaign_obtain(faro_campaign *campaign, const char *path, const char *url,
                                 const unsigned char signer[static FARO_KEY_BYTES], faro_sender *sender,
                                 faro_error *error) {
  if (access(path, F_OK) == 0) return faro_campaign_kept(campaign, path, signer, error);
  faro_backoff backoff = {0};
  for (bool told = false;;) {
    faro_error inner = {0};
    bool again = false;
    const faro_status status = ask(campaign, path, url, signer, sender, &again, &inner);
    if (!again) {
      if (status != FARO_OK) *error = inner;
      return status;
    }
    if (!told) faro_log_error("campaign-awaited", &inner);
    told = true;
    if (faro_process_wait((int)(faro_backoff_next(&backoff) * 1000)))
      return faro_fail(error, FARO_INTERRUPTED, "stopped before the campaign came");
  }
}
