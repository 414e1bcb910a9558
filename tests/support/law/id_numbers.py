# SPDX-License-Identifier: Apache-2.0
"""Valid numbers by rule: check digits computed forwards, from random first parts.

The package asks whether a whole number is valid; here its last part is computed. Both
follow the rules that the issuing offices publish, and neither uses the other.
"""

from collections.abc import Callable, Iterable
from random import Random

Maker = Callable[[Random], str]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def digits(random: Random, number: int, first: str = "0123456789") -> str:
    tail = "".join(random.choice("0123456789") for _ in range(number - 1))
    return random.choice(first) + tail


def letters(random: Random, number: int, among: str = LETTERS) -> str:
    return "".join(random.choice(among) for _ in range(number))


def born(random: Random) -> tuple[str, str, str]:
    """Return year, month and day of some birth, two digits each."""
    return (
        f"{random.randrange(40, 99)}",
        f"{random.randrange(1, 13):02}",
        f"{random.randrange(1, 29):02}",
    )


def total(number: str, weights: Iterable[int]) -> int:
    return sum(int(d) * w for d, w in zip(number, weights, strict=False))


def luhn_digit(number: str) -> str:
    doubled = [int(d) * (2 if at % 2 == 0 else 1) for at, d in enumerate(number[::-1])]
    return str(-sum(sum(divmod(d, 10)) for d in doubled) % 10)


def with_luhn(number: str) -> str:
    return number + luhn_digit(number)


def verhoeff_digit(number: str) -> str:
    """Return the Verhoeff digit by the dihedral group itself, not by its table."""

    def times(a: int, b: int) -> int:
        if a < 5:
            return (a + b) % 5 if b < 5 else 5 + (a + b) % 5
        return 5 + (a - b) % 5 if b < 5 else (a - b) % 5

    step = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)
    check = 0
    for place, digit in enumerate(reversed(number), 1):
        value = int(digit)
        for _ in range(place % 8):
            value = step[value]
        check = times(check, value)
    inverse = next(d for d in range(10) if times(check, d) == 0)
    return str(inverse)


def mod_11_10_digit(number: str) -> str:
    rest = 10
    for digit in number:
        rest = ((rest + int(digit) - 1) % 10 + 1) * 2 % 11
    return str((11 - rest) % 10)


def gtin_digit(number: str) -> str:
    return str(-total(number[::-1], (3, 1) * 9) % 10)


def retry(make: Callable[[Random], str | None]) -> Maker:
    """Return a maker that tries again where the rules give no number."""

    def tried(random: Random) -> str:
        while True:
            number = make(random)
            if number is not None:
                return number

    return tried


@retry
def nhs(random: Random) -> str | None:
    head = digits(random, 9)
    check = -total(head, range(10, 1, -1)) % 11
    return None if check == 10 else f"{head}{check}"


def german_tax(random: Random) -> str:
    chosen = random.sample("0123456789", 9)
    twice = [*chosen, random.choice(chosen)]
    random.shuffle(twice)
    if twice[0] == "0":
        twice.reverse()
    head = "".join(twice)
    head = head if head[0] != "0" else head[1:] + head[0]
    return head + mod_11_10_digit(head)


def german_pension(random: Random) -> str:
    year, month, day = born(random)
    letter = random.choice(LETTERS)
    head = f"{random.randrange(10, 90)}{day}{month}{year}"
    tail = digits(random, 2)
    spelled = f"{head}{LETTERS.index(letter) + 1:02}{tail}"
    products = (
        int(d) * w
        for d, w in zip(spelled, (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1), strict=True)
    )
    return f"{head}{letter}{tail}{sum(p // 10 + p % 10 for p in products) % 10}"


def german_health(random: Random) -> str:
    letter, tail = random.choice(LETTERS), digits(random, 8)
    spelled = f"{LETTERS.index(letter) + 1:02}{tail}"
    products = (int(d) * (1 + at % 2) for at, d in enumerate(spelled))
    return f"{letter}{tail}{sum(p // 10 + p % 10 for p in products) % 10}"


@retry
def austrian(random: Random) -> str | None:
    serial = digits(random, 3, "123456789")
    year, month, day = born(random)
    rest = total(f"{serial}{day}{month}{year}", (3, 7, 9, 5, 8, 4, 2, 1, 6)) % 11
    return None if rest == 10 else f"{serial}{rest}{day}{month}{year}"


def french(random: Random) -> str:
    year, month, _ = born(random)
    place = random.choice(("2A", "2B", "75", "13", "69"))
    head = f"{random.choice('12')}{year}{month}{place}{digits(random, 6)}"
    number = int(head.replace("2A", "19").replace("2B", "18"))
    return f"{head}{97 - number % 97:02}"


SPANISH = "TRWAGMYFPDXBNJZSQVHLCKE"


def spanish(random: Random) -> str:
    head = digits(random, 8)
    return head + SPANISH[int(head) % 23]


def spanish_foreigner(random: Random) -> str:
    first, tail = random.choice("XYZ"), digits(random, 7)
    return first + tail + SPANISH[int(f"{'XYZ'.index(first)}{tail}") % 23]


# Values of odd places as the ministerial decree lists them, digit and letter.
ODD = {
    **dict(zip("0123456789", (1, 0, 5, 7, 9, 13, 15, 17, 19, 21), strict=True)),
    **dict(
        zip(
            LETTERS,
            (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16,
             10, 22, 25, 24, 23),
            strict=True,
        )
    ),
}  # fmt: skip


def italian(random: Random) -> str:
    year, _, day = born(random)
    month = random.choice("ABCDEHLMPRST")
    head = (
        f"{letters(random, 6)}{year}{month}{day}{letters(random, 1)}{digits(random, 3)}"
    )
    even = {**{str(d): d for d in range(10)}, **{a: i for i, a in enumerate(LETTERS)}}
    value = sum(ODD[s] for s in head[0::2]) + sum(even[s] for s in head[1::2])
    return head + LETTERS[value % 26]


def portuguese(random: Random) -> str:
    head = digits(random, 8, "123")
    rest = total(head, range(9, 1, -1)) % 11
    return f"{head}{0 if rest < 2 else 11 - rest}"


@retry
def dutch(random: Random) -> str | None:
    head = digits(random, 8)
    rest = total(head, range(9, 1, -1)) % 11
    return None if rest == 10 else f"{head}{rest}"


def belgian(random: Random) -> str:
    year, month, day = born(random)
    head = f"{year}{month}{day}{digits(random, 3)}"
    return f"{head}{97 - int(head) % 97:02}"


def irish(random: Random) -> str:
    head = digits(random, 7)
    return head + "WABCDEFGHIJKLMNOPQRSTUV"[total(head, range(8, 1, -1)) % 23]


def swiss(random: Random) -> str:
    head = f"756{digits(random, 9)}"
    number = head + gtin_digit(head)
    return f"{number[:3]}.{number[3:7]}.{number[7:11]}.{number[11:]}"


def swedish(random: Random) -> str:
    number = with_luhn("".join(born(random)) + digits(random, 3))
    return f"{number[:6]}-{number[6:]}"


def finnish(random: Random) -> str:
    year, month, day = born(random)
    serial = digits(random, 3)
    place = int(f"{day}{month}{year}{serial}") % 31
    return f"{day}{month}{year}-{serial}{'0123456789ABCDEFHJKLMNPRSTUVWXY'[place]}"


def danish(random: Random) -> str:
    year, month, day = born(random)
    return f"{day}{month}{year}-{digits(random, 4)}"


@retry
def norwegian(random: Random) -> str | None:
    year, month, day = born(random)
    head = f"{day}{month}{year}{digits(random, 3)}"
    first = -total(head, (3, 7, 6, 1, 8, 9, 4, 5, 2)) % 11
    second = -total(f"{head}{first}", (5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11
    return None if 10 in (first, second) else f"{head}{first}{second}"


def polish(random: Random) -> str:
    head = "".join(born(random)) + digits(random, 4)
    return f"{head}{-total(head, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3)) % 10}"


def romanian(random: Random) -> str:
    head = f"{random.choice('12')}{''.join(born(random))}{digits(random, 5)}"
    rest = total(head, (2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9)) % 11
    return f"{head}{1 if rest == 10 else rest}"


def bulgarian(random: Random) -> str:
    head = "".join(born(random)) + digits(random, 3)
    return f"{head}{total(head, (2, 4, 8, 5, 10, 9, 7, 3, 6)) % 11 % 10}"


@retry
def czech(random: Random) -> str | None:
    year, month, day = born(random)
    woman = random.choice((0, 50))
    head = f"{year}{int(month) + woman:02}{day}{digits(random, 3)}"
    rest = int(head) % 11
    return None if rest == 10 else f"{head[:6]}/{head[6:]}{rest}"


def baltic(random: Random) -> str:
    head = f"{random.choice('34')}{''.join(born(random))}{digits(random, 3)}"
    rest = total(head, (1, 2, 3, 4, 5, 6, 7, 8, 9, 1)) % 11
    if rest == 10:
        rest = total(head, (3, 4, 5, 6, 7, 8, 9, 1, 2, 3)) % 11 % 10
    return f"{head}{rest}"


def yugoslav(random: Random) -> str:
    year, month, day = born(random)
    head = f"{day}{month}9{year}{digits(random, 5)}"
    rest = total(head, (7, 6, 5, 4, 3, 2) * 2) % 11
    return f"{head}{0 if rest < 2 else 11 - rest}"


def croatian(random: Random) -> str:
    head = digits(random, 10)
    return head + mod_11_10_digit(head)


def greek(random: Random) -> str:
    year, month, day = born(random)
    return with_luhn(f"{day}{month}{year}{digits(random, 4)}")


def turkish(random: Random) -> str:
    head = digits(random, 9, "123456789")
    tenth = (7 * total(head[0::2], (1,) * 5) - total(head[1::2], (1,) * 4)) % 10
    return f"{head}{tenth}{(total(head, (1,) * 9) + tenth) % 10}"
