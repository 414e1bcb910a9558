# SPDX-License-Identifier: Apache-2.0
"""`lexfed audit-privacy` as a user sees it: figures beside claims, and exit codes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lexfed.cli.commands.evidence.audit_privacy import table
from lexfed.evaluate.empirical import ClaimAudit, claim_audit

Lexfed = Callable[..., Any]
Edit = Callable[..., None]


# With much noise many canaries fit in one game: a few games are enough.
NOISY = ("epsilon = 8.0", "epsilon = 0.2")


def test_every_claim_has_its_line(lexfed: Lexfed, edit: Edit, place: Path) -> None:
    edit(NOISY)
    said = lexfed("audit-privacy", "--canaries", "100")
    assert said.code == 0, said.err
    header, *rows = said.out.splitlines()
    assert header.split()[0] == "claim"
    names = [row.split()[0] for row in rows]
    assert names == ["record", "non_personal", "personal", "special"]
    assert all("≥" in row and "100 canaries" in row for row in rows)
    assert "no claim is refuted" in said.err
    assert not Path("runs").exists()


def test_the_same_as_json(lexfed: Lexfed, edit: Edit) -> None:
    edit(NOISY)
    said = lexfed("audit-privacy", "--canaries", "100", "--json")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    assert found["confidence"] == 0.95
    record = found["claims"][0]
    assert record["claim"] == "record"
    assert record["canaries"] == 100
    assert record["one_run"] <= record["epsilon"]
    assert record["refuted"] is False


def test_without_privacy_it_says_where_to_change_that(
    lexfed: Lexfed, edit: Edit
) -> None:
    edit(("[federation]\n", '[privacy]\nmechanism = "none"\n\n[federation]\n'))
    said = lexfed("audit-privacy")
    assert said.code == 2
    assert "nothing is claimed" in said.err
    assert "lexfed.toml:" in said.err


FALSE = ClaimAudit("record", "add-remove", 1.0, 1e-6, 5000, 1000, 900, 1.519, 2.226)


def test_a_refuted_claim_ends_with_1(
    lexfed: Lexfed, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it finds in broken code is tested in tests/evaluate/empirical."""
    monkeypatch.setattr(claim_audit, "audit", lambda *_, **__: (FALSE,))
    said = lexfed("audit-privacy")
    assert said.code == 1
    assert "`record` is at least 2.22, not 1.00" in said.err
    assert "2.22" in said.out


def test_lower_bounds_are_rounded_down() -> None:
    assert "≥  2.22 " in table([FALSE])[1]
    assert "900 of 1000 (90.0%)" in table([FALSE])[1]


def test_it_says_how_far_it_is_where_nobody_watches_too(
    lexfed: Lexfed, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claim_audit, "canaries_per_game", lambda _: 10)
    edit(NOISY)
    said = lexfed("audit-privacy", "--canaries", "100")
    lines = [line for line in said.err.splitlines() if line.startswith("  canaries")]
    assert lines[:2] == ["  canaries  10/100   record", "  canaries  20/100   record"]
    assert len(lines) == 40
    assert lines[-1] == "  canaries 100/100   special"
