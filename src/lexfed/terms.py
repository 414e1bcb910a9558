# SPDX-License-Identifier: Apache-2.0
"""The closed vocabularies and patterns that configuration, claims and logs share.

Each name stands here once. The order of the values is that of published schemas and of
messages that list them, so it is part of the format.
"""

from typing import Literal

Unit = Literal["record", "client"]
"""The protected unit: one record, or all records of one client."""

Neighbours = Literal["add-remove", "replace-one"]
"""Neighbouring data sets: one unit more or less, or one unit with other values."""

Trust = Literal["central", "local", "distributed"]
"""The adder of noise: the coordinator, each site on its own, or sites in shares."""

Mechanism = Literal["cascade", "grouped", "uniform", "none"]
"""The way from budgets to noise; `none` trains without privacy."""

ClaimedMechanism = Literal["uniform", "grouped", "cascade"]
"""A mechanism that a claim may name: `none` has nothing to claim."""

TierName = Literal["non_personal", "personal", "special", "identifier"]
"""The labels of `lexfed.tiers.Tier`, in its order."""

Accountant = Literal["pld", "rdp", "gdp"]
"""The method that composes the privacy losses of releases."""

CostMeasure = Literal["gdp", "rdp"]
"""A measure of privacy loss that can be charged release by release."""

Guarantee = Literal["envelope", "filter"]
"""Filters that hold a run to its plan: round by round, or in sums over its rounds."""

FilterName = Literal["F0", "F1", "F2"]
"""The filter under which a price holds; see `lexfed.privacy.filters`."""

Realisation = Literal["clip", "sampling"]
"""Means of a stricter budget at a site: smaller contributions, or fewer units."""

StepSchedule = Literal["constant", "cosine"]
"""The length of a step of descent over the rounds."""

WeightRule = Literal["none", "overlap"]
"""Weights of sites: all alike, or by how many of their people others also see."""

ExcessHandling = Literal["error", "drop"]
"""Handling of a person's rows beyond the limit: an error, or left out."""

ReportFormat = Literal["html", "dpia", "csv", "card", "statement", "evidence"]
"""A document about a run."""

FRAME = "frame:"
"""Beginning of a source that is a data frame of the calling program, not a file."""

SITE_NAME = "[A-Za-z0-9][A-Za-z0-9_]{0,31}"
"""The pattern of a site's name: one that folders, certificates and logs can hold."""

DIGEST = "[0-9a-f]{64}"
"""The pattern of a SHA-256 digest in hexadecimal."""
