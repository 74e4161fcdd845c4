/* client_place: see the header. */
#include "service/client/client_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

static void set_address(faro_client_place *place, const char *address) {
  snprintf(place->address, sizeof place->address, "%s", address);
}

static faro_status load(faro_client_place *place, faro_client *client, faro_error *error) {
  char *text = NULL;
  size_t length = 0;
  faro_error inner = {0};
  if (*place->file == '\0' || access(place->file, F_OK) != 0) return FARO_OK;
  faro_status status = faro_read_file(place->file, FARO_DOCUMENT_MAX, &text, &length, error);
  if (status != FARO_OK) return status;
  status = faro_client_move(client, text, length, &inner);
  free(text);
  if (status != FARO_OK)
    return faro_fail(error, status, "%s: %.300s", faro_path_end(place->file), inner.message);
  set_address(place, faro_client_analyzer(client));
  return FARO_OK;
}

faro_status faro_client_place_open(faro_client_place *place, faro_client *client, const char *analyzer,
                                   const char *state, bool keep, faro_error *error) {
  *place = (faro_client_place){.keep = keep && *state};
  snprintf(place->first, sizeof place->first, "%s", analyzer);
  if (*state) snprintf(place->file, sizeof place->file, "%s.move", state);
  set_address(place, analyzer);
  return load(place, client, error);
}

/* Asks at one address. An analyzer without moves, or of an earlier version, answers 404. */
static faro_status ask(faro_client_place *place, const char *address, bool patient, faro_client *client,
                       faro_sender *sender, faro_error *error) {
  faro_sent sent = {0};
  const uint64_t before = faro_client_moved(client);
  faro_status status = faro_client_fetch_move(client, sender, address, patient, &sent, error);
  const bool fresh = status == FARO_OK && faro_client_moved(client) > before;
  if (fresh && place->keep) status = faro_write_file(place->file, sent.bytes, sent.length, 0600, error);
  if (status == FARO_OK || status == FARO_OLD) set_address(place, address); /* it answers now */
  return status;
}

faro_status faro_client_place_look(faro_client_place *place, faro_client *client, faro_sender *sender,
                                   faro_error *error) {
  const bool two = faro_client_moved(client) > 0 && strcmp(faro_client_analyzer(client), place->first) != 0;
  char there[FARO_URL_MAX + 1];
  faro_error why = {0};
  snprintf(there, sizeof there, "%s", two ? faro_client_analyzer(client) : place->first);
  faro_status status = ask(place, there, !two, client, sender, &why);
  if (status == FARO_SYSTEM && two) {
    why = (faro_error){0};
    status = ask(place, place->first, true, client, sender, &why);
  }
  if (status == FARO_OLD) status = FARO_OK; /* an analyzer that is behind; the client knows better */
  return status == FARO_OK ? FARO_OK : faro_fail(error, status, "%s", why.message);
}
