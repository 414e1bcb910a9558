# SPDX-License-Identifier: Apache-2.0
"""A name cannot make a terminal show something else than what was printed."""

import ast
import io
import os
import re
import sys
import threading
import tty
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import typer

import lexfed as package
from lexfed.cli import app, talk
from lexfed.cli.terminal import Shield, shielded
from lexfed.config.examination import examine
from lexfed.config.text.wording import quoted
from lexfed.data.reading.column_guesses import guess_table
from lexfed.errors import DataError, LexfedError
from lexfed.law.tagger.column_files import read_columns
from lexfed.visible_text import visible
from support.hostile_names import HOSTILE

from .conftest import Lexfed

OWN = re.compile(r"\x1b\[(?:31|33|36|0)m|\r[^\r\n\x1b]*\x1b\[K|[\n\t]")
"""What lexfed itself may send to a terminal: three colours, and a line drawn again."""


def acts(printed: str) -> str:
    """Return the characters of a text that act on a terminal or hide something."""
    left = OWN.sub("", printed)
    if visible(left) == left:  # marks are seen with what carries them
        return ""
    return "".join(each for each in left if visible(each) != each)


Watched = Callable[[Callable[[], None]], str]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    """Return the bytes that reach a real terminal, as text."""
    master, slave = os.openpty()
    tty.setraw(slave)
    got: list[bytes] = []

    def read() -> None:
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:
                return
            got.append(part)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()

    def watched(work: Callable[[], None]) -> str:
        got.clear()
        with pytest.MonkeyPatch.context() as patch:
            stream = io.TextIOWrapper(
                io.FileIO(slave, "w", closefd=False), "utf-8", write_through=True
            )
            patch.setattr(sys, "stdout", stream)
            patch.setattr(sys, "stderr", stream)
            work()
            stream.write("\x00end")
            stream.flush()
        while not b"".join(got).endswith(b"\x00end"):
            reader.join(0.001)
        return b"".join(got).decode().removesuffix("\x00end")

    yield watched
    os.close(slave)
    os.close(master)


def run(*arguments: str) -> Callable[[], None]:
    """Return the command line with these arguments, as a person would start it."""

    def work() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["lexfed", *arguments])
            with pytest.raises(SystemExit):
                app.main()

    return work


def commands() -> list[tuple[str, ...]]:
    """Return the words of every command."""

    def leaves(group: object, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        inner = getattr(group, "commands", None)
        if inner is None:
            yield words
            return
        for name, command in inner.items():
            yield from leaves(command, (*words, name))

    return list(leaves(typer.main.get_command(app.app), ()))


def test_there_are_many_commands() -> None:
    assert len(commands()) > 30


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_no_command_lets_its_arguments_act(
    words: tuple[str, ...], terminal: Watched, tmp_path: Path
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        name = "age\x1b[1Aepsilon 0.4\r\x9b2K\u202e\nerror: b\x08"
        for arguments in ([name], [f"--{name}"], [name] * 3):
            printed = terminal(run("--verbose", *words, *arguments))
            assert acts(printed) == ""
            assert "\nerror: b" not in printed


PLACES = {
    "a column": ("smoker = { kind", "{} = {{ kind"),
    "a category": ('"none"', "{}"),
    "a reason": ('"a habit"', "{}"),
    "the name of the run": ('"visits"', "{}"),
    "the target": ('target = "readmitted"', "target = {}"),
    "a key that nobody knows": ("[federation]", "[federation]\n{} = 3"),
    "a party": ("[federation]", "[audit.parties.{}]\n[federation]"),
    "a file": ('"patients.csv"', "{}"),
}


@pytest.mark.parametrize("where", PLACES)
def test_a_configuration_with_a_hidden_character_is_refused(
    where: str, lexfed: Lexfed, place: Path
) -> None:
    old, new = PLACES[where]
    text = (place / "lexfed.toml").read_text()
    assert old in text
    for name in HOSTILE.values():
        changed = text.replace(old, new.format(quoted(name)), 1)
        found = [problem.what for problem in examine(changed).problems]
        assert any("expected visible characters on one line" in w for w in found), name
    (place / "lexfed.toml").write_text(changed)
    said = lexfed("check")
    assert said.code == 2
    assert "expected visible characters on one line" in said.err
    assert acts(said.out + said.err) == ""


def with_column(table: str, header: str) -> str:
    """Return a CSV file with one more column."""
    first, *rows = table.splitlines()
    more = [f"{first},{header}", *(f"{row},1" for row in rows)]
    return "\n".join(more) + "\n"


def test_headers_with_hidden_characters_are_refused(place: Path) -> None:
    table = (place / "patients.csv").read_text(encoding="utf-8")
    for trick, name in HOSTILE.items():
        header = f'"{name}"' if set("\r\n\0") & set(name) else name
        (place / "new.csv").write_text(with_column(table, header), newline="")
        with pytest.raises(DataError, match="hidden"):
            guess_table(place / "new.csv")
        with pytest.raises(DataError, match="hidden"):
            read_columns(place / "new.csv")
        (place / "new.sql").write_text(f'create table t ("{name}" int);', newline="")
        with pytest.raises(DataError, match="hidden"):
            read_columns(place / "new.sql")
        assert trick


@pytest.mark.parametrize("command", ["check", "plan", "run", "init", "tag"])
def test_a_header_with_a_hidden_character_is_refused(
    command: str, lexfed: Lexfed, place: Path
) -> None:
    table = (place / "patients.csv").read_text(encoding="utf-8")
    (place / "patients.csv").write_text(with_column(table, HOSTILE["move up"]))
    if command in ("init", "tag"):
        (place / "lexfed.toml").unlink()
        said = lexfed(command, "patients.csv")
    else:
        said = lexfed(command)
    assert said.code == 2
    assert "hidden" in said.err
    assert acts(said.out + said.err) == ""
    assert not (place / "runs").exists()


@pytest.mark.parametrize("trick", HOSTILE)
def test_whatever_is_printed_comes_spelled_out(trick: str, terminal: Watched) -> None:
    name = HOSTILE[trick].replace("\n", "")

    def work() -> None:
        with shielded():
            sys.stdout.write(name)
            talk.say(name)
            talk.warn(name, name)
            talk.fail(LexfedError(name, name))
            talk.defect(ValueError(name))
            sys.stderr.write(name)

    assert acts(terminal(work)) == ""


def test_an_unshielded_print_is_seen_by_this_test(terminal: Watched) -> None:
    assert acts(terminal(lambda: talk.say("age\x1b[2K"))) == "\x1b"


def test_right_to_left_letters_do_not_take_numbers_along(terminal: Watched) -> None:
    def work() -> None:
        with shielded():
            talk.say("\u05d2\u05d9\u05dc 0.4 400")
            talk.say("é 0.4")

    assert terminal(work) == "\u200e\u05d2\u05d9\u05dc\u200e 0.4 400\né 0.4\n"


def test_data_on_a_pipe_stay_as_they_are() -> None:
    stream = io.StringIO()
    shield = Shield(stream)
    assert shield.write("\u05d2\u05d9\u05dc,0.4\r\n") == 9
    assert stream.getvalue() == "\u05d2\u05d9\u05dc,0.4\n"


def test_letters_that_a_stream_lacks_are_spelled_out() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    shield = Shield(stream)
    shield.write("Größe")
    shield.flush()
    assert raw.getvalue() == b"Gr\\xf6\\xdfe"
    assert shield.encoding == "ascii"
    assert not shield.isatty()
    assert shield.line_buffering is False


SOURCE = Path(package.__file__).parent
OTHER_WAYS = {
    ("audit/storage/held_folder.py", "write"),  # into a file that it opened
    # The terminal of a party that became FLARE's process: fixed words, names by `\w+`.
    ("federation/flare/notices.py", "write"),
    ("federation/flare/connections.py", "write"),  # the same; spelled out
}


def _ways_around(path: Path) -> Iterator[str]:
    """Return calls and names by which text could reach a terminal unshielded."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute):
            if node.attr in ("__stdout__", "__stderr__"):
                yield node.attr
            if node.attr == "write" and getattr(node.value, "id", "") == "os":
                yield node.attr
            if node.attr == "buffer" and getattr(node.value, "attr", "") in (
                "stdout",
                "stderr",
            ):
                yield node.attr
        if isinstance(node, ast.Constant) and node.value == "/dev/tty":
            yield "tty"


def test_there_is_no_way_around_the_shield() -> None:
    found = {
        (path.relative_to(SOURCE).as_posix(), way)
        for path in SOURCE.rglob("*.py")
        if "standalone" not in path.parts
        for way in _ways_around(path)
        if path.name not in ("durable.py", "terminal.py")
    }
    assert found - OTHER_WAYS == set(), found


def test_only_the_shield_knows_escape_sequences() -> None:
    def escapes(path: Path) -> Sequence[str]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        return [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and "\x1b" in node.value
        ]

    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if escapes(path)
    }
    assert found == {"cli/terminal.py"}
