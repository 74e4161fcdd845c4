/* patterns: a set of 8-byte patterns, to search traffic and files for secrets. */
#ifndef FARO_TRIAL_PATTERNS_H
#define FARO_TRIAL_PATTERNS_H

#include <faro/base.h>

typedef struct faro_patterns faro_patterns;
faro_status faro_patterns_create(faro_patterns **patterns, size_t most, faro_error *error) FARO_WARN_UNUSED;
void faro_patterns_destroy(faro_patterns *patterns);

/* Adds 8 bytes. Ignored beyond `most` patterns, and if fewer than four of the bytes are not zero:
 * such a pattern would be found by chance. */
void faro_patterns_add(faro_patterns *patterns, const void *bytes);
/* Adds a number as a program would send it: IEEE in both byte orders, and the first digits of its
 * text. */
void faro_patterns_add_real(faro_patterns *patterns, double value);
size_t faro_patterns_count(const faro_patterns *patterns);

/* How often any pattern occurs in the bytes, at any offset, as it is or in hexadecimal digits. */
size_t faro_patterns_find(const faro_patterns *patterns, const unsigned char *bytes, size_t length);
/* The same for a file; 0 if there is no such file. A pattern across two chunks of the file may
 * count twice. */
faro_status faro_patterns_find_file(const faro_patterns *patterns, const char *path, size_t *found,
                                    faro_error *error) FARO_WARN_UNUSED;

#endif
