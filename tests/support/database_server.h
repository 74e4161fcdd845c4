/* database_server: a PostgreSQL server of a test (support/postgres), and what is left in its
 * files. */
#ifndef FARO_TESTS_SUPPORT_DATABASE_SERVER_H
#define FARO_TESTS_SUPPORT_DATABASE_SERVER_H

#include <stddef.h>

/* Runs support/postgres; the exit status. `server` is the folder. */
int server_command(const char *verb, const char *server);
/* Runs SQL that must succeed, with a schema to look in ("": none). */
void server_query(const char *server, const char *schema, const char *sql);
/* How often the bytes are in the files under a folder. They must be more than a hundred, so that
 * the folder is that of a server. */
size_t server_traces(const char *folder, const void *needle, size_t length);

#endif
