"""Learners for contexts, with the verbs of the libraries that people know.

A context is one vector per person, the same for all arms, and every arm has a parameter of its own: the features
of arm a are zero but for block a, which holds the context and, unless intercept=False, a 1.
"""
import math

from . import _faro
from ._agent import Agent


def _array(x):
    """Data frames, series and arrays of other types as something that exports doubles; lists stay lists."""
    if hasattr(x, "to_numpy"):
        x = x.to_numpy(dtype=float)
    flags = getattr(x, "flags", None)
    if flags is not None and hasattr(x, "astype") and not (x.dtype == float and flags.c_contiguous):
        x = x.astype(float, order="C", casting="safe")
    return x


def _as_list(x):
    return x.tolist() if hasattr(x, "tolist") else list(x)


class _Learner:
    """What all learners for contexts share."""

    learner = None
    len_list = 1  # OBP: one action per person

    def __init__(self, arms, dimension, *, release, epsilon=None, delta=None, horizon=None, batch=None, norm=1.0,
                 intercept=True, low=0.0, high=1.0, seed=None, deployed=False, **options):
        self.arms, self.dimension, self.release, self.epsilon, self.delta = arms, dimension, release, epsilon, delta
        self.horizon, self.batch, self.norm, self.intercept = horizon, batch, norm, intercept
        self.low, self.high, self.seed, self.deployed, self.options = low, high, seed, deployed, options
        self._labels = list(range(arms)) if isinstance(arms, int) else list(arms)
        self._index = {label: i for i, label in enumerate(self._labels)}
        if len(self._labels) < 2 or len(self._index) != len(self._labels):
            raise _faro.InvalidError("arms must be a number above 1, or a list of different names (got %r)" % (arms,))
        if not 0 < norm < math.inf:
            raise _faro.InvalidError("norm must be above 0: contexts are scaled back to it (got %r)" % (norm,))
        if not -math.inf < low < high < math.inf:
            raise _faro.InvalidError("low must be below high: rewards are clipped to them (got %r and %r)" % (low, high))
        width = dimension + bool(intercept)
        # with a constant among the features, a centre only moves the parameter, and halves what a reward can move
        centre = (low + high) / 2 if intercept else 0.0
        self.agent = Agent(learner=self.learner, release=release, dimension=width * len(self._labels), epsilon=epsilon,
                           delta=delta, horizon=horizon, batch=batch, norm=math.sqrt(norm * norm + bool(intercept)),
                           centre=centre, low=low - centre, high=high - centre, blocks=len(self._labels),
                           constant=bool(intercept), radius=norm, arms=len(self._labels), seed=seed,
                           deployed=deployed, **options)

    # MABWiser's verbs

    def partial_fit(self, decisions, rewards, contexts, people=None):
        """Learns from people: the arm that each got, the reward, the context (a row each); at level user also who
        they are. Returns self."""
        self.agent.learn_contexts([self._find(d) for d in _as_list(decisions)], _array(rewards), _array(contexts),
                                  people=None if people is None else _as_list(people))
        return self

    def fit(self, *_, **__):
        """Raises: people who have contributed must not be learned from again."""
        raise _faro.InvalidError(
            "there is no fit: it would start again on people who have contributed already, and two claims on the same "
            "people add up; use partial_fit, or make a new learner and add the claims yourself")

    def predict(self, contexts):
        """The arm to play for each context: a list, or one arm if there is one row."""
        arms = [self._labels[a] for a in self.agent.choose_contexts(_array(contexts))]
        return arms if len(arms) > 1 else arms[0]

    def predict_expectations(self, contexts):
        """The estimated mean reward of every arm: a dictionary per context, or one if there is one row."""
        found = [dict(zip(self._labels, row)) for row in self.agent.expect(_array(contexts))]
        return found if len(found) > 1 else found[0]

    # OBP's verbs

    def select_action(self, context):
        """The action for a context of shape (1, dimension), as a list of one."""
        return [self._labels[a] for a in self.agent.choose_contexts(_array(context))]

    def update_params(self, action, reward, context, person=None):
        """Learns from one person: the action, the reward, the context of shape (1, dimension)."""
        self.agent.learn_contexts([self._find(action)], [float(reward)], _array(context),
                                  people=None if person is None else [person])

    @property
    def n_actions(self):
        """Number of arms."""
        return len(self._labels)

    @property
    def dim(self):
        """Numbers per context."""
        return self.dimension

    @property
    def batch_size(self):
        """People before the policy changes for the first time."""
        return self.agent.batch

    # scikit-learn's

    def get_params(self, deep=True):
        """The arguments that it was made from, so that a clone can be made."""
        names = ("arms", "dimension", "release", "epsilon", "delta", "horizon", "batch", "norm", "intercept", "low",
                 "high", "seed", "deployed")
        return {**{name: getattr(self, name) for name in names}, **self.options}

    # ours

    @property
    def claim(self):
        """What is guaranteed, by which proof."""
        return self.agent.claim

    @property
    def done(self):
        """Whether nothing more will be published."""
        return self.agent.done

    def save(self):
        """The agent's state, between two batches; a deployed learner learns nothing more after it."""
        return self.agent.save()

    def load(self, state, people=None):
        """Continues from the state of a learner with the same arguments; load a state once."""
        self.agent.load(state, people=people)

    def _find(self, label):
        try:
            return self._index[label]
        except (KeyError, TypeError):
            raise _faro.InvalidError("arm must be one of %s (got %r)" % (
                ", ".join(map(repr, self._labels[:20])), label)) from None

    def __repr__(self):
        return "<faro.%s of %d arms behind %s, %s>" % (type(self).__name__, len(self._labels), self.release, self.claim)


_ARGUMENTS = """

    arms            number of arms, or a list of their names
    dimension       numbers per context
    release         who may see single people's data: a name of faro.releases(); "none" is no privacy
    epsilon, delta  the guarantee to reach
    horizon         number of people; left out: unknown
    batch           people before the first release; left out: the release chooses
    norm            longer contexts are scaled back to it
    intercept       whether every arm has a constant of its own
    low, high       rewards are clipped to them
    seed            simulation only
    deployed        True: noise from the operating system
    options         everything else that faro.Agent takes
    """


class LinUCB(_Learner):
    __doc__ = "Optimism: the arm with the greatest upper confidence bound." + _ARGUMENTS
    learner = "linucb"


class Posterior(_Learner):
    __doc__ = "Sampling from a posterior that knows the noise: the lowest regret where arms stay the same." + _ARGUMENTS
    learner = "posterior"


class Greedy(_Learner):
    __doc__ = "The arm that looks best; often good where contexts vary." + _ARGUMENTS
    learner = "greedy"


class LinTS(_Learner):
    __doc__ = "Linear Thompson sampling." + _ARGUMENTS
    learner = "lints"
