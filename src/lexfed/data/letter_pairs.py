# SPDX-License-Identifier: Apache-2.0
"""Texts as pairs of letters, so that unlisted words are found two letters at a time.

A symbol is END or one of the 95 printable characters of ASCII; every other character,
and the percent sign, stands as its UTF-8 bytes in the manner of web addresses (`%C3`).
A pair is one number, SYMBOLS * first + second, and a text is LEVELS pairs, filled up
with END. What is longer than that is cut: it can no longer be told from its beginning.
"""

import re
from itertools import takewhile
from urllib.parse import quote, unquote

SYMBOLS = 96
"""The printable characters from space to tilde, and END."""
END = SYMBOLS - 1
PAIRS = SYMBOLS * SYMBOLS
LEVELS = 8
_FIRST = ord(" ")
_PLAIN = "".join(chr(_FIRST + symbol) for symbol in range(END)).replace("%", "")


def pairs_of(text: str) -> tuple[int, ...]:
    """Return the LEVELS pairs of a text.

    Guarantees:
        Texts of at most 2 LEVELS symbols are read back by `text_of`.
    """
    escaped = quote(text, safe=_PLAIN, errors="replace")[: 2 * LEVELS]
    symbols = [ord(letter) - _FIRST for letter in escaped]
    symbols += [END] * (2 * LEVELS - len(symbols))
    pairs = zip(symbols[::2], symbols[1::2], strict=True)
    return tuple(SYMBOLS * first + second for first, second in pairs)


def text_of(pairs: tuple[int, ...]) -> str:
    """Return the text that begins with these pairs, up to the first END.

    What is left of a character that was cut in the middle is not shown.
    """
    symbols = [symbol for pair in pairs for symbol in divmod(pair, SYMBOLS)]
    known = takewhile(lambda symbol: symbol != END, symbols)
    escaped = "".join(chr(symbol + _FIRST) for symbol in known)
    # A percent sign stands as %25, so these can only be the beginning of an escape.
    return unquote(re.sub("%.?$", "", escaped), errors="ignore")


def is_ended(pair: int) -> bool:
    """Return True if a text ends within this pair, or before it."""
    return pair % SYMBOLS == END


def is_pair(pair: int) -> bool:
    """Return True if a text can have this pair: after END there is nothing but END."""
    return 0 <= pair < PAIRS and (pair // SYMBOLS != END or is_ended(pair))
