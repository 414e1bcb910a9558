# SPDX-License-Identifier: Apache-2.0
"""Ways to trust a damaged run folder, each noticed by a check that the code passes."""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from lexfed import plain_files
from lexfed.audit.log import logged_files
from lexfed.audit.log.evidence import Evidence, read_evidence
from lexfed.audit.verify import files, verify_run
from lexfed.config import loads
from lexfed.errors import AuditError, LexfedError
from lexfed.run import (
    PricedRun,
    earlier_runs,
    load_population,
    price,
    resume,
    resumption,
    start,
    train_part,
)
from lexfed.run.audit_log import opening as logs
from lexfed.run.driver import open_run
from lexfed.run.earlier_runs import released_model
from support.audit.worlds import fake_run
from support.configurations import configuration
from support.mutant import Mutant, Patch, both_tests

TEXT = configuration(
    {
        "data.generator": {"patients": 120, "sites": 2},
        "privacy.mechanism": "uniform",
        "federation.engine": "inprocess",
    }
)


@cache
def small() -> PricedRun:
    config = loads(TEXT)
    return price(config, load_population(config, Path()))


@cache
def made(rounds: int | None) -> Path:
    """Return a folder with a run of so many rounds; None for a finished one."""
    place = Path(tempfile.mkdtemp())
    run = start(small(), place / "run", TEXT)
    train_part(small(), run, rounds)
    return place


@contextmanager
def damaged(rounds: int | None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / "copy"
        shutil.copytree(made(rounds), copy)
        yield copy / "run"


def refuses(damage: Callable[[Path], None]) -> None:
    with damaged(2) as run:
        damage(run)
        with pytest.raises(LexfedError):
            resume(small(), run, TEXT).close()


def a_newline_in_the_tags() -> None:
    def damage(run: Path) -> None:
        with (run / "tags.json").open("a") as file:
            file.write("\n")

    refuses(damage)


def a_charge_of_another_programme() -> None:
    def damage(run: Path) -> None:
        lines = (run / "events.jsonl").read_text().splitlines()
        row = json.loads(lines[-1])
        row["round"] += 1
        row["release"]["groups"][0]["sigma"] *= 2
        (run / "events.jsonl").write_text("\n".join([*lines, json.dumps(row), ""]))

    refuses(damage)


def a_lost_round_in_the_journal() -> None:
    def damage(run: Path) -> None:
        with (run / "events.jsonl").open("a") as file:
            file.write('{"type": "lost", "round": 1}\n')

    refuses(damage)


def a_plan_that_is_gone() -> None:
    refuses(lambda run: (run / "plan.json").unlink())


def a_state_that_is_gone() -> None:
    refuses(lambda run: (run / "state.safetensors").unlink())


def a_charge_that_a_site_forgot() -> None:
    def damage(run: Path) -> None:
        lines = (run / "sites/1.jsonl").read_text().splitlines(keepends=True)
        (run / "sites/1.jsonl").write_text("".join(lines[:-1]))

    refuses(damage)


def a_metric_behind_a_link() -> None:
    def damage(run: Path) -> None:
        (run / "metrics.csv").rename(run.parent / "elsewhere")
        (run / "metrics.csv").symlink_to(run.parent / "elsewhere")

    refuses(damage)


def a_journal_that_is_gone() -> None:
    def damage(run: Path) -> None:
        (run / "events.jsonl").write_text("")
        (run / "state.safetensors").unlink()

    refuses(damage)


def a_bit_of_a_finished_run() -> None:
    with damaged(None) as run:
        with (run / "claim.json").open("a") as file:
            file.write("\n")
        with pytest.raises(AuditError):
            open_run.finished_result(small().config, run)


def a_bit_of_the_model() -> None:
    with damaged(None) as run:
        content = bytearray((run / "model.safetensors").read_bytes())
        content[-1] ^= 64
        (run / "model.safetensors").write_bytes(content)
        with pytest.raises(AuditError):
            released_model(run, "")


def another_statement() -> None:
    run = fake_run()
    run.files["privacy-statement.json"] = b"{}"
    with tempfile.TemporaryDirectory() as place:
        assert not verify_run(run.write(Path(place) / "run")).ok


def files_without_a_digest() -> None:
    run = fake_run()
    run.files["metrics.csv"] = b""
    with tempfile.TemporaryDirectory() as place:
        checks = verify_run(run.write(Path(place) / "run")).checks
    assert any("`metrics.csv`" in check.detail for check in checks)


def a_pipe_is_refused() -> None:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "pipe"
        os.mkfifo(path)
        writer = os.open(path, os.O_RDWR)  # so that a mutant does not wait for ever
        begin = time.monotonic()
        try:
            os.write(writer, b"x")
            with pytest.raises(OSError, match="not a plain file"):
                plain_files.read_plain(path, 1)
            assert time.monotonic() - begin < 5.0
        finally:
            os.close(writer)


def a_long_file_is_refused() -> None:
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "long").write_bytes(b"123")
        with pytest.raises(OSError, match="more than 2 bytes"):
            plain_files.read_plain(Path(place) / "long", 2)


def _nothing(*_: object) -> tuple[str, ...]:
    return ()


def _without(name: str) -> Callable[[Patch], None]:
    return lambda patch: patch.setattr(resumption, name, _nothing)


def _not_verified(patch: Patch) -> None:
    patch.setattr(resumption, "require_verified", read_evidence)


def _anything_is_the_model(patch: Patch) -> None:
    def broken(evidence: Evidence, name: str) -> bytes:
        return (evidence.folder / name).read_bytes()

    patch.setattr(earlier_runs, "read_logged", broken)


def _statements_are_free(patch: Patch) -> None:
    real = logged_files.logged_files

    def broken(evidence: Evidence) -> Iterator[logged_files.LoggedFile]:
        return (e for e in real(evidence) if e.name != logged_files.STATEMENT)

    patch.setattr(files, "logged_files", broken)


MUTANTS = (
    Mutant("resume does not verify", _not_verified, a_newline_in_the_tags),
    Mutant("a finished run is not verified", _not_verified, a_bit_of_a_finished_run),
    Mutant("any charge", _without("_charges"), a_charge_of_another_programme),
    Mutant("any loss", _without("_rounds"), a_lost_round_in_the_journal),
    Mutant("files may be missing", _without("_missing"), a_plan_that_is_gone),
    Mutant("the state may be missing", _without("_state"), a_state_that_is_gone),
    Mutant("sites may forget", _without("_site_ledgers"), a_charge_that_a_site_forgot),
    Mutant("links are as good as files", _without("_strange"), a_metric_behind_a_link),
    Mutant(
        "a log with rounds begins anew",
        lambda patch: patch.setattr(logs, "_require_no_round", _nothing),
        a_journal_that_is_gone,
    ),
    Mutant("any model will do", _anything_is_the_model, a_bit_of_the_model),
    Mutant("any statement will do", _statements_are_free, another_statement),
    Mutant(
        "nothing is said of other files",
        lambda patch: patch.setattr(files, "UNLOGGED", ()),
        files_without_a_digest,
    ),
    Mutant(
        "pipes are files",
        lambda patch: patch.setattr(plain_files, "require_plain", _nothing),
        a_pipe_is_refused,
    ),
    Mutant(
        "files have no end",
        lambda patch: patch.setattr(
            plain_files, "read_handle", lambda handle, most, _: os.read(handle, most)
        ),
        a_long_file_is_refused,
    ),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
