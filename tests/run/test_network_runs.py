# SPDX-License-Identifier: Apache-2.0
"""Runs of networks by rule: what people are told, resumption, prediction."""

from collections.abc import Callable
from pathlib import Path

import pytest

import lexfed
from lexfed.cli import display
from lexfed.run import PricedRun, RoundReport
from lexfed.run.results.notes import NETWORKS_LEFT_OUT, notes_of

SMALL = ("rounds = 1", 'model = "mlp:4"')
LARGE = ("rounds = 1", 'rounds = 4\nmodel = "mlp:2"')
GENEROUS = ("epsilon = 3.0", "epsilon = 25.0")


def edited(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def test_people_are_told_that_networks_are_left_out(
    priced_of: Callable[[str], PricedRun], config_text: str
) -> None:
    priced = priced_of(edited(config_text, SMALL))
    assert not priced.programme.networks
    said = "\n".join(display.opening(priced))
    assert said.count(NETWORKS_LEFT_OUT) == 1
    assert NETWORKS_LEFT_OUT in display.plan_table(priced)


@pytest.mark.parametrize(
    "change",
    [
        ("rounds = 1", "rounds = 1"),
        ("rounds = 1", 'model = "mlp:4"\nlearning_rate = 0.5'),
    ],
)
def test_nothing_is_said_where_nothing_is_left_out(
    change: tuple[str, str], priced_of: Callable[[str], PricedRun], config_text: str
) -> None:
    assert notes_of(priced_of(edited(config_text, change))) == ()


def test_an_interrupted_network_continues_where_it_was(config_file: Path) -> None:
    config_file.write_text(edited(config_file.read_text(), LARGE, GENEROUS))
    names = [group["name"] for group in lexfed.plan(config_file)["groups"]]
    assert "network special" in names
    whole = lexfed.train(config_file)
    assert NETWORKS_LEFT_OUT not in whole.notes
    model = (whole.folder / "model.safetensors").read_bytes()
    again = config_file.parent / "again"
    again.mkdir()
    other = again / "lexfed.toml"
    other.write_text(config_file.read_text())
    last = whole.rounds - 2

    def stop(report: RoundReport) -> None:
        if report.round == last:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lexfed.train(other, on_round=stop)
    result = lexfed.train(other, resume=True)
    assert (result.folder / "model.safetensors").read_bytes() == model
    rows = again / "rows.csv"
    rows.write_text("ward,weekday,season,bed_occupancy\nsurgical,mon,winter,0.5\n")
    found = lexfed.predict(result.folder, rows, tiers="non_personal")
    assert 0.0 < float(found.values[0, 0]) < 1.0
