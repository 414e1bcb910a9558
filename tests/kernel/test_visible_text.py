# SPDX-License-Identifier: Apache-2.0
"""Characters that do not show: found in names, spelled out in prints."""

import unicodedata

import pytest

from lexfed.visible_text import hidden_in, hidden_texts, visible
from support.hostile_names import HOSTILE

HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
PERSIAN = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
ORDINARY = (
    "age",
    "blood type",
    "Größe (cm)",
    "年齢",
    "年齢　区分",
    "\u0432\u043e\u0437\u0440\u0430\u0441\u0442",  # Russian
    "\u05d2\u05d9\u05dc",  # Hebrew
    PERSIAN,  # the joiner keeps two letters apart
    "\u0646\u0645\u06cc\u064e\u200c\u062a\u0648\u0627\u0646",  # after a vowel sign
    "\u0915\u094d\u200d\u0937",  # Hindi: after a virama both joiners can be seen
    "\u0915\u094d\u200c\u0937",
    "cost €",
    "e\u0323\u0302\u0301\u0308",  # as many marks as one letter may have
    "a\u00a0b",
)


@pytest.mark.parametrize("trick", HOSTILE)
def test_hostile_names_are_found_and_spelled_out(trick: str) -> None:
    name = HOSTILE[trick]
    assert hidden_in(name).startswith("\\")
    shown = visible(name)
    assert hidden_in(shown) == ""
    assert "\\" in shown


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_names_of_any_language_stay(name: str) -> None:
    assert hidden_in(name) == ""


def test_joiners_that_change_nothing_are_hidden_and_all_are_spelled_out() -> None:
    beh, dal = "\u0628", "\u062f"
    joined = (f"\u200c{beh}", f"{dal}\u200c{beh}", f"{beh}\u200c", f"{beh}\u200d{beh}")
    for name in (*joined, "a\u200cb"):
        assert hidden_in(name) in ("\\u200c", "\\u200d"), ascii(name)
    assert visible(PERSIAN) == PERSIAN.replace("\u200c", "\\u200c")


def test_no_control_or_format_character_gets_through_anywhere() -> None:
    wrong = [
        hex(code)
        for code in (*range(0x20000), *range(0xE0000, 0xE0200), 0x10FFFF)
        if unicodedata.category(chr(code)) in HIDDEN
        and not (visible(chr(code)).isascii() and visible(chr(code)).isprintable())
    ]
    assert wrong == []


def test_some_characters_may_be_kept() -> None:
    assert visible("a\n\tb\r", keep="\n\t") == "a\n\tb\\u000d"


def test_keys_and_texts_of_tables_are_found_with_their_place() -> None:
    tables = {"a": {"b\x1b": {"c": "\r"}}, "d": ("e", ["\u202e"], 3), "f": "g"}
    assert list(hidden_texts(tables)) == [
        (("a", "b\x1b"), "\\u001b"),
        (("d", 1, 0), "\\u202e"),
    ]
