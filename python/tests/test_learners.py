"""Learners for contexts: that they learn, by the verbs of MABWiser and OBP, and that blocks are what they should be."""
import array
import math
import pickle
import random
import unittest

import faro
from support import frames, matrix, numpy


def draw(chance, n):
    """n contexts of two numbers; arm 0 is right if their sum is positive, else arm 1; arm 2 never is."""
    contexts = [[chance.uniform(-0.7, 0.7), chance.uniform(-0.7, 0.7)] for _ in range(n)]
    return contexts, [0 if a + b > 0 else 1 for a, b in contexts]


def play(learner, people, seed=3, labels=(0, 1, 2)):
    """The share of right choices among the last thousand."""
    chance = random.Random(seed)
    contexts, right = draw(chance, people)
    wins = []
    for context, best in zip(contexts, right):
        arm = learner.predict([context])
        wins.append(arm == labels[best])
        learner.partial_fit([arm], [float(wins[-1])], [context])
    return sum(wins[-1000:]) / 1000


class Learning(unittest.TestCase):
    def test_every_learner_learns_without_privacy_and_with_it(self):
        for kind in faro.LinUCB, faro.Posterior, faro.Greedy, faro.LinTS:
            with self.subTest(kind=kind):
                free = kind(arms=3, dimension=2, release="none", horizon=3000, batch=1, seed=1)
                self.assertGreater(play(free, 3000), 0.85)
                private = kind(arms=3, dimension=2, release="central-factored", epsilon=4, delta=1e-6, horizon=6000, seed=1)
                self.assertGreater(play(private, 6000), 0.75)  # random play is 0.33, one arm always 0.5
                self.assertIn("(4, 1e-6), proven", repr(private))
                self.assertTrue(private.done)

    def test_arms_have_names(self):
        learner = faro.Greedy(arms=["up", "down", "off"], dimension=2, release="none", horizon=2000, batch=1, seed=1)
        self.assertGreater(play(learner, 2000, labels=("up", "down", "off")), 0.8)
        self.assertEqual(set(learner.predict_expectations([[0.1, 0.2]])), {"up", "down", "off"})
        for wrong in "left", 0, None, [1]:
            with self.assertRaisesRegex(faro.InvalidError, "arm must be one of 'up', 'down', 'off'"):
                learner.partial_fit([wrong], [1.0], [[0.1, 0.2]])
        with self.assertRaises(faro.InvalidError):
            faro.LinUCB(arms=["a", "a"], dimension=2, release="none", seed=1)
        with self.assertRaises(faro.InvalidError):
            faro.LinUCB(arms=1, dimension=2, release="none", seed=1)

    def test_the_verbs_of_obp(self):
        policy = faro.LinUCB(arms=3, dimension=2, release="shuffle-bits", batch=50, epsilon=5, delta=1e-6, horizon=200, seed=1)
        self.assertEqual((policy.n_actions, policy.dim, policy.batch_size, policy.len_list), (3, 2, 50, 1))
        for _ in range(50):
            action = policy.select_action(matrix([[0.5, 0.5]]))
            self.assertEqual(len(action), 1)
            policy.update_params(action=action[0], reward=1, context=matrix([[0.5, 0.5]]))
        self.assertEqual(policy.agent.batches, 1)

    def test_clones_and_pickles(self):
        learner = faro.LinUCB(arms=3, dimension=2, release="central-bits", batch=10, epsilon=5, delta=1e-6, horizon=100,
                              seed=1, failure=0.2)
        again = type(learner)(**learner.get_params())
        self.assertEqual(again.get_params(), learner.get_params())
        learner.partial_fit([0, 1] * 5, [1.0, 0.0] * 5, [[0.3, 0.4]] * 10)
        copy = pickle.loads(pickle.dumps(learner))
        self.assertEqual(copy.predict_expectations([[0.3, 0.4]]), learner.predict_expectations([[0.3, 0.4]]))


class Deployed(unittest.TestCase):
    def test_a_deployed_learner_says_so_and_its_state_continues(self):
        learner = faro.Posterior(arms=3, dimension=2, release="shuffle-bits", epsilon=2, delta=1e-6, horizon=200, batch=20,
                                 deployed=True)
        self.assertNotIn("simulation", repr(learner))
        learner.partial_fit([0, 1] * 10, [1.0, 0.0] * 10, [[0.3, 0.4]] * 20)
        copy = faro.Posterior(**learner.get_params())
        copy.load(learner.save())
        self.assertEqual((copy.agent.batches, copy.claim), (1, learner.claim))
        self.assertEqual(copy.predict_expectations([[0.3, 0.4]]), learner.predict_expectations([[0.3, 0.4]]))
        with self.assertRaisesRegex(faro.InvalidError, "seed is for simulation"):
            faro.Posterior(arms=3, dimension=2, release="shuffle-bits", epsilon=2, delta=1e-6, seed=1, deployed=True)


class Blocks(unittest.TestCase):
    """A learner for contexts is an agent whose features are made by hand."""

    def by_hand(self, context, arm, arms, intercept, norm):
        length = math.sqrt(sum(c * c for c in context))
        block = [c * min(1, norm / length) for c in context] + [1.0] * intercept
        return [0.0] * (arm * len(block)) + block + [0.0] * ((arms - 1 - arm) * len(block))

    def test_features_are_blocks(self):
        for intercept in True, False:
            learner = faro.Posterior(arms=4, dimension=3, release="shuffle-bits", epsilon=2, delta=1e-6, horizon=400, batch=20,
                                     intercept=intercept, norm=0.8, seed=5)
            centre = 0.5 * intercept
            agent = faro.Agent(learner="posterior", release="shuffle-bits", epsilon=2, delta=1e-6, horizon=400, batch=20,
                               dimension=4 * (3 + intercept), norm=math.sqrt(0.64 + intercept), centre=centre,
                               low=-centre, high=1 - centre, arms=4, blocks=4, seed=5)
            chance = random.Random(1)
            for _ in range(400):
                context = [chance.uniform(-1, 1) for _ in range(3)]
                features = [self.by_hand(context, a, 4, intercept, 0.8) for a in range(4)]
                arm = agent.choose(features)
                self.assertEqual(learner.predict([context]), arm)
                reward = chance.random() < 0.2 * (arm + 1)
                agent.learn(features[arm], reward)
                learner.partial_fit([arm], [float(reward)], [context])
            theta = agent.policy.theta
            self.assertEqual(tuple(theta), tuple(learner.agent.policy.theta))
            means = [centre + sum(t * x for t, x in zip(theta, row)) for row in features]
            for a, mean in learner.predict_expectations([context]).items():
                self.assertAlmostEqual(mean, means[a], places=12)

    def test_many_are_as_one_after_another(self):
        chance = random.Random(2)
        arms = [chance.randrange(3) for _ in range(100)]
        rewards = [chance.random() for _ in range(100)]
        contexts = [[chance.uniform(-1, 1), chance.uniform(-1, 1)] for _ in range(100)]
        made = [faro.LinUCB(arms=3, dimension=2, release="none", batch=1, horizon=100, seed=1) for _ in range(4)]
        for a, r, c in zip(arms, rewards, contexts):
            made[0].partial_fit([a], [r], [c])
        made[1].partial_fit(arms, array.array("d", rewards), matrix(contexts))
        if numpy:
            made[2].partial_fit(numpy.array(arms), numpy.array(rewards), numpy.array(contexts))
        else:
            made[2].partial_fit(arms, rewards, contexts)
        pandas = frames()
        if pandas:
            frame = pandas.DataFrame({"arm": arms, "reward": rewards, "a": [c[0] for c in contexts], "b": [c[1] for c in contexts]})
            made[3].partial_fit(frame["arm"], frame["reward"], frame[["a", "b"]])
        else:
            made[3].partial_fit(tuple(arms), tuple(rewards), tuple(contexts))
        self.assertEqual(len({tuple(m.agent.policy.theta) for m in made}), 1)
        self.assertEqual(made[0].predict(contexts), made[1].predict(matrix(contexts)))

    def test_what_is_wrong_changes_nothing(self):
        learner = faro.LinUCB(arms=3, dimension=2, release="none", batch=1, horizon=100, seed=1)
        for kind, arguments in (
            (faro.InvalidError, ([0], [1.0], [[1, 2, 3]])), (faro.InvalidError, ([0, 1], [1.0], [[1, 2]])),
            (faro.InvalidError, ([0], [1.0, 2.0], [[1, 2]])), (faro.InvalidError, ([3], [1.0], [[1, 2]])),
            (faro.InvalidError, ([0], [math.nan], [[1, 2]])), (faro.InvalidError, ([0], [1.0], [[1, math.inf]])),
            (TypeError, ([0], [1.0], 3)), (TypeError, (0, [1.0], [[1, 2]])), (TypeError, ([0], ["x"], [[1, 2]])),
            (faro.InvalidError, ([0, 3], [1.0, 1.0], [[1, 2], [1, 2]])),
        ):
            with self.assertRaises(kind):
                learner.partial_fit(*arguments)
        self.assertEqual(learner.agent.batches, 0)
        with self.assertRaisesRegex(faro.InvalidError, "blocks"):
            faro.Agent(learner="linucb", release="none", dimension=4, seed=1).choose_context([1, 2])
        with self.assertRaisesRegex(faro.InvalidError, "multiple of blocks"):
            faro.Agent(learner="linucb", release="none", dimension=4, blocks=3, seed=1)


if __name__ == "__main__":
    unittest.main()
