# SPDX-License-Identifier: Apache-2.0
"""Words in cells: the choices that forms offer, notes, messages, diagnoses in words.

A column of a few different values is compared with the words that forms offer. Half
of the different values must be such words, and two of them at least; words that mean
other things elsewhere (`white`, `single`) count only beside others.

Free text is long and different in every row. Its subject decides (rule R12): clinical
words make it health data, greetings a message; else a person should look.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lexfed.law.tagger.recognise.recogniser import Sample, cues
from lexfed.law.tagger.suggestions import TagEvidence, evidence_for

MOST = 40
"""Different values that a list of choices has at the most."""


@dataclass(frozen=True)
class ChoiceList:
    """The words by which a form sorts people, folded.

    Two of the `sure` ones decide; `other` ones mean other things elsewhere. Where the
    column's name has a word of `context`, one value is enough.
    """

    name: str
    category: str
    sure: frozenset[str]
    other: frozenset[str] = frozenset()
    context: frozenset[str] = frozenset()
    weight: float = 3.5


def _list(text: str) -> frozenset[str]:
    return frozenset(part.strip() for part in text.split(","))


VOCABULARIES = (
    ChoiceList(
        "ethnic origin", "ethnicity",
        _list("caucasian, african american, black or african american, hispanic, non "
              "hispanic, nonhispanic, not hispanic, hispanic or latino, latino, "
              "latina, asian, native american, american indian, pacific islander, "
              "native hawaiian, alaska native, american indian or alaska native, "
              "asian or pacific islander, asian pac islander, native hawaiian or "
              "other pacific islander, amer indian eskimo, not hispanic or latino, "
              "white british, white irish, black african, black caribbean, south "
              "asian, east asian, roma, mestizo, mulatto, mulato, parda, pardo, "
              "preta, amarela, indigena, indigenous, maori, aboriginal, torres strait "
              "islander, han, biracial, multiracial, two or more races, maghrebin, "
              "arab, hausa, yoruba, igbo, zulu, xhosa, coloured"),
        _list("white, black, other, unknown, mixed, branca, branco, blanco, negro, "
              "white other, native, refused, other unknown, declined, other race, "
              "chinese, indian, pakistani, bangladeshi"),
        cues("race ethnicity ethnic ethnie etnia raca raza cor hautfarbe herkunft"),
    ),
    ChoiceList(
        "religion or belief", "religion",
        _list("catholic, roman catholic, protestant, muslim, islam, jewish, judaism, "
              "hindu, hinduism, buddhist, buddhism, sikh, christian, orthodox, "
              "atheist, agnostic, evangelical, lutheran, anglican, methodist, "
              "baptist, mormon, jehovah s witness, church of england, katholisch, "
              "romisch katholisch, evangelisch, muslimisch, judisch, konfessionslos, "
              "catholique, musulman, juif, athee, catolico, catolica, musulmano, "
              "judio, ateo, evangelico, evangelica, espirita, candomble, umbanda, "
              "cattolico, ebreo, rooms katholiek, hervormd, gereformeerd, moslim, rk, "
              "ev"),
        _list("none, other, unknown, no religion, not specified, unobtainable, "
              "protestant quaker, keine, aucune, ninguna, nenhuma, sonstige"),
        cues("religion religiao relig konfession bekenntnis culte credo geloof"),
    ),
    ChoiceList(
        "family status", "demographic",
        _list("married, divorced, widowed, never married, married civ spouse, "
              "separated, civil partnership, cohabiting, domestic partner, life "
              "partner, verheiratet, ledig, geschieden, verwitwet, marie, mariee, "
              "celibataire, divorce, divorcee, veuf, veuve, casado, casada, soltero, "
              "soltera, divorciado, divorciada, viudo, viuda, solteiro, solteira, "
              "viuvo, viuva, uniao estavel, coniugato, coniugata, celibe, nubile, "
              "divorziato, vedovo, gehuwd, ongehuwd, gescheiden, weduwe, weduwnaar"),
        _list("single, other, unknown, m, s, d, w, default, pacs"),
        cues("marital civil familienstand matrimonial estado stato burgerlijke"),
    ),
    ChoiceList(
        "how a person is addressed", "demographic",
        _list("mr, mrs, ms, miss, mr., mrs., ms., dr., prof., herr, frau, mme, mlle, "
              "sra, srta, sra., srta., sig., sig.ra, dhr., mevr., jr, sr, jr., iii, "
              "phd, md, jd, dds, esq"),
        _list("dr, prof, m, m., sr., ii, iv, mba, rev, rev., mx"),
        cues("prefix suffix title salutation anrede titel civilite tratamiento "
             "honorific aanhef titolo"),
    ),
    ChoiceList(
        "blood groups", "health",
        _list("a+, a-, b+, b-, ab+, ab-, o+, o-, 0+, 0-, a pos, a neg, b pos, b neg, "
              "ab pos, ab neg, o pos, o neg"),
        context=cues("blood blut sang sangre sangue bloed"),
    ),
    ChoiceList(
        "sexual orientation", "sex_life",
        _list("heterosexual, homosexual, bisexual, gay, lesbian, asexual, pansexual, "
              "heterosexuell, homosexuell, bisexuell, heterosexuel, heterossexual, "
              "homossexual, bissexual, lesbiana, lesbica, straight or heterosexual, "
              "gay or lesbian, queer, transgender"),
        _list("straight, other, prefer not to say, unknown"),
        cues("orientation sexual orientierung"),
    ),
    ChoiceList(
        "political parties or leanings", "political",
        _list("democrat, republican, democratic party, republican party, libertarian, "
              "green party, labour, conservative, liberal democrat, tory, snp, plaid "
              "cymru, ukip, cdu, csu, cdu/csu, spd, fdp, grune, die grunen, die "
              "linke, afd, bundnis 90/die grunen, psoe, pp, vox, podemos, ciudadanos, "
              "lfi, lrem, rn, les republicains, ps, eelv, pt, psdb, psol, pl, mdb, "
              "far left, far right, extreme gauche, extreme droite, pd, lega, vvd, "
              "pvv, d66, cda, groenlinks, unaffiliated, very liberal, very "
              "conservative"),
        _list("independent, other, none, liberal, moderate, left, right, center, npa, "
              "dem, rep, ind, una, d, r"),
        cues("party partei parti partido partito partij vote voted ideology political"),
        3.0,
    ),
    ChoiceList(
        "whether a person lives", "health",
        _list("deceased, expired, verstorben, decede, decedee, fallecido, obito, "
              "deceduto, overleden, alive"),
        _list("dead, died, unknown, lebend, vivant, vivo, lost to follow up, "
              "discharged"),
        cues("vital death dead status discharge mortality"),
        2.5,
    ),
    ChoiceList(
        "smoking, alcohol or drugs", "health",
        _list("never smoker, former smoker, current smoker, ex smoker, non smoker, "
              "nonsmoker, smoker, raucher, nichtraucher, exraucher, fumeur, non "
              "fumeur, ex fumeur, fumador, no fumador, fumante, nao fumante, ex "
              "fumante, fumatore, non fumatore, roker, light tobacco smoker, heavy "
              "smoker, smokes, formerly smoked, never smoked"),
        _list("never, former, current, yes, no, unknown, not current, ever"),
        cues("smoking smoker tobacco smoke rauchen tabac tabaco fumo roken"),
    ),
)  # fmt: skip


def plain(value: str) -> str:
    """Return a choice without its punctuation."""
    return re.sub(r"[\s_()-]+", " ", value).strip() if len(value) > 3 else value


def evidence_of_vocabularies(sample: Sample) -> Iterator[TagEvidence]:
    """Yield evidence for the lists of choices that the values come from."""
    if not sample.values or len(sample.distinct) > MOST:
        return
    values = frozenset(plain(value) for value in sample.folded)
    for one in VOCABULARIES:
        sure, other = len(values & one.sure), len(values & one.other)
        helped = sample.mentions(one.context)
        if not sure and not (helped and other >= 2):
            continue
        enough = sure >= 2 or helped
        if enough and sure + other >= 0.5 * len(values):
            named = ", as the name or description says" if helped else ""
            yield evidence_for(
                "values", one.category,
                one.weight + 0.5 * helped,
                f"the values are words for {one.name}{named}",
            )  # fmt: skip


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
        text = "many cells are medicines with their doses"
        yield evidence_for("values", "health", 3.5, text)
    elif clinical >= CLINICAL_SHARE:
        text = "many cells hold clinical words (rule R12)"
        yield evidence_for("values", "health", 3.5, text)
    elif long and greetings >= CLINICAL_SHARE:
        text = "the cells read like messages (rule R12)"
        yield evidence_for("values", "communication_content", 2.0, text)
    elif long and len(sample.distinct) >= 0.7 * len(sample.values):
        yield evidence_for(
            "values", "other_personal", 1.0,
            "the cells are free text, which may say anything of a person (rule R12)",
        )  # fmt: skip


def _is_words(value: str) -> bool:
    letters = sum(map(str.isalpha, value))
    return letters >= 4 and letters >= 0.5 * len(value)
