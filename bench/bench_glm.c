/* bench_glm: nanoseconds per row of the passes over data, and of projecting one point on a
 * region. */
#include <faro/glm.h>

#include <math.h>

#include "timing.h"

static const size_t dimensions[] = {2, 3, 5, 10};
enum { ROWS = 4096 };

typedef struct bench {
  faro_link link;
  faro_rows rows;
  double theta[16], out[256];
  double norm[256], metric[256], y[16];
  faro_region region;
  faro_solver *solver;
  double sink;
} bench;

/* Numbers in [-1, 1) that the compiler cannot predict. */
static double draw(void) {
  static uint64_t state = 1;
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(int64_t)state * 0x1p-63;
}

/* Rows in the unit ball with rewards 0 and 1; a norm and a metric as after a few hundred rounds; y
 * outside. */
static void open_bench(bench *b, size_t d) {
  double *x = bench_alloc(ROWS * d, sizeof *x);
  double *y = bench_alloc(ROWS, sizeof *y);
  *b = (bench){.rows = {.dimension = d, .count = ROWS, .x = x, .y = y}};
  for (size_t i = 0; i < ROWS * d; i++) x[i] = draw() / sqrt((double)d);
  for (size_t i = 0; i < ROWS; i++) y[i] = draw() < 0;
  for (size_t j = 0; j < d; j++) b->theta[j] = 2 * draw();
  for (size_t j = 0; j < d; j++) b->y[j] = 10 * draw();
  const faro_rows few = {.dimension = d, .count = 20 * d, .x = x, .y = y};
  const faro_rows more = {.dimension = d, .count = 5 * d, .x = x + 20 * d * d, .y = y};
  faro_glm_hessian(FARO_LINK_LINEAR, &few, 1, b->theta, b->norm);
  faro_glm_hessian(FARO_LINK_LINEAR, &more, 1, b->theta, b->metric);
  b->region.radius = 1;
  faro_error error = {0};
  if (faro_solver_create(&b->solver, d, &error) != FARO_OK) exit(1);
}

static void close_bench(bench *b) {
  free((void *)b->rows.x);
  free((void *)b->rows.y);
  faro_solver_destroy(b->solver);
}

#define WORK(name, call)                                                                                     \
  static void name(void *context, size_t times) {                                                            \
    bench *b = context;                                                                                      \
    for (size_t i = 0; i < times; i++) call;                                                                 \
  }
WORK(loss, b->sink += faro_glm_loss(b->link, &b->rows, 1, b->theta))
WORK(gradient, faro_glm_gradient(b->link, &b->rows, 1, b->theta, b->out))
WORK(hessian, faro_glm_hessian(b->link, &b->rows, 1, b->theta, b->out))
WORK(nearest, faro_solver_nearest(b->solver, b->norm, &b->region, b->y, b->out))
WORK(support, b->sink += faro_solver_support(b->solver, &b->region, b->y))

static void passes(size_t d) {
  bench b;
  double best[3];
  open_bench(&b, d);
  for (b.link = 0; b.link < FARO_LINK_COUNT; b.link++) {
    bench_race(3, (const bench_rival[]){{loss, &b}, {gradient, &b}, {hessian, &b}}, best);
    printf("%5zu %-10s %10.1f %10.1f %10.1f\n", d, faro_link_name(b.link), best[0] / ROWS, best[1] / ROWS,
           best[2] / ROWS);
  }
  close_bench(&b);
}

static void points(size_t d) {
  bench b;
  double ball[1];
  double ellipsoid[2];
  open_bench(&b, d);
  bench_race(1, &(const bench_rival){nearest, &b}, ball);
  b.region.metric = b.metric;
  bench_race(2, (const bench_rival[]){{nearest, &b}, {support, &b}}, ellipsoid);
  printf("%5zu %14.0f %14.0f %14.0f\n", d, ball[0], ellipsoid[0], ellipsoid[1]);
  close_bench(&b);
}

int main(void) {
  const size_t count = sizeof dimensions / sizeof *dimensions;
  printf("Generalised linear models, ns a row\n%5s %-10s %10s %10s %10s\n", "d", "link", "loss", "gradient",
         "hessian");
  for (size_t i = 0; i < count; i++) passes(dimensions[i]);
  printf("\nA region, ns of one call\n%5s %14s %14s %14s\n", "d", "nearest, ball", "ellipsoid", "support");
  for (size_t i = 0; i < count; i++) points(dimensions[i]);
  return 0;
}
