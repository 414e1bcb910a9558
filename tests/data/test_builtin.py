# SPDX-License-Identifier: Apache-2.0
"""The built-in sources keep their promises: signal, tiers, caps, declared ranges."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from lexfed.data.builtin.bank import bank
from lexfed.data.builtin.declarations import BuiltinSource, draw_site_sizes
from lexfed.data.builtin.hospital import hospital
from lexfed.data.builtin.registry import BUILTIN_NAMES, is_builtin, load_builtin
from lexfed.data.encoding import build_encoding, encode, encode_target
from lexfed.data.people.lots import LotKeys, split_by_person
from lexfed.data.people.unit_blocks import cap_records, check_sites_per_person
from lexfed.data.reading.checked_tables import read_frames
from lexfed.errors import ConfigError
from lexfed.law.decisions import declared_tags, tag_schema
from lexfed.tiers import MODEL_TIERS, Tier


@pytest.mark.parametrize("name", BUILTIN_NAMES)
def test_every_source_obeys_its_own_declaration(name: str) -> None:
    source = load_builtin(name)
    # Strict reading: no value outside its range or list in the synthetic sources,
    # and the constants for the bundled sets cover them.
    table = read_frames([source.frame], source.schema, strict=True)
    capped = cap_records(table, table.sites, source.records_per_person)
    assert capped.table is table
    assert source.schema.site is None or source.sites == table.site_names
    assert check_sites_per_person(table, table.sites) == 0
    assert table.clamped == table.undeclared == {}
    tagged = tag_schema(source.schema, declared_tags(source.tags), {})
    for tag in tagged.tags.values():
        assert tag.by == "generator"
        assert tag.reason
        assert bool(tag.obligations) == (tag.tier > Tier.NON_PERSONAL)
        if tag.tier == Tier.SPECIAL:
            assert "GDPR Art. 9(1)" in {o.reference for o in tag.obligations}
    assert set(source.frame.columns) == set(source.schema.names)


def aucs(source: BuiltinSource, seed: int) -> dict[Tier, float]:
    """Return the test AUC of a plain logistic model with tiers up to each one."""
    table = read_frames([source.frame], source.schema)
    tiers = {name: tag.tier for name, tag in source.tags.items()}
    encoding = build_encoding(source.schema, tiers)
    inputs, target = encode(encoding, table), encode_target(table)
    split = split_by_person(table, 0.25, LotKeys.seeded(seed))
    result = {}
    for top in MODEL_TIERS:
        used = [i for i, slot in enumerate(encoding.slots) if slot.tier <= top]
        model = LogisticRegression(C=10, max_iter=2000)
        model.fit(inputs[split.train][:, used], target[split.train])
        scores = model.decision_function(inputs[split.test][:, used])
        result[top] = float(roc_auc_score(target[split.test], scores))
    return result


def test_every_tier_of_the_hospitals_carries_signal() -> None:
    source = hospital()
    found = aucs(source, seed=7)
    assert 0.82 < found[Tier.SPECIAL] < 0.88
    assert 0.03 < found[Tier.SPECIAL] - found[Tier.PERSONAL] < 0.09
    assert found[Tier.PERSONAL] - found[Tier.NON_PERSONAL] > 0.05
    assert found[Tier.NON_PERSONAL] > 0.58


def test_every_tier_of_the_banks_carries_signal() -> None:
    found = aucs(bank(), seed=7)
    assert 0.75 < found[Tier.SPECIAL] < 0.85
    assert 0.02 < found[Tier.SPECIAL] - found[Tier.PERSONAL] < 0.09
    assert found[Tier.PERSONAL] - found[Tier.NON_PERSONAL] > 0.05


def test_the_hospitals_look_as_described() -> None:
    source = hospital()
    table = read_frames([source.frame], source.schema)
    assert table.person_count() == 6000
    assert len(table.site_names) == 8
    visits = np.bincount(table.persons)
    assert (visits.min(), visits.max()) == (1, source.records_per_person)
    rates = [table.numbers("readmitted")[table.sites == s].mean() for s in range(8)]
    assert 0.25 < table.numbers("readmitted").mean() < 0.31
    assert np.std(rates) > 0.02
    assert 0.05 < table.missing("hba1c").mean() < 0.4
    assert sum(tag.tier == Tier.IDENTIFIER for tag in source.tags.values()) == 2
    assert source.tags["readmitted"].tier == Tier.SPECIAL


def test_the_same_seed_gives_the_same_rows_and_another_does_not() -> None:
    for make in (hospital, bank):
        first, same, other = make(seed=1), make(seed=1), make(seed=2)
        for name, raw in first.frame.columns.items():
            np.testing.assert_array_equal(raw.values, same.frame.columns[name].values)
        assert any(
            raw.values.tolist() != other.frame.columns[name].values.tolist()
            for name, raw in first.frame.columns.items()
        )


def test_a_hospital_does_not_depend_on_the_others() -> None:
    few, many = hospital(sites=2, patients=4), hospital(sites=4, patients=8)
    assert few.frame.columns["age"].values[0] == many.frame.columns["age"].values[0]


@pytest.mark.parametrize(("total", "sites"), [(5, 5), (7, 3), (6000, 8), (3, 1)])
def test_site_sizes_add_up(total: int, sites: int) -> None:
    counts = draw_site_sizes(total, sites)
    assert sum(counts) == total
    assert len(counts) == sites
    assert min(counts) >= 1


def test_mistakes_in_naming_a_source() -> None:
    with pytest.raises(ConfigError) as caught:
        load_builtin("synthetic:hospitals")
    assert caught.value.hint == "did you mean `synthetic:hospital`?"
    with pytest.raises(ConfigError, match="no built-in source") as caught:
        load_builtin("sklearn:zzz")
    with pytest.raises(ConfigError, match="no parameter `rows`") as caught:
        load_builtin("synthetic:bank", rows=3)
    assert "`clients`" in caught.value.hint
    with pytest.raises(ConfigError, match="no parameter") as caught:
        load_builtin("sklearn:diabetes", seed=1)
    assert caught.value.hint == "known: none"
    with pytest.raises(ConfigError, match="sites"):
        load_builtin("synthetic:hospital", sites=9, patients=3)
    assert is_builtin("sklearn:zzz")
    assert not is_builtin("patients.csv")
