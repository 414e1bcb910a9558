# SPDX-License-Identifier: Apache-2.0
"""Columns of values made by rule, half of them identifying, whose names say nothing.

Every kind is made from random digits and words with its check digits, as the issuing
bodies publish them; nothing of it belongs to anyone.
"""

from collections.abc import Callable
from random import Random

from lexfed.law.tagger.suggestions import DescribedColumn

FIRST = ["James", "Mary", "Ahmed", "Sofia", "Lukas", "Chloé", "Mateus", "Yuki", "Olga"]
LAST = ["Smith", "García", "Müller", "Rossi", "Silva", "Dubois", "Kowalski", "Chen"]
STREETS = ["Oak Street", "Mill Lane", "Park Avenue", "Station Road", "High Street"]
WORDS = ["steel", "paper", "blue", "valve", "north", "series", "panel", "rapid", "unit"]


def _digits(random: Random, number: int) -> str:
    return "".join(random.choice("0123456789") for _ in range(number))


def _luhn(number: str) -> str:
    doubled = (int(d) * (2 - at % 2) for at, d in enumerate(reversed(number)))
    return f"{number}{-sum(d // 10 + d % 10 for d in doubled) % 10}"


def _iban(random: Random) -> str:
    account = _digits(random, 18)
    return f"DE{98 - int(f'{account}131400') % 97:02}{account}"


def _cpf(random: Random) -> str:
    number = _digits(random, 9)
    for start in (10, 11):
        weights = range(start, 1, -1)
        rest = sum(int(d) * w for d, w in zip(number, weights, strict=True)) % 11
        number += str(0 if rest < 2 else 11 - rest)
    return f"{number[:3]}.{number[3:6]}.{number[6:9]}-{number[9:]}"


def _dni(random: Random) -> str:
    number = _digits(random, 8)
    return number + "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23]


def _ssn(random: Random) -> str:
    area = random.randrange(1, 650)
    return f"{area:03}-{random.randrange(1, 99):02}-{random.randrange(1, 9999):04}"


def _hex(random: Random, number: int) -> str:
    return "".join(random.choice("0123456789abcdef") for _ in range(number))


def _mail(random: Random) -> str:
    name = random.choice(FIRST).lower().replace("é", "e")
    return f"{name}{random.randrange(999)}@mail{random.randrange(9)}.example.com"


Maker = Callable[[Random], str]
IDENTIFYING: dict[str, Maker] = {
    "e-mail": _mail,
    "phone": lambda r: f"+1 212 555 {r.randrange(1000, 9999)}",
    "card": lambda r: _luhn(f"4{_digits(r, 14)}"),
    "iban": _iban,
    "ssn": _ssn,
    "cpf": _cpf,
    "dni": _dni,
    "ip": lambda r: ".".join(str(r.randrange(1, 255)) for _ in range(4)),
    "mac": lambda r: ":".join(_hex(r, 2) for _ in range(6)),
    "name": lambda r: f"{r.choice(FIRST)} {r.choice(LAST)}",
    "street": lambda r: f"{r.randrange(1, 999)} {r.choice(STREETS)}",
    "password hash": lambda r: f"$2b$12${_hex(r, 53)}",
}
"""What identifies a person."""
SPECIAL: dict[str, Maker] = {
    "diagnosis": lambda r: f"{r.choice('ABCEFIJKMN')}{_digits(r, 2)}.{_digits(r, 1)}",
    "dna": lambda r: "".join(r.choice("ACGT") for _ in range(30)),
    "note": lambda r: (
        f"patient reports pain and fever for {r.randrange(2, 30)} days, "
        f"treatment with {r.randrange(1, 9) * 100} mg continued"
    ),
}
"""What is of a special category."""
OTHER: dict[str, Maker] = {
    "count": lambda r: str(r.randrange(1, 60)),
    "row number": lambda r: str(r.randrange(100_000, 999_999)),
    "long number": lambda r: _digits(r, 12),
    "price": lambda r: f"{r.uniform(1, 900):.2f}",
    "score": lambda r: f"{r.gauss(0, 1):.5f}",
    "flag": lambda r: r.choice("01"),
    "grade": lambda r: r.choice("ABCDE"),
    "date": lambda r: f"2024-{r.randrange(1, 13):02}-{r.randrange(1, 29):02}",
    "time": lambda r: f"{r.randrange(24):02}:{r.randrange(60):02}:00",
    "product": lambda r: f"{r.choice(WORDS)} {r.choice(WORDS)} {r.randrange(10, 99)}",
    "part number": lambda r: f"{r.choice('PQRX')}-{_digits(r, 5)}",
    "page": lambda r: f"https://shop.example.com/{r.choice(WORDS)}/{_digits(r, 4)}",
    "version": lambda r: f"{r.randrange(9)}.{r.randrange(20)}.{r.randrange(20)}.0",
    "status": lambda r: r.choice(["open", "closed", "pending", "shipped"]),
    "share": lambda r: f"{r.randrange(100)}%",
}
"""What is about no one, or tells nothing by itself."""


def made_columns(number: int, rows: int) -> list[tuple[DescribedColumn, str]]:
    """Return columns with values, and whether each is `identifier`, `special` or not.

    Every column is alone in its table: none explains another.
    """
    groups = (("identifier", IDENTIFYING), ("special", SPECIAL), ("", OTHER))
    kinds = [(make, label) for label, makers in groups for make in makers.values()]
    found = []
    for at in range(number):
        random = Random(f"column {at}")  # noqa: S311 - made-up values, no secret
        make, label = kinds[at % len(kinds)]
        values = tuple(make(random) for _ in range(rows))
        found.append((DescribedColumn(f"t{at}", f"c{at}", values=values), label))
    return found
