# SPDX-License-Identifier: Apache-2.0
"""`--set`, `--name`, `--seed` and `--out`, and the folder that a run gets."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lexfed.config import load
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.decisions import set_ceiling

Lexfed = Callable[..., Any]
Edit = Callable[..., None]
QUICK = ("--set", "federation.rounds=1")


def test_a_run_is_that_of_its_effective_configuration(
    lexfed: Lexfed, place: Path
) -> None:
    options = ("--set", "budget.epsilon=4", "--set", "federation.model=logistic")
    plan = json.loads(lexfed("plan", *options, "--json").out)
    assert "no problems" in (checked := lexfed("check", *options)).err
    assert "`lexfed plan lexfed.toml --set budget.epsilon=4" in checked.err
    said = lexfed("run", *options, "--name", "second", "--seed", "5", "--json")
    assert said.code == 0, said.err
    result = json.loads(said.out)
    assert result["folder"] == "runs/second"
    assert result["groups"] == plan["groups"]
    kept = load("runs/second/config.toml")
    assert (kept.run.name, kept.run.seed, kept.budget.epsilon) == ("second", 5, 4.0)
    first = json.loads(Path("runs/second/events.jsonl").read_text().splitlines()[0])
    assert first["config"] == kept.digest != load("lexfed.toml").digest
    assert Path("lexfed.toml").read_text().count("epsilon = 8.0") == 1
    # Everything after it works with what was run.
    assert lexfed("verify", "runs/second").code == 0
    assert lexfed("report", "runs/second", "--formats", "html").code == 0
    assert len(lexfed("predict", "runs/second", "patients.csv").out.splitlines()) == 201


def test_what_options_change_is_priced_before_it_runs(
    lexfed: Lexfed, place: Path
) -> None:
    few = lexfed("plan", "--set", "budget.epsilon=0.5")
    assert "of 0.5; nothing was spent" in few.out
    refused = lexfed("run", "--set", "federation.rouns=3")
    assert refused.code == 2
    assert "error: --set federation.rouns: unknown key" in refused.err
    assert "did you mean `rounds`?" in refused.err
    for command in ("check", "plan", "run"):
        said = lexfed(command, "--set", "data.sites.names=['north']", "--set", "x")
        assert said.code == 2
        assert "--set x: expected `KEY=VALUE`" in said.err
    model = lexfed("run", "--set", "federation.model=nowhere:make")
    assert "error: --set federation.model:" in model.err
    assert not Path("runs").exists()


def test_a_folder_that_exists_gets_a_number(lexfed: Lexfed, place: Path) -> None:
    for number, name in enumerate(("visits", "visits-2", "visits-3"), start=1):
        said = lexfed("run", *QUICK)
        assert said.code == 0, said.err
        assert f"Run folder: runs/{name}\n" in said.err
        numbered = f"`runs/visits` exists, so this run is in `runs/{name}`" in said.err
        assert numbered == (number > 1)
        assert lexfed("verify", f"runs/{name}").code == 0
    Path("runs/other").mkdir()
    Path("runs/other/thesis").write_text("mine")
    said = lexfed("run", *QUICK, "--out", "runs/other")
    assert said.code == 0
    assert "Run folder: runs/other-2" in said.err
    assert [path.name for path in Path("runs/other").iterdir()] == ["thesis"]
    Path("runs/empty").mkdir()
    assert lexfed("run", *QUICK, "--out", "runs/empty").code == 0
    assert not Path("runs/empty-2").exists()
    nameless = lexfed("run", *QUICK, "--out", ".")
    assert nameless.code == 2
    assert "has no name that a number could be added to" in nameless.err


def interrupted(lexfed: Lexfed, monkeypatch: pytest.MonkeyPatch, *words: str) -> str:
    """Stop a run after its second round; return the command that continues it."""

    def stop(*_: object) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("lexfed.run.results.metrics.RoundFiles.add", stop)
        said = lexfed("run", *words)
    assert said.code == 130, said.err
    hint: str = said.err.split("continue with `")[1].split("`")[0]
    return hint


def test_resume_finds_the_interrupted_run_of_its_configuration(
    lexfed: Lexfed, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lexfed("run").code == 0
    assert lexfed("run", "--set", "budget.epsilon=4").code == 0
    again = interrupted(lexfed, monkeypatch)
    assert again == "lexfed run lexfed.toml --out runs/visits-3 --resume"
    said = lexfed("run", "--resume")
    assert said.code == 0, said.err
    assert "Run folder: runs/visits-3" in said.err
    # All are finished: the last of this configuration is what is meant.
    said = lexfed("run", "--resume")
    assert "`runs/visits-3` is finished already; nothing was spent" in said.err
    said = lexfed("run", "--resume", "--set", "budget.epsilon=4")
    assert "`runs/visits-2` is finished already" in said.err
    said = lexfed("run", "--resume", "--set", "budget.epsilon=3")
    assert said.code == 2
    assert "no run to continue: `runs/visits`, `runs/visits-2`" in said.err
    said = lexfed("run", "--resume", "--out", "runs/visits-2")
    assert said.code == 2
    assert "they differ in `budget.epsilon`" in said.err


def test_the_hint_of_an_interruption_continues_it(
    lexfed: Lexfed, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--set", "budget.epsilon=4", "--name", "second", "--out", "runs/here")
    again = interrupted(lexfed, monkeypatch, *words)
    assert again == (
        "lexfed run lexfed.toml --set budget.epsilon=4 --set "
        "'run.name=\"second\"' --out runs/here --resume"
    )
    said = lexfed("run", *words, "--resume")
    assert said.code == 0, said.err
    assert "Run folder: runs/here\n" in said.err


def test_several_interrupted_runs_are_told_apart_by_people(
    lexfed: Lexfed, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(lexfed, monkeypatch)
    interrupted(lexfed, monkeypatch)
    said = lexfed("run", "--resume")
    assert said.code == 2
    assert "`runs/visits`, `runs/visits-2` are interrupted runs" in said.err
    assert "name the one to continue with `--out`" in said.err
    assert lexfed("run", "--resume", "--out", "runs/visits-2").code == 0
    assert lexfed("run", "--resume").code == 0
    # A copy whose journal cannot be read is nobody's.
    shutil.copytree("runs/visits", "runs/visits-7")
    Path("runs/visits-7/events.jsonl").write_text("?\n")
    assert lexfed("run", "--resume").code == 0


def test_keys_stay_outside_the_run_folder(lexfed: Lexfed, place: Path) -> None:
    said = lexfed("run", *QUICK, "--out", ".", "--set", "audit.keys=runs/x/keys")
    assert said.code == 2
    said = lexfed("run", *QUICK, "--out", "runs/x", "--set", "audit.keys=runs/x/keys")
    assert said.code == 2
    assert "--set audit.keys: `audit.keys`: expected a folder outside" in said.err
    assert not Path("runs").exists()


REFUSED = {
    "budget": (
        ("--set", "budget.allocation=inverse", "--set", "budget.caps.special=0.001"),
        2,
    ),
    "configuration": (("--set", "budget.epsilon=0"), 2),
    "data": (("--set", "data.source=gone.csv"), 2),
    "statement": (("--set", "audit.policy=gone.policy"), 2),
    "name": (("--name", "../x"), 2),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_run_leaves_nothing(lexfed: Lexfed, place: Path, name: str) -> None:
    words, code = REFUSED[name]
    before = sorted(place.rglob("*"))
    said = lexfed("run", *words, "--json")
    assert said.code == code, said.err
    assert json.loads(said.out)["exit_code"] == code
    assert sorted(place.rglob("*")) == before


def test_a_ceiling_that_is_reached_leaves_no_folder(
    lexfed: Lexfed, place: Path, edit: Edit
) -> None:
    edit(("test = true\n", ""))
    assert lexfed("run", *QUICK).code == 0
    [north] = Path("ledgers").glob("*north*")
    ledger = LastingLedger.open(north)
    set_ceiling(ledger, "label", Ceiling.of(0.01, 1e-6), "enough", raising=True)
    ledger.close()
    before = sorted(place.rglob("*"))
    for command in ("check", "run"):
        said = lexfed(command, *QUICK, "--json")
        assert said.code == (3 if command == "run" else 2), said.err
        assert "ledger of `north` refuses run `visits`" in said.err
        assert json.loads(said.out)["hint"]
    assert sorted(place.rglob("*")) == before
