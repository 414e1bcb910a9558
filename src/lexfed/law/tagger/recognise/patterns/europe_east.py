# SPDX-License-Identifier: Apache-2.0
"""National numbers of people in northern and eastern Europe and in Turkey.

Most of them begin with the day of birth, which is checked beside the check digit: by
chance at most 3 numbers in 100 pass both.
"""

from lexfed.law.tagger.recognise.checksums import (
    check_11,
    is_date,
    is_day,
    luhn,
    mod_11_10,
    weighted,
)
from lexfed.law.tagger.recognise.recogniser import national

DATED = 0.03
"""The chance that a random number is a day and has the right check digit."""


def swedish_number(number: str) -> bool:
    """Check a Swedish number: a day (plus 60 for visitors), a serial, Luhn."""
    short = number.replace("+", "")[-10:]
    day = int(short[4:6])
    born = f"{short[:4]}{day - 60 if day > 60 else day:02}"
    return is_day(born) and luhn(short)


def finnish_code(code: str) -> bool:
    """Check a Finnish code: a day, a sign for the century, the rest modulo 31."""
    digits = "".join(sign for sign in code[:-1] if sign.isdigit())
    born = f"{digits[4:6]}{digits[2:4]}{digits[:2]}"
    last = "0123456789ABCDEFHJKLMNPRSTUVWXY"[int(digits[:9]) % 31]
    return len(digits) == 9 and is_day(born) and last == code[-1]


def danish_number(number: str) -> bool:
    """Check a Danish CPR number: a day only; check digits ended in 2007."""
    return is_day(f"{number[4:6]}{number[2:4]}{number[:2]}")


def norwegian_number(number: str) -> bool:
    """Check a Norwegian number: a day, two check digits; D and H numbers add 40."""
    day, month = int(number[:2]), int(number[2:4])
    born = f"{number[4:6]}{month - 40 * (month > 40):02}{day - 40 * (day > 40):02}"
    first = weighted(number, (3, 7, 6, 1, 8, 9, 4, 5, 2, 1)) % 11
    second = weighted(number, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1)) % 11
    return is_day(born) and first == 0 and second == 0


def polish_pesel(number: str) -> bool:
    """Check a Polish PESEL: a day (the month tells the century), weights 1 3 7 9."""
    century = {0: 1900, 1: 2000, 2: 2100, 3: 2200, 4: 1800}[int(number[2]) // 2]
    month = int(number[2:4]) % 20
    born = is_date(century + int(number[:2]), month, int(number[4:6]))
    return born and weighted(number, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0


def romanian_cnp(number: str) -> bool:
    """Check a Romanian CNP: a day after the first digit; rest ten becomes one."""
    rest = weighted(number, (2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9)) % 11
    return is_day(number[1:7]) and (1 if rest == 10 else rest) == int(number[12])


def bulgarian_egn(number: str) -> bool:
    """Check a Bulgarian EGN: a day (the month tells the century), modulo 11."""
    month = int(number[2:4])
    since = 1800 if 20 < month <= 40 else 2000 if month > 40 else 1900
    born = is_date(since + int(number[:2]), month % 20 or 20, int(number[4:6]))
    rest = weighted(number, (2, 4, 8, 5, 10, 9, 7, 3, 6)) % 11
    return born and rest % 10 == int(number[9])


def czech_number(number: str) -> bool:
    """Check a Czech or Slovak birth number: women add 50, a full series 20."""
    month = int(number[2:4]) % 50
    born = is_day(f"{number[:2]}{month - 20 * (month > 20):02}{number[4:6]}")
    rest = int(number[:9]) % 11
    return born and rest % 10 == int(number[9])


def baltic_code(number: str) -> bool:
    """Check an Estonian or Lithuanian code: two rounds of weights, modulo 11."""
    rest = weighted(number, (1, 2, 3, 4, 5, 6, 7, 8, 9, 1)) % 11
    if rest == 10:
        rest = weighted(number, (3, 4, 5, 6, 7, 8, 9, 1, 2, 3)) % 11
    return is_day(number[1:7]) and rest % 10 == int(number[10])


def yugoslav_number(number: str) -> bool:
    """Check a JMBG of the states of former Yugoslavia: a day, modulo 11."""
    year = int(number[4:7])
    born = is_date(year + (2000 if year < 800 else 1000), int(number[2:4]),
                   int(number[:2]))  # fmt: skip
    weights = (7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)
    return born and check_11(number, weights) == int(number[12])


def greek_amka(number: str) -> bool:
    """Check a Greek AMKA: a day and Luhn."""
    return is_day(f"{number[4:6]}{number[2:4]}{number[:2]}") and luhn(number)


def russian_inn(number: str) -> bool:
    """Check a Russian tax number of a person: two check digits, modulo 11."""
    weights = (3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8)
    first = weighted(number[:10], weights[1:]) % 11 % 10
    second = weighted(number[:11], weights) % 11 % 10
    return number[10:] == f"{first}{second}"


def russian_snils(number: str) -> bool:
    """Check a Russian insurance number: weights 9 to 1, modulo 101."""
    rest = weighted(number[:9], range(9, 0, -1)) % 101 % 100
    return rest == int(number[9:])


def ukrainian_number(number: str) -> bool:
    """Check a Ukrainian tax number: weights with a minus one, modulo 11."""
    rest = weighted(number[:9], (-1, 5, 7, 9, 4, 6, 10, 5, 7)) % 11 % 10
    return rest == int(number[9])


def turkish_number(number: str) -> bool:
    """Check a Turkish TCKN: the tenth digit by odd and even places, then the sum."""
    digits = [int(sign) for sign in number]
    tenth = (7 * sum(digits[0:9:2]) - sum(digits[1:8:2])) % 10
    return tenth == digits[9] and sum(digits[:10]) % 10 == digits[10]


EASTERN = (
    national("Swedish personal numbers", r"(?:19|20)?\d{6}[-+]?\d{4}", swedish_number,
             "personnummer samordningsnummer pnr", chance=DATED),
    national("Finnish identity codes", r"[0-3]\d[01]\d{3}[-+A-FU-Y]\d{3}[0-9A-Y]",
             finnish_code, "hetu henkilotunnus", chance=DATED, weight=6.0),
    national("Danish CPR numbers", r"[0-3]\d[01]\d{3}-\d{4}", danish_number,
             "cpr personnummer", weight=4.0),
    national("Danish CPR numbers", r"[0-3]\d[01]\d{7}", danish_number, "cpr",
             needs=True, weight=4.0),
    national("Norwegian birth numbers", r"[0-7]\d[0145]\d{3} ?\d{5}",
             norwegian_number, "fodselsnummer fnr personnummer", chance=DATED,
             weight=6.0),
    national("Polish PESEL numbers", r"\d{11}", polish_pesel, "pesel", chance=DATED),
    national("Romanian CNP numbers", r"[1-9]\d{12}", romanian_cnp, "cnp",
             chance=DATED),
    national("Bulgarian EGN numbers", r"\d{10}", bulgarian_egn, "egn", chance=DATED),
    national("Czech or Slovak birth numbers", r"\d{6}/?\d{4}", czech_number,
             "rodne cislo rc", chance=DATED),
    national("Estonian or Lithuanian personal codes", r"[1-6]\d{10}", baltic_code,
             "isikukood asmens kodas", chance=DATED),
    national("personal numbers (JMBG)", r"[0-3]\d[01]\d{10}", yugoslav_number,
             "jmbg emso maticni", chance=DATED),
    national("Croatian personal numbers", r"\d{11}", mod_11_10, "oib"),
    national("Greek AMKA numbers", r"[0-3]\d[01]\d{8}", greek_amka, "amka",
             chance=DATED),
    national("Russian tax numbers of persons", r"\d{12}", russian_inn, "inn",
             chance=0.01),
    national("Russian insurance numbers", r"\d{3}-?\d{3}-?\d{3}[ -]?\d{2}",
             russian_snils, "snils", chance=0.01),
    national("Ukrainian tax numbers", r"\d{10}", ukrainian_number,
             "rnokpp ipn edrpou", needs=True),
    national("Turkish identity numbers", r"[1-9]\d{10}", turkish_number,
             "tc kimlik tckn", chance=0.01, weight=6.0),
)  # fmt: skip
"""Numbers of people in northern and eastern Europe and in Turkey."""
