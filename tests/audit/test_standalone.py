# SPDX-License-Identifier: Apache-2.0
"""The standalone verifier gives the verdict of `lexfed verify`, claim by claim.

Every run of the tables of `test_verify*.py` is written once and judged by both: the
same claims in the same order, failing at the same entry. Where rounds are sampled the
standalone verifier cannot price them; it must say so, and must never say OK.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lexfed.audit.verify import verify_run
from support.audit.two_verifiers import compared, failed, tables
from support.audit.worlds import FakeRun, fake_run, spoiled

HERE = Path(__file__).parent
ABOUT_ENTRIES = tables(HERE / "test_verify.py")
ABOUT_BUDGETS = tables(HERE / "test_verify_budgets.py")
ABOUT_PARTICIPANTS = tables(HERE / "test_verify_participants.py")
ABOUT_BYTES = tables(HERE / "test_verify_bytes.py")

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
    "feature tags", "certificates",
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
