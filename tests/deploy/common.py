"""What the tests of deploy/ share."""
import os, random, re, socket, subprocess, sys, time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FARO = os.path.realpath(os.environ.get("FARO", os.path.join(ROOT, "build/faro")))
SLOW = bool(os.environ.get("FARO_SLOW_TESTS"))
VERSION = re.search(r"^project\(faro VERSION ([0-9.]+)", open(os.path.join(ROOT, "CMakeLists.txt")).read(), re.M).group(1)
IMAGE = "faro:" + VERSION
USER = re.search(r"^USER (\d+):(\d+)$", open(os.path.join(ROOT, "Dockerfile")).read(), re.M).groups()
NOT_A_KEY = "0" * 64
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


holds = []  # keep ports until this process ends


def free_port():
    """A port for a role that is started later: held by a name, as src/trial/relay.c does it, and below those the system gives out."""
    while True:
        port = random.randrange(10000, 20000)
        hold = socket.socket(socket.AF_UNIX)
        try:
            hold.bind("\0faro-trial-port-%d" % port)
            with socket.socket() as s:
                s.bind(("127.0.0.1", port))
        except OSError:
            hold.close()
            continue
        holds.append(hold)
        return port


def wait(what, ready, seconds=300):
    """Polls until ready() is true."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise SystemExit("waited %d s for %s" % (seconds, what))
        time.sleep(0.02)
