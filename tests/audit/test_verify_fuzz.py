# SPDX-License-Identifier: Apache-2.0
"""Whatever a signed log cites, the result is a verdict, never a traceback.

Documents behind a log (tags, encoding, releases, claim) are changed in one place each
and logged again under right digests and signatures. Seeds are fixed.
"""

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lexfed.audit.entries import BudgetPlan, CompletionEntry, FeatureTags
from lexfed.audit.verify import Status, verify_run
from support.audit.worlds import FakeRun, fake_run

ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2**53 - 1, -0.5, 0.5, 1e-300, 1e300, "", "x", "special",
    "é" * 9, [], [None], [[]], {}, {"": 0}, {"count": 1, "release": {}},
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to every part of a document."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from places(part, (*path, number))


def changed(value: Any, chance: random.Random) -> Any:
    """Return the document with one part replaced, removed or repeated."""
    path = chance.choice(list(places(value)))
    if not path:
        return chance.choice(ODD)
    value = copy.deepcopy(value)
    parent = value
    for step in path[:-1]:
        parent = parent[step]
    match chance.randrange(4):
        case 0:
            del parent[path[-1]]
        case 1 if isinstance(parent, list):
            parent.append(parent[path[-1]])
        case 1:
            parent["unknown"] = parent[path[-1]]
        case _:
            parent[path[-1]] = chance.choice(ODD)
    return value


def logged(run: FakeRun, name: str, content: bytes) -> None:
    digest = run.put(content)
    if name in ("tags", "encoding"):
        fields: dict[str, Any] = {name: digest}
        run.edit(FeatureTags, **fields)
    elif name == "releases":
        run.edit(BudgetPlan, releases=digest)
    else:
        run.edit(CompletionEntry, claim=digest)


def document(run: FakeRun, name: str) -> Any:
    if name == "releases":
        entry = run.of(BudgetPlan)[0].entry
        assert isinstance(entry, BudgetPlan)
        return json.loads(run.blobs[str(entry.releases)])
    return json.loads(run.files[f"{name}.json"])


CLAIMS = {
    "tags": "feature tags",
    "encoding": "feature tags",
    "releases": "budget plan",
    "claim": "claim",
}


@pytest.mark.no_cover
@pytest.mark.parametrize("name", CLAIMS)
def test_changed_documents_end_in_a_verdict(name: str, tmp_path: Path) -> None:
    chance = random.Random(name)
    failed = 0
    for number in range(80):
        run = fake_run()
        value = changed(document(run, name), chance)
        logged(run, name, json.dumps(value).encode())
        checks = verify_run(run.write(tmp_path / str(number))).checks
        failed += {c.claim: c for c in checks}[CLAIMS[name]].status is Status.FAIL
    assert failed >= 40


@pytest.mark.parametrize("name", CLAIMS)
@pytest.mark.parametrize(
    "content",
    [b"", b"null", b"\xff", b"[" * 5_000, b"{}", b"1", b'{"a":1,"a":2}', b"NaN"],
    ids=["empty", "null", "bytes", "deep", "object", "number", "twice", "nan"],
)
def test_documents_that_are_none(name: str, content: bytes, tmp_path: Path) -> None:
    run = fake_run()
    logged(run, name, content)
    checks = verify_run(run.write(tmp_path / "run")).checks
    found = {c.claim: c for c in checks}[CLAIMS[name]]
    assert found.status is Status.FAIL
    assert found.detail
