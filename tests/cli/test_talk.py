# SPDX-License-Identifier: Apache-2.0
"""Progress, colours, interruptions and defects: what people see and what pipes see."""

import contextlib
import fcntl
import io
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lexfed.cli import progress, talk
from lexfed.cli.inputs import located_problems
from lexfed.cli.progress import between_rounds
from lexfed.errors import Problem
from lexfed.run import RoundReport

Lexfed = Callable[..., Any]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def report(number: int, spent: Callable[[], float] = lambda: 0.5) -> RoundReport:
    return RoundReport(number, 40, "tower personal", {"auc": 0.75}, spent)


def priced(private: bool = True) -> Any:
    return SimpleNamespace(budget=SimpleNamespace(epsilon=2.0), private=private)


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with progress.progress_lines(priced()) as on_round:
        for number in range(1, 41):
            on_round(report(number))
    text = screen.getvalue()
    assert text.count("\r") == 40
    assert text.count("\n") == 1
    assert "40/40   AUC 0.750   ε 0.50 / 2.00   tower personal" in text


class NarrowTerminal(Terminal):
    """A terminal of which the operating system knows the columns."""

    def __init__(self, columns: int) -> None:
        super().__init__()
        self._here, self._there = pty.openpty()
        size = struct.pack("HHHH", 24, columns, 0, 0)
        fcntl.ioctl(self._there, termios.TIOCSWINSZ, size)

    def fileno(self) -> int:
        return self._there


@pytest.mark.parametrize("columns", [8, 20, 50, 64, 80, 200])
def test_progress_fits_the_terminal(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    screen = NarrowTerminal(columns)
    monkeypatch.setattr(sys, "stderr", screen)
    with progress.progress_lines(priced()) as on_round:
        for number in range(1, 41):
            on_round(report(number))
    lines = [part.split("\x1b")[0] for part in screen.getvalue().split("\r")[1:]]
    assert len(lines) == 40
    assert max(map(len, lines)) < columns
    if columns == 50:
        assert lines[-1] == "  training ━━━━━  40/40  AUC 0.750  ε 0.50 / 2.00"
    if columns == 200:
        assert lines[-1].endswith("ε 0.50 / 2.00   tower personal")


def test_progress_of_a_real_run_fits_fifty_columns(place: Path) -> None:
    """What a terminal of 50 columns gets, byte for byte, and what a pipe gets."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 50, 0, 0))
    command = [sys.executable, "-m", "lexfed", "run"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while part := os.read(ours, 1 << 16):
                shown += part
    os.close(ours)
    assert process.returncode == 0, shown.decode()
    redrawn = [
        part.split("\x1b")[0]
        for part in shown.decode().split("\r")
        if part.startswith("  training")
    ]
    assert len(redrawn) == 7
    assert max(map(len, redrawn)) < 50
    assert all("AUC" in line and "ε" in line for line in redrawn)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [x for x in done.stderr.splitlines() if x.startswith("  training")]
    assert len(lines) == 7
    assert "\r" not in done.stderr


def test_plain_lines_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.progress_lines(priced()) as on_round:
        for number in range(1, 41):
            on_round(report(number))
    err = capsys.readouterr().err
    assert err.count("\n") == 10
    assert "\r" not in err
    assert "\x1b" not in err


def test_no_progress(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LEXFED_NO_PROGRESS", "1")
    with progress.progress_lines(priced()) as on_round:
        on_round(report(40))
    assert capsys.readouterr().err == ""


def test_a_price_that_is_not_new_does_not_look_exact(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def slow() -> float:
        time.sleep(0.03)
        return 0.504

    with progress.progress_lines(priced()) as on_round:
        for number in (4, 8, 40):
            on_round(report(number, slow))
    first, second, last = capsys.readouterr().err.splitlines()
    assert "ε 0.51 / 2.00" in first
    assert "ε ≥ 0.51 / 2.00" in second
    assert "ε 0.51 / 2.00" in last


def test_the_time_that_is_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 8.0, 8.0, 8.0])
    monkeypatch.setattr("lexfed.cli.progress.time.monotonic", lambda: next(clock))
    with progress.progress_lines(priced(private=False)) as on_round:
        on_round(RoundReport(4, 40, "tower", {}, lambda: 0.0))
    assert capsys.readouterr().err == "  training  4/40   tower   288 s left\n"


def test_colours_only_where_they_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    def said() -> str:
        talk.labelled("error", "no\nway", "  ")
        assert isinstance(sys.stderr, io.StringIO)
        return sys.stderr.getvalue()

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert said() == "  \x1b[31merror:\x1b[0m no\n      way\n"
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    assert said() == "  error: no\n      way\n"
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.delenv("NO_COLOR")
    assert said() == "  error: no\n      way\n"


def test_a_defect_is_not_blamed_on_the_user(
    lexfed: Lexfed, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a secret value: 42")

    lexfed("check", "nothing.toml")  # imports what the command needs
    monkeypatch.setattr("lexfed.config.overrides.examine_overridden", broken)
    said = lexfed("check")
    assert said.code == 4
    assert "internal error: ZeroDivisionError" in said.err
    assert "42" not in said.err
    loud = lexfed("--verbose", "check")
    assert "Traceback" in loud.err
    assert loud.code == 4


def test_tracebacks_only_when_asked_for(lexfed: Lexfed, place: Path) -> None:
    assert "Traceback" not in lexfed("plan", "nothing.toml").err
    assert "Traceback" in lexfed("--verbose", "plan", "nothing.toml").err


def test_version_and_help(lexfed: Lexfed, expected: Callable[[str, str], None]) -> None:
    assert lexfed("--version").out.startswith("lexfed ")
    expected("help.txt", lexfed("--help").out)


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (BrokenPipeError(), 0, ""),
        (OSError(28, "No space left on device"), 2,
         "error: output: no space left on device\n"),
        (OSError(5, "Input/output error", "disk"), 2,
         "error: `disk`: input/output error\n"),
    ],
)  # fmt: skip
def test_what_can_go_wrong_outside(
    lexfed: Lexfed, place: Path, monkeypatch: pytest.MonkeyPatch,
    error: BaseException, code: int, words: str,
) -> None:  # fmt: skip
    def broken(*_: object) -> None:
        raise error

    lexfed("check", "nothing.toml")  # imports what the command needs
    monkeypatch.setattr("lexfed.config.overrides.examine_overridden", broken)
    monkeypatch.setattr("lexfed.cli.app._drop_stdout", lambda: None)
    if isinstance(error, BrokenPipeError):
        # typer ends on its own when a pipe breaks inside a command.
        monkeypatch.setattr(
            "lexfed.cli.app.app", lambda **_: (_ for _ in ()).throw(error)
        )
    said = lexfed("check")
    assert (said.code, said.err) == (code, words)


def test_ctrl_c_between_rounds(
    lexfed: Lexfed, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def on_round(round_report: RoundReport) -> None:
        seen.append(round_report.round)
        if round_report.round == 3:
            signal.raise_signal(signal.SIGINT)

    class Lines:
        def __enter__(self) -> Callable[[RoundReport], None]:
            return on_round

        def __exit__(self, *_: object) -> None:
            return None

    monkeypatch.setattr("lexfed.cli.progress.progress_lines", lambda *_: Lines())
    said = lexfed("run")
    assert said.code == 130
    assert (
        "interrupted after round 3 of 7; what was released so far is kept" in said.err
    )
    assert lexfed("run", "--resume").code == 0
    assert seen == [1, 2, 3, 4, 5, 6, 7]


def test_the_handler_is_given_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with between_rounds() as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop.asked
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_problems_get_their_line(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text("version = 1\n[federation]\nmodel = 'cnn'\n")
    problems = (
        Problem("`federation.model` = `cnn`", "no"),
        Problem("model: layer `1`", "no"),
        Problem("`[federation]`", "no"),
        Problem("somewhere", "no"),
    )
    found = [str(problem) for problem in located_problems(path, problems)]
    assert found == [
        f"{path}:3: `federation.model` = `cnn`: no",
        f"{path}:3: model: layer `1`: no",
        f"{path}:2: `[federation]`: no",
        f"{path}: somewhere: no",
    ]
