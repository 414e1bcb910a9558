# SPDX-License-Identifier: Apache-2.0
"""National numbers of people in western and southern Europe, and their checks.

Each row states the shape that the issuing office publishes; the arithmetic is in the
function that it names. All of them are direct identifiers (GDPR Art. 87).
"""

from lexfed.law.tagger.recognise.checksums import (
    DIGITS_AND_LETTERS,
    check_11,
    digit_sum,
    gtin,
    is_day,
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


def portuguese_nif(number: str) -> bool:
    """Check a Portuguese tax number: weights 9 to 2, modulo 11."""
    return check_11(number[:8], range(9, 1, -1)) == int(number[8])


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
             portuguese_nif, "nif contribuinte fiscal"),
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
"""Numbers of people in western and southern Europe."""
