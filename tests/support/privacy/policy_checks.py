# SPDX-License-Identifier: Apache-2.0
"""What policies and searches promise, as checks that fail on broken code."""

import json
import math
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lexfed.budget import policy as policies
from lexfed.budget.policy import PolicyTerms
from lexfed.cli.commands.training import tune as tune_command
from lexfed.config import loads, policy_file
from lexfed.config.policy_file import read_policy, signature_path, with_signature
from lexfed.errors import ConfigError
from lexfed.privacy import selection
from lexfed.privacy.accountants import rdp
from lexfed.privacy.selection import Repetitions
from lexfed.run import PricedRun, price, seeded_population, tuning
from lexfed.run.pricing import policy_terms as run_policies
from lexfed.run.tuning import write_record
from lexfed.signing.keys import Signer, create_key, public_path
from support.configurations import configuration

Patch = pytest.MonkeyPatch

CONFIG = configuration(
    {
        "run": {"name": "bound"},
        "data.generator.sites": 2,
        "budget.delta": 1e-7,
        "budget.policy": "published",
        "federation": None,
    }
)


def _priced(more: str = "") -> PricedRun:
    config = loads(CONFIG + more)
    return price(config, seeded_population(config, Path()))


def a_policy_caps_its_tiers() -> None:
    claim = _priced().claim(1)
    assert claim is not None
    caps = {"special": 0.1, "personal": 0.5, "non_personal": 1.0}
    assert all(tier.epsilon <= caps[name] for name, tier in claim.tiers.items())


def caps_stay_in_their_range() -> None:
    with pytest.raises(ConfigError, match="level `high`"):
        _priced("[budget.caps]\nspecial = 0.3\n")


@contextmanager
def _folder() -> Iterator[Path]:
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(before)


def a_policy_is_what_was_signed() -> None:
    with _folder() as place:
        key = place / "keys" / "officer.pem"
        signer = Signer("officer", create_key(key))
        file = place / "p.toml"
        content = read_policy("published").content
        signature_path(file).write_bytes(with_signature(content, None, signer))
        file.write_bytes(content.replace(b"0.15", b"0.95"))
        with pytest.raises(ConfigError, match="changed after signing"):
            read_policy("p.toml", [str(public_path(key))], place)


def the_best_of_many_costs_more_than_one() -> None:
    """Randomised response whose score is its answer: the exact divergence is known."""
    high, law = 0.6, Repetitions("geometric", 10.0)

    def fails(chance: float) -> float:
        return law.gamma * chance / (1.0 - (1.0 - law.gamma) * chance)

    def divergence(p: float, q: float, order: int) -> float:
        terms = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
        return math.log(terms) / (order - 1)

    small = [order for order in rdp.ORDERS if order <= 64]
    once = np.full(len(rdp.ORDERS), math.log(high / (1.0 - high)))
    once[: len(small)] = [divergence(high, 1.0 - high, a) for a in small]
    bound = selection.selected_curve(once, law)
    for place, order in enumerate(small):
        assert divergence(fails(high), fails(1.0 - high), order) <= bound[place]


def a_search_is_on_disk_before_it_runs() -> None:
    seen: list[dict[str, Any]] = []

    def look(*_: object) -> None:
        seen.append(json.loads(Path("search/tune.json").read_text()))

    with _folder() as place, pytest.MonkeyPatch.context() as patch:
        (place / "lexfed.toml").write_text(CONFIG)
        patch.setattr(tuning, "run_search", look)
        grid = ["federation.rounds=1,2"]
        path, out = Path("lexfed.toml"), Path("search")
        tune_command.tune(path, grid, None, True, 3.0, "geometric", out, False)
    ((state, cost),) = [(row["state"], row["cost"]["record"]) for row in seen]
    assert state == "charged"
    assert cost["epsilon"] > 0


# How to break them


def caps_forgotten(patch: Patch) -> None:
    real = policies.policy_terms

    def broken(*parts: Any, **more: Any) -> PolicyTerms:
        return PolicyTerms({}, real(*parts, **more).weights)

    patch.setattr(run_policies, "policy_terms", broken)


def ranges_forgotten(patch: Patch) -> None:
    patch.setattr(policies, "_outside", lambda *_: iter(()))


def signatures_unchecked(patch: Patch) -> None:
    def broken(path: Path, *_: object) -> bytes:
        return signature_path(path).read_bytes()

    patch.setattr(policy_file, "check_signature", broken)


def searches_charged_as_one_run(patch: Patch) -> None:
    patch.setattr(selection, "selected_curve", lambda curve, _: curve)


def searches_charged_afterwards(patch: Patch) -> None:
    real = write_record

    def broken(folder: Path, record: dict[str, Any]) -> None:
        if record["state"] == "done":
            real(folder, record)

    patch.setattr(tuning, "write_record", broken)
