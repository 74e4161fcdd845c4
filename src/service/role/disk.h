/* disk: gauges of the file that a role keeps its state in, and of the disk under it. They are
 * rounded to 16 MiB: they move with every report that is stored, and must not show a single one. */
#ifndef FARO_SERVICE_ROLE_DISK_H
#define FARO_SERVICE_ROLE_DISK_H

#include "service/http/metrics.h"

typedef struct faro_disk {
  faro_metric *free, *state;
} faro_disk;

void faro_disk_init(faro_disk *disk, faro_metrics *metrics);
/* `path` is the database; its log counts too. */
void faro_disk_look(const faro_disk *disk, const char *path);

#endif
