# SPDX-License-Identifier: Apache-2.0
"""National numbers of people in Europe and Turkey, and their checks.

Each row states the shape that the issuing office publishes; the arithmetic is in the
function that it names. All of them are direct identifiers (GDPR Art. 87). Most numbers
of northern and eastern Europe begin with the day of birth, which is checked beside the
check digit: by chance at most 3 numbers in 100 pass both.
"""

from lexfed.law.tagger.recognise.checksums import (
    DIGITS_AND_LETTERS,
    check_11,
    digit_sum,
    gtin,
    is_date,
    is_day,
    luhn,
    mod_11_10,
    weighted,
)
from lexfed.law.tagger.recognise.recogniser import national


def nhs_number(number: str) -> bool:
    """Check a British NHS number: weights 10 to 2, modulo 11; ten is never given."""
    rest = 11 - weighted(number, range(10, 1, -1)) % 11
    return rest != 10 and rest % 11 == int(number[9])


def german_tax_id(number: str) -> bool:
    """Check a German tax id: one digit of ten is there two or three times."""
    often = [n for d in "0123456789" if (n := number[:10].count(d)) > 1]
    return len(often) == 1 and often[0] <= 3 and mod_11_10(number)


def german_pension_number(number: str) -> bool:
    """Check a German pension number: area, birth day, letter, serial, check digit."""
    letter = DIGITS_AND_LETTERS.index(number[8]) - 9
    digits = f"{number[:8]}{letter:02}{number[9:11]}"
    weights = (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1)
    total = sum(digit_sum(int(d) * w) for d, w in zip(digits, weights, strict=True))
    return total % 10 == int(number[11])


def german_health_number(number: str) -> bool:
    """Check a German health insurance number (KVNR): weights 1 and 2, modulo 10."""
    digits = f"{DIGITS_AND_LETTERS.index(number[0]) - 9:02}{number[1:9]}"
    total = sum(digit_sum(int(d) * w) for d, w in zip(digits, (1, 2) * 5, strict=True))
    return total % 10 == int(number[9])


def austrian_insurance_number(number: str) -> bool:
    """Check an Austrian insurance number: the check digit is the fourth."""
    rest = weighted(number[:3] + number[4:], (3, 7, 9, 5, 8, 4, 2, 1, 6)) % 11
    return rest == int(number[3])


def french_nir(number: str) -> bool:
    """Check a French NIR: 97 less the number modulo 97; Corsica is 2A and 2B."""
    digits = number.replace("2A", "19", 1).replace("2B", "18", 1)
    return digits.isdigit() and 97 - int(digits[:13]) % 97 == int(digits[13:])


def spanish_letter(number: str) -> bool:
    """Check the letter of a Spanish DNI or NIE: the number modulo 23."""
    digits = number[:-1].replace("X", "0").replace("Y", "1").replace("Z", "2")
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(digits) % 23] == number[-1]


_ODD = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10,
        22, 25, 24, 23)  # fmt: skip
"""Values of letters and digits in odd places of a codice fiscale."""


def italian_codice(code: str) -> bool:
    """Check an Italian codice fiscale: its letter, odd and even places apart."""
    places = [int(s) if s.isdigit() else ord(s) - 65 for s in code[:15]]
    total = sum(_ODD[p] if at % 2 == 0 else p for at, p in enumerate(places))
    return chr(65 + total % 26) == code[15]


def dutch_bsn(number: str) -> bool:
    """Check a Dutch BSN by the eleven test; the last weight is minus one."""
    padded = number.zfill(9)
    return int(number) > 0 and weighted(padded, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def belgian_number(number: str) -> bool:
    """Check a Belgian national number: a birth day, a serial, 97 less the rest."""
    if not (is_day(number[:6]) or number[2:6] == "0000"):
        return False
    check = int(number[9:])
    return check in (97 - int(number[:9]) % 97, 97 - int(f"2{number[:9]}") % 97)


def irish_pps(number: str) -> bool:
    """Check an Irish PPS number: weights 8 to 2, a second letter counts nine."""
    second = ord(number[8]) - 64 if len(number) > 8 and number[8] != "W" else 0
    rest = (weighted(number[:7], range(8, 1, -1)) + 9 * second) % 23
    return "WABCDEFGHIJKLMNOPQRSTUV"[rest] == number[7]


def portuguese_card(number: str) -> bool:
    """Check a Portuguese citizen card number: Luhn over letters and digits."""
    total = 0
    for at, sign in enumerate(reversed(number)):
        value = int(sign, 36) * (1 + at % 2)
        total += value - 9 if at % 2 and value > 9 else value
    return total % 10 == 0


WESTERN = (
    national("British NHS numbers", r"\d{3}[ -]?\d{3}[ -]?\d{4}", nhs_number,
             "nhs", category="direct_identifier"),
    national("British National Insurance numbers",
             r"(?!BG|GB|NK|KN|TN|NT|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]"
             r" ?\d{2} ?\d{2} ?\d{2} ?[A-D]", None,
             "nino insurance ni", chance=0.01),
    national("German tax identification numbers",
             r"[1-9]\d ?\d{3} ?\d{3} ?\d{3}", german_tax_id,
             "steuer idnr steuerid tin", chance=0.02),
    national("German pension insurance numbers",
             r"\d{2} ?[0-3]\d[01]\d{3} ?[A-Z] ?\d{3}", german_pension_number,
             "rente rentenversicherung sozialversicherung svnr rvnr"),
    national("German health insurance numbers", r"[A-Z]\d{9}", german_health_number,
             "kvnr versicherten krankenkasse kv"),
    national("Austrian social insurance numbers",
             r"[1-9]\d{3} ?[0-3]\d[0-3]\d{3}", austrian_insurance_number,
             "svnr sv sozialversicherung", chance=0.03),
    national("French social security numbers",
             r"[12378] ?\d{2} ?(?:[02]\d|1[0-2]|[3-9]\d) ?(?:\d\d|2[AB]) ?\d{3} ?\d{3}"
             r" ?\d{2}", french_nir, "nir insee secu securite nss", chance=0.01,
             weight=6.0),
    national("Spanish identity numbers",
             r"(?:\d{8}|[XYZ][ -]?\d{7})[ -]?[A-HJ-NP-TV-Z]", spanish_letter,
             "dni nie nif documento", chance=0.05),
    national("Italian fiscal codes",
             r"[A-Z]{6}[\dL-NP-V]{2}[A-EHLMPR-T][\dL-NP-V]{2}[A-Z][\dL-NP-V]{3}[A-Z]",
             italian_codice, "codice fiscale cf", chance=0.04, weight=6.0),
    national("Portuguese tax numbers", r"(?:[1-3]\d|45) ?\d ?\d{3} ?\d{3}",
             lambda n: check_11(n[:8], range(9, 1, -1)) == int(n[8]),
             "nif contribuinte fiscal"),
    national("Portuguese citizen card numbers", r"\d{8} ?\d ?[A-Z]{2}\d",
             portuguese_card, "cartao cidadao cc"),
    national("Dutch citizen service numbers",
             r"\d{9}|\d{8}|\d{3}\.\d{3}\.\d{3}|\d{4}\.\d{2}\.\d{3}", dutch_bsn,
             "bsn burgerservicenummer sofi"),
    national("Belgian national numbers",
             r"\d{2}[.]?\d{2}[.]?\d{2}[- ]?\d{3}[. ]?\d{2}", belgian_number,
             "rijksregister registre national niss insz", chance=0.01, weight=6.0),
    national("Irish PPS numbers", r"\d{7}[A-W][A-IW]?", irish_pps, "pps ppsn",
             chance=0.05),
    national("Swiss insurance numbers", r"756\.?\d{4}\.?\d{4}\.?\d{2}", gtin,
             "ahv avs navs svn", weight=6.0),
)  # fmt: skip


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


def _day_first(number: str) -> bool:
    """Check that a number begins with a day, a month and a year."""
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
    return born and int(number[:9]) % 11 % 10 == int(number[9])


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


def russian_inn(number: str) -> bool:
    """Check a Russian tax number of a person: two check digits, modulo 11."""
    weights = (3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8)
    first = weighted(number[:10], weights[1:]) % 11 % 10
    second = weighted(number[:11], weights) % 11 % 10
    return number[10:] == f"{first}{second}"


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
    # A day only; check digits ended in 2007.
    national("Danish CPR numbers", r"[0-3]\d[01]\d{3}-\d{4}", _day_first,
             "cpr personnummer", weight=4.0),
    national("Danish CPR numbers", r"[0-3]\d[01]\d{7}", _day_first, "cpr",
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
    national("Greek AMKA numbers", r"[0-3]\d[01]\d{8}",
             lambda n: _day_first(n) and luhn(n), "amka", chance=DATED),
    national("Russian tax numbers of persons", r"\d{12}", russian_inn, "inn",
             chance=0.01),
    national("Russian insurance numbers", r"\d{3}-?\d{3}-?\d{3}[ -]?\d{2}",
             lambda n: weighted(n[:9], range(9, 0, -1)) % 101 % 100 == int(n[9:]),
             "snils", chance=0.01),
    national("Ukrainian tax numbers", r"\d{10}",
             lambda n: int(n[9])
             == weighted(n, (-1, 5, 7, 9, 4, 6, 10, 5, 7)) % 11 % 10,
             "rnokpp ipn edrpou", needs=True),
    national("Turkish identity numbers", r"[1-9]\d{10}", turkish_number,
             "tc kimlik tckn", chance=0.01, weight=6.0),
)  # fmt: skip
