# SPDX-License-Identifier: Apache-2.0
"""Scores taken apart: the terms of every row add up to its logit, whatever is in it."""

import csv
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import lexfed
from lexfed.arrays import Floats
from lexfed.cli import app
from lexfed.data.encoding import encode
from lexfed.data.reading.checked_tables import read_inputs
from lexfed.errors import RunFolderError
from lexfed.models.column_parts import adds_up
from lexfed.models.towers import Tower
from lexfed.run.earlier_runs import released_model
from support.run.explained_runs import explained_run, people

ROWS = people(60)
ODD = pd.DataFrame(
    {
        "age": [np.nan, 40.0, 400.0, -1.0],
        "income": [1.0, 1e9, np.nan, 30.0],
        "weight": [np.nan, 75.0, 200.0, 30.0],
        "smoker": ["yes", None, "no", "no"],
        "ward": ["a", "unheard of", None, "<i>c"],
        "intercept": [0.0, np.nan, 1.0, -1.0],
    }
)
RunOf = Callable[[str, str], Path]


@pytest.fixture(scope="module")
def run_of(tmp_path_factory: pytest.TempPathFactory) -> RunOf:
    known: dict[tuple[str, str], Path] = {}

    def made(target: str, model: str) -> Path:
        if (target, model) not in known:
            place = tmp_path_factory.mktemp("explained")
            known[target, model] = explained_run(place, target, model)
        return known[target, model]

    return made


def logits_of(run: Path, table: Path, tiers: str) -> Floats:
    """Return the logits of a run's own model, by its own way."""
    model, full = released_model(run, "finish it")
    count = {"non_personal": 1, "personal": 2, "special": 3}[tiers]
    encoding = full.upto(model.towers[count - 1].shape.tier)
    slots = np.full((len(pd.read_csv(table)), full.width), np.nan)
    names = [slot.name for slot in full.slots]
    at = [names.index(slot.name) for slot in encoding.slots]
    slots[:, at] = encode(encoding, read_inputs([table], encoding))
    found: Floats = model.logits(torch.from_numpy(slots), count).numpy()
    return found


@pytest.mark.parametrize("tiers", ["non_personal", "personal", "special"])
@pytest.mark.parametrize(
    ("target", "model"),
    [
        ("two", "additive"),
        ("three", "additive"),
        ("score", "additive"),
        ("two", "logistic"),
        ("score", "linear"),
    ],
)
def test_terms_add_up_to_the_logit(
    target: str, model: str, tiers: str, run_of: RunOf, tmp_path: Path
) -> None:
    run = run_of(target, model)
    towers = released_model(run, "finish it")[0].towers
    assert any(tower.shape.is_additive for tower in towers) == (model == "additive")
    table = tmp_path / "new.csv"
    pd.concat([ROWS[list(ODD)], ODD]).to_csv(table, index=False)
    found = lexfed.predict(run, table, tiers, explain=True)
    assert found.explained is not None
    logits = logits_of(run, table, tiers)
    assert np.abs(logits).max() > 0.1
    np.testing.assert_allclose(found.explained.logits, logits, rtol=0, atol=1e-9)
    plain = lexfed.predict(run, table, tiers)
    np.testing.assert_array_equal(plain.values, found.values)
    assert plain.explained is None
    assert set(found.explained.columns) <= set(ODD)
    assert ("weight" in found.explained.columns) == (tiers == "special")


def test_a_term_depends_on_its_own_column_alone(run_of: RunOf, tmp_path: Path) -> None:
    run, terms = run_of("two", "additive"), []
    columns: tuple[str, ...] = ()
    for name, rows in (("a", ODD), ("b", ODD.assign(age=[5.0, 6.0, 7.0, 8.0]))):
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
        found = lexfed.predict(run, tmp_path / f"{name}.csv", explain=True).explained
        assert found is not None
        terms.append(found.terms)
        columns = found.columns
    changed = np.abs(terms[0] - terms[1]).max(axis=(0, 2)) > 0
    assert [n for n, c in zip(columns, changed, strict=True) if c] == ["age"]


def said(*words: str, capsys: Any, monkeypatch: Any) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["lexfed", *words])
    with pytest.raises(SystemExit) as ended:
        app.main()
    text = capsys.readouterr()
    return int(ended.value.code or 0), text.out, text.err


@pytest.mark.parametrize("target", ["two", "three"])
def test_the_table_and_its_json_say_the_same(
    target: str, run_of: RunOf, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    run, table = run_of(target, "additive"), tmp_path / "odd.csv"
    ODD.to_csv(table, index=False)
    words = ["predict", str(run), str(table), "--explain"]
    code, out, _ = said(*words, capsys=capsys, monkeypatch=monkeypatch)
    assert code == 0
    header, *rows = csv.reader(io.StringIO(out))
    assert len(set(header)) == len(header)
    # A column has the name of the intercept: the model's own gives way.
    assert any(name.startswith("explain::intercept") for name in header)
    code, out, _ = said(*words, "--json", capsys=capsys, monkeypatch=monkeypatch)
    plain = json.loads(out)
    assert code == 0
    found = plain["explain"]
    classes = len(found["outputs"])
    assert classes == {"two": 1, "three": 3}[target]
    own = [i for i, name in enumerate(header) if name.startswith("explain:")]
    values = np.array(rows)[:, own].astype(float).reshape(len(ODD), -1, classes)
    np.testing.assert_array_equal(values[:, 1:], found["contributions"])
    np.testing.assert_array_equal(values[0, 0], found["intercept"])
    logits = values.sum(axis=1)
    shown = np.array(rows)[:, : len(plain["columns"])].astype(float)
    if target == "two":
        proba = 1 / (1 + np.exp(-logits))
    else:
        proba = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shown, proba, rtol=1e-5)


def test_networks_are_refused_with_the_way_out(
    tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    run = explained_run(tmp_path, "two", "mlp:4")
    towers = released_model(run, "finish it")[0].towers
    assert not adds_up(towers[-1])
    words = ["predict", str(run), str(tmp_path / "people.csv"), "--explain"]
    code, out, err = said(*words, capsys=capsys, monkeypatch=monkeypatch)
    assert (code, out) == (2, "")
    assert "is a network (`mlp:4`), whose scores are no sum" in err
    assert 'federation.model = "additive"' in err
    with pytest.raises(RunFolderError, match="is a network"):
        lexfed.predict(run, tmp_path / "people.csv", explain=True)
    # Without the question it has scores as ever.
    assert lexfed.predict(run, tmp_path / "people.csv").explained_columns()[0] == ()


def test_an_untrained_network_beside_a_linear_part_adds_nothing(run_of: RunOf) -> None:
    tower = released_model(run_of("two", "logistic"), "finish it")[0].towers[0]
    beside = Tower(tower.shape, tower.parameters, skip=tower.parameters)
    assert adds_up(beside)
    assert not adds_up(
        Tower(tower.shape, tower.parameters, tower.parameters, scale=np.ones(3))
    )
