/* shuffler_check: see the header. */
#include "service/shuffler/shuffler_check.h"

#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "service/http/sender.h"
#include "service/shuffler/campaign_file.h"
#include "service/state/spool.h"
#include "wire/split.h"

/* The campaign has the adder's keys; its address is between the shuffler and the adder. */
static faro_status check_adder(const faro_campaign *campaign, const faro_shuffler_settings *settings,
                               faro_error *error) {
  const bool split = faro_campaign_is_split(campaign);
  if (split == (*settings->adder != '\0')) return FARO_OK;
  if (split)
    return faro_fail(error, FARO_INVALID,
                     "adder is required: campaign %s splits counts; give the adder's URL", campaign->id);
  return faro_fail(error, FARO_INVALID,
                   "adder must not be set: campaign %s does not split counts (got %.100s)", campaign->id,
                   settings->adder);
}

/* A joiner's batches must be large enough for its collectors, and a collector's too. */
static faro_status check_portions(const faro_campaign *campaign, const faro_shuffler_settings *settings,
                                  size_t index, faro_error *error) {
  const size_t collectors = faro_shuffler_part(settings).collectors;
  return collectors > 0 ? faro_portions_check(campaign, index, collectors, error) : FARO_OK;
}

faro_status faro_shuffler_find(const faro_campaign *campaign, const faro_sign_key *key,
                               const faro_shuffler_settings *settings, size_t *index, faro_error *error) {
  const bool collects = faro_shuffler_is_collector(settings);
  const unsigned char *own = collects ? settings->part.joiner_key : key->public_key;
  for (size_t i = 0; i < campaign->shufflers; i++)
    if (memcmp(campaign->shuffler[i].key, own, FARO_KEY_BYTES) == 0) {
      *index = i;
      faro_status status = check_portions(campaign, settings, i, error);
      return status == FARO_OK ? check_adder(campaign, settings, error) : status;
    }
  if (collects)
    return faro_fail(error, FARO_INVALID,
                     "collector.joiner-key: no shuffler of campaign %s has this key; it must be that of the "
                     "joiner, as `faro client --show` prints it",
                     campaign->id);
  return faro_fail(error, FARO_INVALID,
                   "%s: no shuffler of campaign %s has this key (if it is a new one, the analyzer must have "
                   "signed a move to it, and must answer at the first start with it)",
                   settings->key, campaign->id);
}

faro_status faro_shuffler_check_paths(const faro_shuffler_settings *settings, faro_error *error) {
  faro_status status = faro_check_folder("state", settings->state, error);
  if (status == FARO_OK) status = faro_spool_recognize(settings->state, error);
  if (status == FARO_OK && access(settings->campaign, F_OK) != 0)
    status = faro_check_folder("campaign", settings->campaign, error);
  return status;
}

static bool is_empty(const char *path) {
  struct stat info;
  return stat(path, &info) != 0 || info.st_size == 0;
}

faro_status faro_shuffler_check_state(const faro_shuffler_settings *settings, faro_error *error) {
  if (access(settings->campaign, F_OK) != 0 || !is_empty(settings->state)) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "state %s is missing, but %s shows that this shuffler has collected for the campaign: the "
                   "open batch and what each client has sent are lost, and clients would be counted again. "
                   "Put the state back if it was moved; otherwise end the campaign, delete the second file "
                   "and join a new one",
                   faro_path_end(settings->state), faro_path_end(settings->campaign));
}

/* If the campaign was fetched before: that this shuffler is in it, and that the state is this
 * shuffler's. */
static faro_status check_kept(const faro_shuffler_settings *settings, faro_error *error) {
  faro_campaign campaign;
  faro_sign_key key;
  faro_place *place = NULL;
  unsigned char founder[FARO_KEY_BYTES];
  size_t index = 0;
  const faro_spool_part part = faro_shuffler_part(settings);
  if (access(settings->campaign, F_OK) != 0) return FARO_OK;
  faro_status status = faro_sign_key_load(settings->key, &key, error);
  if (status == FARO_OK) status = faro_place_create(&place, settings, error);
  if (status == FARO_OK) faro_place_founder(place, founder);
  if (status == FARO_OK) status = faro_campaign_file_load(&campaign, settings->campaign, founder, error);
  if (status == FARO_OK) status = faro_place_apply(place, &campaign, error);
  if (status == FARO_OK) status = faro_shuffler_find(&campaign, &key, settings, &index, error);
  if (status == FARO_OK) status = faro_shuffler_check_state(settings, error);
  if (status == FARO_OK) status = faro_spool_check(settings->state, &campaign, index, &part, error);
  faro_place_destroy(place);
  sodium_memzero(&key, sizeof key);
  return status;
}

faro_status faro_shuffler_check(const faro_shuffler_settings *settings, faro_error *error) {
  faro_status status = faro_shuffler_check_paths(settings, error);
  if (status == FARO_OK) status = check_kept(settings, error);
  if (status == FARO_OK && *settings->authority) status = faro_authority_check(settings->authority, error);
  return status;
}
