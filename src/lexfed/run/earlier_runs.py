# SPDX-License-Identifier: Apache-2.0
"""Finished runs on the same persons, as far as a new run uses and pays for them.

A run that uses a bought profile or bought importances is charged for both together
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
from typing import TYPE_CHECKING

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
from lexfed.counted_words import counted
from lexfed.data.encoding import Encoding
from lexfed.data.schema import Schema
from lexfed.errors import AuditError, ConfigError, Problem, RunFolderError
from lexfed.law.tags import TaggedSchema
from lexfed.plain_files import MOST_OF_A_MODEL, read_plain
from lexfed.privacy.claim.proof import load_claim
from lexfed.privacy.claim.schema import Claim, counted_releases
from lexfed.privacy.scopes import CountedRelease
from lexfed.sketch.profile.federation_profile import FederationProfile
from lexfed.tiers import Tier

if TYPE_CHECKING:
    from lexfed.models.towers import Model

_STRENGTH = {"central": 0, "distributed": 1, "local": 2}
"""Order of trusts: the less is trusted, the stronger the guarantee."""

ProfileReleaseReader = Callable[
    [Config, Path, TaggedSchema], tuple[CountedRelease, ...]
]
"""Returns the releases of a configuration's profile."""

MAKE = "make one with `lexfed profile lexfed.toml --out FOLDER`"


@dataclass(frozen=True)
class EarlierRun:
    """An earlier run's folder, the `key` that names it, the command to `make` one."""

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
    """
    stated = earlier.content("claim.json")
    columns = earlier.content("encoding.json")
    for check in verify_run(earlier.folder, None, None).checks:
        if check.status is Status.FAIL:  # before anything that they say counts
            raise ConfigError([earlier.problem(f"does not verify: {check}")])
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

    `claim` and `known` columns are the earlier run's.
    """
    yield from _unlike(claim, config)
    before = known.schema
    if before.person != schema.person:
        own, other = _named(schema.person), _named(before.person)
        yield f"takes {other} for a person, this run {own}"
    if before.target != schema.target:
        yield f"has the label `{before.target}`, this run `{schema.target}`"
    for name in known.tiers.keys() & tiers.keys():
        if known.tiers[name] < tiers[name]:
            yield (
                f"has `{name}` in the tier {known.tiers[name].label}, and it is "
                f"{tiers[name].label} now"
            )


def _unlike(claim: Claim, config: Config) -> Iterator[str]:
    if claim.stamp and not config.run.test:
        yield "was made with seeded noise, so it is not private"
    if claim.unit != config.budget.unit:
        yield f"protects a {claim.unit}, this run a {config.budget.unit}"
    # Under replace-one the number of persons is public; an add/remove run hides it.
    if claim.neighbours == "replace-one" != config.budget.neighbours:
        yield "was made under `replace-one`, which tells the number of people"
    if claim.sites_per_person != config.data.sites_per_person:
        yield (
            f"counts a person at {counted(claim.sites_per_person, 'site')}, this run "
            f"at {config.data.sites_per_person}"
        )
    trust = config.privacy.trust
    if _STRENGTH[claim.trust] < _STRENGTH[trust]:
        yield f'was made with `trust = "{claim.trust}"`, and this run has "{trust}"'
    colluders = None if claim.cohort is None else claim.cohort.colluders
    if colluders is not None and colluders < config.federation.colluders:
        yield f"withstands {colluders} colluding sites only"


def _named(person: str | None) -> str:
    return "each row" if person is None else f"`{person}`"


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
    """Return the releases of a configuration's profile; none without a profile."""
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


def released_model(folder: Path, make: str) -> "tuple[Model, Encoding]":
    """Return the model of a finished run, and the encoding of its inputs.

    `make` is the command that makes such a folder, for messages. A file that is not the
    one that was logged is an `AuditError`.

    Guarantees:
        Both have the digests that signed entries of the run's log name. Without
        privacy the log has no digest of the model, so that the encoding alone is
        compared.
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
        from lexfed.models import towers

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
