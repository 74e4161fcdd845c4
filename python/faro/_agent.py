"""The agent: a learner behind a private release, stepped from outside."""
from dataclasses import dataclass

from . import _faro
from ._claim import Claim


@dataclass(frozen=True)
class Policy:
    """What an agent publishes: the rule by which a device chooses, and its numbers (faro/policy.h).

    `theta` and `w` are memoryviews of doubles; `w` is the lower triangle, row by row. `version` changes with
    every update.
    """

    rule: str
    theta: memoryview
    w: memoryview
    beta: float
    explore: float
    version: int


class Agent(_faro.Agent):
    """A learner behind a private release.

    An agent chooses arms for people and learns from their rewards through a release, which clips them and
    adds noise. A simulation takes a seed; a deployment (deployed=True) takes none, because its noise comes
    from the operating system. All arguments are keywords:

    learner, release   names, as faro.learners() and faro.releases() list them
    dimension          features per arm
    horizon            number of people; left out: unknown
    epsilon, delta     the guarantee to reach
    batch              people before the first release; left out: the release chooses, and how batches grow
    growth, largest    how batches grow
    shufflers          concurrent-bits only
    level, contributions   "event", or "user" with the most rounds of one person; then learn needs person=
    honest             share of a batch whose noise the claim counts on
    calibration        "tight" (by proof), "paper" or "figure" (as published)
    norm               features are scaled back to this norm; 1
    centre, low, high  rewards less the centre are clipped to low .. high; 0 .. 1
    link, bound        generalised linear rewards, for learners that know them
    adaptive, adversarial, anytime, public_arms, failure, arms   as in faro/agent.h
    seed, instance     simulation only
    deployed           True: noise from the operating system
    blocks             features come in blocks, of which a person uses one: products across blocks are left out
    assumes            what the claim assumes about the data: it is said in it
    constant, radius   how choose_context makes them: see faro.LinUCB, which sets them

    Settings of the learner's own (`faro list settings`) are keywords too. Threads may share an agent: the interpreter's
    lock is held during a call.

    >>> import faro
    >>> agent = faro.Agent(learner="linucb", release="central", dimension=2, horizon=1000, batch=1,
    ...                    epsilon=1, delta=1e-6, seed=1)
    >>> agent.choose([[1.0, 0.0], [0.0, 1.0]])
    0
    >>> agent.learn([1.0, 0.0], 1)
    True
    >>> print(agent.claim)
    (1, 1e-6), proven, trust joint, event level [simulation]
    """

    __slots__ = ()

    @property
    def claim(self):
        """What the agent guarantees, for everything published so far and until the horizon."""
        return Claim(**self._claim, simulation=not self.deployed)

    @property
    def policy(self):
        """What was published last, from which arms are chosen."""
        return Policy(**self._policy)

    def __repr__(self):
        given = self._arguments
        return "<faro.Agent %s behind %s, %s: %s>" % (
            given.get("learner"), given.get("release"),
            "deployed" if self.deployed else "simulation with seed %s" % given.get("seed"), self.claim)

    def __reduce__(self):
        if self.deployed:
            raise TypeError(
                "a deployed agent cannot be copied or pickled: two that continue from one state publish the same sums "
                "twice, and no claim covers that; save() it, and load() the state once")
        return _restore, (type(self), self._arguments, self.save(), self.batches, self.people)


def _restore(kind, arguments, state, batches, people):
    """An agent that continues from a state. A simulated one gets noise that was not drawn before."""
    if arguments.get("seed") is not None and batches > 0:
        arguments["instance"] = ((arguments.get("instance") or 0) + (batches << 40)) % 2**63
    agent = kind(**arguments)
    agent.load(state, people=people)
    return agent
