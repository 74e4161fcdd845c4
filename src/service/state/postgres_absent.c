/* postgres_absent: in place of spool_postgres in a build without libpq. */
#include "service/state/spool_inner.h"

static faro_status absent(faro_error *error) {
  return faro_fail(error, FARO_INVALID,
                   "database: this faro was built without PostgreSQL; build it where libpq-dev is installed, "
                   "or leave the setting out");
}

static faro_status open_absent(faro_spool *spool, const faro_spool_params *params, faro_error *error) {
  (void)spool;
  (void)params;
  return absent(error);
}

faro_status faro_spool_there(const faro_spool_params *params, bool *there, faro_error *error) {
  (void)params;
  *there = false;
  return absent(error);
}

const faro_spool_kind faro_spool_postgres = {.open = open_absent};

faro_status faro_spool_database_check(const char *database, faro_error *error) {
  (void)database;
  return absent(error);
}
