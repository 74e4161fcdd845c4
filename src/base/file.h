/* file: whole files in memory; and new ones that stay. */
#ifndef FARO_BASE_FILE_H
#define FARO_BASE_FILE_H

#include <faro/base.h>

/* Reads a file (or a pipe) of at most `limit` bytes; the caller frees *text. What cannot be read, or is larger, is
 * FARO_INVALID. */
faro_status faro_read_file(const char *path, size_t limit, char **text, size_t *length,
                           faro_error *error) FARO_WARN_UNUSED;

/* Puts the folder that `path` is in on the disk: a new file, flushed itself, is found there after a power cut only then. false:
 * errno says why. */
bool faro_flush_folder(const char *path) FARO_WARN_UNUSED;

#endif
