# SPDX-License-Identifier: Apache-2.0
"""Real processes: signals, full disks, folders that cannot be written to."""

import json
import os
import random
import resource
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Lexfed = Callable[..., Any]
Edit = Callable[..., None]
COMMAND = [sys.executable, "-c", "from lexfed.cli import main; main()"]


def listen_to_ctrl_c() -> None:
    """Undo what a shell does to the jobs it starts in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


SLEEP = """
import importlib, pathlib, time
module, _, name = {place!r}.partition(":")
def sleep(*_, **__):
    pathlib.Path("asleep").touch()
    time.sleep(30)
setattr(importlib.import_module(module), name, sleep)
"""


def begin(
    place: Path, *arguments: str, asleep: str = "", **options: Any
) -> subprocess.Popen[str]:
    """Start a command, in which a function may be one that takes half a minute."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    options.setdefault("preexec_fn", listen_to_ctrl_c)
    program, code = COMMAND[:2], COMMAND[2]
    if asleep:
        code = SLEEP.format(place=asleep) + code
    return subprocess.Popen(
        [*program, code, *arguments],
        cwd=place,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def end(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def wait_for_round(run: Path, number: int, process: subprocess.Popen[str]) -> None:
    """Wait until that many rounds are charged, or the process is gone."""
    events = run / "events.jsonl"
    for _ in range(6000):
        if events.exists() and events.read_text().count('"charge"') >= number:
            return
        if process.poll() is not None:
            return
        time.sleep(0.005)
    raise AssertionError("the run did not get there")


@pytest.fixture
def long_run(edit: Edit) -> None:
    """Make the run long enough to be interrupted."""
    edit(("rounds = 1", "rounds = 12"))


def test_ctrl_c_leaves_a_run_that_continues(
    lexfed: Lexfed, place: Path, long_run: None
) -> None:
    process = begin(place, "run")
    wait_for_round(place / "runs/visits", 5, process)
    process.send_signal(signal.SIGINT)
    code, out, err = end(process)
    assert code == 130
    assert out == ""
    assert "stopping after this round" in err
    assert "interrupted after round " in err
    assert "continue with `lexfed run lexfed.toml --resume`" in err
    assert "Traceback" not in err
    events = (place / "runs/visits/events.jsonl").read_text()
    done = events.count('"charge"')
    said = lexfed("run", "--resume", "--json")
    assert said.code == 0, said.err
    result = json.loads(said.out)
    assert result["lost"] == 0  # stopping between rounds loses nothing
    shutil.move("runs/visits", "runs/cut")
    whole = lexfed("run", "--json")
    assert json.loads(whole.out)["metrics"] == result["metrics"]
    assert 0 < done < result["rounds"]
    left, right = (
        Path("runs", name, "model.safetensors") for name in ("cut", "visits")
    )
    assert left.read_bytes() == right.read_bytes()


def test_a_second_ctrl_c_stops_at_once(place: Path) -> None:
    process = begin(place, "run", asleep="lexfed.run.results.metrics:evaluate")
    _wait_for_sleep(place, process)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    code, _, err = end(process)
    assert code == 130
    assert "hint: continue with `lexfed run lexfed.toml --resume`" in err


def test_ctrl_c_before_training(place: Path) -> None:
    process = begin(place, "check", asleep="lexfed.cli.inputs:load_priced")
    _wait_for_sleep(place, process)
    process.send_signal(signal.SIGINT)
    code, _, err = end(process)
    assert code == 130
    assert err.splitlines()[-1] == "interrupted"
    assert "Traceback" not in err


def _wait_for_sleep(place: Path, process: subprocess.Popen[str]) -> None:
    while not (place / "asleep").exists() and process.poll() is None:
        time.sleep(0.01)


@pytest.mark.slow
def test_two_processes_on_one_folder(place: Path, long_run: None) -> None:
    first = begin(place, "run")
    wait_for_round(place / "runs/visits", 3, first)
    os.kill(first.pid, signal.SIGSTOP)  # it holds the lock and does not get on
    code, _, err = end(begin(place, "run", "--resume"))
    os.kill(first.pid, signal.SIGCONT)
    assert code == 2
    assert "`runs/visits` is in use by another process" in err
    first.kill()
    first.communicate()


@pytest.mark.slow
def test_kill_9_at_random_moments(lexfed: Lexfed, place: Path, edit: Edit) -> None:
    edit(("rounds = 1", 'rounds = 12\nengine = "inprocess"'))
    assert lexfed("run").code == 0
    whole = Path("runs/visits/model.safetensors").read_bytes()
    rounds = json.loads(Path("runs/visits/result.json").read_text())["rounds"]
    generator = random.Random(2)
    kills = 0
    for _ in range(4):
        shutil.rmtree("runs")
        arguments = ["run"]
        for _ in range(3):
            process = begin(place, *arguments)
            wait_for_round(
                place / "runs/visits", generator.randrange(1, rounds), process
            )
            time.sleep(generator.uniform(0, 0.05))
            process.kill()
            kills += end(process)[0] == -signal.SIGKILL
            arguments = ["run", "--resume"]
        said = lexfed("run", "--resume", "--json")
        assert said.code == 0, said.err
        result = json.loads(said.out)
        assert result["rounds"] + result["lost"] == rounds
        if not result["lost"]:
            assert Path("runs/visits/model.safetensors").read_bytes() == whole
    assert kills >= 4  # control: most of the processes were still running


def limited(size: int) -> Callable[[], None]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 300, 9000, 24000])
def test_a_full_disk(lexfed: Lexfed, place: Path, size: int) -> None:
    """Files may not grow beyond a size, as on a full disk; then there is space again.

    The sizes stop the run before its first file, in the middle of its first files, and
    in the middle of its log: a start that fails leaves nothing behind.
    """
    process = begin(place, "run", preexec_fn=limited(size))
    code, out, err = end(process)
    assert code == 2, err
    assert out == ""
    assert "error: cannot write `" in err
    assert "Traceback" not in err
    assert not (place / "runs/visits").exists()
    said = lexfed("run", "--json")
    assert said.code == 0, said.err
    result = json.loads(said.out)
    assert result["rounds"] + result["lost"] == 7


def test_a_disk_that_is_really_full(lexfed: Lexfed, place: Path, edit: Edit) -> None:
    mount = place / "disk"
    mount.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(mount)],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("needs the right to mount")
    try:
        edit(("seed = 3", 'seed = 3\nout = "disk/run"'))
        filler = mount / "filler"
        filler.write_bytes(bytes(5900 << 10))
        said = lexfed("run")
        assert said.code == 2
        assert "no space left on" in said.err
        filler.unlink()
        assert lexfed("run", "--resume").code == 0
    finally:
        subprocess.run(["umount", str(mount)], check=True)


# For root every folder is writable: warm up, so that everything is imported, then
# become somebody else.
# Everything is imported first: nobody else may read where lexfed is installed.
AS_NOBODY = """
import contextlib, importlib, io, os, pkgutil, sys
import lexfed
from lexfed.cli import main
for found in pkgutil.walk_packages(lexfed.__path__, "lexfed."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
argv, sys.argv = sys.argv, ["lexfed", "plan"]
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    with contextlib.redirect_stderr(io.StringIO()):
        main()
for path, mode in zip(argv[1::2], argv[2::2]):
    os.chmod(path, int(mode, 8))
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
sys.argv = ["lexfed", "run"]
main()
"""


@pytest.fixture
def open_place(place: Path) -> Iterator[Path]:
    """A copy of the working folder that everybody can enter."""
    folder = Path(tempfile.mkdtemp())
    shutil.copytree(place, folder, dirs_exist_ok=True)
    (folder / "runs" / "visits").mkdir(parents=True)
    folder.chmod(0o755)
    yield folder
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "mode", "message"),
    [
        ("runs/visits", "555", "cannot write to `runs/visits`: permission denied"),
        ("runs", "0", "`runs/visits`: permission denied"),
        ("patients.csv", "0", "patients.csv: permission denied"),
        ("lexfed.toml", "0", "lexfed.toml: cannot be read: permission denied"),
    ],
)
def test_what_permissions_forbid(
    open_place: Path, path: str, mode: str, message: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, path, mode],
        cwd=open_place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert list((open_place / "runs/visits").iterdir()) == []


def test_output_that_nobody_takes(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "--version"],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2
    assert "error: output: no space left on device" in done.stderr
    process = begin(tmp_path, "--help")
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert "Exception" not in process.stderr.read()
    process.wait()
    process.stderr.close()


HEAVY = ("torch", "numpy", "pandas", "scipy", "sklearn", "pydantic", "dp_accounting")


def test_help_and_import_are_light() -> None:
    code = (
        "import sys, lexfed\n"
        "from lexfed.cli import app\n"
        "sys.argv = ['lexfed', '--help']\n"
        "try: app.main()\n"
        "except SystemExit as ended: assert not ended.code\n"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)\n"
        "lexfed.plan\n"
        "assert 'torch' in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"
    assert "Usage: lexfed" in done.stdout


def test_the_package_is_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["lexfed", "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("lexfed", run_name="__main__")
    assert not ended.value.code
    assert "Usage: lexfed" in capsys.readouterr().out
