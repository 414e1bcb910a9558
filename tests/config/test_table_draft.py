# SPDX-License-Identifier: Apache-2.0
"""Drafts of configurations: public, complete, and the same for neighbouring tables."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lexfed.config import examine
from lexfed.config.drafting import table_draft
from lexfed.config.drafting.questions import DefaultAnswers, Question
from lexfed.config.drafting.table_draft import DraftRequest, TableDraft, draft_table
from lexfed.data.reading.column_guesses import guess_table
from lexfed.errors import ConfigError

ROWS = 120


def people(rows: int = ROWS) -> pd.DataFrame:
    generator = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "patient_id": [f"P-{n // 2:04d}" for n in range(rows)],
            "Age": generator.integers(18, 90, rows),
            "Gender": generator.choice(["Male", "Female"], rows),
            "systolic_bp": generator.normal(130, 20, rows).round(),
            "kapuziner": generator.choice(["rot", "blau", "gelb"], rows),
            "qqzx": generator.normal(4321.5, 50, rows).round(2),
            "hiv_status": generator.integers(0, 2, rows),
            "remark": [f"saw Rumpelstilzchen {n}" for n in range(rows)],
            "admission_date": pd.date_range("2021-03-04", periods=rows).astype(str),
            "died": generator.integers(0, 2, rows),
        }
    )


class Scripted(DefaultAnswers):
    """A person who answers some questions, by their beginning."""

    of_person = True

    def __init__(self, **typed: str) -> None:
        self.typed = typed
        self.told: list[str] = []
        self.asked: list[Question] = []

    def ask(self, question: Question, read: Callable[[str], Any]) -> Any:
        self.asked.append(question)
        for name, answer in self.typed.items():
            if name in question.text.replace(" ", "_"):
                return read(answer)
        return super().ask(question, read)

    def tell(self, text: str) -> None:
        self.told.append(text)


def drafted(
    table: pd.DataFrame,
    folder: Path,
    answers: DefaultAnswers | None = None,
    **stated: Any,
) -> TableDraft:
    path = folder / "people.csv"
    table.to_csv(path, index=False)
    request = DraftRequest(path, "people.csv", **{"target": "died", **stated})
    return draft_table(request, guess_table(path), answers or DefaultAnswers())


def columns_of(draft: TableDraft) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = tomllib.loads(draft.configuration.text())[
        "data"
    ]["columns"]
    return found


def test_a_draft_is_a_configuration_without_open_decisions(tmp_path: Path) -> None:
    draft = drafted(people(), tmp_path)
    found = examine(draft.configuration.text())
    assert found.problems == ()
    config = found.require()
    assert config.data.target == "died"
    assert config.data.person == "patient_id"
    assert config.budget.neighbours == "replace-one"
    columns = columns_of(draft)
    assert columns["Age"]["range"] == [0, 100]
    assert columns["Gender"]["values"] == ["female", "male"]
    assert columns["kapuziner"] == {"kind": "category", "buckets": 8}
    assert columns["qqzx"]["scale"] == "symlog"
    assert columns["admission_date"]["period"] == ["2000-01-01", "2035-12-31"]
    assert dict(draft.configuration.left_out) == {
        "remark": "free text or a key: never a model input"
    }
    assert {p.name for p in draft.proposals if p.widened} == {"kapuziner", "qqzx"}


def test_every_tag_is_of_a_rule_and_doubtful_ones_are_cautious(tmp_path: Path) -> None:
    draft = drafted(people(), tmp_path)
    law = examine(draft.configuration.text()).require().law.columns
    assert {tag.by for tag in law.values()} == {"rule"}
    assert law["hiv_status"].tier == "special"
    doubtful = [p.name for p in draft.proposals if p.review]
    assert "qqzx" in doubtful
    assert {law[name].tier for name in doubtful} <= {"personal", "special"}
    assert all(law[name].reason.startswith("until a person") for name in doubtful)


def test_no_value_of_the_table_is_in_the_draft(tmp_path: Path) -> None:
    text = drafted(people(), tmp_path).configuration.text()
    for value in ("rot", "blau", "gelb", "Rumpel", "4321", "2021", "P-00", "Male"):
        assert value not in text


def test_neighbouring_tables_have_one_draft(tmp_path: Path) -> None:
    """Whichever row is replaced, by whatever keeps the kinds of the columns."""
    table = people()
    text = drafted(table, tmp_path).configuration.text()
    odd: dict[str, Any] = {
        "patient_id": "someone else", "Age": 119, "Gender": "Other",
        "systolic_bp": -7.0, "kapuziner": "grau", "qqzx": 1e9, "hiv_status": 1,
        "remark": "Rumpelstilzchen", "admission_date": "1899-12-31", "died": 1,
    }  # fmt: skip
    for row in (0, ROWS // 2, ROWS - 1):
        other = table.copy()
        for name, odd_value in odd.items():
            cells = enumerate(table[name].tolist())
            odd_cells: list[Any] = [odd_value if n == row else v for n, v in cells]
            other[name] = odd_cells
        assert drafted(other, tmp_path).configuration.text() == text
    # The control: a kind does show, and with it a column.
    kinds = table.assign(hiv_status=table["hiv_status"] + 1)
    assert drafted(kinds, tmp_path).configuration.text() != text


@pytest.mark.parametrize("word", ["", "N/A", "?", "null", "-"])
def test_a_row_of_missing_values_changes_no_draft(tmp_path: Path, word: str) -> None:
    table = people().astype(str)
    text = drafted(table, tmp_path).configuration.text()
    for row in (0, ROWS - 1):
        other = table.copy()
        other.iloc[row, :-1] = word
        assert drafted(other, tmp_path).configuration.text() == text


def test_delta_counts_people_and_not_their_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_draft, "LARGEST_DELTA", 1.0)
    table = people(99)
    table["patient_id"] = [f"P-{n // 3:04d}" for n in range(99)]
    more = pd.concat([table, table.iloc[[0, 0]]])  # one person has two rows more
    one, other = (drafted(each, tmp_path).configuration for each in (table, more))
    assert one.person == "patient_id"
    assert one.text() == other.text()
    assert one.delta == 1e-3
    assert drafted(more, tmp_path, units=5000).configuration.delta == 1e-5
    alone = more.drop(columns="patient_id")
    assert drafted(alone, tmp_path).configuration.delta == 1e-4


def test_a_person_corrects_what_nobody_knows(tmp_path: Path) -> None:
    answers = Scripted(
        **{"`kapuziner`_(category)": "= rot; blau", "`qqzx`_(number)": "0..9999",
           "`qqzx`:_": "non_personal", "whom_a_row": "none", "Sites": "3",
           "About": "500"},
    )  # fmt: skip
    draft = drafted(people(), tmp_path, answers)
    config = examine(draft.configuration.text()).require()
    columns = columns_of(draft)
    assert columns["kapuziner"]["values"] == ["rot", "blau"]
    assert columns["qqzx"] == {"kind": "number", "range": [0, 9999]}
    assert config.data.person is None
    assert config.data.sites is not None
    assert config.data.sites.count == 3
    assert (config.data.units, config.budget.neighbours) == (500, "add-remove")
    law = config.law.columns
    assert (law["qqzx"].tier, law["qqzx"].by) == ("non_personal", "person")
    assert law["Age"].by == "rule"
    assert all(question.reason for question in answers.asked)


def test_a_person_leaves_columns_out_or_open(tmp_path: Path) -> None:
    answers = Scripted(**{"`kapuziner`_(category)": "-", "`qqzx`_(number)": "open"})
    draft = drafted(people(), tmp_path, answers)
    assert ("kapuziner", "left out by you") in draft.configuration.left_out
    assert columns_of(draft)["qqzx"] == {"kind": "number", "range": "?"}
    answers = Scripted(**{"`qqzx`:_": "identifier"})
    draft = drafted(people(), tmp_path, answers)
    assert ("qqzx", "left out by you") in draft.configuration.left_out


@pytest.mark.parametrize(
    ("classes", "values"),
    [
        (["good", "bad"], ["good", "bad"]),
        (["B", "M"], ["B", "M"]),
        (["<=50K", ">50K"], ["<=50K", ">50K"]),
        (["1", "2"], ["1", "2"]),
        (["setosa", "virginica", "versicolor"], ["setosa", "versicolor", "virginica"]),
    ],
)
def test_known_classes_are_not_asked_for(
    tmp_path: Path, classes: list[str], values: list[str]
) -> None:
    table = people().assign(died=[classes[n % len(classes)] for n in range(ROWS)])
    keys = columns_of(drafted(table, tmp_path))["died"]
    assert keys == {"kind": "category", "values": values}


def test_classes_that_nobody_knows_are_stated(tmp_path: Path) -> None:
    table = people().assign(died=[("ene", "mene", "muh")[n % 3] for n in range(ROWS)])
    with pytest.raises(ConfigError, match="no answer: `died`: its classes") as failed:
        drafted(table, tmp_path)
    assert "ene" not in failed.value.message
    assert failed.value.hint == 'answer it with `--classes "A,B"`'
    draft = drafted(table, tmp_path, classes=("ene", "mene", "muh"))
    assert columns_of(draft)["died"]["values"] == ["ene", "mene", "muh"]
    answers = Scripted(its_classes="table")
    draft = drafted(table, tmp_path, answers)
    assert columns_of(draft)["died"]["values"] == ["ene", "mene", "muh"]
    assert "taken over as public" in draft.configuration.text()
    assert answers.told == ["in the table: ene, mene, muh"]


def test_rare_classes_are_not_shown(tmp_path: Path) -> None:
    names = ["rare", *(("ene", "mene")[n % 2] for n in range(ROWS - 1))]
    answers = Scripted(its_classes="ene, mene, rare")
    drafted(people().assign(died=names), tmp_path, answers)
    assert answers.told == []
    with pytest.raises(ValueError, match="two classes"):
        drafted(people().assign(died=names), tmp_path, Scripted(its_classes="table"))


def test_a_number_to_predict_needs_a_public_range(tmp_path: Path) -> None:
    table = people()
    draft = drafted(table, tmp_path, target="systolic_bp")
    assert draft.configuration.model == "linear"
    assert columns_of(draft)["systolic_bp"]["range"] == [70, 230]
    with pytest.raises(ConfigError, match="lowest and highest"):
        drafted(table, tmp_path, target="qqzx")
    draft = drafted(table, tmp_path, target="qqzx", target_range=(0.0, 9000.0))
    assert columns_of(draft)["qqzx"]["range"] == [0, 9000]
    answers = Scripted(lowest_and_highest="4000..5000")
    assert columns_of(drafted(table, tmp_path, answers, target="qqzx"))["qqzx"] == {
        "kind": "number", "range": [4000, 5000]
    }  # fmt: skip
    with pytest.raises(ValueError, match=r"expected LOW\.\.HIGH"):
        drafted(table, tmp_path, Scripted(lowest="~ 8"), target="qqzx")


def test_what_cannot_be_a_target(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no column `dead`"):
        drafted(people(), tmp_path, target="dead")
    with pytest.raises(ConfigError, match="same column"):
        drafted(people(), tmp_path, person="died")
    with pytest.raises(ConfigError, match="its classes"):
        drafted(people(), tmp_path, target="admission_date")


def test_sites_of_a_column_are_listed_by_people(tmp_path: Path) -> None:
    table = people()
    draft = drafted(table, tmp_path, sites="kapuziner", site_names=("rot", "blau"))
    data = tomllib.loads(draft.configuration.text())["data"]
    assert data["sites"] == {"column": "kapuziner", "names": ["rot", "blau"]}
    assert "kapuziner" not in data["columns"]
    with pytest.raises(ConfigError, match="All sites") as failed:
        drafted(table, tmp_path, sites="kapuziner")
    assert "--site-names" in failed.value.hint
    assert "gelb" not in failed.value.message
    for wrong in ("0", "many", "died", "99999999", "²"):
        with pytest.raises(ConfigError, match="--sites"):
            drafted(table, tmp_path, sites=wrong)
    answers = Scripted(All_sites="rot, blau, gelb")
    names = drafted(table, tmp_path, answers, sites="kapuziner").configuration.sites
    assert names is not None
    assert names["names"] == ("rot", "blau", "gelb")


def test_keys_of_a_person_are_used_only_when_there_is_one(tmp_path: Path) -> None:
    table = people()
    assert drafted(table, tmp_path).configuration.person == "patient_id"
    two = table.assign(customer_id=table["patient_id"])
    assert drafted(two, tmp_path).configuration.person is None
    named = drafted(two, tmp_path, person="customer_id").configuration
    assert named.person == "customer_id"
    assert "records_per_person = 2" in named.text()


def test_delta_is_below_one_over_the_people(tmp_path: Path) -> None:
    draft = drafted(people(), tmp_path, units=3_000_000_000)
    assert draft.configuration.delta == 1e-11
    assert examine(draft.configuration.text()).problems == ()


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 7.5])
def test_caps_follow_epsilon(tmp_path: Path, epsilon: float) -> None:
    text = drafted(people(), tmp_path, epsilon=epsilon).configuration.text()
    budget = examine(text).require().budget
    assert budget.epsilon == epsilon
    assert budget.caps.special == pytest.approx(0.15 * epsilon, rel=0.01)


def test_names_that_are_hard_to_write(tmp_path: Path) -> None:
    table, generator = people(), np.random.default_rng(2)
    for name in ('a "b"', "ünï.code", "#hash", "[x]", "'", "{x}", "a = 1", "?", "\\n"):
        table[name] = generator.normal(size=ROWS)
    text = drafted(table, tmp_path).configuration.text()
    assert examine(text).problems == ()


def test_numbers_that_all_differ_are_amounts_where_the_name_says_so(
    tmp_path: Path,
) -> None:
    table = people().assign(salary=range(30_000, 30_000 + ROWS), code=range(ROWS))
    columns = columns_of(drafted(table, tmp_path))
    assert columns["salary"]["kind"] == "number"
    assert "code" not in columns


def test_a_key_of_a_visit_is_no_key_of_a_person(tmp_path: Path) -> None:
    table = people().assign(encounter_id=range(ROWS), loan_id=range(ROWS))
    draft = drafted(table, tmp_path)
    assert draft.configuration.person == "patient_id"
    assert draft.person_keys == ("patient_id",)
    alone = drafted(table.drop(columns="patient_id"), tmp_path)
    assert alone.configuration.person is None
    assert alone.person_keys == ()


def test_columns_that_describe_nobody_are_left_out(tmp_path: Path) -> None:
    table = people().assign(fnlwgt=1.5, split="train", Age_split=3.0)
    table.insert(0, "Unnamed: 0", [n // 2 for n in range(ROWS)])
    left_out = dict(drafted(table, tmp_path).configuration.left_out)
    for name in ("fnlwgt", "split", "Unnamed: 0"):
        assert left_out[name].endswith("it describes nobody")
    assert "Age_split" not in left_out


def test_another_name_of_the_outcome_is_left_out(tmp_path: Path) -> None:
    table = people().assign(date_of_death="2020-01-01", readmitted=0, mortality=1)
    table.loc[::3, "readmitted"] = 1
    found = drafted(table, tmp_path)
    same = "by its name it says what is to be predicted"
    left_out = dict(found.configuration.left_out)
    assert left_out["date_of_death"] == left_out["mortality"] == same
    assert "readmitted" in columns_of(found)
    # The control: nothing of it is left out where another column is the target.
    other = columns_of(drafted(table, tmp_path, target="hiv_status"))
    assert {"died", "mortality", "date_of_death"} <= set(other)


def test_a_measure_whose_name_is_also_that_of_a_key_is_kept_for_review(
    tmp_path: Path,
) -> None:
    generator = np.random.default_rng(3)
    table = people().assign(resp=generator.normal(20, 5, ROWS).round(1))
    draft = drafted(table, tmp_path)
    law = examine(draft.configuration.text()).require().law.columns
    assert "resp" in {p.name for p in draft.proposals if p.review}
    assert law["resp"].tier in ("personal", "special")
    assert law["resp"].reason.startswith("until a person")
    ill = (
        people()
        .assign(resp=table["resp"])
        .rename(
            columns={
                "Age": "sofa_score",
                "kapuziner": "diagnosis",
                "qqzx": "creatinine",
            }
        )
    )
    law = examine(drafted(ill, tmp_path).configuration.text()).require().law.columns
    assert (law["resp"].tier, law["resp"].category) == ("special", "health")
    # The control: a key of that name is none of the model's inputs.
    keys = drafted(people().assign(resp=[f"R{n}" for n in range(ROWS)]), tmp_path)
    assert "resp" not in columns_of(keys)


def test_answers_of_any_column_are_known(tmp_path: Path) -> None:
    table = people()
    table["kapuziner"] = np.tile(["ja", "Nein"], ROWS // 2)
    table["qqzx"] = np.tile(["Low", "medium", "high", "huge"], ROWS // 4)
    columns = columns_of(drafted(table, tmp_path))
    assert columns["kapuziner"]["values"] == ["nein", "ja"]
    assert columns["qqzx"]["values"] == ["low", "medium", "high"]


def test_the_shortest_list_of_classes_that_holds_all_is_taken(tmp_path: Path) -> None:
    table = people().assign(qqzx=np.tile(["g", "b"], ROWS // 2))
    draft = drafted(table, tmp_path, target="qqzx")
    assert columns_of(draft)["qqzx"]["values"] == ["b", "g"]


def test_a_number_to_predict_may_differ_in_every_row(tmp_path: Path) -> None:
    table = people().assign(SalePrice=range(150_000, 150_000 + ROWS), qqzx=range(ROWS))
    draft = drafted(table, tmp_path, target="SalePrice")
    assert draft.configuration.model == "linear"
    assert columns_of(draft)["SalePrice"]["kind"] == "number"
    with pytest.raises(ConfigError, match="lowest and highest"):
        drafted(table, tmp_path, target="qqzx")


def test_a_column_called_one_is_no_site(tmp_path: Path) -> None:
    table = people().rename(columns={"kapuziner": "1"})
    assert drafted(table, tmp_path).configuration.sites == {"count": 1}
    assert drafted(table, tmp_path, sites="1").configuration.sites == {"count": 1}
