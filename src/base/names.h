/* names: turns an X-macro list of (id, text, ...) into an array of its texts. */
#ifndef FARO_BASE_NAMES_H
#define FARO_BASE_NAMES_H

#define FARO_NAME_TEXT(id, text, ...) text,

/* static const char *const names[] = FARO_NAMES(FARO_LEVEL_LIST); */
#define FARO_NAMES(list)                                                                                     \
  { list(FARO_NAME_TEXT) }

#endif
