# SPDX-License-Identifier: Apache-2.0
"""Untrusted TOML, parsed in time that grows with its length.

Python's parser takes a time that grows with the square of the parts of one dotted key:
half a minute for a key of 100,000 parts. No file of ours has keys of more than six, so
long ones are refused before it sees them.
"""

import re
import tomllib
from typing import Any

MOST_PARTS = 100
"""Parts of the longest dotted key that is read."""

_PART = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?<![\w\\-])(?:{_PART}[ \t]*+\.[ \t]*+){{{MOST_PARTS}}}")


def parse_toml(text: str) -> dict[str, Any]:
    """Return the tables of a TOML text.

    Raises:
        ValueError: if it is not TOML, or has a key of too many parts; the message says
            where, as that of `tomllib` does.
        RecursionError: if values are nested too deeply.
    """
    long_key = _LONG_KEY.search(text)
    if long_key is not None:
        line = text.count("\n", 0, long_key.start()) + 1
        column = long_key.start() - text.rfind("\n", 0, long_key.start())
        raise ValueError(
            f"A key of more than {MOST_PARTS} parts (at line {line}, column {column})"
        )
    return tomllib.loads(text)
