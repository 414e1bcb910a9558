# SPDX-License-Identifier: Apache-2.0
"""Consents: configurations that the people of a site agreed to, each for one run.

    KIT/state/consents.json   {"consents": {digest of the terms: run, or null}}

A coordinator could otherwise run the same configuration a hundred times: every run
spends its budget again. So a consent names the digest of configuration and files, and
the first run that comes with them takes it. A profile has another digest than training.
"""

import json
from pathlib import Path

from pydantic import ValidationError

from lexfed.audit.entries.fields import ClosedModel, Digest
from lexfed.config.declarations import tagged_schema_of
from lexfed.config.tables.root import Config
from lexfed.counted_words import counted
from lexfed.data.encoding import build_encoding
from lexfed.durable import write_atomically
from lexfed.errors import AuditError, ConfigError, Problem, RunFolderError
from lexfed.federation.flare.kit.folder import Kit
from lexfed.federation.planning.choices import noise_cohort
from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain
from lexfed.privacy.accountants import gdp
from lexfed.privacy.scopes import up
from lexfed.run.deployed.site.own_profiles import OwnProfiles
from lexfed.run.deployed.site.run_state import SiteLock
from lexfed.run.deployed.terms.bundle import Bundle, require_weights
from lexfed.run.deployed.terms.site_statements import OwnRules
from lexfed.signing.strict_text import parse_json
from lexfed.tiers import MODEL_TIERS, Tier

_FILE = "consents.json"
_LOCK = "consents.lock"


class _File(ClosedModel):
    consents: dict[Digest, Digest | None]


def give_consent(kit: Kit, config_path: Path, profile: float | None = None) -> str:
    """Agree to one run of a configuration; return the digest that was agreed to.

    Agreeing again allows another run. `profile` is its price; None for training.
    """
    bundle = _checked(kit, config_path, profile)
    with SiteLock(kit, _LOCK):
        _write(kit, {**_read(kit), bundle.digest: None})
    return bundle.digest


def cost_in_words(
    kit: Kit, config_path: Path, profile: float | None = None
) -> tuple[str, ...]:
    """Return the cost of a configuration to a site, for those who decide."""
    bundle = _checked(kit, config_path, profile)
    config, rules = bundle.config, OwnRules.read(kit)
    tagged = tagged_schema_of(config, base=config_path.parent)
    own = {name: tag.tier for name, tag in tagged.tags.items()}
    tiers = {n: max(tier, rules.tiers.get(n, tier)) for n, tier in own.items()}
    sites = ", ".join(bundle.sites)
    lines = [
        f"run `{bundle.name}` with {counted(len(bundle.sites), 'site')}: {sites}",
        f"digest {bundle.digest}",
        *_tells(bundle),
    ]
    before = OwnProfiles(kit).claim(config, config_path.parent)
    if before is not None:
        lines.append(
            f"it uses a profile that cost epsilon {before.epsilon:g}; what follows is "
            "for both together"
        )
    lines += [*_spends(bundle, rules), *_leaves(config, len(bundle.sites))]
    lines += [
        f"{tier.label}: {', '.join(names)}"
        for tier in reversed(Tier)
        if (names := [name for name, its in tiers.items() if its == tier])
    ]
    return (*lines, "the consent is for one run; another run asks again")


def has_consent(kit: Kit, terms: str, run: str) -> bool:
    """Say whether people agreed to these terms, and no other run came with them."""
    known = _read(kit)
    return terms in known and known[terms] in (None, run)


def take_consent(kit: Kit, terms: str, run: str) -> None:
    """Let a run have the consent; on return it is on disk."""
    with SiteLock(kit, _LOCK):
        known = _read(kit)
        if known.get(terms) != run:
            _write(kit, {**known, terms: run})


def _checked(kit: Kit, path: Path, profile: float | None) -> Bundle:
    bundle = Bundle.read(path, profile=profile)
    if kit.name not in bundle.sites:
        what = f"site `{kit.name}` is not among the sites of this run"
        hint = "nothing to consent to: nobody can ask it for anything"
        raise ConfigError([Problem("`data.sites.files`", what, hint)])
    OwnProfiles(kit).claim(bundle.config, path.parent)  # refuses what is not known here
    tagged = tagged_schema_of(bundle.config, base=path.parent)
    require_weights(bundle.config, build_encoding(tagged.schema, tagged.tiers()))
    return bundle


def _tells(bundle: Bundle) -> list[str]:
    if bundle.profile is None:
        return []
    lines = ["a PROFILE: no model; ranges, counts of values and missing values"]
    if bundle.opened.columns:
        lines.append(f"sought, since open: {', '.join(bundle.opened.columns)}")
    if bundle.config.data.person is not None:
        lines.append("it may tell how many people the sites share")
    return lines


def _spends(bundle: Bundle, rules: OwnRules) -> list[str]:
    config = bundle.config
    budget, limits = config.budget, rules.limits
    # Every cap of a profile counts by the same part as its epsilon.
    epsilon = budget.epsilon if bundle.profile is None else bundle.profile
    part = epsilon / budget.epsilon
    if config.privacy.mechanism == "none":
        return ["NOT PRIVATE: no noise is added, so what it tells has no bound"]
    lines = []
    if config.run.test:
        lines.append(
            "NOT PRIVATE: noise is seeded, so whoever knows the seed removes it"
        )
    whom = "person" if budget.unit == "record" else "site"
    least = min(epsilon, limits.epsilon or epsilon)
    lines.append(
        f"at most epsilon {least:g} at delta {budget.delta:g} about the whole record "
        f"of one {whom} ({budget.neighbours})"
    )
    for tier in MODEL_TIERS:
        stated = getattr(budget.caps, tier.label)
        whole = None if stated is None else part * stated
        caps = [cap for cap in (whole, limits.caps.get(tier)) if cap is not None]
        if caps:
            lines.append(f"at most epsilon {min(caps):g} about {tier.label} columns")
    lines.append(_of_label(config, least))
    return lines


def _of_label(config: Config, epsilon: float) -> str:
    """State the cost to the label, whose tier has no say in it.

    The number holds for Gaussians without sampling: with a record's budget under
    add/remove mu is at most that of the budget, and a replacement moves twice as far.
    """
    budget, target = config.budget, config.data.target
    words = f"about the label `{target}`, which no cap binds"
    if budget.neighbours == "replace-one":
        return f"at most epsilon {epsilon:g} {words}"
    exact = config.privacy.accountant != "rdp"
    if exact and config.federation.sampling_rate == 1.0:
        mu = gdp.mu_from(epsilon, budget.delta)
        replaced = up(gdp.epsilon_from(2.0 * mu, budget.delta), digits=4)
        return f"at most epsilon {replaced:g} {words}"
    return f"more than that {words}: what replacing the whole record costs"


def _leaves(config: Config, sites: int) -> list[str]:
    federation, trust = config.federation, config.privacy.trust
    lines = [_LEAVES[trust]]
    if trust == "distributed":
        cohort = noise_cohort(sites, federation.colluders, federation.dropouts)
        lines.append(f"it is assumed: {cohort}")
    return lines


_LEAVES = {
    "central": "the coordinator sees this site's sums without noise, and adds it",
    "local": "this site adds all the noise before its sums leave",
    "distributed": "sums leave masked, with this site's share of the noise; nobody "
    "sees them alone",
}


def _read(kit: Kit) -> dict[str, str | None]:
    path = kit.state / _FILE
    try:
        content = read_plain(path, MOST_OF_A_DOCUMENT)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise RunFolderError(f"cannot read `{path}`") from error
    try:
        parse_json(content)
        return dict(_File.model_validate_json(content).consents)
    except (AuditError, ValidationError) as error:
        raise RunFolderError(
            f"`{path}` is damaged", "consent again: `lexfed site consent`"
        ) from error


def _write(kit: Kit, consents: dict[str, str | None]) -> None:
    try:
        kit.state.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise RunFolderError(f"cannot write `{kit.state}`") from error
    text = json.dumps({"consents": consents}, indent=2, sort_keys=True) + "\n"
    write_atomically(kit.state / _FILE, text.encode())
