/* schedule: after how many users a release publishes. It never looks at data, so batches of other
 * users are other mechanisms, whatever their sizes. (Sizes may also follow from what was published:
 * adapt.h.)
 *
 *   t_1 = batch,   t_(k+1) = min(growth t_k, t_k + largest)      within the horizon
 *
 * With growth 1 all batches have the same size. Batches of one size form a class: what depends on
 * the size of a batch, such as each user's noise, is computed once for each class. */
#ifndef FARO_RELEASE_SCHEDULE_H
#define FARO_RELEASE_SCHEDULE_H

#include <faro/base.h>

#include "base/arena.h"

typedef struct faro_schedule {
  uint64_t count;   /* M: complete batches within the horizon */
  uint64_t batch;   /* users of the first one */
  uint64_t *end;    /* users after each batch; NULL: all batches are alike */
  size_t *class_of; /* of each batch; NULL: all are of class 0 */
  size_t classes;
  uint64_t *size; /* of each class */
} faro_schedule;

enum { FARO_SCHEDULE_MAX = 100000 }; /* batches of different sizes */

/* `largest` 0: no bound. A batch has at least `least` users. */
typedef struct faro_schedule_rule {
  uint64_t horizon, batch, largest, least;
  double growth;
  /* Sizes are batch, 2 batch, 4 batch ... up to largest; all are the first one until turned. */
  bool adaptive;
} faro_schedule_rule;

faro_status faro_schedule_init(faro_schedule *schedule, const faro_schedule_rule *rule, faro_arena *arena,
                               faro_error *error) FARO_WARN_UNUSED;

/* How many batches fit, without making the schedule; FARO_SCHEDULE_MAX + 1 if more of different
 * sizes would. */
uint64_t faro_schedule_count(const faro_schedule_rule *rule);
/* How often the size of batches changes, the first one included, without making the schedule. Stops
 * counting above `most`. */
uint64_t faro_schedule_changes(const faro_schedule_rule *rule, uint64_t most);
/* The horizon at which a schedule has `batches` batches; that of the rule is not used. */
uint64_t faro_schedule_span(const faro_schedule_rule *rule, uint64_t batches);

/* Adaptive ones: batch k, which is not open yet, is of a class, or the next smaller one that fits
 * the horizon. Batches after it are of the smallest, so that `count` is the most there may be. */
void faro_schedule_turn(faro_schedule *schedule, uint64_t k, size_t class_index, uint64_t horizon);

/* Users of the first k batches; of batch k, from 0. */
uint64_t faro_schedule_users(const faro_schedule *schedule, uint64_t k);
uint64_t faro_schedule_size(const faro_schedule *schedule, uint64_t k);
size_t faro_schedule_class(const faro_schedule *schedule, uint64_t k);
/* How many batches are of a class. */
uint64_t faro_schedule_members(const faro_schedule *schedule, size_t class_index);

#endif
