"""What a claim must not promise: states continued twice, people who come too often, worlds from files, plans."""
import copy
import json
import math
import os
import pickle
import random
import tempfile
import unittest
import warnings

import faro

KNOWN = dict(learner="posterior", release="central-bits", dimension=2, horizon=200, batch=10, epsilon=1, delta=1e-6)
PERSON = [0.5, 0.5]


def deployed(**other):
    return faro.Agent(**{**KNOWN, **other}, deployed=True)


def simulated(**other):
    return faro.Agent(**{**KNOWN, "seed": 1, **other})


class States(unittest.TestCase):
    def test_a_deployed_agent_is_neither_copied_nor_pickled(self):
        agent = deployed()
        learner = faro.LinUCB(arms=2, dimension=2, release="central-bits", epsilon=1, delta=1e-6, horizon=100, deployed=True)
        for call in (copy.copy, copy.deepcopy, pickle.dumps):
            with self.assertRaisesRegex(TypeError, r"save\(\).*load\(\)"):
                call(agent)
        for call in (copy.deepcopy, pickle.dumps):
            with self.assertRaisesRegex(TypeError, r"save\(\).*load\(\)"):
                call(learner)

    def test_after_saving_only_the_next_one_learns(self):
        agent = deployed()
        agent.learn_many([PERSON] * 10, [1] * 10)
        state = agent.save()
        self.assertEqual(agent.save(), state)
        for call in (lambda: agent.learn(PERSON, 1), lambda: agent.learn_many([PERSON], [1])):
            with self.assertRaisesRegex(faro.InvalidError, "was saved.*twice"):
                call()
        self.assertIn(agent.choose([PERSON, [0.1, 0.1]]), (0, 1))  # what is published stays
        following = deployed()
        following.load(state)
        following.learn_many([PERSON] * 10, [1] * 10)
        self.assertEqual((agent.batches, following.batches), (1, 2))
        simulation = simulated()
        simulation.save()
        simulation.learn(PERSON, 1)

    def test_two_simulations_from_one_pickle_share_their_noise(self):
        agent = simulated()
        agent.learn_many([PERSON] * 10, [1] * 10)
        one, other = (pickle.loads(pickle.dumps(agent)) for _ in range(2))
        for again in one, other:
            again.learn_many([PERSON] * 10, [1] * 10)
        self.assertEqual(one.policy.theta, other.policy.theta)

    def test_a_release_that_cannot_be_saved_names_those_that_can(self):
        with self.assertRaisesRegex(faro.InvalidError, "central-laplace cannot be saved; these can: .*central-bits"):
            simulated(release="central-laplace").save()


class Users(unittest.TestCase):
    USER = dict(level="user", contributions=2)

    def test_nobody_contributes_more_often_than_the_claim_covers(self):
        agent = simulated(**self.USER)
        with self.assertRaisesRegex(faro.InvalidError, "person must be given at level user.*at most 2 rounds"):
            agent.learn(PERSON, 1)
        for _ in range(200):  # all of one person: one in the first batch, and that batch stays open
            self.assertFalse(agent.learn(PERSON, 1, person="anna"))
        self.assertEqual((agent.refused, agent.people, agent.missing), (199, {"anna": (1, 0)}, 9))
        agent.learn_many([PERSON] * 9, [1] * 9, people=range(9))
        self.assertEqual(agent.batches, 1)
        agent.learn(PERSON, 1, person="anna")
        self.assertEqual(agent.learn_many([PERSON] * 9, [1] * 9, people=list(range(9))), 1)
        self.assertEqual(agent.refused, 199)
        self.assertEqual(agent.learn_many([PERSON] * 10, [1] * 10, people=["anna"] + list(range(9))), 0)
        self.assertEqual((agent.refused, agent.missing), (209, 10))

    def test_a_person_has_a_name(self):
        agent = simulated(**self.USER)
        for wrong in 1.5, [1], (1, 2), b"a":
            with self.assertRaises(TypeError):
                agent.learn(PERSON, 1, person=wrong)
            with self.assertRaises(TypeError):
                agent.learn_many([PERSON] * 2, [1] * 2, people=["a", wrong])
        with self.assertRaises(faro.InvalidError):
            agent.learn_many([PERSON] * 2, [1] * 2, people=["a"])
        with self.assertRaisesRegex(TypeError, "only keyword is person"):
            agent.learn(PERSON, 1, who="anna")
        self.assertEqual(agent.people, {})
        with self.assertRaisesRegex(faro.InvalidError, "person is for level user"):
            simulated().learn(PERSON, 1, person="anna")
        simulated(release="none", **self.USER).learn(PERSON, 1)  # no claim, no limit

    def test_who_contributed_goes_with_the_state(self):
        agent = deployed(**self.USER)
        agent.learn_many([PERSON] * 10, [1] * 10, people=[str(i) for i in range(10)])
        state, people = agent.save(), json.loads(json.dumps(agent.people))
        following = deployed(**self.USER)
        with self.assertRaisesRegex(faro.InvalidError, "people must be given"):
            following.load(state)
        for wrong in [1], {"a": 3}, {"a": (1,)}, {"a": ("x", 1)}, {1.5: (1, 1)}:
            with self.assertRaises(TypeError):
                following.load(state, people=wrong)
        following.load(state, people=people)
        self.assertEqual(following.people, agent.people)
        for _ in range(2):
            following.learn(PERSON, 1, person="3")
        self.assertEqual((following.refused, following.people["3"]), (1, (2, 1)))
        again = pickle.loads(pickle.dumps(simulated(**self.USER)))
        self.assertEqual(again.people, {})

    def test_the_same_people_as_the_runner_turns_away(self):
        settings = dict(level="user", contributions=4, epsilon=5)
        environment = dict(dimension=3, arms=5, population=100)
        results = faro.run({"environment": {"name": "linear-fixed", **environment}, "horizon": 1000, "instances": 1, "seed": 3,
                            **settings, "algorithms": [{"learner": "posterior", "release": "shuffle-bits", "batch": 50}]})
        world = faro.World("linear-fixed", **environment, horizon=1000, seed=3)
        agent = world.agent(learner="posterior", release="shuffle-bits", batch=50, **settings)
        regret = 0.0
        for _ in range(world.horizon):
            features, person = world.arms, world.user
            arm = agent.choose(features)
            regret += world.gap(arm)
            agent.learn(features, world.play(arm), arm, person=person)
        self.assertEqual(regret, results.instances[0]["regret"])
        self.assertGreater(agent.refused, 0)

    def test_learners_for_contexts_take_people(self):
        learner = faro.LinUCB(arms=2, dimension=1, release="central-bits", epsilon=1, delta=1e-6, horizon=100, batch=2,
                              seed=1, level="user", contributions=1)
        learner.partial_fit([0, 1], [1.0, 0.0], [[0.5], [0.5]], people=["a", "b"])
        learner.update_params(0, 1, [[0.5]], person="a")
        self.assertEqual((learner.agent.batches, learner.agent.refused), (1, 1))
        with self.assertRaisesRegex(faro.InvalidError, "person must be given"):
            learner.update_params(0, 1, [[0.5]])


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, head, rows):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(head + "\n" + "".join(row + "\n" for row in rows))
        return path

    def people(self, count, persons):
        chance = random.Random(1)
        return self.write("people.csv", "who,a,b,class", ("u%d,%.3f,%.3f,%s" % (
            i % persons, chance.random(), chance.random(), chance.choice("xy")) for i in range(count)))

    def log(self, count):
        chance = random.Random(2)
        return self.write("log.csv", "a,act,r,p", ("%.3f,%s,%d,0.5" % (
            chance.random(), chance.choice("xy"), chance.random() < 0.5) for _ in range(count)))

    def test_what_the_runner_refuses_an_agent_refuses(self):
        own = dict(file=self.people(400, 20), label="class", person="who")
        algorithm = dict(learner="posterior", release="shuffle-bits")
        world = faro.World("rows", **own)
        for call in (lambda: world.agent(**algorithm),
                     lambda: faro.run({"environment": {"name": "rows", **own}, "instances": 1, "algorithms": [algorithm]})):
            with self.assertRaisesRegex(faro.InvalidError, "level must be user: one person has 20 rows"):
                call()
        self.assertEqual(world.agent(level="user", contributions=2, **algorithm).claim.level, "user")
        world.agent(learner="posterior", release="none")
        one = self.people(400, 400)
        faro.World("rows", file=one, label="class", person="who").agent(**algorithm)
        with self.assertRaisesRegex(faro.InvalidError, "horizon is 500 and the file has 400 rows"):
            faro.World("rows", file=one, label="class", ignore="who", horizon=500).agent(**algorithm)

    def test_a_world_is_a_simulation(self):
        world = faro.World("linear-fixed", dimension=3, arms=4, horizon=100)
        with self.assertRaisesRegex(faro.InvalidError, "a world is a simulation"):
            world.agent(learner="posterior", release="shuffle-bits", deployed=True)

    def test_what_is_assumed_about_a_file_is_in_the_claim(self):
        algorithm = dict(learner="posterior", release="shuffle-bits")
        for own, said in ((dict(file=self.people(400, 400), label="class", ignore="who", scaling="public"),
                           "assumes that the columns' ranges are public"),
                          (dict(file=self.log(4000), action="act", logged_reward="r", propensity="p"),
                           "assumes that it is public which rows a replay uses")):
            agent = faro.World("rows", **own).agent(**algorithm)
            ran = faro.run({"environment": {"name": "rows", **own}, "instances": 1, "algorithms": [algorithm]}).claims[0]
            self.assertEqual((agent.claim.by, str(agent.claim)), (ran.by, str(ran)))
            self.assertEqual("assumes that " + agent.claim.assumes, said)
            self.assertEqual(agent.claim, ran)
            self.assertIn(", " + said, str(agent.claim))
            self.assertEqual(pickle.loads(pickle.dumps(agent)).claim, agent.claim)
            none = faro.World("rows", **own).agent(learner="posterior", release="none")
            self.assertEqual(str(none.claim), "no privacy [simulation]")

    def test_an_arm_that_was_not_logged_has_no_reward(self):
        world = faro.World("rows", file=self.log(4000), action="act", logged_reward="r", propensity="p")
        total, rounds = 0.0, 0
        while rounds < 500:
            with self.assertRaisesRegex(faro.InvalidError, r"takes\(arm\)"):
                world.play(0)
            if world.takes(0):
                with self.assertRaisesRegex(faro.InvalidError, r"takes\(arm\)"):
                    world.play(1)
                total += world.play(0)
                rounds += 1
        self.assertLess(abs(total / rounds - 0.5), 0.12)  # five standard deviations

    def test_a_file_that_is_cut_while_it_is_played_is_an_exception(self):
        path = self.people(20000, 20000)
        world = faro.World("rows", file=path, label="class", ignore="who", memory=0)
        with open(path, "r+") as file:
            file.truncate(2000)
        with self.assertRaisesRegex(faro.Error, "people.csv"):
            for _ in range(world.horizon):
                world.play(0)


class Plans(unittest.TestCase):
    def check(self, **other):
        plan = faro.plan(users=3000, dimension=3, arms=5, epsilon=1, delta=1e-6, trusts=["joint", "shuffle"], instances=1, **other)
        for way in plan.chosen:
            agent = way.agent(seed=1)
            self.assertEqual(agent.claim, way.claim)
            yield way, agent, agent._arguments

    def test_the_agent_of_a_user_level_plan_claims_user_level(self):
        for way, agent, _ in self.check(contributions=3):
            self.assertEqual((agent.claim.level, agent.claim.contributions), ("user", 3))

    def test_the_agent_knows_what_the_plan_played_with(self):
        for way, _, given in self.check():
            self.assertEqual((given["centre"], given["low"], given["high"]), (0.5, -0.5, 0.5))
        for way, agent, given in self.check(rewards="logistic"):
            self.assertEqual(given["link"], "linear" if way.surrogate else "logistic")
            self.assertGreater(given["bound"], 1)

    def test_the_agent_plays_as_the_experiment_of_the_plan(self):
        plan = faro.plan(users=1000, dimension=3, arms=5, epsilon=1, delta=1e-6, contexts="fixed", trusts="shuffle", instances=1)
        way = plan.chosen[0]
        results = faro.run(way.experiment, set={"instances": 1, "seed": 4})
        world = faro.World("linear-fixed", dimension=3, arms=5, horizon=1000, seed=4)
        agent, regret = way.agent(seed=4), 0.0
        for _ in range(1000):
            features = world.arms
            arm = agent.choose(features)
            regret += world.gap(arm)
            agent.learn(features, world.play(arm), arm)
        self.assertEqual(results.instances[0]["regret"], regret)


class Messages(unittest.TestCase):
    def refused(self, message, call, **given):
        with self.assertRaisesRegex(faro.InvalidError, message):
            call(**given)

    def test_names_that_are_almost_right(self):
        self.refused(r"got shufle-bits. .did you mean shuffle-bits\?", simulated, release="shufle-bits")
        self.refused(r"got postrior. .did you mean posterior\?", simulated, learner="postrior")

    def test_what_is_missing_is_named(self):
        self.refused("epsilon must be given for central-bits", simulated, epsilon=None)
        self.refused("learner must be given", simulated, learner=None)
        self.refused("release must be given", simulated, release=None)
        simulated(release="none", epsilon=None)

    def test_ranges_of_nothing_are_refused(self):
        own = dict(arms=2, dimension=2, release="none", horizon=100, seed=1)
        self.refused("low must be below high.*got 2 and 2", faro.LinUCB, low=2, high=2, **own)
        self.refused("low must be below high", faro.LinUCB, low=1, high=0, **own)
        for norm in 0, -1, math.inf, math.nan:
            self.refused("norm must be above 0", faro.LinUCB, norm=norm, **own)

    def test_fit_says_why_there_is_none(self):
        learner = faro.Greedy(arms=2, dimension=2, release="none", horizon=100, seed=1)
        self.refused("two claims on the same people add up.*partial_fit", learner.fit)

    def test_what_is_scaled_back_is_said_once_and_counted(self):
        learner = faro.LinUCB(arms=2, dimension=2, release="none", horizon=100, seed=1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            learner.partial_fit([0, 1], [1, 0], [[0.6, 0.8], [0.0, 0.0]])
            simulated().learn([0.6, 0.8], 1)
        for act, agent in ((lambda: learner.partial_fit([0] * 3, [1] * 3, [[3.0, 4.0]] * 3), learner.agent),
                           (lambda a=simulated(): [a.learn([3.0, 4.0], 1) for _ in range(3)] and a, None)):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                found = act()
            self.assertEqual(len(said), 1)
            self.assertIn("scale them by ranges that are public", str(said[0].message))
            self.assertEqual((agent or found).longer, 3)

    def test_people_beyond_the_horizon_are_said_once_and_counted(self):
        agent = simulated(horizon=20)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            agent.learn_many([PERSON] * 25, [1] * 25)
        self.assertEqual((len(said), agent.late, agent.done), (1, 5, True))
        self.assertIn("the horizon is over", str(said[0].message))


if __name__ == "__main__":
    unittest.main()
