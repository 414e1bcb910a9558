# SPDX-License-Identifier: Apache-2.0
import json
from pathlib import Path

from lexfed.budget.allocation import TIER_MULTIPLIER
from lexfed.config import demo_config, from_mapping, loads
from lexfed.config.policy_file import read_policy
from lexfed.config.rules.data import BUILT_IN
from lexfed.config.tables.budget import MultipliersTable
from lexfed.config.tables.root import GeneratorTable
from lexfed.data.builtin.registry import BUILTIN_NAMES, load_builtin
from lexfed.tiers import MODEL_TIERS, Tier

GOOD = (Path(__file__).parent / "good.toml").read_text()


def test_digest_depends_on_values_and_on_nothing_else() -> None:
    config = loads(GOOD)
    commented = "# a comment\n" + GOOD.replace("seed = 7", "seed   =   7 # seven")
    assert loads(commented).digest == config.digest
    head, _, rest = GOOD.partition("[privacy]")
    reordered = head.replace("\n[budget]", f"\n[privacy]{rest}\n[budget]")
    assert loads(reordered).digest == config.digest
    spelled_out = GOOD.replace("rounds = 30", "rounds = 30\nlocal_steps = 1")
    assert loads(spelled_out).digest == config.digest
    assert loads(GOOD.replace("[0, 110]", "[0.0, 110.0]")).digest == config.digest
    assert loads(GOOD.replace("seed = 7", "seed = 8")).digest != config.digest
    assert len(config.digest) == 64


def test_json_round_trip() -> None:
    config = loads(GOOD)
    assert from_mapping(json.loads(json.dumps(config.to_json()))) == config
    assert from_mapping(config.to_json()).digest == config.digest


def test_folder_follows_the_name() -> None:
    assert loads(GOOD.replace('out = "runs/readmission"\n', "")).run.folder == (
        "runs/readmission"
    )


def test_names_agree_with_the_packages_that_own_them() -> None:
    # Written twice so that reading a configuration imports neither numpy nor pandas.
    assert BUILT_IN == BUILTIN_NAMES


def test_multipliers_are_those_of_the_rule() -> None:
    defaults = {"special": 0.25, "personal": 0.5, "non_personal": 1.0}
    stated = dict.fromkeys(defaults)
    assert MultipliersTable().model_dump() == stated
    weights = {
        level.tier: level.weight for level in read_policy("default").policy.levels[:3]
    }
    assert {tier.label: 1.0 / weights[tier] for tier in MODEL_TIERS} == defaults
    assert {t.label: TIER_MULTIPLIER[t] for t in MODEL_TIERS} == defaults


def test_generator_keys_are_taken_by_the_generators() -> None:
    given = {"synthetic:hospital": "patients", "synthetic:bank": "clients"}
    for source, people in given.items():
        load_builtin(source, **{"sites": 2, "seed": 1, people: 10})
    assert set(GeneratorTable.model_fields) == {"sites", "seed", *given.values()}


def test_tier_names() -> None:
    column = loads(GOOD).law.columns["smoker"]
    assert column.as_tier is Tier.SPECIAL


def test_demo_is_a_valid_configuration() -> None:
    config = loads(demo_config(out='runs/"x"', seed=3))
    assert config.run.folder == 'runs/"x"'
    assert config.run.seed == 3
    assert config.data.built_in
