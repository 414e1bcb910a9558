# SPDX-License-Identifier: Apache-2.0
"""Records of masked sums changed at random: both verifiers say the same of each.

Fixed seeds, so every run judges the same bytes. Under the old signatures everything is
refused; signed again, some changes are sound, and both must agree on which.
"""

import json
import random
from pathlib import Path
from typing import Any

from lexfed.audit.entries import RoundEntry
from lexfed.audit.entries.masking_record import aggregation_of
from lexfed.canonical import canonical_bytes
from lexfed.errors import AuditError
from support.audit.masked_rounds import signed_again
from support.audit.masked_runs import CLAIM, ORDERED, how, masked_run, record
from support.audit.two_verifiers import compared
from support.audit.worlds import FakeRun, sha256

FORGED = "A" * 86 + "=="
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2, 3, 4, 5, 2**16, 2**32, 2**53 - 1, 1.5, "", "zz", FORGED,
    sha256(b"other"), [], [0], [0, 1, 2, 3], [1, 0], {}, {"zz": FORGED},
)  # fmt: skip
"""What leaves and branches are replaced with."""


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths to everything inside a JSON value."""
    found = [path] if path else []
    rows: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        rows = list(value.items())
    elif isinstance(value, list):
        rows = list(enumerate(value))
    for name, each in rows:
        found += places(each, (*path, name))
    return found


def changed(content: bytes, draw: random.Random) -> bytes:
    """Replace, remove or double one thing."""
    plain = json.loads(content)
    *above, last = draw.choice(places(plain))
    inside = plain
    for name in above:
        inside = inside[name]
    match draw.randrange(3):
        case 0:
            del inside[last]
        case 1 if isinstance(inside, list):
            inside.insert(last, inside[last])
        case _:
            inside[last] = draw.choice(VALUES)
    return canonical_bytes(plain)


def cites(run: FakeRun, content: bytes) -> None:
    """Let the first round cite a record, and say what it shows if that is clear."""
    digest = run.put(content)
    try:
        stated = aggregation_of(content)
    except AuditError:
        stated = how(run, 0).model_copy(update={"evidence": digest})
    run.edit(RoundEntry, 0, aggregation=stated)


def test_old_signatures_cover_whatever_is_changed(tmp_path: Path) -> None:
    draw, sound = random.Random(1), masked_run()
    original, count = json.loads(record(sound)), 0
    for number in range(40):
        content = changed(record(sound), draw)
        plain = json.loads(content)
        consents = plain.pop("consents", None)
        if plain == {k: v for k, v in original.items() if k != "consents"}:
            fewer = isinstance(consents, dict) and consents.items() <= (
                original["consents"].items()
            )
            if fewer:
                continue  # a signature more than needed was left out
        run = masked_run()
        cites(run, content)
        assert compared(run.write(tmp_path / str(number)))[CLAIM]["status"] == "FAIL"
        count += 1
    assert count > 25


def test_new_signatures_are_judged_alike(tmp_path: Path) -> None:
    draw, sound, said = random.Random(2), masked_run(), []
    for number in range(40):
        plain = json.loads(changed(record(sound), draw))
        terms = plain.pop("terms", {})
        plain.pop("consents", None)
        run = masked_run()
        try:
            content = signed_again(record(run), ORDERED[:4], terms=terms, **plain)
        except (ValueError, TypeError):
            continue
        cites(run, content)
        said.append(compared(run.write(tmp_path / str(number)))[CLAIM]["status"])
    assert {"OK", "FAIL"} == set(said)
