"""A shop that learns which of four banners people click, behind a shuffler: examples/agent.c in Python.

    python3 agent.py

The agent is simulated here: it plays users, shuffler and server in one process. With deployed=True in place of the
seed its noise is exact and comes from the operating system.
"""
import random

import faro

VISITORS = 20000
# size, colour, and a constant; the length of each row is at most 1
BANNERS = [[0.1, 0.7, 0.7],  # small and bright
           [0.7, 0.1, 0.7],  # large and dull
           [0.4, 0.4, 0.7],  # medium
           [0.1, 0.1, 0.7]]  # small and dull
CLICKS = [0.55, 0.30, 0.40, 0.20]  # unknown to the agent

agent = faro.Agent(learner="posterior", release="shuffle-bits", dimension=3, horizon=VISITORS, epsilon=1, delta=1e-6,
                   seed=1)
people = random.Random(2)
lost = 0.0
for _ in range(VISITORS):
    shown = agent.choose(BANNERS)
    clicked = people.random() < CLICKS[shown]
    agent.learn(BANNERS[shown], clicked)
    lost += max(CLICKS) - CLICKS[shown]

print("%d visitors, %.0f clicks lost; showing banners at random loses %.0f" % (
    VISITORS, lost, VISITORS * (max(CLICKS) - sum(CLICKS) / 4)))
print(agent.claim)
