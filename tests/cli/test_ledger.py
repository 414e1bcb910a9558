# SPDX-License-Identifier: Apache-2.0
"""`lexfed ledger`: what people see of a site's ledger, and what they may decide."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.charging import LastingLedger
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.tiers import Tier

Lexfed = Callable[..., Any]

ROUND = Release("tower", (ReleaseGroup("all", 1.0, 20.0),), 1.0, Tier.SPECIAL, 10)
DOCUMENT = Path(__file__).parents[2] / "docs" / "guide" / "ledger.md"
YEARS = 4_000_000_000
LIMITS = (
    *("--epsilon", "2", "--delta", "1e-6", "--reason", "board of 3 May"),
    *("--kind", "gdp"),
)


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A ledger with two paid rounds and a reservation, in the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    path = Path("ledgers/north.ledger")
    opened = LastingLedger.open(path, "north", "patients.csv")
    opened.reserve("run-a", [(ROUND, 4)], YEARS, "record", neighbours="add-remove")
    opened.commit("run-a", 1, ROUND, "record", neighbours="add-remove")
    opened.commit("run-a", 2, ROUND, "record", neighbours="add-remove")
    opened.close()
    return str(path)


def blurred(text: str) -> str:
    return re.sub(r"head \w+…\w+", "head #", text)


def test_show(lexfed: Lexfed, ledger: str) -> None:
    lexfed("ledger", "set-ceiling", ledger, "special", *LIMITS)
    monthly = (*LIMITS[2:], "--epsilon", "1", "--days", "30", "--kind", "rdp")
    lexfed("ledger", "set-ceiling", ledger, "record", *monthly)
    said = lexfed("ledger", "show", ledger, "--check")
    assert said.code == 0
    assert blurred(said.out).splitlines() == [
        "ledger of site `north`, data `patients.csv`",
        "  6 rows, head #, computed again from the rows",
        "",
        "  scope            ε spent  with reserved   ceiling",
        "  record              0.52           0.58   ε = 1, δ = 1e-06, by rdp at order "
        "22, in every 30 days; left: a divergence of 0.4258 at order 22",
        "  label               0.58           0.84   none (δ = 1e-06)",
        "  non_personal        0.58           0.84   none (δ = 1e-06)",
        "  personal            0.58           0.84   none (δ = 1e-06)",
        "  special             0.58           0.84   ε = 2, δ = 1e-06, by gdp; "
        "left: μ = 0.4012",
        "  reserved until 2096-10-02 by `run-a`",
        "",
    ]
    plain = json.loads(lexfed("ledger", "show", ledger, "--json").out)
    assert plain["site"] == "north"
    assert plain["reservations"] == {"run-a": YEARS}
    assert plain["scopes"]["record"]["ceiling"]["kind"] == "rdp"
    assert plain["scopes"]["label"]["ceiling"] is None
    assert int(plain["scopes"]["special"]["ceiling"]["held"]) > 0


def test_show_a_folder(lexfed: Lexfed, ledger: str) -> None:
    other = LastingLedger.open(Path("ledgers/south.ledger"), "south", "patients.csv")
    other.unprotected("run-b")
    told = Release("tower", (ReleaseGroup("all", 1.0, 20.0),), 1.0, None, 10)
    other.commit("run-c", 1, told, "record", neighbours="replace-one", again=True)
    other.publish("run-c", 1)
    other.close()
    history = lexfed("ledger", "history", "ledgers/south.ledger").out.splitlines()
    assert history[-1].endswith("publish     round 1 of `run-c`")
    said = lexfed("ledger", "show", "ledgers")
    assert said.out.count("ledger of site") == 2
    assert "1 run added no noise" in said.out
    assert "1 release told the exact number of records" in said.out
    _, south = json.loads(lexfed("ledger", "show", "ledgers", "--json").out)
    assert south["unpriced"] == {"told": 1, "unsaid": 0}
    empty = LastingLedger.open(Path("new.ledger"), "west", "patients.csv")
    empty.close()
    said = lexfed("ledger", "show", "new.ledger")
    assert "nothing was spent, and there is no ceiling" in said.out


def test_a_reason_adds_no_row_and_is_exported_as_it_is(
    lexfed: Lexfed, ledger: str
) -> None:
    reason = "ok\n     9  2026-01-01 00:00:00  ceiling     record: none\U000e0061"
    lexfed(
        *("ledger", "set-ceiling", ledger, "record", "--epsilon", "2"),
        *("--delta", "1e-6", "--reason", reason),
    )
    lines = lexfed("ledger", "history", ledger).out.splitlines()
    assert len(lines) == 5
    assert lines[-1].isprintable()
    head = bytes(32)
    for line in lexfed("ledger", "export", ledger).out.splitlines():
        row = json.loads(line)
        head = hashlib.sha256(head + row["row"].encode()).digest()
        assert head.hex() == row["hash"]
    assert json.loads(row["row"])["body"]["reason"] == reason


def test_history(lexfed: Lexfed, ledger: str) -> None:
    lexfed("ledger", "release", ledger, "run-a")
    lexfed("ledger", "set-ceiling", ledger, "record", *LIMITS)
    take = ("--none", "--raise", "--reason", "agreed")
    lexfed("ledger", "set-ceiling", ledger, "record", *take)
    assert "reserved until" not in lexfed("ledger", "show", ledger).out
    lines = lexfed("ledger", "history", ledger).out.splitlines()
    assert [line[:6] + line[29:] for line in lines] == [
        "     1open        site `north`, data `patients.csv`",
        "     2reserve     4 releases until 2096-10-02 for `run-a`",
        "     3commit      round 1 of `run-a`: tower",
        "     4commit      round 2 of `run-a`: tower",
        "     5release     `run-a`",
        "     6ceiling     record: ε = 2, δ = 1e-06, by gdp (board of 3 May)",
        "     7ceiling     record: none (agreed)",
    ]
    rows = json.loads(lexfed("ledger", "history", ledger, "--json").out)
    assert [row["sequence"] for row in rows] == list(range(1, 8))
    assert rows[2]["body"]["release"]["name"] == "tower"


def test_ceilings(lexfed: Lexfed, ledger: str) -> None:
    said = lexfed("ledger", "set-ceiling", ledger, "record", *LIMITS)
    assert said.err == "row 5: ceiling of `record` is ε = 2, δ = 1e-06, by gdp\n"
    more = ("--epsilon", "3", *LIMITS[2:])
    said = lexfed("ledger", "set-ceiling", ledger, "record", *more)
    assert said.code == 3
    assert "lets more pass than the old one" in said.err
    assert "--raise" in said.err
    said = lexfed("ledger", "set-ceiling", ledger, "record", *more, "--raise")
    assert said.code == 0
    said = lexfed(
        *("ledger", "set-ceiling", ledger, "record"),
        *("--none", "--raise", "--reason", "agreed"),
    )
    assert said.err == "row 7: ceiling of `record` is taken away\n"


def test_a_ceiling_has_a_price_for_every_trust_unless_told_otherwise(
    lexfed: Lexfed, ledger: str
) -> None:
    plain = ("--epsilon", "2", "--delta", "1e-6", "--reason", "agreed")
    lexfed("ledger", "set-ceiling", ledger, "record", *plain)
    opened = LastingLedger.open(Path(ledger))
    shares = Release(
        "tower", (ReleaseGroup("all", 1.0, 20.0),), 1.0, Tier.SPECIAL, 10, "skellam"
    )
    opened.reserve("run-b", [(shares, 1)], YEARS, "record", neighbours="add-remove")
    opened.close()
    for epsilon, delta in ((0.5, 1e-5), (2.0, 1e-6), (3.0, 1e-6), (8.0, 1e-6)):
        squares = Ceiling.of(epsilon, delta, "gdp").bound
        orders = Ceiling.of(epsilon, delta, "rdp")
        assert orders.order is not None
        more = squares / (2 * orders.bound / orders.order)
        assert 1.13 < more < 1.19  # what docs/guide/ledger.md says


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("record", "--reason", "x"), "needs `--epsilon` and `--delta`"),
        (("recrod", *LIMITS), "there is no scope `recrod`"),
        (("record", *LIMITS, "--epsilon", "-1"), "no such ceiling: expected `epsilon`"),
        (("record", *LIMITS, "--order", "9"), "expected no `order` with kind `gdp`"),
        (("record", *LIMITS, "--reason", " "), "a ceiling needs a reason"),
        (("record", "--epsilon", "1", "--delta", "1e-6"), "missing option '--reason'"),
    ],
)
def test_mistakes(
    lexfed: Lexfed, ledger: str, words: tuple[str, ...], expected: str
) -> None:
    said = lexfed("ledger", "set-ceiling", ledger, *words)
    assert said.code == 2
    assert expected in said.err
    assert "Traceback" not in said.err


def test_no_such_thing(lexfed: Lexfed, ledger: str) -> None:
    said = lexfed("ledger", "show", "nowhere.ledger")
    assert (said.code, "there is no ledger" in said.err) == (2, True)
    Path("empty").mkdir()
    assert "holds no ledgers" in lexfed("ledger", "show", "empty").err
    said = lexfed("ledger", "release", ledger, "nobody")
    assert "`nobody` has reserved nothing" in said.err
    assert said.code == 2


def test_verify(lexfed: Lexfed, ledger: str) -> None:
    said = lexfed("ledger", "verify", ledger)
    assert said.code == 0
    assert "sound; 4 rows" in said.out
    found = json.loads(lexfed("ledger", "verify", ledger, "--json").out)
    assert found == {"ledger": ledger, "rows": 4, "problem": None}
    content = Path(ledger).read_bytes()
    Path(ledger).write_bytes(content.replace(b"tower", b"towel"))
    said = lexfed("ledger", "verify", ledger)
    assert said.code == 1
    assert "was changed after it was written" in said.err
    said = lexfed("ledger", "verify", ledger, "--json")
    assert (said.code, "changed" in json.loads(said.out)["problem"]) == (1, True)


def test_restore(lexfed: Lexfed, ledger: str) -> None:
    shutil.copy(ledger, "older")
    lexfed("ledger", "set-ceiling", ledger, "record", *LIMITS)
    shutil.copy("older", ledger)
    said = lexfed("ledger", "show", ledger)
    assert (said.code, "was rolled back" in said.err) == (2, True)
    said = lexfed("ledger", "restore", ledger, "--reason", "backup")
    assert said.err == "everything that was missing is charged; `show` lists it\n"
    assert lexfed("ledger", "show", ledger).code == 0
    assert "restore     backup" in lexfed("ledger", "history", ledger).out
    shutil.rmtree("state")
    said = lexfed("ledger", "restore", ledger, "--reason", "lost", "--state", "new")
    assert "every ceiling counts as used up" in said.err
    assert lexfed("ledger", "verify", ledger, "--state", "new").code == 0


def checker() -> str:
    text = DOCUMENT.read_text()
    found = re.search(r"<!-- ledger:check -->\n```python\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return found[1]


def run_checker(path: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", checker(), path],
        capture_output=True,
        text=True,
        check=False,
    )


def test_anybody_can_check_an_export(lexfed: Lexfed, ledger: str) -> None:
    said = lexfed("ledger", "export", ledger, "--out", "north.jsonl")
    assert said.err == "wrote north.jsonl\n"
    assert lexfed("ledger", "export", ledger).out == Path("north.jsonl").read_text()
    done = run_checker("north.jsonl")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("4 rows; the record has paid mu = 0.0707")
    Path("wrong").write_text(Path("north.jsonl").read_text().replace("20.", "30."))
    text = Path("north.jsonl").read_text()
    Path("wrong").write_text(text.replace('\\"sigma\\":20', '\\"sigma\\":30'))
    done = run_checker("wrong")
    assert done.returncode == 1
    assert "the chain is broken" in done.stderr
