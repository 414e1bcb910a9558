# SPDX-License-Identifier: Apache-2.0
"""The guide to deployments, followed to the letter: from nothing to a verified run."""

import os
import re
import shlex
import subprocess
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from support.deployed.deployments import LEXFED, free_port, running

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "deployment.md"
SITES = ("north", "south", "east", "west")
PROFILED = "deploy run open.toml --kit trial/coordinator --profile --epsilon 2"
STARTS = ("coordinator start", "site start")


def commands() -> list[str]:
    """Every `$ lexfed` line of the guide, in order."""
    lines = re.findall(r"^\$ lexfed (.+)$", GUIDE.read_text(), re.MULTILINE)
    assert len(lines) > 10
    return list(lines)


def everywhere(line: str) -> list[str]:
    """What is done at one site is done at all.

    But one looks at a run before all consent to it: looking changes nothing, so three
    more looks would show nothing more.
    """
    looks = line.startswith("site consent ") and not line.endswith(" --yes")
    if line == "deploy check trial/north" or (line.startswith("site ") and not looks):
        return [line.replace("north", name) for name in SITES]
    return [line]


def write_data(path: Path, seed: int) -> None:
    chance = np.random.default_rng(seed)
    rows = ["patient,age,ward,readmitted"]
    for number in range(200):
        age = int(chance.integers(18, 95))
        ward = chance.choice(["a", "b"])
        rows.append(f"{path.stem}{number},{age},{ward},{int(age > 60)}")
    path.write_text("\n".join(rows) + "\n")


def with_open_range(text: str) -> str:
    """Return the configuration with the lines that the guide has instead."""
    found = re.search(
        r"<!-- deployment:open -->\n```toml\n(.*?)```", GUIDE.read_text(), re.DOTALL
    )
    assert found is not None
    for line in found[1].splitlines():
        name = line.split(" = ")[0]
        [old] = re.findall(rf"^{name} = .*(?:range|visits).*$", text, re.MULTILINE)
        text = text.replace(old, line)
    return text


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_guide_leads_to_a_verified_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(SITES):
        write_data(tmp_path / f"{name}.csv", seed)
    found = re.search(
        r"<!-- deployment:config -->\n```toml\n(.*?)```", GUIDE.read_text(), re.DOTALL
    )
    assert found is not None
    (tmp_path / "lexfed.toml").write_text(found[1])
    (tmp_path / "open.toml").write_text(with_open_range(found[1]))
    address = f"127.0.0.1:{free_port()}"
    roster = Path("trial/coordinator/roster.json")
    done = []
    with ExitStack() as stack:
        for line in commands():
            for one in everywhere(line.replace("fl.example.org:8002", address)):
                if one.startswith(STARTS):
                    stack.enter_context(running(*shlex.split(one)))
                    continue
                ended = subprocess.run(
                    [*LEXFED, *shlex.split(one)],
                    capture_output=True,
                    text=True,
                    timeout=300,
                    env={**os.environ, "OMP_NUM_THREADS": "1"},
                )
                assert ended.returncode == 0, f"{one}\n{ended.stderr}"
                done.append((one, ended))
            if roster.exists():  # sent by e-mail, as the guide says
                Path("roster.json").write_bytes(roster.read_bytes())
    said = dict(done)
    lines = {said[one].stdout.splitlines()[-1] for one in said if "roster " in one}
    assert len(lines) == 1  # the number that people compare
    for run in ("visits", "ages-profile", "ages"):
        verified = said[f"verify trial/coordinator/runs/{run}/run"].stdout
        assert "FAIL" not in verified
    assert "(found)" in said[PROFILED].stdout
    again = said["deploy run lexfed.toml --kit trial/coordinator --resume"]
    assert "is finished already; nothing was spent" in again.stderr
