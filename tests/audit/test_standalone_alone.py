# SPDX-License-Identifier: Apache-2.0
"""The standalone verifier by itself: one file, in a bare interpreter, as an auditor."""

import ast
import io
import json
import os
import runpy
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import cryptography
import pytest

from lexfed.audit import standalone
from lexfed.audit.standalone import verify
from lexfed.canonical import canonical_bytes
from support.audit.masked_runs import masked_run, record, use
from support.audit.two_verifiers import compared, tables
from support.audit.worlds import LOG, FakeRun, fake_run

OLDEST = (3, 9)
KEYS = tables(Path(__file__).with_name("test_verify_keys.py"))

# Runs the file with an import hook that knows the standard library without its network
# modules, `cryptography` and what that itself needs, and that reports everything else.
# `org` is what the standard library asks for to find out whether it runs on Java.
ALONE = """
import importlib.abc, runpy, sys
folder, script, *arguments = sys.argv[1:]
allowed = {*sys.stdlib_module_names, "cryptography", "cffi", "_cffi_backend"}
allowed -= {"socket", "ssl", "http", "urllib", "ftplib", "smtplib", "asyncio"}
denied = set()
class Guard(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in allowed:
            denied.add(name.partition(".")[0])
            raise ModuleNotFoundError(name)
sys.path.append(folder)
sys.meta_path.insert(0, Guard())
sys.argv = [script, *arguments]
try:
    runpy.run_path(script, run_name="__main__")
finally:
    if denied - {"org"}:
        raise SystemExit(f"imports {denied}")
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "verify.py"
    path.write_bytes(standalone.source())
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return fake_run().write(tmp_path / "run")


def alone(
    script: Path, *arguments: str, umask: int = 0o022, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the file in an isolated interpreter: no site packages, no variables."""
    packages = str(Path(cryptography.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", ALONE, packages, str(script), *arguments],
        capture_output=True,
        cwd=script.parent,
        env={**os.environ, **environment},
        umask=umask,
        check=False,
    )


def test_it_checks_signatures_of_masked_sums_alone(
    script: Path, tmp_path: Path
) -> None:
    run = masked_run()
    done = alone(script, str(run.write(tmp_path / "sound")))
    assert done.returncode == 0, done.stdout
    assert b"18 signatures; 3 honest sites in each are assumed" in done.stdout
    forged = json.loads(record(run))
    forged["consents"] = dict.fromkeys(forged["consents"], "A" * 86 + "==")
    use(run, 0, canonical_bytes(forged))
    done = alone(script, str(run.write(tmp_path / "forged")))
    assert done.returncode == 1
    assert b"did not sign this list" in done.stdout


def test_it_imports_the_standard_library_and_cryptography_only(
    script: Path, folder: Path
) -> None:
    done = alone(script, str(folder))
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    assert done.stdout.startswith(b"OK   log  ")
    assert done.stdout.count(b"\n") == len(verify.CLAIMS)


def test_the_guard_of_this_test_refuses_others(script: Path) -> None:
    script.write_text("import lexfed\n")
    assert b"imports {'lexfed'}" in alone(script).stderr
    script.write_text("try:\n import socket\nexcept ImportError:\n pass\n")
    assert b"imports {'socket'}" in alone(script).stderr


def test_modules_beside_the_file_are_not_imported(script: Path, folder: Path) -> None:
    for name in ("json", "hashlib", "argparse", "cryptography"):
        script.with_name(f"{name}.py").write_text("raise SystemExit('hijacked')\n")
    for options in ([], ["-I"]):
        done = subprocess.run(
            [sys.executable, *options, str(script), str(folder)],
            capture_output=True,
            cwd=script.parent,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    control = script.with_name("control.py")
    control.write_text("import json\n")
    done = subprocess.run(
        [sys.executable, str(control)], capture_output=True, check=False
    )
    assert b"hijacked" in done.stderr


def test_it_is_one_file_in_the_grammar_of_an_old_python() -> None:
    source = standalone.source().decode()
    tree = ast.parse(source, feature_version=OLDEST)
    imported = {
        alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    } | {
        str(node.module).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
    }
    assert imported <= {*sys.stdlib_module_names, "cryptography"}
    assert source.isascii()
    assert all(len(line) <= 88 for line in source.split("\n"))


def test_the_file_is_what_the_package_ships() -> None:
    assert standalone.source() == Path(verify.__file__).read_bytes()


def test_the_wheel_carries_it(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    code = (
        "from hatchling.builders.wheel import WheelBuilder;"
        f"print(next(WheelBuilder({str(root)!r}).build(directory={str(tmp_path)!r})))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(done.stdout.strip().splitlines()[-1]) as wheel:
        carried = wheel.read("lexfed/audit/standalone/verify.py")
    assert carried == standalone.source()


# What it prints and how it ends


def test_it_is_a_program(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["verify.py", str(folder)])
    monkeypatch.setattr(sys, "path", ["the folder of the script", *sys.path])
    with pytest.raises(SystemExit) as left:
        runpy.run_path(str(verify.__file__), run_name="__main__")
    assert left.value.code == 0
    assert capsys.readouterr().out.startswith("OK   log  ")


def test_an_isolated_python_has_no_folder_to_forget(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = {
        name: getattr(sys.flags, name) for name in dir(sys.flags) if name[0] != "_"
    }
    monkeypatch.setattr(sys, "flags", SimpleNamespace(**{**flags, "isolated": 1}))
    monkeypatch.setattr(sys, "argv", ["verify.py", "--help"])
    before = list(sys.path)
    with pytest.raises(SystemExit) as left:
        runpy.run_path(str(verify.__file__), run_name="__main__")
    assert left.value.code == 0
    assert sys.path == before
    assert "usage" in capsys.readouterr().out


def test_json_is_that_of_lexfed_verify(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify.main([str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] is True
    assert found["checks"] == list(compared(folder).values())
    assert list(found) == ["ok", "origin", "size", "root", "checks"]


def test_a_failure_names_its_entry_and_ends_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = fake_run()
    run.files["claim.json"] = b"{}"
    assert verify.main([str(run.write(tmp_path / "run"))]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "FAIL files               entry 8: `claim.json` is not the file" in "".join(
        line for line in lines if line.startswith("FAIL")
    )


def test_a_log_that_is_not_sound_is_not_looked_into(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "log/checkpoint").write_bytes(b"")
    assert verify.main([str(folder)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "FAIL log                 `checkpoint`: not a checkpoint with 1 to 100 "
        "signatures",
        "NOTE everything else     not checked: the log is not sound",
    ]


def test_what_cannot_be_read_ends_with_2(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify.main([str(tmp_path / "nothing")]) == 2
    assert "holds no log" in capsys.readouterr().err
    assert verify.main([str(folder), "--pin", str(tmp_path / "nothing")]) == 2
    assert "nothing" in capsys.readouterr().err
    (tmp_path / "long").write_bytes(b"quorum none\n" + b"#\n" * 2**19)
    assert verify.main([str(folder), "--policy", str(tmp_path / "long")]) == 2
    assert "too long" in capsys.readouterr().err
    with pytest.raises(SystemExit) as left:
        verify.main([])
    assert left.value.code == 2


def test_policy_and_pin_are_files(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy, pin = tmp_path / "policy", folder / "log/checkpoint"
    policy.write_bytes(KEYS.policy(LOG))
    assert verify.main([str(folder), "--policy", str(policy), "--pin", str(pin)]) == 0
    out = capsys.readouterr().out
    assert "by your policy" in out
    assert "extends your checkpoint of 9 entries" in out
    policy.write_bytes(b"trust everyone\n")
    assert verify.main([str(folder), "--policy", str(policy)]) == 1
    assert "policy, line 1" in capsys.readouterr().err


def test_sampled_rounds_are_said_not_to_be_recomputed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = fake_run(sampling_rate=0.1).write(tmp_path / "run")
    assert verify.main([str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    for claim in ("budget plan", "budgets spent", "claim"):
        [line] = [each for each in lines if each[5:].startswith(f"{claim} ")]
        assert line.startswith("NOTE ")
        assert "NOT RECOMPUTED (needs a PLD accountant)" in line


def test_the_verdict_depends_on_neither_locale_nor_umask(
    script: Path, folder: Path
) -> None:
    plain = alone(script, str(folder))
    odd = alone(
        script, str(folder), umask=0o777, LC_ALL="C", LANG="tr_TR", TZ="Asia/Tokyo"
    )
    assert (plain.returncode, plain.stdout) == (odd.returncode, odd.stdout)


def test_names_cannot_pass_for_lines(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "x`\nOK   everything else  \x1b[2J\x9b\u202e"
    (folder / "log" / name).write_bytes(b"")
    assert verify.main([str(folder)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert all(line.isascii() and line.isprintable() for line in lines)
    assert "\\nOK   everything else  \\x1b[2J" in lines[0]


def test_strange_characters_do_not_break_the_output(
    tmp_path: Path, script: Path
) -> None:
    run: FakeRun = fake_run()
    run.drafts[5].raw = "\u2603".encode() * 3
    folder = run.write(tmp_path / "r\u00fcn \u2603")
    (folder / "log" / "sn\u2603w").write_bytes(b"")
    done = alone(script, str(folder), PYTHONIOENCODING="ascii", LC_ALL="C")
    assert done.returncode == 1, done.stderr
    assert b"Traceback" not in done.stderr
    assert b"FAIL log" in done.stdout


# Pythons that cannot run it


@pytest.mark.parametrize("name", ["__main__", "verify"])
def test_without_cryptography_it_says_so_with_a_code_of_its_own(
    name: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    monkeypatch.setattr(sys, "path", list(sys.path))
    if name == "verify":
        with pytest.raises(ImportError):
            runpy.run_path(str(verify.__file__), run_name=name)
        return
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(verify.__file__), run_name=name)
    assert ended.value.code == 3
    said = capsys.readouterr().err
    assert "`cryptography`, which this Python cannot import" in said
    assert "-m pip install cryptography" in said
    assert "Traceback" not in said


def test_an_old_python_is_told_which_one_is_needed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 8, 18))
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(verify.__file__), run_name="__main__")
    assert ended.value.code == 3
    assert capsys.readouterr().err == "error: verify.py needs Python 3.9 or newer\n"


def test_it_calls_nothing_that_came_after_the_oldest_python() -> None:
    tree = ast.parse(standalone.source().decode(), feature_version=OLDEST)
    later = {
        "pairwise", "batched", "bit_count", "cbrt", "exp2", "file_digest", "UTC",
        "tomllib", "stdlib_module_names", "add_note", "StrEnum", "Self", "TypeAlias",
        "aclosing", "chdir", "ExceptionGroup", "sumprod",
    }  # fmt: skip
    named = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    named |= {a.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)
              for a in n.names}  # fmt: skip
    assert named & later == set()
    keywords = {
        keyword.arg
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") in ("zip", "dataclass", "isinstance")
        for keyword in node.keywords
    }
    assert keywords <= {"frozen"}, keywords


def _older() -> list[str]:
    """Return other interpreters that are installed here, by what starts them."""
    names = [f"python3.{minor}" for minor in range(OLDEST[1], 14)]
    found = [shutil.which(name) for name in names]
    roots = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found += [str(p) for p in sorted(roots.glob("3.*/bin/python3"))]
    return [path for path in dict.fromkeys(found) if path]


@pytest.mark.slow
def test_every_interpreter_here_answers_as_the_stated_oldest_does(
    script: Path, folder: Path
) -> None:
    expected = alone(script, str(folder)).stdout
    seen = set()
    for path in _older():
        version = subprocess.run(
            [path, "-c", "import sys; print(*sys.version_info[:2])"],
            capture_output=True, check=False,
        )  # fmt: skip
        done = subprocess.run(
            [path, "-I", str(script), str(folder)], capture_output=True, check=False
        )
        if version.returncode or b"SyntaxError" in done.stderr:
            continue  # no interpreter behind the name, or one from before Python 3.7
        seen.add(done.returncode)
        assert b"Traceback" not in done.stderr, (path, done.stderr)
        assert done.returncode == 3 or done.stdout == expected, path
    assert seen <= {0, 3}


def test_a_defect_has_a_code_of_its_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("values that nobody should see")

    monkeypatch.setattr(verify, "verify", broken)
    assert verify.main([str(folder)]) == 4
    assert capsys.readouterr().err == "error: verify.py has a defect: RuntimeError\n"


def test_an_answer_that_cannot_be_written_is_no_verdict(
    script: Path, folder: Path
) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-I", str(script), str(folder)],
            stdout=full, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


def test_a_pipe_that_closes_is_no_verdict(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Closed(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError(32, "Broken pipe")

    sent: list[int] = []
    monkeypatch.setattr(os, "dup2", lambda _, to: sent.append(to))
    monkeypatch.setattr(sys, "stdout", Closed())
    assert verify.main([str(folder)]) == 2
    assert sent == [1]
    assert "the verdict cannot be written" in capsys.readouterr().err
