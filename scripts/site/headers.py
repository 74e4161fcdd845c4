"""A public header as Markdown, from its comments.

The comment at the top is the introduction; indented parts of it are code. Below, each declaration follows its own
comment. Consecutive declarations without a comment between them stay together.
"""
import os, re, textwrap


def unwrap(comment):
    """The text of a C comment, without its stars."""
    text = re.sub(r"^/\*\s?|\s*\*/$", "", comment.strip())
    return "\n".join(re.sub(r"^ ?\* ?", "", line) for line in text.split("\n"))


def runs(lines):
    """(whether it is code, its lines) for each run of indented or plain lines of a comment."""
    run, kind = [], None
    for line in lines:
        now = kind if not line.strip() else line.startswith("  ")
        if run and now != kind:
            yield kind, run
            run = []
        kind = now
        run.append(line)
    if run:
        yield kind, run


def prose(text):
    """A comment's text as Markdown: paragraphs, and indented lines as code."""
    out = []
    for is_code, lines in runs(text.split("\n")):
        if is_code:
            out += ["", "```c", textwrap.dedent("\n".join(lines)).strip("\n"), "```", ""]
        else:
            out.append(re.sub(r"([<*_\[\]|])", r"\\\1", "\n".join(lines)))
    return "\n".join(out)


def body_of(text):
    """Without the include guard, the includes and what is for C++ alone."""
    text = re.sub(r"#ifdef __cplusplus\n.*?#endif\n", "", text, flags=re.S)
    text = re.sub(r"^#(ifndef|define) FARO_\w+_H\n|^#include <.*\n", "", text, flags=re.M)
    return re.sub(r"#endif\s*$", "", text).strip()


def chunks(text):
    """(comment or None, declarations) in order."""
    out, comment, code, depth = [], None, [], 0

    def close():
        nonlocal code, comment
        declared = "\n".join(code).strip("\n")
        if comment is not None or declared.strip():
            out.append((comment, declared))
        comment, code = None, []

    lines = iter(text.split("\n"))
    for line in lines:
        if depth == 0 and line.startswith("/*"):
            close()
            comment = line
            while not comment.rstrip().endswith("*/"):
                comment += "\n" + next(lines)
            continue
        if depth == 0 and not line.strip() and code:
            close()
        code.append(line)
        depth += line.count("{") - line.count("}")
    close()
    return out


def to_markdown(path):
    text = open(path, encoding="utf-8").read()
    top = re.match(r"/\*.*?\*/", text, flags=re.S).group(0)
    name = os.path.basename(path)
    intro = unwrap(top).split(": ", 1)[1]
    out = ["# faro/%s" % name, "", "```c", "#include <faro/%s>" % name, "```", "", prose(intro[0].upper() + intro[1:])]
    for comment, code in chunks(body_of(text[len(top):])):
        if comment:
            out += ["", prose(unwrap(comment))]
        if code.strip():
            code = re.sub(r"^FARO_API ", "", code, flags=re.M).replace(" FARO_WARN_UNUSED", "")
            out += ["", "```c", code, "```"]
    return "\n".join(out) + "\n"
