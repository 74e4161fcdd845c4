"""The accountants: equal, to the last bit, to what `faro account` prints; and what they refuse."""
import itertools
import json
import math
import os
import pickle
import subprocess
import tempfile
import unittest

import faro
from faro import account
from support import FARO

SIX = 1e-6
QUESTIONS = [
    ("gaussian", dict(epsilon=1, delta=SIX)), ("gaussian", dict(sigma=3, delta=1e-5, sensitivity=2)),
    ("gaussian", dict(sigma=3, epsilon=0.7)), ("gaussian", dict(epsilon=0.3, delta=1e-9, sensitivity=0.1)),
    ("laplace", dict(epsilon=1)), ("laplace", dict(epsilon=1, delta=SIX)), ("laplace", dict(scale=3, sensitivity=2)),
    ("laplace", dict(scale=3, delta=1e-3)), ("laplace", dict(scale=3, epsilon=0.1)),
    ("discrete-laplace", dict(epsilon=1, sensitivity=3)), ("discrete-laplace", dict(epsilon=1, delta=SIX)),
    ("discrete-laplace", dict(scale=2)), ("discrete-laplace", dict(scale=7, delta=1e-3, sensitivity=3)),
    ("discrete-laplace", dict(scale=7, epsilon=0.1)),
    ("discrete-gaussian", dict(epsilon=1, delta=SIX)), ("discrete-gaussian", dict(sigma=20, delta=SIX, sensitivity=4)),
    ("discrete-gaussian", dict(sigma=20, epsilon=0.2)),
    ("response", dict(local_epsilon=1)), ("response", dict(local_epsilon=1, delta=0.1)),
    ("response", dict(local_epsilon=2, epsilon=1)), ("response", dict(epsilon=1)), ("response", dict(epsilon=1, delta=0.05)),
    ("zcdp", dict(rho=0.1, delta=SIX)), ("zcdp", dict(epsilon=1, delta=SIX)),
    ("shuffle", dict(local_epsilon=2, users=1000, delta=SIX)), ("shuffle", dict(epsilon=0.5, users=1000, delta=SIX)),
    ("shuffle", dict(local_epsilon=2, users=1000, epsilon=0.3)),
    ("shuffle", dict(local_epsilon=2, users=10000, delta=SIX, local_delta=1e-12)),
    ("shuffle", dict(local_epsilon=8, users=100, delta=SIX)),
    ("bits", dict(users=1000, dimension=1, sensitivity=1, epsilon=1, delta=SIX)),
    ("bits", dict(users=1000, dimension=20, sensitivity=1.5, epsilon=1, delta=SIX, grid=20, honest=0.9)),
    ("bits", dict(users=1000, dimension=1, sensitivity=1, grid=63, noise_bits=284, delta=SIX)),
    ("bits", dict(users=100, dimension=1, sensitivity=1, grid=5, noise_bits=28, delta=SIX, bias=0.25)),
    ("bits", dict(users=1000, dimension=3, sensitivity=1, grid=63, noise_bits=284, delta=SIX)),
    ("tree", dict(steps=1000, epsilon=1, delta=SIX)), ("tree", dict(steps=1000, sigma=10, delta=SIX, contributions=3)),
    ("tree", dict(steps=77, sigma=10, epsilon=1, sensitivity=2)),
    ("factored", dict(steps=1000, epsilon=1, delta=SIX)), ("factored", dict(steps=1000, sigma=10, delta=SIX)),
    ("factored", dict(steps=50, sigma=10, epsilon=1, contributions=2)),
]


def ask(mechanism, question):
    return getattr(account, mechanism.replace("-", "_"))(**question)


@unittest.skipUnless(FARO, "FARO names the command")
class SameAsTheCommand(unittest.TestCase):
    def command(self, *arguments, **options):
        done = subprocess.run([FARO, "account", *arguments, "--json"], capture_output=True, text=True, **options)
        return json.loads(done.stdout) if done.returncode == 0 else done.stderr

    def test_every_form_of_every_mechanism(self):
        for mechanism, question in QUESTIONS:
            with self.subTest(mechanism=mechanism, **question):
                options = itertools.chain(*(("--" + key.replace("_", "-"), repr(value)) for key, value in question.items()))
                told = self.command(mechanism, *options)
                answer = ask(mechanism, question)
                for key, value in told.items():
                    self.assertEqual(getattr(answer, key, None), value, key)
                self.assertEqual(float(answer), getattr(answer, answer.found))
                self.assertIn("proven", repr(answer))

    def compare(self, parts, *more):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "parts.yaml")
            with open(path, "w") as file:
                json.dump(parts + list(more), file)
            told = self.command("compose", path, "--delta", "1e-6")
        answer = account.compose(parts + list(more), delta=1e-6)
        self.assertEqual((answer.epsilon, answer.delta), (told["epsilon"], told["delta"]))
        curve = account.PLD.curve.fget
        total = account.PLD.gaussian(sigma=20).repeat(4).compose(account.PLD.pure(epsilon=0.1, delta=1e-8))
        if not more:
            self.assertEqual(curve(total), [(point["epsilon"], point["delta"]) for point in told["curve"]])

    def test_compositions(self):
        self.compare([{"mechanism": "gaussian", "sigma": 20, "times": 4},
                      {"mechanism": "pure", "epsilon": 0.1, "delta": 1e-8}])

    @unittest.skipUnless(os.environ.get("FARO_SLOW_TESTS"), "slow: half a minute")
    def test_compositions_of_all_mechanisms(self):
        self.compare([{"mechanism": "gaussian", "sigma": 2, "sensitivity": 0.1, "times": 20}],
                     {"mechanism": "laplace", "scale": 30}, {"mechanism": "response", "local-epsilon": 0.1, "times": 5},
                     {"mechanism": "pure", "epsilon": 0.1})


class Accountants(unittest.TestCase):
    def test_there_and_back(self):
        for mechanism, noise in (("gaussian", "sigma"), ("laplace", "scale"), ("tree", "sigma"), ("factored", "sigma"),
                                 ("discrete-laplace", "scale"), ("discrete-gaussian", "sigma")):
            more = {"steps": 100} if mechanism in ("tree", "factored") else {}
            found = ask(mechanism, dict(epsilon=1, delta=SIX, **more))
            back = ask(mechanism, dict({noise: getattr(found, noise)}, delta=SIX, **more))
            self.assertLessEqual(back.epsilon, 1 + 1e-12)  # rounded outward twice
            self.assertGreater(back.epsilon, 1 - 1e-6)

    def test_gaussian_against_its_closed_form(self):
        def phi(z):
            return math.erfc(-z / math.sqrt(2)) / 2

        for mu, epsilon in ((0.5, 0.2), (1, 1), (2, 0.5)):
            truth = phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu)
            found = account.gaussian(sigma=1 / mu, epsilon=epsilon).delta
            self.assertTrue(truth * (1 - 1e-12) <= found <= truth * (1 + 1e-6))

    def test_plds_do_not_change_and_compose(self):
        one = account.PLD.gaussian(sigma=5)
        ten = one.repeat(10)
        self.assertLess(one.epsilon(SIX), ten.epsilon(SIX))
        exact = account.gaussian(sigma=5 / math.sqrt(10), delta=SIX).epsilon
        self.assertTrue(exact <= ten.epsilon(SIX) <= 1.01 * exact)
        both = one.compose(account.PLD.laplace(scale=4), one)
        self.assertEqual(len(both.parts), 3)
        self.assertGreater(both.epsilon(SIX), one.epsilon(SIX))
        self.assertEqual(pickle.loads(pickle.dumps(both)), both)
        self.assertEqual(hash(both), hash(pickle.loads(pickle.dumps(both))))
        self.assertIn("proven", repr(both))
        self.assertLess(account.advanced(epsilon=0.1, times=100, slack=SIX).epsilon, 10)

    def test_what_is_refused(self):
        for kind, call in (
            (faro.InvalidError, lambda: account.gaussian(epsilon=1)),
            (faro.InvalidError, lambda: account.gaussian(epsilon=1, delta=SIX, sigma=3)),
            (faro.InvalidError, lambda: account.gaussian(epsilon=-1, delta=SIX)),
            (faro.InvalidError, lambda: account.gaussian(epsilon=math.nan, delta=SIX)),
            (faro.InvalidError, lambda: account.gaussian(sigma=1, delta=2)),
            (faro.InvalidError, lambda: account.gaussian(sigma=0, delta=SIX)),
            (faro.InvalidError, lambda: account.gaussian(sigma=1, delta=SIX, sensitivity=0)),
            (faro.InvalidError, lambda: account.discrete_laplace(scale=1, sensitivity=1.5)),
            (faro.InvalidError, lambda: account.response()),
            (faro.InvalidError, lambda: account.shuffle(users=0, epsilon=1, delta=SIX)),
            (faro.InvalidError, lambda: account.shuffle(users=10, local_epsilon=1, delta=1e-9, local_delta=1e-6)),
            (faro.InvalidError, lambda: account.bits(users=10, dimension=1, sensitivity=1, delta=SIX)),
            (faro.InvalidError, lambda: account.bits(users=10, dimension=1, sensitivity=1, delta=SIX, epsilon=1, bias=1)),
            (faro.InvalidError, lambda: account.bits(users=10, dimension=2, sensitivity=1, delta=SIX, epsilon=1, honest=0.01)),
            (faro.InvalidError, lambda: account.tree(steps=10, contributions=11, epsilon=1, delta=SIX)),
            (faro.InvalidError, lambda: account.factored(steps=10**8, epsilon=1, delta=SIX)),
            (faro.InvalidError, lambda: account.compose([], delta=SIX)),
            (faro.InvalidError, lambda: account.compose([{"mechanism": "magic"}], delta=SIX)),
            (faro.InvalidError, lambda: account.compose([{"mechanism": "gaussian", "scale": 1}], delta=SIX)),
            (faro.InvalidError, lambda: account.PLD.gaussian(sigma=1).repeat(0)),
            (faro.InvalidError, lambda: account.PLD.gaussian(sigma=1).repeat(10**7)),
            (TypeError, lambda: account.PLD.gaussian(sigma=1).compose(3)),
            (TypeError, lambda: account.gaussian(sigma="1", epsilon=[])),
            (TypeError, lambda: account.gaussian(1, 2)),
            (TypeError, lambda: account.compose([3], delta=SIX)),
        ):
            with self.assertRaises(kind):
                call()


if __name__ == "__main__":
    unittest.main()
