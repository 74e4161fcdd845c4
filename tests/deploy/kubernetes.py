#!/usr/bin/env python3
"""deploy/kubernetes: the rules that its files keep. Names, labels, ports and volumes match; pods have no rights; the two parties share
nothing; no secret is in the files; and the roles take the settings, with the secrets as the init container leaves them.
"""
import os, re, shutil, stat, subprocess, tempfile
import yaml
from common import IMAGE, NOT_A_KEY, ROOT, USER, check, faro, finish

HERE = os.path.join(ROOT, "deploy/kubernetes")
GUIDE = open(os.path.join(ROOT, "docs/deploy.md")).read()
VERSIONS = {"Namespace": "v1", "ServiceAccount": "v1", "ConfigMap": "v1", "NetworkPolicy": "networking.k8s.io/v1",
            "Service": "v1", "StatefulSet": "apps/v1", "PodDisruptionBudget": "policy/v1"}
PATHS = ("certificate", "private-key", "database", "state", "sign", "seal", "key", "tokens",
         "admin-tokens")


class Party:
    def __init__(self, role, example):
        self.role, self.file, self.namespace = role, role + ".yaml", "faro-" + role
        self.text = open(os.path.join(HERE, self.file)).read()
        self.documents = list(yaml.safe_load_all(self.text))
        self.settings = yaml.safe_load(self.one("ConfigMap")["data"][self.file])
        self.example = yaml.safe_load(open(os.path.join(ROOT, "deploy", example)))
        self.set = self.one("StatefulSet")
        self.labels = self.set["spec"]["template"]["metadata"]["labels"]
        self.pod = self.set["spec"]["template"]["spec"]
        self.port = int(self.settings["listen"].rsplit(":", 1)[1])

    def every(self, kind):
        return [d for d in self.documents if d["kind"] == kind]

    def one(self, kind):
        found = self.every(kind)
        if len(found) != 1:
            raise SystemExit("%s: there must be one %s (got %d)" % (self.file, kind, len(found)))
        return found[0]

    def check(self, good, message):
        check(good, self.file, message)


def check_documents(p):
    for d in p.documents:
        p.check(VERSIONS.get(d["kind"]) == d["apiVersion"], "unexpected %s %s" % (d["apiVersion"], d["kind"]))
        own = d["metadata"]["name"] if d["kind"] == "Namespace" else d["metadata"].get("namespace")
        p.check(own == p.namespace, "%s is in namespace %s" % (d["kind"], own))
    names = [(d["kind"], d["metadata"]["name"]) for d in p.documents]
    p.check(len(set(names)) == len(names), "a name occurs twice")
    label = p.one("Namespace")["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
    p.check(label == "restricted", "the namespace must enforce restricted pods")
    keys = set(re.findall(r"\b[0-9a-f]{64}\b", p.text))
    p.check(keys <= {NOT_A_KEY} and "PRIVATE KEY" not in p.text, "has what looks like a key")


def selects(selector, labels):
    return bool(selector) and all(labels.get(k) == v for k, v in selector.items())


def check_names(p):
    """What refers to something refers to something that is there."""
    s, service, budget = p.set["spec"], p.one("Service"), p.one("PodDisruptionBudget")
    p.check(s["selector"]["matchLabels"] == p.labels, "the StatefulSet selects other pods")
    p.check(selects(service["spec"]["selector"], p.labels), "the Service selects other pods")
    p.check(selects(budget["spec"]["selector"]["matchLabels"], p.labels), "the PodDisruptionBudget selects other pods")
    p.check(s["serviceName"] == service["metadata"]["name"], "serviceName is not that of the Service")
    p.check(p.pod["serviceAccountName"] == p.one("ServiceAccount")["metadata"]["name"], "unknown ServiceAccount")
    volumes = {v["name"]: v for v in p.pod["volumes"]}
    p.check(volumes["settings"]["configMap"]["name"] == p.one("ConfigMap")["metadata"]["name"], "unknown ConfigMap")
    there = set(volumes) | {c["metadata"]["name"] for c in s["volumeClaimTemplates"]}
    mounted = {m["name"] for c in p.pod["initContainers"] + p.pod["containers"] for m in c["volumeMounts"]}
    p.check(mounted == there, "volumes %s, mounted %s" % (sorted(there), sorted(mounted)))
    for source in volumes["secrets"]["projected"]["sources"]:
        made = r"kubectl -n %s create secret (generic|tls) %s\b" % (p.namespace, source["secret"]["name"])
        p.check(re.search(made, GUIDE), "docs/deploy.md does not make the secret %s" % source["secret"]["name"])


def check_ports(p):
    container, service = p.pod["containers"][0], p.one("Service")["spec"]
    ports = {x["name"]: x["containerPort"] for x in container["ports"]}
    admin = int(p.settings["admin-listen"].rpartition(":")[2])
    p.check(ports == {"https": p.port, "admin": admin}, "the container's ports are not those of its settings")
    p.check([(x["port"], ports.get(x["targetPort"])) for x in service["ports"]] == [(p.port, p.port)], "the Service has other ports")
    p.check(service["externalTrafficPolicy"] == "Local", "the role must see the addresses of clients")
    p.check(service["publishNotReadyAddresses"] is True, "an unwell role must be reachable")
    for probe in ("livenessProbe", "startupProbe"):
        p.check(set(container[probe]) & {"httpGet", "exec", "tcpSocket", "grpc"} == {"tcpSocket"}, probe + " must only connect")
        p.check(container[probe]["tcpSocket"]["port"] in ports, probe + " has an unknown port")
    ready = container["readinessProbe"]["httpGet"]
    p.check(ready["path"] == "/healthz" and ready["port"] in ports, "readinessProbe must ask /healthz")
    p.check(ready["scheme"] == ("HTTPS" if "certificate" in p.settings else "HTTP"), "readinessProbe has the wrong scheme")


def check_hardened(p):
    pod = p.pod["securityContext"]
    p.check((pod["runAsUser"], pod["runAsGroup"]) == tuple(map(int, USER)), "the user must be that of the Dockerfile")
    p.check(pod["runAsNonRoot"] and pod["fsGroup"] == pod["runAsGroup"], "must not run as root")
    p.check(pod["fsGroupChangePolicy"] == "OnRootMismatch", "a state would be opened to its group")
    p.check(pod["seccompProfile"]["type"] == "RuntimeDefault", "no seccomp profile")
    p.check(p.pod["automountServiceAccountToken"] is False, "the pod needs no token of the cluster")
    p.check(not {"hostNetwork", "hostPID", "hostIPC"} & set(p.pod), "must not share the host")
    p.check(p.set["spec"]["replicas"] == 1, "there must be one replica")
    for c in p.pod["initContainers"] + p.pod["containers"]:
        s = c["securityContext"]
        p.check(c["image"] == IMAGE, "image must be %s (got %s)" % (IMAGE, c["image"]))
        p.check(s["allowPrivilegeEscalation"] is False and s["readOnlyRootFilesystem"] is True, c["name"] + " may write or gain rights")
        p.check(s["capabilities"] == {"drop": ["ALL"]}, c["name"] + " has capabilities")
        p.check("memory" in c["resources"]["limits"] and "requests" in c["resources"], c["name"] + " has no limits")
        p.check("env" not in c and "envFrom" not in c, c["name"] + " must not get anything by its environment")


def check_network(p, egress):
    policies = p.every("NetworkPolicy")
    closed = [q for q in policies if q["spec"]["podSelector"] == {} and set(q["spec"]["policyTypes"]) == {"Ingress", "Egress"}
              and not {"ingress", "egress"} & set(q["spec"])]
    opened = [q["spec"] for q in policies if q not in closed]
    p.check(len(closed) == 1 and len(opened) == 1, "one policy must close everything, and one open what is needed")
    p.check(selects(opened[0]["podSelector"]["matchLabels"], p.labels), "the NetworkPolicy selects other pods")
    p.check([x["port"] for rule in opened[0]["ingress"] for x in rule["ports"]] == [p.port], "more than its port is open")
    out = sorted({x["port"] for rule in opened[0].get("egress", []) for x in rule["ports"]})
    p.check(out == egress and ("Egress" in opened[0]["policyTypes"]) == bool(egress), "it may call ports %s" % out)


def run_init(p, folder, files):
    """The init container's command, on files as Kubernetes would show them."""
    given, own = os.path.join(folder, "given"), os.path.join(folder, "own")
    os.makedirs(given), os.makedirs(own)
    for name, source in files.items():
        shutil.copy(source, os.path.join(given, name))
        os.chmod(os.path.join(given, name), p.pod["volumes"][1]["projected"]["defaultMode"])
    mounts = {m["mountPath"]: m["name"] for m in p.pod["initContainers"][0]["volumeMounts"]}
    p.check(mounts == {"/secrets": "secrets", "/run/faro": "own-secrets"}, "the init container has other mounts")
    words = [w.replace("/secrets", given).replace("/run/faro", own) for w in p.pod["initContainers"][0]["command"]]
    subprocess.run(words, check=True)
    p.check(sorted(os.listdir(own)) == sorted(files), "the init container copies other files")
    p.check(all(stat.S_IMODE(os.stat(os.path.join(own, f)).st_mode) == 0o600 for f in files), "others may read its copies")
    return own


def check_settings(p, folder, files, key):
    """The role reads its settings, where the pod's paths are folders here. They are the example's but for paths."""
    container = p.pod["containers"][0]
    p.check(container["args"] == [p.role, "--config", "/etc/faro/" + p.file], "the container is started otherwise")
    mounts = {m["mountPath"]: m["name"] for m in container["volumeMounts"]}
    state = "/var/lib/faro/" + p.role
    p.check(mounts == {"/etc/faro": "settings", "/run/faro": "own-secrets", state: "state"}, "the container has other mounts")
    same = lambda s: {k: v for k, v in s.items() if k not in PATHS}
    for name in set(same(p.settings)) | set(same(p.example)):
        p.check(p.settings.get(name) == p.example.get(name), "%s must be that of the example in deploy/" % name)
    p.check({k for k in PATHS if k in p.settings} == {k for k in PATHS if k in p.example}, "a path is missing")
    place = os.path.join(folder, p.role)
    own = run_init(p, place, files)
    os.makedirs(os.path.join(place, "state"), mode=0o770)
    text = p.one("ConfigMap")["data"][p.file]
    text = text.replace("/run/faro", own).replace(state, os.path.join(place, "state")).replace(NOT_A_KEY, key)
    settings = os.path.join(place, p.file)
    open(settings, "w").write(text)
    faro(p.role, "--check-config", "--config", settings)


def main():
    analyzer, shuffler = Party("analyzer", "analyzer.yaml"), Party("shuffler", "shuffler-0.yaml")
    for party in (analyzer, shuffler):
        check_documents(party)
        check_names(party)
        check_ports(party)
        check_hardened(party)
    check_network(analyzer, [])
    check_network(shuffler, [53, analyzer.port])
    check(not set(os.listdir(HERE)) - {"analyzer.yaml", "shuffler.yaml"}, "deploy/kubernetes", "has a file that is not tested")
    with tempfile.TemporaryDirectory(prefix="faro-kubernetes-") as folder:
        for kind, name in (("sign", "analyzer.sign"), ("seal", "analyzer.seal"), ("sign", "shuffler-0.sign")):
            faro("keys", kind, "--out", name, cwd=folder)
        for name in ("clients", "admin"):
            faro("keys", "tokens", "--count", "2", "--out", name, cwd=folder)
        at = lambda name: os.path.join(folder, name)
        tls = {"tls.crt": os.path.join(ROOT, "tests/service/tls/certificate.pem"),
               "tls.key": os.path.join(ROOT, "tests/service/tls/key.pem")}
        public = lambda name: open(at(name)).read().split()[1]
        check_settings(analyzer, folder, {n: at(n) for n in ("analyzer.sign.secret", "analyzer.seal.secret", "admin.hashes")} | tls,
                       public("shuffler-0.sign.public"))
        check_settings(shuffler, folder, {n: at(n) for n in ("shuffler-0.sign.secret", "clients.hashes", "admin.hashes")} | tls,
                       public("analyzer.sign.public"))
    finish("kubernetes")


if __name__ == "__main__":
    main()
