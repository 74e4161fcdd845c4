"""The agent: the same actions as the C runner, claims, state, and what it refuses."""
import array
import ctypes
import dataclasses
import math
import os
import pickle
import random
import tempfile
import threading
import unittest

import faro
from support import matrix, numpy, step

KNOWN = dict(dimension=3, horizon=1000, epsilon=1, delta=1e-6)


def make(**other):
    return faro.Agent(**{**dict(learner="linucb", release="shuffle-bits", batch=10, seed=1, **KNOWN), **other})


class SameActions(unittest.TestCase):
    """Actions are not recorded by the runner, but every one of them is in the regret: equal sums to the last bit, at
    200 points of the curve, with gaps that differ from arm to arm, mean equal actions."""

    def check(self, environment, learner, release, **settings):
        experiment = {"environment": environment, "horizon": 2000, "instances": 2, "seed": 7, **settings,
                      "algorithms": [{"learner": learner, "release": release}]}
        results = faro.run(experiment, jobs=1)
        own = dict(environment)
        curves = []
        for instance in range(2):
            own.pop("name", None)
            world = faro.World(environment["name"], **own, horizon=2000, seed=7, instance=instance)
            agent = world.agent(learner=learner, release=release, **settings)
            curves.append(step(world, agent))
            self.assertEqual(curves[-1][-1], results.instances[instance]["regret"])
            self.assertEqual((agent.claim.epsilon, agent.claim.delta, agent.claim.standing, agent.claim.by),
                             (results.claims[0].epsilon, results.claims[0].delta, results.claims[0].standing,
                              results.claims[0].by))
        self.assertEqual(len(results.curves), 200)
        for point in results.curves:
            at = point["round"] - 1
            self.assertEqual(curves[0][at] / 2 + curves[1][at] / 2, point["regret_mean"])

    def test_linear_arms_that_stay(self):
        fixed = {"name": "linear-fixed", "dimension": 5, "arms": 20}
        for learner, release in (("linucb", "none"), ("posterior", "shuffle-bits"), ("greedy", "local"),
                                 ("lints", "central-factored"), ("linucb", "concurrent-bits")):
            with self.subTest(learner=learner, release=release):
                self.check(fixed, learner, release, **({"shufflers": 3} if "concurrent" in release else {}))

    def test_fresh_arms(self):
        fresh = {"name": "linear-iid", "dimension": 4, "arms": 10}
        for learner, release in (("linucb", "central-tree"), ("lints", "shuffle-gaussian")):
            with self.subTest(learner=learner, release=release):
                self.check(fresh, learner, release, epsilon=5)

    def test_logistic_rewards_and_anytime(self):
        self.check({"name": "glm-logistic", "dimension": 4, "arms": 10}, "posterior", "shuffle-bits", epsilon=5)
        self.check({"name": "linear-fixed", "dimension": 4, "arms": 10}, "posterior", "shuffle-bits", anytime=True)


class Rows(unittest.TestCase):
    """People from a file, stepped from Python: the error rate in the last tenth is the runner's, to the last bit."""

    def setUp(self):
        chance = random.Random(3)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "people.csv")
        with open(self.path, "w") as file:
            file.write("a,b,class\n")
            for _ in range(1000):
                a, b = chance.uniform(-1, 1), chance.uniform(-1, 1)
                file.write("%.3f,%.3f,%s\n" % (a, b, "yes" if a + b > 0 else "no"))

    def test_the_same_errors_as_the_runner(self):
        own = {"file": self.path, "label": "class", "classes": ["yes", "no"]}
        results = faro.run({"environment": {"name": "rows", **own}, "instances": 1, "seed": 7, "epsilon": 5, "horizon": 1000,
                            "algorithms": [{"learner": "greedy", "release": "central-factored"}]})
        world = faro.World("rows", **own, seed=7)
        self.assertEqual(world.horizon, 1000)
        agent = world.agent(learner="greedy", release="central-factored", epsilon=5)
        rewards = []
        for _ in range(world.horizon):
            features = world.arms
            arm = agent.choose(features)
            self.assertTrue(world.takes(arm))
            rewards.append(world.play(arm))
            agent.learn(features, rewards[-1], arm)
        self.assertAlmostEqual(1 - sum(rewards[-100:]) / 100, results.instances[0]["error-rate"], places=12)
        self.assertLess(results.instances[0]["error-rate"], 0.3)

    def test_what_is_wrong_with_a_file_is_an_exception(self):
        for given in (dict(file="/nowhere.csv", label="class"), dict(file=self.path, label="colour"), dict(file=self.path),
                      dict(label="class"), dict(file=self.path, label="class", classes=["yes"])):
            with self.assertRaises(faro.Error):
                faro.World("rows", **given)
        with self.assertRaises(TypeError):
            faro.World("rows", file=3)


class Arrays(unittest.TestCase):
    def setUp(self):
        self.agent = make(release="none", batch=1)
        self.rows = [[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [0.5, 0.5, 0.5]]

    def test_every_kind_of_array_chooses_the_same_arm(self):
        def choose(features):
            return make(learner="uniform", release="none", batch=1).choose(features)  # draws: depends on the count

        wanted = choose(self.rows)
        c_rows = ((ctypes.c_double * 3) * 4)(*[(ctypes.c_double * 3)(*row) for row in self.rows])
        odd = bytearray(1 + 96)
        odd[1:] = matrix(self.rows).cast("B")
        kinds = [tuple(map(tuple, self.rows)), matrix(self.rows), c_rows, memoryview(odd)[1:].cast("d", (4, 3))]
        if numpy:
            kinds += [numpy.array(self.rows), numpy.array(self.rows)[:, :][::1]]
        for features in kinds:
            self.assertEqual(choose(features), wanted)

    def test_a_reward_moves_the_same_theta_from_every_kind_of_vector(self):
        thetas = set()
        x = [0.1, 0.7, -0.2]
        for vector in (x, tuple(x), array.array("d", x), (ctypes.c_double * 3)(*x), memoryview(array.array("d", x)),
                       *([numpy.array(x)] if numpy else [])):
            agent = make(release="none", batch=1)
            self.assertIs(agent.learn(vector, 0.5), True)
            thetas.add(tuple(agent.policy.theta))
        agent = make(release="none", batch=1)
        agent.learn(matrix([[9.0, 9, 9], x]), 0.5, 1)  # a row of a matrix
        thetas.add(tuple(agent.policy.theta))
        self.assertEqual(len(thetas), 1)
        self.assertNotEqual(thetas.pop(), (0, 0, 0))

    def test_many_are_as_one_after_another(self):
        rows = [[math.sin(i), math.cos(i), 0.1] for i in range(200)]
        rewards = array.array("d", [0.5 + 0.5 * math.sin(2 * i) for i in range(200)])
        one, many = make(norm=2), make(norm=2)
        for x, y in zip(rows, rewards):
            one.learn(x, y)
        self.assertEqual(many.learn_many(matrix(rows), rewards), 20)
        self.assertEqual(one.policy.theta, many.policy.theta)

    def refused(self, kind, message, call, *arguments):
        before = self.agent.batches
        with self.assertRaisesRegex(kind, message):
            call(*arguments)
        self.assertEqual(self.agent.batches, before)  # nothing was learned

    def test_what_is_not_such_an_array_is_an_exception(self):
        a = self.agent
        self.refused(TypeError, "doubles.*format 'f'", a.choose, memoryview(array.array("f", [0] * 12)).cast("B").cast("f", (4, 3)))
        self.refused(TypeError, "format 'l'|format 'q'", a.learn, array.array("l", [1, 2, 3]), 1)
        self.refused(TypeError, "format 'B'", a.learn, b"123456789012345678901234", 1)
        self.refused(faro.InvalidError, "2 dimensions .got 1.", a.choose, array.array("d", [1, 2, 3]))
        self.refused(faro.InvalidError, "1 dimension .got 2.", a.learn, matrix([[1, 2, 3]]), 1)
        self.refused(faro.InvalidError, "3 columns.*4 x 2", a.choose, matrix([[1, 2]] * 4))
        self.refused(faro.InvalidError, "3 numbers .got 2.", a.learn, array.array("d", [1, 2]), 1)
        self.refused(faro.InvalidError, "3 numbers per row .got 2.", a.choose, [[1, 2, 3], [1, 2]])
        self.refused(faro.InvalidError, "at least one row", a.choose, [])
        self.refused(faro.InvalidError, "contiguous", a.learn, memoryview(array.array("d", range(6)))[::2], 1)
        self.refused(faro.InvalidError, "features must be finite .got nan in row 1, column 2.", a.choose,
                     matrix([[1, 2, 3], [1, 2, math.nan]]))
        self.refused(faro.InvalidError, "x must be finite .got inf at 1.", a.learn, [0, math.inf, 0], 1)
        self.refused(faro.InvalidError, "reward must be finite .got nan.", a.learn, [1, 0, 0], math.nan)
        self.refused(TypeError, "", a.learn, [1, 0, 0], "much")
        self.refused(TypeError, "", a.choose, None)
        self.refused(TypeError, "list of lists", a.choose, [1, 2, 3])
        self.refused(TypeError, "", a.choose, [[1, 2, "x"]])
        self.refused(faro.InvalidError, "arm must be below", a.learn, matrix(self.rows), 1, 4)
        self.refused(faro.InvalidError, "arm must be below", a.learn, matrix(self.rows), 1, -1)
        self.refused(faro.InvalidError, "rewards must have 4 numbers", a.learn_many, matrix(self.rows), [1, 2, 3])
        released = memoryview(array.array("d", [1, 2, 3]))
        released.release()
        self.refused(ValueError, "released", a.learn, released, 1)

    def test_a_nan_anywhere_among_many_numbers_is_found(self):
        agent = make(release="none", batch=1)
        for place in range(0, 300, 7):
            rows = array.array("d", [0.1] * 300)
            for value in math.nan, math.inf, -math.inf:
                rows[place] = value
                with self.assertRaisesRegex(faro.InvalidError, "row %d, column %d" % (place // 3, place % 3)):
                    agent.choose(memoryview(rows).cast("B").cast("d", (100, 3)))
        largest = array.array("d", [1.7976931348623157e308, 5e-324, -0.0] * 100)  # finite
        agent.choose(memoryview(largest).cast("B").cast("d", (100, 3)))

    @unittest.skipUnless(numpy, "numpy is not installed")
    def test_numpy_arrays_of_the_wrong_kind_are_exceptions(self):
        a, x = self.agent, numpy.zeros((4, 3))
        for wrong in (x.astype(numpy.float32), x.astype(int), x.astype(">f8"), x.astype(complex), x.astype(object),
                      x.astype("S8"), numpy.zeros((4, 3), dtype=[("a", float)])):
            with self.assertRaises((TypeError, ValueError)):
                a.choose(wrong)
        for wrong in x.T, x[:, ::-1], x[::2], numpy.asfortranarray(x), x[None], numpy.zeros((0, 3)), numpy.float64(1):
            with self.assertRaises((faro.InvalidError, TypeError)):
                a.choose(wrong)
        with self.assertRaises(faro.InvalidError):
            a.learn(numpy.broadcast_to(numpy.float64(1), (3,)), 1)

    def test_an_exception_in_a_number_passes(self):
        class Number:
            def __float__(self):
                raise KeyError("mine")

        for call in (lambda: self.agent.learn([1, 0, Number()], 1), lambda: self.agent.learn([1, 0, 0], Number())):
            with self.assertRaisesRegex(KeyError, "mine"):
                call()

    def test_a_list_that_changes_while_it_is_read(self):
        rows = []

        class Number:
            def __float__(self):
                rows.clear()
                return 1.0

        rows[:] = [[Number(), 0.0, 0.0]] * 3
        self.assertIn(self.agent.choose(rows), range(3))


class Arguments(unittest.TestCase):
    def refused(self, message, kind=faro.InvalidError, **other):
        with self.assertRaisesRegex(kind, message):
            make(**other)

    def test_messages_name_the_argument_and_what_is_allowed(self):
        self.refused("epsilon must be", epsilon=-1)
        self.refused("epsilon must be", epsilon=math.nan)
        self.refused("dimension must be 1 .. 1000 .got 10000000000000000000000.", dimension=10**22)
        self.refused("dimension must be 1 .. 1000 .got 0.", dimension=0)
        self.refused("level must be one of event, user .got 'people'.", level="people")
        self.refused("batch must be auto, or", batch="some")
        self.refused("norm must be 1e-9 .. 1e9 .got 1e-300.", norm=1e-300)  # found by the fuzz test
        self.refused("interval low < high", low=0, high=5e-324)
        self.refused("failure must be .* at least 1e-100", failure=5e-324)
        self.refused("learner must be one", learner="linucbb")
        self.refused("learner must be one", learner="pe")
        self.refused("release must be given", release=None)
        self.refused("has no argument epsilom; it takes .*epsilon", TypeError, epsilom=1)
        self.refused("", TypeError, dimension=2.5)
        self.refused("", TypeError, learner=3)
        self.refused("calibration must be one of paper, figure, tight", calibration="loose")
        with self.assertRaises(TypeError):
            faro.Agent("linucb")

    def test_simulation_has_a_seed_and_deployment_has_none(self):
        self.refused("seed must be given for a simulation, or deployed=True", seed=None)
        self.refused("seed is for simulation", deployed=True)
        self.refused("instance is for simulation", deployed=True, seed=None, instance=3)
        simulated = make()
        deployed = make(seed=None, deployed=True)
        self.assertIn("[simulation]", str(simulated.claim))
        self.assertIn("simulation with seed 1", repr(simulated))
        self.assertNotIn("simulation", repr(deployed) + str(deployed.claim))
        self.assertIn("deployed", repr(deployed))
        self.assertFalse(deployed.claim.simulation)
        with self.assertRaises(faro.InvalidError):  # floating-point noise cannot be deployed
            make(release="central-laplace", seed=None, deployed=True)
        theta = set()
        for _ in range(2):  # its noise is not the same twice
            agent = make(seed=None, deployed=True)
            agent.learn_many([[0.5, 0.5, 0.5]] * 10, [1] * 10)
            theta.add(tuple(agent.policy.theta))
        self.assertEqual(len(theta), 2)

    def test_settings_of_the_learner_are_arguments(self):
        name = "scale"
        self.assertEqual(make(learner="lints", scale=2).batches, 0)
        with self.assertRaisesRegex(faro.InvalidError, name):
            make(learner="lints", scale=1e9)
        with self.assertRaisesRegex(TypeError, "no argument scale"):
            make(learner="uniform", scale=2)

    def test_claims_are_those_of_the_release(self):
        claim = make().claim
        self.assertEqual((claim.epsilon, claim.delta, claim.trust, claim.level, claim.proven),
                         (1, 1e-6, "shuffle", "event", True))
        self.assertTrue(claim.by)
        self.assertIn("not proven", str(make(calibration="figure", release="local").claim))
        self.assertEqual(str(make(release="none").claim), "no privacy [simulation]")
        self.assertEqual(make(level="user", contributions=3).claim.contributions, 3)
        self.assertIn("user level, 3 rounds", repr(make(level="user", contributions=3)))
        self.assertGreater(make().cost["bits"], 0)
        self.assertEqual(make().cost["bytes"], 72 + 4 * 9)  # d (d + 1) / 2 + d counts behind a head

    def test_a_printed_claim_never_promises_more_than_the_claim(self):
        agent = make(release="central", epsilon=1.2345642, delta=1.2345642e-6)
        self.assertTrue(str(agent.claim).startswith("(1.23457, 1.23457e-6), proven"), agent.claim)
        self.assertIn("1.23457", repr(agent))
        claim = dataclasses.replace(agent.claim, assumes="ranges are public", trust="central")
        self.assertIn("trust central, event level, assumes that ranges are public [simulation]", str(claim))

    def test_a_claim_says_what_it_leaves_out_and_assumes(self):
        claim = make(release="central", public_arms=True).claim
        self.assertEqual((claim.protects, claim.assumes), ("rewards", None))
        self.assertIn(", rewards only: arms are public", str(claim))
        self.assertIn("protects='rewards'", repr(claim))
        self.assertEqual((make().claim.protects, make().claim.assumes), ("all", None))
        said = "it is long, " * 300 + "and whole"
        agent = make(release="central", assumes=said)
        self.assertEqual(agent.claim.assumes, said)
        self.assertIn("assumes that %s [simulation]" % said, str(agent.claim))
        self.assertIn("assumes that %s" % said, repr(agent))
        self.assertIn(repr(said), repr(agent.claim))
        with self.assertRaisesRegex(faro.InvalidError, "protects must be one of all, rewards"):
            str(dataclasses.replace(claim, protects="arms"))

    def test_a_claim_says_that_actions_must_stay_hidden(self):
        claim = make().claim
        self.assertEqual(claim.actions, "others")
        hidden = dataclasses.replace(claim, actions="hidden")
        self.assertIn("event level, actions hidden [simulation]", str(hidden))
        self.assertIn("actions='hidden'", repr(hidden))
        self.assertNotIn("hidden", str(claim))
        with self.assertRaisesRegex(faro.InvalidError, "actions must be one of hidden, others, all .got seen."):
            str(dataclasses.replace(claim, actions="seen"))

    def test_what_a_claim_rests_on(self):
        self.assertGreater(make().gaussian(1)[0], 0)
        self.assertIn("mechanism", make().grounds())


class State(unittest.TestCase):
    def test_a_saved_agent_continues(self):
        a, b = make(release="central-bits"), make(release="central-bits")
        a.learn_many([[0.5, 0.1, 0.5]] * 20, [1] * 20)
        b.load(a.save())
        self.assertEqual(b.batches, 2)
        self.assertEqual(a.policy.theta, b.policy.theta)
        c = pickle.loads(pickle.dumps(a))
        self.assertEqual((c.batches, c.policy.theta, c.claim), (2, a.policy.theta, a.claim))
        for agent in (a, c):  # the noise that follows is not what was drawn before
            agent.learn_many([[0.5, 0.1, 0.5]] * 10, [1] * 10)
        self.assertNotEqual(a.policy.theta, c.policy.theta)

    def test_what_cannot_be_saved_or_loaded_is_an_exception(self):
        a = make(release="central-bits")
        a.learn([0.5, 0.1, 0.5], 1)
        with self.assertRaises(faro.InvalidError):  # a batch is open
            a.save()
        with self.assertRaises(faro.InvalidError):
            make(release="central-laplace").save()
        state = make(release="central-bits").save()
        for wrong in b"", state[:-1], state + b"x", bytes(len(state)), make(release="central-bits", epsilon=2).save():
            with self.assertRaises(faro.InvalidError):
                make(release="central-bits").load(wrong)
        with self.assertRaises(TypeError):
            a.load("text")

    def test_after_the_horizon_nothing_more_is_learned(self):
        a = make(horizon=20)
        with self.assertWarns(UserWarning):
            self.assertEqual((a.learn_many([[0.5, 0.1, 0.5]] * 30, [1] * 30), a.done, a.missing), (2, True, 0))
        theta = tuple(a.policy.theta)
        self.assertFalse(a.learn([0.5, 0.1, 0.5], 0))
        self.assertEqual(tuple(a.policy.theta), theta)

    def test_threads_share_an_agent(self):
        a = make(release="none", batch=1, horizon=10**6)

        def work():
            for _ in range(2000):
                a.learn([0.5, 0.1, 0.5], a.choose([[1.0, 0, 0], [0, 1.0, 0]]))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(a.batches, 8000)


class Worlds(unittest.TestCase):
    def test_worlds_refuse_what_does_not_apply(self):
        world = faro.World("linear-fixed", dimension=3, arms=4, horizon=2)
        self.assertEqual(world.arms.shape, (4, 3))
        for arm in -1, 4, 10**30:
            with self.assertRaises((faro.InvalidError, IndexError)):
                world.play(arm)
        with self.assertRaises(TypeError):
            world.play(1.5)
        with self.assertRaisesRegex(faro.InvalidError, "has arms"):
            world.value()
        self.assertEqual(world.gap(world.best), 0)
        world.play(0), world.play(0)
        with self.assertRaisesRegex(faro.InvalidError, "horizon of 2 rounds is over"):
            world.play(0)
        world.begin(1, 0)
        self.assertEqual(world.round, 0)
        self.assertIn("simulation", repr(world))
        with self.assertRaisesRegex(faro.InvalidError, "environments"):
            faro.World("nowhere")
        with self.assertRaisesRegex(TypeError, "no argument colour"):
            faro.World("linear-fixed", colour=1)

    def test_streams_are_numbers(self):
        stream = faro.World("bits-random", horizon=100)
        values = [stream.value() for _ in range(100)]
        self.assertTrue(set(values) <= {0.0, 1.0} and len(set(values)) == 2)
        with self.assertRaisesRegex(faro.InvalidError, "stream"):
            stream.arms

    def test_every_environment_can_be_stepped(self):
        for kind in faro.environments():
            if kind["name"] == "rows":
                continue  # needs a file
            draw = {"draw": "sphere"} if kind["name"] in ("linear-known", "linear-population") else {}
            world = faro.World(kind["name"], horizon=50, dimension=4, arms=8, **draw)
            for _ in range(50):
                if kind["stream"]:
                    world.value()
                else:
                    world.play(world.best)


if __name__ == "__main__":
    unittest.main()
