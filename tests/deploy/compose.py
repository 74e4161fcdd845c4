#!/usr/bin/env python3
"""deploy/compose: the rules that its file keeps, and the same commands with the same files, executed without containers.

A volume is a folder here, a container's path is mapped to it, and ports are free ones of loopback. `init` runs as the file says,
then the roles, each with its command line in its folder; their own health checks tell when they are well.
"""
import json, os, re, signal, subprocess, tempfile
import yaml
from common import FARO, IMAGE, ROOT, SLOW, USER, broken, check, finish, free_port, wait

HERE = os.path.join(ROOT, "deploy/compose")
FILE = os.path.join(HERE, "compose.yaml")
ROLES = ("analyzer", "shuffler")
ENTRYPOINT = json.loads(re.search(r"^ENTRYPOINT (.*)$", open(os.path.join(ROOT, "Dockerfile")).read(), re.M).group(1))


def volumes_of(service):
    """{name or host path: path in the container}, and whether each is read-only."""
    return {v.split(":")[0]: (v.split(":")[1], v.endswith(":ro")) for v in service.get("volumes", [])}


def check_hardened(name, s):
    check(s.get("image") == IMAGE, name, "image must be %s (got %s)" % (IMAGE, s.get("image")))
    check(s.get("user") == ":".join(USER), name, "user must be that of the Dockerfile")
    check(s.get("read_only") is True, name, "the root file system must be read-only")
    check(s.get("cap_drop") == ["ALL"] and "cap_add" not in s, name, "no capability is needed")
    check("no-new-privileges:true" in s.get("security_opt", []), name, "no-new-privileges is missing")
    check("privileged" not in s and "network_mode" not in s, name, "must not be privileged")
    check(s["ulimits"]["core"] == 0 and s["mem_limit"] == s["memswap_limit"], name, "core files or swap are allowed")
    check(all(p.startswith("127.0.0.1:") for p in s.get("ports", [])), name, "ports must be published on loopback only")
    for source, (_, read_only) in volumes_of(s).items():
        check(not source.startswith(".") or read_only, name, "a folder of the host must be read-only: %s" % source)


def check_file(compose):
    services = compose["services"]
    for name, service in services.items():
        check_hardened(name, service)
        for source in volumes_of(service):
            check(source.startswith(".") or source in compose["volumes"], name, "unknown volume %s" % source)
    own = {name: set(volumes_of(services[name])) for name in ROLES + ("clients",)}
    check(not own["analyzer"] & own["shuffler"], "volumes", "analyzer and shuffler share one")
    check(not own["clients"] & (own["analyzer"] | own["shuffler"]) - {"./"}, "volumes", "clients share one with a role")
    check(services["init"].get("networks") == ["alone"] and compose["networks"]["alone"].get("internal") is True
          and not any("alone" in services[name]["networks"] for name in own), "init", "must have a network of its own that leads nowhere")
    for file in os.listdir(HERE):
        text = open(os.path.join(HERE, file)).read()
        check(not re.search(r"[0-9a-f]{64}", text), file, "has what looks like a key or a token")


def start_init(compose, folder, urls):
    init = compose["services"]["init"]
    mounts = volumes_of(init)
    check(mounts["./"][0] == "/compose", "init", "the folder of compose.yaml must be /compose")
    for name in ROLES + ("clients",):
        check(mounts[name][0] == os.path.join(init["working_dir"], name), "init", "%s must be below its folder" % name)
        os.makedirs(os.path.join(folder, name), mode=0o700, exist_ok=True)
    check(set(init["environment"]) == set(urls), "init", "environment must be %s" % ", ".join(urls))
    words = [w.replace("/compose", HERE, 1) for w in init["entrypoint"]]
    environment = dict(os.environ, PATH="%s:%s" % (os.path.dirname(FARO), os.environ["PATH"]), **urls)
    subprocess.run(words, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)


def contents(folder):
    return {os.path.relpath(os.path.join(at, f), folder): open(os.path.join(at, f), "rb").read()
            for at, _, files in os.walk(folder) for f in files}


def check_secrets(folder):
    """Each secret is in the folder of one role, and only its user may read it."""
    files = contents(folder)
    for path, data in files.items():
        check(os.stat(os.path.join(folder, path)).st_mode & 0o077 == 0, path, "others may read it")
        if path.endswith(".secret") or "/token-" in path:
            role = path.split("/")[0]
            secret = data.split()[-1]
            check(not any(secret in other for p, other in files.items() if p.split("/")[0] != role), path, "is elsewhere too")


class Role:
    def __init__(self, compose, folder, name, urls):
        service = compose["services"][name]
        self.folder = os.path.join(folder, name)
        check(volumes_of(service) == {name: (service["working_dir"], False)}, name, "must work in its volume")
        port = urls[name.upper() + "_URL"].rsplit(":", 1)[1]
        settings = os.path.join(self.folder, name + ".yaml")
        text = open(settings).read()
        inside = re.search(r"^listen: 0\.0\.0\.0:(\d+)$", text, re.M).group(1)
        open(settings, "w").write(text.replace("listen: 0.0.0.0:" + inside, "listen: 127.0.0.1:" + port))
        given = compose["services"]["init"]["environment"][name.upper() + "_URL"]
        check(given == "http://%s:%s" % (name, inside), name, "init gives it another address than it listens on")
        test = service["healthcheck"]["test"].split()
        check(test == ["faro", "health", "http://127.0.0.1:" + inside], name, "asks another port for its health")
        self.health = [FARO, "health", "http://127.0.0.1:" + port]
        self.words = [FARO] + service["command"]
        self.log = open(os.path.join(folder, name + ".log"), "w")

    def start(self):
        self.process = subprocess.Popen(self.words, cwd=self.folder, stderr=self.log)

    def well(self):
        if self.process.poll() is not None:
            raise SystemExit("%s ended: %s" % (" ".join(self.words), open(self.log.name).read()))
        return subprocess.run(self.health, stdout=subprocess.DEVNULL).returncode == 0

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


def report(compose, folder):
    """Clients report as the file says: all of them if there is time, and then there is a second policy."""
    service = compose["services"]["clients"]
    place = os.path.join(folder, "clients")
    tokens = sorted(f for f in os.listdir(place) if f.startswith("token-"))
    for token in [] if SLOW else tokens[1:]:
        os.remove(os.path.join(place, token))
    environment = dict(os.environ, PATH="%s:%s" % (os.path.dirname(FARO), os.environ["PATH"]), PASSES="1")
    words = [w.replace("/compose", HERE, 1) for w in service["entrypoint"]]
    done = subprocess.run(words, cwd=place, env=environment, check=True, capture_output=True, text=True)
    check("%d clients reported" % (len(tokens) if SLOW else 1) in done.stdout, "clients", "said: " + done.stdout)


def main():
    compose = yaml.safe_load(open(FILE))
    check(ENTRYPOINT == ["faro"], "Dockerfile", "the entry point must be faro")
    check_file(compose)
    if broken:
        finish("compose")
    with tempfile.TemporaryDirectory(prefix="faro-compose-") as folder:
        urls = {name.upper() + "_URL": "http://127.0.0.1:%d" % free_port() for name in ROLES}
        start_init(compose, folder, urls)
        made = contents(folder)
        start_init(compose, folder, urls)
        check(contents(folder) == made, "init", "a second run changes what is there")
        check_secrets(folder)
        roles = [Role(compose, folder, name, urls) for name in ROLES]
        try:
            for role in roles:
                role.start()
            for role in roles:
                wait("a role to be well: " + open(role.log.name).read(), role.well)
            report(compose, folder)
            if SLOW:
                ledger = [FARO, "ledger", "explain", "--json", "--url", urls["ANALYZER_URL"]]
                wait("the first batch", lambda: json.loads(subprocess.check_output(ledger))["batches"]["charged"] == 1)
        finally:
            status = [role.stop() for role in roles if hasattr(role, "process")]
        check(status == [0, 0], "roles", "ended with status %s" % status)
    finish("compose")


if __name__ == "__main__":
    main()
