/* client_place: see the header. */
#include "service/client/client_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "client/client_inner.h"

#define WORD "faro-client-move-1 "

static void set_address(faro_client_place *place, const char *address) {
  snprintf(place->address, sizeof place->address, "%s", address);
}

/* The file: one line with the address of the settings at that time, then the move. Returns the
 * move; NULL if there is none. */
static const char *split(faro_client_place *place, char *text) {
  char *end = strchr(text, '\n');
  if (!end || strncmp(text, WORD, sizeof WORD - 1) != 0) return NULL;
  *end = '\0';
  place->changed = strcmp(text + sizeof WORD - 1, place->first) != 0;
  return end + 1;
}

static faro_status store(faro_client_place *place, const faro_sent *sent, uint64_t number,
                         faro_error *error) {
  faro_text text = FARO_TEXT_INIT;
  faro_text_add(&text, WORD "%s\n%.*s", place->first, (int)sent->length, sent->bytes);
  const faro_status status = text.failed ? faro_fail(error, FARO_MEMORY, "out of memory")
                                         : faro_write_file(place->file, text.data, text.length, 0600, error);
  if (status == FARO_OK) place->stored = number;
  faro_text_clear(&text);
  return status;
}

/* A move of a campaign that this client has left is of no more use; nor is one that it does not
 * accept under new settings. */
static faro_status give_up(faro_client_place *place, faro_status why, const faro_error *inner,
                           faro_error *error) {
  if (why != FARO_FOREIGN && !(place->changed && (why == FARO_INVALID || why == FARO_WEAK)))
    return faro_fail(error, why, "%s: %.300s", faro_path_end(place->file), inner->message);
  place->changed = false;
  if (place->keep) (void)unlink(place->file);
  return FARO_OK;
}

/* The move still says which key signs now. Its address counts only as long as the application has
 * not been given another one. */
static faro_status load(faro_client_place *place, faro_client *client, faro_error *error) {
  char *text = NULL;
  size_t length = 0;
  faro_error inner = {0};
  if (*place->file == '\0' || access(place->file, F_OK) != 0) return FARO_OK;
  faro_status status = faro_read_file(place->file, FARO_DOCUMENT_MAX, &text, &length, error);
  if (status != FARO_OK) return status;
  const char *move = split(place, text);
  status = move ? faro_client_move(client, move, length - (size_t)(move - text), &inner)
                : faro_fail(&inner, FARO_INVALID, "is not a move that a client has kept");
  free(text);
  if (status != FARO_OK) return give_up(place, status, &inner, error);
  place->stored = faro_client_moved(client);
  if (!place->changed) set_address(place, faro_client_analyzer(client));
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

/* Asks at one address. An analyzer without moves, or of an earlier version, answers 404. A move is
 * kept once the client knows that it is of its own campaign. */
static faro_status ask(faro_client_place *place, const char *address, bool patient, faro_client *client,
                       faro_sender *sender, faro_error *error) {
  faro_sent sent = {0};
  faro_status status = faro_client_fetch_move(client, sender, address, patient, &sent, error);
  if (status == FARO_OK && sent.status >= 500 && *place->second) /* a standby that has not taken over */
    status = faro_fail(error, FARO_SYSTEM, "%s answered %ld", address, sent.status);
  const uint64_t number = faro_client_moved(client);
  if (status == FARO_OK && sent.length > 0 && place->keep && faro_client_digest(client) &&
      number > place->stored)
    status = store(place, &sent, number, error);
  if (status == FARO_OK || status == FARO_OLD || status == FARO_FOREIGN)
    set_address(place, address); /* it answers now */
  return status;
}

faro_status faro_client_place_look(faro_client_place *place, faro_client *client, faro_sender *sender,
                                   faro_error *error) {
  const bool two = !place->changed && faro_client_moved(client) > 0 &&
                   strcmp(faro_client_analyzer(client), place->first) != 0;
  char there[FARO_URL_MAX + 1];
  faro_error why = {0};
  snprintf(there, sizeof there, "%s", two ? faro_client_analyzer(client) : place->first);
  faro_status status = ask(place, there, !two && !*place->second, client, sender, &why);
  if (status == FARO_SYSTEM && two) {
    why = (faro_error){0};
    status = ask(place, place->first, !*place->second, client, sender, &why);
  }
  if (status == FARO_SYSTEM && *place->second) {
    why = (faro_error){0};
    status = ask(place, place->second, true, client, sender, &why);
  }
  /* An analyzer that is behind; or the move of another campaign, which may be a successor. */
  if (status == FARO_OLD || (status == FARO_FOREIGN && !faro_client_view(client))) status = FARO_OK;
  return status == FARO_OK ? FARO_OK : faro_fail(error, status, "%s", why.message);
}

bool faro_client_place_turn(faro_client_place *place) {
  if (*place->second == '\0') return false;
  set_address(place, strcmp(place->address, place->second) == 0 ? place->first : place->second);
  return true;
}

bool faro_client_place_settled(const faro_client_place *place, const faro_client *client) {
  return !faro_client_in_successor(client) && (!place->keep || faro_client_moved(client) <= place->stored);
}
