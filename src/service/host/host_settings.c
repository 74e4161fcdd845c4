/* host_settings: see the header. */
#include "service/host/host_settings.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "service/http/listen.h"
#include "service/role/admin.h"
#include "yaml/yaml.h"

enum { SETTINGS_MAX = 256 << 10 };

static const faro_field fields[] = {
    FARO_HTTP_FIELDS(faro_host_settings),
    {"url", FARO_FIELD_TEXT, FARO_AT(faro_host_settings, url), .required = true,
     .help = "the address in front of the names of campaigns"},
    {"campaigns", FARO_FIELD_TEXT, FARO_AT(faro_host_settings, campaigns), .required = true,
     .help = "the folder with a file for each campaign"},
};

/* A url ends without a slash: paths begin with one. */
static faro_status check(faro_host_settings *s, faro_error *error) {
  size_t length = strlen(s->url);
  while (length > 0 && s->url[length - 1] == '/') s->url[--length] = '\0';
  if (*s->campaigns == '\0') return faro_fail(error, FARO_INVALID, "campaigns must name a folder");
  faro_status status = faro_url_check("url", s->url, s->http.insecure, error);
  if (status == FARO_OK) status = faro_http_check(&s->http, error);
  return status == FARO_OK ? faro_admin_check(&s->http, error) : status;
}

static faro_status load_many(faro_host_settings *s, const char *path, const char *text, size_t length,
                             faro_error *error) {
  faro_error inner = {0};
  faro_status status = faro_yaml_read(path, text, length, fields, sizeof fields / sizeof *fields, s, error);
  if (status != FARO_OK) return status;
  status = check(s, &inner);
  if (status != FARO_OK) faro_fail(error, status, "%s: %.300s", faro_path_end(path), inner.message);
  return status;
}

static faro_status load_one(faro_host_settings *s, const char *path, faro_error *error) {
  const faro_status status = faro_analyzer_settings_load(&s->one, path, error);
  s->http = s->one.http;
  return status;
}

faro_status faro_host_settings_load(faro_host_settings *settings, const char *path, faro_error *error) {
  faro_tree tree = {0};
  char *text = NULL;
  size_t length = 0;
  memset(settings, 0, sizeof *settings);
  snprintf(settings->file, sizeof settings->file, "%s", faro_path_end(path));
  faro_status status = faro_read_file(path, SETTINGS_MAX, &text, &length, error);
  if (status == FARO_OK) status = faro_yaml_parse(&tree, path, true, text, length, error);
  const bool many = status == FARO_OK && faro_tree_member(&tree, 0, "campaigns") != 0;
  if (many && faro_tree_member(&tree, 0, "standby") != 0)
    status = faro_fail(error, FARO_INVALID,
                       "%s: standby is for an analyzer with one campaign, not for a folder of campaigns",
                       settings->file);
  faro_tree_clear(&tree);
  if (status == FARO_OK)
    status = many ? load_many(settings, path, text, length, error) : load_one(settings, path, error);
  free(text);
  return status;
}

/* Names and files. */

faro_status faro_host_name_check(const char *name, faro_error *error) {
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
  static const char *const taken[] = {"v1", "healthz", "readyz", "metrics"};
  const size_t length = strlen(name);
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
    if (strcmp(name, taken[i]) == 0)
      return faro_fail(error, FARO_INVALID,
                       "a campaign must not be named %s: the analyzer itself has that path", name);
  if (length >= 1 && length <= FARO_ID_MAX && strspn(name, allowed) == length && *name != '-') return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "the name of a campaign must be 1 .. %d lower-case letters, digits, or -, which does not "
                   "come first (got %.80s)",
                   FARO_ID_MAX, name);
}

static int compare_names(const void *a, const void *b) { return strcmp(a, b); }

/* Takes the name of a file; false: it is not a campaign's. */
static bool name_of(const char *file, char *name, size_t size) {
  const size_t length = strlen(file);
  if (*file == '.' || length <= 5 || strcmp(file + length - 5, ".yaml") != 0) return false;
  snprintf(name, size, "%.*s", (int)(length - 5), file);
  return true;
}

faro_status faro_host_names_read(const faro_host_settings *s, faro_host_names *names, faro_error *error) {
  DIR *folder = opendir(s->campaigns);
  faro_status status = FARO_OK;
  names->count = 0;
  if (!folder)
    return faro_fail(error, FARO_INVALID, "%s: campaigns: %s cannot be read: %s", s->file,
                     faro_path_end(s->campaigns), strerror(errno));
  for (const struct dirent *entry = readdir(folder); status == FARO_OK && entry; entry = readdir(folder)) {
    char name[FARO_ID_MAX + 2]; /* one byte more, to recognize longer names */
    if (!name_of(entry->d_name, name, sizeof name)) continue;
    status = faro_host_name_check(name, error);
    if (status == FARO_OK && names->count == FARO_CAMPAIGNS_MAX)
      status = faro_fail(error, FARO_INVALID, "%s: campaigns: %s has more than %d campaigns", s->file,
                         faro_path_end(s->campaigns), FARO_CAMPAIGNS_MAX);
    if (status == FARO_OK) memcpy(names->name[names->count++], name, strlen(name) + 1);
  }
  closedir(folder);
  qsort(names->name, names->count, sizeof names->name[0], compare_names);
  return status;
}

faro_status faro_host_campaign_load(const faro_host_settings *s, const char *name,
                                    faro_analyzer_settings *campaign, faro_error *error) {
  char path[FARO_PATH_SIZE + FARO_ID_MAX + 8];
  char url[sizeof s->url + FARO_ID_MAX + 2];
  snprintf(path, sizeof path, "%s/%s.yaml", s->campaigns, name);
  if (snprintf(url, sizeof url, "%s/%s", s->url, name) > FARO_URL_MAX)
    return faro_fail(error, FARO_INVALID, "%s: url is too long with %s behind it", s->file, name);
  return faro_analyzer_settings_load_in(campaign, path, &s->http, url, error);
}

static faro_status choose_one(const faro_host_settings *s, const char *name, faro_analyzer_settings *campaign,
                              faro_error *error) {
  const bool many = *s->campaigns != '\0';
  if (many && !name)
    return faro_fail(error, FARO_INVALID, "--campaign NAME is required: %s serves a folder of campaigns",
                     s->file);
  if (!many && name)
    return faro_fail(error, FARO_INVALID, "--campaign is for a folder of campaigns, and %s has one campaign",
                     s->file);
  if (!many) *campaign = s->one;
  if (!many) return FARO_OK;
  const faro_status status = faro_host_name_check(name, error);
  return status == FARO_OK ? faro_host_campaign_load(s, name, campaign, error) : status;
}

faro_status faro_host_one_load(const char *path, const char *name, faro_analyzer_settings *campaign,
                               faro_error *error) {
  faro_host_settings *s = malloc(sizeof *s);
  if (!s) return faro_fail(error, FARO_MEMORY, "cannot allocate the settings");
  faro_status status = faro_host_settings_load(s, path, error);
  if (status == FARO_OK) status = choose_one(s, name, campaign, error);
  free(s);
  return status;
}
