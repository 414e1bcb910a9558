# SPDX-License-Identifier: Apache-2.0
"""Remarks on what is allowed: shown by `lexfed check`, never in the way."""

from collections.abc import Iterator

from lexfed.config.rules.budget import MECHANISM
from lexfed.config.rules.data import SOURCE
from lexfed.config.tables.root import Config
from lexfed.config.text.findings import Finding
from lexfed.config.text.positions import KeyPath
from lexfed.config.text.wording import shown

CAPS: KeyPath = ("budget", "caps")


def _note(path: KeyPath, what: str, hint: str, *also: KeyPath) -> Finding:
    return Finding(path, what, hint, also, note=True)


def not_private(config: Config) -> Iterator[Finding]:
    """Two settings give up the guarantee, on purpose."""
    if config.run.test:
        yield _note(
            ("run", "test"),
            "`run.test` is on: noise can be repeated, every output says NOT PRIVATE",
            "remove `test` for a run whose results leave this machine",
        )
    if config.privacy.mechanism == "none":
        yield _note(
            MECHANISM,
            '`mechanism = "none"`: no noise, no guarantee; the budget is not used',
            "",
        )


def caps_that_do_not_bind(config: Config) -> Iterator[Finding]:
    """A cap above what another budget allows changes nothing."""
    caps = config.budget.caps
    pairs = (
        ("special", caps.special),
        ("personal", caps.personal),
        ("non_personal", caps.non_personal),
    )
    epsilon = config.budget.epsilon
    for number, (tier, cap) in enumerate(pairs):
        if cap is None:
            continue
        path = (*CAPS, tier)
        if cap > epsilon:
            yield _note(
                path,
                f"`budget.caps.{tier}` = {cap:g} is above `budget.epsilon` = "
                f"{epsilon:g}: the whole record's budget usually binds first",
                "",
                ("budget", "epsilon"),
            )
        for lower, other in pairs[number + 1 :]:
            if other is not None and cap > other:
                yield _note(
                    path,
                    f"`budget.caps.{tier}` = {cap:g} is above `budget.caps.{lower}` "
                    f"= {other:g}: what a `{lower}` column may cost binds first",
                    f"a column of tier `{lower}` is also read by the towers above it, "
                    "so the cap of the more sensitive tier is the smaller one",
                    (*CAPS, lower),
                )


def test_rows_are_not_covered(config: Config) -> Iterator[Finding]:
    """Metrics on private test rows are outside the claim."""
    data = config.data
    uncovered = config.evaluation.metrics == "uncovered"
    if data.test_size > 0 and uncovered and not data.built_in:
        yield _note(
            ("data", "test_size"),
            f"`data.test_size` = {shown(data.test_size)[1:-1]}: metrics on these rows "
            "are not covered by the claim",
            'under `[evaluation]` set `metrics = "public"` if these rows may be known '
            'to everyone, or `metrics = "paid"` to take the metrics from the budget',
            SOURCE,
            ("evaluation", "metrics"),
        )


RULES = (
    not_private,
    caps_that_do_not_bind,
    test_rows_are_not_covered,
)
