# SPDX-License-Identifier: Apache-2.0
"""National numbers outside Europe: of people, American firms and travel documents."""

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

_CURP = "0123456789ABCDEFGHIJKLMNÑOPQRSTUVWXYZ"
_RFC = "0123456789ABCDEFGHIJKLMN&OPQRSTUVWXYZ Ñ"
_STATES = (
    "AS|BC|BS|CC|CH|CL|CM|CS|DF|DG|GR|GT|HG|JC|MC|MN|MS|NE|NL|NT|OC|PL|QR|QT|SL|SP|"
    "SR|TC|TL|TS|VZ|YN|ZS"
)


def us_ssn(number: str) -> bool:
    """Check a US social security number: parts that were never given out."""
    area, group, serial = number[:3], number[3:5], number[5:]
    return not (
        area in ("000", "666") or area[0] == "9" or group == "00" or serial == "0000"
    )


def us_itin(number: str) -> bool:
    """Check a US taxpayer number: it begins with 9, some groups are not used."""
    group = int(number[3:5])
    return 50 <= group <= 65 or 70 <= group <= 88 or 90 <= group <= 92 or group >= 94


def _two_digits(number: str, first: range, second: range) -> bool:
    """Check the last two digits, each the weighted sum before it, modulo 11."""
    one = weighted(number, first) * 10 % 11 % 10
    two = weighted(number, second) * 10 % 11 % 10
    return number[-2:] == f"{one}{two}"


def brazilian_cpf(number: str) -> bool:
    """Check a Brazilian CPF: two digits; all digits alike is never given."""
    alike = number == number[0] * 11
    return not alike and _two_digits(number, range(10, 1, -1), range(11, 1, -1))


def brazilian_cnpj(number: str) -> bool:
    """Check a Brazilian firm's number; a letter counts by its place in ASCII."""
    values = [ord(sign) - 48 for sign in number]
    weights = (6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2)
    for end in (12, 13):
        total = sum(
            v * w for v, w in zip(values[:end], weights[13 - end :], strict=True)
        )
        rest = total % 11
        if values[end] != (0 if rest < 2 else 11 - rest):
            return False
    return any(values)


def brazilian_voter(number: str) -> bool:
    """Check a Brazilian voter's number; the 9th and 10th digits tell the state."""
    state = number[8:10]
    if not 1 <= int(state) <= 28:
        return False
    first = _voter_digit(weighted(number[:8], range(2, 10)), state)
    second = _voter_digit(weighted(f"{state}{first}", (7, 8, 9)), state)
    return number[10:] == f"{first}{second}"


def _voter_digit(total: int, state: str) -> int:
    rest = total % 11
    if rest == 0 and state in ("01", "02"):
        return 1  # São Paulo and Minas Gerais write 1 for 0.
    return 0 if rest == 10 else rest


def mexican_curp(code: str) -> bool:
    """Check a Mexican CURP: a day of birth and a last digit, weights 18 to 2."""
    total = sum(_CURP.index(s) * (18 - at) for at, s in enumerate(code[:17]))
    return is_day(code[4:10]) and (10 - total % 10) % 10 == int(code[17])


def mexican_rfc(code: str) -> bool:
    """Check a Mexican tax number of a person or, one letter shorter, of a firm."""
    padded = code.rjust(13)
    total = sum(_RFC.index(s) * (13 - at) for at, s in enumerate(padded[:12]))
    return is_day(padded[4:10]) and "0123456789A"[-total % 11] == padded[12]


def argentine_number(number: str) -> bool:
    """Check an Argentine CUIL or CUIT: modulo 11, ten becomes nine."""
    rest = 11 - weighted(number, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11
    return {10: 9, 11: 0}.get(rest, rest) == int(number[10])


def chilean_rut(number: str) -> bool:
    """Check a Chilean RUT: weights 2 to 7 from the right, modulo 11; K is ten."""
    total = weighted(number[-2::-1], (2, 3, 4, 5, 6, 7, 2, 3, 4))
    return "0K987654321"[total % 11] == number[-1]


AMERICAN = (
    national("US social security numbers", r"\d{3}-\d{2}-\d{4}", us_ssn,
             "ssn social security", chance=0.2, weight=5.0),
    national("US social security numbers", r"\d{9}", us_ssn, "ssn social",
             needs=True, weight=4.0),
    national("US taxpayer numbers", r"9\d{2}[ -]\d{2}[ -]\d{4}", us_itin, "itin tax",
             chance=0.2, share=0.95),
    national("numbers of the shape of US social security numbers",
             r"\d{3}-\d{2}-\d{4}", None, "ssn social security", chance=0.2,
             weight=4.0),
    # Luhn after the prefix of health applications.
    national("US provider numbers", r"[12]\d{9}", lambda n: luhn(f"80840{n}"),
             "npi provider prescriber", category="person_key", weight=4.0),
    national("Canadian social insurance numbers", r"[1-79]\d{2}([ -])\d{3}\1\d{3}",
             luhn, "sin insurance assurance"),
    national("Canadian social insurance numbers", r"[1-79]\d{8}", luhn,
             "sin nas insurance assurance", weight=4.0, needs=True),
    national("Brazilian CPF numbers", r"\d{3}\.?\d{3}\.?\d{3}-?\d{2}", brazilian_cpf,
             "cpf", chance=0.015, weight=6.0),
    national("Brazilian health card numbers", r"[12789]\d{2} ?\d{4} ?\d{4} ?\d{4}",
             lambda n: weighted(n, range(15, 0, -1)) % 11 == 0, "cns sus cartao"),
    national("Brazilian voter numbers", r"\d{4} ?\d{4} ?\d{4}", brazilian_voter,
             "titulo eleitor", chance=0.005),
    national("Mexican CURP codes",
             r"[A-Z][AEIOUX][A-Z]{2}\d{6}[HMX](?:" + _STATES + r")[B-DF-HJ-NP-TV-Z]{3}"
             r"[0-9A-Z]\d", mexican_curp, "curp", chance=0.001, weight=6.0),
    national("Mexican tax numbers of persons", r"[A-ZÑ&]{4}-?\d{6}-?[A-Z\d]{2}[A\d]",
             mexican_rfc, "rfc", chance=0.01),
    national("Argentine CUIL numbers", r"2[03-7]-?\d{8}-?\d", argentine_number,
             "cuil cuit"),
    national("Chilean RUT numbers", r"\d{1,2}\.?\d{3}\.?\d{3}-?[\dK]", chilean_rut,
             "rut run"),
    # The first digits tell the province.
    national("Ecuadorian identity numbers", r"[0-3]\d[0-6]\d{7}",
             lambda n: (1 <= int(n[:2]) <= 24 or n[:2] == "30") and luhn(n), "cedula",
             chance=0.02),
    national("Colombian identity numbers", r"\d{1,2}(?:\.?\d{3}){2}|1\.?\d{3}\.?\d{3}"
             r"\.?\d{3}", None, "cedula ciudadania cc documento", needs=True,
             weight=3.0),
)  # fmt: skip

AMERICAN_FIRMS = (
    national("Brazilian numbers of firms",
             r"[\dA-Z]{2}\.?[\dA-Z]{3}\.?[\dA-Z]{3}/?[\dA-Z]{4}-?\d{2}",
             brazilian_cnpj, "cnpj", chance=0.015, category="business"),
    national("Mexican tax numbers of firms", r"[A-ZÑ&]{3}-?\d{6}-?[A-Z\d]{2}[A\d]",
             mexican_rfc, "rfc", chance=0.01, category="business", weight=4.0),
    national("Argentine tax numbers of firms", r"3[034]-?\d{8}-?\d",
             argentine_number, "cuit", category="business"),
)  # fmt: skip
"""Numbers of firms: no personal data (GDPR, recital 14)."""


def chinese_id(number: str) -> bool:
    """Check a Chinese resident number: a day of birth, ISO 7064 mod 11-2."""
    year, month, day = int(number[6:10]), int(number[10:12]), int(number[12:14])
    return 1850 <= year <= 2100 and is_date(year, month, day) and mod_11_2(number)


def korean_number(number: str) -> bool:
    """Check a South Korean number: a day of birth, modulo 11."""
    rest = 11 - weighted(number, (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)) % 11
    return is_day(number[:6]) and rest % 10 == int(number[12])


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


def australian_tfn(number: str) -> bool:
    """Check an Australian tax file number: weighted sum modulo 11."""
    nine, eight = (1, 4, 3, 7, 5, 8, 6, 9, 10), (10, 7, 8, 4, 6, 3, 5, 1)
    return weighted(number, nine if len(number) == 9 else eight) % 11 == 0


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
             lambda n: verhoeff(n) and n != n[::-1], "aadhaar uid aadhar"),
    national("Indian tax numbers of persons", r"[A-Z]{3}P[A-Z]\d{4}[A-Z]", None,
             "pan", chance=0.02, weight=4.5),
    national("Chinese resident numbers", r"[1-9]\d{16}[\dX]", chinese_id,
             "shenfenzheng resident", chance=0.001, weight=6.0),
    national("South Korean resident numbers", r"\d{6}-?[0-9]\d{6}", korean_number,
             "rrn jumin", chance=0.005, share=0.6),
    national("Japanese individual numbers", r"\d{4}[ -]?\d{4}[ -]?\d{4}",
             lambda n: check_11(n, (6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) == int(n[11]),
             "my mynumber kojin"),
    national("Taiwanese identity numbers", r"[A-Z][1289]\d{8}", taiwanese_id,
             "identity national"),
    national("Hong Kong identity numbers", r"[A-Z]{1,2}\d{6}\(?[\dA]\)?",
             hong_kong_id, "hkid"),
    national("Singaporean identity numbers", r"[STFG]\d{7}[A-Z]", singaporean_id,
             "nric fin"),
    national("Thai identity numbers", r"[1-8]-?\d{4}-?\d{5}-?\d{2}-?\d",
             lambda n: (11 - weighted(n, range(13, 1, -1)) % 11) % 10 == int(n[12]),
             "thai citizen"),
    national("Malaysian identity numbers", r"\d{6}-\d{2}-\d{4}",
             lambda n: is_day(n[:6]), "mykad nric ic", weight=4.5),
    national("South African identity numbers", r"\d{10}[012]\d{2}",
             lambda n: is_day(n[:6]) and luhn(n), "said", chance=0.005),
    national("Australian tax file numbers", r"\d{3} ?\d{3} ?\d{2,3}", australian_tfn,
             "tfn", weight=4.5),
    national("Australian Medicare numbers", r"[2-6]\d{3} ?\d{5} ?\d(?:[ /]?\d)?",
             lambda n: weighted(n[:8], (1, 3, 7, 9) * 2) % 10 == int(n[8]), "medicare",
             weight=4.5),
    national("Israeli identity numbers", r"\d{8,9}",
             lambda n: luhn(n.zfill(9)) and int(n) > 0, "teudat zehut tz", needs=True),
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
