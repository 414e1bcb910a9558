# SPDX-License-Identifier: Apache-2.0
"""What people get to read for each mistake, word for word.

Every case changes one line of `good.toml`. The messages are in
`expected/mistakes.txt`; `LEXFED_UPDATE=1` writes that file anew, to be read before it
is committed.
"""

import os
import re
from pathlib import Path

import pytest

from lexfed.config import examine

HERE = Path(__file__).parent
GOOD = (HERE / "good.toml").read_text()
EXPECTED = HERE / "expected" / "mistakes.txt"


def audit(lines: str) -> tuple[str, str]:
    return "[federation]", f"[audit]\n{lines}\n[federation]"


def document(name: str, more: str = "") -> str:
    return f'documents.{name} = {{ file = "d.pdf", issued = "2026-01-31"{more} }}'


# Name of the case: what to look for in the good file, what to put there.
MISTAKES = {
    "unknown table": ("[federation]", "[federaton]"),
    "unknown table like nothing": ("[federation]", "[zoo]\nlion = 1\n[federation]"),
    "unknown key": ("epsilon = 2.0", "epsilon = 2.0\ndelat = 1e-6"),
    "unknown key like nothing": ("seed = 7", "qqq = 7"),
    "key of another table": ("seed = 7", "rounds = 7"),
    "key outside every table": ("version = 1", "version = 1\nepsilon = 2.0"),
    "unknown key in an inline table": ("hospital", 'hospital", colum = "x'),
    "known under another name": ("learning_rate = 0.5", "lr = 0.5"),
    "table of a later version": ("[federation]", "[sketch]\nwidth = 3\n[federation]"),
    "key of a later version": (
        "[evaluation]",
        "[evaluation]\nattacks = []",
    ),
    "engine of a later version": ('"simulation"', '"flower"'),
    "version": ("version = 1", "version = 2"),
    "no version": ("version = 1\n", ""),
    "no name": ('name = "readmission"\n', ""),
    "no epsilon": ("epsilon = 2.0\n", ""),
    "name with a space": ('"readmission"', '"my run"'),
    "number in quotes": ("epsilon = 2.0", 'epsilon = "2.0"'),
    "text without quotes": ('unit = "record"', "unit = record"),
    "python truth": ("strict = true", "strict = True"),
    "quoted truth": ("strict = true", 'strict = "yes"'),
    "truth as a number": ("strict = true", "strict = 1"),
    "text where an array goes": ('["gdpr", "hipaa"]', '"gdpr"'),
    "array where text goes": ('"patients.csv"', '["patients.csv"]'),
    "text where a table goes": (
        '{ column = "hospital", names = ["east", "west"] }',
        '"hospital"',
    ),
    "table where a number goes": ("rounds = 30", "rounds = { special = 3 }"),
    "date where a number goes": ("rounds = 30", "rounds = 2026-01-01"),
    "whole number with a point": ("rounds = 30", "rounds = 30.0"),
    "whole number with a fraction": ("rounds = 30", "rounds = 1.5"),
    "number too large": ("seed = 7", "seed = 99999999999999999999"),
    "not a number": ("epsilon = 2.0", "epsilon = nan"),
    "epsilon infinite": ("epsilon = 2.0", "epsilon = inf"),
    "epsilon zero": ("epsilon = 2.0", "epsilon = 0"),
    "epsilon negative": ("epsilon = 2.0", "epsilon = -1.0"),
    "delta one": ("delta = 1e-6", "delta = 1.0"),
    "delta not below one over the number of people": ("delta = 1e-6", "delta = 0.01"),
    "cap zero": ("special = 0.3", "special = 0"),
    "sampling rate above one": ("sampling_rate = 1.0", "sampling_rate = 1.5"),
    "wrong choice": ('"add-remove"', '"add_remove"'),
    "choice known under another name": ('"record"', '"patient"'),
    "choice like nothing": ('"record"', '"banana"'),
    "choice in an array": ('["gdpr", "hipaa"]', '["gdpr", "lgpd"]'),
    "key twice": ("delta = 1e-6", "delta = 1e-6\nepsilon = 3.0"),
    "table twice": ("[federation]", "[budget]\n[federation]"),
    "array never closed": ("[0, 110]", "[0, 110"),
    "quote never closed": ('"patients.csv"', '"patients.csv'),
    "curly quotes": ('"patients.csv"', "\u201cpatients.csv\u201d"),
    "two keys on a line": ("epsilon = 2.0\n", "epsilon = 2.0 "),
    "no equals sign": ("epsilon = 2.0", "epsilon: 2.0"),
    "unknown built-in source": ('"patients.csv"', '"synthetic:hospitl"'),
    "unknown ending": ('"patients.csv"', '"patients.ods"'),
    "source of a later version": ('"patients.csv"', '"openml:31"'),
    "no source": ('source = "patients.csv"\n', ""),
    "no target": ('target = "readmitted"\n', ""),
    "target not declared": ('target = "readmitted"', 'target = "readmited"'),
    "target is the person": ('person = "patient_id"', 'person = "readmitted"'),
    "target among the features": (
        "smoker = { kind = ",
        'smoker = { sources = ["readmitted"], kind = ',
    ),
    "feature from an identifier": (
        "smoker = { kind = ",
        'smoker = { sources = ["patient_id"], kind = ',
    ),
    "target an identifier": (
        'readmitted = { tier = "special"',
        'readmitted = { tier = "identifier"',
    ),
    "sites in two ways": ('"hospital", ', '"hospital", files = ["a.csv"], '),
    "sites without names": (', names = ["east", "west"] }', " }"),
    "a site twice": ('["east", "west"]', '["east", "west", "east"]'),
    "names of simulated sites": (
        '{ column = "hospital", names',
        "{ count = 2, names",
    ),
    "sites in no way": ('{ column = "hospital", names = ["east", "west"] }', "{}"),
    "sites missing": (
        'sites = { column = "hospital", names = ["east", "west"] }\n',
        "",
    ),
    "dirichlet without alpha": (
        '{ column = "hospital", names = ["east", "west"] }',
        '{ count = 8, partition = "dirichlet" }',
    ),
    "files and source": (
        '{ column = "hospital", names = ["east", "west"] }',
        '{ files = ["a.csv", "a.csv"] }',
    ),
    "no person": ('person = "patient_id"\n', ""),
    "no units": ("units = 6000\n", ""),
    "number without a range": ("range = [0, 110]", "missing = true"),
    "range reversed": ("[0, 110]", "[110, 0]"),
    "range of one": ("[0, 110]", "[110]"),
    "range of text": ("[0, 110]", '[0, "110"]'),
    "category without values": (', values = ["north", "south"]', ""),
    "kind known under another name": ('kind = "number"', 'kind = "numeric"'),
    "no kind": ('{ kind = "number", range', "{ range"),
    "column without a tier": (
        'age = { tier = "personal", reason = "demographic" }',
        "",
    ),
    "tier without a reason": (', reason = "operational code"', ""),
    "tier misspelt": ('"non_personal"', '"nonpersonal"'),
    "tier of no column": ('ward = { tier = "non', 'wrad = { tier = "non'),
    "undecided": ("range = [0, 110]", 'range = "?"'),
    "local steps without clients": ("rounds = 30", "rounds = 30\nlocal_steps = 5"),
    "gdp with sampling": (
        'accountant = "pld"\nclip = { default = 1.0, special = 0.5 }',
        'accountant = "gdp"\n[federation]\nsampling_rate = 0.1\n#',
    ),
    "alpha without inverse": ('"constant"', '"constant"\nalpha = 3'),
    "clip per tier without tiers": ('"cascade"', '"uniform"'),
    "linear model for a flag": ('"logistic"', '"linear"'),
    "model misspelt": ('"logistic"', '"logisitc"'),
    "mlp without widths": ('"logistic"', '"mlp:"'),
    "mlp that fits nowhere": ('"logistic"', '"mlp:200000,200000"'),
    "rounds without an end": ("rounds = 30", "rounds = 2000000000"),
    "metrics like nothing": ('"public"', '"free"'),
    "public test rows without test rows": ("test_size = 0.2", "test_size = 0"),
    "paid metrics without a budget": (
        'mechanism = "cascade"',
        'mechanism = "none"\n[evaluation]\nmetrics = "paid"\n#',
    ),
    "momentum where the rule decides": ("learning_rate = 0.5", "momentum = 0.9"),
    "schedule where the rule decides": (
        "learning_rate = 0.5",
        'learning_rate_schedule = "cosine"',
    ),
    "batches without clients": ("rounds = 30", "rounds = 30\nbatch_size = 64"),
    "sites of private sizes": ('"logistic"', '"logistic"\nweighting = "sites"'),
    "epsilon too small": ("epsilon = 2.0", "epsilon = 1e-5"),
    "epsilon too large": ("epsilon = 2.0", "epsilon = 5000"),
    "delta too small": ("delta = 1e-6", "delta = 1e-16"),
    "keys in the run folder": audit('keys = "runs/readmission/keys"'),
    "origin with a scheme": audit('origin = "https://a.example"'),
    "unknown key of audit": audit('orign = "a.example"'),
    "witness without a policy": audit('witnesses = { north = "https://n.example" }'),
    "witness without an address": audit('policy = "p"\nwitnesses = { n = "n:1" }'),
    "witness with a space": audit(
        'policy = "p"\nwitnesses = { "a b" = "https://n.example" }'
    ),
    "wrong legal basis": audit('governance.legal_basis = "6.1.z"'),
    "purpose in a sentence": audit('governance.purpose = "to help people"'),
    "date without quotes": audit("governance.review_due = 2031-01-01"),
    "date and time": audit("governance.review_due = 2031-01-01T00:00:00"),
    "date of no calendar": audit('governance.retention.log = "2031-02-31"'),
    "special category without its exception": audit(
        'governance.special.health = { law = "law.pdf" }'
    ),
    "offence law of nothing": audit('governance.offence_law = "law.pdf"'),
    "census table of nothing": audit('governance.transforms.zip_table = "zip.csv"'),
    "unknown document": audit(document("dipa")),
    "document like nothing": audit(document("zzz")),
    "document of a later time": audit(document("dpia-review")),
    "document without a date": audit('documents.dpia = { file = "dpia.pdf" }'),
    "document as text": audit('documents.dpia = "dpia.pdf"'),
    "document that ends before it begins": audit(
        document("dpia", ', expires = "2020-01-01"')
    ),
    "unknown document of a site": audit(f"parties.north.{document('notise')}"),
    "country in words": audit('parties.north.country = "Germany"'),
    "record that contradicts itself": audit(
        'record.transfers = "none"\nrecord.not_applicable.transfers = "none"'
    ),
    "processor record that contradicts itself": audit(
        'processor_record.security = "x"\n'
        'processor_record.not_applicable.security = "y"'
    ),
    "category without a letter": audit('governance.special."??".exception = "9.2.j"'),
    "category twice": audit(
        'governance.special."a b".exception = "9.2.j"\n'
        'governance.special.a-b.exception = "9.2.j"'
    ),
    "category of a record without a letter": audit(
        'record.data_categories = ["health", "--"]'
    ),
    "empty name of a site": audit('parties."".country = "DE"'),
    "noise in shares without its accountant or engine": ('"central"', '"distributed"'),
    "colluders of nobody": ("rounds = 30", "rounds = 30\ncolluders = 1"),
    "dropouts of nobody": ("rounds = 30", "rounds = 30\ndropouts = 1"),
    "masks of nobody": ("rounds = 30", "rounds = 30\nsetup_rounds = 8"),
    "dropouts below zero": ("rounds = 30", "rounds = 30\ndropouts = -1"),
    "no rounds in a set-up": ("rounds = 30", "rounds = 30\nsetup_rounds = 0"),
    "no report": ("[federation]", "[report]\nformats = []\n[federation]"),
    "unknown report": ("[federation]", '[report]\nformats = ["doc"]\n[federation]'),
}


def messages(text: str) -> str:
    lines = []
    for problem in examine(text, "lexfed.toml").problems:
        lines.append(f"error: {problem}")
        if problem.hint:
            lines.append(f"hint: {problem.hint}")
    return "\n".join(lines)


def mistaken(name: str) -> str:
    old, new = MISTAKES[name]
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    if new.endswith("\n#"):
        text = text[: text.index("\n#") + 1]
    return text


def expected() -> dict[str, str]:
    blocks = re.split(r"^# ", EXPECTED.read_text(), flags=re.MULTILINE)[1:]
    parted = (block.partition("\n") for block in blocks)
    return {name: rest.strip() for name, _, rest in parted}


def test_good_file_is_good() -> None:
    examination = examine(GOOD)
    assert examination.problems == ()
    assert examination.notes == ()


if os.environ.get("LEXFED_UPDATE"):
    written = [f"# {name}\n{messages(mistaken(name))}\n" for name in MISTAKES]
    EXPECTED.write_text("\n".join(written))


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake(name: str) -> None:
    assert messages(mistaken(name)) == expected()[name]


@pytest.mark.parametrize("name", MISTAKES)
def test_message_style(name: str) -> None:
    for problem in examine(mistaken(name), "lexfed.toml").problems:
        assert re.fullmatch(r"lexfed\.toml:\d+", problem.where)
        for text in (problem.what, problem.hint):
            assert not text.endswith(".")
            assert text.count("`") % 2 == 0
            assert not re.match("[A-Z]", text)
            assert not re.search(r"please|simply|oops|!|pydantic", text, re.IGNORECASE)


def test_every_expected_message_has_its_case() -> None:
    assert list(expected()) == list(MISTAKES)
