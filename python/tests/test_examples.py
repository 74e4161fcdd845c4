"""The examples and the notebooks run, and say what they should."""
import contextlib
import glob
import io
import os
import re
import subprocess
import sys
import unittest

from support import ROOT


def run(path):
    done = subprocess.run([sys.executable, path], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError("%s: %s" % (path, done.stderr))
    return done.stdout


class Examples(unittest.TestCase):
    def test_agent(self):
        text = run(os.path.join(ROOT, "examples/agent.py"))
        self.assertRegex(text, "20000 visitors, 146 clicks lost; showing banners at random loses 3750")
        self.assertIn("(1, 1e-6), proven, trust shuffle, event level [simulation]", text)

    def test_own_world(self):
        lines = run(os.path.join(ROOT, "examples/own_world.py")).split("\n")
        learnt = {line.split()[0]: int(line.split()[2]) for line in lines[1:5]}
        self.assertGreater(learnt["none"], learnt["shuffle-bits"])
        self.assertGreater(learnt["shuffle-bits"], 80)

    def test_notebooks(self):
        paths = sorted(glob.glob(os.path.join(ROOT, "python/notebooks/*.py")))
        self.assertEqual(len(paths), 3)
        for path in paths:
            with self.subTest(path=path), open(path) as file:
                text = file.read()
                self.assertTrue(text.startswith("# %% [markdown]\n# # "))
                self.assertTrue(run(path))

    def test_code_in_the_document(self):
        with open(os.path.join(ROOT, "docs/python.md"), encoding="utf-8") as file:
            blocks = re.findall("```python\n(.*?)```", file.read(), re.S)
        self.assertGreater(len(blocks), 4)
        names = {}
        with contextlib.redirect_stdout(io.StringIO()):
            for block in blocks:
                exec(block, names)


if __name__ == "__main__":
    unittest.main()
