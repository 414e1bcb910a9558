# SPDX-License-Identifier: Apache-2.0
"""A model of one's own is tried before anything is charged."""

from pathlib import Path

import pandas as pd
import pytest
import torch
from torch import Tensor, nn
from typer.testing import CliRunner

import lexfed
from lexfed.cli.app import app
from lexfed.errors import ConfigError
from lexfed.python.settings import Settings


class Mixing(nn.Module):
    """Looks at the other records of its batch."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.last = nn.Linear(inputs, outputs)

    def forward(self, rows: Tensor) -> Tensor:
        return self.last(rows - rows.mean(0))  # type: ignore[no-any-return]


class Gated(Mixing):
    """Is a function of one record, of a form that is not known."""

    def forward(self, rows: Tensor) -> Tensor:
        return self.last(rows) * self.last(rows).sigmoid()  # type: ignore[no-any-return]


def small(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(nn.Linear(inputs, 8), nn.Tanh(), nn.Linear(8, outputs))


def normalised(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(nn.Linear(inputs, 8), nn.BatchNorm1d(8), nn.Linear(8, outputs))


def too_wide(inputs: int, outputs: int) -> nn.Module:
    return nn.Linear(inputs, outputs + 1)


def fixed(inputs: int, outputs: int) -> nn.Module:
    return nn.Linear(16, outputs)


def failing(inputs: int, outputs: int) -> nn.Module:
    raise RuntimeError("no weights here")


def nothing(inputs: int, outputs: int) -> object:
    return None


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Mixing, "mixes records"),
        (normalised, "BatchNorm1d"),
        (too_wide, "maps [2, 16] to [2, 2], not [2, 1]"),
        (fixed, "failed on 1 slots"),
        (failing, "no weights here"),
        (nothing, "returned NoneType, not a torch.nn.Module"),
        ("missing_models:small", "cannot import: No module named 'missing_models'"),
        ("pathlib:small", "cannot import"),
        ("missing models:small", "is not `module:factory`"),
        ("logistics", "is not a model"),
    ],
)
def test_what_is_wrong_is_said(model: object, said: str) -> None:
    found = lexfed.check_model(model)  # type: ignore[arg-type]
    assert not found.ok
    assert said in str(found)
    assert said in found._repr_html_().replace("&#x27;", "'")


def test_what_can_be_trained_is_described() -> None:
    found = lexfed.check_model(small, outputs=3)
    assert found.ok
    assert found.weights == {1: 43, 2: 51, 16: 163}
    assert found.slow == ""
    assert "weights: 43 with 1 inputs" in str(found)
    slow = lexfed.check_model(Gated, inputs=(4,))
    assert slow.ok
    assert "record by record" in str(slow)
    assert "Can be trained privately" in slow._repr_html_()


def test_the_generator_of_the_caller_is_left_alone() -> None:
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    lexfed.check_model(small)
    assert torch.equal(torch.rand(1), expected)


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(ConfigError, match="expected a name or a factory, got a `int`"):
        lexfed.check_model(3)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="expected a number at least"):
        lexfed.check_model(small, inputs=())


def test_a_run_that_names_it_is_checked_and_trained(
    place: Path,
    patients: pd.DataFrame,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("own_models_here.py").write_text(
        "from torch import nn\n"
        "def small(inputs, outputs):\n"
        "    return nn.Sequential(nn.Linear(inputs, 4), nn.ELU(),\n"
        "        nn.Linear(4, outputs))\n"
        "def mixing(inputs, outputs):\n"
        "    return nn.Sequential(nn.Linear(inputs, 4), nn.BatchNorm1d(4),\n"
        "        nn.Linear(4, outputs))\n"
    )
    monkeypatch.syspath_prepend(place)
    settings["more"] = {
        "federation.model": "own_models_here:mixing", "federation.rounds": 1
    }  # fmt: skip
    assert "BatchNorm1d" in str(lexfed.check(patients, **settings))
    assert not (place / "runs").exists()
    settings["more"] = {**settings["more"], "federation.model": "own_models_here:small"}
    assert lexfed.check(patients, **settings).ok
    result = lexfed.train(patients, **settings)
    text = (result.folder / "config.toml").read_text()
    patients.to_csv("rows.csv", index=False)
    text = text.replace("frame:table", "rows.csv").replace(":small", ":mixing")
    Path("lexfed.toml").write_text(text)
    said = CliRunner().invoke(app, ["check", "lexfed.toml"])
    assert isinstance(said.exception, ConfigError)
    assert "lexfed.toml:" in str(said.exception)
    assert "BatchNorm1d" in str(said.exception)
