"""Bandits that learn from people without learning about any of them.

    import faro

    agent = faro.Agent(learner="posterior", release="shuffle-bits", dimension=5, horizon=100_000,
                       epsilon=1, delta=1e-6, seed=1)
    arm = agent.choose(features)          # a matrix with one arm per row
    agent.learn(features[arm], reward)    # through the release: clipped, with noise
    agent.claim                           # what is guaranteed, by which proof

Arrays are anything that exports doubles in C order: numpy arrays, array.array, memoryviews, ctypes
arrays; lists of numbers work too, more slowly. numpy and pandas are not needed.

  Agent                              a learner behind a private release, stepped by you
  LinUCB, Posterior, Greedy, LinTS   the same for contexts, with the verbs of MABWiser and OBP
  World                              simulated environments, stepped by you
  run, report, merge, Results        experiments, as `faro run` runs them
  plan                               which release, learner and schedule suit a problem
  account                            how much noise a guarantee needs, and the other way round
"""
from . import account
from ._agent import Agent, Policy
from ._claim import Claim
from ._experiments import Results, merge, report, run
from ._faro import Error, InvalidError, OutOfMemoryError, SystemFailure
from ._faro import commit as __commit__
from ._faro import version as __version__
from ._faro import environments, learners, releases
from ._learners import Greedy, LinTS, LinUCB, Posterior
from ._plan import Plan, Way, plan
from ._world import World

__all__ = ["Agent", "Claim", "Error", "Greedy", "InvalidError", "LinTS", "LinUCB", "OutOfMemoryError", "Plan", "Policy",
           "Posterior", "Results", "SystemFailure", "Way", "World", "account", "environments", "learners", "merge", "plan",
           "releases", "report", "run"]
