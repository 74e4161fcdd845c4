"""Which release, learner and schedule suit a problem."""
from . import _faro
from ._agent import Agent
from ._claim import Claim
from ._world import World, known_of

_TRUSTS = ("none", "joint", "local", "shuffle", "concurrent")  # the order of faro/privacy.h


def _world(problem):
    """The environment on which a plan plays, as its experiments name it."""
    if problem["rewards"] == "linear":
        name = {"fresh": "linear-iid", "fixed": "linear-fixed", "adversarial": "linear-adversarial"}[problem["contexts"]]
        own = {}
    else:
        name, own = "glm-" + problem["rewards"], {"contexts": problem["contexts"]}
    return World(name, dimension=problem["dimension"], arms=problem["arms"], horizon=2, **own)


class Way:
    """One way to learn under one trust model: learner, release, schedule, what to expect, and the claim.

    Attributes: learner, release, trust, shufflers, batch, growth, largest, updates, regret (with its interval low ..
    high), learnt, bytes (that a user sends), noise, chosen, needed, claim, experiment (YAML for faro.run).
    """

    def __init__(self, values, problem):
        self.__dict__.update(values, claim=Claim(**values["claim"], simulation=True))
        self._problem = problem

    def agent(self, **options):
        """An agent as the plan played it; give seed= for a simulation or deployed=True. It counts on what the plan
        counts on: features of norm 1 and, for linear rewards in 0 .. 1, a constant among them."""
        p = self._problem
        contributions = p.get("contributions", 0)
        known = known_of(_world(p), self.learner, self.surrogate, "tight")
        known.update(learner=self.learner, release=self.release, epsilon=p["epsilon"], delta=p["delta"],
                     horizon=p["users"] * max(1, contributions), shufflers=self.shufflers, honest=p.get("honest", 0.9))
        if not self.automatic:
            known.update(batch=self.batch, growth=self.growth, largest=self.largest)
        if contributions > 0:
            known.update(level="user", contributions=contributions)
        return Agent(**{**known, **options})

    def row(self):
        """A flat dictionary, for a data frame."""
        names = ("trust", "learner", "release", "shufflers", "batch", "growth", "largest", "updates", "regret", "low",
                 "high", "learnt", "bytes", "noise", "chosen", "needed")
        return {**{name: getattr(self, name) for name in names}, "claim": str(self.claim)}

    def __repr__(self):
        return "<faro.Way %s behind %s, regret %.0f (%.0f to %.0f), learnt %.0f %%: %s>" % (
            self.learner, self.release, self.regret, self.low, self.high, 100 * self.learnt, self.claim)


class Plan(list):
    """The ways for a problem, by trust model: the recommended one of each first.

    `chosen` are the recommended ones, `uniform` is the regret of playing at random, `refused` the number of ways
    that cannot reach the guarantee, and `refusal` why.
    """

    def __init__(self, advice, problem):
        super().__init__(Way(way, problem) for way in advice["ways"])
        self.uniform, self.error, self.rounds = advice["uniform"], advice["error"], advice["rounds"]
        self.refused, self.refusal = advice["refused"], advice["refusal"]

    @property
    def chosen(self):
        """The recommended way of each trust model."""
        return [way for way in self if way.chosen]

    @property
    def rows(self):
        """A flat dictionary per way, for a data frame."""
        return [way.row() for way in self]

    def __repr__(self):
        lines = ["%-12s %-12s %-20s %8s  %6s  %s" % ("trust", "learner", "release", "regret", "learnt", "claim")]
        lines += ["%-12s %-12s %-20s %8.0f  %4.0f %%  %s" % (
            w.trust, w.learner, w.release, w.regret, 100 * w.learnt, w.claim) for w in self.chosen]
        return "\n".join(lines + ["playing at random: regret %.0f" % self.uniform])


def plan(*, users, dimension, arms, epsilon, delta, contexts="fresh", rewards="linear", contributions=0, trusts=(),
         shufflers=0, honest=0.9, simulate=False, seed=0, instances=0, jobs=0, progress=None):
    """Which release, learner and schedule suit a problem, before anything is run (faro/plan.h).

    trusts: who is there, some of joint (a trusted server), shuffle, concurrent, local; left out: all of them.
    honest: the share of a batch that does not collude with the server, on whose noise claims count.
    progress: called with (done, total, share) now and then; an exception in it stops the work.
    """
    bits = 0
    for name in [trusts] if isinstance(trusts, str) else trusts:
        if name not in _TRUSTS:
            raise _faro.InvalidError("trusts must be some of %s (got %r)" % (", ".join(_TRUSTS), name))
        bits |= 1 << _TRUSTS.index(name)
    problem = dict(users=users, dimension=dimension, arms=arms, epsilon=epsilon, delta=delta, contexts=contexts,
                   rewards=rewards, contributions=contributions, shufflers=shufflers, honest=honest)
    advice = _faro.plan(**problem, trusts=bits, simulate=simulate, seed=seed, instances=instances, jobs=jobs,
                        progress=progress)
    return Plan(advice, problem)
