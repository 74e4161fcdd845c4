"""Experiments: reading, running, and what comes out."""
import csv
import difflib
import io
import json
import os
import sys

from . import _faro
from ._claim import Claim

_TEXT = {"label", "learner", "release", "calibration", "trust", "level", "standing", "by"}


class Results:
    """The results of a run.

    rows        a dictionary per algorithm and sweep point: pandas.DataFrame(results.rows)
    instances   a dictionary per instance
    curves      a dictionary per point of every curve
    claims      a Claim per row
    """

    def __init__(self, report, experiment=None):
        self._report, self._experiment = report, experiment
        self._document = json.loads(report.json())

    @property
    def name(self):
        """The experiment's name."""
        return self._document["experiment"]

    @property
    def rows(self):
        """A dictionary per algorithm and sweep point: summary.csv."""
        return _rows(self._report.summary_csv())

    @property
    def instances(self):
        """A dictionary per instance: instances.csv."""
        return _rows(self._report.instances_csv())

    @property
    def curves(self):
        """A dictionary per point of every curve: curves.csv."""
        return _rows(self._report.curves_csv())

    @property
    def claims(self):
        """The claim of each row."""
        return [_claim(row["claim"]) for row in self._document["results"]]

    @property
    def document(self):
        """Everything but the curves, as run.json has it."""
        return json.loads(self._report.json())

    def table(self, width=0, colour=False):
        """The table, as the command prints it; width in columns, 0: any."""
        return self._report.table(width, colour)

    def svg(self, size="screen"):
        """The figure: screen, one-column or two-column."""
        return self._report.figure(size)

    def html(self):
        """The page, with a figure that answers to the mouse."""
        return self._report.html()

    def latex(self):
        """The table for a paper, with booktabs."""
        return self._report.latex()

    def save(self, folder):
        """Writes run.json, the CSV files, a figure and report.html into a folder. Returns the folder."""
        folder = os.fspath(folder)
        os.makedirs(folder, exist_ok=True)
        self._report.write(folder)
        if self._experiment is not None:
            with open(os.path.join(folder, "experiment.yaml"), "w", encoding="utf-8") as file:
                file.write(self._experiment)
        return folder

    def _repr_html_(self):
        return self.svg() + "<pre>%s</pre>" % self.table().replace("&", "&amp;").replace("<", "&lt;")

    def __repr__(self):
        claims = dict.fromkeys("%s: %s" % (row["label"], claim) for row, claim in zip(self.rows, self.claims))
        return "<faro.Results of %s>\n%s\n%s" % (self.name, self.table(), "\n".join(claims))


def _claim(values):
    """A Claim from the claim of a document."""
    get = values.get
    local = get("local") or {}
    return Claim(epsilon=get("epsilon"), delta=get("delta"), trust=get("trust", "none"), level=get("level", "event"),
                 contributions=get("contributions") or 1, proven=get("standing") == "proven",
                 standing=get("standing", "no privacy"), by=get("by", ""), adversary_sees=get("adversary_sees", ""),
                 actions=get("actions", "others"), protects=get("protects", "all"), assumes=get("assumes"),
                 local_epsilon=local.get("epsilon", 0.0), local_delta=local.get("delta", 0.0), simulation=True)


def _column(name, values):
    """Numbers where all values of a column are numbers; None where there is none."""
    if name in _TEXT:
        return values
    for kind in int, float:
        try:
            return [None if value == "" else kind(value) for value in values]
        except ValueError:
            pass
    return values


def _rows(text):
    head, *lines = csv.reader(io.StringIO(text))
    columns = [_column(name, [line[i] for line in lines]) for i, name in enumerate(head)]
    return [dict(zip(head, values)) for values in zip(*columns)]


def _folders():
    return ["experiments", os.path.join(os.path.dirname(os.path.abspath(__file__)), "experiments")]


def _find(name):
    """The path of an experiment that is given by its name."""
    for folder in _folders():
        path = os.path.join(folder, name + ".yaml")
        if os.path.exists(path):
            return path
    names = [entry[:-5] for folder in _folders() if os.path.isdir(folder) for entry in os.listdir(folder)]
    near = difflib.get_close_matches(name, names, 1)
    raise _faro.InvalidError('no experiment "%s"%s; give a name, a path, the text of a YAML file, or a dictionary' % (
        name, '; did you mean "%s"' % near[0] if near else ""))


def _read(experiment):
    """Text, name of the file for messages, and name of the experiment or None."""
    if isinstance(experiment, dict):
        try:
            return json.dumps(experiment, indent=1, allow_nan=False), "experiment", "experiment"
        except (TypeError, ValueError) as error:
            raise _faro.InvalidError("experiment: %s" % error) from None
    if isinstance(experiment, str) and "\n" in experiment:
        return experiment, "experiment", "experiment"
    path = os.fspath(experiment)
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if isinstance(experiment, str) and not (os.sep in path or path.endswith(".yaml") or os.path.exists(path)):
        path = _find(path)
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read(), path, None


def _value(value):
    """A value as an experiment file writes it."""
    return value if isinstance(value, str) else json.dumps(value)


def _show(done, total, share):
    sys.stderr.write("\r%d of %d instances, %d %% of the rounds" % (done, total, 100 * share))
    sys.stderr.write("\n" if done == total else "")
    sys.stderr.flush()


def _prepare(folder, experiment, fresh):
    """Makes the folder; refuses one that holds the results of something else."""
    try:
        with open(os.path.join(folder, "run.json"), encoding="utf-8") as file:
            holds = json.load(file).get("identity")
    except (OSError, ValueError):
        holds = None
    if holds and not fresh and holds != experiment.identity:
        raise _faro.InvalidError("%s: holds the results of another experiment or of other settings; choose another "
                                 "out, or use fresh=True to replace them" % folder)
    os.makedirs(folder, exist_ok=True)


def run(experiment, *, set=None, quick=False, jobs=0, progress=None, out=None, fresh=False, name=None,
        shard=None):
    """Runs an experiment and returns its Results.

    experiment  a dictionary with the keys of an experiment file, its text, its path, or a name (`trust-models`)
    set         settings to override: {"epsilon": [0.5, 1], "instances": 5}
    quick       a small version: at most 2000 rounds and 4 instances
    jobs        threads; 0: one per processor. Results do not depend on it
    progress    True, or a function that is called with (instances done, all of them, share of the rounds)
    out         folder for everything that `faro run` writes; an interrupted run continues from there
    fresh       discards what the folder holds
    shard       (i, n): plays only part i of n, counted from 1, into the folder, and returns None; or "auto", from the
                variables that SLURM and MPI set. Any number of processes may do this; faro.merge(folder) makes the results

    Control-C stops the run within a second, with KeyboardInterrupt.
    """
    text, file, known = _read(experiment)
    overrides = tuple((key, _value(value)) for key, value in (set or {}).items())
    made = _faro.Experiment(text, file, name or known, overrides, quick, None)
    progress = _show if progress is True else progress or None
    if out is None and shard is not None:
        raise _faro.InvalidError("shard needs out, a folder that all shards share")
    if out is None:
        return Results(made.run(jobs, None, None, fresh, progress), text)
    folder = os.fspath(out)
    _prepare(folder, made, fresh)
    if shard is not None:
        made.run_shard(shard if isinstance(shard, str) else "%d/%d" % tuple(shard), jobs, folder, fresh, progress)
        return None
    results = Results(made.run(jobs, folder, os.path.join(folder, "instances.journal"), fresh, progress), text)
    with open(os.path.join(folder, "experiment.yaml"), "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
    return results


def merge(folder):
    """The Results of a folder into which all shards of an experiment were played. Refuses while some are missing, and
    instances that differ from one journal to another."""
    folder = os.fspath(folder)
    return Results(_faro.recall(folder).merge(folder))


def report(source, out=None):
    """The Results of a folder that a run wrote, or those given; written to the folder `out` if there is one."""
    results = source if isinstance(source, Results) else Results(_faro.load_report(os.fspath(source)))
    if out is not None:
        results.save(out)
    return results
