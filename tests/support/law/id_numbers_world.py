# SPDX-License-Identifier: Apache-2.0
"""More valid numbers by rule: the Americas, Asia, accounts, codes and vehicles."""

from random import Random

from support.law.id_numbers import (
    LETTERS,
    born,
    digits,
    gtin_digit,
    letters,
    luhn_digit,
    retry,
    total,
    verhoeff_digit,
    with_luhn,
)


def us_ssn(random: Random) -> str:
    area = random.choice([n for n in range(1, 900) if n != 666])
    return f"{area:03}-{random.randrange(1, 100):02}-{random.randrange(1, 10000):04}"


def us_npi(random: Random) -> str:
    head = digits(random, 9, "12")
    return head + luhn_digit(f"80840{head}")


def canadian(random: Random) -> str:
    number = with_luhn(digits(random, 8, "1234567"))
    return f"{number[:3]} {number[3:6]} {number[6:]}"


def brazilian_cpf(random: Random) -> str:
    head = digits(random, 9)
    for start in (10, 11):
        rest = total(head, range(start, 1, -1)) % 11
        head += str(0 if rest < 2 else 11 - rest)
    return f"{head[:3]}.{head[3:6]}.{head[6:9]}-{head[9:]}"


def brazilian_cnpj(random: Random) -> str:
    head = digits(random, 8) + "0001"
    for weights in (
        (5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2),
        (6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2),
    ):
        rest = total(head, weights) % 11
        head += str(0 if rest < 2 else 11 - rest)
    return f"{head[:2]}.{head[2:5]}.{head[5:8]}/{head[8:12]}-{head[12:]}"


@retry
def brazilian_cns(random: Random) -> str | None:
    head = digits(random, 14, "789")
    check = -total(head, range(15, 1, -1)) % 11
    return None if check == 10 else f"{head}{check}"


def brazilian_voter(random: Random) -> str:
    head, state = digits(random, 8), f"{random.randrange(3, 29):02}"
    first = total(head, range(2, 10)) % 11 % 10
    return f"{head}{state}{first}{total(f'{state}{first}', (7, 8, 9)) % 11 % 10}"


def mexican_curp(random: Random) -> str:
    head = (
        f"{letters(random, 1)}{random.choice('AEIOU')}{letters(random, 2)}"
        f"{''.join(born(random))}{random.choice('HM')}{random.choice(('DF', 'JC'))}"
        f"{letters(random, 3, 'BCDFGHJKLM')}{random.choice('0A')}"
    )
    order = "0123456789ABCDEFGHIJKLMNÑOPQRSTUVWXYZ"
    weights = range(18, 1, -1)
    value = sum(order.index(s) * w for s, w in zip(head, weights, strict=True))
    return f"{head}{-value % 10}"


def mexican_rfc(random: Random) -> str:
    head = f"{letters(random, 4)}{''.join(born(random))}{letters(random, 2)}"
    order = "0123456789ABCDEFGHIJKLMN&OPQRSTUVWXYZ Ñ"
    weights = range(13, 1, -1)
    value = sum(order.index(s) * w for s, w in zip(head, weights, strict=True))
    return head + "0123456789A"[-value % 11]


@retry
def argentine(random: Random) -> str | None:
    head = random.choice(("20", "27")) + digits(random, 8)
    check = -total(head, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11
    return None if check == 10 else f"{head[:2]}-{head[2:]}-{check}"


def chilean(random: Random) -> str:
    head = digits(random, 8, "12")
    check = -total(head[::-1], (2, 3, 4, 5, 6, 7, 2, 3)) % 11
    return f"{head[:2]}.{head[2:5]}.{head[5:]}-{'0123456789K'[check]}"


def ecuadorian(random: Random) -> str:
    return with_luhn(f"{random.randrange(1, 25):02}{digits(random, 7, '012345')}")


def indian(random: Random) -> str:
    head = digits(random, 11, "23456789")
    return head + verhoeff_digit(head)


def chinese(random: Random) -> str:
    year, month, day = born(random)
    head = f"110101{19}{year}{month}{day}{digits(random, 3)}"
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    return head + "10X98765432"[total(head, weights) % 11]


def korean(random: Random) -> str:
    head = "".join(born(random)) + digits(random, 6, "12")
    check = (11 - total(head, (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)) % 11) % 10
    return f"{head[:6]}-{head[6:]}{check}"


def japanese(random: Random) -> str:
    head = digits(random, 11)
    rest = sum(
        int(d) * (n + 1 if n <= 6 else n - 5) for n, d in enumerate(head[::-1], 1)
    )
    return f"{head}{0 if rest % 11 <= 1 else 11 - rest % 11}"


def thai(random: Random) -> str:
    head = digits(random, 12, "12345678")
    return f"{head}{(11 - total(head, range(13, 1, -1)) % 11) % 10}"


def south_african(random: Random) -> str:
    return with_luhn(f"{''.join(born(random))}{digits(random, 4)}08")


@retry
def australian_tfn(random: Random) -> str | None:
    head = digits(random, 8)
    # The last weight is 10, which is -1 modulo 11.
    check = total(head, (1, 4, 3, 7, 5, 8, 6, 9)) % 11
    return None if check == 10 else f"{head}{check}"


def australian_medicare(random: Random) -> str:
    head = digits(random, 8, "23456")
    return f"{head}{total(head, (1, 3, 7, 9, 1, 3, 7, 9)) % 10}1"


def mrz(random: Random) -> str:
    def check(text: str) -> str:
        values = [0 if s == "<" else int(s, 36) for s in text]
        return str(sum(v * (7, 3, 1)[at % 3] for at, v in enumerate(values)) % 10)

    number = f"{letters(random, 1)}{digits(random, 8)}"
    birth, expiry = "".join(born(random)), "".join(born(random))
    body = f"{number}{check(number)}UTO{birth}{check(birth)}F{expiry}{check(expiry)}"
    return body + "<" * 14 + "00"


def iban_german(random: Random) -> str:
    account = digits(random, 18)
    return f"DE{98 - int(account + '131400') % 97:02}{account}"


def iban_british(random: Random) -> str:
    account = f"{letters(random, 4)}{digits(random, 14)}"
    spelled = "".join(str(int(s, 36)) for s in f"{account}GB00")
    number = f"GB{98 - int(spelled) % 97:02}{account}"
    return " ".join(number[at : at + 4] for at in range(0, len(number), 4))


def card(random: Random) -> str:
    return with_luhn(
        random.choice(("4", "51", "55")).ljust(2, "0") + digits(random, 13)
    )


def clabe(random: Random) -> str:
    head = digits(random, 17)
    rest = sum(int(d) * w % 10 for d, w in zip(head, (3, 7, 1) * 6, strict=False))
    return f"{head}{-rest % 10}"


def imei(random: Random) -> str:
    return with_luhn(f"35{digits(random, 12)}")


def lei(random: Random) -> str:
    head = f"5299{letters(random, 6)}{digits(random, 8)}"
    spelled = "".join(str(int(s, 36)) for s in f"{head}00")
    return f"{head}{98 - int(spelled) % 97:02}"


def isin(random: Random) -> str:
    head = f"{random.choice(('US', 'DE', 'FR'))}{digits(random, 9)}"
    return head + luhn_digit("".join(str(int(s, 36)) for s in head))


def gtin(random: Random) -> str:
    head = digits(random, 12, "4")
    return head + gtin_digit(head)


def loinc(random: Random) -> str:
    head = digits(random, random.choice((4, 5)), "123456789")
    return f"{head}-{luhn_digit(head)}"


def snomed(random: Random) -> str:
    head = f"{digits(random, random.choice((5, 6)), '123456789')}00"
    return head + verhoeff_digit(head)


@retry
def pzn(random: Random) -> str | None:
    head = digits(random, 7)
    check = total(head, range(1, 8)) % 11
    return None if check == 10 else f"{head}{check}"


def vin(random: Random) -> str:
    usable = [s for s in LETTERS if s not in "IOQ"]
    table = "A1B2C3D4E5F6G7H8J1K2L3M4N5P7R9S2T3U4V5W6X7Y8Z9"
    values = {
        **dict(zip(table[0::2], map(int, table[1::2]), strict=True)),
        **{str(d): d for d in range(10)},
    }
    head = [random.choice(usable) for _ in range(8)]
    tail = [random.choice("ABCDEF"), *digits(random, 7)]
    weights = (8, 7, 6, 5, 4, 3, 2, 10, 9, 8, 7, 6, 5, 4, 3, 2)
    signs = [*head, *tail]
    value = sum(values[s] * w for s, w in zip(signs, weights, strict=False)) % 11
    return "".join([*head, "0123456789X"[value], *tail])
