"""The frame of a page: head, navigation, content."""
import html

GROUPS = [
    ("Begin", [("index", "What faro is"), ("tutorial", "Ten minutes"), ("trust", "Which trust model"),
               ("glossary", "Glossary"), ("results", "Results")]),
    ("Look up", [("experiments", "Experiments"), ("plan", "Planning"), ("account", "faro account"), ("sum", "faro sum"),
                 ("audit", "faro audit"), ("api", "C interface")]),
    ("Deploy", [("service", "Service"), ("threat-model", "Threat model"), ("protocol", "Protocol")]),
    ("Check", [("privacy", "Privacy"), ("regret", "Regret"), ("references", "References")]),
    ("Change", [("extending", "Add an algorithm"), ("architecture", "Architecture"), ("contributing", "Contributing"),
                ("changelog", "Changes")]),
]

FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%(title)s</title>
<link rel="stylesheet" href="style.css">
</head>
<body>
<nav aria-label="Documents">
<a class="home" href="index.html">faro</a>
%(navigation)s</nav>
<main>
%(body)s</main>
</body>
</html>
"""


def groups(names):
    """The groups with the pages that exist; documents that no group names come last."""
    known = {name for _, entries in GROUPS for name, _ in entries}
    more = [(name, name) for name in sorted(names - known)]
    for group, entries in GROUPS + [("More", more)]:
        entries = [entry for entry in entries if entry[0] in names]
        if entries:
            yield group, entries


def navigation(here, names):
    out = []
    for group, entries in groups(names):
        is_open = any(name + ".html" == here for name, _ in entries)
        out.append("<details%s><summary>%s</summary>\n" % (" open" if is_open else "", group))
        for name, text in entries:
            mark = ' aria-current="page"' if name + ".html" == here else ""
            out.append('<a href="%s.html"%s>%s</a>\n' % (name, mark, text))
        out.append("</details>\n")
    return "".join(out)


def page(here, title, body, names):
    """A whole page; `names` are the documents that exist, without .html."""
    full = title if title.startswith("faro") else "%s · faro" % html.unescape(title)
    # wide tables and code scroll by themselves, not the page
    body = body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")
    return FRAME % {"title": html.escape(full), "navigation": navigation(here, names), "body": body}
