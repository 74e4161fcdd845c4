/* host_settings: the file that an analyzer is started with. It describes one campaign, or, with
 * `campaigns: FOLDER`, the server of many, each of which has a file of its own in the folder:
 *
 *   FOLDER/NAME.yaml   the campaign at <url>/NAME, with the keys of analyzer_settings.h, but for
 *                      `url` and those of the server */
#ifndef FARO_SERVICE_HOST_HOST_SETTINGS_H
#define FARO_SERVICE_HOST_HOST_SETTINGS_H

#include "service/analyzer/analyzer_settings.h"

enum { FARO_CAMPAIGNS_MAX = 256 };

typedef struct faro_host_settings {
  char file[FARO_PATH_SIZE]; /* name of the YAML file, for messages */
  faro_http_settings http;
  char url[FARO_URL_MAX + 1];
  char campaigns[FARO_PATH_SIZE]; /* the folder; empty: there is one campaign, `one` */
  faro_analyzer_settings one;
} faro_host_settings;

/* Reads the file, certificate and private key, but none of the folder's files. */
faro_status faro_host_settings_load(faro_host_settings *settings, const char *path,
                                    faro_error *error) FARO_WARN_UNUSED;

/* Names of campaigns are parts of addresses, and some addresses are the host's own. */
faro_status faro_host_name_check(const char *name, faro_error *error) FARO_WARN_UNUSED;

/* The names of the files in the folder, sorted. A file whose name is not allowed is refused by
 * name; those that do not end in .yaml are left alone. */
typedef struct faro_host_names {
  size_t count;
  char name[FARO_CAMPAIGNS_MAX][FARO_ID_MAX + 1];
} faro_host_names;
faro_status faro_host_names_read(const faro_host_settings *settings, faro_host_names *names,
                                 faro_error *error) FARO_WARN_UNUSED;

/* Reads the settings of a campaign. */
faro_status faro_host_campaign_load(const faro_host_settings *settings, const char *name,
                                    faro_analyzer_settings *campaign, faro_error *error) FARO_WARN_UNUSED;

/* Reads the settings of one campaign for a command that works on a stopped analyzer: the one of the
 * file, or with `campaigns` the one with this name, which is then required (--campaign). */
faro_status faro_host_one_load(const char *path, const char *name, faro_analyzer_settings *campaign,
                               faro_error *error) FARO_WARN_UNUSED;

#endif
