# SPDX-License-Identifier: Apache-2.0
"""National numbers of people in Asia, Africa and Oceania, and travel documents."""

from lexfed.law.tagger.recognise.checksums import (
    check_11,
    is_date,
    is_day,
    luhn,
    mod_11_2,
    verhoeff,
    weighted,
)
from lexfed.law.tagger.recognise.recogniser import national


def indian_aadhaar(number: str) -> bool:
    """Check an Indian Aadhaar number: Verhoeff, and no palindrome."""
    return verhoeff(number) and number != number[::-1]


def chinese_id(number: str) -> bool:
    """Check a Chinese resident number: a day of birth, ISO 7064 mod 11-2."""
    year, month, day = int(number[6:10]), int(number[10:12]), int(number[12:14])
    return 1850 <= year <= 2100 and is_date(year, month, day) and mod_11_2(number)


def korean_number(number: str) -> bool:
    """Check a South Korean number: a day of birth, modulo 11."""
    rest = 11 - weighted(number, (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)) % 11
    return is_day(number[:6]) and rest % 10 == int(number[12])


def japanese_number(number: str) -> bool:
    """Check a Japanese individual number: weights 2 to 7 from the right, modulo 11."""
    weights = (6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)
    return check_11(number[:11], weights) == int(number[11])


def taiwanese_id(number: str) -> bool:
    """Check a Taiwanese identity number: a letter that counts as two digits."""
    place = 10 + "ABCDEFGHJKLMNPQRSTUVXYWZIO".index(number[0])
    total = place // 10 + 9 * (place % 10)
    return (total + weighted(number[1:], (8, 7, 6, 5, 4, 3, 2, 1, 1))) % 10 == 0


def hong_kong_id(number: str) -> bool:
    """Check a Hong Kong identity number: modulo 11; A is ten."""
    plain = number.replace("(", "").replace(")", "").rjust(9)
    values = [36 if s == " " else int(s, 36) for s in plain[:8]]
    total = sum(v * w for v, w in zip(values, range(9, 1, -1), strict=True))
    return (total + int(plain[8], 36)) % 11 == 0


def singaporean_id(number: str) -> bool:
    """Check a Singaporean number: weights 2 7 6 5 4 3 2, a letter by the rest."""
    total = weighted(number[1:8], (2, 7, 6, 5, 4, 3, 2)) + 4 * (number[0] in "TG")
    letters = "JZIHGFEDCBA" if number[0] in "ST" else "XWUTRQPNMLK"
    return letters[total % 11] == number[8]


def thai_number(number: str) -> bool:
    """Check a Thai identity number: weights 13 to 2, modulo 11."""
    rest = 11 - weighted(number[:12], range(13, 1, -1)) % 11
    return rest % 10 == int(number[12])


def malaysian_number(number: str) -> bool:
    """Check a Malaysian number: a day of birth only."""
    return is_day(number[:6])


def south_african_id(number: str) -> bool:
    """Check a South African number: a day of birth and Luhn."""
    return is_day(number[:6]) and luhn(number)


def australian_tfn(number: str) -> bool:
    """Check an Australian tax file number: weighted sum modulo 11."""
    nine, eight = (1, 4, 3, 7, 5, 8, 6, 9, 10), (10, 7, 8, 4, 6, 3, 5, 1)
    return weighted(number, nine if len(number) == 9 else eight) % 11 == 0


def australian_medicare(number: str) -> bool:
    """Check an Australian Medicare number: the ninth digit, weights 1 3 7 9."""
    return weighted(number[:8], (1, 3, 7, 9, 1, 3, 7, 9)) % 10 == int(number[8])


def israeli_id(number: str) -> bool:
    """Check an Israeli identity number: Luhn over nine digits."""
    return luhn(number.zfill(9)) and int(number) > 0


def _mrz_digit(text: str) -> str:
    values = [0 if s == "<" else int(s, 36) for s in text]
    return str(sum(v * (7, 3, 1)[at % 3] for at, v in enumerate(values)) % 10)


def mrz_line(line: str) -> bool:
    """Check a line of a travel document [ICAO 9303]: number, birth, expiry."""
    if line[0] in "PVACI" and line[1:2].isalpha() | (line[1:2] == "<"):
        return "<" in line
    fields = ((0, 9), (13, 19), (21, 27))
    return all(_mrz_digit(line[a:b]) == line[b] for a, b in fields)


OTHERS = (
    national("Indian Aadhaar numbers", r"[2-9]\d{3}[ -]?\d{4}[ -]?\d{4}",
             indian_aadhaar, "aadhaar uid aadhar"),
    national("Indian tax numbers of persons", r"[A-Z]{3}P[A-Z]\d{4}[A-Z]", None,
             "pan", chance=0.02, weight=4.5),
    national("Chinese resident numbers", r"[1-9]\d{16}[\dX]", chinese_id,
             "shenfenzheng resident", chance=0.001, weight=6.0),
    national("South Korean resident numbers", r"\d{6}-?[0-9]\d{6}", korean_number,
             "rrn jumin", chance=0.005, share=0.6),
    national("Japanese individual numbers", r"\d{4}[ -]?\d{4}[ -]?\d{4}",
             japanese_number, "my mynumber kojin"),
    national("Taiwanese identity numbers", r"[A-Z][1289]\d{8}", taiwanese_id,
             "identity national"),
    national("Hong Kong identity numbers", r"[A-Z]{1,2}\d{6}\(?[\dA]\)?",
             hong_kong_id, "hkid"),
    national("Singaporean identity numbers", r"[STFG]\d{7}[A-Z]", singaporean_id,
             "nric fin"),
    national("Thai identity numbers", r"[1-8]-?\d{4}-?\d{5}-?\d{2}-?\d", thai_number,
             "thai citizen"),
    national("Malaysian identity numbers", r"\d{6}-\d{2}-\d{4}", malaysian_number,
             "mykad nric ic", weight=4.5),
    national("South African identity numbers", r"\d{10}[012]\d{2}", south_african_id,
             "said", chance=0.005),
    national("Australian tax file numbers", r"\d{3} ?\d{3} ?\d{2,3}", australian_tfn,
             "tfn", weight=4.5),
    national("Australian Medicare numbers", r"[2-6]\d{3} ?\d{5} ?\d(?:[ /]?\d)?",
             australian_medicare, "medicare", weight=4.5),
    national("Israeli identity numbers", r"\d{8,9}", israeli_id, "teudat zehut tz",
             needs=True),
    national("lines of passports and identity cards",
             r"[PVACI][A-Z<](?:[A-Z<]{34}|[A-Z<]{42})|[ACI][A-Z<][A-Z0-9<]{28}|"
             r"[A-Z0-9<]{9}\d[A-Z<]{3}\d{7}[MFX<]\d{7}(?:[A-Z0-9<]{8}|[A-Z0-9<]{16})",
             mrz_line, "mrz passport", chance=0.001, weight=6.0),
    national("numbers of passports, licences or cards",
             r"(?=.{5,14}$)[A-Z]{0,3}[ -]?\d{4,12}[A-Z]{0,2}", None,
             "passport pasaporte passaporte passeport passaporto reisepass paspoort "
             "licence license drivers driver fuhrerschein conducir conduire patente "
             "cnh rijbewijs ausweis", needs=True, weight=3.5),
)  # fmt: skip
"""Numbers of people in Asia, Africa and Oceania, and travel documents."""
