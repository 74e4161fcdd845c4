/* backup: what faro backup and faro restore share. */
#ifndef FARO_CLI_BACKUP_H
#define FARO_CLI_BACKUP_H

#include "wire/wire.h"

/* The roles whose state can be copied, by index; NULL past the last one. */
const char *cli_backup_role(size_t index);
/* The hash of a copy, as its manifest has it. */
faro_status cli_backup_hash(const char *path, char digits[static 2 * FARO_DIGEST_BYTES + 1],
                            faro_error *error) FARO_WARN_UNUSED;

#endif
