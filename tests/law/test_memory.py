# SPDX-License-Identifier: Apache-2.0
"""The tagger stays small: 95 MB resident in a fresh process, and no heavy import."""

import subprocess
import sys
from pathlib import Path

import pytest

MOST_KB = 95 * 1024
HEAVY = ("pandas", "torch", "pydantic", "scipy", "sklearn", "pyarrow")
OF_TYPER = ["pydantic"]  # newer ones use it to read their arguments
STATUS = Path("/proc/self/status")
pytestmark = pytest.mark.skipif(
    not STATUS.exists(), reason="needs /proc to see the memory of a process"
)

# The peak of the address space that runs this code, not that of its parent.
REPORT = f"""
import re, sys
peak = re.search(r"VmHWM:\\s+(\\d+) kB", open("{STATUS}").read())[1]
print(peak, *sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)
"""

TAG = """
from lexfed.law.tagger.suggestions import DescribedColumn
from lexfed.law.tagger.pipeline import tag_columns
names = ["patient", "kunde", "fecha", "renda", "codice", "naam", "zip", "x"]
tag_columns([DescribedColumn(f"t{n % 20}", f"{names[n % 8]}_{n}") for n in range(1000)])
"""

NETWORK = """
from lexfed.law.tagger.semantics import network
assert network.load_network.cache_info().currsize == 1, "the network was not asked"
"""

COMMAND = """
import sys
from lexfed.cli import main
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
"""


def peak(code: str, *arguments: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", code + REPORT, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    kilobytes, *heavy = done.stderr.splitlines()[-1].split()
    assert heavy in ([], OF_TYPER if code.startswith(COMMAND) else [])
    return int(kilobytes)


def test_a_thousand_columns_with_the_network() -> None:
    assert peak(TAG + NETWORK) <= MOST_KB


def test_the_command_asks_the_network(tmp_path: Path) -> None:
    schema = tmp_path / "schema.csv"
    schema.write_text("column\nage\n")
    peak(COMMAND + NETWORK, "tag", "--schema", str(schema))


def test_the_measure_sees_what_is_used() -> None:
    big = "big = bytearray(120 << 20)\nbig[::4096] = b'x' * len(big[::4096])\n"
    assert peak(big) > MOST_KB


@pytest.mark.parametrize(
    "options",
    [["--json"], [], ["--explain", "geburtsdatum"], ["--html", "o.html"]],
    ids=["json", "table", "explain", "page"],
)
def test_the_command(tmp_path: Path, options: list[str]) -> None:
    schema = tmp_path / "schema.csv"
    rows = "".join(
        f"t{n % 20},column_{n},some words about it,int\n" for n in range(999)
    )
    schema.write_text(f"table,column,description,dtype\nt,geburtsdatum,,\n{rows}")
    options = [str(tmp_path / o) if o.endswith(".html") else o for o in options]
    assert peak(COMMAND, "tag", "--schema", str(schema), *options) <= MOST_KB


def test_the_command_on_data(tmp_path: Path) -> None:
    data = tmp_path / "patients.csv"
    rows = "".join(f"{n},p{n}@example.org,{n % 90}\n" for n in range(5000))
    data.write_text(f"patient_id,email,age\n{rows}")
    assert peak(COMMAND, "tag", str(data), "--json") <= MOST_KB
