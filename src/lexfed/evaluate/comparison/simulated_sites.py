# SPDX-License-Identifier: Apache-2.0
"""Sites that are made up for a sweep, each with somebody to train on.

With a hundred sites and Dirichlet shares of .01 most sites would have no training rows:
nearly everybody is at two of them. Methods outside the product need some everywhere. So
such a site takes one training person from the largest, and everything else is the
product's own partition. It looks at labels and at the split, so it is for simulations.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lexfed.arrays import Bools, Integers
from lexfed.config.tables.root import Config
from lexfed.data.people.lots import LotKeys, split_by_person
from lexfed.data.people.unit_blocks import UnitBlock
from lexfed.data.table import Table
from lexfed.errors import DataError, Problem
from lexfed.federation.site.unit_batch import SiteData
from lexfed.run.intake.population import Population, partition_of


def spread(config: Config, table: Table, coins: LotKeys) -> Integers:
    """Return the place of each row's site.

    Guarantees:
        Every site has a person for training.
        All rows of a person are at one site.
        A partition that has training rows everywhere already stays as it is.

    Raises:
        DataError: if there are more sites than persons to train on.
    """
    partition = partition_of(config, table, coins)
    site_of_row = partition.codes(len(table))
    split = split_by_person(table, config.data.test_size, coins)
    persons, first = np.unique(table.persons[split.train], return_index=True)
    count = len(partition.names)
    if len(persons) < count:
        what = f"{count} sites, and {len(persons)} person(s) to train on"
        raise DataError([Problem("sites", what, "lower the number of sites")])
    site_of = site_of_row[split.train][first]
    for site in range(count):
        sizes = np.bincount(site_of, minlength=count)
        if sizes[site] == 0:
            moved = np.flatnonzero(site_of == sizes.argmax())[0]
            site_of[moved] = site
            site_of_row[table.persons == persons[moved]] = site
    return site_of_row


def dealt(
    population: Population, table: Table, site_of_row: Integers, names: Sequence[str]
) -> Population:
    """Return a population of one site with its persons dealt out to several.

    Guarantees:
        Where `spread` moved nobody it is the population that the product itself makes.
    """
    (whole,) = population.sites
    site_of = np.zeros(len(table.person_keys), dtype=np.int64)
    site_of[table.persons] = site_of_row
    sites = tuple(
        SiteData(
            name,
            _some(whole.train, site_of[whole.train.persons] == place),
            _some(whole.test, site_of[whole.test.persons] == place),
        )
        for place, name in enumerate(names)
    )
    return replace(population, sites=sites)


def _some(block: UnitBlock, chosen: Bools) -> UnitBlock:
    return UnitBlock(
        block.inputs[chosen],
        block.targets[chosen],
        block.weights[chosen],
        block.persons[chosen],
        None if block.members is None else block.members[chosen],
        None if block.keys is None else block.keys[chosen],
    )
