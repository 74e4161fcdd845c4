/* plain: LinUCB as somebody would write it in C who wants speed and nothing else: the compiler
 * knows the sizes, -O3 -march=native -ffast-math are on; there are no batches, no checks, no curve.
 *
 *   bench_plain INSTANCES HORIZON EPSILON DELTA RELEASE... prints lines as numpy_linucb.py does
 *
 * Chowdhury & Zhou 2022, Alg. 1, without privacy, with a tree (Shariff & Sheffet 2018) or local
 * noise (Zheng et al. 2020), at the constants of the published figures.
 *
 *   A   arms, D x K    W            V^-1
 *   b   sum of x y     mean, width  A' theta, and squared norms of the arms in W */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { D = 5, K = 100, P = D * (D + 1) / 2, N = P + D, LEVELS = 40 };

static double A[D][K], truth[D], V[D][D], W[D][D], b[D], theta[D], mean[K], width[K], node[LEVELS][N];
static uint64_t state;

static double uniform(void) { /* SplitMix64 (Steele, Lea & Flood 2014) */
  uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static void normals(double *out, double scale) { /* Box & Muller 1958; off the diagonal as (N + N') / 2 */
  for (int i = 0; i < N; i += 2) {
    const double r = scale * sqrt(-2 * log(1 - uniform())), angle = 2 * M_PI * uniform();
    out[i] = r * cos(angle);
    if (i + 1 < N) out[i + 1] = r * sin(angle);
  }
  for (int i = 0, at = 0; i < D; i++)
    for (int j = 0; j <= i; j++, at++) out[at] *= i == j ? 1 : M_SQRT1_2;
}

static int invert(double shift) { /* Gauss and Jordan; 0 if V + shift I is not positive definite */
  double M[D][2 * D] = {0};
  for (int i = 0; i < D; i++) {
    for (int j = 0; j < D; j++) M[i][j] = V[i][j] + (i == j ? shift : 0);
    M[i][D + i] = 1;
  }
  for (int c = 0; c < D; c++) {
    if (!(M[c][c] > 0)) return 0;
    const double inverse = 1 / M[c][c];
    for (int j = 0; j < 2 * D; j++) M[c][j] *= inverse;
    for (int i = 0; i < D; i++) {
      const double f = i == c ? 0 : M[i][c];
      for (int j = 0; j < 2 * D; j++) M[i][j] -= f * M[c][j];
    }
  }
  for (int i = 0; i < D; i++) memcpy(W[i], M[i] + D, sizeof W[i]);
  return 1;
}

static void rescore(void) {
  memset(mean, 0, sizeof mean);
  memset(width, 0, sizeof width);
  for (int i = 0; i < D; i++) {
    double row[K] = {0};
    for (int j = 0; j < D; j++)
      for (int k = 0; k < K; k++) row[k] += W[i][j] * A[j][k];
    for (int k = 0; k < K; k++) width[k] += row[k] * A[i][k], mean[k] += theta[i] * A[i][k];
  }
}

/* Sherman & Morrison 1950: W, theta, means and widths follow one person, by one product an arm. */
static void follow(const double *x, double y) {
  double u[D], c = 1, error = y, product[K] = {0};
  for (int i = 0; i < D; i++) {
    u[i] = 0;
    for (int j = 0; j < D; j++) u[i] += W[i][j] * x[j];
    c += x[i] * u[i], error -= x[i] * theta[i];
  }
  const double f = 1 / c;
  for (int i = 0; i < D; i++) {
    for (int j = 0; j < D; j++) W[i][j] -= f * u[i] * u[j];
    theta[i] += f * error * u[i];
    for (int k = 0; k < K; k++) product[k] += u[i] * A[i][k];
  }
  for (int k = 0; k < K; k++) width[k] -= f * product[k] * product[k], mean[k] += f * error * product[k];
}

static double learn(double ridge,
                    double least) { /* Alg. 1 l. 16-18; returns the shift of a V that noise made indefinite */
  double shift = 0;
  if (!invert(ridge)) { /* by halves, to the least eigenvalue */
    double low = ridge, high = 2 * ridge + 1;
    while (!invert(high)) high *= 2;
    for (int i = 0; i < 50; i++) *(invert((low + high) / 2) ? &high : &low) = (low + high) / 2;
    shift = high - ridge + least;
    invert(ridge + shift);
  }
  memset(theta, 0, sizeof theta);
  for (int i = 0; i < D; i++)
    for (int j = 0; j < D; j++) theta[i] += W[i][j] * b[j];
  rescore();
  return shift;
}

static double play(const char *release, uint64_t T, double epsilon, double delta) {
  const int tree = strcmp(release, "central-tree") == 0, private = strcmp(release, "none") != 0;
  const double sigma = (tree ? sqrt(log(T)) * log(2.5 / delta) : sqrt(log(2.5 / delta))) / epsilon;
  const double gamma = sigma * sqrt((tree ? log(T) : (double)T) * D);
  const double ridge = private ? 2 * gamma : 1e-4, least = private ? gamma : 1e-4, most = private ? gamma : 1;
  const double radius = 0.5 * sqrt(D * log((1 + 2 * T / most) * T)); /* L^2 = 2 */
  double regret = 0, best = 0, means[K] = {0}, sum[N] = {0}, noise[N] = {0};
  for (int i = 0; i < D; i++)
    for (int k = 0; k < K; k++) means[k] += truth[i] * A[i][k];
  for (int k = 0; k < K; k++) best = fmax(best, means[k]);
  memset(V, 0, sizeof V), memset(b, 0, sizeof b), memset(node, 0, sizeof node);
  double shift = learn(ridge, least);
  for (uint64_t t = 1; t <= T; t++) {
    const double beta = sqrt(D * (most + shift)) + radius;
    double x[D], score[K], greatest = -INFINITY;
    int arm = 0;
    for (int k = 0; k < K; k++) score[k] = mean[k] + beta * sqrt(width[k]);
    for (int k = 0; k < K; k++) greatest = score[k] > greatest ? score[k] : greatest;
    while (arm < K - 1 && score[arm] != greatest) arm++;
    const double y = uniform() < means[arm];
    regret += best - means[arm];
    for (int i = 0; i < D; i++) x[i] = A[i][arm];
    for (int i = 0, at = 0; i < D; i++) {
      for (int j = 0; j <= i; j++) sum[at++] += x[i] * x[j];
      sum[P + i] += x[i] * y;
    }
    if (!private) follow(x, y);
    if (!private && t % 1024) continue; /* made anew now and then, since rounding adds up */
    if (private && !tree) {
      normals(noise, sigma);
      for (int i = 0; i < N; i++) sum[i] += noise[i], noise[i] = 0;
    } else if (
        tree) { /* a new node at the lowest one of t; a node has the noise of the prefix that ends there */
      const int low = __builtin_ctzll(t);
      const uint64_t before = t & (t - 1);
      normals(node[low], sigma);
      for (int i = 0; before && i < N; i++) node[low][i] += node[__builtin_ctzll(before)][i];
      memcpy(noise, node[low], sizeof noise);
    }
    for (int i = 0, at = 0; i < D; i++) {
      for (int j = 0; j <= i; j++, at++) V[i][j] = V[j][i] = sum[at] + noise[at];
      b[i] = sum[P + i] + noise[P + i];
    }
    shift = learn(ridge, least);
  }
  return regret;
}

int main(int argc, char **argv) {
  double head[3], row[D];
  FILE *file = argc > 5 ? fopen(argv[1], "rb") : NULL;
  if (!file || fread(head, sizeof *head, 3, file) != 3 || head[1] != K || head[2] != D) return 2;
  for (int r = 5; r < argc; r++) {
    double ns = 0;
    printf("{\"release\": \"%s\", \"batch\": 1, \"style\": \"plain\", \"regrets\": [", argv[r]);
    fseek(file, sizeof head, SEEK_SET);
    for (int i = 0; i < (int)head[0]; i++) {
      size_t got = 0;
      for (int k = 0; k < K; k++) {
        got += fread(row, sizeof *row, D, file);
        for (int j = 0; j < D; j++) A[j][k] = row[j];
      }
      if (got + fread(truth, sizeof *truth, D, file) != (K + 1) * D) return 2;
      const clock_t start = clock();
      state = (uint64_t)i + 1;
      printf("%s%.17g", i ? ", " : "",
             play(argv[r], strtoull(argv[2], NULL, 10), atof(argv[3]), atof(argv[4])));
      ns += (double)(clock() - start) * 1e9 / CLOCKS_PER_SEC / atof(argv[2]) / head[0];
    }
    printf("], \"ns\": %.6g}\n", ns);
  }
  return fclose(file);
}
