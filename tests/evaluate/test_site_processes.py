# SPDX-License-Identifier: Apache-2.0
"""Trees of several processes: as good as trees on all rows, and nothing left behind."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest

from lexfed.data.schema import Column
from lexfed.evaluate.comparison.split_rows import CodedColumns
from lexfed.evaluate.methods import boosted_trees
from lexfed.evaluate.trees import process_group
from lexfed.evaluate.trees import site as tree_site
from lexfed.evaluate.trees.network import read_blocks
from lexfed.evaluate.trees.process_group import (
    SiteProcessError,
    SiteRows,
    train_together,
)

lightgbm = pytest.importorskip("lightgbm")

SETTINGS = {
    "objective": "binary",
    "num_iterations": 40,
    "num_leaves": 8,
    "min_data_in_leaf": 20,
    "deterministic": True,
    "force_col_wise": True,
    "num_threads": 1,
    "verbosity": -1,
}


COLUMNS = CodedColumns(
    (
        Column("low", "number", range=(-4.0, 4.0)),
        Column("high", "number", range=(-4.0, 4.0)),
        Column("kind", "category", values=("a", "b", "c")),
    ),
    np.zeros((0, 3)),
)


def made(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two numbers and a category; sites differ in where their numbers lie."""
    generator = np.random.default_rng(seed)
    numbers = generator.normal(size=(rows, 2))
    kind = generator.integers(0, 3, rows)
    logit = 1.5 * numbers[:, 0] * numbers[:, 1] + (kind == 1) * 2.0 - 1.0
    targets = (generator.uniform(size=rows) < 1 / (1 + np.exp(-logit))).astype(float)
    return np.column_stack([np.clip(numbers, -4, 4), kind]), targets


def auc(text: str, inputs: np.ndarray, targets: np.ndarray) -> float:
    scores = lightgbm.Booster(model_str=text).predict(inputs, num_threads=1)
    pairs = scores[targets == 1][:, None] - scores[targets == 0][None, :]
    return float((pairs > 0).mean() + (pairs == 0).mean() / 2)


def parts(inputs: np.ndarray, targets: np.ndarray) -> list[SiteRows]:
    """Three sites by the first number, so that none has seen what the others have."""
    site = np.searchsorted([-0.7, 0.7], inputs[:, 0])
    return [SiteRows(inputs[site == k], targets[site == k]) for k in range(3)]


def together(sites: list[SiteRows], **changed: Any) -> str:
    bins = boosted_trees.public_bins(COLUMNS)
    return train_together(sites, bins, [2], {**SETTINGS, **changed}, 60.0)


def test_sites_that_differ_train_what_all_rows_in_one_place_would() -> None:
    # Two AUCs on the same 2,000 rows of models that differ in their bins only; the
    # difference has a deviation below .005, so .02 is passed with p < 1e-4. Everything
    # is seeded, so the test cannot fail by chance once it passed.
    inputs, targets = made(1500, 1)
    asked, truth = made(2000, 2)
    sites = parts(inputs, targets)
    federated = auc(together(sites), asked, truth)
    rows = lightgbm.Dataset(inputs, targets, categorical_feature=[2])
    pooled = auc(lightgbm.train(SETTINGS, rows).model_to_string(), asked, truth)
    assert abs(federated - pooled) < 0.02
    # Negative control: what a site learns alone is worse for all.
    alone = [auc(together([site]), asked, truth) for site in sites]
    assert max(alone) < federated - 0.03


def test_the_same_seed_gives_the_same_trees() -> None:
    sites = parts(*made(300, 3))[:2]
    first, again = (together(sites, seed=4, num_iterations=5) for _ in range(2))
    assert first == again
    assert first.count("Tree=") == 5


def test_a_site_with_one_row_and_one_with_one_class_take_part() -> None:
    inputs, targets = made(600, 5)
    one_class = SiteRows(inputs[targets == 1][:40], targets[targets == 1][:40])
    sites = [
        SiteRows(inputs[:1], targets[:1]),
        one_class,
        SiteRows(inputs[1:], targets[1:]),
    ]
    assert auc(together(sites), *made(1000, 6)) > 0.65


def children() -> list[psutil.Process]:
    """Processes of sites that this one has, whether they run or not."""
    own = psutil.Process().children(recursive=True)
    return [one for one in own if "tree_site" in " ".join(one.cmdline())]


def test_no_process_is_left_after_a_failure() -> None:
    sites = parts(*made(300, 3))[:2]
    with pytest.raises(SiteProcessError, match=r"site 1 ended with 1: .*objective"):
        together(sites, objective="no such thing")
    assert children() == []
    bins = boosted_trees.public_bins(COLUMNS)
    with pytest.raises(SiteProcessError, match="did not end in time") as error:
        train_together(sites, bins, [2], SETTINGS, 0.0)
    assert "fewer sites" in error.value.hint
    assert children() == []


def sockets(process: int) -> list[str]:
    """Return the open sockets of a process, of any kind."""
    links = []
    for one in Path(f"/proc/{process}/fd").iterdir():
        # The one through which this list is read is gone at its end.
        with suppress(FileNotFoundError):
            links.append(os.readlink(one))
    return [link for link in links if link.startswith("socket:")]


def test_no_site_opens_a_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    send = process_group._Site.send
    looked: list[list[str]] = []

    def looking(site: Any, blocks: Any) -> None:
        # It waits for these blocks; except at the first it has joined the others.
        looked.append(sockets(site.process.pid))
        send(site, blocks)

    monkeypatch.setattr(process_group._Site, "send", looking)
    text = together(parts(*made(300, 3)), num_iterations=2)
    # Three sites were looked at in each of several steps.
    assert len(looked) > 9
    assert not any(looked)
    assert "[machines: ]" in text
    # Negative control: a socket is seen.
    with socket.socket():
        assert sockets(os.getpid())


ORDER = {"settings": SETTINGS, "categories": [2], "sites": 1, "site": 0}


def ordered(order: dict[str, Any]) -> bytes:
    """Return the first order that a site is sent."""
    sink = BytesIO()
    process: Any = SimpleNamespace(stdin=sink)
    bins = boosted_trees.public_bins(COLUMNS)
    process_group._Site(0, process).tell(order, (bins, *made(60, 7)))
    return sink.getvalue()


def test_a_site_ends_with_whoever_started_it() -> None:
    command = [sys.executable, "-m", "lexfed.evaluate.trees.site"]
    # It waits for a second site, until its input ends.
    done = subprocess.run(
        command, input=ordered({**ORDER, "sites": 2}), capture_output=True, timeout=60
    )
    assert done.returncode == 1
    assert b"nobody waits" in done.stderr


@pytest.mark.parametrize(
    ("settings", "site", "status", "told"),
    [
        ({}, 0, 0, [b"tree"]),
        ({}, 1, 0, [b""]),
        ({"objective": "no such thing"}, 0, 1, None),
    ],
)
def test_the_first_site_answers(
    capsys: pytest.CaptureFixture[str],
    settings: dict[str, Any],
    site: int,
    status: int,
    told: list[bytes] | None,
) -> None:
    order = {**ORDER, "settings": {**SETTINGS, **settings}, "site": site}
    answer = BytesIO()
    assert tree_site.main(BytesIO(ordered(order)), answer) == status
    assert ("Unknown objective" in capsys.readouterr().err) == (status == 1)
    answer.seek(0)
    if told is None:
        assert answer.read() == b""
    else:
        assert [block[:4] for block in read_blocks(answer)] == told


def test_a_site_needs_no_openmp_of_the_machine() -> None:
    script = (
        "from lexfed.evaluate.trees import site; site._load_openmp(); "
        "import lightgbm; print(open('/proc/self/maps').read())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True
    )
    used = {
        line.split()[-1] for line in done.stdout.split("\n") if "libgomp.so" in line
    }
    assert used
    assert all(path.endswith("torch/lib/libgomp.so.1") for path in used)


def test_a_site_without_torch_takes_the_machines_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded: list[str] = []
    monkeypatch.setattr(tree_site, "CDLL", lambda path, **_: loaded.append(path))
    tree_site._load_openmp()
    assert loaded  # control: with torch its own is taken
    loaded.clear()
    monkeypatch.setattr(tree_site, "find_spec", lambda _: None)
    tree_site._load_openmp()
    assert loaded == []


@pytest.mark.parametrize("step", [0, 1, 6])
@pytest.mark.parametrize("killed", [0, 1])
def test_a_process_that_is_killed_is_reported(
    monkeypatch: pytest.MonkeyPatch, killed: int, step: int
) -> None:
    send, sent = process_group._Site.send, []

    def killed_and_sent(site: Any, blocks: Any) -> None:
        if site.place == killed:
            sent.append(site)
            if len(sent) == step + 1:
                os.kill(site.process.pid, signal.SIGKILL)
                site.process.wait()
        send(site, blocks)

    monkeypatch.setattr(process_group._Site, "send", killed_and_sent)
    with pytest.raises(SiteProcessError, match=rf"site {killed + 1} ended with -9$"):
        together(parts(*made(300, 3))[:2])
    assert children() == []


def test_sites_that_stand_still_end_when_their_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    receive = process_group._Site.receive

    def stopped(site: Any) -> list[bytes]:
        os.kill(site.process.pid, signal.SIGSTOP)
        return receive(site)

    monkeypatch.setattr(process_group._Site, "receive", stopped)
    bins = boosted_trees.public_bins(COLUMNS)
    sites = parts(*made(300, 3))[:2]
    with pytest.raises(SiteProcessError, match="did not end in time"):
        train_together(sites, bins, [2], SETTINGS, 0.2)
    assert children() == []
