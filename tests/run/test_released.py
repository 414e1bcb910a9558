# SPDX-License-Identifier: Apache-2.0
"""A model is used only if it is the one that its run has logged."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import lexfed
from lexfed.cli import app
from lexfed.errors import AuditError, RunFolderError
from lexfed.run import PricedRun, start, train, train_part
from lexfed.run.earlier_runs import released_model
from support.configurations import configuration
from support.run.damage import DAMAGES, Case, inflict

PricedOf = Callable[..., PricedRun]
ROWS = "ward,weekday,season,bed_occupancy\nsurgical,mon,winter,0.5\n"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, priced_of: PricedOf) -> Path:
    place = tmp_path_factory.mktemp("released")
    priced = priced_of()
    train(priced, start(priced, place / "run", "version = 1\n"))
    (place / "rows.csv").write_text(ROWS)
    return place


@pytest.fixture
def place(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "copy"))


def predict(place: Path) -> object:
    return lexfed.predict(place / "run", place / "rows.csv", "non_personal").values


def test_one_flipped_bit_of_the_model_is_noticed(place: Path) -> None:
    predict(place)  # control
    model = place / "run" / "model.safetensors"
    content = bytearray(model.read_bytes())
    content[-1] ^= 64  # the sign or size of a weight: a model that can be read
    model.write_bytes(content)
    with pytest.raises(AuditError, match=r"model\.safetensors` is not the file that"):
        predict(place)


@pytest.mark.parametrize("name", ["model.safetensors", "encoding.json"])
@pytest.mark.parametrize("damage", [d for d in DAMAGES if d != "an older version"])
def test_damage_is_refused_in_words(
    place: Path,
    name: str,
    damage: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert inflict(Case(name, damage), place / "run")
    words = ["lexfed", "predict", str(place / "run"), str(place / "rows.csv")]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        app.main()
    assert ended.value.code == (2 if damage == "deleted" else 1)
    said = capsys.readouterr()
    assert said.out == ""
    assert "error:" in said.err


def test_a_log_that_does_not_verify_names_no_model(place: Path) -> None:
    checkpoint = place / "run" / "log" / "checkpoint"
    checkpoint.write_bytes(checkpoint.read_bytes().replace(b"\n\n", b"\n0\n\n", 1))
    with pytest.raises(AuditError):
        predict(place)


def test_a_run_that_is_not_finished_has_no_model(
    tmp_path: Path, config_text: str, priced_of: PricedOf
) -> None:
    priced, run = priced_of(), tmp_path / "run"
    train_part(priced, start(priced, run, config_text), 1)
    (run / "model.safetensors").write_bytes(b"planted")
    with pytest.raises(RunFolderError, match="holds no trained model"):
        released_model(run, "finish it")


def test_without_privacy_a_damaged_model_is_an_error_too(
    tmp_path: Path, priced_of: PricedOf
) -> None:
    text = configuration({"privacy.mechanism": "none"})
    priced, run = priced_of(text), tmp_path / "run"
    train(priced, start(priced, run, text))
    released_model(run, "")  # control
    model = run / "model.safetensors"
    model.write_bytes(model.read_bytes()[:-1])
    with pytest.raises(AuditError, match="no model that can be read"):
        released_model(run, "")
    model.unlink()
    with pytest.raises(RunFolderError, match="holds no trained model"):
        released_model(run, "")
    os.mkfifo(model)
    with pytest.raises(AuditError, match="not a plain file"):
        released_model(run, "")
