"""An environment of one's own in Python: news for readers whose taste nobody knows.

    python3 own_world.py

Each reader has a context (age and hour of the day, scaled), and each of three sections has a chance of being read that
depends on it. Four ways to protect readers play the same world, and a table compares them. Nothing here needs numpy.
"""
import math
import random

import faro

READERS = 20000
SECTIONS = ["politics", "sport", "culture"]


class News:
    """A world: the next reader's context, and what the reader does with a section."""

    def __init__(self, seed):
        self.chance = random.Random(seed)

    def reader(self):
        return [self.chance.uniform(-1, 1) / math.sqrt(2), self.chance.uniform(-1, 1) / math.sqrt(2)]

    def mean(self, section, context):
        age, hour = context
        return 0.5 + {"politics": 0.5 * age, "sport": -0.5 * age, "culture": 0.4 * hour}[section]

    def reads(self, section, context):
        return float(self.chance.random() < self.mean(section, context))


def play(release):
    """The regret of one way, and its claim."""
    world = News(seed=7)
    learner = faro.Greedy(arms=SECTIONS, dimension=2, release=release, epsilon=2, delta=1e-6, horizon=READERS, seed=1)
    regret = 0.0
    for _ in range(READERS):
        context = world.reader()
        section = learner.predict([context])
        learner.partial_fit([section], [world.reads(section, context)], [context])
        means = [world.mean(s, context) for s in SECTIONS]
        regret += max(means) - world.mean(section, context)
    return regret, learner.claim


world = News(seed=7)
readers = [world.reader() for _ in range(READERS)]
means = [[world.mean(s, reader) for s in SECTIONS] for reader in readers]
uniform = sum(max(row) - sum(row) / 3 for row in means)
print("%-18s %7s %7s  %s" % ("release", "regret", "learnt", "claim"))
for release in ("none", "central-factored", "shuffle-bits", "local"):
    regret, claim = play(release)
    print("%-18s %7.0f %5.0f %%  %s" % (release, regret, 100 * (1 - regret / uniform), claim))
print("showing sections at random has regret %.0f" % uniform)
