// agent: the shop of agent.c in C++17.
//   c++ agent.cpp $(pkg-config --cflags --libs faro)
#include <faro/faro.h>
#include <cstdio>
#include <memory>
#include <stdexcept>

constexpr std::size_t banners = 4, features = 3, visitors = 20000;
constexpr double banner[] = {0.1, 0.7, 0.7, 0.7, 0.1, 0.7, 0.4, 0.4, 0.7, 0.1, 0.1, 0.7};
constexpr double clicks[] = {0.55, 0.30, 0.40, 0.20}; // unknown to the agent

static void check(faro_status status, const faro_error &error) {
  if (status != FARO_OK) throw std::runtime_error(error.message);
}

int main() try {
  faro_agent_params params{};
  params.learner = "posterior", params.release = "shuffle-bits";
  params.dimension = features, params.horizon = visitors;
  params.epsilon = 1, params.delta = 1e-6;
  params.use = FARO_USE_SIMULATED, params.seed = 1;
  faro_error error{};
  faro_agent *made = nullptr;
  check(faro_agent_create(&made, &params, &error), error);
  const std::unique_ptr<faro_agent, decltype(&faro_agent_destroy)> agent(made, faro_agent_destroy);
  faro_sim_rng people;
  faro_sim_open(&people, 2, 0, FARO_ROLE_REWARD);
  double lost = 0;
  for (std::size_t i = 0; i < visitors; i++) {
    const std::size_t shown = faro_agent_choose(agent.get(), banner, banners);
    const double clicked = faro_sim_bernoulli(&people, clicks[shown]);
    check(faro_agent_learn(agent.get(), banner + shown * features, clicked, &error), error);
    lost += clicks[0] - clicks[shown];
  }
  char claim[FARO_CLAIM_SIZE];
  std::printf("%zu visitors, %.0f clicks lost\n", visitors, lost);
  std::printf("%s\n", faro_claim_text(faro_agent_claim(agent.get()), claim));
} catch (const std::exception &problem) {
  return std::fprintf(stderr, "%s\n", problem.what()), 1;
}
