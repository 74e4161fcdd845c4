/* backup: what faro backup and faro restore share. */
#ifndef FARO_CLI_BACKUP_H
#define FARO_CLI_BACKUP_H

#include "wire/wire.h"

/* The roles whose state can be copied, by index; NULL past the last one. */
const char *cli_backup_role(size_t index);
/* Refuses a state that is in a database server; "": it is in a file. */
faro_status cli_backup_file(const char *server, faro_error *error) FARO_WARN_UNUSED;
/* The hash of a copy, as its manifest has it. */
faro_status cli_backup_hash(const char *path, char digits[static 2 * FARO_DIGEST_BYTES + 1],
                            faro_error *error) FARO_WARN_UNUSED;

#endif
