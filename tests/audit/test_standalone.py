# SPDX-License-Identifier: Apache-2.0
"""The standalone verifier gives the verdict of `lexfed verify`, claim by claim.

Every run of the tables of `test_verify*.py` is written once and judged by both: the
same claims in the same order, failing at the same entry. Where rounds are sampled the
standalone verifier cannot price them; it must say so, and must never say OK.
"""

import importlib.util
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lexfed.audit.standalone import verify as standalone
from lexfed.audit.verify import Check, verify_run
from support.audit_worlds import FakeRun, fake_run, spoiled

PRICED = {"budget plan", "budgets spent", "claim"}
"""Claims that need an accountant for sampled rounds."""


def tables(name: str) -> ModuleType:
    """Return a test module of this folder, for the tables in it."""
    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"tables_of_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ABOUT_ENTRIES = tables("test_verify")
ABOUT_BUDGETS = tables("test_verify_budgets")
ABOUT_PARTICIPANTS = tables("test_verify_participants")
ABOUT_BYTES = tables("test_verify_bytes")
ABOUT_KEYS = tables("test_verify_keys")


def compared(
    folder: Path, policy: bytes | None = None, pin: bytes | None = None
) -> dict[str, dict[str, Any]]:
    """Judge a folder with both verifiers and return what the standalone one says."""
    ours = verify_run(folder, policy, pin)
    found = standalone.verify(str(folder), policy, pin)
    theirs = {row["claim"]: row for row in found["checks"]}
    assert [row["claim"] for row in found["checks"]] == claims_of(ours.checks)
    priced = not any(row["detail"].startswith("NOT REC") for row in theirs.values())
    for check in ours.checks:
        row = theirs[check.claim]
        if check.claim in PRICED and row["detail"].startswith("NOT RECOMPUTED"):
            assert row["status"] == "NOTE"
            continue
        assert row["status"] == check.status.value, (check, row)
        if check.index is not None and row["index"] is not None:
            assert row["index"] == check.index, (check, row)
    if priced:
        assert found["ok"] == ours.ok
    assert found["origin"] == ours.origin
    assert (found["size"], found["root"]) == (ours.size, ours.root)
    return theirs


def claims_of(checks: tuple[Check, ...]) -> list[str]:
    return [check.claim for check in checks]


def failed(rows: dict[str, dict[str, Any]]) -> list[str]:
    return [claim for claim, row in rows.items() if row["status"] == "FAIL"]


SETTINGS: list[dict[str, Any]] = [
    {},
    {"mechanism": "none"},
    {"sampling_rate": 0.1},
    {"sampling_rate": 0.1, "unit": "client"},
    {"unit": "client"},
    {"test": True},
    {"finished": False},
    {"finished": False, "rounds": (0, 0)},
    {"rounds": (0, 0)},
    {"sites": 0},
    {"sites_per_person": 2},
]


@pytest.mark.parametrize(
    "settings",
    SETTINGS,
    ids=lambda value: "-".join(map(str, value.values())) or "plain",
)
def test_sound_runs_pass_both(settings: dict[str, Any], tmp_path: Path) -> None:
    rows = compared(fake_run(**settings).write(tmp_path / "run"))
    assert failed(rows) == []


SAME_WORDS = {
    "log", "log key", "witnesses", "pin", "entry signatures", "separate keys",
    "bindings", "genesis", "references", "decided first", "rounds", "blobs",
    "round events", "budgets spent", "claim", "participants", "secure aggregation",
    "files", "report", "times",
}  # fmt: skip


def test_both_say_the_same_words_about_a_sound_run(tmp_path: Path) -> None:
    folder = fake_run().write(tmp_path / "run")
    ours = {check.claim: check.detail for check in verify_run(folder).checks}
    for claim, row in compared(folder).items():
        if claim in SAME_WORDS:
            assert row["detail"] == ours[claim]


# Ways to spoil a run

SECRET = {"unit": "client", "sampling_rate": 0.1}
SPOILS: list[tuple[ModuleType, str, dict[str, Any]]] = [
    (ABOUT_ENTRIES, "ENTRIES", {}),
    (ABOUT_ENTRIES, "ROUNDS", {}),
    (ABOUT_ENTRIES, "FILES", {}),
    (ABOUT_BUDGETS, "SPENT", {}),
    (ABOUT_BUDGETS, "PLAN", {}),
    (ABOUT_BUDGETS, "CLAIMS", {}),
    (ABOUT_BUDGETS, "UNNOISED", {"mechanism": "none"}),
    (ABOUT_BUDGETS, "TAGS", {}),
    (ABOUT_PARTICIPANTS, "SPOILED", {}),
    (ABOUT_PARTICIPANTS, "OPENED", SECRET),
]


def spoils() -> Iterator[Any]:
    for module, table, settings in SPOILS:
        for name, row in getattr(module, table).items():
            yield pytest.param(row[0], settings, id=f"{table.lower()}-{name}")


@pytest.mark.parametrize(("change", "settings"), [*spoils()])
def test_what_one_refuses_the_other_refuses(
    change: Callable[[FakeRun], None], settings: dict[str, Any], tmp_path: Path
) -> None:
    rows = compared(spoiled(change, **settings).write(tmp_path / "run"))
    assert failed(rows)


@pytest.mark.parametrize("name", ABOUT_BYTES.PAYLOADS)
def test_payloads_that_mean_two_things(name: str, tmp_path: Path) -> None:
    run = fake_run()
    run.drafts[5].raw = ABOUT_BYTES.enveloped(ABOUT_BYTES.PAYLOADS[name])
    rows = compared(run.write(tmp_path / "run"))
    assert rows["log"]["index"] == 5


@pytest.mark.parametrize("name", ABOUT_BYTES.ENVELOPES)
def test_envelopes_that_are_none(name: str, tmp_path: Path) -> None:
    run = fake_run()
    run.drafts[5].raw = ABOUT_BYTES.ENVELOPES[name]
    rows = compared(run.write(tmp_path / "run"))
    assert rows["log"]["index"] == 5
