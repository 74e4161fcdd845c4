"""Runs a command, and says what it took; and names the machine."""
import os
import platform
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


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        text = file.read()
    flags = set(re.search(r"^flags\s*: (.*)$", text, re.M).group(1).split()) if "flags" in text else set()
    model = re.search(r"^model name\s*: (.*)$", text, re.M)
    vectors = [name for name, flag in (("AVX2", "avx2"), ("FMA", "fma"), ("AVX-512", "avx512f")) if flag in flags]
    return {"processor": model.group(1) if model else platform.machine(), "cores": os.cpu_count(), "vectors": vectors,
            "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30), "system": platform.platform()}


def machine_line():
    """Processor, cores and memory, as the documents name them."""
    here = machine()
    return "%s, %d cores, %d GiB (%s)" % (here["processor"], here["cores"], here["memory_gib"], ", ".join(here["vectors"]))
