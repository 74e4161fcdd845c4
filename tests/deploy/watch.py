"""deploy/prometheus and deploy/grafana: every metric that they name is one that a role really exports, every reason is one that a
role can be unwell for, and promtool, where it is installed, finds nothing wrong with rules, their tests, or what the roles export."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import urllib.request

FARO = os.environ["FARO"]
WORDS = re.compile(r"\b((?:faro|process)_[a-z_]+)")


def ports(folder):
    """The addresses of the roles, from the settings that the demo writes."""
    found = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".yaml"):
            match = re.search(r"^listen: (127\.0\.0\.1:\d+)", open(os.path.join(folder, name)).read(), re.M)
            if match:
                found.append(match.group(1))
    return found


def scrape(folder, *options):
    """The demo's roles are held after the last batch, until it gets a line. Returns what each exports."""
    demo = subprocess.Popen([FARO, "demo", "--clients", "500", "--hold", "--directory", folder, *options], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        for line in demo.stdout:
            if line.startswith("running until"):
                break
        return [urllib.request.urlopen("http://%s/metrics" % port).read().decode() for port in ports(folder)]
    finally:
        demo.stdin.close()
        demo.stdout.close()
        demo.wait()


def exported(text):
    names = set()
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M):
        names.add(name)
        if kind == "histogram":
            names |= {name + end for end in ("_bucket", "_sum", "_count")}
    return names


def of_standby():
    """What a standby exports besides, and an analyzer that has one. The demo has none, so this is what the code says."""
    text = "".join(open("src/service/analyzer/" + name).read() for name in ("standby.c", "analyzer_role.c"))
    names = set(re.findall(r'faro_metrics_gauge\([^"]*"(faro_standby_[a-z_]+)"', text))
    assert len(names) >= 3, names
    return names


def check_reasons():
    known = set(re.findall(r'X\([A-Z_]+, "([a-z-]+)"', open("src/service/role/health.h").read()))
    named = re.findall(r'reason[!=]=?~?"([a-z|-]+)"', open("deploy/prometheus/alerts.yml").read())
    assert len(known) >= 15 and len(named) >= 5
    unknown = {word for words in named for word in words.split("|")} - known
    assert not unknown, "no role is unwell for: " + ", ".join(sorted(unknown))


def mentioned():
    dashboard = json.load(open("deploy/grafana/faro.json"))
    panels = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    rules = re.findall(r"expr: *(\|\n(?: {10,}.*\n)+|.*)", open("deploy/prometheus/alerts.yml").read())
    assert len(rules) >= 10 and len(panels) >= 10
    return {name for text in panels + rules for name in WORDS.findall(text)}


def check_dashboard():
    dashboard = json.load(open("deploy/grafana/faro.json"))
    assert any(v["type"] == "datasource" for v in dashboard["templating"]["list"])
    for panel in dashboard["panels"]:
        assert panel["datasource"]["uid"] == "${datasource}", panel["title"]
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24, panel["title"]


def promtool(*arguments, text=None):
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", *arguments], input=text, text=True, capture_output=True)
        assert done.returncode == 0, "promtool %s: %s%s" % (" ".join(arguments), done.stdout, done.stderr)


def main():
    with tempfile.TemporaryDirectory() as folder:
        texts = scrape(os.path.join(folder, "demo"))
        assert len(texts) == 2, "an analyzer and a shuffler"
        split = scrape(os.path.join(folder, "split"), "--split")
        assert len(split) == 3, "and an adder"
        parts = scrape(os.path.join(folder, "parts"), "--collectors", "2")
        assert len(parts) == 4, "a joiner and two collectors instead of the shuffler"
    texts += split + parts
    names = of_standby().union(*map(exported, texts))
    missing = mentioned() - names
    assert not missing, "no role exports: " + ", ".join(sorted(missing))
    check_dashboard()
    check_reasons()
    for text in texts:
        promtool("check", "metrics", text=text)
    promtool("check", "rules", "deploy/prometheus/alerts.yml")
    promtool("test", "rules", "deploy/prometheus/alerts-test.yml")


if __name__ == "__main__":
    main()
