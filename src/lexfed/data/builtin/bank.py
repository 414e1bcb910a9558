# SPDX-License-Identifier: Apache-2.0
"""Synthetic banks: which loan is not repaid?

Nobody in this table exists. A latent strain ties income, late payments and health
together; default depends on what the client earns and owes, on the region's
economy, and to some degree on illness, which only the special columns show. Church
tax and union dues carry almost nothing: a report should show that they are not
needed. One row is one client.

Banks hold special categories without asking for them: a standing order to a union,
church tax or a pharmacy bill says what no application form may ask.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexfed.data.builtin.declarations import (
    CCPA_PERSONAL,
    CCPA_SENSITIVE,
    HEALTH_DATA,
    PERSONAL_DATA,
    PSEUDONYM,
    SPECIAL_DATA,
    ArticleReference,
    BuiltinSource,
    DeclaredColumn,
    builtin_source,
    category_names,
    declared,
    draw_alike,
    draw_categories,
    drawn_columns,
    operational,
    softmax,
    with_gaps,
)
from lexfed.data.reading.frames import frame_of_arrays
from lexfed.data.schema import Column
from lexfed.tiers import Tier

SEXES = ("female", "male", "other")
MARITAL = ("single", "married", "divorced", "widowed")
EMPLOYMENT = ("permanent", "temporary", "self_employed", "unemployed", "retired")
PRODUCTS = ("instalment", "card", "car", "mortgage")
CHANNELS = ("branch", "online", "broker")
AGE = (18.0, 100.0)
INCOME = (2_000.0, 500_000.0)
LOAN = (500.0, 200_000.0)
HEALTH_SPENDING = (0.0, 20_000.0)
UNEMPLOYMENT = (0.0, 20.0)


def _identifier(
    column: Column, category: str, reason: str, *articles: ArticleReference
) -> DeclaredColumn:
    articles = (PERSONAL_DATA, *articles, CCPA_PERSONAL)
    return declared(column, Tier.IDENTIFIER, category, reason, *articles)


def _about_client(column: Column, category: str, reason: str) -> DeclaredColumn:
    articles = (PERSONAL_DATA, CCPA_PERSONAL)
    return declared(column, Tier.PERSONAL, category, reason, *articles)


def _special(
    column: Column, category: str, reason: str, *articles: ArticleReference
) -> DeclaredColumn:
    articles = (SPECIAL_DATA, *articles, CCPA_SENSITIVE)
    return declared(column, Tier.SPECIAL, category, reason, *articles)


DECLARED = (
    _identifier(Column("client_id", "text", missing=False), "pseudonym",
                "a pseudonym that stands for one client", PSEUDONYM),
    _about_client(Column("bank", "text", missing=False), "economic",
                  "says with which bank the client deals"),
    _identifier(Column("account_number", "text", missing=False), "account number",
                "the account number names the client"),
    _about_client(Column("age", "number", range=AGE, missing=False), "demographic",
                  "age in years narrows down who somebody is"),
    _about_client(Column("sex", "category", values=SEXES), "demographic",
                  "sex as registered, not a special category"),
    _about_client(Column("marital_status", "category", values=MARITAL), "social",
                  "family status of the client"),
    _about_client(Column("employment", "category", values=EMPLOYMENT), "economic",
                  "how the client earns a living"),
    _about_client(Column("income", "number", range=INCOME, scale="log"), "economic",
                  "yearly income of the client"),
    _about_client(Column("loan_amount", "number", range=LOAN, scale="log",
                         missing=False), "economic", "what the client borrowed"),
    _about_client(Column("late_payments", "number", range=(0.0, 12.0)), "economic",
                  "months of the last year with a late payment"),
    _special(Column("health_spending", "number", range=HEALTH_SPENDING, scale="log"),
             "health", "payments to clinics and pharmacies in a year reveal the state "
             "of health", HEALTH_DATA),
    _special(Column("disability_benefit", "flag"), "health",
             "a disability benefit reveals a condition", HEALTH_DATA),
    _special(Column("church_tax", "flag"), "religion",
             "church tax on the account reveals a religious belief"),
    _special(Column("union_dues", "flag"), "trade union",
             "dues on the account reveal union membership"),
    operational(Column("product", "category", values=PRODUCTS, missing=False),
                "the bank's product, offered to everybody alike"),
    operational(Column("channel", "category", values=CHANNELS, missing=False),
                "through which sales channel the contract was closed"),
    operational(Column("regional_unemployment", "number", range=UNEMPLOYMENT,
                       missing=False),
                "published statistic of the bank's region in that quarter"),
    operational(Column("base_rate", "number", range=(-1.0, 10.0), missing=False),
                "the central bank's rate in that quarter"),
    _about_client(Column("defaulted", "flag", missing=False), "economic",
                  "whether the client failed to repay"),
)  # fmt: skip
"""The public declaration: nothing here is computed from generated rows."""

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
    """
    names = [column.name for column, _ in DECLARED]
    columns = drawn_columns(_one_bank, names, seed, sites, clients)
    return builtin_source(
        frame_of_arrays("synthetic:bank", columns),
        DECLARED,
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

    age = np.clip(np.round(18.0 + rng.gamma(3.2, 9.0, size)), *AGE)
    years = (age - 45.0) / 15.0
    strain = rng.normal(size=size)
    illness = 0.3 * strain + 0.3 * years + 0.9 * rng.normal(size=size)
    sex = draw_alike(rng, [0.5, 0.49, 0.01], size)
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
    income = np.clip(np.round(income, -2), *INCOME)
    product = draw_alike(rng, product_mix, size)
    ordered = np.array([8.8, 7.9, 9.7, 11.4])[product]
    loan = np.exp(ordered + 0.3 * (np.log(income) - 10.4) + 0.5 * rng.normal(size=size))
    loan = np.clip(np.round(loan, -1), *LOAN)
    late = np.minimum(rng.poisson(np.exp(-0.8 + 0.8 * strain)), 12).astype(np.float64)
    benefit = rng.random(size) < 1.0 / (1.0 + np.exp(3.4 - 1.5 * illness))
    health = np.expm1(np.clip(5.4 + 1.3 * illness + 0.5 * rng.normal(size=size), 0, 9))
    health = np.clip(np.round(health, -1), *HEALTH_SPENDING)
    church = rng.random(size) < 1.0 / (1.0 + np.exp(0.4 - 0.3 * years))
    union = rng.random(size) < np.array([0.25, 0.1, 0.02, 0.08, 0.1])[employment]
    channel = draw_alike(rng, channel_mix, size)
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
    return {
        "client_id": np.array([f"C{n:06d}" for n in numbers], dtype=object),
        "bank": np.full(size, _name(site), dtype=object),
        # No country has the code ZZ, so no number here can be anybody's.
        "account_number": np.array(
            [f"ZZ00{site + 1:04d}{n:012d}" for n in numbers], dtype=object
        ),
        "age": age,
        "sex": category_names(SEXES, sex),
        "marital_status": with_gaps(rng, category_names(MARITAL, marital), 0.01),
        "employment": with_gaps(rng, category_names(EMPLOYMENT, employment), 0.01),
        "income": np.where(rng.random(size) < unsaid, np.nan, income),
        "loan_amount": loan,
        "late_payments": np.where(rng.random(size) < 0.01, np.nan, late),
        "health_spending": np.where(rng.random(size) < unsaid, np.nan, health),
        "disability_benefit": benefit,
        "church_tax": church,
        "union_dues": union,
        "product": category_names(PRODUCTS, product),
        "channel": category_names(CHANNELS, channel),
        "regional_unemployment": np.clip(unemployment, *UNEMPLOYMENT),
        "base_rate": base_rate,
        "defaulted": defaulted,
    }
