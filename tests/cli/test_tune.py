# SPDX-License-Identifier: Apache-2.0
"""`lexfed tune` as a user sees it: which kind it was, what it cost, what is left."""

import gzip
import json
import math
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.bookkeeping.prices import SCALE
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.decisions import set_ceiling
from lexfed.privacy.accountants import gdp

Lexfed = Callable[..., Any]
Edit = Callable[..., None]
GRID = ("--grid", "federation.rounds=1,2")
CHARGED = ("tune", *GRID, "--charged", "--runs", "2")


def files(place: Path) -> set[str]:
    return {str(p.relative_to(place)) for p in place.rglob("*") if p.is_file()}


def record_of(place: Path) -> dict[str, Any]:
    found = json.loads((place / "runs" / "visits-tune" / "tune.json").read_text())
    assert isinstance(found, dict)
    return found


def test_a_public_search_is_free_and_says_so(
    lexfed: Lexfed, place: Path, table: pd.DataFrame
) -> None:
    table.sample(150, random_state=1).to_csv("public.csv", index=False)
    (place / "patients.csv").unlink()  # the private data are not even needed
    said = lexfed("tune", *GRID, "--public", "public.csv")
    assert said.code == 0, said.err
    assert "free: public data" in said.out
    assert len(re.findall(r"auc \d\.\d{4}   federation.rounds = [12]", said.out)) == 2
    record = record_of(place)
    assert (record["kind"], record["cost"]) == ("public", "free: public data")
    chosen = record["chosen"]["setting"]["federation.rounds"]
    tuned = tomllib.loads((place / "lexfed-tuned.toml").read_text())
    assert tuned["federation"]["rounds"] == chosen
    assert tuned["data"]["source"] == "patients.csv"
    assert max(row["score"] for row in record["tried"]) == record["chosen"]["score"]


def _linked(place: Path) -> str:
    os.link(place / "patients.csv", place / "other.csv")
    return "other.csv"


def _pointed_at(place: Path) -> str:
    (place / "other.csv").symlink_to("patients.csv")
    return "other.csv"


def _copied(place: Path) -> str:
    (place / "other.csv").write_bytes((place / "patients.csv").read_bytes())
    return str(place / "other.csv")


def _packed(place: Path) -> str:
    packed = gzip.compress((place / "patients.csv").read_bytes())
    (place / "other.csv.gz").write_bytes(packed)
    return "other.csv.gz"


def _in_another_order(place: Path) -> str:
    frame = pd.read_csv(place / "patients.csv").sample(frac=1, random_state=2)
    frame[reversed(frame.columns)].to_csv("other.csv", index=False)
    return "other.csv"


def _in_another_format(place: Path) -> str:
    pd.read_csv(place / "patients.csv").to_parquet("other.parquet")
    return "other.parquet"


SAME = {
    "path": lambda place: f"{place}/../{place.name}/patients.csv",
    "hard link": _linked,
    "link": _pointed_at,
    "copy": _copied,
    "packed": _packed,
    "order": _in_another_order,
    "format": _in_another_format,
}


@pytest.mark.parametrize("way", SAME)
def test_the_table_of_the_run_is_not_public(
    lexfed: Lexfed, place: Path, way: str
) -> None:
    said = lexfed("tune", *GRID, "--public", SAME[way](place))
    assert said.code == 2
    assert "is the table of the run itself" in said.err
    assert "`--charged`" in said.err
    assert not (place / "runs").exists()
    assert not (place / "lexfed-tuned.toml").exists()


def test_the_table_of_a_site_is_not_public(
    lexfed: Lexfed, place: Path, edit: Edit, table: pd.DataFrame
) -> None:
    table.iloc[:80].to_csv("a.csv", index=False)
    table.iloc[80:].to_csv("b.csv", index=False)
    edit(
        ('source = "patients.csv"\n', ""),
        (
            '{ column = "hospital", names = ["north", "south", "west"] }',
            '{ files = ["a.csv", "b.csv"] }',
        ),
        ('hospital = { kind = "text" }\n', ""),
        ('hospital = { tier = "non_personal", reason = "says where, not who" }\n', ""),
    )
    table.iloc[80:].iloc[::-1].to_csv("other.csv", index=False)
    for file in ("a.csv", "other.csv", "patients.csv"):
        said = lexfed("tune", *GRID, "--public", file)
        assert said.code == 2
        assert "is the table of the run itself" in said.err


def test_a_charged_search_says_what_it_costs_and_keeps_only_the_best(
    lexfed: Lexfed, place: Path
) -> None:
    before = files(place)
    said = lexfed(*CHARGED, "--json")
    assert said.code == 0, said.err
    assert "charged: whole record (ε, δ) = (" in said.err
    assert "how many runs there are stays secret" in said.err
    assert files(place) - before == {
        "lexfed-tuned.toml",
        "runs/visits-tune/tune.json",
    }
    record = record_of(place)
    assert json.loads(said.out) == record
    assert record["state"] == "done"
    assert record["cost"]["record"]["epsilon"] <= 8.0
    assert set(record["chosen"]) == {"setting", "metric", "score", "noised"}
    # Nothing else in the record depends on what was run.
    (place / "lexfed-tuned.toml").unlink()
    again = lexfed(*CHARGED, "--out", "again/tune", "--json")
    other = json.loads(again.out)
    assert {**other, "chosen": None} == {**record, "chosen": None}


def test_the_chosen_setting_can_be_run(lexfed: Lexfed, place: Path) -> None:
    assert lexfed(*CHARGED).code == 0
    assert lexfed("run", "lexfed-tuned.toml").code == 0
    assert lexfed("verify", "runs/visits").code == 0


def test_a_search_is_paid_for_once_and_not_repeated_by_accident(
    lexfed: Lexfed, place: Path
) -> None:
    assert lexfed(*CHARGED).code == 0
    said = lexfed(*CHARGED)
    assert said.code == 2
    assert "`lexfed-tuned.toml` exists already" in said.err
    (place / "lexfed-tuned.toml").unlink()
    said = lexfed(*CHARGED)
    assert said.code == 2
    assert "what it cost is spent" in said.err


def test_kill_in_the_middle_leaves_the_charge_and_nothing_else(
    lexfed: Lexfed, place: Path
) -> None:
    before = files(place)
    command = [sys.executable, "-m", "lexfed", "tune", *GRID, "--charged"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [*command, "--runs", "900", "--law", "poisson"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        # Nine hundred runs have begun once this is said, and take minutes.
        said = ""
        while "stays secret" not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert process.stdout.read() == ""
        assert process.stderr.read() == ""
    assert files(place) - before == {"runs/visits-tune/tune.json"}
    record = record_of(place)
    assert (record["state"], record["chosen"]) == ("charged", None)
    assert record["cost"]["record"]["epsilon"] > 0
    assert "what it cost is spent" in lexfed(*CHARGED).err


def test_nothing_chosen_is_paid_for_all_the_same(
    lexfed: Lexfed, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lexfed.run.tuning.run_search", lambda *_: None)
    said = lexfed(*CHARGED)
    assert said.code == 0
    assert "the secret number of runs was 0; paid all the same" in said.out
    assert not (place / "lexfed-tuned.toml").exists()


def test_a_best_run_without_a_score_is_still_recorded(
    lexfed: Lexfed, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lexfed.run.tuning.paid_metrics", lambda *_: {})
    said = lexfed(*CHARGED)
    assert said.code == 0
    assert "(no score)" in said.out
    assert record_of(place)["chosen"]["score"] is None


def real(edit: Edit) -> None:
    """Make the run one about persons: its ledgers are kept."""
    edit(("test = true\n", ""))


def test_the_sites_ledgers_pay_before_the_first_run(
    lexfed: Lexfed, edit: Edit, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real(edit)
    committed: list[int] = []

    def look(*_: object) -> None:
        for path in sorted((place / "ledgers").glob("*.ledger")):
            ledger = LastingLedger.open(path)
            committed.append(ledger.book().meters["record:gdp"].committed)
            ledger.close()

    monkeypatch.setattr("lexfed.run.tuning.run_search", look)
    assert lexfed(*CHARGED).code == 0
    assert len(committed) == 3  # one per hospital
    assert min(committed) > 0
    assert str(record_of(place)["ledger"]).startswith("tune/visits/")
    # A Gaussian of that square costs at least what the search says it costs.
    mu = math.sqrt(committed[0] / SCALE)
    record = record_of(place)["cost"]["record"]
    assert gdp.epsilon_from(mu, record["delta"]) >= record["epsilon"]


def test_a_ledger_without_room_refuses_the_search(
    lexfed: Lexfed, edit: Edit, place: Path
) -> None:
    real(edit)
    assert lexfed(*CHARGED).code == 0
    (place / "lexfed-tuned.toml").unlink()
    [path, *_] = sorted((place / "ledgers").glob("*.ledger"))
    ledger = LastingLedger.open(path)
    spent = ledger.book().meters["record:gdp"].committed / SCALE
    room = gdp.epsilon_from(1.1 * math.sqrt(spent), 1e-6)
    set_ceiling(ledger, "record", Ceiling.of(room, 1e-6), "not for two searches")
    ledger.close()
    said = lexfed(*CHARGED, "--out", "second")
    assert said.code == 3
    assert not (place / "second").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (GRID, "expected one of `--public FILE` and `--charged`"),
        ((*GRID, "--charged", "--public", "x.csv"), "expected one of"),
        ((*GRID, "--charged", "--runs", "1"), "expected a mean above 1"),
        ((*GRID, "--charged", "--runs", "nan"), "expected a mean above 1"),
        (("--charged",), "nothing to search"),
        (
            ("--charged", "--grid", "budget.delta=1"),
            "`budget.delta` cannot be searched",
        ),
        (("--charged", "--grid", "federation.rounds=0"), "with federation.rounds = 0"),
        ((*GRID, "--public", "nothing.csv"), "nothing.csv"),
    ],
)
def test_mistakes_spend_nothing(
    lexfed: Lexfed, place: Path, arguments: tuple[str, ...], words: str
) -> None:
    before = files(place)
    said = lexfed("tune", *arguments)
    assert said.code == 2
    assert words in said.err
    assert files(place) == before
