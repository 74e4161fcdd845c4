/* database_server: see the header. */
#include "support/database_server.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/file.h"
#include "support/support.h"

int server_command(const char *verb, const char *server) {
  char line[256];
  snprintf(line, sizeof line, "tests/support/postgres %s %s", verb, server);
  const int result = system(line);
  return WIFEXITED(result) ? WEXITSTATUS(result) : -1;
}

void server_query(const char *server, const char *schema, const char *sql) {
  char line[800];
  snprintf(line, sizeof line,
           "PGOPTIONS='-c search_path=%s' psql -q -h %s -U faro postgres -c \"%s\" >/dev/null",
           *schema ? schema : "public", server, sql);
  assert_int_equal(system(line), 0);
}

static struct {
  const char *needle;
  size_t length, hits, files;
} search;

static int look(const char *path, const struct stat *about, int type, struct FTW *where) {
  (void)about;
  (void)where;
  if (type != FTW_F) return 0;
  char *text = NULL;
  size_t length = 0;
  if (faro_read_file(path, 1u << 30, &text, &length, NULL) != FARO_OK) return 0;
  search.files++;
  for (char *at = text; at && (at = memmem(at, length - (size_t)(at - text), search.needle, search.length));
       at++)
    search.hits++;
  free(text);
  return 0;
}

size_t server_traces(const char *folder, const void *needle, size_t length) {
  search.needle = needle;
  search.length = length;
  search.hits = search.files = 0;
  assert_int_equal(nftw(folder, look, 32, FTW_PHYS), 0);
  assert_true(search.files > 100);
  return search.hits;
}
