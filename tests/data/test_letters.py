# SPDX-License-Identifier: Apache-2.0
from hypothesis import given
from hypothesis import strategies as st

from lexfed.data.letter_pairs import (
    END,
    LEVELS,
    PAIRS,
    SYMBOLS,
    is_ended,
    is_pair,
    pairs_of,
    text_of,
)


@given(st.text(alphabet=st.characters(codec="ascii", min_codepoint=32), max_size=5))
def test_short_texts_are_read_back(text: str) -> None:
    assert text_of(pairs_of(text)) == text


@given(st.text())
def test_every_text_has_pairs_that_a_text_can_have(text: str) -> None:
    pairs = pairs_of(text)
    assert len(pairs) == LEVELS
    assert all(is_pair(pair) for pair in pairs)


def test_other_characters_stand_as_their_bytes() -> None:
    assert text_of(pairs_of("é%ü")) == "é%ü"
    assert pairs_of("%") != pairs_of("%2")


def test_a_long_text_is_cut_to_its_beginning() -> None:
    assert pairs_of("abcdefghijklmnopqrstuvw") == pairs_of("abcdefghijklmnop")
    assert text_of(pairs_of("abcdefghijklmnopqrstuvw")) == "abcdefghijklmnop"


def test_a_character_that_was_cut_is_not_shown() -> None:
    assert text_of(pairs_of("abcdefghijklmné")) == "abcdefghijklmn"
    assert text_of(pairs_of("abcdefghijkéé")) == "abcdefghijk"
    assert text_of(pairs_of("abcdefghijklmno%")) == "abcdefghijklmno"


def test_a_text_ends_within_its_last_pair_or_after_it() -> None:
    assert is_ended(pairs_of("a")[0])
    assert not is_ended(pairs_of("ab")[0])
    assert is_ended(pairs_of("ab")[1])


def test_nothing_follows_the_end() -> None:
    assert is_pair(END * SYMBOLS + END)
    assert not is_pair(END * SYMBOLS + 5)
    assert not is_pair(-1)
    assert not is_pair(PAIRS)
