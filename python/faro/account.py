"""Accountants: the privacy of a given noise, and the least noise for a given privacy, as `faro account`.

Two inputs are neighbours if one user's data is replaced by another's. Every number is rounded outward: noise is
enough, and an epsilon or a delta holds. What is left out is computed:

>>> from faro import account
>>> account.gaussian(epsilon=1, delta=1e-6).sigma
4.224678889328888
>>> account.gaussian(sigma=4.2247, delta=1e-6).epsilon <= 1
True
>>> account.PLD.gaussian(sigma=5).repeat(10).compose(account.PLD.laplace(scale=20)).epsilon(1e-6) < 4.2
True
"""
import math
from fractions import Fraction

from . import _faro

__all__ = ["Answer", "PLD", "advanced", "bits", "compose", "discrete_gaussian", "discrete_laplace", "factored",
           "gaussian", "laplace", "response", "shuffle", "tree", "zcdp"]

_solve = _faro.solve


class Answer:
    """The answer of an accountant: the numbers asked for and found, as attributes.

    `found` names what was computed, float(answer) is its value, `by` is the theorem. All answers are proven.
    """

    def __init__(self, mechanism, found, by, values):
        self.mechanism, self.found, self.by = mechanism, found, by
        self.proven = True
        self._values = values
        self.__dict__.update(values)

    @property
    def claim(self):
        """(epsilon, delta) in words, with what it rests on."""
        return "(%g, %g), proven by %s" % (self._values.get("epsilon", math.nan), self._values.get("delta", 0), self.by)

    def __float__(self):
        return float(self._values[self.found])

    def __repr__(self):
        return "<faro.account.%s: %s; proven by %s>" % (
            self.mechanism, ", ".join("%s=%r" % item for item in self._values.items()), self.by)


def _refuse(format, *values):
    raise _faro.InvalidError(format % values)


def _given(mechanism, forms, **values):
    """Which form the given values are: the name of what is computed."""
    present = {name for name, value in values.items() if value is not None}
    for found, needed in forms.items():
        if present == set(needed):
            return found
    _refuse("%s needs %s (got %s)", mechanism, ", or ".join(" and ".join(needed) for needed in forms.values()),
            " and ".join(sorted(present)) or "none of them")


def _check(name, value, least, most, whole=False, above=False):
    """The value as a float, if it is allowed."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError("%s must be a number (got %r)" % (name, value)) from None
    inside = least < number <= most if above else least <= number <= most
    if not inside or (whole and number != math.floor(number)):
        _refuse("%s must be %s%s%g .. %g (got %r)", name, "a whole number, " if whole else "", "above " if above else "",
                least, most, value)
    return number


def _sensitivity(value, whole=False):
    return _check("sensitivity", value, 1 if whole else 0, 1e6, whole, above=not whole)


def _noise(name, value):
    return _check(name, value, 1e-6, 1e9)


def _divide_up(a, b):
    """a / b, not below the true quotient."""
    quotient = a / b
    return math.nextafter(quotient, math.inf) if Fraction(quotient) * Fraction(b) < Fraction(a) else quotient


def _finite(mechanism, found, value, delta):
    if math.isfinite(value):
        return value
    if found == "epsilon" and delta:
        _refuse("no epsilon reaches delta %g with this noise; try a larger delta", delta)
    _refuse("%s has no finite %s for these values", mechanism, found)


def _answer(mechanism, found, by, values, order):
    values[found] = _finite(mechanism, found, values[found], values.get("delta"))
    shown = [name for name in order if values.get(name) is not None or (name == "closed_form" and name in values)]
    return Answer(mechanism, found, by, {name: values[name] for name in shown})


_GAUSSIAN = "the exact curve of the Gaussian mechanism (Balle and Wang 2018)"
_ORDER = ("sigma", "scale", "epsilon", "delta", "sensitivity")


def gaussian(*, sigma=None, epsilon=None, delta=None, sensitivity=1):
    """Gaussian noise: give two of sigma, epsilon and delta. sensitivity: greatest L2 distance of two values."""
    found = _given("gaussian", {"sigma": ("epsilon", "delta"), "epsilon": ("sigma", "delta"), "delta": ("sigma", "epsilon")},
                   sigma=sigma, epsilon=epsilon, delta=delta)
    s = _sensitivity(sensitivity)
    if found == "sigma":
        sigma = _divide_up(s, _solve("gaussian_mu", epsilon, delta))
    elif found == "epsilon":
        epsilon = _solve("gaussian_epsilon", _divide_up(s, _noise("sigma", sigma)), delta)
    else:
        delta = _solve("gaussian_delta", _divide_up(s, _noise("sigma", sigma)), epsilon)
    return _answer("gaussian", found, _GAUSSIAN, dict(sigma=sigma, epsilon=epsilon, delta=delta, sensitivity=sensitivity), _ORDER)


def _pure(delta):
    return delta is None or delta == 0


def _laplace_form(mechanism, scale, epsilon, delta):
    """What is computed; a delta of 0 is none."""
    if scale is not None and epsilon is not None and delta is None:
        return "delta"
    return _given(mechanism, {"scale": ("epsilon",), "epsilon": ("scale",), "delta": ("scale", "epsilon")},
                  scale=scale, epsilon=epsilon)


def laplace(*, scale=None, epsilon=None, delta=None, sensitivity=1):
    """Laplace noise: epsilon or scale, with a delta or without, or both. sensitivity: greatest L1 distance."""
    found = _laplace_form("laplace", scale, epsilon, delta)
    s = _sensitivity(sensitivity)
    by = "the exact hockey-stick divergence of two Laplace distributions"
    if found != "delta" and _pure(delta):
        delta, by = 0.0, "the ratio of the densities, e^(S / scale) (Dwork et al. 2006)"
    if found == "scale":
        epsilon = _check("epsilon", epsilon, 1e-4, 1000)
        scale = _divide_up(s, _solve("laplace_ratio", epsilon, delta) if delta else epsilon)
    else:
        ratio = _divide_up(s, _noise("scale", scale))
        if found == "epsilon":
            epsilon = _solve("laplace_epsilon", ratio, delta) if delta else ratio
        else:
            delta = _solve("laplace_delta", ratio, epsilon)
    return _answer("laplace", found, by, dict(scale=scale, epsilon=epsilon, delta=delta, sensitivity=sensitivity), _ORDER)


def discrete_laplace(*, scale=None, epsilon=None, delta=None, sensitivity=1):
    """Laplace noise in whole numbers: epsilon or scale, with a delta or without, or both."""
    found = _laplace_form("discrete_laplace", scale, epsilon, delta)
    s = _sensitivity(sensitivity, whole=True)
    by = "the exact hockey-stick divergence of two discrete Laplace distributions"
    if found != "delta" and _pure(delta):
        delta, by = 0.0, "the ratio of the probabilities, e^(S / scale) (Ghosh et al. 2009)"
    if found == "scale":
        epsilon = _check("epsilon", epsilon, 1e-4, 1000)
        scale = _solve("discrete_laplace_scale", s, epsilon, delta) if delta else _divide_up(s, epsilon)
    elif found == "epsilon":
        scale = _noise("scale", scale)
        epsilon = _solve("discrete_laplace_epsilon", scale, s, delta) if delta else _divide_up(s, scale)
    else:
        delta = _solve("discrete_laplace_delta", _noise("scale", scale), s, epsilon)
    return _answer("discrete_laplace", found, by,
                   dict(scale=scale, epsilon=epsilon, delta=delta, sensitivity=sensitivity), _ORDER)


def discrete_gaussian(*, sigma=None, epsilon=None, delta=None, sensitivity=1):
    """Gaussian noise in whole numbers: give two of sigma, epsilon and delta."""
    found = _given("discrete_gaussian", {"sigma": ("epsilon", "delta"), "epsilon": ("sigma", "delta"),
                                         "delta": ("sigma", "epsilon")}, sigma=sigma, epsilon=epsilon, delta=delta)
    s = _sensitivity(sensitivity, whole=True)
    if found == "sigma":
        sigma = _solve("discrete_gaussian_sigma", s, epsilon, delta)
    elif found == "epsilon":
        epsilon = _solve("discrete_gaussian_epsilon", _noise("sigma", sigma), s, delta)
    else:
        delta = _solve("discrete_gaussian_delta", _noise("sigma", sigma), s, epsilon)
    by = "the exact hockey-stick divergence of two discrete Gaussians (Canonne, Kamath and Steinke 2020)"
    return _answer("discrete_gaussian", found, by,
                   dict(sigma=sigma, epsilon=epsilon, delta=delta, sensitivity=sensitivity), _ORDER)


def response(*, local_epsilon=None, epsilon=None, delta=None):
    """Randomized response over two answers: epsilon or local_epsilon, with a delta or without, or both."""
    by = "its exact hockey-stick divergence (Warner 1965; Kairouz, Oh and Viswanath 2015)"
    if local_epsilon is not None and epsilon is not None and delta is None:
        found, delta = "delta", _solve("response_delta", local_epsilon, epsilon)
    else:
        found = _given("response", {"epsilon": ("local_epsilon",), "local_epsilon": ("epsilon",),
                                    "delta": ("local_epsilon", "epsilon")}, local_epsilon=local_epsilon, epsilon=epsilon)
        delta = 0.0 if _pure(delta) else _check("delta", delta, 1e-15, 0.999)
        if found == "delta":
            _refuse("response needs local_epsilon, epsilon, or both without delta (got all)")
        if found == "epsilon":
            local_epsilon = _check("local_epsilon", local_epsilon, 1e-4, 1000)
            epsilon = _solve("response_epsilon", local_epsilon, delta) if delta else local_epsilon
        else:
            local_epsilon = _local_of(_check("epsilon", epsilon, 1e-4, 1000), delta)
    return _answer("response", found, by, dict(local_epsilon=local_epsilon, epsilon=epsilon, delta=delta),
                   ("local_epsilon", "epsilon", "delta"))


def _local_of(epsilon, delta):
    """The largest local epsilon, rounded inward until the accountant itself agrees."""
    more = math.log1p(delta * math.exp(-epsilon)) - math.log1p(-delta) if delta > 0 else 0.0
    for i in range(64):
        if more <= 0 or epsilon + more > 1000 or _solve("response_delta", epsilon + more, epsilon) <= delta:
            break
        more *= 1 - math.ldexp(1e-15, i)
    return epsilon + max(0.0, more)


def zcdp(*, rho=None, epsilon=None, delta):
    """Zero-concentrated privacy: give delta and one of rho and epsilon."""
    found = _given("zcdp", {"rho": ("epsilon",), "epsilon": ("rho",)}, rho=rho, epsilon=epsilon)
    if found == "rho":
        rho = _solve("zcdp_rho", epsilon, delta)
    else:
        epsilon = _solve("zcdp_epsilon", rho, delta)
    by = "the tight conversion of zero-concentrated privacy (Canonne, Kamath and Steinke 2020)"
    return _answer("zcdp", found, by, dict(rho=rho, epsilon=epsilon, delta=delta), ("rho", "epsilon", "delta"))


def advanced(*, epsilon, times, slack):
    """`times` mechanisms of epsilon each, at `times` times their delta plus slack: advanced composition."""
    total = _solve("advanced_epsilon", epsilon, times, slack)
    by = "advanced composition (Dwork, Rothblum and Vadhan 2010), or the plain sum"
    return _answer("advanced", "epsilon", by, dict(epsilon=total, delta=slack, times=times), ("epsilon", "delta", "times"))


def shuffle(*, users, local_epsilon=None, epsilon=None, delta=None, local_delta=0.0):
    """Messages of a local randomizer, shuffled: give users and two of local_epsilon, epsilon and delta.

    With epsilon also closed_form, the epsilon of the theorem's formula; None out of its range.
    """
    found = _given("shuffle", {"epsilon": ("local_epsilon", "delta"), "local_epsilon": ("epsilon", "delta"),
                               "delta": ("local_epsilon", "epsilon")},
                   local_epsilon=local_epsilon, epsilon=epsilon, delta=delta)
    if found != "delta" and _check("local_delta", local_delta, 0, 0.999) > _check("delta", delta, 1e-15, 0.999):
        _refuse("local_delta must be 0 or a number from 1e-15 to %g, the value of delta (got %r)", delta, local_delta)
    values = dict(users=users, local_epsilon=local_epsilon, epsilon=epsilon, delta=delta, local_delta=local_delta or None)
    if found == "epsilon":
        values["epsilon"] = _solve("shuffle_epsilon", local_epsilon, local_delta, users, delta)
        values["closed_form"] = _closed_form(local_epsilon, local_delta, users, delta)
    elif found == "local_epsilon":
        values["local_epsilon"] = _solve("shuffle_local_epsilon", epsilon, delta, users, local_delta)
    else:
        values["delta"] = _solve("shuffle_delta", local_epsilon, local_delta, users, epsilon)
    by = "the numerical bound on the clones pair (Feldman, McMillan and Talwar 2021)"
    return _answer("shuffle", found, by, values,
                   ("local_epsilon", "local_delta", "epsilon", "delta", "users", "closed_form"))


def _closed_form(local_epsilon, local_delta, users, delta):
    """The theorem's formula for a total delta: its own slack and what the local deltas add; None out of its range."""
    slack = delta / 2 if local_delta > 0 else delta
    epsilon = None
    for _ in range(100):
        found = _faro.closed_form(local_epsilon, local_delta, users, slack)
        if found is None or found[1] > delta:
            return None
        epsilon, total = found
        if delta - total <= 1e-12 * delta:
            break
        slack += (delta - total) * (1 - 1e-9)
    return epsilon if math.isfinite(epsilon) else None


def bits(*, users, dimension, sensitivity, delta, epsilon=None, grid=None, noise_bits=None, bias=0.5, honest=1.0):
    """Sums of bits, some of which are noise: give epsilon (and grid, if you like), or grid and noise_bits."""
    if epsilon is None or noise_bits is not None:
        _given("bits", {"noise_bits": ("epsilon",), "epsilon": ("grid", "noise_bits")}, epsilon=epsilon, grid=grid,
               noise_bits=noise_bits)
    users = _check("users", users, 1, 1e9, whole=True)
    s = _sensitivity(sensitivity)
    added = math.floor(users * _check("honest", honest, 0.001, 1))
    if added < 1:
        _refuse("honest must leave at least one of the %d users (got %r)", users, honest)
    if bias not in (0.5, 0.25):
        _refuse("bias must be 0.5 or 0.25 (got %r)", bias)
    if noise_bits is None:
        return _bits_noise(users, added, dimension, s, grid, bias, epsilon, delta)
    few = users * _check("noise_bits", noise_bits, 1, 1e15, whole=True) <= 1e9
    by = "the Gaussian that dominates the binomial at every epsilon (Zhu, Dong and Wang 2022; Balle and Wang 2018)"
    if _check("dimension", dimension, 1, 1e6, whole=True) == 1 and few:
        epsilon = _exact_bits(added, noise_bits, s, _check("grid", grid, 1, 1e6, whole=True), bias, delta)
        by = "the exact hockey-stick divergence of the binomial from its shift"
    elif bias != 0.5:
        _refuse("bias must be 0.5 (got %r); 0.25 is allowed in one dimension with at most 1e9 noise bits of all users", bias)
    else:
        epsilon = _faro.bits(users, added, dimension, s, grid, noise_bits, 0, delta)["epsilon"]
    return _answer("bits", "epsilon", by, dict(epsilon=epsilon, delta=delta, grid=grid, noise_bits=noise_bits,
                                               users=int(users)), ("epsilon", "delta", "grid", "noise_bits", "users"))


def _bits_noise(users, added, dimension, s, grid, bias, epsilon, delta):
    if bias != 0.5:
        _refuse("bias must be 0.5 (got %r); 0.25 is allowed in one dimension with noise_bits", bias)
    plan = _faro.bits(users, added, dimension, s, grid or 0, 0, epsilon, delta)
    values = dict(grid=int(plan["grid"]), noise_bits_per_user=int(plan["bits"]), noise_bits_total=int(users * plan["bits"]),
                  bias=bias, noise_sd=plan["noise_sd"], bits_per_user=int(dimension * (plan["grid"] + plan["bits"])),
                  epsilon=epsilon, delta=delta)
    by = ("the Gaussian that dominates the binomial at every epsilon (Zhu, Dong and Wang 2022; Balle and Wang 2018), "
          "with rounding to the grid")
    return _answer("bits", "noise_bits_per_user", by, values, tuple(values))


def _exact_bits(added, noise_bits, s, grid, bias, delta):
    """The least epsilon in one dimension, by bisection; entries are in an interval of width 1."""
    total, shift = added * noise_bits, math.ceil(min(s, 1) * grid)
    delta = _check("delta", delta, 1e-15, 0.999)

    def enough(epsilon):
        return _solve("bits_delta", total, bias, shift, epsilon) <= delta

    if enough(0):
        return 0.0
    if not enough(1000):
        return math.inf
    low, high = 0.0, 1000.0
    for _ in range(80):
        if high - low <= 1e-13 * high:
            break
        middle = low + (high - low) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _continual(mechanism, is_tree, steps, sigma, epsilon, delta, contributions, sensitivity, by):
    found = _given(mechanism, {"sigma": ("epsilon", "delta"), "epsilon": ("sigma", "delta"), "delta": ("sigma", "epsilon")},
                   sigma=sigma, epsilon=epsilon, delta=delta)
    factor, prefix = _faro.continual(is_tree, steps, contributions)
    s = _sensitivity(sensitivity) * factor
    values = dict(sigma=sigma, epsilon=epsilon, delta=delta, steps=steps, contributions=contributions)
    if found == "sigma":
        values["sigma"] = _divide_up(s, _solve("gaussian_mu", epsilon, delta))
        values["prefix_sigma"] = values["sigma"] * prefix
        if is_tree:  # one contribution is in one node of every level
            values["levels"] = round(_faro.continual(True, steps, 1)[0] ** 2)
    elif found == "epsilon":
        values["epsilon"] = _solve("gaussian_epsilon", _divide_up(s, _noise("sigma", sigma)), delta)
    else:
        values["delta"] = _solve("gaussian_delta", _divide_up(s, _noise("sigma", sigma)), epsilon)
    return _answer(mechanism, found, by, values,
                   ("sigma", "prefix_sigma", "epsilon", "delta", "steps", "contributions", "levels"))


def tree(*, steps, sigma=None, epsilon=None, delta=None, contributions=1, sensitivity=1):
    """Running sums with noise at the nodes of a binary tree: give steps and two of sigma, epsilon and delta."""
    by = ("the nodes of the binary tree that hold one user (Dwork et al. 2010; Chan, Shi and Song 2011), which compose "
          "as Gaussians (Balle and Wang 2018)")
    return _continual("tree", True, steps, sigma, epsilon, delta, contributions, sensitivity, by)


def factored(*, steps, sigma=None, epsilon=None, delta=None, contributions=1, sensitivity=1):
    """Running sums with correlated noise: give steps and two of sigma, epsilon and delta."""
    by = ("the square-root factorisation of the prefix sums (Fichtenberger, Henzinger and Upadhyay 2023) as one "
          "Gaussian mechanism (Balle and Wang 2018)")
    return _continual("factored", False, steps, sigma, epsilon, delta, contributions, sensitivity, by)


class PLD:
    """A privacy-loss distribution: composition of different mechanisms on the same data.

    Objects do not change: repeat and compose return new ones. All numerical errors are included in delta.

    >>> PLD.gaussian(sigma=10).repeat(100).epsilon(1e-6) < 6
    True
    """

    by = ("composing their privacy-loss distributions (Sommer, Meiser and Mohammadi 2019; Koskela, Jalko and Honkela "
          "2020), with all numerical errors included in delta")
    proven = True

    def __init__(self, parts):
        self.parts = tuple(parts)  # (mechanism, value, delta, times)
        self._loss = None

    @classmethod
    def gaussian(cls, *, sigma, sensitivity=1):
        """Gaussian noise."""
        return cls._one("gaussian", _divide_up(_sensitivity(sensitivity), _noise("sigma", sigma)))

    @classmethod
    def laplace(cls, *, scale, sensitivity=1):
        """Laplace noise."""
        return cls._one("laplace", _divide_up(_sensitivity(sensitivity), _noise("scale", scale)))

    @classmethod
    def response(cls, *, local_epsilon):
        """Randomized response over two answers."""
        return cls._one("response", _check("local_epsilon", local_epsilon, 1e-4, 1000))

    @classmethod
    def pure(cls, *, epsilon, delta=0.0):
        """Any (epsilon, delta)-private mechanism."""
        return cls._one("pure", _check("epsilon", epsilon, 1e-4, 1000), _check("delta", delta, 0, 0.999))

    @classmethod
    def _one(cls, mechanism, value, delta=0.0):
        made = cls([(mechanism, value, delta, 1)])
        made._made()  # refuses now what it would refuse later
        return made

    def repeat(self, times):
        """Everything so far, `times` times."""
        times = int(_check("times", times, 1, 1e6, whole=True))
        return PLD((m, v, d, int(_check("times", n * times, 1, 1e6, whole=True))) for m, v, d, n in self.parts)

    def compose(self, *others):
        """This and other mechanisms on the same data."""
        for other in others:
            if not isinstance(other, PLD):
                raise TypeError("compose takes PLD objects (got %r)" % (other,))
        return PLD(self.parts + tuple(part for other in others for part in other.parts))

    def epsilon(self, delta):
        """The least epsilon at this delta; infinite if no epsilon is enough."""
        return self._made().epsilon(delta)

    def delta(self, epsilon):
        """The least delta at this epsilon."""
        return self._made().delta(epsilon)

    @property
    def curve(self):
        """(epsilon, delta) for deltas from 0.3 to 1e-12; those that no epsilon reaches are left out."""
        powers = [10.0**k for k in range(1, 13)]
        deltas = [factor / power for power in powers for factor in (3, 1)]
        found = [(self.epsilon(delta), delta) for delta in deltas]
        return [point for point in found if math.isfinite(point[0])]

    def _made(self):
        if self._loss is None:
            total = None
            for mechanism, value, delta, times in self.parts:
                loss = _faro.Loss(mechanism, value, delta)
                if times > 1:
                    loss.repeat(times)
                if total is None:
                    total = loss
                else:
                    total.compose(loss)
            self._loss = total
        return self._loss

    def __reduce__(self):
        return PLD, (self.parts,)

    def __eq__(self, other):
        return isinstance(other, PLD) and self.parts == other.parts

    def __hash__(self):
        return hash(self.parts)

    def __repr__(self):
        return "<faro.account.PLD of %s; %.4g at delta 1e-6, proven>" % (
            ", ".join("%d x %s" % (n, m) for m, _, _, n in self.parts), self.epsilon(1e-6))


_KEYS = {"gaussian": ("sigma", "sensitivity"), "laplace": ("scale", "sensitivity"), "response": ("local_epsilon",),
         "pure": ("epsilon", "delta")}


def compose(mechanisms, *, delta=None, epsilon=None):
    """Several mechanisms on the same data, and delta or epsilon.

    mechanisms: PLD objects, or dictionaries as `faro account compose` reads them:
    {"mechanism": "gaussian", "sigma": 2, "times": 100}. PLD.curve has other points of the privacy curve.
    """
    found = _given("compose", {"epsilon": ("delta",), "delta": ("epsilon",)}, delta=delta, epsilon=epsilon)
    parts = [_part(m, i) for i, m in enumerate(mechanisms)]
    if not 1 <= len(parts) <= 1000:
        _refuse("mechanisms must be a list of 1 .. 1000 (got %d)", len(parts))
    total = parts[0].compose(*parts[1:])
    if found == "epsilon":
        epsilon = total.epsilon(_check("delta", delta, 1e-15, 0.999))
    else:
        delta = total.delta(_check("epsilon", epsilon, 1e-4, 1000))
    return _answer("compose", found, PLD.by, dict(epsilon=epsilon, delta=delta), ("epsilon", "delta"))


def _part(mechanism, place):
    if isinstance(mechanism, PLD):
        return mechanism
    if not isinstance(mechanism, dict):
        raise TypeError("mechanism %d must be a PLD or a dictionary (got %r)" % (place, mechanism))
    keys = {str(key).replace("-", "_"): value for key, value in mechanism.items()}
    kind, times = keys.pop("mechanism", None), keys.pop("times", 1)
    if kind not in _KEYS:
        _refuse("mechanism %d must be one of %s (got %r)", place, ", ".join(_KEYS), kind)
    wrong = set(keys) - set(_KEYS[kind])
    if wrong or not _KEYS[kind][0] in keys:
        _refuse("mechanism %d: %s takes %s (got %s)", place, kind, ", ".join(_KEYS[kind]), ", ".join(sorted(keys)) or "nothing")
    return getattr(PLD, kind)(**keys).repeat(times)
