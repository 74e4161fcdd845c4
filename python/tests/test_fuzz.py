"""Random objects, shapes, types and strides at every function: an answer or an exception, never a crash.

Run it under the address sanitizer (make asan) to see reads and writes beyond an array too. FARO_FUZZ_CALLS is the number of
calls, FARO_FUZZ_SEED another sequence of them; a failure prints both.
"""
import array
import ctypes
import math
import os
import random
import unittest

import faro
from faro import _faro, account
from support import numpy

CALLS = int(os.environ.get("FARO_FUZZ_CALLS", "4000"))
SEED = int(os.environ.get("FARO_FUZZ_SEED", "1"))
ALLOWED = (faro.Error, TypeError, ValueError, OverflowError, MemoryError, BufferError, IndexError, OSError, KeyError,
           NotImplementedError, AttributeError)


class Number:
    """Numbers that misbehave."""

    def __init__(self, chance, victims):
        self.chance, self.victims = chance, victims

    def act(self):
        for victim in self.victims:  # containers change while they are read
            if isinstance(victim, list) and self.chance.random() < 0.5:
                victim.clear()
            elif isinstance(victim, bytearray) and self.chance.random() < 0.5:
                try:
                    victim.clear()
                except BufferError:
                    pass
        if self.chance.random() < 0.2:
            raise ValueError("no number")

    def __float__(self):
        self.act()
        return 0.5

    def __index__(self):
        self.act()
        return 1


class Maker:
    """Random objects, most of them nearly right."""

    def __init__(self, chance):
        self.chance = chance

    def real(self):
        return self.chance.choice([0.0, 1.0, -1.0, 0.5, 1e-300, 1e300, math.nan, math.inf, -math.inf, 5e-324,
                                   self.chance.uniform(-2, 2), self.chance.uniform(-2, 2), self.chance.uniform(0, 1)])

    def good(self):
        return self.chance.uniform(-1, 1)

    def whole(self):
        return self.chance.choice([0, 1, 2, 3, 4, 5, 7, 100, -1, 2**31, 2**63 - 1, 2**63, 2**64, -2**63, 10**30])

    def odd(self):
        return self.chance.choice([None, True, "", "linucb", "none", "\udcff", b"", b"x" * 24, object(), type, {}, set(),
                                   {"a": 1}, len, 1j, range(3), Number(self.chance, []), "nan", "auto", "\0", ()])

    def scalar(self):
        return self.chance.choice([self.real, self.real, self.whole, self.odd])()

    def size(self):
        return self.chance.choice([0, 1, 2, 3, 3, 3, 4, 5, 12, 100])

    def listed(self, depth):
        made = [self.good() if self.chance.random() < 0.9 else self.scalar() for _ in range(self.size())]
        if depth > 1:
            made = [made if self.chance.random() < 0.9 else self.listed(1) for _ in range(self.size())]
        if self.chance.random() < 0.1 and made:
            made[self.chance.randrange(len(made))] = Number(self.chance, [made])
        return tuple(made) if self.chance.random() < 0.3 else made

    def buffer(self):
        code = self.chance.choice("dddddddfiqbBHl")
        rows, columns = self.size(), self.size()
        kind = self.chance.randrange(6)
        values = array.array(code, [1] * (rows * columns))
        if code == "d":
            values = array.array("d", [self.good() if self.chance.random() < 0.99 else self.real() for _ in values])
        if kind == 0 or not len(values):
            return values
        flat = memoryview(values)
        if kind == 1:
            return flat[::self.chance.choice([1, 2, -1, 3])]
        if kind == 2:
            return flat.cast("B").cast(code, (rows, columns))
        if kind == 3:
            return flat.cast("B").cast(code, (rows, columns, 1))
        if kind == 4:
            store = bytearray(8 * len(values) + 8)
            start = self.chance.randrange(8)
            return memoryview(store)[start:start + 8 * len(values)].cast("d", (rows, columns))
        return ((ctypes.c_double * columns) * rows)()

    def numpy_array(self):
        shape = tuple(self.size() for _ in range(self.chance.choice([0, 1, 1, 2, 2, 2, 3])))
        kind = self.chance.choice([float, float, float, float, numpy.float32, int, ">f8", complex, object, bool, "S8", "M8[s]",
                                   [("a", float), ("b", float)]])
        made = numpy.zeros(shape, dtype=kind)
        if kind is float and made.size:
            made += 0.25
            if self.chance.random() < 0.1:
                made.flat[self.chance.randrange(made.size)] = self.real()
        return self.chance.choice([lambda a: a, lambda a: a, lambda a: a.T, lambda a: a[::2] if a.ndim else a,
                                   lambda a: a[..., ::-1] if a.ndim else a, numpy.asfortranarray,
                                   lambda a: numpy.broadcast_to(a, (3,) + a.shape), lambda a: a[:0] if a.ndim else a])(made)

    def anything(self):
        kinds = [self.scalar, lambda: self.listed(1), lambda: self.listed(2), self.buffer, self.buffer]
        return self.chance.choice(kinds + ([self.numpy_array] * 3 if numpy else []))()

    def arguments(self, most=3):
        return [self.anything() for _ in range(self.chance.choice(list(range(most + 1)) + [2, 3]))]


def agents():
    known = dict(dimension=3, horizon=500, epsilon=1, delta=1e-6, seed=1, batch=7)
    yield faro.Agent(learner="linucb", release="shuffle-bits", **known)
    yield faro.Agent(learner="posterior", release="central-bits", **known)
    yield faro.Agent(learner="lints", release="none", **{**known, "horizon": 0})
    yield faro.Agent(learner="greedy", release="local", **{**known, "dimension": 12}, blocks=3, constant=True, radius=1)
    yield faro.LinUCB(arms=3, dimension=3, release="none", horizon=100, seed=1)


class Fuzz(unittest.TestCase):
    def setUp(self):
        self.chance = random.Random(SEED)
        self.make = Maker(self.chance)

    def attempt(self, name, call, *arguments, **keywords):
        try:
            return call(*arguments, **keywords)
        except ALLOWED:
            return None
        except BaseException as error:
            raise AssertionError("FARO_FUZZ_SEED=%d: %s(%r, %r): %r" % (SEED, name, arguments, keywords, error)) from error

    def test_methods(self):
        """Every method of agents, learners, worlds and privacy-loss distributions."""
        targets = list(agents()) + [faro.World("linear-iid", dimension=3, arms=4, horizon=10**6),
                                    faro.World("bits-random", horizon=10**6), _faro.Loss("gaussian", 0.1, 0),
                                    _faro.Loss("pure", 0.1, 1e-9)]
        slow = ("agent", "epsilon", "delta", "compose", "repeat")
        for _ in range(CALLS):
            target = self.chance.choice(targets)
            name = self.chance.choice([n for n in dir(target) if not n.startswith("__")])
            if name in slow and self.chance.random() < 0.95:
                continue
            member = self.attempt(name, getattr, target, name)
            if callable(member):
                self.attempt(name, member, *self.make.arguments())
            if self.chance.random() < 0.01:
                self.attempt("repr", repr, target)
        for target in targets[:5]:  # they still work
            agent = getattr(target, "agent", target)
            self.assertEqual(agent.choose([[0.1] * agent.dimension]), 0)

    def test_people(self):
        """Persons that are none, and dictionaries that do not say who contributed."""
        agent = faro.Agent(learner="greedy", release="central-bits", dimension=3, horizon=10**6, epsilon=1, delta=1e-6, seed=1,
                           batch=7, level="user", contributions=2)
        for _ in range(CALLS):
            person = self.chance.choice([self.make.scalar, self.make.anything, self.make.whole])()
            word = self.chance.choice(["person", "person", "people", "who"])
            self.attempt("learn", agent.learn, [0.1, 0.2, 0.3], 1, **{word: person})
            count = self.chance.choice([1, 2, 3])
            people = self.chance.choice([person, [person] * count, list(range(count)), "ab"])
            self.attempt("learn_many", agent.learn_many, [[0.1] * 3] * count, [1] * count, people=people)
            if self.chance.random() < 0.05:
                told = self.chance.choice([agent.people, {person: (1, 2)} if isinstance(person, (int, str)) else person,
                                           {"a": self.make.anything()}])
                state = self.attempt("save", agent.save)
                self.attempt("load", agent.load, state or b"x", people=told)
        self.assertTrue(agent.people)

    def test_nearly_right_calls(self):
        """Arrays of the right kind, with the values, shapes and indices around what is right."""
        made = list(agents())[:3]
        for _ in range(CALLS):
            agent, chance = self.chance.choice(made), self.chance
            count = chance.choice([1, 2, 3, 4, 5, 16, 17, 100])
            width = 3 if chance.random() < 0.9 else self.make.size()
            flat = array.array("d", [self.make.good() if chance.random() < 0.999 else self.make.real() for _ in range(count * width)])
            features = memoryview(flat).cast("B").cast("d", (count, width)) if len(flat) else flat
            arm = self.attempt("choose", agent.choose, features)
            if arm is not None:
                self.assertTrue(0 <= arm < count)
            self.attempt("learn", agent.learn, features, self.make.real(), chance.randrange(-1, count + 2))
            self.attempt("learn_many", agent.learn_many, features, flat[:count])
            if chance.random() < 0.05:
                state = self.attempt("save", agent.save)
                if state:
                    bytes_ = bytearray(state)
                    bytes_[chance.randrange(len(bytes_))] ^= 1 << chance.randrange(8)
                    self.attempt("load", agent.load, bytes_)
            if chance.random() < 0.005:
                made = list(agents())[:3]

    def test_constructors(self):
        """Agents, worlds, losses and experiments from random arguments."""
        names = ["dimension", "arms", "horizon", "epsilon", "delta", "batch", "growth", "largest", "shufflers", "level",
                 "contributions", "honest", "calibration", "norm", "centre", "low", "high", "link", "bound", "failure", "seed",
                 "instance", "blocks", "constant", "radius", "deployed", "adaptive", "anytime", "public_arms", "adversarial"]
        learners = [row["name"] for row in faro.learners()] + ["nobody"]
        releases = [row["name"] for row in faro.releases()] + ["nothing"]
        worlds = [row["name"] for row in faro.environments()] + ["nowhere"]
        for _ in range(CALLS // 20):
            chance = self.chance
            given = dict(learner=chance.choice(learners), release=chance.choice(releases), dimension=chance.choice([1, 2, 3, 6]),
                         horizon=chance.choice([0, 10, 1000]), epsilon=chance.choice([0.1, 1, 10]), delta=1e-6, seed=1)
            for name in chance.sample(names, chance.choice([0, 1, 2, 3])):
                given[name] = self.make.scalar()
            agent = self.attempt("Agent", faro.Agent, **given)
            if agent is not None and agent.dimension < 50:
                self.attempt("choose", agent.choose, [[0.1] * agent.dimension] * 3)
                self.attempt("learn", agent.learn, [0.1] * agent.dimension, 1)
            given = dict(dimension=chance.choice([2, 3]), arms=chance.choice([2, 5]), horizon=20)
            for name in chance.sample(["reward", "draw", "population", "seed", "zeta", "skew", "spread", "norm"], 1):
                given[name] = self.make.scalar()
            world = self.attempt("World", faro.World, chance.choice(worlds), **given)
            if world is not None:
                for _ in range(22):
                    self.attempt("play", world.play, chance.choice([0, 1, 4, -1]))
            self.attempt("Loss", _faro.Loss, *self.make.arguments())
            self.attempt("Experiment", _faro.Experiment, *self.make.arguments(6))
            self.attempt("load_report", _faro.load_report, self.make.anything())

    def test_accountants(self):
        for _ in range(CALLS // 10):
            name = self.chance.choice([n for n in account.__all__ if n not in ("Answer", "PLD", "compose", "shuffle")])
            given = {}
            for key in ("epsilon", "delta", "sigma", "scale", "rho", "sensitivity", "local_epsilon", "users", "steps", "times",
                        "dimension", "grid", "noise_bits", "slack", "contributions"):
                if key in account.__dict__[name].__code__.co_varnames and self.chance.random() < 0.6:
                    given[key] = self.make.scalar() if self.chance.random() < 0.5 else self.chance.choice([1e-6, 0.5, 1, 3])
            if given.get("steps", 0) in (2**31,):
                continue  # allowed, and slow
            self.attempt(name, account.__dict__[name], **given)
            self.attempt("solve", _faro.solve, self.chance.choice(["gaussian_mu", "zcdp_rho", "response_delta", "x", 3]),
                         *[self.make.scalar() for _ in range(self.chance.choice([1, 2, 3]))])
            self.attempt("continual", _faro.continual, *[self.chance.choice([0, 1, 3, -1, math.nan, None, "x"]) for _ in range(3)])
            self.attempt("closed_form", _faro.closed_form, *[self.make.scalar() for _ in range(4)])


if __name__ == "__main__":
    unittest.main()
