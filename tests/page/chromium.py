"""A headless Chromium, driven by the DevTools protocol over a pipe: messages in JSON, each ended by a zero byte.
Only the standard library is needed."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

LIMIT = 120  # seconds; far beyond what a busy machine takes: it only ends what hangs


def find():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return path
    return None


class Browser:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="faro-page-")
        to_child, self.write_end = os.pipe()
        self.read_end, from_child = os.pipe()
        # the browser reads commands from descriptor 3 and writes to 4; both pipes are moved out of the way first
        high = [os.dup2(fd, 60 + i) for i, fd in enumerate((to_child, from_child))]
        command = [find(), "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
                   "--disable-background-networking", "--hide-scrollbars", "--user-data-dir=" + self.folder]
        self.child = subprocess.Popen(["bash", "-c", 'exec "$@" 3<&60 4>&61', "bash"] + command, pass_fds=high,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for fd in (to_child, from_child, *high):
            os.close(fd)
        self.rest = b""
        self.number = 0
        self.events = []

    def close(self):
        try:
            self.send("Browser.close")
        except (OSError, EOFError):
            pass
        self.child.wait(LIMIT)
        os.close(self.read_end)
        os.close(self.write_end)
        shutil.rmtree(self.folder, ignore_errors=True)

    def receive(self, until):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.read_end], [], [], max(until - time.monotonic(), 0))
            if not ready:
                raise TimeoutError("Chromium did not answer within %d s" % LIMIT)
            data = os.read(self.read_end, 1 << 20)
            if not data:
                raise EOFError("Chromium ended")
            self.rest += data
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def send(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + LIMIT
        while True:
            answer = self.receive(until)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError("%s: %s" % (method, answer["error"]))
                return answer["result"]
            self.events.append(answer)


class Page:
    """One tab. `scripts=False` shows what the page is without JavaScript."""

    def __init__(self, browser, width, height=900, dark=False, scripts=True):
        self.browser = browser
        self.target = browser.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.send("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(domain + ".enable")
        self.resize(width, height)
        self.send("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.send("Emulation.setScriptExecutionDisabled", value=not scripts)

    def close(self):
        self.browser.send("Target.closeTarget", targetId=self.target)

    def send(self, method, **parameters):
        return self.browser.send(method, self.session, **parameters)

    def resize(self, width, height=900):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def open(self, path):
        self.browser.events.clear()
        self.send("Page.navigate", url="file://" + os.path.abspath(path))
        until = time.monotonic() + LIMIT
        while not any(e.get("method") == "Page.loadEventFired" and e.get("sessionId") == self.session
                      for e in self.browser.events):
            self.browser.events.append(self.browser.receive(until))

    def ask(self, expression):
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(expression + ": " + json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def wait(self, expression):
        """Until an expression is true."""
        until = time.monotonic() + LIMIT
        while True:
            value = self.ask(expression)
            if value:
                return value
            if time.monotonic() > until:
                raise TimeoutError(expression)
            time.sleep(0.02)

    def move(self, x, y):
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def hover(self, x, y, expression):
        """Until an expression is true. A page that was drawn again since the pointer came waits for its next move."""
        until = time.monotonic() + LIMIT
        while True:
            for here in (x, x + 1):
                self.move(here, y)
            if self.ask(expression):
                return
            if time.monotonic() > until:
                raise TimeoutError(expression)
            time.sleep(0.02)

    def click(self, selector):
        """As a user does: in the middle of what the selector finds."""
        at = self.ask("(e => { e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
                      "return [r.x + r.width / 2, r.y + r.height / 2]; })(document.querySelector(%s))" % json.dumps(selector))
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", clickCount=1)

    def complaints(self):
        """Errors in the console, and requests other than for the page itself."""
        found = []
        own = 0
        for e in self.browser.events:
            if e.get("sessionId") != self.session:
                continue
            method, p = e["method"], e["params"]
            if method == "Runtime.exceptionThrown":
                found.append("exception: " + json.dumps(p["exceptionDetails"])[:500])
            elif method == "Log.entryAdded" and p["entry"]["level"] == "error":
                found.append("log: " + json.dumps(p["entry"])[:500])
            elif method == "Runtime.consoleAPICalled" and p["type"] in ("error", "warning"):
                found.append("console: " + json.dumps(p["args"])[:500])
            elif method == "Network.requestWillBeSent":
                own += p["type"] == "Document" and p["request"]["url"].startswith("file://")
                if p["type"] != "Document" or own > 1:
                    found.append("request: " + p["request"]["url"])
        return found

    def picture(self, path, whole=True):
        data = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as out:
            out.write(base64.b64decode(data["data"]))

    def pdf(self, path):
        data = self.send("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        with open(path, "wb") as out:
            out.write(base64.b64decode(data["data"]))
