# SPDX-License-Identifier: Apache-2.0
"""Importances in a configuration: which sources there are, and what uses them."""

from pathlib import Path

import pytest

from lexfed.config import examine

GOOD = (Path(__file__).parent / "good.toml").read_text()
BY_RULE = ('allocation = "caps"', 'allocation = "multiplier"')


def text_of(*lines: str, groups: str = "", tables: str = "") -> str:
    # The keys of `[budget]` come first, its tables last.
    text = GOOD.replace("[budget]\n", "[budget]\n" + "".join(f"{x}\n" for x in lines))
    if groups:
        tables += f"\n[budget.groups]\n{groups}\n"
    return text + tables


def multiplied(*lines: str, groups: str = "", tables: str = "") -> str:
    return text_of(*lines, groups=groups, tables=tables).replace(*BY_RULE)


def problems(text: str) -> list[str]:
    return [problem.what for problem in examine(text).problems]


@pytest.mark.parametrize(
    "source", ["public:known.csv", "weights:runs/before", "paid:runs/importance"]
)
def test_three_sources_are_known(source: str) -> None:
    text = multiplied(
        f'importance_from = "{source}"', groups='pair = ["age", "smoker"]'
    )
    assert problems(text) == []
    # Sparsity uses importances under every allocation.
    assert problems(text_of(f'importance_from = "{source}"', "sparsity = 0.1")) == []


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('importance_from = "gradients"', "cannot tell what"),
        ('importance_from = "paid:"', "cannot tell what"),
        ('importance_from = "public:known.doc"', "cannot tell how to read"),
        ('groups_from = "private.csv"', "cannot tell what"),
        ('groups_from = "public:x"', "cannot tell how to read"),
        ("sparsity = 1.0", "expected a number of at least 0 and below 1"),
        ("correlation = 0", "expected a number above 0"),
    ],
)
def test_other_sources_are_refused(line: str, what: str) -> None:
    text = multiplied(line, tables="\n[budget.importance]\nage = 2.0\n")
    assert any(what in found for found in problems(text))


def test_importances_that_nothing_uses_are_refused() -> None:
    text = text_of(
        'importance_from = "public:known.csv"',
        'groups_from = "public:known.csv"',
        groups='pair = ["age", "smoker"]',
        tables="\n[budget.importance]\nage = 2.0\n",
    )
    found = problems(text)
    assert len(found) == 4
    assert all("does nothing with `allocation" in what for what in found)


@pytest.mark.parametrize("mechanism", ["uniform", "none"])
def test_importances_are_refused_where_all_columns_are_in_one_sum(
    mechanism: str,
) -> None:
    importance = "\n[budget.importance]\nage = 2.0\n"

    def found(*lines: str, name: str) -> list[str]:
        text = multiplied(*lines, tables=importance)
        changed = text.replace('mechanism = "cascade"', f'mechanism = "{name}"')
        assert changed != text
        return problems(changed)

    words = f'`budget.importance` does nothing with `mechanism = "{mechanism}"`'
    assert any(words in what for what in found(name=mechanism))
    assert not any(words in what for what in found("sparsity = 0.1", name=mechanism))
    assert not any("importance" in what for what in found(name="grouped"))


def test_groups_and_sparsity_need_importances() -> None:
    text = multiplied("sparsity = 0.1", groups='pair = ["age", "smoker"]')
    assert problems(text) == [
        "`budget.sparsity` does nothing without importances of columns",
        "`budget.groups` does nothing without importances of columns",
    ]


def test_groups_name_columns_once() -> None:
    text = multiplied(
        'importance_from = "public:known.csv"',
        groups='pair = ["age", "smoker"]\nodd = ["smoker", "agee"]',
    )
    assert problems(text) == [
        "`budget.groups.odd`: `smoker` is in `pair` already",
        "`budget.groups.odd`: there is no column `agee`",
    ]


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('mechanism = "cascade"', 'mechanism = "none"', 'mechanism = "none"'),
        ('unit = "record"', 'unit = "client"', 'unit = "client"'),
        ("sampling_rate = 1.0", "sampling_rate = 0.5", "`sampling_rate`"),
    ],
)
def test_paid_importances_need_one_exact_budget(old: str, new: str, what: str) -> None:
    text = multiplied('importance_from = "paid:runs/importance"')
    assert old in text
    found = problems(text.replace(old, new, 1))
    assert any("`paid:` does not go with" in one and what in one for one in found)


def test_paid_importances_do_not_go_with_classes_or_profiles() -> None:
    tables = """
[[budget.classes]]
name = "minors"
where = "age < 18"
epsilon = 0.5

[budget.profiles.strict]
sites = ["north"]
epsilon = 0.5
"""
    text = multiplied('importance_from = "paid:runs/importance"', tables=tables)
    found = [one for one in problems(text) if "`paid:`" in one]
    assert len(found) == 2


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('mechanism = "cascade"', 'mechanism = "none"', 'mechanism = "none"'),
        ('unit = "record"', 'unit = "client"', 'unit = "client"'),
        ("sampling_rate = 1.0", "sampling_rate = 0.5", "`sampling_rate`"),
    ],
)
def test_a_profile_needs_one_exact_budget(old: str, new: str, what: str) -> None:
    text = GOOD.replace("units = 6000", 'units = 6000\nprofile = "runs/profile"')
    assert problems(text) == []
    found = problems(text.replace(old, new, 1))
    assert any(
        "`data.profile` does not go with" in one and what in one for one in found
    )
