# SPDX-License-Identifier: Apache-2.0
"""Codes of diseases, procedures and medicines; genes, vehicles, accounts, goods.

A code that looks like a number is still a code: `E11.9` is a diagnosis, and five digits
are a procedure only where the name says so. A cell may hold a list of medical codes;
then each of them has to fit.
"""

import re
from functools import partial

from lexfed.law.tagger.recognise.checksums import gtin, luhn, mod_97, verhoeff, weighted
from lexfed.law.tagger.recognise.recogniser import Recogniser, cues, regex

_DIAGNOSIS = cues(
    "icd icd10 icd9 dx diag diagnosis diagnose diagnostico diagnostic diagnosi cid cie "
    "cim disease cause hauptdiagnose"
)
_PROCEDURE = cues(
    "ops proc procedure prozedur acte actes ccam cpt hcpcs procedimiento procedimento "
    "procedura verrichting pcs"
)
_DRUG = cues(
    "ndc drug medication atc wirkstoff medicament medicamento farmaco geneesmiddel pzn "
    "arzneimittel"
)


def snomed(number: str) -> bool:
    """Check a SNOMED CT identifier: its partition exists, and Verhoeff."""
    return number[-3:-1] in ("00", "01", "02", "10", "11", "12") and verhoeff(number)


def pzn(number: str) -> bool:
    """Check a German drug number: weights 1 to 7, modulo 11."""
    digits = number.removeprefix("PZN")
    return weighted(digits[:-1], range(9 - len(digits), 8)) % 11 == int(digits[-1])


_VIN = dict(
    zip("ABCDEFGHJKLMNPRSTUVWXYZ", map(int, "12345678123457923456789"), strict=True)
)


def vin(text: str) -> bool:
    """Check a vehicle number: the ninth sign [49 CFR 565.15]."""
    values = [int(s) if s.isdigit() else _VIN[s] for s in text]
    weights = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
    rest = sum(v * w for v, w in zip(values, weights, strict=True)) % 11
    return "0123456789X"[rest] == text[8]


_codes = partial(Recogniser, many=True)


CODES = (
    _codes("diagnosis codes (ICD-10)",
             regex(r"[A-TV-Z]\d[0-9A-Z]\.[0-9A-Z]{1,4}[+*!]?"), "health", 3.5,
             share=0.4, chance=0.02, context=_DIAGNOSIS),
    _codes("diagnosis codes (ICD-10 or ICD-9)",
             regex(r"[A-TV-Z]\d[0-9A-Z](?:\.?[0-9A-Z]{1,4})?[+*!]?|"
                   r"\d{3}\.\d{1,2}|E\d{3}\.\d", re.IGNORECASE),
             "health", 3.0, context=_DIAGNOSIS, needs=True, share=0.3),
    _codes("German procedure codes (OPS)",
             regex(r"[1-9]-\d{2}[0-9a-z](?:\.[0-9a-z]{1,2})?"), "health", 3.5,
             chance=0.05, context=_PROCEDURE),
    _codes("French procedure codes (CCAM)", regex(r"[A-Z]{4}\d{3}(?:-?\d{1,2})?"),
             "health", 2.0, chance=0.1, context=_PROCEDURE),
    _codes("procedure codes (CPT, HCPCS, ICD-PCS)",
             regex(r"\d{5}|\d{4}[FTU]|[A-V]\d{4}|[0-9A-HJ-NP-Z]{7}"), "health", 3.0,
             context=_PROCEDURE, needs=True),
    _codes("tumour morphology codes (ICD-O)", regex(r"[89]\d{3}/[0-36]"), "health",
             4.0, chance=0.02, context=cues("morphology histology icdo")),
    _codes("laboratory test codes (LOINC)", regex(r"\d{3,5}-\d"), "health", 4.0,
             luhn, context=cues("loinc lab test")),
    _codes("drug codes (NDC)",
             regex(r"\d{4}-\d{4}-\d{2}|\d{5}-\d{3}-\d{2}|\d{5}-\d{4}-\d{1,2}"),
             "health", 3.5, chance=0.02, context=_DRUG),
    _codes("drug codes (NDC)", regex(r"\d{10,11}"), "health", 3.0,
             context=cues("ndc"), needs=True),
    _codes("drug codes (ATC)", regex(r"[ABCDGHJLMNPRSV]\d{2}[A-Z]{2}\d{2}"),
             "health", 4.0, chance=0.02, context=_DRUG),
    _codes("drug groups (ATC)", regex(r"[ABCDGHJLMNPRSV]\d{2}(?:[A-Z](?:[A-Z]"
             r"(?:\d{2})?)?)?"), "health", 3.0, context=cues("atc"), needs=True),
    _codes("German drug numbers (PZN)", regex(r"(?:PZN[ -]*)?\d{7,8}"), "health",
             3.0, pzn, context=cues("pzn")),
    _codes("clinical terms (SNOMED CT)", regex(r"\d{6,18}"), "health", 4.0, snomed,
             share=0.8, chance=0.01, context=cues("snomed sctid")),
)  # fmt: skip

GENES = (
    Recogniser("DNA sequences", regex(r"[ACGTNacgtn]{10,}"), "genetic", 5.0,
               chance=0.001, context=cues("sequence dna seq")),
    Recogniser("genetic variants (rs numbers)",
               regex(r"rs\d{3,}(?:[_ -]?[ACGT])?", re.IGNORECASE), "genetic", 5.0,
               chance=0.01, context=cues("snp rs rsid variant")),
    Recogniser("genetic variants by their change",
               regex(r"(?:NM_\d+(?:\.\d+)?(?:\(\w+\))?:)?(?:c|g|p|m|n)\.[\w*_>+=?()-]{3,}"
                     r"|(?:chr)?(?:\d{1,2}|[XYM])[:_-]\d{4,}[:_-][ACGT]+[:_>/-][ACGT]+"),
               "genetic", 5.0, chance=0.01, context=cues("variant hgvs mutation")),
    Recogniser("tissue types (HLA)",
               regex(r"(?:HLA-)?(?:A|B|C|DRB1|DQB1|DPB1)\*\d{2,3}(?::\d{2,3}){0,3}"),
               "genetic", 5.0, chance=0.01, context=cues("hla")),
    Recogniser("genotypes", regex(r"[01.][/|][012.](?::.*)?"), "genetic", 4.0,
               chance=0.1, share=0.95, context=cues("genotype gt snp")),
    Recogniser("genotypes", regex(r"[ACGT-][/|][ACGT-]"), "genetic", 4.0, chance=0.02,
               share=0.95, context=cues("genotype gt snp allele")),
    Recogniser("genotypes", regex(r"[ACGT]{2}|[ID]{2}|--|00"), "genetic", 3.0,
               chance=0.03, share=0.95, context=cues("genotype gt snp allele rs")),
    Recogniser("counts of an allele", regex(r"[012]"), "genetic", 2.0,
               context=cues("snp genotype allele dosage rs rsid"), needs=True),
)  # fmt: skip

VEHICLES = (
    Recogniser("vehicle numbers (VIN)", regex(r"[A-HJ-NPR-Z\d]{17}"),
               "direct_identifier", 4.0, vin, share=0.6, chance=0.09,
               context=cues("vin chassis fahrgestell fin bastidor chassi telaio")),
    Recogniser("licence plates",
               regex(r"[A-ZÄÖÜ]{1,3}[- ][A-Z]{1,2} ?\d{1,4}[EH]?|"
                     r"[A-Z]{2}-\d{3}-[A-Z]{2}|\d{4} ?[B-DF-HJ-NP-TV-Z]{3}|"
                     r"[A-Z]{2}\d{2} ?[A-Z]{3}|"
                     r"[A-Z]{3}-?\d[A-Z0-9]\d{2}|[A-Z]{2} ?\d{3} ?[A-Z]{2}"),
               "direct_identifier", 3.0, share=0.7, needs=True,
               context=cues("plate licence license kennzeichen immatriculation "
                            "matricula placa targa kenteken registration vrm")),
)  # fmt: skip


_LENGTHS = cues(
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 "
    "DK18 DO28 EE20 EG29 ES24 FI18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 "
    "IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 MC27 MD24 "
    "ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 "
    "SE24 SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20"
)
IBAN_LENGTHS = {entry[:2]: int(entry[2:]) for entry in _LENGTHS}
"""Length of an account number in each country [SWIFT IBAN registry]."""

COUNTRIES = cues(
    "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM "
    "BN BO BQ BR BS BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX "
    "CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG "
    "GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR "
    "IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV "
    "LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE "
    "NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO "
    "RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF "
    "TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF "
    "WS XK YE YT ZA ZM ZW"
)
"""Countries by their two letters [ISO 3166-1], and XK."""

# Issuers of payment cards and the lengths of their numbers [ISO/IEC 7812].
_CARDS = re.compile(
    r"4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}"
    r"|3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}|6(?:011|5\d\d|4[4-9]\d)\d{12}|35\d{14}"
    r"|62\d{14,17}|(?:50|5[6-9]|6[37])\d{10,17}"
)


def iban(text: str) -> bool:
    """Check an IBAN: its country's length, and mod 97 with the head moved back."""
    return IBAN_LENGTHS.get(text[:2]) == len(text) and mod_97(text[4:] + text[:4])


def card(number: str) -> bool:
    """Check a card number: an issuer's prefix and length, and Luhn."""
    return _CARDS.fullmatch(number) is not None and luhn(number)


def clabe(number: str) -> bool:
    """Check a Mexican account number: weights 3 7 1, each product modulo 10."""
    total = sum(int(d) * (3, 7, 1)[at % 3] % 10 for at, d in enumerate(number[:17]))
    return -total % 10 == int(number[17])


def isin(text: str) -> bool:
    """Check a paper's ISIN: its country exists, and Luhn over letters as numbers."""
    known = text[:2] in COUNTRIES or text[:2] == "XS"
    return known and luhn("".join(str(int(sign, 36)) for sign in text))


def isbn(text: str) -> bool:
    """Check a book's number of ten or 13 digits."""
    if len(text) == 13:
        return gtin(text)
    tens = 10 if text[9] == "X" else int(text[9])
    return (weighted(text[:9], range(10, 1, -1)) + tens) % 11 == 0


ACCOUNTS = (
    Recogniser("bank account numbers (IBAN)",
               regex(r"[A-Za-z]{2}\d{2}(?: ?[A-Za-z0-9]){11,30}"), "account_credential",
               6.0, iban, chance=0.01, context=cues("iban account konto compte conto"),
               scheme="with valid check digits and length"),
    Recogniser("payment card numbers", regex(r"\d(?:[ -]?\d){11,18}"),
               "account_credential", 5.5, card, chance=0.05,
               context=cues("card pan karte carte tarjeta cartao carta kaart cc"),
               scheme="with an issuer's prefix and a valid check digit"),
    Recogniser("payment card numbers, partly hidden",
               regex(r"(?:\d{4,6}[ -]?)?(?:[*xX•]{2,6}[ -]?){1,4}\d{4}"),
               "account_credential", 4.0, chance=0.01, context=cues("card pan")),
    Recogniser("bank codes (BIC)",
               regex(r"[A-Za-z]{6}[A-Za-z0-9]{2}(?:[A-Za-z0-9]{3})?"),
               "account_credential", 3.0, lambda text: text[4:6] in COUNTRIES,
               context=cues("bic swift"), needs=True),
    Recogniser("Mexican bank account numbers", regex(r"\d{18}"), "account_credential",
               5.0, clabe, context=cues("clabe cuenta")),
    Recogniser("amounts of money with a currency",
               re.compile(r"[-+(]?\s?(?:[$€£¥₹₩₽]|(?:US|CA|A)\$|R\$|EUR|USD|GBP|CHF|BRL|MXN)"
                          r"\s?-?\d[\d.,' ]*[kKmM]?\)?|-?\d[\d.,' ]*\s?"
                          r"(?:[$€£¥₹₩₽]|EUR|USD|GBP|CHF|BRL|MXN|zł|kr|Kč)|"
                          r"[<>]?\s?[$€£]\d+[kK]?(?:\s?[-–]\s?[$€£]?\d+[kK]?)?"),
               "financial", 1.0, share=0.8, chance=0.01),
)  # fmt: skip

GOODS = (
    Recogniser("identifiers of firms (LEI)", regex(r"[A-Z0-9]{18}\d{2}"), "business",
               5.0, mod_97, chance=0.01, context=cues("lei")),
    Recogniser("numbers of securities (ISIN)", regex(r"[A-Z]{2}[A-Z0-9]{9}\d"),
               "business", 4.5, isin, chance=0.05, context=cues("isin")),
    Recogniser("numbers of goods (GTIN)", regex(r"\d{13}|\d{12}|\d{14}"), "business",
               3.0, gtin, context=cues("ean gtin upc barcode")),
    Recogniser("numbers of books (ISBN)",
               regex(r"97[89](?:-?\d){10}|\d(?:-?\d){8}-?[\dX]"), "business", 4.0, isbn,
               chance=0.05, context=cues("isbn")),
)  # fmt: skip
