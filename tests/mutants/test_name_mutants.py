# SPDX-License-Identifier: Apache-2.0
"""Ways to let a name act on a terminal, each noticed by a check."""

import io
from typing import Any

import pytest

from lexfed import visible_text
from lexfed.audit.verify import Check, Status, verdict
from lexfed.cli import terminal
from lexfed.cli.commands.evidence import ledger as ledgers
from lexfed.config import examination
from lexfed.config.examination import examine
from lexfed.data.people import site_partition
from lexfed.data.people.site_partition import Partition
from lexfed.data.problems import Problems
from lexfed.data.reading import column_names
from lexfed.data.reading.column_names import check_names
from lexfed.errors import DataError
from lexfed.federation.engines import clear_sums
from lexfed.federation.engines.clear_sums import too_few
from lexfed.federation.programme.messages import Refusal
from lexfed.ledger.bookkeeping.rows import Head, make_row
from lexfed.visible_text import hidden_in
from support.hostile_names import HOSTILE
from support.mutant import Mutant, Patch, both_tests


def configurations_are_checked() -> None:
    for name in HOSTILE.values():
        escaped = "".join(f"\\U{ord(each):08x}" for each in name)
        found = examine(f'[run]\nname = "{escaped}"').problems
        assert any("visible characters" in problem.what for problem in found)


def headers_are_checked() -> None:
    for name in HOSTILE.values():
        problems = Problems()
        check_names([name], None, "a.csv", problems)
        assert problems.counts == {"header-hidden": 1}


def sites_are_checked() -> None:
    for name in HOSTILE.values():
        with pytest.raises(DataError):
            Partition((name,), ())


def prints_are_shielded() -> None:
    for name in HOSTILE.values():
        stream = io.StringIO()
        terminal.Shield(stream).write(name.replace("\n", ""))
        assert stream.getvalue().isprintable()


def refusals_are_plain() -> None:
    query: Any = type("Query", (), {"round": 3})
    for name in HOSTILE.values():
        refusal = Refusal(name, 3, name + "x" * 100_000)
        lost = too_few(query, 1, 3, {"north": refusal}).message
        assert "site `north` refused" in lost
        assert lost.isprintable()
        assert len(lost) < 1000


def verdicts_are_lines() -> None:
    for name in HOSTILE.values():
        assert str(Check("tags", Status.FAIL, name)).isprintable()


def rows_are_lines() -> None:
    for name in HOSTILE.values():
        row = make_row(Head(4, bytes(32)), 0, "restore", {"reason": name})
        assert ledgers.history_line(row).isprintable()


def towers_of_marks_are_found() -> None:
    for trick in ("tower of marks", "mark on what stands before"):
        assert hidden_in(HOSTILE[trick])


def _nothing(patch: Patch, module: Any, *names: str) -> None:
    for name in names:
        patch.setattr(module, name, lambda *_: "")


MUTANTS = (
    Mutant(
        "verdicts as they come",
        lambda patch: patch.setattr(verdict, "visible", lambda text: text),
        verdicts_are_lines,
    ),
    Mutant(
        "rows of a ledger as they are",
        lambda patch: patch.setattr(ledgers, "visible", lambda text: text),
        rows_are_lines,
    ),
    Mutant(
        "any number of marks",
        lambda patch: patch.setattr(visible_text, "_MOST_MARKS", 1000),
        towers_of_marks_are_found,
    ),
    Mutant(
        "configurations that nobody looks through",
        lambda patch: patch.setattr(examination, "hidden_in", lambda _: ()),
        configurations_are_checked,
    ),
    Mutant(
        "headers that nobody looks at",
        lambda patch: _nothing(patch, column_names, "hidden_in"),
        headers_are_checked,
    ),
    Mutant(
        "sites with any name",
        lambda patch: _nothing(patch, site_partition, "hidden_in"),
        sites_are_checked,
    ),
    Mutant(
        "prints as they are",
        lambda patch: patch.setattr(terminal, "visible", lambda text, _: text),
        prints_are_shielded,
    ),
    Mutant(
        "refusals as they come",
        lambda patch: patch.setattr(clear_sums, "visible", lambda text: text),
        refusals_are_plain,
    ),
    Mutant(
        "refusals of any length",
        lambda patch: patch.setattr(clear_sums, "_LONGEST_REASON", 1_000_000),
        refusals_are_plain,
    ),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
