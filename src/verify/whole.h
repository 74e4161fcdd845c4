/* whole: what a claim says besides epsilon and delta, against everything else that a run records.
 *
 *   words     the claim's own words, and what its release promises
 *   inside    the grounds of one release: whether they fit together, and its kind
 *   facts     the grounds against the settings: people, batches, bounds, rounds */
#ifndef FARO_VERIFY_WHOLE_H
#define FARO_VERIFY_WHOLE_H

#include "verify/verify.h"

/* A kind of release, as this layer knows it. */
typedef enum tree_kind { TREE_NONE, TREE_BINARY, TREE_OF_SHUFFLERS } tree_kind;

typedef struct promise {
  const char *name, *trust, *mechanism;
  bool weighs;         /* moments are in units of the longest feature and the largest reward */
  bool pure;           /* delta is 0 */
  bool assigns;        /* its shuffler can assign actions and keep them secret */
  tree_kind tree;      /* of bit sums */
  const char *instead; /* the kind that may take its place where it has less noise; NULL: none */
} promise;

const promise *promise_of(const char *release); /* NULL: unknown */
/* Whether an environment comes with faro; others are a program's own. */
bool is_environment(const char *name);

/* Where the grounds of a release stand in those of a claim. */
typedef enum place { PLACE_WHOLE, PLACE_PHASE, PLACE_DOUBLED, PLACE_SUM, PLACE_FIT } place;

/* One result of a run. */
typedef struct row {
  const json_t *result, *claim, *grounds;
  const json_t *settings; /* NULL: of a campaign or an evaluation, which record none */
  faro_checked *checked;
} row;

/* The first disagreement is what the finding says: the claim is wrong. */
void disagree(row *w, const char *format, ...) FARO_PRINTF(2, 3);
/* Names a member that nothing can be checked by, with its value unless that is NULL. */
void taken(row *w, const char *name, json_t *value);

/* Members: "" and NaN if they are not there, or are something else. */
const char *word_of(const json_t *object, const char *name);
double number_of(const json_t *object, const char *name);
bool is_word(const json_t *object, const char *name, const char *word);

void check_words(row *w);
void check_view(row *w); /* what an adversary sees, which follows from other words */
void check_inside(row *w, const json_t *grounds, place at);
void check_facts(row *w, const json_t *grounds, place at, size_t index);
/* Those of all releases together. */
void check_parts(row *w);

#endif
