# SPDX-License-Identifier: Apache-2.0
"""Runs to compare: alike, apart, unfinished, damaged and hostile."""

from pathlib import Path
from typing import Any

from lexfed.audit.entries import Genesis, PolicyEntry
from lexfed.report.comparison.compared_runs import ComparedRun, read_runs
from report.conftest import broken_run, hostile_run, measured, refused_run
from support.audit.worlds import FakeRun, fake_run

HOSTILE_NAME = '</td><script>alert("x")</script><img src=x onerror=alert(1)>\u202e'


def configured(run: FakeRun, text: str) -> FakeRun:
    """Give a run a configuration; logs and runs stay sound."""
    run.files["config.toml"] = text.encode()
    digest = run.put(text.encode())
    run.edit(PolicyEntry, config=digest)
    run.edit(Genesis, config=digest)
    return run


def named(name: str, source: str = "rows.csv", **settings: Any) -> FakeRun:
    """Return a finished run with metrics, on data of that name."""
    text = f'[run]\nname = "{name}"\n[data]\nsource = "{source}"\nunits = 600\n'
    return configured(measured(fake_run(**settings)), text)


def hostile() -> FakeRun:
    """Return a run whose files and configuration were written by somebody hostile."""
    quoted = HOSTILE_NAME.replace('"', '\\"')
    long = "x" * 300
    text = (
        f'[run]\nname = "{quoted}"\n[data]\nsource = "{quoted}{long}"\n'
        f'[data.columns."{quoted}"]\n"{long}.{quoted}" = ["{quoted}"]\n'
    )
    return configured(hostile_run(), text)


RUNS = {
    "plain": lambda: named("plain"),
    "more": lambda: named("more", rounds=(3, 2)),
    "elsewhere": lambda: named("elsewhere", "others.csv"),
    "made-up": lambda: named("made-up", "synthetic:hospital"),
    "none": lambda: named("none", mechanism="none"),
    "seeded": lambda: named("seeded", test=True),
    "clients": lambda: named("clients", unit="client"),
    "bare": fake_run,
    "interrupted": broken_run,
    "refused": refused_run,
    "hostile": hostile,
}


def write_runs(folder: Path, *names: str) -> list[Path]:
    """Write runs by name; `damaged` has another model, `missing` is not there."""
    paths = []
    for name in names:
        path = folder / name
        paths.append(path)
        if name == "missing" or path.exists():
            continue
        (RUNS["plain"] if name == "damaged" else RUNS[name])().write(path)
        if name == "damaged":
            (path / "model.safetensors").write_bytes(b"another")
    return paths


def read_named(folder: Path, *names: str) -> tuple[ComparedRun, ...]:
    """Write runs by name and read them to compare."""
    return read_runs(write_runs(folder, *names))
