/* posix: what wasi-libc lacks and test_vectors.c, or what it uses, calls. A host without modes of
 * files has private ones. */
#ifndef FARO_TESTS_WEB_POSIX_H
#define FARO_TESTS_WEB_POSIX_H

#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

static inline int fchmod(int file, mode_t mode) {
  (void)file, (void)mode;
  return 0;
}

static inline char *mkdtemp(char *pattern) {
  memcpy(pattern + strlen(pattern) - 6, "000000", 6);
  return mkdir(pattern, 0700) == 0 ? pattern : NULL;
}

#endif
