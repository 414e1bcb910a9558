# SPDX-License-Identifier: Apache-2.0
"""The public declaration of the synthetic banks: columns, ranges, tags.

Banks hold special categories without asking for them: a standing order to a union,
church tax or a pharmacy bill says what no application form may ask.
"""

from lexfed.data.builtin.declarations import (
    CCPA_PERSONAL,
    CCPA_SENSITIVE,
    HEALTH_DATA,
    PERSONAL_DATA,
    PSEUDONYM,
    SPECIAL_DATA,
    ArticleReference,
    DeclaredColumn,
    DeclaredTag,
    declared_tag,
)
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
LATE_PAYMENTS = (0.0, 12.0)
HEALTH_SPENDING = (0.0, 20_000.0)
UNEMPLOYMENT = (0.0, 20.0)
BASE_RATE = (-1.0, 10.0)


def _about_client(category: str, reason: str) -> DeclaredTag:
    return declared_tag(Tier.PERSONAL, category, reason, PERSONAL_DATA, CCPA_PERSONAL)


def _special(category: str, reason: str, *articles: ArticleReference) -> DeclaredTag:
    return declared_tag(
        Tier.SPECIAL, category, reason, SPECIAL_DATA, *articles, CCPA_SENSITIVE
    )


def _operational(reason: str) -> DeclaredTag:
    return declared_tag(Tier.NON_PERSONAL, "operational", reason)


DECLARED = (
    DeclaredColumn(
        Column("client_id", "text", missing=False),
        declared_tag(
            Tier.IDENTIFIER,
            "pseudonym",
            "a pseudonym that stands for one client",
            PERSONAL_DATA,
            PSEUDONYM,
            CCPA_PERSONAL,
        ),
    ),
    DeclaredColumn(
        Column("bank", "text", missing=False),
        _about_client("economic", "says with which bank the client deals"),
    ),
    DeclaredColumn(
        Column("account_number", "text", missing=False),
        declared_tag(
            Tier.IDENTIFIER,
            "account number",
            "the account number names the client",
            PERSONAL_DATA,
            CCPA_PERSONAL,
        ),
    ),
    DeclaredColumn(
        Column("age", "number", range=AGE, missing=False),
        _about_client("demographic", "age in years narrows down who somebody is"),
    ),
    DeclaredColumn(
        Column("sex", "category", values=SEXES),
        _about_client("demographic", "sex as registered, not a special category"),
    ),
    DeclaredColumn(
        Column("marital_status", "category", values=MARITAL),
        _about_client("social", "family status of the client"),
    ),
    DeclaredColumn(
        Column("employment", "category", values=EMPLOYMENT),
        _about_client("economic", "how the client earns a living"),
    ),
    DeclaredColumn(
        Column("income", "number", range=INCOME, scale="log"),
        _about_client("economic", "yearly income of the client"),
    ),
    DeclaredColumn(
        Column("loan_amount", "number", range=LOAN, scale="log", missing=False),
        _about_client("economic", "what the client borrowed"),
    ),
    DeclaredColumn(
        Column("late_payments", "number", range=LATE_PAYMENTS),
        _about_client("economic", "months of the last year with a late payment"),
    ),
    DeclaredColumn(
        Column("health_spending", "number", range=HEALTH_SPENDING, scale="log"),
        _special(
            "health",
            "payments to clinics and pharmacies in a year reveal the state of health",
            HEALTH_DATA,
        ),
    ),
    DeclaredColumn(
        Column("disability_benefit", "flag"),
        _special("health", "a disability benefit reveals a condition", HEALTH_DATA),
    ),
    DeclaredColumn(
        Column("church_tax", "flag"),
        _special("religion", "church tax on the account reveals a religious belief"),
    ),
    DeclaredColumn(
        Column("union_dues", "flag"),
        _special("trade union", "dues on the account reveal union membership"),
    ),
    DeclaredColumn(
        Column("product", "category", values=PRODUCTS, missing=False),
        _operational("the bank's product, offered to everybody alike"),
    ),
    DeclaredColumn(
        Column("channel", "category", values=CHANNELS, missing=False),
        _operational("through which sales channel the contract was closed"),
    ),
    DeclaredColumn(
        Column("regional_unemployment", "number", range=UNEMPLOYMENT, missing=False),
        _operational("published statistic of the bank's region in that quarter"),
    ),
    DeclaredColumn(
        Column("base_rate", "number", range=BASE_RATE, missing=False),
        _operational("the central bank's rate in that quarter"),
    ),
    DeclaredColumn(
        Column("defaulted", "flag", missing=False),
        _about_client("economic", "whether the client failed to repay"),
    ),
)
