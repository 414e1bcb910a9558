# SPDX-License-Identifier: Apache-2.0
"""`lexfed init`: from a table to a configuration that runs, asked or not."""

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lexfed.cli.commands.setup.draft_lines import PROFILE_SHARE
from lexfed.config import load
from lexfed.run.purchases.profile_purchase import DEFAULT_PART

Lexfed = Callable[..., Any]
ROWS = 150


def german_table(path: Path) -> None:
    """A table as spreadsheets of some countries write it."""
    generator = np.random.default_rng(3)
    lines = ["Patienten-Nr;Alter;Größe;Station;Aufnahme;CRP;Bemerkung;verstorben"]
    for n in range(ROWS):
        age = generator.integers(20, 90)
        size, crp = (f"{x:.2f}".replace(".", ",") for x in generator.gamma(9, 9, 2))
        cells = [
            f"P{n // 2:05d}", str(age), size, ("Kapuziner", "Minorit")[n % 2],
            f"{1 + n % 28:02d}.0{1 + n % 9}.2023", crp, f"Müller sah ihn {n}mal",
            "yes" if age > generator.integers(30, 90) else "no",
        ]  # fmt: skip
        lines.append(";".join(cells))
    path.write_bytes("\r\n".join(lines).encode("windows-1252"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    german_table(tmp_path / "klinik.csv")
    return tmp_path


def test_two_commands_from_a_table_to_a_model(lexfed: Lexfed, folder: Path) -> None:
    said = lexfed("init", "klinik.csv", "--target", "verstorben", "--yes")
    assert said.code == 0
    assert "separator: semicolon" in said.err
    assert "Bemerkung" in said.err
    assert "left out: free text or a key" in said.err
    assert "`lexfed check` looks for mistakes; `lexfed run` trains" in said.err
    text = Path("lexfed.toml").read_text()
    for value in ("Kapuziner", "Minorit", "Müller", "2023", "P000"):
        assert value not in text
        assert value not in said.err
    config = load(Path("lexfed.toml"))
    assert config.data.person == "Patienten-Nr"
    assert config.data.written.to_dict()["separator"] == "semicolon"
    ranges = {name: column.range for name, column in config.data.columns.items()}
    assert ranges["Alter"] == (0.0, 100.0)
    assert ranges["CRP"] == (0.0, 500.0)
    assert lexfed("check").code == 0
    ran = lexfed("run")
    assert ran.code == 0, ran.err
    assert "auc" in ran.err
    assert lexfed("verify", "runs/klinik").code == 0


def test_options_say_what_would_be_asked(lexfed: Lexfed, folder: Path) -> None:
    arguments = [
        "init", "klinik.csv", "--target", "Station", "--classes", "Kapuziner, Minorit",
        "--sites", "3", "--units", "80", "--epsilon", "1.5", "--dates", "day-first",
        "--yes", "--out", "conf/mine.toml",
    ]  # fmt: skip
    assert "no such file or directory" in lexfed(*arguments).err
    Path("conf").mkdir()
    said = lexfed(*arguments)
    assert said.code == 0, said.err
    assert "`lexfed run conf/mine.toml` trains" in said.err
    config = load(Path("conf/mine.toml"))
    assert config.data.source == "../klinik.csv"
    assert config.data.columns["Station"].values == ("Kapuziner", "Minorit")
    assert (config.data.units, config.budget.epsilon) == (80, 1.5)
    assert "exists already" in lexfed(*arguments).err


def test_what_nobody_knows_is_offered_with_its_price(
    lexfed: Lexfed, folder: Path
) -> None:
    assert PROFILE_SHARE == DEFAULT_PART
    Path("odd.csv").write_text(
        "qqzx,y\n" + "".join(f"{n / 7:.3f},{n % 2}\n" for n in range(90))
    )
    said = lexfed("init", "odd.csv", "--target", "y", "--epsilon", "3", "--yes")
    assert "nobody knows the values of `qqzx`" in said.err
    assert "`lexfed profile` learn it with noise, for 0.75 of epsilon 3" in said.err


def test_two_keys_of_a_person_are_told(lexfed: Lexfed, folder: Path) -> None:
    table = Path("klinik.csv").read_text("latin-1").splitlines()
    rows = [f"{line};{'customer_id' if not n else f'C{n % 50}'}" for n, line in
            enumerate(table)]  # fmt: skip
    Path("two.csv").write_text("\n".join(rows), "latin-1")
    said = lexfed("init", "two.csv", "--target", "verstorben", "--yes")
    assert said.code == 0, said.err
    assert "may each say whom a row is about: `--person COLUMN` says which" in said.err
    assert load(Path("lexfed.toml")).data.person is None


def test_sites_of_a_column(lexfed: Lexfed, folder: Path) -> None:
    shared = ("init", "klinik.csv", "--target", "verstorben", "--sites", "Station")
    said = lexfed(*shared, "--yes")
    assert said.code == 2
    assert "--site-names" in said.err
    assert not Path("lexfed.toml").exists()
    assert lexfed(*shared, "--site-names", "Kapuziner,Minorit", "--yes").code == 0
    sites = load(Path("lexfed.toml")).data.sites
    assert sites is not None
    assert sites.names == ("Kapuziner", "Minorit")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "verstorbn"], "hint: did you mean `verstorben`?"),
        (["--target", "CRP", "--target-range", "0..many"], "expected LOW..HIGH"),
        (["--target", "verstorben", "--person", "nobody"], "no column `nobody`"),
        (["--target", "Station"], '--classes "A,B"'),
        (["--target", "Bemerkung"], '--classes "A,B"'),
        (["--target", "verstorben", "--units", "0"], "--units"),
        (["--target", "verstorben", "--epsilon", "0"], "--epsilon"),
        (["--target", "verstorben", "--epsilon", "nan"], "--epsilon"),
        (["--target", "verstorben", "--separator", "dot"], "--separator"),
        (["--target", "\x1b[31mred"], "no column `\\u001b[31mred`"),
        ([], "no answer: Which column is to be predicted"),
    ],
)
def test_mistakes_are_told_and_nothing_is_written(
    lexfed: Lexfed, folder: Path, arguments: list[str], message: str
) -> None:
    said = lexfed("init", "klinik.csv", *arguments, "--yes")
    assert said.code == 2
    assert message in said.err
    assert "Traceback" not in said.err
    assert not Path("lexfed.toml").exists()


def test_files_that_cannot_be_read(lexfed: Lexfed, folder: Path) -> None:
    shared = ("--target", "y", "--yes")
    assert "file not found" in lexfed("init", "no.csv", *shared).err
    Path("empty.csv").write_text("")
    assert lexfed("init", "empty.csv", *shared).code == 2
    Path("marks.csv").write_text("a;y\n1.234;0\n5.678;1\n")
    said = lexfed("init", "marks.csv", *shared)
    assert "--decimal" in said.err
    assert lexfed("init", "marks.csv", "--decimal", "point", *shared).code == 0


def test_without_a_terminal_nobody_is_asked(lexfed: Lexfed, folder: Path) -> None:
    said = lexfed("init", "klinik.csv", "--target", "verstorben")
    assert said.code == 2
    assert "`--yes` takes every default" in said.err
    assert not Path("lexfed.toml").exists()
    said = lexfed("init", "klinik.csv")
    assert said.code == 0
    assert "--target COLUMN --yes" in said.err
    assert 'target = "?"' in Path("lexfed.toml").read_text()


class Terminal:
    """A real terminal with `lexfed init` in it."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lexfed", "init", *arguments],
            cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs,
            env={**os.environ, "NO_COLOR": "1"}, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self.seen = ""

    def until(self, text: str) -> None:
        """Read until a text is on the screen."""
        begun, deadline = len(self.seen), time.monotonic() + 60
        while text not in self.seen[begun:]:
            assert time.monotonic() < deadline, self.seen
            try:
                part = os.read(self.ours, 4096).decode("utf-8", "replace")
            except OSError:  # the other end is closed
                part = ""
            assert part, self.seen
            self.seen += part

    def type(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def close(self) -> int:
        code = self.process.wait(60)
        os.close(self.ours)
        return code


def test_a_person_is_asked_one_thing_at_a_time(folder: Path) -> None:
    terminal = Terminal(folder, "klinik.csv")
    terminal.until("Which column is to be predicted: ")
    terminal.type("\n")
    terminal.until("no default")
    terminal.type("gestorben\n")
    terminal.until("to be predicted: ")
    terminal.type("verstorben\n")
    terminal.until("whom a row is about [Patienten-Nr]: ")
    terminal.type("?\n")
    terminal.until("one person with all their rows")
    terminal.type("\n")
    terminal.until("simulated ones [1]: ")
    terminal.type("\x1b[A many\n")
    terminal.until("expected a number of simulated sites")
    terminal.type("4\n")
    terminal.until("[none]: ")
    terminal.type("!\n")
    terminal.until("trains")
    assert terminal.close() == 0
    config = load(folder / "lexfed.toml")
    assert config.data.sites is not None
    assert config.data.sites.count == 4
    assert config.data.person == "Patienten-Nr"


@pytest.mark.parametrize("end", ["interrupt", "end of input"])
def test_who_leaves_in_between_leaves_nothing(folder: Path, end: str) -> None:
    terminal = Terminal(folder, "klinik.csv", "--target", "verstorben")
    terminal.until("whom a row is about")
    if end == "interrupt":
        os.kill(terminal.process.pid, signal.SIGINT)
        terminal.until("nothing was written")
        assert terminal.close() == 130
    else:
        terminal.type("\x04")
        terminal.until("no answer")
        assert terminal.close() == 2
    assert not (folder / "lexfed.toml").exists()
    assert "Traceback" not in terminal.seen
