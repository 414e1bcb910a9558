# SPDX-License-Identifier: Apache-2.0
"""Sites that were made from a column which is an input too: who may claim what.

Some public tables have no hospitals, so a column stands in for them (`site_from`: a
diagnosis, a specialty). Then a changed value does not only change a person's row, it
moves the person to another site. Theorem C forbids a feature of a higher tier in the
partition, because a tower below would see who is where.

**Sums over all sites.** What the product releases is one sum of clipped contributions
over all units, divided by public numbers. The split and the cap on records look at a
person's key alone. No term depends on the site that holds the unit, so the sum does not
either: the towers below see the same sum on both neighbours, those that read the column
move by one unit's contribution, and the theorem holds as it stands.
(`tests/evaluate/test_layout.py` moves a person and compares every sum of a run.)

**A release for each site.** Methods that release something of a single site show the
move itself: one site lost a person, another has one more. Nothing was proven about
that, so such a method claims no epsilon for that tier.
"""

from dataclasses import replace

from lexfed.evaluate.comparison.case import Case, law_table, sensitive_tier
from lexfed.evaluate.comparison.scores import Scores
from lexfed.evaluate.datasets import Dataset


def moving_column(dataset: Dataset, case: Case) -> str | None:
    """Return the input of the most sensitive tier that sites were made from, if any."""
    column = dataset.site_from
    if column is None or case.sites is not None:
        return None
    tags = law_table(dataset, case)["columns"]
    inputs = dataset.tables["data"]["columns"]
    tier = sensitive_tier(dataset, case).label
    return column if column in inputs and tags[column]["tier"] == tier else None


def released_as_sums(scores: Scores, dataset: Dataset, case: Case) -> Scores:
    """Return the scores of a method that releases sums over all sites, with a word."""
    column = moving_column(dataset, case)
    if column is None or scores.attribute_epsilon is None:
        return scores
    word = (
        f"sites are made from `{column}`: sums over all sites do not tell who was "
        "where, so the attribute's epsilon holds"
    )
    return replace(scores, note=f"{scores.note}; {word}")


def released_by_site(scores: Scores, dataset: Dataset, case: Case) -> Scores:
    """Return the scores of a method that releases something of each site.

    Guarantees:
        Where a value of the most sensitive tier decides the site, no epsilon is
        claimed for that tier.
    """
    column = moving_column(dataset, case)
    if column is None or scores.attribute_epsilon is None:
        return scores
    word = (
        f"no attribute claim: sites are made from `{column}`, so a changed value "
        "moves a person from one site's releases to another's"
    )
    return replace(scores, attribute_epsilon=None, note=f"{scores.note}; {word}")
