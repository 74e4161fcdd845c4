"""Runs a command, and says what it took."""
import os
import re
import subprocess
import sys
import time


def peak_mib(pid):
    """Peak of resident memory so far. What wait4 says would count the pages of this process, from before the command began."""
    try:
        with open("/proc/%d/status" % pid, encoding="ascii") as file:
            found = re.search(r"VmHWM:\s*(\d+)", file.read())
    except OSError:
        return 0
    return int(found.group(1)) / 1024 if found else 0


def run(words):
    """Wall seconds, processor seconds (user and system), and MiB."""
    start = time.monotonic()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    memory, done = 0, 0
    while done == 0:
        memory = max(memory, peak_mib(process.pid))
        time.sleep(0.005)
        done, status, used = os.wait4(process.pid, os.WNOHANG)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit("%s failed with status %d" % (" ".join(words), process.returncode))
    return {"wall": time.monotonic() - start, "cpu": used.ru_utime + used.ru_stime, "memory": memory}
