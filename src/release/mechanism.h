/* mechanism: what happens to a contribution. There are six: real, grid, bits, tree, factored,
 * response. A
 * release kind is a row of data that names one.
 *
 *   whole batches   absorb (each user), add_noise (once, for all users of the batch), publish
 *   messages        encode (R, each user), mix (S), collect (A, each message), publish;
 *                   a trusted server calls add_noise before it publishes
 *
 * All of them draw from the source that the release was created with. */
#ifndef FARO_RELEASE_MECHANISM_H
#define FARO_RELEASE_MECHANISM_H

#include <faro/message.h>

struct faro_text;

/* One vector of a release's state, of one of three types of numbers. */
typedef struct faro_state_vector {
  double *real;   /* finite */
  uint64_t *ones; /* at most `most` */
  int64_t *whole; /* at most `most` in magnitude */
  size_t count;
  uint64_t most;
} faro_state_vector;

/* Bits only: reports of shufflers that count, on the levels of a tree. */
typedef struct faro_counting {
  /* See faro_release_task, _expected and _report. */
  bool (*task)(const faro_release *, size_t level, faro_shuffler_task *);
  size_t (*expected)(const faro_release *);
  const uint64_t *(*report)(const faro_release *, size_t level);
  /* See faro_release_gaussian. */
  bool (*gaussian)(const faro_release *, double share, double *mu, double *slack);
} faro_counting;

struct faro_mechanism {
  size_t size; /* bytes of the state, whose first member is a faro_release */
  bool exact;  /* computes in whole numbers, so that it can be deployed and saved */
  bool draws;  /* absorb draws: for users together it takes other random numbers than one by one */
  bool alone;  /* computes in whole numbers where one process plays all parties; cannot be saved */
  bool adds;   /* adds numbers up exactly if they are 1/2 or -1/2, so that their order does not matter */

  /* Required. Makes room for the state and sets the size of messages. Calibration follows. */
  faro_status (*init)(faro_release *, faro_error *);
  /* Optional. Sets what follows from the calibration. For a deployed source: proves that the claim
   * holds in whole numbers, and makes the tables that this use draws from. FARO_INVALID if it
   * cannot. */
  faro_status (*settle)(faro_release *, faro_error *);

  /* Required. R: encodes z and adds one user's noise; no noise if the server is trusted. */
  void (*encode)(const faro_release *, const double *z, void *message);
  /* Optional. A message that counts as nothing; NULL: the middle of the range of every entry. */
  void (*blank)(const faro_release *, void *message);
  /* Optional. S: what the shuffler does to a batch of messages. */
  void (*mix)(const faro_release *, void *batch);
  /* Optional. A: the estimate of z in a message that is a code; NULL: messages are numbers. */
  void (*decode)(const faro_release *, const void *message, double *numbers);
  /* Required. A: adds message or report `index`, which is valid, to the open batch. */
  void (*collect)(faro_release *, size_t index, const void *message);

  /* Required. Adds `users` users who contribute the same z to the open batch, without noise. More
   * than one in simulation only. */
  void (*absorb)(faro_release *, const double *z, uint64_t users);
  /* Optional. Does the same for whole batches of equal size of one number, as many.h, with all that
   * changes in the state of the mechanism, and writes the sums, which are not weighted.
   * Simulation only. */
  void (*many)(faro_release *, const uint64_t *bits, uint64_t from, uint64_t batches, double *sum);
  /* Required. Adds the noise of all users of the open batch, or that of a trusted server. */
  void (*add_noise)(faro_release *);
  /* Required. Turns the open batch into new statistics. Draws nothing. */
  void (*publish)(faro_release *);
  /* Required. Sets the variances of the newest sum and of its batch, once for each batch, in order:
   * after publish, and for all batches before when a state is loaded. */
  void (*measure)(faro_release *);

  /* Optional. Vector `index` of the state between two batches, besides the sum; false if there are
   * no more. */
  bool (*state)(const faro_release *, size_t index, faro_state_vector *);
  /* Optional. Restores what follows from the vectors after they have been loaded. */
  void (*resume)(faro_release *);

  /* Optional. Writes the members of the grounds that are its own (grounds.h), each with a comma
   * before it; NULL: no grounds are recorded. */
  void (*grounds)(const faro_release *, struct faro_text *);

  const faro_counting *counting; /* bits only; else NULL */
};

extern const faro_mechanism faro_mechanism_real, faro_mechanism_grid, faro_mechanism_bits,
    faro_mechanism_tree, faro_mechanism_factored, faro_mechanism_response;

#endif
