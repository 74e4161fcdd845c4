/* store_postgres_absent: in place of store_postgres in a build without libpq. */
#include "service/analyzer/store_inner.h"
#include "service/state/spool.h"

faro_status faro_store_postgres_open(faro_store *store, const char *url, faro_access mode,
                                     faro_error *error) {
  (void)store;
  (void)mode;
  return faro_spool_database_check(url, error);
}

faro_status faro_store_postgres_there(const char *url, bool *there, faro_error *error) {
  *there = false;
  return faro_spool_database_check(url, error);
}

/* No store of this kind can be open. */

faro_status faro_store_postgres_follow(faro_store *store, bool *unheld, faro_error *error) {
  (void)store;
  *unheld = false;
  return faro_spool_database_check("", error);
}

faro_status faro_store_postgres_keep(faro_store *store, const char *path, const faro_campaign *campaign,
                                     faro_error *error) {
  (void)store;
  (void)path;
  (void)campaign;
  return faro_spool_database_check("", error);
}

void faro_store_postgres_drop_keys(faro_store *store) { (void)store; }

bool faro_store_postgres_replaced(const faro_store *store) {
  (void)store;
  return false;
}
