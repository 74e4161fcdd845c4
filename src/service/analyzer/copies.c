/* copies: see the header. */
#include "service/analyzer/copies.h"

#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "service/http/sender.h"
#include "service/role/admin.h"
#include "service/role/process.h"
#include "wire/bytes.h"

static const double TIMEOUT = 10, CONNECT = 3; /* seconds; the first grows with the image */

enum { HASH = 2 * FARO_DIGEST_BYTES, TICKET = 16 };

struct faro_copies {
  const faro_campaign *campaign;
  const unsigned char *signer;
  faro_sender *sender;
  char url[FARO_URL_MAX + 16];
  char sent[HASH + 1];     /* hash of the last image that was confirmed, in digits; empty: none */
  char ticket[TICKET + 1]; /* that of the last answer; empty: none. It is used once */
  uint64_t epoch;
};

faro_status faro_copies_create(faro_copies **copies, const faro_analyzer_settings *settings,
                               const faro_campaign *campaign,
                               const unsigned char signer[static FARO_KEY_BYTES], faro_error *error) {
  char header[FARO_ADMIN_HEADER];
  faro_error inner = {0};
  faro_copies *made = calloc(1, sizeof *made);
  if (!made) return faro_fail(error, FARO_MEMORY, "cannot allocate the sender of copies");
  made->campaign = campaign;
  made->signer = signer;
  snprintf(made->url, sizeof made->url, "%s/v1/copy", settings->standby.url);
  const char *authority = *settings->standby.authority ? settings->standby.authority : NULL;
  faro_status status = faro_admin_header(settings->standby.token, header, &inner);
  const faro_sender_params params = {.authority = authority,
                                     .header = header,
                                     .stopping = faro_process_ending,
                                     .timeout = TIMEOUT,
                                     .connect = CONNECT};
  if (status == FARO_OK) status = faro_sender_create(&made->sender, &params, &inner);
  sodium_memzero(header, sizeof header);
  if (status == FARO_OK) *copies = made;
  else {
    faro_copies_destroy(made);
    (void)faro_fail(error, status, "standby: %.300s", inner.message);
  }
  return status;
}

void faro_copies_destroy(faro_copies *copies) {
  if (!copies) return;
  faro_sender_destroy(copies->sender);
  free(copies);
}

/* A proof of an epoch in a refusal, if there is one. */
static void read_epoch(faro_copies *c, json_t *json) {
  json_int_t epoch = 0;
  const char *digits = NULL;
  unsigned char proof[FARO_SIGNATURE_BYTES];
  if (json_unpack(json, "{sI ss}", "epoch", &epoch, "proof", &digits) != 0 || epoch <= 0) return;
  if (faro_hex_read(digits, strlen(digits), proof, sizeof proof) &&
      faro_epoch_proven(c->campaign->digest, (uint64_t)epoch, c->signer, proof))
    c->epoch = (uint64_t)epoch;
}

static void read_ticket(faro_copies *c, json_t *json) {
  const char *ticket = NULL;
  if (json_unpack(json, "{ss}", "ticket", &ticket) == 0 && strlen(ticket) == TICKET &&
      strspn(ticket, "0123456789abcdef") == TICKET)
    memcpy(c->ticket, ticket, TICKET + 1);
}

/* Posts, and reads the hash of what the standby holds. */
static faro_status post(faro_copies *c, const unsigned char *image, size_t length, char hash[static HASH + 1],
                        faro_error *error) {
  faro_sent sent = {0};
  char shown[FARO_SHOWN];
  char url[sizeof c->url + TICKET + 16];
  const char *digits = NULL, *why = NULL;
  snprintf(url, sizeof url, "%s%s%s", c->url, image ? "?ticket=" : "", image ? c->ticket : "");
  *c->ticket = '\0';
  faro_status status = faro_send_post(c->sender, url, image ? (const void *)image : "", length, &sent, error);
  if (status != FARO_OK) return status;
  json_t *json = json_loadb(sent.bytes, sent.length, JSON_REJECT_DUPLICATES, NULL);
  if (sent.status == 200 || sent.status == 409) read_ticket(c, json);
  if (sent.status == 200 && json_unpack(json, "{ss}", "hash", &digits) == 0 && strlen(digits) <= HASH)
    memcpy(hash, digits, strlen(digits) + 1);
  else {
    if (sent.status == 409) read_epoch(c, json);
    (void)json_unpack(json, "{ss}", "error", &why);
    status = faro_fail(error, FARO_SYSTEM, "%s answered with status %ld: %s", c->url, sent.status,
                       faro_printable(why ? why : "", shown, sizeof shown));
  }
  json_decref(json);
  return status;
}

/* Posts an image with the ticket of the last answer. After a failure the standby is greeted first:
 * from then on it refuses what is still on its way. If it has given out another ticket since (after
 * a restart, say), it names that one, and the image is posted once more. */
static faro_status post_image(faro_copies *c, const unsigned char *image, size_t length,
                              char held[static HASH + 1], faro_error *error) {
  faro_status status = *c->ticket ? FARO_OK : post(c, NULL, 0, held, error);
  if (status != FARO_OK) return status;
  status = post(c, image, length, held, error);
  return status != FARO_OK && *c->ticket ? post(c, image, length, held, error) : status;
}

faro_status faro_copies_send(faro_copies *copies, const unsigned char *image, size_t length,
                             faro_error *error) {
  unsigned char hash[FARO_DIGEST_BYTES];
  char held[HASH + 1] = "", wanted[HASH + 1];
  crypto_generichash(hash, sizeof hash, image, length, NULL, 0);
  faro_hex_write(hash, sizeof hash, wanted);
  *copies->sent = '\0'; /* until it is known what the standby holds */
  const faro_status status = post_image(copies, image, length, held, error);
  if (status != FARO_OK) return status;
  if (strcmp(held, wanted) != 0)
    return faro_fail(error, FARO_SYSTEM, "%s holds something else than what was sent", copies->url);
  memcpy(copies->sent, wanted, sizeof wanted);
  return FARO_OK;
}

faro_status faro_copies_greet(faro_copies *copies, bool *holds, faro_error *error) {
  char held[HASH + 1] = "";
  const faro_status status = post(copies, NULL, 0, held, error);
  *holds = status == FARO_OK && *copies->sent != '\0' && strcmp(held, copies->sent) == 0;
  return status;
}

uint64_t faro_copies_epoch(const faro_copies *copies) { return copies->epoch; }
