/* source: a file as lines, in one buffer. A line is found with memchr, and is never copied except
 * when the buffer is filled again. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "data/inner.h"
#include "data/standard.h"

faro_status faro_source_open(faro_source_file *s, const char *path, faro_arena *arena, faro_error *error) {
  struct stat about;
  *s = (faro_source_file){.path = path, .file = -1, .lines = 1};
  s->buffer = faro_arena_alloc(arena, FARO_SOURCE_SIZE, 1, error);
  if (!s->buffer) return FARO_MEMORY;
  s->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* opening a pipe must not wait */
  char hint[FARO_STANDARD_HINT];
  if (s->file < 0)
    return faro_fail(error, FARO_INVALID, "%s: cannot be read: %s%s", faro_path_end(path), strerror(errno),
                     faro_standard_hint(path, hint));
  if (fstat(s->file, &about) == 0 && S_ISREG(about.st_mode)) return FARO_OK;
  faro_source_close(s);
  return faro_fail(error, FARO_INVALID, "%s: must be a file (it is read more than once)",
                   faro_path_end(path));
}

void faro_source_close(faro_source_file *s) {
  if (s->file >= 0 && s->buffer) close(s->file);
  s->file = -1;
}

void faro_source_seek(faro_source_file *s, uint64_t offset, uint64_t line) {
  s->at = s->filled = 0;
  s->offset = offset;
  s->ended = false;
  s->line = line - 1;
  s->lines = 1;
}

/* What the beginning of a file that is not text looks like. */
static const char *binary_kind(const faro_source_file *s) {
  static const struct {
    const char *head;
    size_t length;
    const char *what;
  } kinds[] = {{"\x1f\x8b", 2, "it is compressed by gzip: unpack it first"},
               {"BZh", 3, "it is compressed by bzip2: unpack it first"},
               {"\xfd"
                "7zXZ",
                5, "it is compressed by xz: unpack it first"},
               {"\x28\xb5\x2f\xfd", 4, "it is compressed by zstd: unpack it first"},
               {"PK\x03\x04", 4, "it is a zip archive or a spreadsheet: export it as CSV"},
               {"\xff\xfe", 2, "it is UTF-16: convert it to UTF-8"},
               {"\xfe\xff", 2, "it is UTF-16: convert it to UTF-8"},
               {"PAR1", 4, "it is Parquet: export it as CSV"}};
  for (size_t i = 0; s->offset == 0 && i < sizeof kinds / sizeof *kinds; i++)
    if (s->filled >= kinds[i].length && memcmp(s->buffer, kinds[i].head, kinds[i].length) == 0)
      return kinds[i].what;
  return NULL;
}

/* Lines up to this byte of the buffer, for a message. */
static uint64_t line_at(const faro_source_file *s, const char *byte) {
  uint64_t line = s->line + s->lines;
  for (const char *at = s->buffer + s->at; at < byte; at++) line += *at == '\n';
  return line;
}

/* Checks bytes that have just come. */
static faro_status check(faro_source_file *s, size_t from, faro_error *error) {
  const char *what = from == 0 ? binary_kind(s) : NULL;
  const char *zero = memchr(s->buffer + from, '\0', s->filled - from);
  if (what) return faro_fail(error, FARO_INVALID, "%s: must be text: %s", faro_path_end(s->path), what);
  if (!zero) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "%s:%llu: must be text (got a zero byte)", faro_path_end(s->path),
                   (unsigned long long)line_at(s, zero));
}

/* Reads one more block, after what is left of the last one. */
static faro_status fill(faro_source_file *s, faro_error *error) {
  memmove(s->buffer, s->buffer + s->at, s->filled - s->at);
  s->offset += s->at;
  s->filled -= s->at;
  s->at = 0;
  const size_t from = s->filled;
  size_t room = FARO_SOURCE_SIZE - from;
  if (room > FARO_SOURCE_BLOCK) room = FARO_SOURCE_BLOCK;
  ssize_t got = 0;
  do got = pread(s->file, s->buffer + from, room, (off_t)(s->offset + from));
  while (got < 0 && errno == EINTR);
  if (got < 0)
    return faro_fail(error, FARO_SYSTEM, "%s: cannot be read: %s", faro_path_end(s->path), strerror(errno));
  if (got == 0) s->ended = true;
  s->filled += (size_t)got;
  if (s->hash) crypto_generichash_update(s->hash, (const unsigned char *)s->buffer + from, (size_t)got);
  return check(s, from, error);
}

/* Whether a quote is open after the text; `odd`: one is open before it. */
static bool is_open(const char *at, const char *end, bool odd) {
  while ((at = memchr(at, '"', (size_t)(end - at)))) {
    odd = !odd;
    at++;
  }
  return odd;
}

static void take(faro_source_file *s, size_t length, size_t end, uint64_t inner, faro_span *line) {
  *line = (faro_span){s->buffer + s->at, length};
  s->start = s->offset + s->at;
  s->line += s->lines;
  s->lines = inner + 1;
  s->at += length + end;
  if (line->length > 0 && line->text[line->length - 1] == '\r') line->length--;
}

faro_status faro_source_line(faro_source_file *s, bool quotes, faro_span *line, faro_error *error) {
  size_t searched = 0;
  bool odd = false; /* an open quote before `searched` */
  uint64_t inner = 0;
  for (;;) {
    const char *start = s->buffer + s->at;
    const size_t left = s->filled - s->at;
    const char *end = left > searched ? memchr(start + searched, '\n', left - searched) : NULL;
    const char *until = end ? end : start + left;
    if (quotes) odd = is_open(start + searched, until, odd);
    searched = (size_t)(until - start);
    if (searched > FARO_ROWS_LINE_MAX)
      return faro_fail(error, FARO_INVALID, "%s:%llu: a row must have at most %d bytes%s",
                       faro_path_end(s->path), (unsigned long long)(s->line + s->lines), FARO_ROWS_LINE_MAX,
                       odd ? "; a quote is open: is its end missing?" : "");
    if (end && !odd) {
      take(s, searched, 1, inner, line);
      return FARO_OK;
    }
    if (end) { /* a line end between quotes */
      searched++;
      inner++;
    } else if (s->ended) break;
    else {
      const faro_status status = fill(s, error);
      if (status != FARO_OK) return status;
    }
  }
  if (odd)
    return faro_fail(error, FARO_INVALID,
                     "%s:%llu: a quote is open at the end of the file: \" must be closed, and a \" in a "
                     "field be written as \"\"",
                     faro_path_end(s->path), (unsigned long long)(s->line + s->lines));
  if (searched > 0) take(s, searched, 0, inner, line);
  else *line = (faro_span){0};
  return FARO_OK;
}
