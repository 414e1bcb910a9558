# SPDX-License-Identifier: Apache-2.0
"""Runs that are sketched: what they say, that both verifiers pass, how they go on."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lexfed.errors import ConfigError
from lexfed.federation.coordinator.learner import Learner, Progress
from lexfed.models import towers
from lexfed.run import RunResult, resume, start, train_part
from lexfed.run.purchases.profile_purchase import buy_profile
from lexfed.run.results.notes import sketch_lines, sketch_notes
from support.audit.two_verifiers import both, failed
from support.run.sketched_files import (
    TRUST,
    priced_of,
    ran,
    write_visits,
    written,
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunResult]:
    """The usual configuration in a folder, and its run beside it in `run`."""
    place = tmp_path_factory.mktemp("whole")
    path = written(place)
    return path, ran(path, place / "run")


@pytest.mark.parametrize("trust", TRUST)
def test_every_trust_is_verified(tmp_path: Path, trust: str) -> None:
    tables = f'\n[privacy]\n{TRUST[trust]}\n[federation]\nengine = "inprocess"\n'
    result = ran(written(tmp_path, tables=tables), tmp_path / "run")
    assert result.claim is not None
    assert result.claim.epsilon <= 16.0
    names = [row.release.release().name for row in result.claim.releases]
    assert names[0] == "persons at sites"
    assert "columns up to personal" in names
    verdict, rows = both(tmp_path / "run")
    assert verdict.ok
    assert not failed(rows)


def test_persons_at_two_sites_are_named_and_weighed(
    whole: tuple[Path, RunResult],
) -> None:
    """Of a and b five in six are at both; c shares nobody."""
    path, result = whole
    said = [note for note in result.sketched if "are at other sites too" in note]
    assert [note[:8] for note in said] == ["site `a`", "site `b`"]
    [weights] = [
        note for note in result.sketched if note.startswith("weights of sites")
    ]
    assert weights.endswith("`c` 1")
    assert not any("has drifted" in note for note in result.sketched)
    kept = json.loads((path.parent / "run" / "result.json").read_text())["sketched"]
    assert list(result.sketched) == kept


AT_ONE = ("sites_per_person = 2", "sites_per_person = 1")


def test_without_common_persons_nothing_is_said(tmp_path: Path) -> None:
    write_visits(tmp_path, common=0)
    result = ran(written(tmp_path, AT_ONE), tmp_path / "run")
    assert not any("are at other sites" in note for note in result.sketched)
    assert not any(note.startswith("weights") for note in result.sketched)


def test_who_is_declared_to_be_at_one_site_is_not_covered_at_two(
    whole: tuple[Path, RunResult],
) -> None:
    """In one file keys are compared; of sites elsewhere a sketch alone tells."""
    path, _ = whole
    content = (path.parent / "run" / "state.safetensors").read_bytes()
    model, _, memory = towers.from_bytes(content)
    priced = priced_of(path)
    once = replace(priced, budget=replace(priced.budget, sites_per_person=1))
    said = [
        note
        for note in sketch_notes(once, Progress(0, model, memory))
        if "are at other sites too" in note
    ]
    assert len(said) == 2
    assert all("what is claimed does not hold for them" in note for note in said)


def test_a_site_that_differs_is_named(tmp_path: Path) -> None:
    write_visits(tmp_path)
    path = tmp_path / "visits.csv"
    head, *rows = path.read_text().splitlines()
    moved = []
    for row in rows:
        cells = row.split(",")
        if cells[1] == "c":
            cells[2] = "1"
        moved.append(",".join(cells))
    path.write_text("\n".join([head, *moved]) + "\n")
    result = ran(written(tmp_path), tmp_path / "run")
    said = [note for note in result.sketched if "is spread otherwise" in note]
    assert any("column `bed` is spread otherwise at site `c`" in note for note in said)
    assert all("`bed`" in note for note in said)


def test_a_plan_says_what_is_sketched(tmp_path: Path) -> None:
    assert sketch_lines(priced_of(written(tmp_path))) == [
        "persons at sites, columns up to non_personal, columns up to personal: 30% of "
        "their towers' budgets",
        "weights of sites follow overlap, between a half and one",
    ]
    quiet = written(tmp_path, ('weights = "overlap"', ""))
    assert len(sketch_lines(priced_of(quiet))) == 1
    off = written(tmp_path, ('share = 0.3\nweights = "overlap"', "share = 0.0"))
    assert sketch_lines(priced_of(off)) == []


def test_the_same_look_again_is_not_charged_and_verified(tmp_path: Path) -> None:
    """The label follows the bed, so the model leans on nothing else."""
    write_visits(tmp_path)
    path = tmp_path / "visits.csv"
    head, *rows = path.read_text().splitlines()
    cells = [row.split(",") for row in rows]
    told = [[*row[:-1], str(int(int(row[2]) > 20))] for row in cells]
    path.write_text("\n".join([head, *map(",".join, told)]) + "\n")
    once = written(tmp_path, ("share = 0.3", "share = 0.3\ncolumns = 1"))
    result = ran(once, tmp_path / "run")
    [line] = [line for line in result.sketched if "not released" in line]
    assert line.startswith("`columns up to personal`")
    events = (tmp_path / "run" / "events.jsonl").read_text().splitlines()
    charged = [row for row in map(json.loads, events) if row["type"] == "charge"]
    assert "columns up to personal" not in {row["release"]["name"] for row in charged}
    verdict, checked = both(tmp_path / "run")
    assert verdict.ok
    assert not failed(checked)


def test_what_was_not_released_is_named(tmp_path: Path) -> None:
    """As at the end of a run that lost, or did not ask, everything."""
    priced = priced_of(written(tmp_path))
    begun = Learner(priced.programme).start()
    ended = replace(begun, stage=len(priced.programme.stages))
    assert sketch_notes(priced, begun) == ()
    assert [note.partition(":")[0] for note in sketch_notes(priced, ended)] == [
        "`persons at sites`",
        "`columns up to non_personal`",
        "`columns up to personal`",
    ]


@pytest.mark.no_cover
def test_a_run_goes_on_as_if_it_had_not_stopped(
    tmp_path: Path, whole: tuple[Path, RunResult]
) -> None:
    path, uninterrupted = whole
    priced, again = priced_of(path), priced_of(path)
    text = path.read_text()
    begun = start(priced, tmp_path / "parts", text, path.parent)
    assert train_part(priced, begun, 1) is None
    for _ in range(60):
        opened = resume(again, tmp_path / "parts", text, path.parent)
        result = train_part(priced, opened, 9)
        if result is not None:
            break
    assert result is not None
    assert result.sketched == uninterrupted.sketched
    one, other = (
        folder / "model.safetensors"
        for folder in (path.parent / "run", tmp_path / "parts")
    )
    assert one.read_bytes() == other.read_bytes()


def test_every_round_is_refused_with_its_cost(tmp_path: Path) -> None:
    path = written(tmp_path, ("share = 0.3", "share = 0.3\nevery = 0"))
    with pytest.raises(ConfigError, match=r"in each of \d+ rounds would cost"):
        priced_of(path)


@pytest.mark.no_cover
def test_a_drift_since_the_profile_is_warned_of(tmp_path: Path) -> None:
    """Cells of age move by half of all persons; without it nothing is said, which is
    wrong with probability 5 % over seeds, and the seed is fixed.
    """
    path = written(tmp_path)
    buy_profile(path, 6.0, tmp_path / "p")
    used = written(
        tmp_path,
        ("[data]\n", '[data]\nprofile = "p"\n'),
        ('source = "visits.csv"', 'source = "later.csv"'),
    )
    lines = (tmp_path / "visits.csv").read_text().splitlines()
    for shift, drifted in ((0, False), (15, True)):
        moved = [line.split(",") for line in lines[1:]]
        for row in moved:
            row[2] = str(min(39, int(row[2]) + shift))
        (tmp_path / "later.csv").write_text(
            "\n".join([lines[0], *map(",".join, moved)]) + "\n"
        )
        result = ran(used, tmp_path / f"run{shift}")
        said = [note for note in result.sketched if "has drifted since" in note]
        assert bool(said) == drifted
        assert all(note.startswith("column `bed`") for note in said)
        assert not failed(both(tmp_path / f"run{shift}")[1])
