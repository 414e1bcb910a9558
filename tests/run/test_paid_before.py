# SPDX-License-Identifier: Apache-2.0
"""Prices of two runs add up only if both speak of the same persons and columns."""

from pathlib import Path

import pytest

from lexfed.config import load
from lexfed.errors import ConfigError
from lexfed.privacy.scopes import record_epsilon, tier_epsilon, up
from lexfed.run import load_population, price
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.run.purchases.importance_purchase import priced_importance
from lexfed.run.purchases.profile_purchase import buy_profile
from lexfed.tiers import Tier
from support.audit.two_verifiers import both, failed
from support.run.profile_files import NUMBERS_ONLY, written

Change = tuple[str, str]

DECLARED = (
    ('range = "?"', "range = [0, 128]"),
    ('bmi = { kind = "number" }', 'bmi = { kind = "number", range = [0, 64] }'),
    ("[data]\n", '[data]\nprofile = "p"\n'),
)


def used(
    folder: Path, *changes: Change, before: tuple[Change, ...] = (), epsilon: float = 4
) -> PricedRun:
    """Buy a profile, change the configuration, and price the run that uses it."""
    path = written(folder, *before, text=NUMBERS_ONLY)
    buy_profile(path, epsilon, folder / "p")
    text = NUMBERS_ONLY
    for old, new in (*DECLARED, *changes):
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    config = load(path)
    return price(config, load_population(config, folder), folder)


DISTRIBUTED = '[privacy]\ntrust = "distributed"\naccountant = "rdp"\n\n[evaluation]'
INPROCESS = '[federation]\nengine = "inprocess"\n\n'
BMI = 'bmi = { tier = "special"'


@pytest.mark.parametrize(
    ("before", "changes", "what"),
    [
        ([('person = "patient"\n', "")], [], "each row for a person, this run "
         "`patient`"),
        ([], [('person = "patient"\n', "")], "`patient` for a person, this run "
         "each row"),
        ([(BMI, 'bmi = { tier = "personal"')], [], "`bmi` in the tier personal, and it "
         "is special now"),
        ([('target = "readmitted"', 'target = "diagnosis"')], [], "label `diagnosis`, "
         "this run `readmitted`"),
        ([("delta = 1e-6", 'delta = 1e-6\nneighbours = "replace-one"')], [],
         "tells the number of people"),
        ([], [("units = 2500", "units = 2500\nsites_per_person = 2")],
         "a person at 1 site, this run at 2"),
        ([], [("[evaluation]", '[privacy]\ntrust = "local"\n\n[evaluation]')],
         '`trust = "central"`, and this run has "local"'),
        ([], [("[evaluation]", INPROCESS + DISTRIBUTED)],
         '`trust = "central"`, and this run has "distributed"'),
    ],
)  # fmt: skip
def test_prices_that_do_not_add_up_are_refused(
    tmp_path: Path, before: list[Change], changes: list[Change], what: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        used(tmp_path, *changes, before=tuple(before))
    [problem] = refused.value.problems
    assert what in str(problem)
    assert problem.where == "`data.profile`"


@pytest.mark.parametrize(
    ("before", "changes"),
    [
        ([], []),
        ([], [("delta = 1e-6", 'delta = 1e-6\nneighbours = "replace-one"')]),
        ([], [(BMI, 'bmi = { tier = "personal"')]),
        ([("[evaluation]", '[privacy]\ntrust = "local"\n\n[evaluation]')], []),
    ],
)
def test_a_profile_that_promises_more_than_the_run_is_fine(
    tmp_path: Path, before: list[Change], changes: list[Change]
) -> None:
    assert used(tmp_path, *changes, before=tuple(before)).paid


def test_a_profile_that_withstands_fewer_colluders_is_refused(tmp_path: Path) -> None:
    shared = ("[evaluation]", INPROCESS + DISTRIBUTED)
    more = ('engine = "inprocess"', 'engine = "inprocess"\ncolluders = 1')
    with pytest.raises(ConfigError, match="withstands 0 colluding sites only"):
        used(tmp_path, shared, more, before=(shared,), epsilon=8)


@pytest.mark.parametrize("name", ["claim.json", "profile.json"])
def test_what_is_not_logged_is_refused(tmp_path: Path, name: str) -> None:
    cheap, dear = tmp_path / "cheap", tmp_path / "dear"
    for place, epsilon in ((cheap, 3.0), (dear, 6.0)):
        place.mkdir()
        used(place, epsilon=epsilon)
    content = (cheap / "p" / name).read_bytes()
    (dear / "p" / name).write_bytes(content)
    verdict, rows = both(dear / "p")
    assert not verdict.ok
    assert list(failed(rows)) == ["files"]
    config = load(dear / "lexfed.toml")
    with pytest.raises(ConfigError, match="does not verify"):
        price(config, load_population(config, dear), dear)


def test_the_claim_names_what_both_cost_every_scope(tmp_path: Path) -> None:
    priced = used(tmp_path)
    claim = priced.claim(priced.programme.rounds)
    assert claim is not None
    [line] = [gap for gap in claim.not_covered if "the profile" in gap]
    both = [*priced.paid, *priced.programme.charges()]
    special = tier_epsilon(both, Tier.SPECIAL, 1e-6)
    assert special > claim.tiers["special"].epsilon
    assert f"special {up(special, digits=6):g}" in line
    assert "personal" in line
    assert f"the record {up(priced.joint_epsilon or 0.0, digits=6):g}" in line


def test_importances_are_bought_with_what_a_profile_has_left(tmp_path: Path) -> None:
    config = used(tmp_path, epsilon=6.0).config
    priced = priced_importance(config, tmp_path, 11.5)
    both = [*priced.paid, *priced.programme.charges()]
    assert priced.paid
    assert record_epsilon(both, 1e-6, "add-remove") <= 12.0
    assert tier_epsilon(both, Tier.SPECIAL, 1e-6) <= 8.0


def test_a_profile_comes_before_paid_importances(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        ("delta = 1e-6", 'delta = 1e-6\nallocation = "multiplier"'),
        ("delta = 1e-6", 'delta = 1e-6\nimportance_from = "paid:i"'),
        text=NUMBERS_ONLY,
    )
    with pytest.raises(ConfigError, match="comes before importances"):
        buy_profile(path, 4.0, tmp_path / "p")
