/* file: reads and writes whole files. What was written survives a power cut. */
#ifndef FARO_BASE_FILE_H
#define FARO_BASE_FILE_H

#include <faro/base.h>

/* Reads a file (or a pipe) of at most `limit` bytes; the caller frees *text. FARO_INVALID if it
 * cannot be read or is larger. */
faro_status faro_read_file(const char *path, size_t limit, char **text, size_t *length,
                           faro_error *error) FARO_WARN_UNUSED;

/* Replaces a file as a whole: writes PATH.new, flushes it, renames it, flushes the folder. A reader
 * finds the old file or the new one, never half of one. A mode of 0600 holds even if PATH.new was
 * left over with another. */
faro_status faro_write_file(const char *path, const void *bytes, size_t length, unsigned mode,
                            faro_error *error) FARO_WARN_UNUSED;

/* Writes all bytes to an open file. false: errno says why. */
bool faro_write_all(int file, const void *bytes, size_t length);

/* Flushes the folder of `path`: only then will a new file be found there after a power cut. false:
 * errno says why. */
bool faro_flush_folder(const char *path) FARO_WARN_UNUSED;

/* Whether a file can be created at `path`: its folder exists and may be written to. `name` is the
 * setting's name, for the message. */
faro_status faro_check_folder(const char *name, const char *path, faro_error *error) FARO_WARN_UNUSED;

#endif
