#!/usr/bin/env python3
"""How good is the planner?  table.py FARO FOLDER [NAME...]

For every problem of problems.csv (or the ones named) this sweeps all releases of its trust model, two learners and
many schedules by full simulation, plays the best three and the planner's first choice again on new instances, and
prints a table (QUICK=1: a smaller sweep): what the planner chose, what it predicted, what that regrets, and the best of the sweep. FOLDER keeps
the sweeps, so that a second call only asks the planner again. A full table takes an hour of CPU."""
import csv, math, os, re, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
RELEASES = {
    "server": ["central-factored", "central", "central-tree", "central-bits", "central-laplace"],
    "shuffler": ["shuffle-bits", "shuffle-amplified", "shuffle-laplace"],
    "shufflers": ["shuffle-bits", "concurrent-bits"],
    "nobody": ["local", "local-bits", "local-laplace"],
}
SHARES = [5, 10, 20, 50, 100, 200, 400, 1000]  # batches of one size: the users divided by these
if os.environ.get("QUICK"):  # the releases that were ever best, and fewer schedules: some minutes
    RELEASES = {"server": ["central-factored", "central", "central-laplace"], "shuffler": ["shuffle-bits"],
                "shufflers": ["shuffle-bits", "concurrent-bits"], "nobody": ["local"]}
    SHARES = [10, 20, 50, 100, 200, 400]


def problems(names):
    rows = list(csv.DictReader(open(os.path.join(HERE, "problems.csv"))))
    return [r for r in rows if (r["name"] in names if names else r["role"] == "held-out")]


def schedules(p, release):
    n = int(p["users"])
    one_size = [{"batch": max(2, n // s)} for s in SHARES]
    if release == "concurrent-bits":
        return [dict(s, shufflers=k) for k in range(2, int(p["shufflers"]) + 1) for s in one_size[1:] if s["batch"] << k <= n]
    grown = [{"batch": max(2, n // s), "growth": 2, "largest": n // most} for s in (30, 100, 300, 1000) for most in ((10, 20) if os.environ.get("QUICK") else (10, 20, 50))]
    slow = [{"batch": 50, "growth": 1.2, "largest": n // most} for most in (20, 50, 100)]
    return one_size + grown + slow


def sweep_list(p):
    for release in RELEASES[p["trust"]]:
        for s in schedules(p, release):
            for learner in ("posterior", "greedy"):
                if learner == "greedy" and s.get("growth") == 2:
                    continue
                yield dict(s, learner=learner, release=release)


def label(a):
    return " ".join(f"{k}={v}" for k, v in sorted(a.items()))


def write_yaml(p, algorithms, instances, seed, path):
    env = {"fixed": "linear-fixed", "fresh": "linear-iid"}[p["contexts"]]
    with open(path, "w") as out:
        print(f"environment: {{name: {env}, dimension: {p['dimension']}, arms: {p['arms']}}}", file=out)
        print(f"horizon: {p['users']}\ninstances: {instances}\nseed: {seed}", file=out)
        print(f"epsilon: {p['epsilon']}\ndelta: {float(p['delta']):.0e}\nalgorithms:", file=out)
        for a in algorithms:
            parts = ", ".join(f"{k}: {v}" for k, v in a.items())
            print(f'  - {{label: "{label(a)}", {parts}}}', file=out)


def simulate(faro, folder, p, name, algorithms, instances, seed):
    """The mean regrets by label, from FOLDER/NAME.csv if it is there."""
    kept = os.path.join(folder, name + ".csv")
    if not os.path.exists(kept):
        path = os.path.join(folder, name + ".yaml")
        write_yaml(p, algorithms, instances, seed, path)
        done = subprocess.run([faro, "run", path, "--csv", "--quiet", "--jobs", "1", "--out", os.path.join(folder, name)],
                              stdout=subprocess.PIPE, text=True, check=True)
        with open(kept + ".part", "w") as out:
            out.write(done.stdout)
        os.rename(kept + ".part", kept)
    return {r["label"]: (float(r["regret_mean"]), float(r["regret_se"])) for r in csv.DictReader(open(kept))}


def sweep(faro, folder, p):
    algorithms = {label(a): a for a in sweep_list(p)}
    found = simulate(faro, folder, p, p["name"] + "-sweep", list(algorithms.values()), 4, 1)
    best = sorted(found, key=lambda k: found[k][0])[:3]
    again = simulate(faro, folder, p, p["name"] + "-best", [algorithms[k] for k in best], 16, 2)
    return min((again[k][0], k) for k in again)


def ask(faro, folder, p):
    """What the planner takes and predicts: the first choice's words, prediction, low, high, and its experiment."""
    path = os.path.join(folder, p["name"] + "-plan.yaml")
    asked = [faro, "plan", "--quiet", "--json", "--honest", "1", "--write", path]
    for key in ("users", "dimension", "arms", "epsilon", "delta", "contexts", "rewards", "trust", "shufflers"):
        if p[key] != "0":
            asked += ["--" + key, p[key]]
    text = subprocess.run(asked, stdout=subprocess.PIPE, text=True, check=True).stdout
    found = lambda key: re.search(rf'"{key}": "?([^",\n]+)', text).group(1)
    words = f"{found('release')}, {found('learner')}, {found('batch')} to {found('largest')}"
    if found("shufflers") not in ("0", "1"):
        words += f", {found('shufflers')} shufflers"
    return words, float(found("mean")), float(found("low")), float(found("high")), path


def simulate_choice(faro, path):
    done = subprocess.run([faro, "run", path, "--set", "instances=16", "--set", "seed=2", "--csv", "--quiet", "--jobs", "1",
                           "--fresh", "--out", path[:-5]], stdout=subprocess.PIPE, text=True, check=True)
    return float(next(csv.DictReader(done.stdout.splitlines()))["regret_mean"])


if __name__ == "__main__":
    faro, folder = sys.argv[1:3]
    os.makedirs(folder, exist_ok=True)
    near = close = count = 0
    print("| problem | planner's choice | predicted | simulated | factor | best of sweep | above it |\n|---|---|---|---|---|---|---|")
    for p in problems(sys.argv[3:]):
        words, mean, low, high, path = ask(faro, folder, p)
        regret = simulate_choice(faro, path)
        best, how = sweep(faro, folder, p)
        factor, above = math.exp(abs(math.log(mean / regret))), regret / best - 1
        near, close, count = near + (above <= 0.1), close + (factor <= 1.5), count + 1
        print(f"| `{p['name']}` | {words} | {mean:.0f} ({low:.0f} .. {high:.0f}) | {regret:.0f} | {factor:.2f} | {best:.0f}: {how} "
              f"| {100 * above:+.0f} % |", flush=True)
    print(f"\nwithin 10 % of the sweep: {near} of {count}; predicted within a factor of 1.5: {close} of {count}")
