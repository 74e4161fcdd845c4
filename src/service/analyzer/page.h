/* page: the dashboard: one HTML file that fetches /v1/status.json and nothing else. */
#ifndef FARO_SERVICE_ANALYZER_PAGE_H
#define FARO_SERVICE_ANALYZER_PAGE_H

#include <faro/base.h>

typedef struct faro_page {
  const char *html;
  size_t length;
  char policy[400]; /* Content-Security-Policy: its own style and script, by hash, and this server */
} faro_page;

void faro_page_make(faro_page *page);

#endif
