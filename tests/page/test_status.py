"""The analyzer's page in a headless Chromium, in the states learning, waiting, unwell, finished, paused and archived; wide and narrow, light and dark.
What it shows is a status of a real analyzer, at the end of a demo, bent to each state. Usage: test_status.py FARO [FOLDER for pictures]"""
import base64
import copy
import hashlib
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import urllib.request

import chromium


def real_status(faro):
    """The page's bytes, its security policy and its status, from an analyzer that has ended."""
    with tempfile.TemporaryDirectory() as folder:
        demo = subprocess.Popen([faro, "demo", "--clients", "500", "--hold", "--directory", os.path.join(folder, "d")],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            url = None
            for line in demo.stdout:
                match = re.match(r"analyzer: (\S+)", line)
                url = match.group(1) if match else url
                if line.startswith("running until"):
                    break
            page = urllib.request.urlopen(url + "/")
            status = json.load(urllib.request.urlopen(url + "/v1/status.json"))
            return page.read(), page.headers["Content-Security-Policy"], status
        finally:
            demo.stdin.close()
            demo.stdout.close()
            demo.wait()


def states(status):
    """Rewards of 0.6 that rise to 0.8, with a noise that falls as it does with more reports."""
    base = copy.deepcopy(status)
    step = base["campaign"]["batch"]
    base["curve"] = {"constant": 0.6, "points": [
        [step * n, 0.8 - 0.2 / n + (0.02 if n % 2 else -0.02) / n ** 0.5, 2 / n ** 0.5, 0.05 / n ** 0.5] for n in range(1, 31)]}
    base.update(users=30 * step, unwell=[])
    base["batches"] = {"applied": 30, "allowed": 40, "waiting": 0}
    base["campaign"]["reports"] = 40 * step
    base["shufflers"] = [{"url": "http://127.0.0.1:8401", "next": 30, "seconds": 2.0, "state": "well"}]
    made = {}
    for name in ("learning", "waiting", "unwell", "finished", "paused", "archived"):
        s = made[name] = copy.deepcopy(base)
        s["state"] = name
        s["rates"] = {"reports": 12.5, "batches": 0.25} if name == "learning" else {"reports": 0, "batches": 0}
    made["unwell"]["unwell"] = [["peer-silent", "shuffler 0 does not answer, for 34 s now"]]
    made["unwell"]["shufflers"][0].update(state="silent", seconds=34.0)
    made["finished"]["batches"].update(applied=40)
    return made


def serve(page, policy, status):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body, kind = (page, "text/html; charset=utf-8") if self.path == "/" else (
                (json.dumps(status["now"]).encode(), "application/json") if self.path.endswith("v1/status.json") else (b"", "text/plain"))
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Security-Policy", policy)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def complaints(browser, session):
    found = []
    for e in browser.events:
        if e.get("sessionId") == session and e["method"] == "Runtime.exceptionThrown":
            found.append(json.dumps(e["params"])[:500])
        if e.get("sessionId") == session and e["method"] == "Log.entryAdded" and e["params"]["entry"]["level"] == "error" \
                and "favicon" not in json.dumps(e["params"]):
            found.append(json.dumps(e["params"]["entry"])[:500])
    return found


LETTERS = """[...document.querySelectorAll('svg text')].map(e => [parseFloat(getComputedStyle(e).fontSize) *
  e.ownerSVGElement.getBoundingClientRect().width / e.ownerSVGElement.viewBox.baseVal.width, e.textContent])"""


def look(browser, address, status, name, width, dark, pictures):
    tab = chromium.Page(browser, width, dark=dark)
    tab.send("Page.navigate", url=address)
    tab.wait("document.querySelector('#state')?.className === %s && document.querySelectorAll('#ledger tr').length > 0" % json.dumps(name))
    text = tab.ask("document.body.innerText")
    assert tab.ask("document.documentElement.scrollWidth") <= width, "%s at %d px is wider than the window" % (name, width)
    cut = tab.ask("[...document.querySelectorAll('.wide')].map(e => e.scrollWidth - e.clientWidth)")
    assert max(cut) <= 0, "%s at %d px cuts a table off: %s" % (name, width, cut)
    assert tab.ask("document.querySelectorAll('#gain .band').length") == 1 and "first batch" in text, "no band or no yardstick"
    assert "with probability 95%" in text and "need not be choosing at random" in text
    ends = [round(1.96 * p[3], 3) for p in status["curve"]["points"][-1:]]
    shown = tab.ask("document.querySelector('#gain .end').textContent")
    assert abs(float(shown.split("± ")[1]) - ends[0]) < 1e-3, "the band ends at %s, not at %s" % (shown, ends)
    for size, what in tab.ask(LETTERS):
        assert size >= 10.5, "%r has letters of %.1f pixels at %d px" % (what, size, width)
    assert "reports used" in text and "mean reward" in text, "axes without titles"
    assert re.search(r"The latest \d+ of %d entries" % (40 if name == "finished" else 30), text), "how many rows"
    assert "two measures" in text and "Shufflers" in text
    assert ("shuffler 0 does not answer" in text) == (name == "unwell")
    colour = tab.ask("getComputedStyle(document.querySelector('#state'), '::before').backgroundColor")
    warning = tab.ask("(e => { e.style.color = 'var(--orange)'; const c = getComputedStyle(e).color; e.style.color = ''; return c; })(document.body)")
    assert (colour == warning) == (name == "unwell"), "%s has the colour %s" % (name, colour)
    tab.ask("document.querySelector('#gain').scrollIntoView()")
    at = tab.ask("(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector('#gain').getBoundingClientRect())")
    tab.hover(*at, "document.querySelector('#gain .end').textContent.includes('reports:')")
    tab.move(1, 1)
    if pictures:
        tab.ask("scrollTo(0, 0)")
        tab.picture(os.path.join(pictures, "%s-%d-%s.png" % (name, width, "dark" if dark else "light")))
    found = complaints(browser, tab.session)
    assert not found, found
    tab.close()


def main():
    if not chromium.find():
        print("no Chromium here")
        return 77
    page, policy, status = real_status(sys.argv[1])
    pictures = sys.argv[2] if len(sys.argv) > 2 else None
    for tag in ("style", "script"):
        text = re.search(b"<%s>(.*?)</%s>" % (tag.encode(), tag.encode()), page, re.S).group(1)
        assert base64.b64encode(hashlib.sha256(text).digest()).decode() in policy
    now = {}
    server = serve(page, policy, now)
    browser = chromium.Browser()
    try:
        for name, made in states(status).items():
            now["now"] = made
            for width in (1400, 400):
                for dark in (False, True):
                    look(browser, "http://127.0.0.1:%d/" % server.server_port, made, name, width, dark, pictures)
    finally:
        browser.close()
        server.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
