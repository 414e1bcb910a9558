# SPDX-License-Identifier: Apache-2.0
"""The same folder before `lexfed verify` and before the standalone verifier."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from lexfed.audit.standalone import verify as standalone
from lexfed.audit.verify import RunVerdict, verify_run

NEEDS_MORE = {"budget plan", "round events", "budgets spent", "claim", "certificates"}
"""Claims that need an accountant where rounds are sampled, or the rules."""

Rows = dict[str, dict[str, Any]]
"""Lines of the standalone verifier by claim."""


def compared(
    folder: Path, policy: bytes | None = None, pin: bytes | None = None
) -> Rows:
    """Judge a folder with both, and return what the standalone verifier says."""
    return both(folder, policy, pin)[1]


def both(
    folder: Path, policy: bytes | None = None, pin: bytes | None = None
) -> tuple[RunVerdict, Rows]:
    """Judge a folder with both, and return what each of them says.

    Both must make the same claims in the same order, with the same status, and name
    the same entry. Where the standalone verifier lacks something, it must say so.
    """
    ours = verify_run(folder, policy, pin)
    found = standalone.verify(str(folder), policy, pin)
    rows = {row["claim"]: row for row in found["checks"]}
    assert list(rows) == [check.claim for check in ours.checks]
    for check in ours.checks:
        row = rows[check.claim]
        if row["detail"].startswith(("NOT RECOMPUTED", "NOT RE-EVALUATED")):
            assert check.claim in NEEDS_MORE
            assert row["status"] == "NOTE"
            continue
        assert row["status"] == check.status.value, (check, row)
        if check.index is not None and row["index"] is not None:
            assert row["index"] == check.index, (check, row)
    assert found["ok"] == (not failed(rows))
    assert found["origin"] == ours.origin
    assert (found["size"], found["root"]) == (ours.size, ours.root)
    return ours, rows


def failed(rows: Rows) -> list[str]:
    """Return the claims that fail."""
    return [claim for claim, row in rows.items() if row["status"] == "FAIL"]


def tables(path: Path) -> ModuleType:
    """Return a test module, for the tables in it."""
    spec = importlib.util.spec_from_file_location(f"tables_of_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
