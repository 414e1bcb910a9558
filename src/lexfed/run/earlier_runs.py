# SPDX-License-Identifier: Apache-2.0
"""Finished runs on the same persons, as far as a new run uses and pays for them.

`earlier_releases` has the releases of a bought profile or of bought importances. A run
that uses them is charged for both together
(`lexfed.budget.column_importance.remaining_budget`), and two prices add up only if they
speak of the same thing: the same person, the same label, no column in a lower tier than
now, an adversary at least as strong. These reasons belong to the guarantee; none may be
left out.

A cost is taken only from a folder that verifies, since a claim that is not the logged
one could state a lower price; a model only with the digest that was logged.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lexfed.audit.entries import CompletionEntry
from lexfed.audit.log.evidence import Evidence, read_evidence
from lexfed.audit.log.logged_files import (
    ENCODING,
    MODEL,
    PROFILE,
    read_logged,
    unreadable,
)
from lexfed.audit.verify import Status, verify_run
from lexfed.config.tables.root import Config
from lexfed.data.encoding import Encoding
from lexfed.data.schema import Schema
from lexfed.errors import AuditError, ConfigError, Problem, RunFolderError
from lexfed.law.tags import TaggedSchema
from lexfed.models import towers
from lexfed.models.towers import Model
from lexfed.plain_files import MOST_OF_A_MODEL, read_plain
from lexfed.privacy.claim.proof import load_claim
from lexfed.privacy.claim.schema import Claim, counted_releases
from lexfed.privacy.scopes import CountedRelease
from lexfed.sketch.profile.federation_profile import FederationProfile
from lexfed.tiers import Tier

_STRENGTH = {"central": 0, "distributed": 1, "local": 2}
"""Order of trusts: the less is trusted, the stronger the guarantee."""


ProfileReleaseReader = Callable[
    [Config, Path, TaggedSchema], tuple[CountedRelease, ...]
]
"""Returns the releases of a configuration's profile."""

MAKE = "make one with `lexfed profile lexfed.toml --out FOLDER`"


@dataclass(frozen=True)
class EarlierRun:
    """The folder of an earlier run, as the configuration of a new one names it.

    Attributes:
        folder: the run folder.
        key: the key of the configuration that names it, for messages.
        make: the command that makes such a folder, for messages.
    """

    folder: Path
    key: str
    make: str

    def content(self, name: str) -> bytes:
        """Return a file of the run; see `content_of`."""
        return content_of(self.folder, name, self.make)

    def problem(self, what: str) -> Problem:
        """Return a problem of the run, with the key that names it."""
        return Problem(self.key, f"`{self.folder}` {what}", self.make)


def earlier_releases(
    earlier: EarlierRun, config: Config, schema: Schema, tiers: Mapping[str, Tier]
) -> tuple[CountedRelease, ...]:
    """Return the releases of an earlier run that the run using them must pay for.

    Configuration, schema and tiers are those of the run that uses it.

    Guarantees:
        Refused unless the folder verifies, and person, label, unit, neighbours, sites
        per person, trust and tiers are such that the prices add up.

    Raises:
        ConfigError: with everything that does not fit.
        RunFolderError: if the folder does not hold a finished run.
        ClaimError: if its claim does not hold.
    """
    stated = earlier.content("claim.json")
    columns = earlier.content("encoding.json")
    for what in _unverified(earlier.folder):  # before anything that they say counts
        raise ConfigError([earlier.problem(what)])
    claim, known = load_claim(stated), Encoding.from_dict(json.loads(columns))
    wrong = list(composition_obstacle(claim, known, config, schema, tiers))
    if wrong:
        raise ConfigError([earlier.problem(what) for what in wrong])
    return counted_releases(claim.releases)


def composition_obstacle(
    claim: Claim,
    known: Encoding,
    config: Config,
    schema: Schema,
    tiers: Mapping[str, Tier],
) -> Iterator[str]:
    """Yield the reasons why the prices of an earlier run and of this one do not add up.

    `claim` and `known` columns are the earlier run's; the rest is of the new run.
    """
    yield from _unlike(claim, config)
    yield from _of_others(known.schema, schema)
    yield from _less_sensitive(known.tiers, tiers)


def _unlike(claim: Claim, config: Config) -> Iterator[str]:
    """Yield the points in which the earlier guarantee differs, or is weaker."""
    if claim.stamp and not config.run.test:
        yield "was made with seeded noise, so it is not private"
    if claim.unit != config.budget.unit:
        yield f"protects a {claim.unit}, this run a {config.budget.unit}"
    # Under replace-one the number of persons is public; an add/remove run hides it.
    if claim.neighbours == "replace-one" != config.budget.neighbours:
        yield "was made under `replace-one`, which tells the number of persons"
    if claim.sites_per_person != config.data.sites_per_person:
        yield (
            f"counts a person at {claim.sites_per_person} site(s), this run at "
            f"{config.data.sites_per_person}"
        )
    trust = config.privacy.trust
    if _STRENGTH[claim.trust] < _STRENGTH[trust]:
        yield f'was made with `trust = "{claim.trust}"`, and this run has "{trust}"'
    colluders = None if claim.cohort is None else claim.cohort.colluders
    if colluders is not None and colluders < config.federation.colluders:
        yield f"withstands {colluders} colluding sites only"


def _of_others(before: Schema, now: Schema) -> Iterator[str]:
    """Yield a difference of the person or of the label."""
    if before.person != now.person:
        own, other = _named(now.person), _named(before.person)
        yield f"takes {other} for a person, this run {own}"
    if before.target != now.target:
        yield f"has the label `{before.target}`, this run `{now.target}`"


def _named(person: str | None) -> str:
    return "each row" if person is None else f"`{person}`"


def _less_sensitive(
    before: Mapping[str, Tier], now: Mapping[str, Tier]
) -> Iterator[str]:
    """Yield the columns that were read at the price of a tier below their own."""
    for name in before.keys() & now.keys():
        if before[name] < now[name]:
            yield (
                f"has `{name}` in the tier {before[name].label}, and it is "
                f"{now[name].label} now"
            )


def _unverified(folder: Path) -> Iterator[str]:
    failed = [
        check
        for check in verify_run(folder, None, None).checks
        if check.status is Status.FAIL
    ]
    if failed:
        yield f"does not verify: {failed[0]}"


def content_of(folder: Path, name: str, make: str) -> bytes:
    """Return a file of a finished run; a missing one is a `RunFolderError`."""
    try:
        return read_plain(folder / name, MOST_OF_A_MODEL)
    except OSError as error:
        what = f"`{folder}` holds no finished run: there is no `{name}`"
        raise RunFolderError(what, make) from error


def profile_releases(
    config: Config, base: Path, tagged: TaggedSchema
) -> tuple[CountedRelease, ...]:
    """Return the releases of a configuration's profile; none without a profile.

    Paths in the configuration are relative to `base`.

    Raises:
        ConfigError: if its price and that of the run do not add up, or its folder does
            not verify.
        RunFolderError: if there is no finished profile.
        ClaimError, DataError: if its claim does not hold, or it is damaged.
    """
    if config.data.profile is None:
        return ()
    folder = base / config.data.profile
    read_profile(folder)
    earlier = EarlierRun(folder, "`data.profile`", MAKE)
    return earlier_releases(earlier, config, tagged.schema, tagged.tiers())


def read_profile(folder: Path) -> FederationProfile:
    """Return the profile that a run has written; a damaged one is a `DataError`."""
    return FederationProfile.from_bytes(
        content_of(folder, PROFILE, MAKE), str(folder / PROFILE)
    )


def released_model(folder: Path, make: str) -> tuple[Model, Encoding]:
    """Return the model of a finished run, and the encoding of its inputs.

    `make` is the command that makes such a folder, for messages.

    Guarantees:
        Both have the digests that signed entries of the run's log name. Without
        privacy the log has no digest of the model, so that the encoding alone is
        compared.

    Raises:
        RunFolderError: if the folder holds no finished run.
        AuditError: if its log is not sound, or a file is not the one that was logged.
    """
    if not (folder / "log").is_dir():
        raise RunFolderError(f"`{folder}` holds no trained model", make)
    evidence = read_evidence(folder)
    ends = evidence.of(CompletionEntry)
    encoding = read_logged(evidence, ENCODING)
    content = _model(evidence, ends[-1].entry) if ends else None
    if content is None or encoding is None:
        raise RunFolderError(f"`{folder}` holds no trained model", make)
    try:
        model, _, _ = towers.from_bytes(content)
        return model, Encoding.from_dict(json.loads(encoding))
    except Exception as error:  # the bytes may be anybody's
        raise AuditError(
            f"`{folder}` holds no model that can be read: it is damaged"
        ) from error


def _model(evidence: Evidence, end: CompletionEntry) -> bytes | None:
    if end.model is not None:
        return read_logged(evidence, MODEL)
    try:
        return read_plain(evidence.folder / MODEL, MOST_OF_A_MODEL)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(evidence.folder / MODEL, error) from error
