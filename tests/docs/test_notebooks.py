# SPDX-License-Identifier: Apache-2.0
"""The notebooks of the guide run as they stand, and hold no outputs."""

import json
import re
import resource
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
NOTEBOOKS = sorted(GUIDE.glob("*.ipynb"))
MACHINE = re.compile(r"(?<![\w.)])/(home|tmp|work|root|mnt|dev|Users)/|[A-Z]:\\\\")
CPU_SECONDS = 60
RUN = """
import json, sys
import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
# Sockets are files here, so no port is opened.
manager = AsyncKernelManager(transport="ipc", ip="k", connection_file="k.json")
NotebookClient(notebook, km=manager, timeout=400).execute()
print(json.dumps([cell for cell in notebook.cells if cell.cell_type == "code"]))
"""


def _names(paths: list[Path]) -> list[str]:
    return [path.stem for path in paths]


def test_there_are_three() -> None:
    assert _names(NOTEBOOKS) == ["auditor", "first-model", "five-sites"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=_names(NOTEBOOKS))
def test_a_notebook_is_its_source_alone(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    notebook = json.loads(text)
    nbformat.validate(notebook)
    assert notebook["metadata"] == {
        "kernelspec": {
            "display_name": "Python 3",
            "language": "python",
            "name": "python3",
        },
        "language_info": {"name": "python"},
    }
    for cell in notebook["cells"]:
        assert cell["metadata"] == {}
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None
        lines = cell["source"]
        if cell["cell_type"] == "code":
            assert len(lines) <= 30, "a long cell is not read"
    assert not MACHINE.search(text)
    assert MACHINE.search('"/home/me"')


@pytest.mark.slow
@pytest.mark.timeout(500)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=_names(NOTEBOOKS))
def test_a_notebook_runs(
    path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path_factory.mktemp("nb")
    for name in ("HOME", "XDG_STATE_HOME", "IPYTHONDIR", "TMPDIR"):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(path)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert took < CPU_SECONDS
    cells = json.loads(done.stdout)
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert outputs
    shown = json.dumps(outputs)
    assert "Traceback" not in shown
    assert '"stderr"' not in shown
    assert not MACHINE.search(shown)
