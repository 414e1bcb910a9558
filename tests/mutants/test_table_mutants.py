# SPDX-License-Identifier: Apache-2.0
"""Ways to let a table decide what is published about it, each noticed by a check."""

import io
import math
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import lexfed
from lexfed.config.drafting import table_draft
from lexfed.config.drafting.questions import DefaultAnswers
from lexfed.config.drafting.table_draft import DraftRequest, draft_table
from lexfed.data.file_format import FileFormat
from lexfed.data.reading import column_guesses, conversion
from lexfed.data.reading.checked_tables import read_files
from lexfed.data.reading.column_guesses import guess_table
from lexfed.data.reading.frames import Frame
from lexfed.data.reading.memory_tables import MemoryTable
from lexfed.data.schema import Column, Schema
from lexfed.errors import DataError
from lexfed.tagging import TaggedColumns
from support.mutant import Mutant, Patch, both_tests

PEOPLE = "patient_id,age,died\n" + "".join(
    f"P-{row // 3:04d},{30 + row % 40},{row % 2}\n" for row in range(99)
)


def drafted(text: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        path.write_text(text, encoding="utf-8")
        request = DraftRequest(path, "people.csv", target="died")
        draft = draft_table(request, guess_table(path), DefaultAnswers())
        return draft.configuration.text()


def missing_cells_do_not_show() -> None:
    assert drafted(PEOPLE) == drafted(PEOPLE.replace("P-0007,51,", "P-0007,N/A,"))


def rows_of_a_person_do_not_show() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_draft, "LARGEST_DELTA", 1.0)
        assert drafted(PEOPLE) == drafted(PEOPLE + "P-0001,40,1\nP-0001,41,0\n")


def decisions_rest_on_names() -> None:
    rows = pd.read_csv(io.StringIO(PEOPLE)).assign(q7="x")
    mails = rows.assign(q7=[f"a{row}@example.org" for row in range(99)])
    known = lexfed.tag(rows).decisions()
    assert "age" in known
    assert lexfed.tag(mails).decisions() == known


def people_are_told_apart() -> None:
    schema = Schema((Column("died", "flag"),), "died", person="key")
    rows = pd.DataFrame({"key": [2.0**53, 2.0**53 + 1], "died": [0, 1]})
    with pytest.raises(DataError):
        read_files([MemoryTable.of(rows)], schema)


def _words_that_occur(patch: Patch) -> None:
    complete = column_guesses._completed

    def if_seen(frame: Frame, *stated: Any) -> FileFormat:
        found = complete(frame, *stated)
        columns = frame.columns.values()
        seen = any(column_guesses._has_words(raw, found) for raw in columns)
        return found if seen else replace(found, missing=())

    patch.setattr(column_guesses, "_completed", if_seen)


MUTANTS = (
    Mutant(
        "only words that occur are listed", _words_that_occur, missing_cells_do_not_show
    ),
    Mutant(
        "delta counts rows",
        lambda patch: patch.setattr(
            table_draft, "_people", lambda table, _: len(table.frame)
        ),
        rows_of_a_person_do_not_show,
    ),
    Mutant(
        "decisions follow values",
        lambda patch: patch.setattr(
            TaggedColumns, "_by_names", property(lambda self: self.columns)
        ),
        decisions_rest_on_names,
    ),
    Mutant(
        "keys are rounded",
        lambda patch: patch.setattr(conversion, "_INEXACT", math.inf),
        people_are_told_apart,
    ),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
