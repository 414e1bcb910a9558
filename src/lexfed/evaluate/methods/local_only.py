# SPDX-License-Identifier: Apache-2.0
"""Every site alone: what a federation has to be better than.

A site trains on its own units through the product, with the whole budget, since its
persons are nowhere else, and is scored on its own test rows. Sizes of sites count as
public, as a site that works alone knows its own.

Where sites differ much in their labels, a site alone knows its own label rate, and all
rows together look well sorted for that reason alone: compare the worst site too.
"""

from dataclasses import replace

from lexfed.evaluate.comparison.case import Case, Method
from lexfed.evaluate.comparison.scores import Scores
from lexfed.evaluate.comparison.site_columns import released_by_site
from lexfed.evaluate.comparison.split_rows import rows_of
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.methods.product import MethodKeys, as_scores, train_on


def alone(name: str, keys: MethodKeys) -> Method:
    """Return the method in which every site runs the product with some keys."""

    def method(dataset: Dataset, case: Case) -> Scores:
        rows = rows_of(dataset, case)
        parts = []
        for site in rows.population.sites:
            own = replace(rows.population, sites=(site,), units=len(site.train))
            parts.append(train_on(own, dataset, case, keys))
        scores = as_scores(name, case, rows, parts, "every site alone")
        return released_by_site(scores, dataset, case)

    return method
