"""What the tests share: arrays without numpy, and numpy where it is."""
import array
import os

try:
    import numpy
except ImportError:
    numpy = None

FARO = os.environ.get("FARO")  # the command
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def frames():
    """pandas, or None; it takes half a second to load."""
    try:
        import pandas
        return pandas
    except ImportError:
        return None


def matrix(rows):
    """A memoryview of doubles with two dimensions, without numpy."""
    flat = array.array("d", [v for row in rows for v in row])
    return memoryview(flat).cast("B").cast("d", (len(rows), len(rows[0])))


def step(world, agent):
    """Plays a world to its end. Returns the regret after each round."""
    regret, curve = 0.0, []
    for _ in range(world.horizon):
        features = world.arms
        arm = agent.choose(features)
        regret += world.gap(arm)
        agent.learn(features, world.play(arm), arm)
        curve.append(regret)
    return curve
