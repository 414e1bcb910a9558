# SPDX-License-Identifier: Apache-2.0
"""Errors, tiers, canonical bytes and argument checks."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed import checks, errors
from lexfed.canonical import canonical_bytes, digest
from lexfed.errors import ConfigError, DataError, LexfedError, Problem
from lexfed.tiers import MODEL_TIERS, Tier


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("ConfigError", 2),
        ("DataError", 2),
        ("RunFolderError", 2),
        ("ClaimError", 1),
        ("SecAggError", 1),
        ("Refused", 3),
        ("LexfedError", 4),
    ],
)
def test_every_error_has_its_exit_code(name: str, code: int) -> None:
    kind = getattr(errors, name)
    assert issubclass(kind, LexfedError)
    assert kind.exit_code == code


def test_an_error_carries_message_and_hint() -> None:
    error = errors.Refused("round 3 refused", "raise the budget")
    assert (str(error), error.message, error.hint) == (
        "round 3 refused",
        "round 3 refused",
        "raise the budget",
    )
    assert errors.RunFolderError("gone").hint == ""


@pytest.mark.parametrize("kind", [ConfigError, DataError])
def test_all_problems_are_listed_at_once(kind: type[ConfigError | DataError]) -> None:
    problems = [Problem("a.toml:3", "unknown key", "remove it"), Problem("", "no rows")]
    error = kind(problems)
    assert str(error) == "a.toml:3: unknown key\nno rows"
    assert error.hint == "remove it"
    assert error.problems == tuple(problems)


def test_tiers_are_ordered_by_the_protection_they_ask_for() -> None:
    assert Tier.NON_PERSONAL < Tier.PERSONAL < Tier.SPECIAL < Tier.IDENTIFIER
    assert tuple(sorted(Tier))[:-1] == MODEL_TIERS
    for tier in Tier:
        assert Tier.parse(tier.label) is tier
    with pytest.raises(ValueError, match="expected one of `non_personal`"):
        Tier.parse("Special")


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), json_values))
def test_a_hash_does_not_depend_on_the_order_of_keys(value: dict[str, object]) -> None:
    turned = dict(reversed(list(value.items())))
    assert canonical_bytes(turned) == canonical_bytes(value)
    assert digest(turned) == digest(value)
    assert len(digest(value)) == 64


def test_canonical_bytes_are_those_of_the_standard() -> None:
    value = {"b": [1.0, 1e21, 1e-7], "a": "é"}
    assert canonical_bytes(value) == '{"a":"é","b":[1,1e+21,1e-7]}'.encode()
    assert digest({}) != digest([])


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan])
def test_what_is_not_positive_is_named(value: float) -> None:
    for check in (checks.positive, checks.finite_positive):
        with pytest.raises(ValueError, match="expected `clip` > 0, got"):
            check(sigma=1.0, clip=value)


def test_infinity_is_positive_but_not_finite() -> None:
    checks.positive(sigma=math.inf)
    checks.finite_positive(sigma=1e-300)
    with pytest.raises(ValueError, match="`sigma` to be finite"):
        checks.finite_positive(sigma=math.inf)


def test_ranges_include_their_ends() -> None:
    checks.in_range(0.0, 1.0, none=0.0, all=1.0)
    for value in (-1e-9, 1.0 + 1e-9, math.nan):
        with pytest.raises(ValueError, match=r"expected 0.0 <= `rate` <= 1.0, got"):
            checks.in_range(0.0, 1.0, rate=value)
