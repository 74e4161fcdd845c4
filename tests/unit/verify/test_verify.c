/* verify: claims computed again from recorded noise, against closed forms and enumeration; every
 * shipped experiment; what is changed is found. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/support.h"
#include "verify/whole.h"

/* The grounds as text, with ' for ". */
static json_t *parse(const char *format, va_list arguments) {
  static char text[1 << 16];
  json_error_t where;
  vsnprintf(text, sizeof text, format, arguments);
  for (char *c = text; *c; c++)
    if (*c == '\'') *c = '"';
  json_t *json = json_loads(text, 0, &where);
  if (!json) fail_msg("%s in %s", where.text, text);
  return json;
}

static faro_finding check(double epsilon, double delta, const char *format, ...) FARO_PRINTF(3, 4);
static faro_finding check(double epsilon, double delta, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  json_t *grounds = parse(format, arguments);
  va_end(arguments);
  faro_finding finding;
  assert_ok(faro_verify_claim(grounds, epsilon, delta, &finding, error));
  json_decref(grounds);
  return finding;
}

/* delta is enclosed, within a relative width. */
static void assert_encloses(faro_finding f, long double delta, long double width) {
  const long double rounding = 1e-10L * delta + 1e-30L; /* epsilon is meant to twelve digits */
  if (!((long double)f.low <= delta + rounding && (long double)f.high >= delta - rounding &&
        (long double)(f.high - f.low) <= width * delta + rounding))
    fail_msg("%.17g .. %.17g does not enclose %.17Lg: %s", f.low, f.high, delta, f.reason);
}

#define PLAIN(d)                                                                                             \
  "'contribution':{'form':'values','dimension':" d ",'weighed':false,'norm':0.5,'low':-0.5,'high':0.5,"      \
  "'link':'linear'}"
#define MOMENTS(weighed, low, high)                                                                          \
  "'contribution':{'form':'moments','dimension':5,'weighed':" weighed ",'norm':1,'low':" low ",'high':" high \
  ",'link':'linear'}"

static long double normal(long double x) { return erfcl(-x / sqrtl(2)) / 2; }

static long double gaussian_delta(long double mu, long double epsilon) {
  return normal(mu / 2 - epsilon / mu) - expl(epsilon) * normal(-mu / 2 - epsilon / mu);
}

static void test_gaussian__is_the_closed_form(void **state) {
  (void)state;
  for (double sd = 0.5; sd < 8; sd *= 2)
    for (double epsilon = 0.25; epsilon < 3; epsilon *= 2) {
      const faro_finding f =
          check(epsilon, 0.5,
                "{'mechanism':'gaussian','repeats':1," PLAIN("1") ",'classes':[{'sd':[%.17g,%.17g,%.17g]}]}",
                sd, sd, sd);
      assert_encloses(f, gaussian_delta(1 / sd, epsilon), 1e-12L);
    }
  /* Balle & Wang 2018: mu = 1, epsilon = 1 */
  assert_encloses(
      check(1, 0.5, "{'mechanism':'gaussian','repeats':1," PLAIN("1") ",'classes':[{'sd':[1,1,1]}]}"),
      0.12693673750664394L, 1e-12L);
}

/* mu^2 adds over the rounds of a user, and over the levels of a tree: 5 releases have nodes of 1, 2
 * and 4; a user with 3 rounds moves at most 3 (1 + 2 + 3). */
static void test_gaussian__composes(void **state) {
  (void)state;
  assert_encloses(
      check(1, 0.9, "{'mechanism':'gaussian','repeats':9," PLAIN("1") ",'classes':[{'sd':[6,6,6]}]}"),
      gaussian_delta(0.5, 1), 1e-12L);
  assert_encloses(check(1, 0.9, "{'mechanism':'tree','repeats':1,'releases':5," PLAIN("1") ",'sd':[6,6,6]}"),
                  gaussian_delta(sqrtl(3) / 6, 1), 1e-12L);
  assert_encloses(check(1, 0.9, "{'mechanism':'tree','repeats':3,'releases':5," PLAIN("1") ",'sd':[6,6,6]}"),
                  gaussian_delta(sqrtl(18) / 6, 1), 1e-12L);
}

/* Sensitivities of Lemmas 1, 1a and 1b, and of plain vectors. */
static void test_lemmas__have_their_constants(void **state) {
  (void)state;
  const struct {
    const char *contribution;
    long double square;
  } rows[] = {{MOMENTS("false", "0", "1"), 4.5L},
              {MOMENTS("false", "-0.5", "0.5"), 2.53125L},
              {MOMENTS("true", "-0.5", "0.5"), 4.5L},
              {MOMENTS("false", "-3", "3"), 36},
              {PLAIN("7"), 7},
              {"'contribution':{'form':'ball','dimension':3,'weighed':false,'norm':2,'low':0,'high':0,'link':"
               "'linear'}",
               16},
              {"'contribution':{'form':'gram','dimension':3,'weighed':false,'norm':2,'low':0,'high':0,'link':"
               "'linear'}",
               32},
              {"'contribution':{'form':'gram','dimension':3,'weighed':true,'norm':2,'low':0,'high':0,'link':'"
               "linear'}",
               2},
              {"'contribution':{'form':'rewards','dimension':3,'weighed':false,'norm':2,'low':-1,'high':3,'"
               "link':'linear'}",
               16.0L / 9},
              {"'contribution':{'form':'moments','dimension':3,'weighed':true,'norm':2,'low':0,'high':1,'"
               "link':'logistic'}",
               4},
              {"'contribution':{'form':'moments','dimension':3,'weighed':true,'norm':2,'low':0,'high':1,'"
               "link':'probit'}",
               4}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_encloses(check(1, 0.9, "{'mechanism':'gaussian','repeats':1,%s,'classes':[{'sd':[4,4,4]}]}",
                          rows[i].contribution),
                    gaussian_delta(sqrtl(rows[i].square) / 4, 1), 1e-12L);
}

/* Noise as in the published tree, more on the diagonal: half of 2 L^4, and 4 L^2 of the vector. */
static void test_lemmas__take_noise_that_differs(void **state) {
  (void)state;
  assert_encloses(check(1, 0.9,
                        "{'mechanism':'gaussian','repeats':1," MOMENTS(
                            "false", "0", "1") ",'classes':[{'sd':[%.17g,4,4]}]}",
                        4 * sqrt(2)),
                  gaussian_delta(sqrtl(5) / 4, 1), 1e-9L);
}

/* r with L r = (1, .., M0, M0, ..), by substitution. */
static long double naive_column(const double *weight, const double *base, int releases, int repeats) {
  long double r[64];
  long double sum = 0;
  for (int t = 0; t < releases; t++) {
    r[t] = t < repeats ? t + 1 : repeats;
    for (int s = 0; s < t; s++)
      for (int j = 0; j < 24; j++) r[t] -= (long double)weight[j] * powl(base[j], t - s) * r[s];
    sum += r[t] * r[t];
  }
  return sum;
}

static void test_factored__has_the_norm_of_its_column(void **state) {
  (void)state;
  char list[2][2048] = {"", ""};
  double weight[24];
  double base[24];
  for (int j = 0; j < 24; j++) {
    weight[j] = 0.9 / 24 * (1 + 0.5 * sin(j));
    base[j] = 1 - pow(0.75, j + 1);
    for (int k = 0; k < 2; k++)
      snprintf(list[k] + strlen(list[k]), sizeof list[k] - strlen(list[k]), "%s%.17g", j ? "," : "",
               k ? base[j] : weight[j]);
  }
  for (int repeats = 1; repeats <= 4; repeats += 3)
    assert_encloses(check(1, 0.9,
                          "{'mechanism':'factored','repeats':%d,'releases':50," PLAIN(
                              "1") ",'sd':[4,4,4],'weight':[%s],'base':[%s]}",
                          repeats, list[0], list[1]),
                    gaussian_delta(sqrtl(naive_column(weight, base, 50, repeats)) / 4, 1), 1e-9L);
}

/* delta of a discrete Gaussian of variance s^2 against its shift, by all terms. */
static long double naive_discrete(long double s, int shift, long double epsilon) {
  long double total = 0;
  long double sum = 0;
  for (int k = -2000; k <= 2000; k++) total += expl(-(long double)k * k / (2 * s * s));
  for (int k = -2000; k <= 2000; k++)
    sum += fmaxl(0, expl(-(long double)k * k / (2 * s * s)) -
                        expl(epsilon - (long double)(k - shift) * (k - shift) / (2 * s * s)));
  return sum / total;
}

/* Lemma 7 counts one step more than the shift (of 64 steps of 1/64), for rounding to the grid. */
static void test_gaussian__in_whole_numbers_is_bounded(void **state) {
  (void)state;
  const faro_finding f = check(
      1, 0.5,
      "{'mechanism':'gaussian','repeats':1," PLAIN("1") ",'classes':[{'step':0.015625,'variance':'10000'}]}");
  assert_true(f.low >= (double)naive_discrete(100, 64, 1));
  assert_true(f.high <= (double)naive_discrete(100, 66, 1));
  assert_int_equal(check(1, 0.5,
                         "{'mechanism':'gaussian','repeats':1," PLAIN(
                             "1") ",'classes':[{'step':0.015625,'variance':'9999'}]}")
                       .verdict,
                   FARO_NOT_VERIFIED);
}

/* Staying in part 0 costs 2/a^2 + 3 4/b^2, in part 1 2/a^2; moving half of both sums and a quarter
 * of the fits. */
static void test_studies__add_up(void **state) {
  (void)state;
  static const char study[] =
      "{'mechanism':'study','parts':["
      "{'published':true,'sum':{'mechanism':'gaussian','repeats':1,'contribution':{'form':'gram','dimension':"
      "2,"
      "'weighed':true,'norm':1,'low':0,'high':0,'link':'linear'},'classes':[{'sd':[%g,%g,%g]}]},"
      "'fits':[{'count':3,'grounds':{'mechanism':'gaussian','repeats':1,'contribution':{'form':'ball',"
      "'dimension':2,'weighed':false,'norm':1,'low':0,'high':0,'link':'linear'},'classes':[{'sd':[%g,%g,%g]}]"
      "}}]},"
      "{'published':true,'sum':{'mechanism':'gaussian','repeats':1,'contribution':{'form':'%s','dimension':2,"
      "'weighed':true,'norm':1,'low':0,'high':0,'link':'linear'},'classes':[{'sd':[%g,%g,%g]}]},'fits':[]}]}";
  const double a = 4;
  const double b = 8;
  assert_encloses(check(1, 0.5, study, a, a, a, b, b, b, "gram", a, a, a),
                  gaussian_delta(sqrtl(2 / (a * a) + 12 / (b * b)), 1), 1e-12L);
  assert_encloses(check(1, 0.5, study, a, a, a, b, b, b, "gram", 1.0, 1.0, 1.0), gaussian_delta(sqrtl(2), 1),
                  1e-12L);
  assert_int_equal(check(1, 0.5, study, a, a, a, b, b, b, "ball", a, a, a).verdict, FARO_NOT_VERIFIED);
}

/* Randomizers. */

/* Of a response with this threshold over 2^64. */
static long double response_epsilon(long double t, int codes, int truths) {
  return logl(1 + (long double)codes / truths * t / (1 - t));
}

static void test_responses__have_their_ratio(void **state) {
  (void)state;
  const long double epsilon0 = response_epsilon(0.5L, 8, 1); /* 2^63 */
  const faro_finding f = check((double)epsilon0 * (1 + 1e-11), 0,
                               "{'mechanism':'response','repeats':1,'classes':[{'codes':8,'truths':1,'"
                               "threshold':'9223372036854775808'}]}");
  assert_int_equal(f.verdict, FARO_VERIFIED);
  const faro_finding less = check((double)epsilon0 * (1 - 1e-9), 0,
                                  "{'mechanism':'response','repeats':1,'classes':[{'codes':8,'truths':1,'"
                                  "threshold':'9223372036854775808'}]}");
  assert_int_equal(less.verdict, FARO_WRONG);
  assert_encloses(check(1, 0.9,
                        "{'mechanism':'response','repeats':1,'classes':[{'codes':8,'truths':1,'threshold':'"
                        "9223372036854775808'}]}"),
                  (expl(epsilon0) - expl(1)) / (expl(epsilon0) + 7), 1e-12L);
}

static long double choose(int n, int k) {
  return roundl(expl(lgammal(n + 1) - lgammal(k + 1) - lgammal(n - k + 1)));
}

/* The pair of Feldman, McMillan & Talwar 2021, over all values of (C, first entry), with clones of
 * probability p. */
static long double naive_clones(int n, long double p, long double epsilon0, long double epsilon) {
  const long double q = 1 / (1 + expl(-epsilon0));
  long double sum = 0;
  for (int c = 0; c < n; c++)
    for (int x = 0; x <= c + 1; x++) {
      const long double before = x >= 1 ? choose(c, x - 1) / powl(2, c) : 0;
      const long double at = x <= c ? choose(c, x) / powl(2, c) : 0;
      const long double gain = q * before + (1 - q) * at - expl(epsilon) * ((1 - q) * before + q * at);
      sum += choose(n - 1, c) * powl(p, c) * powl(1 - p, n - 1 - c) * fmaxl(0, gain);
    }
  return sum;
}

/* Lemma R: a true code has the probability hi, another lo. */
static void test_mixing__of_responses_is_the_pair_of_distributions(void **state) {
  (void)state;
  for (int n = 2; n <= 40; n += 19)
    for (int truths = 1; truths <= 4; truths += 3)
      for (int i = 1; i <= 3; i++) {
        const long double t = i / 4.0L;
        const long double epsilon0 = response_epsilon(t, 8, truths);
        const long double lo = (1 - t) / 8;
        const long double hi = lo + t / truths;
        for (long double share = 0.2L; share < 1; share += 0.3L) {
          const double epsilon = (double)(share * epsilon0);
          const faro_finding f =
              check(epsilon, 0.9,
                    "{'mechanism':'response','repeats':1,'classes':[{'codes':8,'truths':%d,"
                    "'threshold':'%llu','mixed':%d}]}",
                    truths, (unsigned long long)ldexpl(t, 64), n);
          assert_encloses(f, truths * (hi + lo) * naive_clones(n, 2 * truths * lo, epsilon0, epsilon), 1e-9L);
        }
      }
}

/* A Laplace message is epsilon0-private: any randomizer. */
static void test_mixing__is_the_pair_of_distributions(void **state) {
  (void)state;
  for (int n = 2; n <= 40; n += 19)
    for (double epsilon0 = 0.7; epsilon0 < 4; epsilon0 *= 2)
      for (double share = 0.2; share < 1; share += 0.3) {
        const double epsilon = share * epsilon0;
        const faro_finding f =
            check(epsilon, 0.9,
                  "{'mechanism':'laplace','repeats':1,'contribution':{'form':'values','dimension':1,"
                  "'weighed':false,'norm':1,'low':0,'high':1,'link':'linear'},"
                  "'classes':[{'users':%d,'scale':%.17g,'mixed':%d}]}",
                  n, 1 / epsilon0, n);
        assert_encloses(f, naive_clones(n, expl(-(long double)epsilon0), epsilon0, epsilon), 1e-9L);
      }
}

/* Claims of the accountant that need care: a threshold next to a whole number, and noise for which
 * the bound is least at a smaller epsilon. */
static void test_mixing__is_as_sharp_as_the_accountant(void **state) {
  (void)state;
  assert_int_equal(check(9.4881600701263942, 2.3045565787493626e-06,
                         "{'mechanism':'response','repeats':1,'classes':[{'codes':256,'truths':1,"
                         "'threshold':'18095834767340384256','mixed':1453}]}")
                       .verdict,
                   FARO_VERIFIED);
  assert_int_equal(check(2.1941257349831127, 0.015559255149609407,
                         "{'mechanism':'gaussian','repeats':1,'contribution':{'form':'moments','dimension':5,"
                         "'weighed':true,'norm':1,'low':-0.7012116797268391,'high':0.7105091363191605,"
                         "'link':'linear'},'classes':[{'sd':[1.8745980117792225,1.8745980117792225,"
                         "1.8745980117792225],'mixed':4251,'epsilon0':6.168948256192829,"
                         "'delta0':9.175901600278361e-08}]}")
                       .verdict,
                   FARO_VERIFIED);
}

/* k responses of two codes, over all 2^k outcomes; a tenth of delta is set aside. */
static long double naive_composed(int k, long double each, long double epsilon) {
  long double sum = 0;
  for (int mask = 0; mask < 1 << k; mask++) {
    long double p = 1;
    long double q = 1;
    for (int i = 0; i < k; i++) {
      const bool truth = mask >> i & 1;
      p *= (truth ? expl(each) : 1) / (1 + expl(each));
      q *= (truth ? 1 : expl(each)) / (1 + expl(each));
    }
    sum += fmaxl(0, p - expl(epsilon) * q);
  }
  return sum;
}

static void test_mixing__composes_batches(void **state) {
  (void)state;
  const double delta = 1e-3;
  for (int k = 2; k <= 5; k += 3) {
    const long double each = response_epsilon(0.25L, 2, 1);
    double epsilon = (double)each; /* the least for which k of them keep delta, by steps */
    while (1 - powl(1 - delta / (10 * k), k) * (1 - naive_composed(k, each, epsilon)) > delta)
      epsilon *= 1.0001;
    const char *grounds = "{'mechanism':'response','repeats':%d,'classes':[{'codes':2,'truths':1,'threshold':"
                          "'4611686018427387904'}]}";
    char text[256];
    snprintf(text, sizeof text, grounds, k);
    assert_int_equal(check(epsilon * 1.001, delta, "%s", text).verdict, FARO_VERIFIED);
    assert_int_equal(check(epsilon * 0.999, delta, "%s", text).verdict, FARO_WRONG);
  }
}

static void test_laplace__adds_up(void **state) {
  (void)state;
  const char *grounds = "{'mechanism':'laplace','repeats':3," PLAIN("2") ",'classes':[{'scale':%g}]}";
  char text[512];
  snprintf(text, sizeof text, grounds, 6.0); /* L1 is 2, three times */
  assert_int_equal(check(1, 0, "%s", text).verdict, FARO_VERIFIED);
  assert_int_equal(check(0.99, 0, "%s", text).verdict, FARO_WRONG);
}

/* Bits. */

/* delta of N bits with probability p against a shift by s, exactly: the worse direction. */
static long double naive_bits(int n, long double p, int s, long double epsilon) {
  long double worst = 0;
  for (int direction = 0; direction < 2; direction++) {
    const long double b = direction ? 1 - p : p;
    long double sum = 0;
    for (int k = 0; k <= n; k++) {
      const long double here =
          expl(lgammal(n + 1) - lgammal(k + 1) - lgammal(n - k + 1) + k * logl(b) + (n - k) * logl(1 - b));
      const int j = k - s;
      const long double there = j < 0 ? 0
                                      : expl(lgammal(n + 1) - lgammal(j + 1) - lgammal(n - j + 1) +
                                             j * logl(b) + (n - j) * logl(1 - b));
      sum += fmaxl(0, here - expl(epsilon) * there);
    }
    worst = fmaxl(worst, sum);
  }
  return worst;
}

static void test_bits__are_bounded_from_above(void **state) {
  (void)state;
  for (int n = 20000; n <= 80000; n *= 4)
    for (int fair = 0; fair < 2; fair++) {
      const int shift = (int)(sqrt(n) / 8);
      const faro_finding f = check(1, 0.5,
                                   "{'mechanism':'bits','repeats':1," PLAIN(
                                       "1") ",'bias':%s,'grid':%d,'step':%.17g,'reserved':0,'levels':[{'unit'"
                                            ":1,'nodes':[{'honest':10,'bits':%d}]}]}",
                                   fair ? "0.5" : "0.25", shift, 1.0 / shift, n / 10);
      const double exact = (double)naive_bits(n, fair ? 0.5L : 0.25L, shift, 1);
      assert_true(f.low >= exact);
      assert_true(f.high <= exact * (fair ? 1.02 : 10) + 0.5 / 1000); /* the slack is 1/2000 of delta */
    }
}

/* The steps of the quantiles: N = 10^5, in long double. */
static void test_bits__walk_finds_the_widest_step(void **state) {
  (void)state;
  /* grid 1: a shift by one step, so mu = 2 (1 + eta) / sqrt(N); delta at a tiny epsilon is nearly
   * mu / sqrt(2 pi) */
  const faro_finding f = check(
      1e-9, 0.5,
      "{'mechanism':'bits','repeats':1," PLAIN("1") ",'bias':0.5,'grid':1,'step':1,'reserved':0,'levels':[{'"
                                                    "unit':1,'nodes':[{'honest':1,'bits':100000}]}]}");
  const double mu = (f.high - 0.5 / 2000) * sqrt(2 * acos(-1));
  const double factor = mu * sqrt(1e5) / 2;
  assert_true(factor > 1 && factor < 1.001);
}

/* Changes. */

static void test_claims__change_with_the_noise(void **state) {
  (void)state;
  const double sigma = sqrt(6) / faro_gaussian_mu(1, 1e-6);
  const double share[] = {1, 0.9999, 0.99, 1.01};
  const faro_verify_verdict verdict[] = {FARO_VERIFIED, FARO_WRONG, FARO_WRONG, FARO_VERIFIED};
  for (size_t i = 0; i < 4; i++) {
    const double sd = share[i] * sigma * (1 + 1e-10);
    json_t *grounds =
        json_pack("{s:s, s:i, s:{s:s, s:i, s:b, s:f, s:f, s:f, s:s}, s:[{s:[f, f, f]}]}", "mechanism",
                  "gaussian", "repeats", 2, "contribution", "form", "values", "dimension", 3, "weighed", 0,
                  "norm", 0.5, "low", -0.5, "high", 0.5, "link", "linear", "classes", "sd", sd, sd, sd);
    faro_finding f;
    assert_ok(faro_verify_claim(grounds, 1, 1e-6, &f, error));
    assert_int_equal(f.verdict, verdict[i]);
    json_decref(grounds);
  }
}

/* Documents. */

/* Multiplies the noise: sd, scale, bits (squared) and thresholds (inversely). */
static void change(json_t *value, double factor) {
  const char *key = NULL;
  json_t *member = NULL;
  void *next = NULL;
  size_t index = 0;
  if (json_is_array(value)) {
    json_array_foreach(value, index, member) change(member, factor);
    return;
  }
  json_object_foreach_safe(value, next, key, member) {
    if (strcmp(key, "sd") == 0)
      for (size_t i = 0; i < 3; i++)
        json_array_set_new(member, i, json_real(factor * json_number_value(json_array_get(member, i))));
    else if (strcmp(key, "scale") == 0)
      json_object_set_new(value, key, json_real(factor * json_number_value(member)));
    else if (strcmp(key, "bits") == 0)
      json_object_set_new(value, key, json_real(floor(factor * factor * json_number_value(member))));
    else if (strcmp(key, "threshold") == 0) {
      char text[32];
      const double t = fmin(strtod(json_string_value(member), NULL) / factor, 0x1p64 * (1 - 1e-9));
      snprintf(text, sizeof text, "%.0f", t);
      json_object_set_new(value, key, json_string(text));
    } else change(member, factor);
  }
}

/* How many proven claims of the document are found what. */
static void count(const char *text, size_t found[3]) {
  faro_verification v;
  assert_ok(faro_verify_run(&v, FARO_VERIFY_RUN, "run.json", text, strlen(text), error));
  for (int i = 0; i < 3; i++) found[i] = 0;
  for (size_t i = 0; i < v.count; i++) {
    if (!v.claim[i].proven) continue;
    found[v.claim[i].finding.verdict]++;
  }
  faro_verification_clear(&v);
}

static char *changed(const char *text, double factor) {
  json_t *document = json_loads(text, 0, NULL);
  size_t index = 0;
  json_t *result = NULL;
  json_array_foreach(json_object_get(document, "results"), index, result) {
    json_t *grounds = json_object_get(result, "grounds");
    const char *calibration =
        json_string_value(json_object_get(json_object_get(result, "settings"), "calibration"));
    assert_non_null(calibration);
    if (grounds && strcmp(calibration, "tight") == 0) change(grounds, factor);
    else
      json_object_update_new(json_object_get(result, "claim"),
                             json_pack("{s:b, s:s}", "proven", 0, "standing", "not proven"));
  }
  char *made = json_dumps(document, JSON_REAL_PRECISION(17));
  json_decref(document);
  return made;
}

/* All claims are verified, and with one per cent less noise none of `tight` is. */
static void check_experiment(const char *path) {
  faro_experiment *experiment = NULL;
  size_t found[3];
  assert_ok(faro_experiment_load(&experiment, path, NULL, error));
  char *text = faro_report_claims(experiment);
  count(text, found);
  if (found[FARO_NOT_VERIFIED] + found[FARO_WRONG] > 0)
    fail_msg("%s: %zu not verified, %zu wrong", path, found[FARO_NOT_VERIFIED], found[FARO_WRONG]);
  char *less = changed(text, 0.99);
  count(less, found);
  if (found[FARO_VERIFIED] + found[FARO_NOT_VERIFIED] > 0)
    fail_msg("%s, less noise: %zu verified, %zu not", path, found[FARO_VERIFIED], found[FARO_NOT_VERIFIED]);
  free(less);
  free(text);
  faro_experiment_destroy(experiment);
}

static void test_experiments__all_claims_are_verified(void **state) {
  (void)state;
  slow_test();
  DIR *folder = opendir("experiments");
  size_t files = 0;
  assert_non_null(folder);
  for (const struct dirent *entry = NULL; (entry = readdir(folder));) {
    char path[300];
    if (!strstr(entry->d_name, ".yaml")) continue;
    snprintf(path, sizeof path, "experiments/%s", entry->d_name);
    if (lacks_data(path)) continue;
    check_experiment(path);
    files++;
  }
  closedir(folder);
  assert_true(files > 20);
}

static void test_experiments__one_is_verified(void **state) {
  (void)state;
  check_experiment("experiments/000-fig1.yaml");
}

/* The claim of a release, if it is proven; false: it is not, or the kind refuses. */
static bool release_holds(const faro_release_kind *kind, const faro_contribution *contribution,
                          const faro_release_params *params, faro_finding *f) {
  faro_release *release = NULL;
  faro_error refusal = {0};
  if (faro_release_create(&release, kind, contribution, params, faro_source_none(), &refusal) != FARO_OK)
    return false;
  const faro_claim claim = *faro_release_claim(release);
  char *text = faro_release_grounds(release);
  faro_release_destroy(release);
  json_t *grounds = text ? json_loads(text, 0, NULL) : NULL;
  if (claim.proven) assert_ok(faro_verify_claim(grounds, claim.epsilon, claim.delta, f, error));
  json_decref(grounds);
  free(text);
  return claim.proven;
}

/* A contract of the registry: what a kind calls proven is verified, under every calibration. */
static void check_kind(const faro_release_kind *kind, const faro_contribution *contribution,
                       size_t *checked) {
  for (int c = 0; c < FARO_CALIBRATION_COUNT; c++)
    for (int bits = 0; bits < 8; bits++) {
      const faro_release_params params = {.epsilon = bits & 1 ? 0.5 : 4,
                                          .delta = bits & 2 ? 1e-6 : 0.05,
                                          .horizon = 4000,
                                          .batch = bits & 2 ? 200 : 0,
                                          .level = bits & 4 ? FARO_LEVEL_USER : FARO_LEVEL_EVENT,
                                          .contributions = bits & 4 ? 3 : 1,
                                          .shufflers = kind->trust == FARO_TRUST_CONCURRENT ? 2 : 0,
                                          .honest = c == FARO_CALIBRATION_TIGHT && bits & 1 ? 0.8 : 1,
                                          .calibration = (faro_calibration)c};
      faro_finding f = {0};
      if (!release_holds(kind, contribution, &params, &f)) continue;
      if (f.verdict != FARO_VERIFIED)
        fail_msg("%s, %s, %d: %s: %s", kind->name, faro_calibration_name(params.calibration), bits,
                 faro_verify_word(f.verdict), f.reason);
      ++*checked;
    }
}

static void check_kinds(const faro_contribution *contribution) {
  for (size_t k = 0; k < faro_release_kinds(); k++) {
    size_t checked = 0;
    check_kind(faro_release_kind_at(k), contribution, &checked);
    if (faro_release_kind_at(k)->trust != FARO_TRUST_NONE) assert_true(checked > 0);
  }
}

static void test_releases__are_verified(void **state) {
  (void)state;
  faro_contribution contribution;
  assert_ok(faro_contribution_values(&contribution, 1, false, error));
  check_kinds(&contribution);
}

static void test_releases__of_vectors_are_verified(void **state) {
  (void)state;
  slow_test();
  faro_contribution contribution;
  assert_ok(faro_contribution_values(&contribution, 4, false, error));
  check_kinds(&contribution);
  assert_ok(
      faro_contribution_rewards(&contribution, 1, 1, -0.3, 0.7, error)); /* one number, not on the grid */
  check_kinds(&contribution);
  assert_ok(faro_contribution_init(&contribution, 3, 1, 0, 1, error));
  check_kinds(&contribution);
  assert_ok(faro_contribution_rewards(&contribution, 3, 2, -1, 1, error));
  check_kinds(&contribution);
  assert_ok(faro_contribution_linearised(&contribution, 3, 1, FARO_LINK_PROBIT, 2, error));
  check_kinds(&contribution);
}

/* The same noise in original units, on rewards that were not centred. */
static void take_centre_off(json_t *grounds, double low) {
  const double factor = (1 - low) / 2; /* of the units: half the range, and the largest reward */
  json_t *noise =
      json_object_get(grounds, "classes") ? json_array_get(json_object_get(grounds, "classes"), 0) : grounds;
  json_t *scale = json_object_get(noise, "scale");
  json_t *sd = json_object_get(noise, "sd");
  json_t *step = json_object_get(noise, "step"); /* deployed: noise is in steps */
  assert_true(json_is_real(scale) || json_is_array(sd));
  if (step) assert_int_equal(json_real_set(step, factor * json_real_value(step)), 0);
  assert_int_equal(json_object_del(json_object_get(grounds, "contribution"), "middle"), 0);
  if (scale) assert_int_equal(json_real_set(scale, factor * json_real_value(scale)), 0);
  for (size_t i = 0; i < json_array_size(sd); i++) {
    json_t *entry = json_array_get(sd, i);
    assert_int_equal(json_real_set(entry, factor * json_real_value(entry) * (1 + 1e-11)), 0);
  }
}

/* Amplification needs the distance of any two users. Rewards that are centred have no other;
 * without, noise for that of neighbours, who have the same arm, is enough only where nothing is
 * mixed. */
static void test_rewards__that_are_mixed_need_the_distance_of_any_two_users(void **state) {
  (void)state;
  enum { DEPLOYED = 2, MIX = 3, KINDS = 5 };
  const faro_release_kind *const kinds[KINDS] = {
      &faro_release_shuffle_laplace, &faro_release_shuffle_gaussian, &faro_release_shuffle_gaussian,
      &faro_release_central, &faro_release_central_tree};
  const faro_release_params params = {
      .epsilon = 1, .delta = 1e-6, .horizon = 40000, .batch = 10000, .calibration = FARO_CALIBRATION_TIGHT};
  faro_secure_rng *secure = NULL;
  assert_ok(faro_secure_open(&secure, error));
  for (int i = 0; i < 2 * KINDS; i++) {
    const double low = i % 2 ? 0.8 : 0;
    const bool mixes = i / 2 < MIX;
    const faro_source source = i / 2 == DEPLOYED ? faro_source_client(secure) : faro_source_none();
    faro_contribution contribution;
    faro_release *release = NULL;
    faro_finding f;
    assert_ok(faro_contribution_rewards(&contribution, 2, 1, low, 1, error));
    assert_ok(faro_release_create(&release, kinds[i / 2], &contribution, &params, source, error));
    char *text = faro_release_grounds(release);
    json_t *grounds = json_loads(text, 0, NULL);
    assert_ok(faro_verify_claim(grounds, 1, 1e-6, &f, error));
    assert_int_equal(f.verdict, FARO_VERIFIED);
    json_t *middle = json_object_get(json_object_get(grounds, "contribution"), "middle");
    faro_error refusal = {0};
    assert_int_equal(json_real_set(middle, json_real_value(middle) * 0.99), 0);
    assert_int_equal(faro_verify_claim(grounds, 1, 1e-6, &f, &refusal), FARO_INVALID);
    assert_non_null(strstr(refusal.message, "middle must be halfway between low and high"));
    take_centre_off(grounds, low);
    assert_ok(faro_verify_claim(grounds, 1, 1e-6, &f, error));
    assert_int_equal(f.verdict, mixes ? FARO_WRONG : FARO_VERIFIED);
    json_decref(grounds);
    free(text);
    faro_release_destroy(release);
  }
  faro_secure_close(secure);
}

static void test_documents__are_refused_by_name(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } bad[] = {
      {"{", "not JSON"},
      {"{}", "results must be a list"},
      {"{\"results\":[]}", "results must be a list"},
      {"{\"results\":[{}]}", "results[0]: label must be a string"},
      {"{\"results\":[{\"label\":\"a\"}]}", "claim.proven must be true or false"},
      {"{\"results\":[{\"label\":\"a\",\"claim\":{\"proven\":true,\"epsilon\":1}}]}",
       "claim.delta must be numbers"},
      {"{\"results\":[{\"label\":\"a\",\"claim\":{\"proven\":true,\"epsilon\":0,\"delta\":0}}]}",
       "epsilon must be above 0"},
      {"{\"results\":[{\"label\":\"a\",\"claim\":{\"proven\":true,\"epsilon\":1,\"delta\":0},\"grounds\":{}}]"
       "}",
       "mechanism must be one of: gaussian"},
      {"{\"results\":[{\"label\":\"a\",\"claim\":{\"proven\":true,\"epsilon\":1,\"delta\":0},\"grounds\":{"
       "\"mechanism\":\"tree\"}}]}",
       "contribution must be an object (got nothing)"},
      {"{\"results\":[{\"label\":\"a\",\"claim\":{\"proven\":true,\"epsilon\":1,\"delta\":0},\"grounds\":{"
       "\"mechanism\":\"response\",\"repeats\":1,\"classes\":[{\"codes\":2,\"truths\":1,\"threshold\":5}]}}]"
       "}",
       "threshold must be a string of 1 .. 20 digits (got 5)"},
      {"{\"results\":[{\"label\":\"a\",\"claim\":{\"proven\":true,\"epsilon\":1,\"delta\":0},\"grounds\":{"
       "\"mechanism\":\"response\",\"repeats\":0.5,\"classes\":[{}]}}]}",
       "repeats must be a number from 1"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    faro_verification v;
    faro_error error = {0};
    assert_int_equal(
        faro_verify_run(&v, FARO_VERIFY_RUN, "run.json", bad[i].text, strlen(bad[i].text), &error),
        FARO_INVALID);
    if (!strstr(error.message, bad[i].message))
      fail_msg("\"%s\" is not in: %s", bad[i].message, error.message);
  }
}

/* The tables of this layer are its own; a new kind must be entered there too. */
static void test_tables__know_every_release_and_environment(void **state) {
  (void)state;
  for (size_t i = 0; i < faro_release_kinds(); i++) {
    const faro_release_kind *kind = faro_release_kind_at(i);
    const promise *p = promise_of(kind->name);
    if (kind->trust == FARO_TRUST_NONE) continue;
    if (!p) fail_msg("src/verify/words.c has no row for release %s", kind->name);
    else assert_string_equal(p->trust, faro_trust_name(kind->trust));
  }
  for (size_t i = 0; i < faro_env_count(); i++)
    if (!is_environment(faro_env_at(i)->name))
      fail_msg("src/verify/words.c does not know environment %s", faro_env_at(i)->name);
}

static void test_claims__without_grounds_are_not_verified(void **state) {
  (void)state;
  faro_finding f;
  assert_ok(faro_verify_claim(NULL, 1, 1e-6, &f, error));
  assert_int_equal(f.verdict, FARO_NOT_VERIFIED);
  assert_string_equal(f.reason, "no grounds are recorded");
  f = check(1, 1e-3,
            "{'mechanism':'doubling','parts':[{'mechanism':'response','repeats':2,"
            "'classes':[{'codes':2,'truths':1,'threshold':'1'}]}]}");
  assert_int_equal(f.verdict, FARO_NOT_VERIFIED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tables__know_every_release_and_environment),
      cmocka_unit_test(test_gaussian__is_the_closed_form),
      cmocka_unit_test(test_gaussian__composes),
      cmocka_unit_test(test_gaussian__in_whole_numbers_is_bounded),
      cmocka_unit_test(test_studies__add_up),
      cmocka_unit_test(test_lemmas__have_their_constants),
      cmocka_unit_test(test_lemmas__take_noise_that_differs),
      cmocka_unit_test(test_factored__has_the_norm_of_its_column),
      cmocka_unit_test(test_responses__have_their_ratio),
      cmocka_unit_test(test_mixing__of_responses_is_the_pair_of_distributions),
      cmocka_unit_test(test_mixing__is_the_pair_of_distributions),
      cmocka_unit_test(test_mixing__is_as_sharp_as_the_accountant),
      cmocka_unit_test(test_mixing__composes_batches),
      cmocka_unit_test(test_laplace__adds_up),
      cmocka_unit_test(test_bits__are_bounded_from_above),
      cmocka_unit_test(test_bits__walk_finds_the_widest_step),
      cmocka_unit_test(test_claims__change_with_the_noise),
      cmocka_unit_test(test_claims__without_grounds_are_not_verified),
      cmocka_unit_test(test_rewards__that_are_mixed_need_the_distance_of_any_two_users),
      cmocka_unit_test(test_documents__are_refused_by_name),
      cmocka_unit_test(test_releases__are_verified),
      cmocka_unit_test(test_releases__of_vectors_are_verified),
      cmocka_unit_test(test_experiments__one_is_verified),
      cmocka_unit_test(test_experiments__all_claims_are_verified),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
