# SPDX-License-Identifier: Apache-2.0
"""The commands as functions, as a README shows them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import lexfed
from lexfed.errors import ConfigError, DataError, RunFolderError
from lexfed.run import PricedRun, load_population
from lexfed.run.driver.rehearsal import compare
from lexfed.tiers import Tier


def test_a_few_lines(config_file: Path) -> None:
    plan = lexfed.plan(config_file)
    rounds: list[int] = []
    result = lexfed.train(config_file, on_round=lambda r: rounds.append(r.round))
    assert result.to_json()["claims"] == plan["claims"]
    assert rounds == list(range(1, result.rounds + 1))
    assert result.folder == config_file.parent / "runs" / "small"
    assert lexfed.train(config_file, resume=True).metrics == result.metrics
    second = lexfed.train(config_file)
    assert second.folder == config_file.parent / "runs" / "small-2"
    assert json.loads((result.folder / "plan.json").read_text()) == plan


def test_what_runs_elsewhere_is_not_started_here(config_file: Path) -> None:
    text = config_file.read_text().replace('"simulation"', '"flare"')
    config_file.write_text(text)
    with pytest.raises(ConfigError, match="between organisations") as refused:
        lexfed.train(config_file)
    assert "lexfed deploy run" in refused.value.hint
    assert not (config_file.parent / "runs").exists()


def test_more_rounds_can_be_priced(config_file: Path) -> None:
    groups = lexfed.plan(str(config_file), rounds=4)["groups"]
    assert {g["rounds"] for g in groups if g["name"].startswith("tower")} == {4}


def test_predictions_up_to_a_tier(config_file: Path, tmp_path: Path) -> None:
    result = lexfed.train(config_file)
    rows = tmp_path / "rows.csv"
    rows.write_text("ward,weekday,season,bed_occupancy\nsurgical,mon,winter,0.5\n")
    found = lexfed.predict(result.folder, rows, tiers="non_personal")
    assert found.columns == ("p_yes",)
    assert found.values.shape == (1, 1)
    with pytest.raises(DataError, match="is not in this file"):
        lexfed.predict(result.folder, rows, Tier.SPECIAL)
    with pytest.raises(ConfigError, match="unknown tier"):
        lexfed.predict(result.folder, rows, "secret")
    with pytest.raises(ConfigError, match="never used by a model"):
        lexfed.predict(result.folder, rows, Tier.IDENTIFIER)


def test_a_model_without_a_low_tower(config_file: Path, tmp_path: Path) -> None:
    text = config_file.read_text() + '[privacy]\nmechanism = "uniform"\n'
    config_file.write_text(text)
    result = lexfed.train(config_file)
    with pytest.raises(RunFolderError, match="no tower that reads only tiers up to"):
        lexfed.predict(result.folder, tmp_path / "rows.csv", "personal")
    with pytest.raises(RunFolderError, match="holds no trained model"):
        lexfed.predict(tmp_path, tmp_path / "rows.csv")


def test_names_that_are_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute `nothing`"):
        lexfed.nothing  # noqa: B018 - reading it is the test


def test_an_interrupted_run_continues(config_file: Path) -> None:
    def stop(report: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lexfed.train(config_file, on_round=stop)
    assert lexfed.train(config_file, resume=True).rounds == 7


PARTITIONS = {
    "iid": "{ count = 4 }",
    "dirichlet": '{ count = 4, partition = "dirichlet", alpha = 0.5 }',
}


@pytest.mark.parametrize("name", PARTITIONS)
def test_simulated_sites(config_file: Path, name: str) -> None:
    text = config_file.read_text()
    text = text.replace(
        'source = "synthetic:hospital"',
        f'source = "sklearn:breast_cancer"\nsites = {PARTITIONS[name]}',
    ).replace("[data.generator]\npatients = 240\nsites = 3\n", "")
    config_file.write_text(text)
    assert lexfed.train(config_file).metrics["auc"] > 0.5


@pytest.mark.parametrize("weighting", ["units", "sites"])
def test_weighting(config_file: Path, weighting: str) -> None:
    text = config_file.read_text().replace(
        "delta = 1e-5", 'delta = 1e-5\nneighbours = "replace-one"'
    )
    config_file.write_text(f'{text}weighting = "{weighting}"\n')
    assert lexfed.plan(config_file)["neighbours"] == "replace-one"
    assert lexfed.train(config_file).rounds > 0


def test_clients_and_no_test_rows(config_file: Path) -> None:
    text = config_file.read_text()
    text = text.replace("delta = 1e-5", 'delta = 1e-3\nunit = "client"')
    text = text.replace("[data.generator]", "test_size = 0.0\n[data.generator]")
    config_file.write_text(text)
    result = lexfed.train(config_file)
    assert result.metrics == {}
    assert (result.folder / "metrics.csv").read_text().startswith("round,stage\n1,")


def test_a_comparison_has_intervals(
    priced_of: Callable[..., PricedRun], config_text: str
) -> None:
    config = priced_of(config_text).config
    found = compare(config, ["none", "cascade"], seeds=2)
    for mean, half in found.values():
        assert 0.0 <= mean <= 1.0
        assert half >= 0.0


def test_the_number_of_persons_is_private(config_file: Path) -> None:
    # The configuration asks for `units`; without them nothing may be counted.
    from lexfed.config import load

    config = load(config_file)
    data = config.data.model_copy(update={"source": "rows.csv", "units": None})
    with pytest.raises((ConfigError, DataError)):
        load_population(config.model_copy(update={"data": data}), config_file.parent)
