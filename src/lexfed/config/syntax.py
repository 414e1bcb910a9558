# SPDX-License-Identifier: Apache-2.0
"""Say in plain words why a text is not TOML, and where."""

import re

from lexfed.config.locate import first_repeat
from lexfed.config.translate import Finding
from lexfed.config.wording import dotted

_AT = re.compile(r" \(at line (\d+), column (\d+)\)$| \(at end of document\)$")
_PYTHON_WORD = re.compile(r"=\s*(True|False|None|yes|no|on|off|null)\b")
_BARE_TEXT = re.compile(r"=\s*[A-Za-z_/.~]")
_CURLY_QUOTE = re.compile("[\u201c\u201d\u2018\u2019]")
_WORDS = {
    "Invalid statement": "expected a key, a `[table]` or a comment",
    "Invalid value": "expected a value",
    "Expected newline or end of document after a statement": (
        "expected the end of the line after a value"
    ),
    "Expected '=' after a key in a key/value pair": "expected `=` after a key",
    "Unclosed array": "an array `[` is never closed",
    "Unclosed inline table": "a table `{` is not closed on its line",
}
_RIGHT_WORD = {"True": "true", "False": "false", "yes": "true", "no": "false"}


def syntax_finding(text: str, error: Exception) -> tuple[Finding, int]:
    """Return what is wrong with a text that `tomllib` refused, and the line."""
    message = str(error)
    if isinstance(error, RecursionError):
        return Finding((), "arrays or tables are nested too deeply"), 1
    repeat = first_repeat(text) if message.startswith(("Cannot", "Dupl")) else None
    if repeat is not None:
        path, first, second = repeat
        what = f"`{dotted(path)}` is set twice, first on line {first}"
        return Finding(path, what, "keep one of the two"), second
    match = _AT.search(message)
    if match is None:
        return Finding((), "holds a number of too many digits"), 1
    lines = text.replace("\r\n", "\n").split("\n")
    line = int(match[1]) if match[1] else max(1, len(text.rstrip().split("\n")))
    reason = message[: match.start()]
    reason = _WORDS.get(reason, reason[:1].lower() + reason[1:])
    place = f" at column {match[2]}" if match[2] else " at the end"
    return Finding((), f"not valid TOML{place}: {reason}", _hint(lines[line - 1])), line


def _hint(line: str) -> str:
    if _CURLY_QUOTE.search(line):
        return 'use straight quotes: `"`'
    word = _PYTHON_WORD.search(line)
    if word is not None:
        right = _RIGHT_WORD.get(word[1])
        return f"write `{right}`" if right else "leave the key out to use its default"
    if _BARE_TEXT.search(line) and not re.search(r"=\s*(true|false|inf|nan)\b", line):
        return 'text needs quotes: `name = "readmission"`'
    if line.count('"') % 2:
        return "a quote is never closed"
    return ""
