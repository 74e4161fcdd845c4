/* adder_check: what can be checked before an adder starts. */
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "service/adder/adder_inner.h"
#include "service/http/sender.h"
#include "service/shuffler/campaign_file.h"

faro_status faro_adder_find(const faro_campaign *campaign, const faro_adder_keys *keys, const char *file,
                            size_t *index, faro_error *error) {
  for (size_t i = 0; i < campaign->adders; i++) {
    if (memcmp(campaign->adder[i].key, keys->sign.public_key, FARO_KEY_BYTES) != 0) continue;
    *index = i;
    if (memcmp(campaign->adder[i].seal, keys->seal.public_key, FARO_KEY_BYTES) == 0) return FARO_OK;
    return faro_fail(error, FARO_INVALID, "seal is not the sealing key of adder %zu in campaign %s", i,
                     campaign->id);
  }
  return faro_fail(error, FARO_INVALID, "%s: no adder of campaign %s has this key%s", file, campaign->id,
                   campaign->adders == 0 ? "; its counts are not split" : "");
}

faro_status faro_adder_keys_load(const faro_adder_settings *settings, faro_adder_keys *keys,
                                 faro_error *error) {
  const faro_status status = faro_sign_key_load(settings->common.key, &keys->sign, error);
  return status == FARO_OK ? faro_seal_key_load(settings->seal, &keys->seal, error) : status;
}

static bool is_empty(const char *path) {
  struct stat info;
  return stat(path, &info) != 0 || info.st_size == 0;
}

faro_status faro_adder_check_paths(const faro_adder_settings *settings, faro_error *error) {
  const faro_shuffler_settings *common = &settings->common;
  const bool joined = access(common->campaign, F_OK) == 0;
  faro_status status = faro_check_folder("state", common->state, error);
  if (status == FARO_OK) status = faro_adder_state_recognize(common->state, error);
  if (status == FARO_OK && !joined) status = faro_check_folder("campaign", common->campaign, error);
  if (status != FARO_OK || !joined || !is_empty(common->state)) return status;
  return faro_fail(
      error, FARO_INVALID,
      "state %s is missing, but %s shows that this adder has added for the campaign: shares could "
      "be added again. Put the state back if it was moved; otherwise end the campaign, delete "
      "the second file and join a new one",
      faro_path_end(common->state), faro_path_end(common->campaign));
}

/* If the campaign was fetched before: that this adder is in it, and that the state is this
 * adder's. */
static faro_status check_kept(const faro_adder_settings *settings, faro_error *error) {
  const faro_shuffler_settings *common = &settings->common;
  faro_campaign campaign;
  faro_adder_keys keys;
  faro_place *place = NULL;
  unsigned char founder[FARO_KEY_BYTES];
  size_t index = 0;
  if (access(common->campaign, F_OK) != 0) return FARO_OK;
  faro_status status = faro_adder_keys_load(settings, &keys, error);
  if (status == FARO_OK) status = faro_place_create(&place, common, error);
  if (status == FARO_OK) faro_place_founder(place, founder);
  if (status == FARO_OK) status = faro_campaign_file_load(&campaign, common->campaign, founder, error);
  if (status == FARO_OK) status = faro_adder_find(&campaign, &keys, common->key, &index, error);
  if (status == FARO_OK) status = faro_adder_state_check(common->state, &campaign, index, error);
  faro_place_destroy(place);
  sodium_memzero(&keys, sizeof keys);
  return status;
}

faro_status faro_adder_check(const faro_adder_settings *settings, faro_error *error) {
  faro_status status = faro_adder_check_paths(settings, error);
  if (status == FARO_OK) status = check_kept(settings, error);
  if (status == FARO_OK && *settings->common.authority)
    status = faro_authority_check(settings->common.authority, error);
  return status;
}
