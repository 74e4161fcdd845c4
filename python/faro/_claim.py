"""What a mechanism guarantees."""
from dataclasses import dataclass, field
from typing import Optional

from . import _faro


@dataclass(frozen=True)
class Claim:
    """A privacy claim: (epsilon, delta), who is trusted, what is protected together, and the proof.

    `actions` says which an adversary may see: "others", all but the person's own; "all"; or "hidden", where the claim
    holds only while nobody sees who plays what. `protects` is "all", or "rewards" if features and actions are
    published as they are. `assumes` is what is assumed of the data, or None.
    Without privacy epsilon and delta are None. A claim that is not proven says so in `standing` and in every
    print. `simulation` is true if the noise comes from a seed: then the claim is that of the mechanism, and
    nobody's data is protected by this run of it.
    """

    epsilon: Optional[float]
    delta: Optional[float]
    trust: str
    level: str
    contributions: int
    proven: bool
    standing: str
    by: str
    adversary_sees: str
    actions: str
    protects: str
    assumes: Optional[str]
    local_epsilon: float = field(default=0.0, repr=False)
    local_delta: float = field(default=0.0, repr=False)
    simulation: bool = False

    def __str__(self):
        simulation = " [simulation]" if self.simulation else ""
        if self.epsilon is None:
            return "no privacy" + simulation
        return _faro.claim_line(self.epsilon, self.delta, self.trust, self.level, self.contributions, self.proven,
                                self.actions, self.protects, self.assumes) + simulation
