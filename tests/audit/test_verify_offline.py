# SPDX-License-Identifier: Apache-2.0
"""The same verdict everywhere: offline, read-only, any locale and umask (row 23)."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.audit.worlds import fake_run

HEAVY = (
    "torch", "pandas", "matplotlib", "ssl", "http.client", "urllib.request",
    "lexfed.models", "lexfed.federation", "lexfed.run",
    "lexfed.audit.witness.bounded_http",
    "lexfed.audit.witness.client",
)  # fmt: skip

IMPORTS = f"""
import sys
import lexfed.audit.verify
import lexfed.cli.commands.evidence.verify
print([name for name in {HEAVY!r} if name in sys.modules])
"""

# Raises from the first attempt to write, to connect or to start a program, whatever
# the rights of whoever runs it.
WATCHED = """
import sys, os
def watch(event, arguments):
    flags = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & flags:
        raise SystemExit(f"writes {arguments[0]}")
    if event.startswith(("socket.", "subprocess.")) or event in (
        "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink",
        "os.chmod", "os.truncate", "shutil.rmtree",
    ):
        raise SystemExit(f"does {event}")
from pathlib import Path
from lexfed.audit.verify import verify_run
import dp_accounting.pld.privacy_loss_distribution
sys.dont_write_bytecode = True
sys.addaudithook(watch)
verdict = verify_run(Path(sys.argv[1]))
sys.stdout.write(str(verdict.ok))
"""


def python(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_verifying_imports_neither_torch_nor_a_network_module() -> None:
    assert python(IMPORTS) == "[]"


@pytest.mark.parametrize("rate", ["1.0", "0.1"])
def test_verifying_writes_nothing_and_asks_nobody(rate: str, tmp_path: Path) -> None:
    folder = fake_run(sampling_rate=float(rate)).write(tmp_path / "run")
    assert python(WATCHED, str(folder)) == "True"


def command(
    folder: Path, umask: int = 0o022, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "lexfed", "verify", str(folder)],
        capture_output=True,
        umask=umask,
        env={**os.environ, **(environment or {})},
        check=False,
    )


ODD_LOCALE = {
    "LC_ALL": "tr_TR.ISO-8859-9",
    "LANG": "C",
    "PYTHONUTF8": "0",
    "PYTHONIOENCODING": "ascii",
    "TZ": "Pacific/Kiritimati",
    "COLUMNS": "20",
    "NO_COLOR": "1",
}


def test_the_verdict_depends_on_neither_locale_nor_umask(tmp_path: Path) -> None:
    folder = fake_run(witnesses=b"quorum none\n").write(tmp_path / "run")
    plain = command(folder)
    odd = command(folder, umask=0o777, environment=ODD_LOCALE)
    assert plain.returncode == odd.returncode == 0, odd.stderr
    assert plain.stdout == odd.stdout
    assert plain.stdout.startswith(b"OK   log  ")


def test_a_folder_with_an_odd_name(tmp_path: Path) -> None:
    run = fake_run()
    del run.blobs[next(iter(run.blobs))]
    folder = run.write(tmp_path / "r\u00fcn \u2603")
    done = command(folder, environment=ODD_LOCALE)
    assert done.returncode == 1, done.stderr
    assert b"FAIL blobs" in done.stdout
    assert b"Traceback" not in done.stderr
