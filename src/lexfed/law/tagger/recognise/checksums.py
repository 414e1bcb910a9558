# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of check digits; each check tells valid whole numbers from others.

A number is given without separators. Functions take digits and, where a scheme has
them, capital letters; the shape was checked before by a recogniser's pattern.

    scheme            finds every single change   every adjacent swap    by chance
    Luhn              yes                         all but 09 and 90      1 in 10
    Verhoeff          yes                         yes                    1 in 10
    mod 11, 10        yes                         almost                 1 in 10
    mod 11-2          yes                         yes                    1 in 11
    mod 97            yes                         yes                    1 in 97
    weights mod 11    yes, if weights are < 11    if neighbours differ   1 in 11
    weights mod 10    if weights are odd, not 5   not those 5 apart      1 in 10
"""

from collections.abc import Sequence
from datetime import date

_MULTIPLY = (
    "0123456789", "1234067895", "2340178956", "3401289567", "4012395678",
    "5987604321", "6598710432", "7659821043", "8765932104", "9876543210",
)  # fmt: skip
_PERMUTE = (
    "0123456789", "1576283094", "5803796142", "8916043527",
    "9453126870", "4286573901", "2793806415", "7046913258",
)  # fmt: skip
DIGITS_AND_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def luhn(number: str) -> bool:
    """Return True if a number ends with its Luhn digit [ISO/IEC 7812-1, annex B]."""
    total = 0
    for place, digit in enumerate(reversed(number)):
        doubled = int(digit) * (1 + place % 2)
        total += doubled - 9 * (doubled > 9)
    return total % 10 == 0


def verhoeff(number: str) -> bool:
    """Return True if a number ends with its Verhoeff digit."""
    check = 0
    for place, digit in enumerate(reversed(number)):
        check = int(_MULTIPLY[check][int(_PERMUTE[place % 8][int(digit)])])
    return check == 0


def mod_11_10(number: str) -> bool:
    """Return True if a number is valid under ISO 7064 mod 11,10."""
    product = 10
    for digit in number[:-1]:
        product = ((product + int(digit)) % 10 or 10) * 2 % 11
    return (product + int(number[-1])) % 10 == 1


def mod_11_2(number: str) -> bool:
    """Return True if a number is valid under ISO 7064 mod 11-2; X stands for ten."""
    total = 0
    for sign in number:
        total = (total * 2 + (10 if sign == "X" else int(sign))) % 11
    return total == 1


def mod_97(text: str) -> bool:
    """Return True if letters and digits leave 1 when divided by 97 [ISO 7064]."""
    return int("".join(str(int(sign, 36)) for sign in text)) % 97 == 1


def weighted(number: str, weights: Sequence[int]) -> int:
    """Return the sum of the digits, each times its weight."""
    return sum(int(d) * w for d, w in zip(number, weights, strict=False))


def gtin(number: str) -> bool:
    """Return True if a number ends with its GS1 digit (weights 3 and 1)."""
    return weighted(number[::-1], (1, 3) * 9) % 10 == 0


def check_11(number: str, weights: Sequence[int]) -> int:
    """Return 11 less the weighted sum modulo 11, where 10 and 11 become 0."""
    rest = 11 - weighted(number, weights) % 11
    return 0 if rest >= 10 else rest


def digit_sum(number: int) -> int:
    """Return the sum of the digits of a number."""
    return sum(map(int, str(number)))


def is_date(year: int, month: int, day: int) -> bool:
    """Return True if there is such a day."""
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def is_day(yymmdd: str) -> bool:
    """Return True if a year without century, a month and a day name a day."""
    year, month, day = int(yymmdd[:2]), int(yymmdd[2:4]), int(yymmdd[4:6])
    # 2000 and its leap day stand for the century that the number does not tell.
    return is_date(2000 + year, month, day) or is_date(1900 + year, month, day)
