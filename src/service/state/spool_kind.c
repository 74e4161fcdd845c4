/* spool_kind: the functions of spool.h that each kind of spool has for itself (spool_inner.h). */
#include "service/state/spool_inner.h"

faro_status faro_spool_begin(faro_spool *spool, faro_error *error) {
  return spool->kind->begin(spool, error);
}

faro_status faro_spool_accept(faro_spool *spool, faro_spool_entry *entry, faro_error *error) {
  return spool->kind->accept(spool, entry, error);
}

faro_status faro_spool_commit(faro_spool *spool, faro_error *error) {
  return spool->kind->commit(spool, error);
}

faro_status faro_spool_follow(faro_spool *spool, const faro_plan_row *row, const char *document,
                              size_t length, faro_error *error) {
  return spool->kind->follow(spool, row, document, length, error);
}

faro_status faro_spool_next(faro_spool *spool, faro_batch *batch, faro_error *error) {
  return spool->kind->next(spool, batch, error);
}

faro_status faro_spool_forget(faro_spool *spool, uint64_t number, faro_error *error) {
  return spool->kind->forget(spool, number, error);
}

faro_status faro_spool_opens(faro_spool *spool, faro_error *error) {
  return spool->kind->opens ? spool->kind->opens(spool, error) : FARO_OK;
}

faro_status faro_spool_probe(faro_spool *spool, faro_error *error) {
  return spool->kind->probe(spool, error);
}
