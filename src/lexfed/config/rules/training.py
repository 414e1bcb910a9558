# SPDX-License-Identifier: Apache-2.0
"""Rules of `[federation]` and `[evaluation]`.

A key that would be ignored is an error: its author expects something that will not
happen.
"""

import re
from collections.abc import Iterator

from lexfed.config.rules.budget import MECHANISM, UNIT, remark
from lexfed.config.rules.data import COLUMNS, SOURCE, TARGET
from lexfed.config.tables.root import Config
from lexfed.config.text.findings import Finding, about
from lexfed.config.text.positions import KeyPath
from lexfed.config.text.wording import closest_or, listed, shown
from lexfed.models.networks.specifications import WIDTHS, network_weights

METRICS: KeyPath = ("evaluation", "metrics")
MODEL: KeyPath = ("federation", "model")
STEP: KeyPath = ("federation", "learning_rate")
TEST_SIZE: KeyPath = ("data", "test_size")
MOST_WEIGHTS = 100_000_000
"""Of a network: 800 MB in double precision, several times over while it is trained."""

_FACTORY = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


def local_training_needs_clients(config: Config) -> Iterator[Finding]:
    """With `unit = "record"` a round is one aggregated step."""
    federation = config.federation
    if config.budget.unit == "client":
        return
    given = {
        "local_steps": federation.local_steps > 1,
        "batch_size": federation.batch_size is not None,
    }
    for key in filter(given.get, given):
        yield about(
            ("federation", key),
            f': needs `unit = "client"`, got: {shown(getattr(federation, key))} '
            'with `unit = "record"`',
            'remove it, or set `unit = "client"` under `[budget]`; with '
            '`unit = "record"` a round is one step over all sites',
            UNIT,
        )


def rule_sets_the_steps(config: Config) -> Iterator[Finding]:
    """The built-in rule leaves no step to shape."""
    federation = config.federation
    if not config.follows_rule:
        return
    without = (
        f" does nothing without `learning_rate`: for `{federation.model}` models a "
        "built-in rule"
    )
    given = {
        "momentum": federation.momentum > 0,
        "learning_rate_schedule": federation.learning_rate_schedule != "constant",
    }
    hint, also = "set `learning_rate` too, or remove it", (STEP, MODEL, UNIT, MECHANISM)
    for key in filter(given.get, given):
        yield about(("federation", key), f"{without} sets the steps", hint, *also)
    if any(clip is not None for _, clip in config.privacy.clip):
        yield about(("privacy", "clip"), f"{without} scales and clips", hint, *also)


def site_sizes_are_public(config: Config) -> Iterator[Finding]:
    """Sites count the same only by dividing by their sizes, which may be private."""
    budget = config.budget
    private = budget.unit == "record" and budget.neighbours == "add-remove"
    unprotected = config.privacy.mechanism == "none"
    if config.federation.weighting == "sites" and private and not unprotected:
        yield about(
            ("federation", "weighting"),
            ': `sites` needs `neighbours = "replace-one"`, '
            f"got: {shown(budget.neighbours)}",
            "under `add-remove` the number of people at a site is private; use "
            '`weighting = "units"`, or set `neighbours = "replace-one"` under '
            "`[budget]`",
            UNIT, MECHANISM, ("budget", "neighbours"),
        )  # fmt: skip


def sites_by_label_are_alike(config: Config) -> Iterator[Finding]:
    """Sites that labels decide must all be treated alike."""
    sites, budget = config.data.sites, config.budget
    if sites is None or sites.partition != "dirichlet":
        return
    if config.privacy.mechanism == "none" or budget.unit == "client":
        return
    differing: dict[KeyPath, bool] = {
        ("federation", "weighting"): config.federation.weighting == "sites",
        ("budget", "profiles"): bool(budget.profiles),
        ("budget", "clients"): budget.clients is not None,
    }
    for path in filter(differing.get, differing):
        what = (
            ' does not go with `partition = "dirichlet"`: whoever has another label '
            "may be at another site, and count there by other rules"
        )
        hint = 'use `partition = "iid"`, or treat all sites alike'
        yield about(path, what, hint, ("data", "sites", "partition"), UNIT, MECHANISM)


def model_is_known(config: Config) -> Iterator[Finding]:
    """A model has a known name, widths, or a factory to import."""
    model, known = config.federation.model, ("additive", "logistic", "linear", "cnn")
    if model in known or WIDTHS.fullmatch(model):
        return
    if model.partition(":")[0] == "mlp":
        what = f": expected widths after `mlp:`, got: {shown(model)}"
        yield about(MODEL, what, 'for example `model = "mlp:256,128,64"`')
    elif not _FACTORY.fullmatch(model):
        names = (
            *("logistic", "linear", "additive"),
            *("mlp:256,128,64", "cnn", "module:factory"),
        )
        what = f": expected one of {listed(names)}, got: {shown(model)}"
        yield about(MODEL, what, closest_or(model, known, ""))


def model_fits_in_memory(config: Config) -> Iterator[Finding]:
    """A network of more weights than this would end in an error of the machine."""
    weights = network_weights(config.federation.model)
    if weights > MOST_WEIGHTS:
        yield about(
            MODEL,
            f": at most {MOST_WEIGHTS:,} weights, got: {weights:,} between the layers "
            f"of {shown(config.federation.model)}",
            "every weight is released with noise of its own; use narrower layers",
        )


def model_fits_target(config: Config) -> Iterator[Finding]:
    """Logistic models answer with a class, linear ones with a number."""
    name, model = config.data.target or "", config.federation.model
    target = config.data.columns.get(name)
    if target is None or target.kind == "date":
        return
    right = "linear" if target.kind == "number" else "logistic"
    if model in ("logistic", "linear") and model != right:
        what = f": `{model}` cannot predict `{name}`, which is a {target.kind}"
        yield about(MODEL, what, f'use `model = "{right}"`', TARGET, (*COLUMNS, name))


def test_rows_exist(config: Config) -> Iterator[Finding]:
    """Metrics can only be declared public or paid where there are test rows."""
    metrics = config.evaluation.metrics
    if metrics != "outside-guarantee" and config.data.test_size == 0:
        what = f": `{metrics}` does nothing with `test_size = 0`"
        hint = "set `test_size` under `[data]`, for example to 0.2, or remove `metrics`"
        yield about(METRICS, what, hint, TEST_SIZE)


def metrics_have_a_budget(config: Config) -> Iterator[Finding]:
    """Without noise there is nothing to pay with."""
    if config.evaluation.metrics == "paid" and config.privacy.mechanism == "none":
        what = ': `paid` does nothing with `mechanism = "none"`, which spends no budget'
        hint = "remove `metrics`, or choose another mechanism"
        yield about(METRICS, what, hint, MECHANISM)


def test_rows_are_not_covered(config: Config) -> Iterator[Finding]:
    """Remark that metrics on private test rows are outside the claim."""
    size = config.data.test_size
    outside = config.evaluation.metrics == "outside-guarantee"
    if size > 0 and outside and not config.data.built_in:
        what = f" = {size}: metrics on these rows are not covered by the claim"
        hint = (
            'under `[evaluation]` set `metrics = "public"` if these rows may be known '
            'to everyone, or `metrics = "paid"` to take the metrics from the budget'
        )
        yield remark(about(TEST_SIZE, what, hint, SOURCE, METRICS))


RULES = (
    local_training_needs_clients, rule_sets_the_steps, site_sizes_are_public,
    sites_by_label_are_alike, model_is_known, model_fits_in_memory, model_fits_target,
    test_rows_exist, metrics_have_a_budget, test_rows_are_not_covered,
)  # fmt: skip
