# SPDX-License-Identifier: Apache-2.0
"""Classes of records in a run: plan, claim and words; nothing about who is a member."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import lexfed
from lexfed.audit.verify import verify_run
from lexfed.cli.display import plan_table
from lexfed.data.table import Table
from lexfed.errors import ConfigError
from lexfed.privacy.claim.proof import load_claim
from lexfed.run import PricedRun, load_population
from lexfed.run.intake import population
from lexfed.tiers import Tier

CLASS = """
[[budget.classes]]
name = "old"
where = "age >= 80"
epsilon = 1.0
"""
CLAIM = "claim.json"


def with_class(text: str, where: str = "age >= 80", epsilon: float = 1.0) -> str:
    changed = CLASS.replace("age >= 80", where).replace("1.0", str(epsilon))
    return text + changed


def test_the_claim_states_every_class(
    priced_of: Callable[[str], PricedRun], config_text: str
) -> None:
    priced = priced_of(with_class(config_text))
    claim = priced.claim(priced.programme.rounds)
    assert claim is not None
    (one,) = priced.programme.classes
    record = claim.classes["old"]
    assert record.scale == one.scale < 1.0
    assert 0.99 < record.epsilon <= 1.0 + 1e-6
    assert claim.epsilon == pytest.approx(3.0, abs=1e-3)


def test_membership_follows_the_table(config_file: Path) -> None:
    config = lexfed.config.loads(with_class(config_file.read_text()))
    people = load_population(config, config_file.parent)
    column = int(people.encoding.slots_of_column("age")[0])
    low, high = 18.0, 105.0
    for site in people.sites:
        for block in (site.train, site.test):
            age = low + (high - low) * (block.inputs[..., column] + 1.0) / 2.0
            old = ((age >= 80.0 - 1e-9) & (block.weights > 0)).any(axis=1)
            assert block.members is not None
            assert block.members[:, 0].tolist() == old.tolist()


def test_a_rule_on_a_personal_column_raises_the_tiers_below(
    priced_of: Callable[[str], PricedRun], config_text: str
) -> None:
    plain = priced_of(config_text)
    priced = priced_of(with_class(config_text))
    before, after = plain.claim(0), priced.claim(0)
    assert before is not None
    assert after is not None
    assert before.tiers["personal"].epsilon < before.tiers["non_personal"].epsilon
    assert after.tiers["personal"].epsilon == after.tiers["non_personal"].epsilon
    assert after.tiers["special"].epsilon < after.tiers["personal"].epsilon
    words = plan_table(priced)
    assert "old: 1.00 per record where age >= 80" in words
    assert "rules read personal columns" in words
    assert "rules read" not in plan_table(plain)


def test_a_rule_on_the_label_raises_nothing(
    priced_of: Callable[[str], PricedRun], config_text: str
) -> None:
    plain, priced = priced_of(config_text), priced_of(
        with_class(config_text, "readmitted = true")
    )  # fmt: skip
    assert priced.programme.charges() == plain.programme.charges()
    words = plan_table(priced)
    assert "old: 1.00 per record" in words
    assert "rules read" not in words


def test_without_privacy_there_are_no_classes(
    priced_of: Callable[[str], PricedRun], config_text: str
) -> None:
    text = with_class(config_text) + '\n[privacy]\nmechanism = "none"\n'
    priced = priced_of(text)
    assert priced.programme.classes == ()
    assert Tier.PERSONAL in priced.read_tiers


def test_a_rule_that_does_not_fit_the_source_is_refused(config_text: str) -> None:
    for where, what in (("weight > 3", "no column"), ("age < 18", "no value of its")):
        config = lexfed.config.loads(with_class(config_text, where))
        with pytest.raises(ConfigError, match=what):
            load_population(config, Path())


def test_a_tier_that_only_a_rule_reads_is_claimed(
    priced_of: Callable[[str], PricedRun], config_text: str
) -> None:
    """Its tower is left out, but the rule looks at it, so its columns pay."""
    capped = config_text.replace(
        "[federation]", "[budget.caps]\nspecial = 0.01\n\n[federation]"
    )
    plain = priced_of(capped)
    assert Tier.SPECIAL not in plain.read_tiers
    priced = priced_of(with_class(capped, "hba1c > 9", 0.005))
    assert Tier.SPECIAL not in priced.tower_tiers
    claim = priced.claim(0)
    assert claim is not None
    assert 0 < claim.tiers["special"].epsilon <= 0.01 + 1e-6
    assert "special columns are left out" in plan_table(priced)


@pytest.mark.parametrize("engine", ["simulation", "inprocess"])
def test_a_run_with_classes_verifies(
    tmp_path: Path, config_text: str, engine: str
) -> None:
    """Also where rounds adapt inside a filter: members are guaranteed as planned."""
    descent = "learning_rate = 0.5\nrounds = 3"
    text = config_text.replace("rounds = 1", descent).replace("simulation", engine)
    adapt = (
        '\n[adapt]\nnoise = "convergence"\nclip = "quantile"\nguarantee = "filter"\n'
    )
    path = tmp_path / "lexfed.toml"
    path.write_text(with_class(text) + adapt)
    result = lexfed.train(path)
    assert result.claim is not None
    assert result.claim.classes["old"].epsilon <= 1.0 + 1e-6
    assert verify_run(result.folder).ok


@pytest.fixture
def folders(
    tmp_path: Path, config_text: str, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, float, float], dict[str, bytes]]:
    """Run with part of the rows in the class, and return the files of the run."""

    def run(name: str, epsilon: float, part: float) -> dict[str, bytes]:
        def some(_: object, table: Table) -> np.ndarray:
            return np.random.default_rng(5).random(len(table)) < part

        monkeypatch.setattr(population, "matching_rows", some)
        path = tmp_path / name / "lexfed.toml"
        path.parent.mkdir()
        text = with_class(config_text, "readmitted = true", epsilon)
        caps = "[budget.caps]\nnon_personal = 1.0\n\n[federation]"
        path.write_text(text.replace("[federation]", caps))
        folder = lexfed.train(path).folder
        files = sorted(file for file in folder.rglob("*") if file.is_file())
        return {str(file.relative_to(folder)): file.read_bytes() for file in files}

    return run


def _differing(one: dict[str, bytes], other: dict[str, bytes]) -> set[str]:
    assert {n for n in one if "tile" not in n} == {n for n in other if "tile" not in n}
    return {name for name in one if one[name] != other.get(name)}


def test_who_is_a_member_is_in_noised_sums_and_nowhere_else(
    folders: Callable[[str, float, float], dict[str, bytes]],
) -> None:
    """With a scale of 1 sums do not know the class, so no file may.

    Negative control: with a smaller scale the model does, and nothing but what is
    computed from noised sums.
    """
    few, many, again = (
        folders(name, 2.9, part)
        for name, part in (("few", 0.1), ("many", 0.8), ("again", 0.1))
    )
    claim = json.loads(few[CLAIM])
    assert claim["classes"]["old"]["scale"] == 1.0
    # Keys, signatures and times differ from run to run, whatever is run.
    random = _differing(few, again)
    assert CLAIM not in random
    assert _differing(few, many) <= random
    strict = [folders(f"strict{part}", 0.2, part) for part in (0.1, 0.8)]
    moved = _differing(*strict) - random
    assert moved == {"metrics.csv", "model.safetensors", "state.safetensors"}
    assert load_claim(strict[0][CLAIM]).classes["old"].scale < 1.0
