/* agent: a shop learns which of four banners people click, behind a shuffler; simulated. With
 * .use = FARO_USE_ALL_PARTIES the noise is exact, and there is no seed.
 *   cc agent.c $(pkg-config --cflags --libs faro) */
#include <faro/faro.h>
#include <stdio.h>

enum { BANNERS = 4, FEATURES = 3, VISITORS = 20000 };
/* Size, colour and a constant of each, of length at most 1; their clicks, which nobody knows. */
static const double banner[] = {0.1, 0.7, 0.7, 0.7, 0.1, 0.7, 0.4, 0.4, 0.7, 0.1, 0.1, 0.7};
static const double clicks[BANNERS] = {0.55, 0.30, 0.40, 0.20};

static int fail(const faro_error *error) { return fprintf(stderr, "%s\n", error->message), 1; }
int main(void) {
  const faro_agent_params params = {.learner = "posterior",
                                    .release = "shuffle-bits",
                                    .dimension = FEATURES,
                                    .horizon = VISITORS,
                                    .epsilon = 1,
                                    .delta = 1e-6,
                                    .use = FARO_USE_SIMULATED,
                                    .seed = 1};
  faro_agent *agent = NULL;
  faro_error error = {0};
  if (faro_agent_create(&agent, &params, &error) != FARO_OK) return fail(&error);
  faro_sim_rng people;
  faro_sim_open(&people, 2, 0, FARO_ROLE_REWARD);
  double lost = 0;
  for (int i = 0; i < VISITORS; i++) {
    const size_t shown = faro_agent_choose(agent, banner, BANNERS);
    const double clicked = faro_sim_bernoulli(&people, clicks[shown]);
    if (faro_agent_learn(agent, banner + shown * FEATURES, clicked, &error) != FARO_OK) return fail(&error);
    lost += clicks[0] - clicks[shown];
  }
  char claim[FARO_CLAIM_SIZE];
  printf("%d visitors, %.0f clicks lost; showing banners at random loses %.0f\n", VISITORS, lost,
         VISITORS * (0.55 - (0.55 + 0.30 + 0.40 + 0.20) / 4));
  printf("%s\n", faro_claim_text(faro_agent_claim(agent), claim));
  faro_agent_destroy(agent);
  return 0;
}
