# SPDX-License-Identifier: Apache-2.0
"""Secrets that must never be in a log: canary values in, none of them out (row 21).

A run is given marked values wherever people or data can put something: names of sites,
ids of patients, rows, seeds, reasons, texts for the record of processing. Then every
byte of its log, of what is made from the log, and of what was said is searched for
them. The same search must find a canary where one is allowed to be.
"""

import hashlib
import json
import shutil
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lexfed.audit.entries import KINDS, RoundEntry
from lexfed.audit.log.evidence import read_evidence
from lexfed.cli import app
from lexfed.signing.dsse import SignedEnvelope

SEED = 918273645
VALUE = 31.41592653
PATIENT, SITE = "canarypatient", "canaryhospital"
REASON, RECORD = "canaryreason", "canaryrecord"

CONFIG = f"""\
version = 1
[run]
name = "canary"
out = "run"
seed = {SEED}
test = true
[data]
source = "patients.csv"
target = "readmitted"
person = "patient"
units = 120
sites = {{ column = "hospital", names = ["{SITE}0", "{SITE}1", "{SITE}2"] }}
[data.columns]
patient = {{ kind = "text" }}
hospital = {{ kind = "text" }}
age = {{ kind = "number", range = [18, 100] }}
bmi = {{ kind = "number", range = [10, 60] }}
readmitted = {{ kind = "flag" }}
[law.columns]
patient = {{ tier = "identifier", reason = "{REASON} 1" }}
hospital = {{ tier = "non_personal", reason = "{REASON} 2" }}
age = {{ tier = "personal", reason = "{REASON} 3" }}
bmi = {{ tier = "special", reason = "{REASON} 4" }}
readmitted = {{ tier = "special", reason = "{REASON} 5" }}
[budget]
epsilon = 8.0
delta = 1e-6
[federation]
rounds = 1
engine = "inprocess"
[audit.record]
controller = "{RECORD} of nowhere"
"""

CLIENTS = (
    CONFIG.replace("delta = 1e-6", 'delta = 1e-3\nunit = "client"')
    .replace("rounds = 1", "rounds = 2\nsampling_rate = 0.7")
    .replace("epsilon = 8.0", "epsilon = 20.0")
    .replace("[budget]", '[privacy]\naccountant = "rdp"\n[budget]')
)
WITHOUT_NOISE = CONFIG.replace("[budget]", '[privacy]\nmechanism = "none"\n[budget]')


def patients() -> pd.DataFrame:
    generator = np.random.default_rng(0)
    age = generator.integers(18, 95, 120)
    bmi = generator.normal(27, 4, 120).round(1)
    bmi[7] = VALUE
    return pd.DataFrame(
        {
            "patient": [f"{PATIENT}{number}" for number in range(120)],
            "hospital": [f"{SITE}{number % 3}" for number in range(120)],
            "age": age,
            "bmi": bmi,
            "readmitted": (age / 90 + generator.normal(0, 0.5, 120) > 0.6).astype(int),
        }
    )


@dataclass(frozen=True)
class Made:
    """A run folder, and everything that was said about it."""

    folder: Path
    said: str


def made(place: Path, config: str) -> Made:
    patients().to_csv(place / "patients.csv", index=False)
    (place / "lexfed.toml").write_text(config)
    said = []
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setattr(sys, "path", list(sys.path))
        for command in (["run"], ["report", "run"], ["verify", "run"]):
            patch.setattr(sys, "argv", ["lexfed", *command])
            out, err = place / "out", place / "err"
            with out.open("w") as stdout, err.open("w") as stderr:
                patch.setattr(sys, "stdout", stdout)
                patch.setattr(sys, "stderr", stderr)
                with pytest.raises(SystemExit) as ended:
                    app.main()
            said += [out.read_text(), err.read_text()]
            assert ended.value.code == 0, said
    return Made(place / "run", "".join(said))


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(CONFIG, id="records"),
        pytest.param(CLIENTS, id="clients", marks=pytest.mark.slow),
        pytest.param(WITHOUT_NOISE, id="without-noise"),
    ],
)
def run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Made:
    return made(tmp_path_factory.mktemp("canary"), request.param)


def found(content: bytes | str, *canaries: object) -> list[str]:
    """Return the canaries in some bytes: as text, and as raw numbers and digests."""
    data = content.encode() if isinstance(content, str) else content
    marks = {str(canary): str(canary).encode() for canary in canaries}
    for canary in canaries:
        if isinstance(canary, float):
            marks[f"{canary} as bytes"] = np.float64(canary).tobytes()
        marks[f"digest of {canary}"] = (
            hashlib.sha256(str(canary).encode()).hexdigest().encode()
        )
    return [name for name, mark in marks.items() if mark in data]


PEOPLE = (PATIENT, f"{PATIENT}7")
SITES = (SITE, f"{SITE}0", f"{SITE}1")
ROWS = (VALUE, float(f"{VALUE:.1f}") + 1e-9)
WORDS = (REASON, f"{REASON} 4", RECORD, f"{RECORD} of nowhere")


def log_files(run: Made) -> Iterator[tuple[Path, bytes]]:
    for path in sorted((run.folder / "log").rglob("*")):
        if path.is_file():
            yield path, path.read_bytes()


def test_entries_hold_no_canary(run: Made) -> None:
    evidence = read_evidence(run.folder)
    for data in evidence.view.entries:
        envelope = SignedEnvelope.parse(data)
        for content in (data, envelope.payload):
            assert found(content, *PEOPLE, *SITES, *ROWS, *WORDS, SEED) == []


def test_files_of_the_log_hold_nothing_about_people(run: Made) -> None:
    config = hashlib.sha256((run.folder / "config.toml").read_bytes()).hexdigest()
    names = []
    for path, content in log_files(run):
        names.append(path.name)
        assert found(content, *PEOPLE, *ROWS) == [], path
        if path.name != config:
            assert found(content, *SITES, SEED) == [], path  # the list is public
    assert config in names


def test_the_search_finds_what_is_there(run: Made) -> None:
    """Reasons and the record are blobs, which can be erased; the search sees them."""
    everything = b"".join(content for _, content in log_files(run))
    assert f"{REASON} 4" in found(everything, *WORDS)
    assert RECORD in found(everything, *WORDS)
    names = json.loads((run.folder / "parties.json").read_text())
    assert SITE in found(json.dumps(names), SITE)


def test_what_is_handed_out_holds_nothing_about_people(run: Made) -> None:
    shutil.unpack_archive(run.folder / "evidence.zip", run.folder.parent / "unpacked")
    names = (
        "report.html", "dpia.md", "model-card.md", "record-of-processing.csv",
        "privacy-statement.json",
    )  # fmt: skip
    handed = [run.folder / name for name in names if (run.folder / name).exists()]
    assert len(handed) >= 4
    handed += [p for p in (run.folder.parent / "unpacked").rglob("*") if p.is_file()]
    for path in handed:
        content = path.read_bytes()
        assert found(content, *PEOPLE, *ROWS) == [], path
        if content != (run.folder / "config.toml").read_bytes():
            assert found(content, *SITES) == [], path
        # `run.seed` also starts networks, so configuration and model hold it. Noise
        # depends on it only where `run.test` is on, and then nothing is private.
        if path.suffix in (".html", ".md", ".csv") or path.parent.name == "entries":
            assert found(path.read_bytes(), SEED) == [], path


def test_nothing_about_people_is_said(run: Made) -> None:
    assert found(run.said, PATIENT, f"{PATIENT}7", *ROWS, SEED, *WORDS) == []


def test_keys_stay_out_of_the_run_folder(run: Made) -> None:
    for path in run.folder.rglob("*"):
        assert path.suffix != ".pem"
        if path.is_file():
            assert b"PRIVATE KEY" not in path.read_bytes(), path


def rounds_of(run: Made) -> list[RoundEntry]:
    return [found.entry for found in read_evidence(run.folder).of(RoundEntry)]


def test_only_noised_values_are_hashed(run: Made) -> None:
    for entry in rounds_of(run):
        private = entry.event is not None
        assert (entry.update is not None) == private
        assert (entry.state is not None) == private


def test_participants_are_secret_where_the_guarantee_needs_it(run: Made) -> None:
    secret = 'unit = "client"' in (run.folder / "config.toml").read_text()
    for entry in rounds_of(run):
        assert (entry.participation.sites is None) == secret
        assert (entry.participation.receipts == "sealed") == secret
    assert (run.folder / "sealed").exists() == secret
    with zipfile.ZipFile(run.folder / "evidence.zip") as bundle:
        assert not [name for name in bundle.namelist() if "sealed" in name]


# The vocabulary of entries


def texts(schema: dict[str, Any], where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every place of a schema that takes text."""
    for name, part in schema.get("$defs", {}).items():
        yield from texts(part, name)
    if schema.get("type") == "string":
        yield where, schema
    for name, part in schema.get("properties", {}).items():
        yield from texts(part, f"{where}.{name}")
    for key in ("anyOf", "prefixItems"):
        for part in schema.get(key, ()):
            yield from texts(part, where)
    for key in ("items", "additionalProperties", "propertyNames"):
        if isinstance(schema.get(key), dict):
            yield from texts(schema[key], where)


PUBLIC_TEXT = {
    "ChargedEvent.name",
    "GroupEvent.name",
    "genesis.log",
    "key-rotation.vkey",
}
"""Names of releases and keys: chosen by software, not by people or data."""


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_an_entry_has_no_room_for_sentences(kind: str) -> None:
    schema = KINDS[kind].model_json_schema()
    assert schema["additionalProperties"] is False
    for where, part in texts(schema, kind):
        if "enum" in part or "const" in part or where in PUBLIC_TEXT:
            continue
        assert "pattern" in part, f"{where} takes any text"
        assert " " not in part["pattern"], f"{where} takes sentences"


def test_no_field_is_for_what_must_stay_out() -> None:
    forbidden = ("seed", "gradient", "loss", "rows", "names", "patient", "gains", "auc")
    for kind, model in KINDS.items():
        text = json.dumps(model.model_json_schema()["properties"]).lower()
        fields = json.loads(text).keys()
        for name in fields:
            assert not any(word in name for word in forbidden), f"{kind}.{name}"
