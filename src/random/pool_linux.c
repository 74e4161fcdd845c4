/* pool_linux: the memory of a secure stream, in pages of its own, which the kernel zeroes in a
 * forked child (WIPEONFORK) and leaves out of core dumps. Nothing else is needed to notice the
 * fork. */
#include <sys/mman.h>

#include "random/stream_inner.h"

faro_pool *faro_pool_create(faro_error *error) {
  const size_t size = sizeof(faro_pool);
  void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) {
    (void)faro_fail(error, FARO_MEMORY, "cannot map a secure stream");
    return NULL;
  }
  if (madvise(pages, size, MADV_WIPEONFORK) == 0 && madvise(pages, size, MADV_DONTDUMP) == 0) return pages;
  munmap(pages, size);
  (void)faro_fail(error, FARO_SYSTEM,
                  "this kernel cannot wipe memory on fork; Linux 4.14 or later is required");
  return NULL;
}

void faro_pool_destroy(faro_pool *pool) {
  sodium_memzero(pool, sizeof *pool);
  munmap(pool, sizeof *pool);
}
