"""What the tests of deploy/ share."""
import os, re, subprocess, sys, time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FARO = os.path.realpath(os.environ.get("FARO", os.path.join(ROOT, "build/faro")))
SLOW = bool(os.environ.get("FARO_SLOW_TESTS"))
VERSION = re.search(r"^project\(faro VERSION ([0-9.]+)", open(os.path.join(ROOT, "CMakeLists.txt")).read(), re.M).group(1)
IMAGE = "faro:" + VERSION
USER = re.search(r"^USER (\d+):(\d+)$", open(os.path.join(ROOT, "Dockerfile")).read(), re.M).groups()
NOT_A_KEY = "0" * 64
sys.path.insert(0, os.path.join(ROOT, "tests/support"))
from ports import free_port
broken = []


def check(good, place, message):
    """Remembers a rule that does not hold."""
    if not good:
        broken.append("%s: %s" % (place, message))
    return good


def finish(what):
    for line in broken:
        print(line)
    print("%s: %s" % (what, "%d rules broken" % len(broken) if broken else "ok"))
    sys.exit(bool(broken))


def faro(*words, cwd=None):
    """Runs the command; what it says if it fails goes into the exception."""
    done = subprocess.run([FARO, *words], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit("faro %s: status %d: %s" % (" ".join(words), done.returncode, done.stderr))
    return done.stdout


def wait(what, ready, seconds=300):
    """Polls until ready() is true."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise SystemExit("waited %d s for %s" % (seconds, what))
        time.sleep(0.02)
