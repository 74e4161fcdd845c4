/* disk: see the header. */
#include "service/role/disk.h"

#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

static const double STEP = 16 << 20; /* bytes */

void faro_disk_init(faro_disk *disk, faro_metrics *metrics) {
  disk->free = faro_metrics_gauge(metrics, "faro_disk_free_bytes", "",
                                  "Room on the disk of the state, rounded down to 16 MiB.");
  disk->state = faro_metrics_gauge(metrics, "faro_state_bytes", "",
                                   "Size of the state and its log, rounded up to 16 MiB.");
}

static double size_of(const char *path, const char *end) {
  char name[4096];
  struct stat about;
  snprintf(name, sizeof name, "%s%s", path, end);
  return stat(name, &about) == 0 ? (double)about.st_size : 0;
}

void faro_disk_look(const faro_disk *disk, const char *path) {
  struct statvfs about;
  if (statvfs(path, &about) == 0)
    faro_metric_set(disk->free, STEP * floor((double)about.f_bavail * (double)about.f_frsize / STEP));
  faro_metric_set(disk->state, STEP * ceil((size_of(path, "") + size_of(path, "-wal")) / STEP));
}
