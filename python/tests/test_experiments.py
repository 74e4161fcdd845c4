"""Experiments, reports and plans: the same results as the command, progress, interrupts, and what is refused."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import faro
from support import FARO, frames

SMALL = {"title": "small", "horizon": 400, "instances": 3, "environment": {"name": "linear-fixed", "dimension": 3, "arms": 5},
         "sweep": {"epsilon": [1, 10]},
         "algorithms": [{"learner": "linucb", "release": "none"},
                        {"label": "a, b", "learner": "posterior", "release": "shuffle-bits", "batch": 20}]}
LONG = {**SMALL, "horizon": 10**9, "instances": 50, "sweep": {"epsilon": [1]}}


class Run(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def test_a_dictionary_a_text_a_file_and_a_name(self):
        text = json.dumps(SMALL, indent=1)
        with open(self.path("small.yaml"), "w") as file:
            file.write(text)
        results = [faro.run(SMALL), faro.run(text), faro.run(self.path("small.yaml")), faro.run(SMALL, jobs=1)]
        rows = [[{k: v for k, v in row.items()} for row in r.rows] for r in results]
        self.assertEqual(len(rows[0]), 4)
        self.assertTrue(all(r == rows[0] for r in rows))
        self.assertEqual(rows[0][1]["label"], "a, b")
        self.assertEqual([row["epsilon"] for row in rows[0]], [1, 1, 10, 10])
        self.assertEqual(results[2].name, "small")
        self.assertEqual(faro.run("trust-models", quick=True, set={"instances": 1, "horizon": 100}).name, "trust-models")

    def test_overrides(self):
        rows = faro.run(SMALL, set={"epsilon": [2, 3, 4], "instances": 2, "seed": 5, "calibration": "tight"}).rows
        self.assertEqual([row["epsilon"] for row in rows[::2]], [2, 3, 4])
        self.assertEqual(rows[0]["instances"], 2)

    @unittest.skipUnless(FARO, "FARO names the command")
    def test_what_is_saved_is_what_the_command_writes(self):
        with open(self.path("small.yaml"), "w") as file:
            json.dump(SMALL, file)
        subprocess.run([FARO, "run", self.path("small.yaml"), "--out", self.path("c"), "--quiet"], check=True,
                       stdout=subprocess.DEVNULL)
        results = faro.run(self.path("small.yaml"), out=self.path("p"))
        results.save(self.path("saved"))
        for name in ("summary.csv", "curves.csv", "instances.csv", "small.svg", "experiment.yaml", "table.tex"):
            wanted = pathlib.Path(self.path("c", name)).read_bytes()
            for folder in "p", "saved":
                self.assertEqual(pathlib.Path(self.path(folder, name)).read_bytes(), wanted, name)
        self.assertFalse(os.path.exists(self.path("p", "instances.journal")))
        again = faro.report(self.path("c"), out=self.path("again"))
        self.assertEqual(again.rows, results.rows)
        self.assertTrue(os.path.exists(self.path("again", "report.html")))

    def test_results_say_which_actions_must_stay_hidden(self):
        results = faro.run({"horizon": 500, "instances": 1, "environment": SMALL["environment"], "algorithms": [
            {"label": "secret", "learner": "hanna", "release": "shuffle-laplace", "assignment": "secret"}]})
        self.assertEqual(results.claims[0].actions, "hidden")
        self.assertIn("trust shuffle, event level, actions hidden [simulation]", repr(results))

    def test_results_say_what_is_claimed(self):
        results = faro.run(SMALL)
        self.assertEqual([c.standing for c in results.claims], ["no privacy", "proven"] * 2)
        self.assertEqual((results.claims[3].epsilon, results.claims[3].trust), (10, "shuffle"))
        self.assertIn("(10, 1e-6), proven, trust shuffle, event level [simulation]", repr(results))
        self.assertIn("a, b", results.table())
        self.assertEqual(len(results.instances), 12)
        self.assertEqual(len(results.curves), 4 * 200)
        mean = sum(row["regret"] for row in results.instances[:3]) / 3
        self.assertAlmostEqual(mean, results.rows[0]["regret_mean"], places=9)
        self.assertTrue(results.svg().startswith("<svg") or "<svg" in results.svg())
        self.assertIn("toprule", results.latex())
        self.assertIn("</html>", results.html())
        self.assertIn("<svg", results._repr_html_())
        pandas = frames()
        if pandas:
            frame = pandas.DataFrame(results.rows)
            self.assertEqual(frame.groupby("epsilon")["regret_mean"].count().tolist(), [2, 2])
            self.assertEqual(frame["regret_mean"].dtype, float)

    def test_wrong_experiments_are_refused_with_the_message(self):
        for wrong, kind, message in (
            ({**SMALL, "horizon": -1}, ValueError, "experiment:\\d+: horizon must be .*got -1"),
            ({**SMALL, "colour": 1}, ValueError, "colour"), ({}, ValueError, ""),
            ({**SMALL, "horizon": float("nan")}, ValueError, ""), ({"a": object()}, ValueError, ""),
            ("a: [\n", ValueError, ""), ("trust-model", ValueError, 'did you mean "trust-models"'),
            ("/nowhere/x.yaml", OSError, ""), (3, TypeError, ""), (None, TypeError, ""), ("\0\n", ValueError, ""),
        ):
            with self.assertRaisesRegex(kind, message):
                faro.run(wrong)
        with self.assertRaises(ValueError):
            faro.run(SMALL, set={"epsilon": -1})
        with self.assertRaises(TypeError):
            faro.run(SMALL, set={"epsilon": object()})
        with self.assertRaises(ValueError):
            faro.run(SMALL, jobs=-1)
        with self.assertRaisesRegex(faro.Error, "/nowhere/run.json: cannot be read"):
            faro.report("/nowhere")
        with self.assertRaises(OSError):
            faro.run(SMALL, out="/proc/nowhere")

    def test_other_results_are_not_replaced(self):
        faro.run(SMALL, out=self.path("r"))
        faro.run(SMALL, out=self.path("r"))
        with self.assertRaisesRegex(faro.InvalidError, "another experiment or of other settings"):
            faro.run(SMALL, set={"seed": 2}, out=self.path("r"))
        faro.run(SMALL, set={"seed": 2}, out=self.path("r"), fresh=True)

    def test_progress_is_told_and_may_stop_the_run(self):
        told = []
        faro.run(SMALL, progress=lambda done, total, share: told.append((done, total, share)))
        self.assertEqual(told[-1][0], told[-1][1])
        self.assertEqual(told[-1][2], 1)

        class Enough(Exception):
            pass

        def stop(done, total, share):
            raise Enough

        with self.assertRaises(Enough):
            faro.run(LONG, progress=stop)
        with self.assertRaises(TypeError):
            faro.run(LONG, progress=3)

    def test_a_signal_stops_the_run(self):
        def interrupt(done, total, share):
            signal.raise_signal(signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            faro.run(LONG, progress=interrupt)

    def test_control_c_stops_a_run_without_progress(self):
        program = "import faro, json, sys; print('ready', flush=True); faro.run(json.loads(sys.argv[1]))"
        child = subprocess.Popen([sys.executable, "-c", program, json.dumps(LONG)], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        child.stdout.readline()
        child.send_signal(signal.SIGINT)  # early or late: it must end
        _, error = child.communicate()
        self.assertIn("KeyboardInterrupt", error)

    def test_an_interrupted_run_continues(self):
        many = {**SMALL, "horizon": 5000, "instances": 12, "sweep": {"epsilon": [1]}}

        def stop(done, total, share):
            if done >= 2:
                raise InterruptedError

        with self.assertRaises(InterruptedError):
            faro.run(many, out=self.path("r"), progress=stop, jobs=1)
        first = []
        results = faro.run(many, out=self.path("r"), progress=lambda done, total, share: first.append(done))
        self.assertGreaterEqual(first[0], 2)
        self.assertEqual(results.rows, faro.run(many).rows)

    def test_shards_give_the_same_results(self):
        for part in 2, 1:
            if part == 1:
                with self.assertRaisesRegex(faro.Error, "missing|not"):
                    faro.merge(self.path("r"))
            self.assertIsNone(faro.run(SMALL, out=self.path("r"), shard=(part, 2)))
        merged = faro.merge(self.path("r"))
        whole = faro.run(SMALL)
        self.assertEqual((merged.rows, merged.curves, merged.instances), (whole.rows, whole.curves, whole.instances))
        self.assertFalse([name for name in os.listdir(self.path("r")) if "journal" in name])
        for wrong in (0, 2), (3, 2), "x", "1/0":
            with self.assertRaises(faro.InvalidError):
                faro.run(SMALL, out=self.path("s"), shard=wrong)
        with self.assertRaisesRegex(faro.InvalidError, "needs out"):
            faro.run(SMALL, shard=(1, 2))

    def test_threads_run_experiments_at_once(self):
        found = [None] * 3

        def work(i):
            found[i] = faro.run(SMALL, jobs=1).rows

        threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertTrue(found[0] and found[0] == found[1] == found[2])


class Plans(unittest.TestCase):
    def test_a_plan_names_ways_and_makes_agents(self):
        plan = faro.plan(users=2000, dimension=3, arms=5, epsilon=1, delta=1e-6, trusts=["joint", "local"], instances=1)
        self.assertEqual({way.trust for way in plan}, {"joint", "local"})
        self.assertEqual(len(plan.chosen), 2)
        way = plan.chosen[0]
        self.assertTrue(way.claim.proven and way.claim.epsilon == 1)
        self.assertLess(way.regret, plan.uniform)
        self.assertIn("proven", repr(way) + repr(plan))
        agent = way.agent(seed=1)
        self.assertEqual((agent.batch, agent.claim.epsilon), (way.batch, 1))
        self.assertGreater(len(faro.run(way.experiment + "\n", quick=True).rows), 0)
        self.assertEqual(len(plan.rows), len(plan))
        with self.assertRaises(faro.InvalidError):
            faro.plan(users=2000, dimension=3, arms=5, epsilon=1, delta=1e-6, trusts=["friends"])
        with self.assertRaises(faro.InvalidError):
            faro.plan(users=0, dimension=3, arms=5, epsilon=1, delta=1e-6)
        with self.assertRaises(TypeError):
            faro.plan(users=10)

    def test_progress_may_stop_a_plan(self):
        def stop(done, total, share):
            raise InterruptedError

        with self.assertRaises(InterruptedError):
            faro.plan(users=10**4, dimension=3, arms=5, trusts="joint", epsilon=1, delta=1e-6, progress=stop)


if __name__ == "__main__":
    unittest.main()
