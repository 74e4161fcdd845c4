"""Simulated environments, stepped from outside."""
from . import _faro
from ._agent import Agent


def known_of(world, learner, surrogate, calibration):
    """What a learner knows of a world in advance, as keywords of an agent: the twin of faro_cell_agent in src/sim."""
    facts = world.facts
    link = "linear" if surrogate or learner == "uniform" else facts["link"]
    centre = 0.0
    if link == "linear" and calibration == "tight" and facts["low"] == 0:
        centre = 0.5 if facts["link"] == "linear" else facts["mean_at_zero"]
    return dict(dimension=world.dimension, arms=world.arms.shape[0], norm=facts["norm"], centre=centre,
                low=facts["low"] - centre, high=facts["high"] - centre, link=link, bound=facts["bound"],
                blocks=facts["blocks"], adversarial=facts["adversarial"])


class World(_faro.World):
    """A simulated environment: arms, rewards and the regret, drawn from streams that (seed, instance) name.

    World(name, dimension=5, arms=100, horizon=10000, reward="bernoulli", draw=..., population=0, seed=1,
    instance=0, ...); names are those of faro.environments(), and an environment's own settings are keywords too:
    World("rows", file="people.csv", label="class") plays the rows of a file.

    >>> import faro
    >>> world = faro.World("linear-fixed", dimension=5, arms=10, horizon=2000, seed=1)
    >>> agent = world.agent(learner="linucb", release="none")
    >>> regret = 0.0
    >>> for _ in range(world.horizon):
    ...     features = world.arms
    ...     arm = agent.choose(features)
    ...     regret += world.gap(arm)
    ...     _ = agent.learn(features, world.play(arm), arm)
    >>> regret < 300
    True
    """

    __slots__ = ()

    def __new__(cls, name, **settings):
        """Lists of words become one text, as experiments write them: "a, b"."""
        return super().__new__(cls, name, **{key: ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else value
                                             for key, value in settings.items()})

    def agent(self, *, learner, release, surrogate=False, epsilon=1, delta=1e-6, calibration="tight", **options):
        """An agent that knows of this world what `faro run` tells its learners: bounds, horizon, link; and
        that has the same random streams, so it takes the same actions. At level user, learn with
        person=world.user, asked for before play."""
        if options.get("deployed"):
            raise _faro.InvalidError("deployed must be left out: a world is a simulation")
        if options.get("level", "event") != "user" and release != "none":
            self._check_once()
        known = dict(known_of(self, learner, surrogate, calibration), horizon=self.horizon, assumes=self.facts["assumes"],
                     seed=self.seed, instance=self.instance)
        return Agent(learner=learner, release=release, epsilon=epsilon, delta=delta, calibration=calibration,
                     **{**known, **options})

    def __repr__(self):
        return "<faro.World %s, round %d of %d, seed %d, instance %d: simulation>" % (
            self.name, self.round, self.horizon, self.seed, self.instance)
