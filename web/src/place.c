/* place: what a page has in the place of a disk and of a kernel. The page gives the bytes of a
 * client's state when it opens a client, and takes the new ones after each call; faro.mjs writes
 * them to the browser's storage before anything is sent, under a lock over all tabs. A module
 * neither forks nor dumps core, so plain memory does for random numbers. */
#include <sodium.h>
#include <stdlib.h>

#include "client/queue_inner.h"
#include "place.h"
#include "random/stream_inner.h"

static struct {
  const unsigned char *kept;
  size_t kept_length;
  unsigned char *stored;
  size_t stored_length;
} place;

void place_give(const unsigned char *bytes, size_t length) {
  place.kept = bytes;
  place.kept_length = length;
}

const unsigned char *place_stored(size_t *length) {
  *length = place.stored_length;
  return place.stored;
}

void place_forget(void) {
  if (place.stored) sodium_memzero(place.stored, place.stored_length);
  free(place.stored);
  place.stored = NULL;
  place.stored_length = 0;
}

faro_status faro_queue_lock(faro_queue *queue, faro_error *error) {
  (void)queue, (void)error;
  return FARO_OK; /* the page has it */
}

void faro_queue_unlock(faro_queue *queue) { (void)queue; }

faro_status faro_queue_load(faro_queue *queue, faro_error *error) {
  bool memory = false;
  if (place.kept_length == 0 || faro_queue_read(queue, place.kept, place.kept_length, &memory))
    return FARO_OK;
  if (memory) return faro_fail(error, FARO_MEMORY, "out of memory");
  return faro_fail(error, FARO_INVALID, "%s is not the state of a client, or is damaged", queue->path);
}

faro_status faro_queue_store(const faro_queue *queue, faro_error *error) {
  size_t length = 0;
  unsigned char *bytes = faro_queue_write(queue, &length);
  if (!bytes) return faro_fail(error, FARO_MEMORY, "out of memory");
  place_forget();
  place.stored = bytes;
  place.stored_length = length;
  return FARO_OK;
}

faro_pool *faro_pool_create(faro_error *error) {
  faro_pool *pool = calloc(1, sizeof *pool);
  if (!pool) (void)faro_fail(error, FARO_MEMORY, "cannot open a secure stream");
  return pool;
}

void faro_pool_destroy(faro_pool *pool) {
  sodium_memzero(pool, sizeof *pool);
  free(pool);
}
