# SPDX-License-Identifier: Apache-2.0
"""Figures in documents are those of the extract of the results."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import documents as figures

from lexfed.evaluate.catalogue import table
from lexfed.evaluate.harness.summary import MeanEstimate, TableLine
from lexfed.evaluate.results.extract import read_extract

EXTRACT = Path(__file__).parents[2] / "docs/results/tables.jsonl"
VALUES = (0.7, 40.0, 0.3, 1.1)


def test_pages_and_blocks_say_what_the_extract_says(root: Path) -> None:
    differing = figures.stale(root)
    assert not differing, f"{differing}: run `python -m benchmarks.documents`"


def test_there_are_blocks_of_results(documents: dict[Path, str], root: Path) -> None:
    assert "<!-- results:" in documents[root / "README.md"]


def test_a_changed_answer_of_the_demo_is_found(root: Path, tmp_path: Path) -> None:
    for name in (figures.GUIDE, figures.DEMO, "README.md", "docs/results.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((root / name).read_bytes())
    shutil.copytree(
        root / "docs/results", tmp_path / "docs/results", dirs_exist_ok=True
    )
    assert figures.stale(tmp_path) == []
    guide = tmp_path / figures.GUIDE
    text = guide.read_text("utf-8")
    answer = re.search(r"Protection costs (0\.\d{3})", text)
    assert answer is not None
    guide.write_text(text.replace(answer[0], "Protection costs 0.999"), "utf-8")
    assert figures.stale(tmp_path) == [str(figures.GUIDE)]


def test_courses_are_averaged_over_data_sets() -> None:
    def line(method: str, dataset: str, gain: float | None) -> TableLine:
        names = ("auc", "rounds", "less_budget", "more_rounds")
        values = {
            n: MeanEstimate(v, 0.0, 2) for n, v in zip(names, VALUES, strict=True)
        }
        gains = {} if gain is None else {"auc": MeanEstimate(gain, 0.0, 2)}
        return TableLine({"method": method, "dataset": dataset}, values, gains, 2, ())

    lines = (
        line("course-constant", "a", None),
        line("course-step", "a", -0.02),
        line("course-step", "b", 0.01),
    )
    known = next(iter(read_extract(EXTRACT, [table("equal-attribute")]).values()))
    shown = figures.courses(replace(known, lines=lines)).splitlines()
    assert shown[2] == "|constant|40|+0.0000|+0.000 to +0.000|30 %|+110 %|"
    assert shown[3] == "|step|40|-0.0050|-0.020 to +0.010|30 %|+110 %|"


def test_results_of_another_demo_are_refused(root: Path) -> None:
    head, *rows = (root / figures.DEMO).read_text("utf-8").splitlines()
    other = json.dumps({**json.loads(head), "configuration": "0" * 64})
    with pytest.raises(ValueError, match="another configuration"):
        figures._answers("\n".join([other, *rows]))
    with pytest.raises(ValueError, match="lacks results"):
        figures._answers("\n".join([head, *rows[1:]]))


def test_blocks_of_benchmarks_say_what_was_printed(root: Path, tmp_path: Path) -> None:
    for name in (figures.MEASURED, "README.md", "docs/results.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((root / name).read_bytes())
    shutil.copytree(
        root / "docs/results", tmp_path / "docs/results", dirs_exist_ok=True
    )
    kinds = ("plain", "opacus", "none", "groups", "logistic")
    printed: dict[str, dict[str, float]] = {
        "training": {f"{kind}_{sites}": 1.25 for kind in kinds for sites in (12, 120)}
        | {"peak_mb": 413},
        "audit": {
            "appends_per_s": 520000,
            "proofs_per_s": 120000,
            "commits_per_s": 48.2,
            "fsyncs_per_s": 2600,
            "fsyncs_per_commit": 9,
            "verify_tree_s": 0.24,
            "verify_signatures_s": 9.3,
        },
    }
    on = {"code": "c0de", "date": "2026-11-18", "machine": "a machine"}
    rows = [{"benchmark": name, "values": one, **on} for name, one in printed.items()]
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    (tmp_path / figures.BENCHMARKS).write_text(lines, "utf-8")
    assert figures.stale(tmp_path) == [str(figures.MEASURED)]
    text = figures.documents(tmp_path)[tmp_path / figures.MEASURED]
    assert "| private over not private, same engine | 1.25 | 1.25 |" in text
    assert "520,000 entries/s into the tree in memory, 120,000 proofs/s, 48 dur" in text
    assert text.count("Code `c0de`, measured 2026-11-18, on a machine.") == 2
    (tmp_path / figures.MEASURED).write_text(text, "utf-8")
    assert figures.stale(tmp_path) == []


def test_every_block_is_closed(documents: dict[Path, str]) -> None:
    for path, text in documents.items():
        opened = re.findall(r"<!-- results:([\w-]+) -->", text)
        assert opened == re.findall(r"<!-- /results:([\w-]+) -->", text), path.name


def test_a_changed_figure_is_found(tmp_path: Path, root: Path) -> None:
    for name in ("README.md", "docs/results.md", "docs/results/tables.jsonl"):
        copy = tmp_path / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text((root / name).read_text("utf-8"), "utf-8")
    for page in (root / "docs" / "results").glob("*.md"):
        (tmp_path / "docs" / "results" / page.name).write_text(page.read_text("utf-8"))
    assert figures.stale(tmp_path) == []
    readme = tmp_path / "README.md"
    block = re.search(r"<!-- results:.*?<!-- /results", readme.read_text("utf-8"), re.S)
    assert block is not None
    figure = re.findall(r"0\.\d{3}", block[0])[0]
    changed = block[0].replace(figure, "0.999", 1)
    readme.write_text(readme.read_text("utf-8").replace(block[0], changed), "utf-8")
    page = tmp_path / "docs" / "results" / "alpha.md"
    page.write_text(page.read_text("utf-8").replace("0.", "1.", 1), "utf-8")
    assert figures.stale(tmp_path) == ["docs/results/alpha.md", "README.md"]
