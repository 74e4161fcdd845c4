#!/usr/bin/env python3
"""Edits everything that run.json records of claims, one member at a time, and lies that keep several members consistent.

faro verify must notice each edit (exit status not 0), or name what was edited in its line "taken as recorded".

    edits.py FARO [--every N] [--jobs N] [RELEASE]...
"""

import argparse
import concurrent.futures
import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile

RELEASES = [
    "central", "central-laplace", "central-tree", "central-factored", "central-bits", "shuffle-bits", "concurrent-bits",
    "shuffle-gaussian", "shuffle-response", "shuffle-laplace", "local-gaussian",
]
EXPERIMENT = """
title: one of each
environment: {name: linear-fixed, dimension: 3, arms: 10, reward: bernoulli}
horizon: 4000
instances: 1
batch: 100
algorithms:
"""

# Rows in which batches have several sizes.
SIZES = {"growing": "release: shuffle-laplace, growth: 2, largest: 200", "adaptive": "release: shuffle-bits, adaptive: true, largest: 200"}
# Members of a result that are about its claim.
MEMBERS = ["claim", "grounds", "settings", "learner", "release", "epsilon", "delta", "rounds", "instances", "region", "bytes_per_user",
           "bits_per_user", "messages_per_user", "refused"]

# What a word may be swapped for, wherever it stands.
WORDS = [
    ["joint", "central", "local", "shuffle", "concurrent"], ["event", "user"], ["hidden", "others", "all", "rewards"],
    ["proven", "not proven", "no privacy"], ["tight", "paper", "figure"], ["moments", "gram", "rewards", "values", "ball"],
    ["linear", "logistic", "probit"], ["gaussian", "tree", "factored", "laplace", "bits", "response"],
    ["auto", 50], ["none", 0.5], ["new", 1000], ["bernoulli", "deterministic"], ["linucb", "sum", "pe", "glm-joint"],
    ["sphere-appended", "sphere", "axes", "sphere-published"], ["linear-fixed", "linear-iid", "rows", "bits-random", "of my own"],
    [*RELEASES, "none"],
]


def swaps(value):
    """Other values of a member."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, (int, float)):
        return [v for v in (value * 0.5, value * 0.999, value * 2, value + 1) if v != value]
    if value is None:
        return [{"epsilon": 0.01, "delta": 0}, "nothing"]
    if re.fullmatch(r"\d+", value):
        return [str(int(value) // 2), str(int(value) * 999 // 1000), str(int(value) * 2), str(int(value) + 1)]
    found = [other for words in WORDS if value in words for other in words if other != value]
    return found or ["another"]


def walk(value, path=()):
    """(path, leaf or container) of all members below."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key), inner
            yield from walk(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield (*path, index), inner
            yield from walk(inner, (*path, index))


def put(result, path, value):
    *way, last = path
    for step in way:
        result = result[step]
    result[last] = value


def remove(result, path):
    *way, last = path
    for step in way:
        result = result[step]
    del result[last]


def single(result):
    """(what was done, the members that were edited, the edited result)"""
    for part in (m for m in MEMBERS if m in result):
        for path, value in [((part,), result[part]), *walk(result[part], (part,))]:
            name = ".".join(map(str, path))
            if not isinstance(value, (dict, list)):
                for other in swaps(value):
                    edited = copy.deepcopy(result)
                    put(edited, path, other)
                    yield f"{name}: {value!r} -> {other!r}", [path], edited
            edited = copy.deepcopy(result)
            remove(edited, path)
            yield f"{name}: deleted", [path], edited


def scale_noise(grounds, factor):
    """Less noise, of whatever kind."""
    for _, value in walk({"grounds": grounds}):
        if not isinstance(value, dict):
            continue
        if "sd" in value:
            value["sd"] = [sd * factor for sd in value["sd"]]
        if "scale" in value:
            value["scale"] *= factor
        if "bits" in value:
            value["bits"] = max(1, int(value["bits"] * factor * factor))
        if "threshold" in value:
            value["threshold"] = str(min(2**64 - 2**40, int(int(value["threshold"]) / factor)))


def lies(result, others):
    """Lies in which several members agree, as (what, edited members that may be named, result)."""
    def edit(what, members, change):
        edited = copy.deepcopy(result)
        if change(edited) is not False:
            yield what, [(m,) for m in members], edited

    claim, grounds, settings = result["claim"], result["grounds"], result["settings"]

    def user(r, alike):
        r["claim"].update(level="user", contributions=50)
        if alike:
            r["settings"].update(level="user", contributions=50)

    yield from edit("level user, 50 rounds", [], lambda r: user(r, False))
    yield from edit("level user, 50 rounds, settings alike", [], lambda r: user(r, True))

    def once(r):
        r["claim"].update(level="user", contributions=1)
        r["settings"].update(level="user")
    yield from edit("level user, one round, settings alike", ["level"], once)

    def without(r, **members):
        del r["settings"]
        r["claim"].update(members)
    yield from edit("no settings, actions hidden", [], lambda r: without(r, actions="hidden"))
    yield from edit("no settings, an assumption", [], lambda r: without(r, assumes="all is well"))

    def fewer(r):
        user(r, True)
        r["settings"].update(horizon=100)
        r["rounds"] = 100
        r["grounds"].update(batches=1, people=100)
        if "releases" in r["grounds"]:
            r["grounds"]["releases"] = 1
        if "levels" in r["grounds"]:
            r["grounds"]["levels"] = r["grounds"]["levels"][:1]
    yield from edit("level user and one batch, settings alike", ["horizon", "people"], fewer)

    other = "shuffle" if claim["trust"] == "local" else "local"
    views = {"local": "every message of every user", "shuffle": "the shuffled messages of each batch"}
    yield from edit("another trust", [], lambda r: r["claim"].update(trust=other))
    yield from edit("another trust, with its view", [], lambda r: r["claim"].update(
        trust=other, adversary_sees=views[other] + ", and the actions of all users"))
    yield from edit("another trust, settings alike", [], lambda r: (
        r["claim"].update(trust=other, adversary_sees=views[other] + ", and the actions of all users"),
        r["settings"].update(release="local-gaussian"), r.update(release="local-gaussian")) and None)
    yield from edit("actions others, with their view", [], lambda r: r["claim"].update(
        actions="others", adversary_sees=claim["adversary_sees"].replace(", and the actions of all users", "")))
    yield from edit("no local part", ["local"] if claim["trust"] in ("shuffle", "concurrent") else ["by"],
                    lambda r: r["claim"].update(local=None))
    yield from edit("a local part of 1.0005 times epsilon", ["local.epsilon"], lambda r: r["claim"].update(
        local={**claim["local"], "epsilon": 1.0005 * claim["local"]["epsilon"]}) if claim["local"] else False)
    yield from edit("a local part", [], lambda r: r["claim"].update(local={"epsilon": 0.01, "delta": 0}))
    yield from edit("another local part", [], lambda r: r["claim"].update(local={"epsilon": 0.01, "delta": claim["delta"]}))
    yield from edit("rewards only", [], lambda r: r["claim"].update(protects="rewards"))
    yield from edit("rewards only, settings alike", [], lambda r: (
        r["claim"].update(protects="rewards"), r["settings"].update(protect="rewards")) and None)
    yield from edit("an assumption", [], lambda r: r["claim"].update(assumes="the columns' ranges are public"))
    yield from edit("settings.epsilon", [], lambda r: r["settings"].update(epsilon=0.1))
    yield from edit("settings.epsilon and the result's", [], lambda r: (
        r["settings"].update(epsilon=0.1), r.update(epsilon=0.1)) and None)
    yield from edit("epsilon everywhere", [], lambda r: (
        r["settings"].update(epsilon=0.1), r.update(epsilon=0.1), r["claim"].update(epsilon=0.1)) and None)
    yield from edit("delta everywhere", [], lambda r: (
        r["settings"].update(delta=1e-9), r.update(delta=1e-9), r["claim"].update(delta=0 if claim["delta"] == 0 else 1e-9),
        None if claim["delta"] else r["grounds"].update(repeats=2)) and None)
    for one in others:
        if one["label"] != result["label"]:
            yield from edit(f"grounds of {one['label']}", [], lambda r: r.update(grounds=copy.deepcopy(one["grounds"])))

    def contribution(r, **members):
        r["grounds"]["contribution"].update(members)
    yield from edit("norm 0.5", [], lambda r: contribution(r, norm=0.5))
    yield from edit("norm 0.5, less noise", [], lambda r: (contribution(r, norm=0.5), scale_noise(r["grounds"], 0.5)) and None)
    yield from edit("rewards of a tenth", [], lambda r: contribution(r, low=-0.05, high=0.05))
    yield from edit("rewards of a tenth, less noise", [], lambda r: (
        contribution(r, low=-0.05, high=0.05), scale_noise(r["grounds"], 0.9)) and None)
    yield from edit("dimension 1", [], lambda r: contribution(r, dimension=1))
    yield from edit("dimension 2, settings alike, less noise", ["dimension"], lambda r: (
        contribution(r, dimension=2), r["settings"].update(dimension=2), scale_noise(r["grounds"], 0.999)) and None)
    for form in ("gram", "values", "ball", "rewards"):
        yield from edit(f"form {form}, less noise", [], lambda r: (
            contribution(r, form=form), scale_noise(r["grounds"], 0.67)) and None)
    yield from edit("less noise", [], lambda r: scale_noise(r["grounds"], 0.999))

    if "releases" in grounds:
        def releases(r, alike):
            r["grounds"]["releases"] = 4
            if alike:
                r["grounds"].update(batches=4, people=400)
            scale_noise(r["grounds"], 0.71 if grounds["mechanism"] == "tree" else 0.9)
        yield from edit("4 releases, less noise", [], lambda r: releases(r, False))
        yield from edit("4 releases and batches, less noise", [], lambda r: releases(r, True))
        yield from edit("4 releases and batches, horizon 400, less noise", ["horizon"], lambda r: (
            releases(r, True), r["settings"].update(horizon=400), r.update(rounds=400)) and None)
    if len(grounds.get("levels", [])) > 1:
        def lowest(r, factor):
            r["grounds"]["levels"] = r["grounds"]["levels"][:1]
            scale_noise(r["grounds"], factor ** 0.5)
        count = len(grounds["levels"])
        yield from edit("one level", [], lambda r: lowest(r, 1))
        yield from edit("one level, less noise", [], lambda r: lowest(r, 1 / count))
        yield from edit("one level and one shuffler, less noise", ["shufflers"] if "concurrent" in result["label"] else [],
                        lambda r: (lowest(r, 1 / count), r["settings"].update(shufflers=1)) and None)
    if len(grounds.get("classes") or grounds.get("levels", [{}])[0].get("nodes", [])) > 1:
        def sizes(r, first, last):
            for level in r["grounds"].get("levels") or [{"nodes": r["grounds"]["classes"]}]:
                del level["nodes"][first:last]
        yield from edit("batches of one size only", [], lambda r: sizes(r, 1, None))
        yield from edit("batches of the first size not listed", [], lambda r: sizes(r, 0, 1))
    classes = grounds.get("classes") or [node for level in grounds.get("levels", []) for node in level["nodes"]]
    if any("mixed" in c for c in classes) or any(c.get("honest", 1) > 1 for c in classes):
        def company(r, factor, users):
            g = r["grounds"]
            for c in g.get("classes") or [n for level in g["levels"] for n in level["nodes"]]:
                name = "mixed" if "mixed" in c else "honest"
                c[name] *= factor
                if users:
                    c["users"] *= factor
            scale_noise(g, factor ** -0.5)
        yield from edit("ten times the honest, less noise", [], lambda r: company(r, 10, False))
        yield from edit("a thousand times the honest, less noise", [], lambda r: company(r, 1000, False))
        yield from edit("ten times the users, less noise", ["users"], lambda r: company(r, 10, True))
        yield from edit("ten times the users and batch, less noise", ["batch", "users"], lambda r: (
            company(r, 10, True), r["settings"].update(batch=1000), r["grounds"].update(batches=4)) and None)
    elif grounds["mechanism"] in ("gaussian", "laplace") and "classes" in grounds:
        def mixes(r):
            for c in r["grounds"]["classes"]:
                c.update(mixed=100)
                if grounds["mechanism"] == "gaussian":
                    c.update(epsilon0=2, delta0=1e-12)
            scale_noise(r["grounds"], 0.5)
        yield from edit("mixed where nothing mixes, less noise", [], mixes)
    if "step" in grounds:
        def step(r, grid):
            r["grounds"]["step"] *= 10
            if grid:
                r["grounds"]["grid"] = round(grounds["grid"] / 10)
            scale_noise(r["grounds"], 1 / 60 ** 0.5)
        yield from edit("ten times the step, less noise", [], lambda r: step(r, False))
        yield from edit("ten times the step, a tenth of the grid, less noise", [], lambda r: step(r, True))
    yield from edit("another environment, bounds alike", ["environment"], lambda r: (
        r["settings"].update(environment="of my own"), contribution(r, norm=0.5)) and None)
    assert settings["level"] == "event"


def names_of(path):
    """How the line may name a member: by itself, or as an element of a list, or within an object of the claim."""
    words = [step for step in path if isinstance(step, str)]
    return [words[-1], ".".join(words[-2:])]


def judge(faro, folder, document, work):
    """What was said of each edit: noticed, named (as recorded) or neither. One process checks many files, until one is refused."""
    files = {}
    for number, (_, _, _, paths, edited) in enumerate(work):
        file = folder / f"{id(work)}-{number}.json"
        file.write_text(json.dumps({**document, "results": [edited]}))
        files[file.name] = [name for path in paths for name in names_of(path)]
    said = {}
    left = list(files)
    while left:
        run = subprocess.run([faro, "verify", "--json", *(str(folder / f) for f in left)], capture_output=True, text=True, check=False)
        for line in map(json.loads, run.stdout.splitlines()):
            file = pathlib.Path(line["run"]).name
            members = [m for m in files[file] if m in (line["recorded"] or {})]
            said[file] = "noticed" if line["verdict"] != "verified" else "named" if members else "neither"
        refused = [f for f in left if f in run.stderr]
        if run.returncode not in (0, 1, 3) or (run.returncode == 3) != bool(refused):
            raise SystemExit(f"status {run.returncode}: {run.stderr}")
        for file in refused:
            said[file] = "noticed"
        left = left[left.index(refused[0]) + 1:] if refused else []
    for file in files:
        (folder / file).unlink()
    return [said.get(file, "neither") for file in files]


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("faro")
    arguments.add_argument("--every", type=int, default=1, help="only every N-th edit")
    arguments.add_argument("--jobs", type=int, default=1)
    arguments.add_argument("--table", action="store_true", help="print what was done with each lie of several members")
    arguments.add_argument("--run", help="edit the results of this run.json, in place of one of each release")
    arguments.add_argument("releases", nargs="*", default=[])
    a = arguments.parse_args()
    releases = a.releases or [*RELEASES, *SIZES]
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        folder = pathlib.Path(name)
        if not a.run:
            rows = "".join(f"  - {{label: {r}, learner: linucb, {SIZES.get(r, f'release: {r}')}}}\n" for r in releases)
            (folder / "one.yaml").write_text(EXPERIMENT + rows)
            subprocess.run([a.faro, "run", str(folder / "one.yaml"), "--quiet", "--out", str(folder / "out")],
                           check=True, stdout=subprocess.DEVNULL)
        document = json.loads(pathlib.Path(a.run or folder / "out/run.json").read_text())
        results = [{k: v for k, v in r.items() if k not in ("curve", "each")} for r in document["results"]
                   if r["claim"]["proven"]]
        untouched = [("", r["label"], "", [("horizon",)], r) for r in results]
        assert judge(a.faro, folder, document, untouched) == ["named"] * len(results)
        work = []
        for result in results:
            work += [("single", result["label"], *edit) for edit in single(result)][:: a.every]
            if not a.run:
                work += [("lie", result["label"], *edit) for edit in lies(result, results)][:: a.every]
        parts = [work[i:i + 50] for i in range(0, len(work), 50)]
        found = [v for part in pool.map(lambda w: judge(a.faro, folder, document, w), parts) for v in part]
    count = {}
    for (kind, label, what, _, _), verdict in zip(work, found):
        count[kind, verdict] = count.get((kind, verdict), 0) + 1
        if verdict == "neither" or (a.table and kind == "lie"):
            print(f"{verdict}: {label}: {what}")
    for kind in ("single", "lie"):
        total = {v: n for (k, v), n in count.items() if k == kind}
        print(f"{kind}: {sum(total.values())} edits, {total.get('noticed', 0)} noticed, {total.get('named', 0)} named only, "
              f"{sum(total.values()) - total.get('noticed', 0) - total.get('named', 0)} neither")
    return 0 if all(v in ("noticed", "named") for v in found) else 1


if __name__ == "__main__":
    sys.exit(main())
