# SPDX-License-Identifier: Apache-2.0
"""A run that was interrupted and then damaged: it is refused, or it ends sound.

`LEXFED_DAMAGE=all pytest tests/run/test_damage.py -s -k every` tries every file with
every damage and prints the counts as one JSON line; by default a fixed sample is tried.
"""

import json
import os
import random
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from lexfed.audit.verify import verify_run
from lexfed.errors import AuditError, LexfedError, RunFolderError
from lexfed.run import PricedRun, finished_result, resume, start, train, train_part
from lexfed.run import folder as folders
from support.configurations import configuration
from support.run.damage import Case, cases, inflict

PricedOf = Callable[..., PricedRun]
SAMPLE = 20
SHORT = {"federation.engine": "inprocess", "privacy.mechanism": "uniform"}
TEXT = configuration(SHORT)


def contents(path: Path) -> dict[str, bytes]:
    """Return every file of a folder that can be read, less the lock."""
    return {
        str(file.relative_to(path)): file.read_bytes()
        for file in path.rglob("*")
        if file.is_file() and not file.is_symlink() and file.name != "lock"
    }


class World:
    """A run between two rounds, with keys and pins, and the same run a round before."""

    def __init__(self, priced: PricedRun, text: str, place: Path, moment: str) -> None:
        self.priced, self.text, self.place = priced, text, place
        self.now, self.before = place / "now", place / "before"
        run = self.now / "run"
        self.now.mkdir(parents=True)
        train_part(priced, start(priced, run, text), 1)
        shutil.copytree(self.now, self.before)
        if moment == "finished":
            train(priced, resume(priced, run, text))
        elif moment == "between rounds":
            train_part(priced, resume(priced, run, text), 1)
        else:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(*STOPS[moment])
                with pytest.raises(RunFolderError, match="killed"):
                    train_part(priced, resume(priced, run, text), 1)

    def outcome(self, case: Case | None) -> str:
        """Damage a copy, resume it, and say how that ended."""
        shutil.rmtree(self.place / "try", ignore_errors=True)
        shutil.copytree(self.now, self.place / "try")
        run = self.place / "try" / "run"
        if case is not None and not inflict(case, run, self.before / "run"):
            return "same"
        before, refusal = contents(run), None
        try:
            if finished_result(self.priced.config, run) is None:
                opened = resume(self.priced, run, self.text)
                before = {}
                train(self.priced, opened)
        except LexfedError as error:
            refusal = error
        if refusal is not None:
            assert refusal.exit_code in (1, 2), refusal
            assert before, f"refused after it was opened: {refusal}"
            assert contents(run) == before, "written before it was refused"
            return "refused"
        verdict = verify_run(run)
        assert verdict.ok, [str(check) for check in verdict.checks]
        return "went on"


def killed(*_: object) -> None:
    raise RunFolderError("killed")


STOPS = {
    "charged": (folders.RunFolder, "stage", killed),
    "logged": (folders, "publish_file", killed),
}


def every(world: World) -> Counter[str]:
    found = list(cases(world.now / "run"))
    if os.environ.get("LEXFED_DAMAGE") != "all":
        found = random.Random(19).sample(found, SAMPLE)
    counts: Counter[str] = Counter()
    for case in found:
        try:
            counts[world.outcome(case)] += 1
        except Exception as error:
            error.add_note(str(case))
            raise
    return counts


@pytest.mark.parametrize("moment", ["between rounds", "charged", "logged", "finished"])
def test_every_damage_is_refused_or_harmless(
    tmp_path: Path, priced_of: PricedOf, moment: str
) -> None:
    world = World(priced_of(TEXT), TEXT, tmp_path, moment)
    assert world.outcome(None) == "went on"  # control: not damaged
    counts = every(world)
    assert counts["refused"] > 0
    sys.stdout.write(json.dumps({"moment": moment, **counts}) + "\n")


@pytest.fixture
def world(tmp_path: Path, priced_of: PricedOf) -> World:
    return World(priced_of(TEXT), TEXT, tmp_path, "between rounds")


def edited(run: Path, name: str, old: str, new: str) -> None:
    text = (run / name).read_text()
    assert old in text
    (run / name).write_text(text.replace(old, new, 1))


def test_one_newline_in_the_tags_is_named(world: World) -> None:
    run = world.now / "run"
    with (run / "tags.json").open("a") as file:
        file.write("\n")
    before = contents(run)
    with pytest.raises(AuditError, match=r"files: .*`tags\.json` is not the file"):
        resume(world.priced, run, world.text)
    assert contents(run) == before


SIGMA = '"sigma": '


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("events.jsonl", SIGMA, SIGMA + "1", "round 1 is not one of this programme"),
        ("events.jsonl", '"stage": 0', '"stage": 9', "is not one of this programme"),
        ("events.jsonl", '"type": "charge"', '"type": "charges"', "not an event"),
        ("sites/2.jsonl", SIGMA, SIGMA + "1", "holds a charge that is not one of"),
    ],
)
def test_a_journal_that_says_something_else(
    world: World, name: str, old: str, new: str, said: str
) -> None:
    edited(world.now / "run", name, old, new)
    with pytest.raises(LexfedError, match=said):
        resume(world.priced, world.now / "run", world.text)


def add(run: Path, row: object) -> None:
    with (run / "events.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"type": "end", "rounds": 2, "stopped": ""}, "over, and the log does not"),
        ({"type": "lost", "round": 1}, "disagree on which rounds were lost"),
    ],
)
def test_a_journal_that_says_more_than_the_log(
    world: World, row: object, said: str
) -> None:
    run = world.now / "run"
    add(run, row)
    with pytest.raises(AuditError, match=said):
        resume(world.priced, run, world.text)
    if row == {"type": "end", "rounds": 2, "stopped": ""}:
        with pytest.raises(AuditError, match=said):
            finished_result(world.priced.config, run)


def test_a_journal_that_is_gone(world: World) -> None:
    run = world.now / "run"
    (run / "events.jsonl").write_text("")
    with pytest.raises(AuditError, match="the log knows of rounds, and the journal of"):
        resume(world.priced, run, world.text)


def test_files_that_are_gone_or_too_many(world: World) -> None:
    run = world.now / "run"
    state = (run / "state.safetensors").read_bytes()
    (run / "state.safetensors").unlink()
    (run / "plan.json").unlink()
    with pytest.raises(AuditError, match=r"`plan\.json` is missing; `state"):
        resume(world.priced, run, world.text)
    fresh = world.place / "fresh" / "run"
    start(world.priced, fresh, world.text).close()
    (fresh / "state.safetensors").write_bytes(state)
    with pytest.raises(AuditError, match="no round that it could hold"):
        resume(world.priced, fresh, world.text)


def test_a_state_of_a_round_before(world: World) -> None:
    run = world.now / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*STOPS["charged"])
        with pytest.raises(RunFolderError, match="killed"):
            train(world.priced, resume(world.priced, run, world.text))
    shutil.copy(world.before / "run" / "state.safetensors", run)
    with pytest.raises(AuditError, match="is not the state after round 2"):
        resume(world.priced, run, world.text)


def test_a_site_that_forgot_what_it_signed_for(world: World) -> None:
    run = world.now / "run"
    lines = (run / "sites/1.jsonl").read_text().splitlines(keepends=True)
    (run / "sites/1.jsonl").write_text("".join(lines[:-1]))
    with pytest.raises(AuditError, match=r"1\.jsonl` holds fewer charges than"):
        resume(world.priced, run, world.text)


def test_a_folder_behind_a_link(world: World) -> None:
    run = world.now / "run"
    (run / "sites").rename(world.now / "elsewhere")
    (run / "sites").symlink_to(world.now / "elsewhere")
    (run / "sealed").mkdir()
    (run / "sealed" / "round-1.json").symlink_to("/dev/zero")
    with pytest.raises(AuditError) as refused:
        resume(world.priced, run, world.text)
    assert "`sites` is not a folder" in refused.value.message
    assert "`sealed/round-1.json` is not a plain file" in refused.value.message


def test_a_journal_that_leads_elsewhere(world: World) -> None:
    edited(world.now / "run", "events.jsonl", '"base": ".."', '"base": "."')
    with pytest.raises(RunFolderError, match="was started in"):
        resume(world.priced, world.now / "run", world.text)


def test_set_ups_that_a_journal_forgot(tmp_path: Path, priced_of: PricedOf) -> None:
    masked = {"privacy.trust": "distributed", "privacy.accountant": "rdp"}
    text = configuration({**SHORT, **masked})
    priced, run = priced_of(text), tmp_path / "run"
    train_part(priced, start(priced, run, text), 1)
    edited(run, "events.jsonl", '"epoch": 1', '"epoch": 7')
    with pytest.raises(AuditError, match="does not know all set-ups of masks"):
        resume(priced, run, text)


KINDS: dict[str, dict[str, object]] = {
    "clients": {
        "data.generator.sites": 12,
        "budget": {"epsilon": 8.0, "delta": 1e-3, "unit": "client"},
        "federation.rounds": 4,
        "federation.sampling_rate": 0.5,
        "federation.local_steps": 2,
    },
    "adapting": {
        "federation.rounds": 4,
        "federation.learning_rate": 1.0,
        "privacy": None,
        "adapt": {"noise": "convergence", "guarantee": "filter"},
    },
    "unprotected": {"privacy.mechanism": "none"},
    "simulated": {"federation.engine": "simulation"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_runs_of_every_kind_go_on_where_nothing_is_damaged(
    tmp_path: Path, priced_of: PricedOf, kind: str
) -> None:
    text, run = configuration({**SHORT, **KINDS[kind]}), tmp_path / "run"
    priced = priced_of(text)
    train_part(priced, start(priced, run, text), 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*STOPS["charged"])
        with pytest.raises(RunFolderError, match="killed"):
            train(priced, resume(priced, run, text))
    train_part(priced, resume(priced, run, text), 1)
    train(priced, resume(priced, run, text))
    assert verify_run(run).ok
    assert finished_result(priced.config, run) is not None
