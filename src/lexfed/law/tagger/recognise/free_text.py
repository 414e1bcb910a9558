# SPDX-License-Identifier: Apache-2.0
"""Words in cells: notes, messages, diagnoses in words, medicines with their doses.

Free text is long and different in every row. What it is about decides (rule R12):
clinical words make it health data, greetings a message; else it may be anything that
someone wrote about a person, and a person should look.
"""

import re
from collections.abc import Iterator

from lexfed.law.tagger.recognise.recogniser import Sample
from lexfed.law.tagger.suggestions import TagEvidence

LONG = 8
"""Words of a cell, on average, from which on it is free text."""
CLINICAL_SHARE = 0.3
"""Share of the different values with a clinical word."""

# Beginnings of words in seven languages, folded; long enough to mean nothing else.
_CLINICAL = re.compile(
    r"\b(?:patient|pacient|paziente|diagnos|sympto|sintom|syndrom|disease|disorder|"
    r"krankheit|erkrankung|maladie|enfermedad|doenca|malattia|ziekte|aandoening|"
    r"infect|infekt|infez|cancer|carcino|karzino|tumou?r|tumeur|neoplas|lymphom|leuk[ae]m|"
    r"metasta|diabet|hypert|hypot|hypox|hyperl|anaemi|anemi|asthma|asma\b|copd\b|pneumon|"
    r"bronch|sinusit|pharyng|arthrit|arthros|fractur|fraktur|sprain|"
    r"headache|migra|seizure|epilep|stroke|cardiac|cardio|coronar|myocard|infarct|"
    r"arrhythm|rhythm disturb|tachy|bradyc|angina|thrombo|embol|h(?:a)?emorrh|bleed|"
    r"sepsis|septic|shock|renal|kidney|niere|hepat|liver\b|leber|cirrhos|zirrhos|gastr|"
    r"pancrea|colitis|ulcer|nausea|vomit|fever|fieber|fievre|fiebre|febre|febbre|koorts|"
    r"cough|husten|toux|dyspn|pain\b|schmerz|douleur|dolor\b|dor\b|pijn|allerg|"
    r"surg(?:ery|ical)|chirurg|cirugia|cirurgia|operation\b|biops|transplan|implant|"
    r"dialys|intub|ventilat|catheter|therap|treatment|behandl|traitement|tratamiento|"
    r"tratamento|terapia|vaccin|impf|vacuna|dose\b|dosage|tablet|tabs?\b|capsule|inject|"
    r"infusion|antibio|insulin|heparin|warfarin|aspirin|morphin|opioid|pregnan|schwanger|"
    r"grossesse|embarazo|gravidez|depress|anxiety|angst|psych|schizo|dement|alzheim|"
    r"obes|overdose|intoxic|trauma|injur|wound|wunde|burns?\b|coma\b|icu\b|hospital|"
    r"krankenhaus|hopital|clinic|klinik|nurse|physician|\barzt|medecin|medico\b|"
    r"blood|blut\b|sang\b|sangre|urine|serum|mri\b|ct scan|x ray|ultraso|ecg\b|ekg\b|"
    r"bypass graft|lung\b|respirat|neuro|cerebr|covid|hiv\b|aids\b|"
    r"finding\)|disorder\))"
)
_DOSE = re.compile(
    r"\b\d+(?:[.,]\d+)? ?(?:mg|mcg|ug|µg|ml|iu|ie|ui|meq|mmol|units?|unt|puff|gtt)\b"
    r"|\b(?:po|iv|im|sc|bid|tid|qid|prn|tabs?|soln|inj|caps?)\b.*\d"
)
_GREETING = re.compile(
    r"^\s*(?:hi|hello|hey|dear|hallo|liebe[rs]?|sehr geehrte|guten (?:tag|morgen)|"
    r"bonjour|salut|cher|chere|hola|querid[oa]|estimad[oa]|buenos dias|ola|oi|"
    r"prezad[oa]|ciao|caro|cara|gentile|beste|geachte)\b|"
    r"\b(?:regards|mit freundlichen grussen|"
    r"cordialement|saludos|abracos|cordiali saluti|met vriendelijke groet|thanks|lol|"
    r"see you|how are you|wie geht|ca va|que tal|tudo bem|come stai)\b"
)


def evidence_of_texts(sample: Sample) -> Iterator[TagEvidence]:
    """Yield the evidence of words in the cells."""
    texts = [value for value in sample.folded if _is_words(value)]
    if len(texts) < max(3, 0.5 * len(sample.folded)):
        return
    clinical = sum(bool(_CLINICAL.search(text)) for text in texts) / len(texts)
    doses = sum(bool(_DOSE.search(text)) for text in texts) / len(texts)
    greetings = sum(bool(_GREETING.search(text)) for text in texts) / len(texts)
    long = sum(len(text.split()) for text in texts) / len(texts) >= LONG
    if doses >= CLINICAL_SHARE:
        yield _special("health", 3.5, "many cells are medicines with their doses")
    elif clinical >= CLINICAL_SHARE:
        yield _special("health", 3.5, "many cells hold clinical words (rule R12)")
    elif long and greetings >= CLINICAL_SHARE:
        yield _special(
            "communication_content", 2.0, "the cells read like messages (rule R12)"
        )
    elif long and len(sample.distinct) >= 0.7 * len(sample.values):
        yield TagEvidence(
            "values", "personal", "other_personal", 1.0,
            "the cells are free text, which may say anything of a person (rule R12)",
        )  # fmt: skip


def _is_words(value: str) -> bool:
    letters = sum(map(str.isalpha, value))
    return letters >= 4 and letters >= 0.5 * len(value)


def _special(category: str, weight: float, text: str) -> TagEvidence:
    return TagEvidence("values", "special", category, weight, text)
