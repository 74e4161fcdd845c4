#!/usr/bin/env python3
"""Opens reports in a headless Chromium and uses them as a reader does: at the width of a desk and of a phone, with
and without scripts, light, dark and printed. What the page shows is compared with run.json.

Usage: test_page.py FARO [EXPERIMENT...]. Exit status 77: there is no Chromium."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chromium

# Fourteen curves; four panels; an axis of epsilons; claims at user level; errors of sums; the first one that people see.
EXPERIMENTS = ["001-linucb-shufflers", "004-fig1a", "003-fig2a", "000-returning", "001-sum-error", "trust-models"]
WIDTHS = [1400, 400]
LEAST_FONT = 11  # pixels


def same(what, got, want):
    if got != want:
        raise AssertionError("%s: got %r, want %r" % (what, got, want))


def true(what, value):
    if not value:
        raise AssertionError(what)


def number(text):
    return float(re.sub(r"[\s\u202f]", "", text))


def close(what, shown, exact):
    """A number is shown with three digits at least."""
    true("%s: %r is shown for %r" % (what, shown, exact), abs(shown - exact) <= 0.006 * abs(exact) + 1e-12)


class Run:
    """A run as run.json has it: the independent truth."""

    def __init__(self, folder):
        with open(os.path.join(folder, "run.json")) as file:
            self.document = json.load(file)
        self.results = self.document["results"]
        self.measure = self.document["measure"]
        plot = self.document["plot"]
        self.x = plot["x"] if plot["x"] != "round" else None
        self.panels = plot["panels"] if plot["panels"] != "none" else None
        self.others = [key for key in self.document["sweep"] if key not in (self.x, self.panels)]

    def name(self, result):
        return result["label"] + "".join(", %s %s" % (key, result[key]) for key in self.others)

    def values(self, panel, x):
        """Of every line in a panel at x, by name."""
        found = {}
        for r in self.results:
            if self.panels and str(r[self.panels]) != panel:
                continue
            if self.x:
                if r[self.x] == x:
                    found[self.name(r)] = r[self.measure]["mean"]
            elif x in r["curve"]["round"]:
                found[self.name(r)] = r["curve"]["mean"][r["curve"]["round"].index(x)]
        return found


FONTS = """[...document.querySelectorAll('body *')].filter(e => e.getClientRects().length &&
  [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())).map(e => {
    const svg = e.ownerSVGElement, size = parseFloat(getComputedStyle(e).fontSize);
    return [svg ? size * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : size, e.textContent.slice(0, 40)];
  })"""


def check_layout(page, width):
    true("the page scrolls sideways at %d: %s" % (width, page.ask("document.documentElement.scrollWidth")),
         page.ask("document.documentElement.scrollWidth") <= width)
    for size, text in page.ask(FONTS):
        if text.strip().lstrip("\u2212-").isdigit() and size >= 9:  # exponents
            continue
        true("%r has letters of %.1f pixels at width %d" % (text, size, width), size >= LEAST_FONT)
    box = page.ask("(r => [r.left, r.right])(document.querySelector('#results td.measure b').getBoundingClientRect())")
    true("the result is off the screen at width %d: %r" % (width, box), box[0] >= 0 and box[1] <= width)


def check_toggle(page):
    curves = "document.querySelectorAll('.panels .curve').length"
    before = page.ask(curves)
    page.click(".legend button:nth-child(2)")
    page.wait("document.querySelector('.legend button:nth-child(2)').getAttribute('aria-pressed') === 'false'")
    true("a line was hidden", page.ask(curves) < before)
    page.click(".legend button:nth-child(2)")
    page.wait("document.querySelector('.legend button:nth-child(2)').getAttribute('aria-pressed') === 'true'")
    same("lines after showing it again", page.ask(curves), before)


def check_axes(page):
    path = "document.querySelector('.panels .curve').getAttribute('d')"
    for button in ("xlog", "ylog"):
        if not page.ask("!!document.getElementById('%s')" % button):
            continue
        before = page.ask(path)
        pressed = page.ask("document.getElementById('%s').getAttribute('aria-pressed')" % button)
        page.click("#" + button)
        page.wait("document.getElementById('%s').getAttribute('aria-pressed') !== '%s'" % (button, pressed))
        true("%s moves a curve" % button, page.ask(path) != before or len(before.split()) <= 4)  # two points stay at the ends
        true("nothing is drawn at no place", not page.ask("/NaN|Infinity/.test(document.querySelector('.panels').innerHTML)"))
        page.click("#" + button)
        page.wait("document.getElementById('%s').getAttribute('aria-pressed') === '%s'" % (button, pressed))
        same("the curve after going back", page.ask(path), before)


def check_hover(page, run):
    """The values under the pointer, in the last panel, are those of the run."""
    page.ask("[...document.querySelectorAll('.panels svg')].pop().scrollIntoView({block: 'center'})")
    x, y, w, h = page.ask("(r => [r.x, r.y, r.width, r.height])([...document.querySelectorAll('.panels svg')].pop()"
                          ".getBoundingClientRect())")
    page.hover(x + 0.55 * w, y + 0.5 * h, "getComputedStyle(document.getElementById('tip')).display === 'block'")
    title = page.ask("document.querySelector('#tip b').textContent")
    place = number(re.search(r"[\d.\s\u202f]+$", title).group())
    panel = re.search(r"= (\S+),", title)
    want = run.values(panel.group(1) if panel else None, place)
    rows = page.ask("[...document.querySelectorAll('#tip tr')].map(r => [...r.cells].map(c => c.textContent))")
    true("%r has values: %r" % (title, rows), len(rows) == len(want) > 0)
    for _, name, value, interval in rows:
        name = re.sub(r" \(not proven.*\)$", "", name)
        close(name + " at " + title, number(value), want[name])
        true("an interval is shown: %r" % interval, " to " in interval)
    box = page.ask("(r => [r.left, r.right])(document.getElementById('tip').getBoundingClientRect())")
    true("the values are on the screen: %r" % box, box[0] >= 0 and box[1] <= page.ask("innerWidth"))
    page.move(1, 1)
    page.wait("getComputedStyle(document.getElementById('tip')).display === 'none'")


def check_sort(page, run):
    """By the measure, up, down, and back to the order of the page."""
    values = "[...document.querySelectorAll('#results td.measure')].map(c => +c.dataset.v)"
    heads = page.ask("[...document.querySelectorAll('#results th')].map(h => h.textContent)")
    column = page.ask("document.querySelector('#results td.measure').cellIndex")
    first = page.ask(values)
    means = [r[run.measure]["mean"] for r in run.results]
    true("every row is a result", all(min(abs(v - m) for m in means) <= 1e-5 * abs(v) + 1e-12 for v in first))
    button = "#results th:nth-child(%d) button" % (column + 1)
    if not page.ask("document.querySelector(%s).getClientRects().length" % json.dumps(button)):
        return  # a phone shows cards, which have no heads
    for order, direction in (("ascending", 1), ("descending", -1)):
        page.click(button)
        page.wait("document.querySelector(%s).closest('th').getAttribute('aria-sort') === '%s'" % (json.dumps(button), order))
        same("%s sorted %s" % (heads[column], order), page.ask(values), sorted(first, reverse=direction < 0))
    page.click(button)
    page.wait("!document.querySelector(%s).closest('th').hasAttribute('aria-sort')" % json.dumps(button))
    same("the order of the page", page.ask(values), first)


def lightness(page):
    red, green, blue = map(int, re.findall(r"\d+", page.ask("getComputedStyle(document.body).backgroundColor"))[:3])
    return (red + green + blue) / 765


def check_theme(page, dark):
    true("light or dark by preference", (lightness(page) < 0.3) == dark)
    page.click("#theme")
    true("the other by the button", (lightness(page) < 0.3) != dark)
    page.click("#theme")


def check_columns(page):
    shown = "[...document.querySelectorAll('#results tbody tr:first-child td')].filter(c => c.getClientRects().length).length"
    before = page.ask(shown)
    page.click("#more")
    true("more columns", page.ask(shown) > before + 4)
    page.click("#more")
    same("columns", page.ask(shown), before)


def check_page(browser, path, run, width, dark):
    page = chromium.Page(browser, width, dark=dark)
    page.open(path)
    same("console and network", page.complaints(), [])
    check_layout(page, width)
    check_theme(page, dark)
    check_toggle(page)
    check_axes(page)
    check_hover(page, run)
    check_sort(page, run)
    check_columns(page)
    same("console and network in the end", page.complaints(), [])
    page.close()


def check_without_scripts(browser, path, run):
    page = chromium.Page(browser, 1400, scripts=False)
    page.open(path)
    same("controls", page.ask("document.getElementById('controls').getClientRects().length"), 0)
    true("the drawing is there", page.ask("document.querySelector('#chart.static svg').getBoundingClientRect().height > 200"))
    true("the table is there", page.ask("document.querySelectorAll('#results tbody tr').length") >= len(run.results) / 4)
    page.click("#more")
    true("more columns", page.ask("document.querySelector('#results th.more').getClientRects().length") > 0)
    same("console and network", page.complaints(), [])
    page.close()


def check_print(browser, path):
    page = chromium.Page(browser, 1400, dark=True)
    page.open(path)
    with tempfile.TemporaryDirectory() as folder:
        page.pdf(os.path.join(folder, "report.pdf"))
        with open(os.path.join(folder, "report.pdf"), "rb") as file:
            pdf = file.read()
    true("a PDF of some pages", pdf.startswith(b"%PDF") and len(re.findall(rb"/Type\s*/Page\b", pdf)) in range(2, 20))
    page.close()


def main():
    if not chromium.find():
        print("skipped: there is no Chromium (scripts/bootstrap check)")
        return 77
    folder = tempfile.mkdtemp(prefix="faro-page-")
    failed = 0
    browser = chromium.Browser()
    try:
        for name in sys.argv[2:] or EXPERIMENTS:
            out = os.path.join(folder, name)
            subprocess.run([sys.argv[1], "run", name, "--quick", "--quiet", "--out", out], check=True, stdout=subprocess.DEVNULL)
            path = os.path.join(out, "report.html")
            run = Run(out)
            true("script and style of %s" % name, os.path.getsize(path) < 600000)
            checks = [("width %d" % w, lambda w=w: check_page(browser, path, run, w, dark=w == 400)) for w in WIDTHS]
            checks += [("no scripts", lambda: check_without_scripts(browser, path, run)), ("print", lambda: check_print(browser, path))]
            for what, check in checks:
                try:
                    check()
                    print("ok      %s, %s" % (name, what))
                except Exception:
                    failed += 1
                    print("FAILED  %s, %s\n%s" % (name, what, traceback.format_exc(limit=-3)))
    finally:
        browser.close()
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
