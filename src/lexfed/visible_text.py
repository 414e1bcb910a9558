# SPDX-License-Identifier: Apache-2.0
r"""Text from outside, and the characters in it that do not show as themselves.

A column, a site or a reason may have any name. A name with cursor
movements (`\x1b[2K`), a carriage return or a right-to-left override lets a terminal
show another epsilon than the one that was printed, and a person consents to that. So

    at load     a name with a hidden character is refused        `hidden_in`
    at print    hidden characters are spelled out, as `\u001b`   `visible`

Hidden are the Unicode categories Cc (control), Cf (format: bidirectional controls,
zero-width characters), Cs (surrogates), Co (private use), Cn (unassigned), Zl and Zp
(separators of lines and paragraphs), and letters and marks that show nothing
(Default_Ignorable_Code_Point; empty cells, notes and fillers). So are marks on
anything but letters, since they would change a digit or what stands before a name, and
every mark after the fourth on one letter [UTS 39, 5.4]: towers of them cover the lines
around.

Persian and Indic words need the two joiners, U+200C and U+200D. A name may have them
where they change what is seen, as in domain names [RFC 5892, A.1 and A.2]: after a
virama, and U+200C between two Arabic letters that it keeps from joining. Printed they
are spelled out all the same, since few terminals join letters.
"""

import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_SHOW_NOTHING = frozenset(
    map(chr, (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0))
).union(
    map(chr, (0x16FE4, 0x1D159)),
    map(chr, range(0x180B, 0x1810)),
    map(chr, range(0xFE00, 0xFE10)),
    map(chr, range(0xE0100, 0xE01F0)),
)
_MOST_MARKS = 4
_NON_JOINER, _JOINER = "\u200c", "\u200d"
_VIRAMA = 9  # canonical combining class of the sign that lets consonants join

TablePath = tuple[str | int, ...]
"""Keys and positions that lead to a text in tables."""


def visible(text: str, keep: str = "") -> str:
    r"""Return the text with hidden characters spelled out.

    Characters in `keep` stay, such as the newlines of a text of several lines.

    >>> visible("a\x1b[2Kb\u202e")
    'a\\u001b[2Kb\\u202e'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        _spelled(each) if hides and each not in keep else each
        for each, hides in _judged(text)
    )


def hidden_in(text: str) -> str:
    r"""Return the first hidden character of a name, spelled out; empty if it has none.

    >>> hidden_in("blood type"), hidden_in("age\r")
    ('', '\\u000d')
    """
    if text.isascii() and text.isprintable():
        return ""
    for place, (each, hides) in enumerate(_judged(text)):
        if hides and not _joins(text, place):
            return visible(each)
    return ""


def hidden_texts(value: Any, place: TablePath = ()) -> Iterator[tuple[TablePath, str]]:
    """Yield the path of each text with a hidden character, which is spelled out."""
    if isinstance(value, str):
        hidden = hidden_in(value)
        if hidden:
            yield place, hidden
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            hidden = hidden_in(str(key))
            if hidden:
                yield (*place, key), hidden
            else:
                yield from hidden_texts(inner, (*place, key))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from hidden_texts(inner, (*place, number))


def _spelled(each: str) -> str:
    code = ord(each)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _judged(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each character, and whether it does not show as itself."""
    marks = _MOST_MARKS  # there is no letter yet that could carry one
    for each in text:
        category = unicodedata.category(each)
        if category in ("Mn", "Me"):
            marks += 1
        elif each not in (_NON_JOINER, _JOINER):
            marks = 0 if category[0] in "LM" else _MOST_MARKS
        hidden = category in _HIDDEN or each in _SHOW_NOTHING
        yield each, hidden or marks > _MOST_MARKS


def _joins(text: str, place: int) -> bool:
    """Return True if a joiner stands where it changes what is seen."""
    if text[place] not in (_NON_JOINER, _JOINER) or place == 0:
        return False
    if unicodedata.combining(text[place - 1]) == _VIRAMA:
        return True
    if text[place] == _JOINER:
        return False
    before = next((c for c in text[place - 1 :: -1] if not _is_mark(c)), "")
    after = next((c for c in text[place + 1 :] if not _is_mark(c)), "")
    return before in _letters("<initial>") and after in _letters("<final>")


def _is_mark(each: str) -> bool:
    return unicodedata.category(each) == "Mn"


@cache
def _letters(form: str) -> frozenset[str]:
    """Return the Arabic letters that have such a form within words."""
    forms = (unicodedata.decomposition(chr(code)) for code in range(0xFB50, 0xFEFD))
    split = (each.split() for each in forms)
    return frozenset(
        chr(int(parts[1], 16))
        for parts in split
        if len(parts) == 2 and parts[0] == form
    )
