# SPDX-License-Identifier: Apache-2.0
"""Tables as strangers have them: each gets a draft that nobody has to complete."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.stranger_tables import INVENTED, invented_table, with_codebook

from lexfed.config import examine, from_mapping
from lexfed.config.drafting.questions import DefaultAnswers
from lexfed.config.drafting.table_draft import DraftRequest, TableDraft, draft_table
from lexfed.data.reading.column_guesses import guess_table
from lexfed.toml_text import parse_toml

ROWS = 240
RNG = np.random.default_rng(8)


def draft_of(path: Path, target: str) -> TableDraft:
    request = DraftRequest(path, path.name, target=target)
    return draft_table(request, guess_table(path), DefaultAnswers())


@pytest.mark.parametrize("name", INVENTED)
def test_a_table_with_defects_is_drafted_whole(name: str, tmp_path: Path) -> None:
    table = invented_table(name, tmp_path, most_rows=ROWS)
    draft = draft_of(table.path, table.target)
    text = draft.configuration.text()
    assert examine(text).problems == ()
    drafted = {column.name for column in draft.configuration.columns}
    assert drafted >= set(table.columns) - {"EmployeeCount", "StandardHours"}
    # The careful configuration of the benchmark is one, too.
    careful = with_codebook(table, parse_toml(text))
    assert from_mapping(careful).data.target == table.target


def numbers(low: float, high: float, digits: int = 0) -> Any:
    return RNG.uniform(low, high, ROWS).round(digits)


def words(*of: str) -> Any:
    return RNG.choice(np.array(of, dtype=object), ROWS)


@pytest.mark.parametrize(
    ("columns", "target", "kind"),
    [
        ({"ocean_proximity": words("INLAND", "NEAR BAY"),
          "median_house_value": np.arange(ROWS) * 1000 + 15000.0},
         "median_house_value", "number"),
        ({"dteday": numbers(1, 9), "casual": numbers(0, 99), "cnt": numbers(1, 900)},
         "cnt", "number"),
        ({"age": numbers(18, 64), "charges": numbers(1000, 60000, 4)},
         "charges", "number"),
        ({"fixed acidity": numbers(4, 15, 1), "quality": numbers(3, 9)},
         "quality", "number"),
        ({"cement": numbers(100, 500, 1), "strength": numbers(2, 82, 2)},
         "strength", "number"),
        ({"X1": numbers(0, 1, 2), "Y1": numbers(6, 43, 2)}, "Y1", "number"),
        ({"fLength": numbers(4, 334, 4), "class": words("g", "h")},
         "class", "category"),
        ({"column_1": numbers(-1, 1, 4), "column_2": words("g", "b")},
         "column_2", "category"),
        ({"bp": numbers(50, 180), "classification": words("ckd", "notckd")},
         "classification", "category"),
        ({"0": numbers(0, 3000, 3), "1": numbers(0, 9, 3),
          "Pass/Fail": words("-1", "1")}, "Pass/Fail", "category"),
        ({"Age": numbers(4, 90), "Dataset": numbers(1, 2)}, "Dataset", "category"),
        ({"PageValues": numbers(0, 9, 2), "Revenue": words("TRUE", "FALSE")},
         "Revenue", "flag"),
        ({"ApplicantIncome": numbers(150, 81000), "Loan_Status": words("Y", "N")},
         "Loan_Status", "flag"),
        ({"sepal_length": numbers(4, 8, 1), "species": words("setosa", "versicolor")},
         "species", "category"),
    ],
)  # fmt: skip
def test_targets_of_well_known_tables_need_no_answer(
    columns: dict[str, Any], target: str, kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    draft = draft_of(path, target).configuration
    keys = next(each.keys for each in draft.columns if each.name == target)
    assert keys["kind"] == kind
    assert examine(draft.text()).problems == ()
