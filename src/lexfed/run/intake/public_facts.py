# SPDX-License-Identifier: Apache-2.0
"""Public facts about a population: sizes, weights and names that planning may use.

Whatever is added here is treated as known to everybody.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lexfed.budget.sites import BudgetProfile
from lexfed.config.tables.root import Config
from lexfed.errors import ConfigError, Problem
from lexfed.federation.planning.choices import PopulationFacts
from lexfed.models.losses import LossName

if TYPE_CHECKING:
    from lexfed.run.intake.population import Population

LOSSES: Mapping[str, LossName] = {
    "binary": "logistic",
    "multiclass": "softmax",
    "regression": "squared",
}


def public_facts(
    config: Config, population: "Population", profiles: tuple[BudgetProfile, ...]
) -> PopulationFacts:
    """Return the facts about a population that planning may use."""
    schema = population.encoding.schema
    # Where sizes are private nothing below looks at them: they count the sites.
    sizes = None if follow_labels(config) else population.sizes
    if sizes is None:
        sizes = (1,) * len(population.names)
    weights = _site_weights(config, sizes)
    if config.budget.unit == "client":
        divisor = sum(weights)
    elif set(weights) == {1.0}:
        divisor = float(population.units)
    else:
        weighted = sum(w * size for w, size in zip(weights, sizes, strict=True))
        divisor = weighted or 1.0  # a sum over nobody is divided by something
    return PopulationFacts(
        encoding=population.encoding,
        loss=LOSSES[schema.task],
        outputs=len(schema.classes) if schema.task == "multiclass" else 1,
        units=population.units,
        divisor=divisor,
        sites=population.names,
        site_weights=tuple(weights),
        places=population.records_per_person,
        classes=population.classes,
        site_units=_site_units(config, population.units, sizes),
        profiles=profiles,
    )


def follow_labels(config: Config) -> bool:
    """Return True if a person's label decides the site, so that its size is private.

    Under replace-one a person with another label may be at another site.
    """
    sites = config.data.sites
    return sites is not None and sites.partition == "dirichlet"


def _site_units(config: Config, units: int, sizes: Sequence[int]) -> tuple[float, ...]:
    """Return the number of units at each site, as far as it is public."""
    public = config.budget.unit == "record" and not follow_labels(config)
    if public and config.budget.neighbours == "replace-one":
        return tuple(map(float, sizes))
    return (units / len(sizes),) * len(sizes)


def _site_weights(config: Config, sizes: Sequence[int]) -> list[float]:
    """Return the public weight of each site's sum, at most 1.

    By itself a sum counts every person alike, or every client. To count sites alike
    although the person is the unit, weights follow the sites' sizes; under replace-one
    (a person's site stays, the values change) those are the same for neighbours. A
    client's size is part of the client's data: it never weighs. An empty site counts
    nothing, whatever its weight.
    """
    if config.budget.unit == "record" and config.federation.weighting == "sites":
        least = min(filter(None, sizes), default=1)
        return [least / size if size else 1.0 for size in sizes]
    return [1.0] * len(sizes)


def public_units(
    config: Config, sites: int, counted: int | None, declared: int | None = None
) -> int:
    """Return the public divisor.

    Under replace-one the number of persons is the same for neighbours, so the `counted`
    one may be used; None where it is private. Under add/remove only a number that is
    `declared`, here or by the source, may be.
    """
    if config.budget.unit == "client":
        return sites
    replaced = config.budget.neighbours == "replace-one"
    if replaced and config.data.units is None and counted is not None:
        return max(1, counted)
    units = config.data.units or declared
    if units is None:
        problem = Problem(
            "`data.units`",
            'missing: with `neighbours = "add-remove"` the number of people is itself '
            "private",
            'declare a public `units = ...`, or use "replace-one"',
        )
        raise ConfigError([problem])
    return max(1, round(units * (1.0 - config.data.test_size)))


def check_delta(
    config: Config, sites: int, persons: int, declared: int | None = None
) -> None:
    """Refuse a delta of 1/n or more where n is public but not in the configuration.

    One whole person or site could be published. Where the configuration declares n,
    `lexfed.config` has compared them already.
    """
    if config.privacy.mechanism == "none":
        return
    if config.budget.unit == "client":
        units, whom = sites, "site"
    elif config.budget.neighbours == "replace-one" or declared is not None:
        units, whom = persons, "person"
    else:
        return
    if config.budget.delta * units >= 1.0:
        number = "people" if whom == "person" else "sites"
        what = f"expected below 1/{units}, one over the number of {number}"
        hint = f"at 1/{units} one whole {whom} could be published"
        raise ConfigError([Problem("`budget.delta`", what, hint)])
