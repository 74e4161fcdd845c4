/* standard: the data sets that `faro data` writes, for messages about files that are missing. */
#ifndef FARO_DATA_STANDARD_H
#define FARO_DATA_STANDARD_H

#include <faro/base.h>

/* Their names; NULL past the last one. */
const char *faro_standard_name(size_t index);

/* "; `faro data NAME` writes it" if the path ends in data/NAME.csv for one of them, else "". */
enum { FARO_STANDARD_HINT = 64 };
const char *faro_standard_hint(const char *path, char out[static FARO_STANDARD_HINT]);

#endif
