# SPDX-License-Identifier: Apache-2.0
"""Codes of diseases, procedures, laboratory tests and medicines; genes; vehicles.

A code that looks like a number is still a code: `E11.9` is a diagnosis, not a float,
and five digits are a procedure only where someone says so. A cell may hold a list of
codes; then each of them has to fit.
"""

import re
from collections.abc import Callable

from lexfed.law.tagger.recognise.checksums import luhn, verhoeff, weighted
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


def loinc(code: str) -> bool:
    """Check a LOINC number: Luhn over the digits before and after the hyphen."""
    return luhn(code)


def snomed(number: str) -> bool:
    """Check a SNOMED CT identifier: its partition exists, and Verhoeff."""
    return number[-3:-1] in ("00", "01", "02", "10", "11", "12") and verhoeff(number)


def pzn(number: str) -> bool:
    """Check a German drug number: weights 1 to 7, modulo 11."""
    digits = number.removeprefix("PZN")
    rest = weighted(digits[:-1], range(9 - len(digits), 8)) % 11
    return rest == int(digits[-1])


_VIN = dict(
    zip("ABCDEFGHJKLMNPRSTUVWXYZ", map(int, "12345678123457923456789"), strict=True)
)


def vin(text: str) -> bool:
    """Check a vehicle number: the ninth sign [49 CFR 565.15]."""
    values = [int(s) if s.isdigit() else _VIN[s] for s in text]
    weights = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
    rest = sum(v * w for v, w in zip(values, weights, strict=True)) % 11
    return "0123456789X"[rest] == text[8]


def _codes(
    name: str,
    pattern: re.Pattern[str],
    category: str,
    weight: float,
    check: Callable[[str], bool] | None = None,
    *,
    share: float = 0.9,
    chance: float = 0.1,
    context: frozenset[str],
    needs: bool = False,
) -> Recogniser:
    return Recogniser(
        name, pattern, category, weight, check, share, chance, context, needs, many=True
    )


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
             loinc, context=cues("loinc lab test")),
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
"""Codes of diseases, procedures, tests and medicines."""

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
"""Sequences, variants and genotypes."""

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
"""Vehicles, by which their keepers are found."""
