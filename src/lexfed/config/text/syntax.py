# SPDX-License-Identifier: Apache-2.0
"""Say in plain words why a text is not TOML, and where."""

import re

from lexfed.config.text.findings import Finding
from lexfed.config.text.positions import first_repeat
from lexfed.config.text.wording import dotted

_AT = re.compile(r" \(at line (\d+), column (\d+)\)$| \(at end of document\)$")
# A match begins where a word begins, and gives nothing back: a long line is read once.
_PYTHON_WORD = re.compile(r"=\s*+(True|False|None|yes|no|on|off|null)\b")
_BARE_TEXT = re.compile(r"(?<![\w.-])([\w.-]++)\s*+=\s*+([A-Za-z_/.~][^\s#,}\]\"']*+)")
_COLON = re.compile(r"^\s*([\w-]+)\s*:\s*(\S.*)$")
_CURLY_QUOTE = re.compile("[\u201c\u201d\u2018\u2019]")
_WORDS = {
    "Invalid statement": "expected a key, a `[table]` or a comment",
    "Invalid value": "expected a value",
    "Expected newline or end of document after a statement": (
        "expected the end of the line after a value"
    ),
    "Expected '=' after a key in a key/value pair": "expected `=` after a key",
    "Illegal character '\\n'": "the line ends inside quotes",
    "Unclosed array": "an array `[` is never closed",
    "Unclosed inline table": "a table `{` is not closed on its line",
}
_RIGHT_WORD = {"True": "true", "False": "false", "yes": "true", "no": "false"}


def syntax_finding(text: str, error: Exception) -> tuple[Finding, int]:
    """Return what is wrong with a text that `tomllib` refused, and the line."""
    message = str(error)
    lines = text.replace("\r\n", "\n").split("\n")
    if isinstance(error, RecursionError):
        return Finding((), "arrays or tables are nested too deeply"), 1
    repeat = first_repeat(text) if message.startswith(("Cannot", "Dupl")) else None
    if repeat is not None:
        path, first, second = repeat
        header = lines[second - 1].lstrip().startswith("[")
        name = f"[{dotted(path)}]" if header else dotted(path)
        what = f"`{name}` is set twice, first on line {first}"
        return Finding(path, what, "keep one of the two"), second
    match = _AT.search(message)
    if match is None:
        return Finding((), "holds a number of too many digits"), 1
    line = int(match[1]) if match[1] else len(text.rstrip().split("\n"))
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
    bare = _BARE_TEXT.search(line)
    if bare is not None and bare[2] not in ("true", "false", "inf", "nan"):
        return f'text needs quotes: `{bare[1]} = "{bare[2]}"`'
    if line.count('"') % 2:
        return "close the quotes on the line that opens them"
    colon = _COLON.match(line)
    if colon is not None and "=" not in line:
        return f"write `{colon[1]} = {colon[2].replace('`', '')}`"
    if line.count("=") > 1 and "{" not in line:
        return "write one key per line"
    return ""
