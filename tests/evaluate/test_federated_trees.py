# SPDX-License-Identifier: Apache-2.0
"""Trees of several processes: as good as trees on all rows, and nothing left behind."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest

from lexfed.data.schema import Column
from lexfed.errors import ConfigError
from lexfed.evaluate import tree_site
from lexfed.evaluate.methods import METHODS, federated_trees, site_processes
from lexfed.evaluate.methods.columns import Columns
from lexfed.evaluate.methods.site_processes import (
    SiteRows,
    SitesFailed,
    free_ports,
    trained_together,
)
from lexfed.evaluate.metrics import measure
from support.small_dataset import small_case, small_dataset

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
COLUMNS = Columns(
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
    bins = federated_trees.public_bins(COLUMNS)
    return trained_together(sites, bins, [2], {**SETTINGS, **changed}, 60.0)


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
    # Ports are among the parameters below the trees.
    assert first.split("end of trees")[0] == again.split("end of trees")[0]
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


@pytest.mark.parametrize("number", [False, True])
def test_the_method_learns_what_there_is_to_learn(tmp_path: Path, number: bool) -> None:
    # Chance has AUC .5 +- .04 on 180 test rows; .65 is more than three deviations up.
    dataset = small_dataset(tmp_path, number=number)
    scores = METHODS[federated_trees.NAME](dataset, small_case(sites=2))
    found = measure(scores, None)
    assert found["r2"] > 0.0 if number else found["auc"] > 0.65
    assert scores.record_epsilon is None
    assert "no guarantee" in scores.note
    assert scores.rounds == 150


def test_bins_follow_from_declarations_alone() -> None:
    bins = federated_trees.public_bins(COLUMNS)
    other = Columns(COLUMNS.columns, np.full((5, 3), 3.3))
    assert np.array_equal(bins, federated_trees.public_bins(other), equal_nan=True)
    assert np.isnan(bins[-1]).all()
    assert np.unique(bins[:-1, 2]).tolist() == [0.0, 1.0, 2.0]
    assert np.nanmin(bins[:, 0]) == -4.0
    assert np.nanmax(bins[:, 0]) == 4.0
    assert len(np.unique(bins[:-1, 0])) <= 254
    money = Columns((Column("gain", "number", range=(0.0, 1e5)),), np.zeros((0, 1)))
    near = federated_trees.public_bins(money)[:-1]
    # Large ranges are seen from near as well: sums below a hundred have bins.
    assert np.sum((near > 0) & (near < 100)) > 20
    flag = Columns((Column("on", "flag"),), np.zeros((0, 1)))
    assert np.unique(federated_trees.public_bins(flag)[:-1]).tolist() == [0.0, 1.0]


def test_long_lists_are_no_categories() -> None:
    levels = tuple(str(n) for n in range(256))
    long = Columns((Column("code", "category", values=levels),), np.zeros((0, 1)))
    assert federated_trees.categories(long) == []
    assert federated_trees.categories(COLUMNS) == [2]


def children() -> list[psutil.Process]:
    """Processes of sites that this one has, whether they run or not."""
    own = psutil.Process().children(recursive=True)
    return [one for one in own if "tree_site" in " ".join(one.cmdline())]


def test_no_process_is_left_after_a_failure() -> None:
    sites = parts(*made(300, 3))[:2]
    with pytest.raises(SitesFailed, match=r"ended with 1: .*objective"):
        together(sites, objective="no such thing")
    assert children() == []
    bins = federated_trees.public_bins(COLUMNS)
    with pytest.raises(SitesFailed, match="did not end in time") as error:
        trained_together(sites, bins, [2], SETTINGS, 0.0)
    assert "fewer sites" in error.value.hint
    assert children() == []


def test_a_port_that_was_taken_meanwhile_is_tried_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sites = parts(*made(300, 3))[:2]
    with socket.socket() as busy:
        busy.bind(("", 0))
        busy.listen()
        taken = busy.getsockname()[1]
        free, asked = site_processes.free_ports, []

        def first_a_taken_one(count: int) -> list[int]:
            asked.append(count)
            ports = free(count)
            return [*ports[:-1], taken] if len(asked) == 1 else ports

        monkeypatch.setattr(site_processes, "free_ports", first_a_taken_one)
        assert "tree" in together(sites, num_iterations=2)
        assert asked == [2, 2]

        monkeypatch.setattr(
            site_processes, "free_ports", lambda count: [*free(count - 1), taken]
        )
        monkeypatch.setattr(site_processes, "_ATTEMPTS", 1)
        with pytest.raises(SitesFailed, match="no 2 free ports in 1 attempts"):
            together(sites)
    assert children() == []


def test_a_port_at_which_somebody_listens_is_not_free() -> None:
    with socket.socket() as busy:
        busy.bind(("", 0))
        busy.listen()
        assert not site_processes._free(busy.getsockname()[1])


def test_ports_are_free_and_different() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert all(20_000 <= port < 32_000 for port in ports)


def test_a_site_ends_with_whoever_started_it() -> None:
    command = [sys.executable, "-m", "lexfed.evaluate.tree_site"]
    order = {"settings": {}, "categories": [], "answers": False}
    site = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    ports = free_ports(2)
    lonely = {**SETTINGS, **site_processes._network(ports, ports[0])}
    arrays = [np.ones((30, 1)), np.ones((30, 1)), np.ones(30)]
    site_processes._tell(site, {**order, "settings": lonely}, arrays)
    # It waits for a second site, until its input ends.
    assert site.stdin is not None
    site.stdin.close()
    assert site.wait(30) == 1
    assert site.stdout is not None
    site.stdout.close()


@pytest.mark.parametrize(
    ("settings", "answers", "status", "told"),
    [
        ({}, True, 0, "tree"),
        ({}, False, 0, ""),
        ({"objective": "no such thing"}, True, 1, ""),
    ],
)
def test_a_site_answers_if_it_is_the_one_to(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    settings: dict[str, Any],
    answers: bool,
    status: int,
    told: str,
) -> None:
    inputs, targets = made(60, 7)
    order = {"settings": {**SETTINGS, **settings}, "answers": answers}
    reading, writing = os.pipe()
    with open(reading) as source, open(writing, "wb") as sink:
        site: Any = SimpleNamespace(stdin=sink)
        arrays = (federated_trees.public_bins(COLUMNS), inputs, targets)
        site_processes._tell(site, {**order, "categories": [2]}, arrays)
        monkeypatch.setattr(sys, "stdin", source)
        # It would end this very process together with its input.
        monkeypatch.setattr(tree_site, "_end_with_parent", lambda: None)
        assert tree_site.main() == status
    said = capsys.readouterr()
    assert said.out.startswith(told)
    assert bool(said.out) == bool(told)
    assert ("Unknown objective" in said.err) == (status == 1)


def test_a_site_needs_no_openmp_of_the_machine() -> None:
    script = (
        "from lexfed.evaluate import tree_site; tree_site._load_openmp(); "
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
    monkeypatch.setattr(tree_site, "find_spec", lambda _: None)
    monkeypatch.setattr(tree_site, "CDLL", None)  # it would fail if it was called
    tree_site._load_openmp()


def test_the_end_of_its_input_ends_a_site(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(writing)
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    with open(reading) as source:
        monkeypatch.setattr(sys, "stdin", source)
        tree_site._end_with_parent()
    assert ended == [1]


def test_a_process_that_is_killed_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    tell = site_processes._tell

    def told_and_killed(process: Any, order: Any, arrays: Any) -> None:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        tell(process, order, arrays)

    monkeypatch.setattr(site_processes, "_tell", told_and_killed)
    with pytest.raises(SitesFailed, match=r"ended with -9$"):
        together(parts(*made(300, 3))[:2])
    assert children() == []


@pytest.mark.parametrize(
    ("error", "said", "hint"),
    [
        (ImportError(), "`lightgbm` is not installed", "pip install 'lexfed[trees]'"),
        (OSError("libgomp.so.1: no such file"), "cannot be loaded", "libgomp1"),
    ],
)
def test_a_missing_library_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    said: str,
    hint: str,
) -> None:
    def missing(name: str) -> None:
        raise error

    monkeypatch.setattr(federated_trees, "import_module", missing)
    with pytest.raises(ConfigError, match=said) as found:
        METHODS[federated_trees.NAME](small_dataset(tmp_path), small_case())
    assert hint in found.value.hint
