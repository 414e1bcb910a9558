# SPDX-License-Identifier: Apache-2.0
"""A person whose value decides the site: sums do not see the move, single sites do."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from lexfed.evaluate.comparison.case import Case, configuration, moving_column
from lexfed.evaluate.comparison.split_rows import rows_of
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.methods import METHODS
from lexfed.federation.coordinator.learner import Learner
from lexfed.federation.coordinator.rounds import Coordinator
from lexfed.federation.engines.clear_sums import Simulation
from lexfed.federation.programme.messages import Query, Reply
from lexfed.randomness import SecureSource
from lexfed.run.intake.population import Population
from lexfed.run.pricing.priced_run import PricedRun, price
from lexfed.tiers import Tier
from support.evaluation.small_dataset import small_case, small_dataset

MECHANISMS = ("uniform", "cascade", "grouped")
CASE = small_case(equal="attribute")


def by_smoking(folder: Path, changed: int | None = None) -> Dataset:
    """Return a table whose clinics are made from `smoker`, a special column.

    Args:
        folder: where it is written.
        changed: a person who is said to smoke, or not to, against the first table.
    """
    folder.mkdir()
    dataset = small_dataset(folder, rows=401)
    path = folder / "table.csv"
    frame = pd.read_csv(path)
    if changed is not None:
        frame.loc[frame["person"] == changed, "smoker"] ^= 1
    frame["clinic"] = np.where(frame["smoker"] == 1, "smokers", "others")
    frame.to_csv(path, index=False)
    clinics = {"column": "clinic", "names": ["others", "smokers"]}
    dataset.tables["data"]["sites"] = clinics
    return replace(dataset, site_from="smoker")


def trained_person(dataset: Dataset) -> int:
    """Return somebody of the training side; rows and persons are the same here."""
    return int(rows_of(dataset, CASE).train.rows[7])


def priced_on(dataset: Dataset, mechanism: str) -> PricedRun:
    config = configuration(dataset, CASE, {"privacy": {"mechanism": mechanism}})
    return price(config, rows_of(dataset, CASE).population, dataset.folder)


def asked(priced: PricedRun, population: Population) -> Iterator[tuple[Query, Reply]]:
    """Run a programme and give every query with the sum before its noise."""
    learner, source = Learner(priced.programme), SecureSource()
    coordinator = Coordinator(
        priced.programme, learner, priced.ledger(), lambda _: source, learner.start()
    )
    engine = Simulation(priced.programme, population.sites, lambda _: source)
    while (one := coordinator.next()) is not None:
        (answer,) = engine.ask(one.query, one.participants)
        assert isinstance(answer, Reply)
        yield one.query, answer
        coordinator.receive(one.query, [answer])


def total(priced: PricedRun, population: Population, query: Query) -> NDArray[np.int64]:
    source = SecureSource()
    engine = Simulation(priced.programme, population.sites, lambda _: source)
    (answer,) = engine.ask(query, priced.programme.sites)
    assert isinstance(answer, Reply)
    return answer.total


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_who_is_where_moves_no_sum(tmp_path: Path, mechanism: str) -> None:
    dataset = by_smoking(tmp_path / "one")
    priced = priced_on(dataset, mechanism)
    elsewhere = with_sites_exchanged(rows_of(dataset, CASE).population)
    for query, answer in asked(priced, priced.population):
        assert np.array_equal(answer.total, total(priced, elsewhere, query))


def with_sites_exchanged(population: Population) -> Population:
    """Return the same persons under the other site's name: everybody has moved."""
    one, other = population.sites
    sites = (replace(other, name=one.name), replace(one, name=other.name))
    return replace(population, sites=sites)


def test_a_changed_value_moves_the_towers_that_read_it_alone(tmp_path: Path) -> None:
    first = by_smoking(tmp_path / "one")
    person = trained_person(first)
    second = by_smoking(tmp_path / "two", changed=person)
    priced = priced_on(first, "cascade")
    moved = rows_of(second, CASE).population
    assert [len(site.train) for site in moved.sites] != [
        len(site.train) for site in priced.population.sites
    ]
    slots = priced.population.encoding.slots
    reads = [
        any(slots[place].column == "smoker" for place in shape.slots)
        for shape in priced.programme.shapes
    ]
    assert reads == [False, False, True]
    differed = False
    for query, answer in asked(priced, priced.population):
        change = total(priced, moved, query) - answer.total
        assert query.release is not None
        if query.release.reads is not Tier.SPECIAL:
            assert not change.any()
        differed = differed or bool(change.any())
    # Negative control: the tower that reads the value does see it.
    assert differed


@pytest.mark.parametrize("name", ["local", "fedavg", "fedavg-clients"])
def test_what_single_sites_release_claims_nothing_there(
    tmp_path: Path, name: str
) -> None:
    dataset = by_smoking(tmp_path / "one")
    scores = METHODS[name](dataset, CASE)
    assert scores.record_epsilon is not None
    assert scores.attribute_epsilon is None
    assert "no attribute claim: sites are made from `smoker`" in scores.note
    # Where no value decides the site the claim stands.
    real = replace(dataset, site_from=None)
    assert METHODS[name](real, CASE).attribute_epsilon is not None


def test_a_single_site_sees_the_move(tmp_path: Path) -> None:
    """Why: a run of one site alone has another sum in the tower below, too."""
    first = by_smoking(tmp_path / "one")
    second = by_smoking(tmp_path / "two", changed=trained_person(first))
    config = configuration(first, CASE, {"privacy": {"mechanism": "cascade"}})
    alone, after = (
        replace(population, sites=population.sites[:1], units=len(site.train))
        for population in (rows_of(d, CASE).population for d in (first, second))
        for site in population.sites[:1]
    )
    priced = price(config, alone, first.folder)
    query, answer = next(asked(priced, alone))
    assert query.release is not None
    assert query.release.reads is not Tier.SPECIAL
    assert not np.array_equal(answer.total, total(priced, after, query))


def test_sums_keep_their_claim_and_say_why(tmp_path: Path) -> None:
    dataset = by_smoking(tmp_path / "one")
    scores = METHODS["cascade"](dataset, CASE)
    assert scores.attribute_epsilon == pytest.approx(2.0, rel=0.05)
    assert "sites are made from `smoker`: sums over all sites" in scores.note


@pytest.mark.parametrize(
    ("column", "case", "moves"),
    [
        ("smoker", CASE, True),
        # Of a tier below: its value is not what the claim is about.
        ("age", CASE, False),
        # Not an input at all.
        ("band", CASE, False),
        (None, CASE, False),
        # Sites dealt out by lot.
        ("smoker", small_case(sites=3), False),
    ],
)
def test_only_a_column_of_the_tier_moves_people(
    tmp_path: Path, column: str | None, case: Case, moves: bool
) -> None:
    dataset = replace(small_dataset(tmp_path), site_from=column)
    assert moving_column(dataset, case) == (column if moves else None)
