# SPDX-License-Identifier: Apache-2.0
"""Synthetic banks: which loan is not repaid?

Nobody in this table exists. A latent strain ties income, late payments and health
together; default depends on what the client earns and owes, on the region's
economy, and to some degree on illness, which only the special columns show. Church
tax and union dues carry almost nothing: a report should show that they are not
needed. One row is one client.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexfed.checks import in_range
from lexfed.data.builtin import bank_columns as declared
from lexfed.data.builtin.declarations import BuiltinSource, builtin_source
from lexfed.data.builtin.draws import (
    category_names,
    draw_categories,
    draw_site_sizes,
    softmax,
    with_gaps,
)
from lexfed.data.reading.frames import frame_of_arrays

# Effects on the odds that a loan fails, on the log-odds scale.
_BASE = -2.45
_BY_EMPLOYMENT = np.array([-0.4, 0.4, 0.2, 1.4, -0.1])
_BY_MARITAL = np.array([0.1, -0.2, 0.4, 0.0])
_BY_PRODUCT = np.array([0.1, 0.6, -0.1, -0.7])
_BY_CHANNEL = np.array([-0.3, 0.1, 0.5])
_BY_UNKNOWN = 0.8


def bank(seed: int = 7, sites: int = 6, clients: int = 8000) -> BuiltinSource:
    """Return synthetic loans of clients of several banks.

    Guarantees:
        The same arguments give the same rows; each bank has its own stream.
        Every client has one row, at one bank.

    Args:
        seed: fixes every draw.
        sites: number of banks, at least 1.
        clients: number of clients in all, at least one for each bank.
    """
    in_range(1, clients, sites=sites)
    streams = np.random.SeedSequence(seed).spawn(sites)
    first = 0
    parts: list[dict[str, NDArray[Any]]] = []
    for site, size in enumerate(draw_site_sizes(clients, sites)):
        generator = np.random.default_rng(streams[site])
        parts.append(_one_bank(generator, site, size, first))
        first += size
    columns = {
        item.column.name: np.concatenate([part[item.column.name] for part in parts])
        for item in declared.DECLARED
    }
    return builtin_source(
        frame_of_arrays("synthetic:bank", columns),
        declared.DECLARED,
        target="defaulted",
        person="client_id",
        site="bank",
        sites=tuple(map(_name, range(sites))),
    )


def _name(site: int) -> str:
    return f"bank-{site + 1:02d}"


def _one_bank(
    rng: np.random.Generator, site: int, size: int, first: int
) -> dict[str, NDArray[Any]]:
    richer, riskier = rng.normal(0.0, 0.15), rng.normal(0.0, 0.25)
    unemployment_here = rng.uniform(3.0, 11.0)
    unsaid = rng.uniform(0.01, 0.1)
    product_mix = rng.dirichlet(np.array([4.0, 3.0, 2.0, 2.0]))
    channel_mix = rng.dirichlet(np.array([4.0, 4.0, 2.0]))

    age = np.clip(np.round(18.0 + rng.gamma(3.2, 9.0, size)), *declared.AGE)
    years = (age - 45.0) / 15.0
    strain = rng.normal(size=size)
    illness = 0.3 * strain + 0.3 * years + 0.9 * rng.normal(size=size)
    sex = draw_categories(rng, np.tile([0.5, 0.49, 0.01], (size, 1)))
    work = np.full((size, 5), [1.6, 0.2, -0.3, -0.8, -3.0])
    work[:, 3] += 0.5 * strain + 0.4 * illness
    work[:, 4] += 2.6 * np.maximum(years - 0.6, 0.0) * 2.0
    employment = draw_categories(rng, softmax(work))
    family = np.full((size, 4), [0.6, 0.9, -0.6, -2.0])
    family[:, 0] -= years
    family[:, 3] += 1.2 * years
    marital = draw_categories(rng, softmax(family))
    paid = np.array([0.25, -0.15, 0.1, -1.0, -0.4])[employment]
    income = np.exp(10.35 + richer + paid + 0.45 * rng.normal(size=size))
    income = np.clip(np.round(income, -2), *declared.INCOME)
    product = draw_categories(rng, np.tile(product_mix, (size, 1)))
    ordered = np.array([8.8, 7.9, 9.7, 11.4])[product]
    loan = np.exp(ordered + 0.3 * (np.log(income) - 10.4) + 0.5 * rng.normal(size=size))
    loan = np.clip(np.round(loan, -1), *declared.LOAN)
    late = np.minimum(rng.poisson(np.exp(-0.8 + 0.8 * strain)), 12).astype(np.float64)
    benefit = rng.random(size) < 1.0 / (1.0 + np.exp(3.4 - 1.5 * illness))
    health = np.expm1(np.clip(5.4 + 1.3 * illness + 0.5 * rng.normal(size=size), 0, 9))
    health = np.clip(np.round(health, -1), *declared.HEALTH_SPENDING)
    church = rng.random(size) < 1.0 / (1.0 + np.exp(0.4 - 0.3 * years))
    union = rng.random(size) < np.array([0.25, 0.1, 0.02, 0.08, 0.1])[employment]
    channel = draw_categories(rng, np.tile(channel_mix, (size, 1)))
    quarter = rng.integers(0, 12, size)
    base_rate = np.round(0.5 + 0.35 * quarter, 2)
    unemployment = np.round(unemployment_here + 0.15 * quarter, 1)

    score = (
        _BASE + riskier
        - 0.9 * (np.log(income) - 10.35) + 0.35 * (np.log(loan) - 9.2)
        + 0.45 * np.minimum(late, 6.0) - 0.25 * years
        + 0.95 * illness + 0.5 * benefit
        + _BY_EMPLOYMENT[employment] + _BY_MARITAL[marital]
        + _BY_PRODUCT[product] + _BY_CHANNEL[channel]
        + 0.14 * (unemployment - 8.0) + 0.12 * (base_rate - 2.4)
        + _BY_UNKNOWN * rng.normal(size=size)
    )  # fmt: skip
    defaulted = rng.random(size) < 1.0 / (1.0 + np.exp(-score))

    numbers = first + np.arange(size)
    some = np.full(size, unsaid)
    few = np.full(size, 0.01)
    return {
        "client_id": np.array([f"C{n:06d}" for n in numbers], dtype=object),
        "bank": np.full(size, _name(site), dtype=object),
        # No country has the code ZZ, so no number here can be anybody's.
        "account_number": np.array(
            [f"ZZ00{site + 1:04d}{n:012d}" for n in numbers], dtype=object
        ),
        "age": age,
        "sex": category_names(declared.SEXES, sex),
        "marital_status": with_gaps(
            rng, category_names(declared.MARITAL, marital), few
        ),
        "employment": with_gaps(
            rng, category_names(declared.EMPLOYMENT, employment), few
        ),
        "income": np.where(rng.random(size) < some, np.nan, income),
        "loan_amount": loan,
        "late_payments": np.where(rng.random(size) < few, np.nan, late),
        "health_spending": np.where(rng.random(size) < some, np.nan, health),
        "disability_benefit": benefit,
        "church_tax": church,
        "union_dues": union,
        "product": category_names(declared.PRODUCTS, product),
        "channel": category_names(declared.CHANNELS, channel),
        "regional_unemployment": np.clip(unemployment, *declared.UNEMPLOYMENT),
        "base_rate": base_rate,
        "defaulted": defaulted,
    }
