/* doubt: what may be wrong with an evaluation, in words. */
#include <stdio.h>

#include "evaluate/row.h"

const char *faro_evaluation_doubt(const faro_evaluation *v, faro_doubt doubt, char out[FARO_DOUBT_SIZE]) {
  const double rows = (double)v->rows;
  switch (doubt) {
  case FARO_DOUBT_FEW:
    snprintf(out, FARO_DOUBT_SIZE,
             "The log says too little about this policy: %.0f rows have the weight of %.1f. Below %d no "
             "interval is given.",
             rows, v->effective, (int)FARO_EFFECTIVE_LEAST);
    break;
  case FARO_DOUBT_SKEWED:
    snprintf(out, FARO_DOUBT_SIZE,
             "A few rows with large weights decide the result (skewness %.3g, greatest weight %.4g): the "
             "intervals may be too short.",
             v->skewness, v->greatest);
    break;
  case FARO_DOUBT_NEVER:
    snprintf(
        out, FARO_DOUBT_SIZE,
        "The policy plays arm %zu, which is in no row of the log; %.3g %% of its plays are on such arms. "
        "No method can say what they would earn.",
        v->missing_arm + 1, 100 * v->missing);
    break;
  case FARO_DOUBT_WEIGHTS:
    snprintf(out, FARO_DOUBT_SIZE,
             "The weights average to %.4g and should average to 1 (standard error %.2g): either the "
             "propensities are wrong, or the policy plays arms that the log could not play.",
             v->mean, v->mean_error);
    break;
  case FARO_DOUBT_PROPENSITIES:
    snprintf(out, FARO_DOUBT_SIZE,
             "1 / (arms x propensity) averages to %.4g and should average to 1 (standard error %.2g): %s.",
             v->inverse, v->inverse_error,
             v->inverse > 1 ? "the propensities are too small"
                            : "the propensities are too large, or some arms were impossible in some rows; "
                              "then do not rely on the line for uniform play");
    break;
  case FARO_DOUBT_CLIPPED:
    snprintf(out, FARO_DOUBT_SIZE,
             "Cutting weights took away %.3g %% of them; the intervals do not cover the bias of that.",
             100 * v->cut);
    break;
  default: out[0] = '\0';
  }
  return out;
}

const char *faro_private_evaluation_doubt(const faro_private_evaluation *v, faro_doubt doubt,
                                          char out[FARO_DOUBT_SIZE]) {
  out[0] = '\0';
  if (doubt == FARO_DOUBT_FEW)
    snprintf(out, FARO_DOUBT_SIZE,
             "The noise and the largest weight leave too little to say: fewer than %d effective rows are "
             "certain.",
             (int)FARO_EFFECTIVE_LEAST);
  if (doubt == FARO_DOUBT_WEIGHTS)
    snprintf(out, FARO_DOUBT_SIZE,
             "The weights average to %.3g and should average to 1 (noise and luck explain %.2g): either the "
             "propensities are wrong, or many weights were cut, or the policy plays arms that the log could "
             "not play.",
             v->mean, v->mean_error);
  return out;
}
