# SPDX-License-Identifier: Apache-2.0
"""From a configuration and everybody's statements to a priced programme.

The coordinator computes it to offer it, every site to compare it: nobody has to believe
anybody's arithmetic.
"""

from collections.abc import Sequence
from pathlib import Path

from lexfed.config.declarations import records_per_person_of, tagged_schema_of
from lexfed.data.encoding import build_encoding
from lexfed.run.deployed.signed_messages import SiteStatement
from lexfed.run.deployed.terms.bundle import Bundle, require_weights
from lexfed.run.deployed.terms.site_statements import limits_of, strictest_tags
from lexfed.run.earlier_runs import ProfileReleaseReader, profile_releases
from lexfed.run.intake.population import (
    Population,
    RemoteSites,
    classes_of,
    used_columns,
)
from lexfed.run.intake.public_facts import check_delta, public_units
from lexfed.run.pricing.priced_run import OutsideTerms, PricedRun, price
from lexfed.run.purchases.profile_population import ProfilePopulation, profiled_columns
from lexfed.run.purchases.profile_purchase import PricedProfile, price_profile


def agreed_programme(
    bundle: Bundle,
    base: Path,
    statements: Sequence[SiteStatement],
    before: ProfileReleaseReader = profile_releases,
) -> PricedRun:
    """Return the programme that follows from a configuration and checked statements.

    `before` finds the releases of a profile that the run uses; a site looks into its
    own records.

    Guarantees:
        Every column has the most sensitive tier that anybody states.
        No budget exceeds what any site allows.
    """
    if bundle.profile is not None:
        return agreed_profile(bundle, bundle.profile, base, statements).priced
    population = _remote_population(bundle, base, statements)
    outside = OutsideTerms(limits=tuple(map(limits_of, statements)), before=before)
    return price(bundle.config, population, base, outside)


def agreed_profile(
    bundle: Bundle, epsilon: float, base: Path, statements: Sequence[SiteStatement]
) -> PricedProfile:
    """Return the profile that follows from a configuration, statements and a price."""
    population = _remote_population(bundle, base, statements)
    columns = profiled_columns(bundle.opened, population.encoding)
    found = ProfilePopulation(population, columns)
    limits = [*map(limits_of, statements)]
    return price_profile(bundle.config, found, base, epsilon, limits)


def _remote_population(
    bundle: Bundle, base: Path, statements: Sequence[SiteStatement]
) -> Population:
    """Return the population of sites whose data are elsewhere, without any row."""
    config = bundle.config
    tagged = strictest_tags(tagged_schema_of(config, base=base), statements)
    importance, _ = used_columns(config, tagged, base)
    encoding = build_encoding(
        tagged.schema, tagged.tiers(), exclude=importance.left_out
    )
    require_weights(config, encoding)
    counts = [said.units for said in statements if said.units is not None]
    train = tuple(count.train for count in counts)
    persons = sum(train) + sum(count.test for count in counts)
    check_delta(config, len(statements), persons)
    return Population(
        tagged=tagged,
        encoding=encoding,
        sites=(),
        units=public_units(config, len(statements), sum(train) if counts else None),
        records_per_person=records_per_person_of(config),
        classes=classes_of(config, encoding),
        importance=importance,
        elsewhere=RemoteSites(
            names=bundle.sites,
            sizes=train if counts else None,
            keys={said.name: bytes.fromhex(said.key) for said in statements},
        ),
    )
