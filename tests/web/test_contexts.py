"""Fifty people in a browser: contexts of a headless Chromium on the example's page, against a real analyzer and shuffler, until
policy 2 is published. Two tabs of one person are one client; a reload between choice and answer loses nothing; pages of other
origins, and what is not theirs, are refused. Usage: test_contexts.py FARO PACKAGE [FOLDER for pictures]"""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import chromium
from ports import free_port

PEOPLE = 50
CONTRIBUTIONS = 10
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


# Milliseconds in the browser, for docs/browser.md.
MEASURE = """(async () => {
  const { Client } = await import("./faro/faro.mjs");
  const mean = async (times, work) => {
    const begin = performance.now();
    for (let i = 0; i < times; i++) await work(i);
    return ((performance.now() - begin) / times).toFixed(2) + " ms";
  };
  const options = { ...(await (await fetch("settings.json")).json()), token: localStorage.getItem("token"), automatic: false };
  const rows = [[0.8, 0, 0, 0.6], [0, 0.8, 0, 0.6]];
  const open = await mean(5, async () => (await Client.open(options)).close());
  const choose = await mean(200, () => client.choose(rows));
  const keep = await mean(20, (i) => client.choose(rows, { id: "measure-" + i }));
  return `open ${open}, choose ${choose}, choose and keep ${keep}`;
})()"""


class Deployment:
    def __init__(self, faro, package):
        self.folder = tempfile.mkdtemp(prefix="faro-contexts-")
        self.site, self.analyzer, self.shuffler = ("http://127.0.0.1:%d" % free_port() for _ in range(3))
        environment = dict(os.environ, FARO=os.path.abspath(faro), PACKAGE=os.path.abspath(package), BATCH=str(PEOPLE),
                           TOKENS=str(PEOPLE + 10), SITE_PORT=self.site.split(":")[2], ANALYZER_PORT=self.analyzer.split(":")[2],
                           SHUFFLER_PORT=self.shuffler.split(":")[2])
        self.child = subprocess.Popen([os.path.join(ROOT, "examples/browser/start"), self.folder], env=environment,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        line = self.child.stdout.readline()
        if not line.startswith("site:"):
            raise RuntimeError("the example did not start: " + line)

    def version(self):
        text = urllib.request.urlopen(self.analyzer + "/v1/policy", timeout=chromium.LIMIT).read().decode()
        return json.loads(text.split("\n", 1)[1])["version"]

    def wait_version(self, wanted):
        until = time.monotonic() + chromium.LIMIT
        while self.version() < wanted:
            if time.monotonic() > until:
                raise TimeoutError("policy %d was not published" % wanted)
            time.sleep(0.05)

    def close(self):
        self.child.terminate()
        self.child.wait(chromium.LIMIT)
        self.child.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Tab(chromium.Page):
    """A tab in a context of its own, or in that of another tab."""

    def __init__(self, browser, beside=None, width=1100):
        self.browser = browser
        self.context = beside.context if beside else browser.send("Target.createBrowserContext")["browserContextId"]
        self.target = browser.send("Target.createTarget", url="about:blank", browserContextId=self.context)["targetId"]
        self.session = browser.send("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.send(domain + ".enable")
        self.resize(width)

    def visit(self, url):
        self.send("Page.navigate", url=url)
        self.wait("location.href.startsWith(%s) && document.readyState === 'complete'" % json.dumps(url))
        return self

    def ready(self):
        self.wait("!document.getElementById('read').disabled || document.getElementById('status').className === 'failed'")
        assert self.ask("document.getElementById('status').className") != "failed", self.ask("document.getElementById('status').textContent")
        return self

    def leave(self):
        self.browser.send("Target.disposeBrowserContext", browserContextId=self.context)


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def one_report(browser, site, picture):
    """A person answers one article, and their browser delivers one report."""
    tab = Tab(browser).visit(site).ready()
    tab.click("#read")
    tab.wait("client.counts.delivered === 1")
    if picture:
        tab.wait("document.getElementById('left').textContent.includes('bytes to')")
        picture(tab)
    tab.leave()


def reload_between(browser, site):
    """The choice and its article are there after a reload; the answer counts. Returns the tab, which has one report."""
    tab = Tab(browser).visit(site).ready()
    shown = tab.ask("document.getElementById('title').textContent")
    kept = tab.ask("sessionStorage.getItem('shown')")
    check(tab.ask("client.counts.open") == 1, "the choice is not kept")
    tab.ask("window.before = true")
    tab.send("Page.reload")
    tab.wait("window.before === undefined && document.readyState === 'complete'")
    tab.ready()
    check(tab.ask("document.getElementById('title').textContent") == shown, "another article after the reload")
    check(tab.ask("sessionStorage.getItem('shown')") == kept, "another choice after the reload")
    check(tab.ask("client.counts.open") == 1, "the choice was lost, or made twice")
    tab.click("#read")
    tab.wait("client.counts.delivered === 1")
    return tab


def two_tabs(browser, tab, site, deployment):
    """A second tab of a person who has reported: under the same policy nothing more is sent, by either tab."""
    second = Tab(browser, beside=tab).visit(site).ready()
    check(second.ask("client.sequence") == 1, "the second tab does not know the first one's report")
    for each in (tab, second):  # both at once
        each.ask("document.getElementById('skip').click()")
    for each in (tab, second):
        each.wait("client.flush().then(({ waiting }) => waiting === 2)")
        check(each.ask("client.sequence") == 1, "a person is twice in a batch")
    return second


def after_policy_2(tab, second):
    """The answers that waited are sent, one under the new policy, with the next number, whichever tab sends it."""
    check(tab.ask("Promise.all([client.flush()]).then(() => client.version)") == 2, "the policy is not loaded")
    second.ask("client.flush().then(() => 0)")
    for each in (tab, second):
        each.wait("client.flush().then(({ delivered, waiting }) => delivered === 2 && waiting === 1)")
        check(each.ask("client.sequence") == 2, "the tabs have two sequences")
    check(tab.ask("client.counts.refused") == 0, "a report was refused")


def strangers(browser, deployment):
    """A page of another origin hears nothing; the site's own page hears nothing but what clients need."""
    port = free_port()
    other = subprocess.Popen([shutil.which("python3"), "-m", "http.server", "--bind", "127.0.0.1", str(port)], cwd=deployment.folder,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + chromium.LIMIT
        while socket.socket().connect_ex(("127.0.0.1", port)) != 0:
            check(time.monotonic() < until, "the other site did not start")
            time.sleep(0.05)
        fetch = "fetch(%s).then(() => 'heard', () => 'refused')"
        stranger = Tab(browser).visit("http://127.0.0.1:%d/settings.json" % port)
        check(stranger.ask(fetch % json.dumps(deployment.analyzer + "/v1/policy")) == "refused", "a stranger hears the policy")
        stranger.leave()
    finally:
        other.terminate()
        other.wait()
    # a path without the security policy of the page, which would refuse before the roles could
    own = Tab(browser).visit(deployment.site + "/nothing")
    check(own.ask(fetch % json.dumps(deployment.analyzer + "/v1/policy")) == "heard", "the site's page does not hear the policy")
    for path in ("/v1/ledger", "/v1/state", "/v1/status.json", "/metrics", "/healthz"):
        check(own.ask(fetch % json.dumps(deployment.analyzer + path)) == "refused", "a page hears " + path)
    own.leave()


def main(faro, package, pictures=None):
    if not chromium.find():
        print("skipped: there is no chromium")
        return 77
    deployment = Deployment(faro, package)
    browser = chromium.Browser()

    def picture(tab):
        for width in (1100, 400):
            tab.resize(width, 900)
            tab.picture(os.path.join(pictures, "example-%d.png" % width))

    try:
        tab = reload_between(browser, deployment.site)
        second = two_tabs(browser, tab, deployment.site, deployment)
        strangers(browser, deployment)
        for i in range(PEOPLE - 2):
            one_report(browser, deployment.site, picture if pictures and i == 0 else None)
        check(deployment.version() == 1, "a policy before the batch is full")
        one_report(browser, deployment.site, None)
        deployment.wait_version(2)
        after_policy_2(tab, second)
        print(tab.ask(MEASURE))
        print("ok: %d contexts filled a batch, and policy 2 is published" % PEOPLE)
    finally:
        browser.close()
        deployment.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
