# SPDX-License-Identifier: Apache-2.0
"""Rules on noise in shares: what `trust = "distributed"` needs, and what it cannot do.

Its price is proven under Rényi accounting and without sampling, for sums that are
masked; everything else is refused instead of being charged by a formula that is not
its own.
"""

from collections.abc import Iterator

from lexfed.config.rules.adapt import ACCOUNTANT, GUARANTEE
from lexfed.config.rules.budget import MECHANISM, RATE, UNIT
from lexfed.config.rules.data import number_of_sites
from lexfed.config.tables.root import Config
from lexfed.config.text.findings import Finding, about
from lexfed.config.text.positions import KeyPath
from lexfed.config.text.wording import shown
from lexfed.errors import ConfigError

TRUST: KeyPath = ("privacy", "trust")
ENGINE: KeyPath = ("federation", "engine")
DROPOUTS: KeyPath = ("federation", "dropouts")
COLLUDERS: KeyPath = ("federation", "colluders")

_WITH = '`trust = "distributed"`'


def shares_are_priced(config: Config) -> Iterator[Finding]:
    """The price of shares is known in Rényi accounting, without sampling."""
    accountant, rate = config.privacy.accountant, config.federation.sampling_rate
    if accountant != "rdp":
        what = f": {_WITH} needs `rdp`, got: {shown(accountant)}"
        hint = (
            "noise in shares is proven by Rényi accounting only: set "
            '`accountant = "rdp"`'
        )
        yield about(ACCOUNTANT, what, hint, TRUST)
    if rate < 1.0:
        what = f": {_WITH} needs 1, got: {shown(rate)}"
        hint = (
            "no useful price of sampled noise in shares is proven; take every record "
            "in every round"
        )
        yield about(RATE, what, hint, TRUST)
    if config.adapt.guarantee == "filter":
        what = f": {_WITH} needs `envelope`, got: `filter`"
        hint = "no filter is proven for noise in shares: remove `guarantee`"
        yield about(GUARANTEE, what, hint, TRUST)
    differing = config.budget.profiles or config.budget.clients
    if differing and config.budget.realise == "sampling":
        what = f": {_WITH} needs `clip`, got: `sampling`"
        hint = (
            "no useful price of sampled noise in shares is proven: let strict sites "
            'take part with a smaller weight, `realise = "clip"`'
        )
        yield about(("budget", "realise"), what, hint, TRUST)


def sums_are_masked(config: Config) -> Iterator[Finding]:
    """Masks need sites that answer for themselves, and noise to hide sums in."""
    if config.federation.engine == "simulation":
        what = f": {_WITH} needs sites that answer for themselves, got: `simulation`"
        hint = 'set `engine = "inprocess"`, or `"flare"` between organisations'
        yield about(ENGINE, what, hint, TRUST)
    if config.privacy.mechanism == "none":
        what = (
            f'{_WITH} does nothing with `mechanism = "none"`: there is no noise to '
            "share"
        )
        hint = "choose another mechanism, or remove `trust`"
        yield Finding(TRUST, what, hint, (MECHANISM,))


def presence_is_public(config: Config) -> Iterator[Finding]:
    """Membership in a masked sum is known to all, so it cannot be what is hidden."""
    budget = config.budget
    if budget.unit == "client" and budget.neighbours == "add-remove":
        yield about(
            ("budget", "neighbours"),
            f': {_WITH} with `unit = "client"` needs `replace-one`, '
            f"got: {shown(budget.neighbours)}",
            "sites sign who is in a sum, so that a site takes part is public; "
            '`neighbours = "replace-one"` protects what it holds',
            TRUST,
            UNIT,
        )


def sites_are_enough(config: Config) -> Iterator[Finding]:
    """Few sites withstand few dropouts and colluders."""
    known = number_of_sites(config)
    if known is None:
        return
    # Imported here: torch comes with it, and reading a configuration must stay light.
    from lexfed.federation.planning.choices import noise_cohort

    sites, path = known
    federation = config.federation
    try:
        noise_cohort(sites, federation.colluders, federation.dropouts)
    except ConfigError as error:
        [problem] = error.problems
        where = COLLUDERS if federation.colluders > federation.dropouts else DROPOUTS
        yield Finding(
            where if federation.colluders or federation.dropouts else TRUST,
            f"{_WITH}: {problem.what}",
            problem.hint,
            (TRUST, path, DROPOUTS, COLLUDERS),
        )


def cohort_keys_are_used(config: Config) -> Iterator[Finding]:
    """Settings of noise in shares would be ignored under other trust."""
    federation = config.federation
    needs = {"colluders": _WITH}
    if federation.engine != "flare":
        either = f'{_WITH} or `engine = "flare"`'
        needs |= {"dropouts": either, "setup_rounds": either}
    for key, wanted in needs.items():
        if federation.changes(key):
            what = f" needs {wanted}, got: {shown(config.privacy.trust)}"
            hint = f"remove it, or set {_WITH} under `[privacy]`"
            yield about(("federation", key), what, hint, TRUST, ENGINE)


def shares_are_possible(config: Config) -> Iterator[Finding]:
    """Noise in shares has needs of its own; without it, its settings do nothing."""
    if config.privacy.trust == "distributed":
        for rule in (
            shares_are_priced, sums_are_masked, presence_is_public, sites_are_enough
        ):  # fmt: skip
            yield from rule(config)
    else:
        yield from cohort_keys_are_used(config)


RULES = (shares_are_possible,)
