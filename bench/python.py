#!/usr/bin/env python3
"""Nanoseconds per choose (100 x 5) and learn from C and from Python, in one run, and the differences.

    bench/python.py build/bench/benchmarks/bench_agent build/bench/python [--check]

Processor time, the least of many repetitions; C and Python take turns, so that a slow period affects both. With --check
it fails where Python takes more than 300 ns (choose) or 150 ns (learn) longer.
"""
import array, gc, math, subprocess, sys, time

PROGRAM, FOLDER = sys.argv[1:3]
sys.path.insert(0, FOLDER)
import faro  # noqa: E402

DIMENSION, ARMS, TURNS, REPEATS, CALLS = 5, 100, 12, 12, 2000
LIMIT = {"choose": 300, "learn": 150}


def matrix():
    """The same features as in bench_agent.c."""
    rows = []
    for a in range(ARMS):
        row = [math.sin(1 + a * DIMENSION + i) for i in range(DIMENSION)]
        length = math.sqrt(sum(v * v for v in row))
        rows += [v / length for v in row]
    flat = array.array("d", rows)
    try:
        import numpy
        return numpy.array(flat).reshape(ARMS, DIMENSION), "numpy arrays"
    except ImportError:
        return memoryview(flat).cast("B").cast("d", (ARMS, DIMENSION)), "memoryviews"


def rows_of(features):
    try:
        return [features[a] for a in range(ARMS)]
    except NotImplementedError:  # memoryviews have no rows
        flat = features.cast("B").cast("d")
        return [flat[a * DIMENSION:(a + 1) * DIMENSION] for a in range(ARMS)]


def nothing(rows):
    for _ in range(CALLS // ARMS):
        for _ in rows:
            pass


def least(work):
    best = math.inf
    for _ in range(REPEATS):
        start = time.process_time_ns()
        work()
        best = min(best, (time.process_time_ns() - start) / CALLS)
    return best


def measure(release, batch, features, rows):
    agent = faro.Agent(learner="greedy", release=release, dimension=DIMENSION, arms=ARMS, horizon=10**10, epsilon=1,
                       delta=1e-6, batch=batch, seed=1)
    choose, learn = agent.choose, agent.learn

    def choose_all():
        for _ in range(CALLS):
            choose(features)

    def learn_all():
        for _ in range(CALLS // ARMS):
            for x in rows:
                learn(x, 0.5)

    learn_all()
    loop = least(lambda: nothing(rows))
    return {("choose", release): least(choose_all) - loop, ("learn", release): least(learn_all) - loop}


def in_c():
    lines = subprocess.run([PROGRAM], check=True, capture_output=True, text=True).stdout.split("\n")
    return {tuple(line.split()[:2]): float(line.split()[2]) for line in lines if line}


def main():
    gc.disable()
    features, kind = matrix()
    rows = rows_of(features)
    best = {"C": {}, "Python": {}}
    for _ in range(TURNS):
        turn = {"C": in_c(), "Python": {}}
        for release, batch in (("none", 1), ("shuffle-bits", 500)):
            turn["Python"].update(measure(release, batch, features, rows))
        for who in best:
            for key, value in turn[who].items():
                best[who][key] = min(value, best[who].get(key, math.inf))
    print("nanoseconds per call, %d arms x %d, %s" % (ARMS, DIMENSION, kind))
    print("%-8s %-14s %8s %8s %10s %8s" % ("", "release", "C", "Python", "difference", "limit"))
    over = False
    for key in sorted(best["C"]):
        more = best["Python"][key] - best["C"][key]
        over |= more > LIMIT[key[0]]
        print("%-8s %-14s %8.0f %8.0f %10.0f %8d" % (*key, best["C"][key], best["Python"][key], more, LIMIT[key[0]]))
    return 1 if over and "--check" in sys.argv else 0


sys.exit(main())
