/* queue_file: the bytes of a queue's file. queue_inner.h describes the format. */
#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/queue_inner.h"

#define WORD "faro-client-state-4\n"
#define LINE "faro-client-state-1 "
enum {
  AGE_AT = sizeof WORD - 3, /* the digit */
  HEAD = 232,
  HEAD_3 = 212,
  HEAD_2 = 128,
  PROGRESS_LEAST = 37, /* client/turns.c */
  PROGRESS_MOST = PROGRESS_LEAST + 16 * FARO_PLAN_ARMS_MAX,
  CHECK = 32,
  DIGITS = 2 * FARO_DIGEST_BYTES,
  LINE_SIZE = 160,
  PART_MAX = 1 << 20
};

/* Writing. */

static size_t size_of(const faro_queue *q) {
  size_t size = HEAD + q->progress_size + q->parts * (1 + q->part_size) + CHECK;
  for (size_t i = 0; i < q->choices; i++) size += 2 + strlen(q->choice[i].id) + 16 + 8 * q->dimension;
  return size;
}

static unsigned char *put_number(unsigned char *to, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  faro_store64(to, bits);
  return to + 8;
}

static void put_head(const faro_queue *q, unsigned char *to) {
  const uint64_t numbers[] = {q->sequence,       q->version,     q->reported,      q->counts.delivered,
                              q->counts.refused, q->counts.late, q->counts.dropped};
  const uint32_t sizes[] = {(uint32_t)q->counts.last, (uint32_t)q->dimension, (uint32_t)q->choices,
                            (uint32_t)q->parts, (uint32_t)q->part_size};
  memcpy(to, WORD, sizeof WORD - 1);
  memcpy(to + 20, q->campaign, FARO_DIGEST_BYTES);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) faro_store64(to + 52 + 8 * i, numbers[i]);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) faro_store32(to + 108 + 4 * i, sizes[i]);
  memcpy(put_number(put_number(to + HEAD_2, q->spent_epsilon), q->spent_delta), q->signers,
         sizeof q->signers);
  faro_store32(to + HEAD_3 - 4, q->spent_singly);
  faro_store64(to + HEAD_3, q->counts.again);
  faro_store64(to + HEAD_3 + 8, q->counts.ended);
  faro_store32(to + HEAD - 4, (uint32_t)q->progress_size);
}

unsigned char *faro_queue_write(const faro_queue *queue, size_t *length) {
  const size_t size = size_of(queue);
  unsigned char *bytes = malloc(size);
  if (!bytes) return NULL;
  put_head(queue, bytes);
  unsigned char *at = bytes + HEAD;
  for (size_t i = 0; i < queue->choices; i++) {
    const faro_queue_choice *c = &queue->choice[i];
    const size_t id = strlen(c->id);
    *at++ = (unsigned char)c->stage;
    *at++ = (unsigned char)id;
    memcpy(at, c->id, id);
    faro_store64(at + id, c->version);
    at = put_number(at + id + 8, c->reward);
    for (size_t j = 0; j < queue->dimension; j++) at = put_number(at, c->features[j]);
  }
  if (queue->progress_size > 0) memcpy(at, queue->progress, queue->progress_size);
  at += queue->progress_size;
  for (size_t i = 0; i < queue->parts; i++) {
    *at++ = queue->part[i];
    memcpy(at, queue->report + i * queue->part_size, queue->part_size);
    at += queue->part_size;
  }
  crypto_generichash(at, CHECK, bytes, size - CHECK, NULL, 0);
  *length = size;
  return bytes;
}

/* Reading. */

typedef struct cursor {
  const unsigned char *at, *end;
} cursor;

/* The next `size` bytes; NULL if there are not so many. */
static const unsigned char *take(cursor *c, size_t size) {
  if ((size_t)(c->end - c->at) < size) return NULL;
  c->at += size;
  return c->at - size;
}

static double number_at(const unsigned char *from) {
  const uint64_t bits = faro_load64(from);
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Non-negative, and nothing before there is a campaign. */
static bool is_spent(const faro_queue *q) {
  return isfinite(q->spent_epsilon) && isfinite(q->spent_delta) && !signbit(q->spent_epsilon) &&
         !signbit(q->spent_delta) && (q->bound || (q->spent_epsilon == 0 && q->spent_delta == 0));
}

/* What was spent, and under which keys: from version 3 on. */
static bool read_spent(faro_queue *q, const unsigned char *from) {
  const uint32_t singly = faro_load32(from + HEAD_3 - 4);
  q->spent_epsilon = number_at(from + HEAD_2);
  q->spent_delta = number_at(from + HEAD_2 + 8);
  memcpy(q->signers, from + HEAD_2 + 16, sizeof q->signers);
  q->spent_singly = singly == 1;
  return is_spent(q) && singly <= 1;
}

/* Campaigns in phases and rounds: from version 4 on. */
static bool read_phases(faro_queue *q, const unsigned char *from, size_t choices) {
  q->counts.again = faro_load64(from + HEAD_3);
  q->counts.ended = faro_load64(from + HEAD_3 + 8);
  const uint32_t size = faro_load32(from + HEAD - 4);
  q->progress_size = size;
  return size == 0 || (size >= PROGRESS_LEAST && size <= PROGRESS_MOST && choices == 0 && q->bound);
}

static bool read_head(faro_queue *q, const unsigned char *from, char age, size_t *choices) {
  uint64_t *const numbers[] = {&q->sequence,       &q->version,     &q->reported,      &q->counts.delivered,
                               &q->counts.refused, &q->counts.late, &q->counts.dropped};
  memcpy(q->campaign, from + 20, FARO_DIGEST_BYTES);
  q->bound = !sodium_is_zero(q->campaign, FARO_DIGEST_BYTES);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) *numbers[i] = faro_load64(from + 52 + 8 * i);
  const uint32_t last = faro_load32(from + 108);
  q->counts.last = (faro_refusal)last;
  q->dimension = faro_load32(from + 112);
  *choices = faro_load32(from + 116);
  q->parts = faro_load32(from + 120);
  q->part_size = faro_load32(from + 124);
  const bool sent = q->parts > 0;
  if (age >= '3' && !read_spent(q, from)) return false;
  if (age >= '4' && !read_phases(q, from, *choices)) return false;
  return last <= FARO_REFUSAL_CLOSED && q->dimension <= FARO_WIRE_DIMENSION_MAX &&
         (q->dimension > 0 || *choices == 0) && *choices <= FARO_QUEUE_MOST &&
         q->parts <= FARO_SHUFFLERS_MAX &&
         (sent ? q->part_size > FARO_REPORT_HEAD && q->part_size <= PART_MAX : q->part_size == 0) &&
         (q->bound || (q->sequence == 0 && q->version == 0 && *choices == 0 && !sent));
}

static bool read_choice(faro_queue *q, cursor *c, faro_queue_stage most, bool *memory) {
  faro_queue_choice *made = &q->choice[q->choices];
  const unsigned char *head = take(c, 2);
  const unsigned char *rest =
      head && head[1] <= FARO_QUEUE_ID_MAX ? take(c, head[1] + 16 + 8 * q->dimension) : NULL;
  if (!rest || head[0] > most || memchr(rest, '\0', head[1])) return false;
  *made = (faro_queue_choice){.stage = (faro_queue_stage)head[0],
                              .version = faro_load64(rest + head[1]),
                              .reward = number_at(rest + head[1] + 8),
                              .features = malloc(q->dimension * sizeof *made->features)};
  if (!made->features) {
    *memory = true;
    return false;
  }
  q->choices++;
  memcpy(made->id, rest, head[1]);
  bool good = isfinite(made->reward) && (made->stage != FARO_STAGE_OPEN || head[1] > 0);
  for (size_t i = 0; i < q->dimension; i++) {
    made->features[i] = number_at(rest + head[1] + 16 + 8 * i);
    good = good && isfinite(made->features[i]);
  }
  return good;
}

static bool read_progress(faro_queue *q, cursor *c, bool *memory) {
  if (q->progress_size == 0) return true;
  const unsigned char *bytes = take(c, q->progress_size);
  if (!bytes) return false;
  q->progress = malloc(q->progress_size);
  *memory = !q->progress;
  if (q->progress) memcpy(q->progress, bytes, q->progress_size);
  return q->progress != NULL;
}

static bool read_report(faro_queue *q, cursor *c, bool *memory) {
  if (q->parts == 0) return true;
  q->report = malloc(q->parts * q->part_size);
  *memory = !q->report;
  for (size_t i = 0; q->report && i < q->parts; i++) {
    const unsigned char *part = take(c, 1 + q->part_size);
    const int state = part ? part[0] : -1;
    if (state < 0 || state > FARO_PART_REFUSED + FARO_REFUSAL_CLOSED ||
        (state > FARO_PART_DONE && state < FARO_PART_REFUSED))
      return false;
    q->part[i] = (unsigned char)state;
    memcpy(q->report + i * q->part_size, part + 1, q->part_size);
  }
  return q->report != NULL;
}

/* At most one report is under way: for one of the choices or, if there are none, for a plan. Open
 * choices have different ids. */
static bool is_whole(const faro_queue *q, char age) {
  size_t under_way = 0;
  for (size_t i = 0; i < q->choices; i++) {
    under_way += q->choice[i].stage == FARO_STAGE_UNDER_WAY || q->choice[i].stage == FARO_STAGE_AGAIN;
    for (size_t j = 0; j < i && q->choice[i].stage == FARO_STAGE_OPEN; j++)
      if (q->choice[j].stage == FARO_STAGE_OPEN && strcmp(q->choice[i].id, q->choice[j].id) == 0)
        return false;
  }
  const bool plans = age >= '4' && q->choices == 0;
  return under_way == (q->parts > 0 ? 1 : 0) || (plans && q->parts > 0);
}

static int write_line(const faro_queue *q, char line[static LINE_SIZE]) {
  char digest[DIGITS + 1];
  sodium_bin2hex(digest, sizeof digest, q->campaign, FARO_DIGEST_BYTES);
  return snprintf(line, LINE_SIZE, LINE "%s %" PRIu64 " %" PRIu64 "\n", digest, q->sequence, q->version);
}

/* The file of version 1. Valid is exactly what write_line writes, to the byte. */
static bool read_line(faro_queue *q, const unsigned char *bytes, size_t length) {
  const size_t at = sizeof LINE - 1;
  char text[LINE_SIZE] = {0}, line[LINE_SIZE], *end = NULL;
  if (length < at + DIGITS || length >= LINE_SIZE) return false;
  memcpy(text, bytes, length);
  if (!faro_hex_read(text + at, DIGITS, q->campaign, FARO_DIGEST_BYTES)) return false;
  q->bound = !sodium_is_zero(q->campaign, FARO_DIGEST_BYTES);
  q->sequence = strtoull(text + at + DIGITS, &end, 10);
  q->version = strtoull(end, NULL, 10);
  return (q->bound || (q->sequence == 0 && q->version == 0)) && (size_t)write_line(q, line) == length &&
         memcmp(line, text, length) == 0;
}

/* The digit of a version that has a head; 0 if these are not such bytes. */
static char age_of(const unsigned char *bytes, size_t length) {
  if (length < sizeof WORD - 1 || memcmp(bytes, WORD, AGE_AT) != 0 || bytes[AGE_AT + 1] != '\n') return 0;
  return bytes[AGE_AT] >= '2' && bytes[AGE_AT] <= '4' ? (char)bytes[AGE_AT] : 0;
}

bool faro_queue_read(faro_queue *queue, const unsigned char *bytes, size_t length, bool *memory) {
  unsigned char check[CHECK];
  size_t choices = 0;
  *memory = false;
  if (length >= sizeof LINE - 1 && memcmp(bytes, LINE, sizeof LINE - 1) == 0)
    return read_line(queue, bytes, length);
  const char age = age_of(bytes, length);
  const size_t head = age == '2' ? HEAD_2 : age == '3' ? HEAD_3 : HEAD;
  if (age == 0 || length < head + CHECK) return false;
  crypto_generichash(check, CHECK, bytes, length - CHECK, NULL, 0);
  if (memcmp(check, bytes + length - CHECK, CHECK) != 0 || !read_head(queue, bytes, age, &choices))
    return false;
  cursor c = {.at = bytes + head, .end = bytes + length - CHECK};
  const faro_queue_stage most = age >= '4' ? FARO_STAGE_AGAIN : FARO_STAGE_UNDER_WAY;
  bool good = true;
  for (size_t i = 0; good && i < choices; i++) good = read_choice(queue, &c, most, memory);
  return good && read_progress(queue, &c, memory) && read_report(queue, &c, memory) && c.at == c.end &&
         is_whole(queue, age);
}
