# SPDX-License-Identifier: Apache-2.0
"""A site's own rules, its statement about itself, and the checks of its readers.

    KIT/tags.toml   [columns]
                    postcode = { tier = "special", reason = "three houses each" }

    KIT/site.toml   [budget]
                    epsilon = 2.0
                    caps = { special = 0.5 }
                    [ledger]
                    file = "ledgers/patients.ledger"
                    data_set = "patients"

Both files may be left out. A site can be stricter than a configuration, never looser:
of two tiers the more sensitive counts, of two budgets the smaller. Nothing of the rules
comes over the network.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from pydantic import Field, ValidationError

from lexfed.audit.entries.fields import decimal
from lexfed.canonical import digest
from lexfed.config.tables.budget import CapsTable
from lexfed.config.tables.field_types import ConfigTable, NonEmptyText, Positive
from lexfed.config.tables.root import Config, LawColumnTable
from lexfed.config.text.findings import hidden_in
from lexfed.data.schema import Schema
from lexfed.errors import AuditError, ConfigError, Problem
from lexfed.federation.flare.kit.folder import Kit
from lexfed.law.tags import TaggedSchema
from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain
from lexfed.run.audit_log.logbook import by_label, name_of
from lexfed.run.deployed.signed_messages import SiteStatement, UnitCounts, unseal
from lexfed.run.deployed.terms.bundle import Bundle
from lexfed.run.pricing.site_budgets import SiteLimits, by_tier
from lexfed.signing.strict_text import decode_base64, encode_base64
from lexfed.tiers import Tier
from lexfed.toml_text import parse_toml
from lexfed.version import __version__


class _BudgetTable(ConfigTable):
    epsilon: Positive | None = None
    caps: CapsTable = CapsTable()


class _LedgerTable(ConfigTable):
    file: NonEmptyText | None = None
    data_set: NonEmptyText | None = None


class _SiteFile(ConfigTable):
    budget: _BudgetTable = _BudgetTable()
    ledger: _LedgerTable = _LedgerTable()


class _TagsFile(ConfigTable):
    columns: Mapping[NonEmptyText, LawColumnTable] = Field(default_factory=dict)


@dataclass(frozen=True)
class OwnRules:
    """Rules of one site that hold under every configuration.

    `tiers` are the least of columns, `limits` those on one run. The file `ledger`
    counts everything ever spent on the data, named `data_set`, or like their file.
    """

    tiers: Mapping[str, Tier]
    limits: SiteLimits
    ledger: Path
    data_set: str | None

    @classmethod
    def read(cls, kit: Kit) -> "OwnRules":
        """Read the site's own files; a `ConfigError` names what is not understood."""
        site = _parsed(_SiteFile, kit.folder / "site.toml")
        tags = _parsed(_TagsFile, kit.folder / "tags.toml")
        file = site.ledger.file
        return cls(
            tiers={name: tag.as_tier for name, tag in tags.columns.items()},
            limits=SiteLimits(site.budget.epsilon, by_tier(site.budget.caps)),
            ledger=kit.state / "lasting.ledger" if file is None else kit.folder / file,
            data_set=site.ledger.data_set,
        )


_File = TypeVar("_File", bound=ConfigTable)


def _parsed(kind: type[_File], path: Path) -> _File:
    """Read a file strictly; one that is not there is empty."""
    try:
        tables = parse_toml(read_plain(path, MOST_OF_A_DOCUMENT, links=True).decode())
    except FileNotFoundError:
        tables = {}
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError([Problem(str(path), "cannot be read as TOML")]) from error
    hidden = list(hidden_in(tables))
    if hidden:
        raise ConfigError([Problem(str(path), f.what, f.hint) for f in hidden])
    try:
        return kind.model_validate(tables)
    except ValidationError as error:
        problems = [
            Problem(f"{path}: `{'.'.join(map(str, one['loc']))}`", one["msg"].lower())
            for one in error.errors(include_url=False, include_input=False)
        ]
        raise ConfigError(problems) from error


def may_count(config: Config) -> bool:
    """Return True if a site's number of persons is the same for neighbours.

    Under add/remove it is private; a client's size is part of the client's data.
    """
    budget = config.budget
    return budget.unit == "record" and budget.neighbours == "replace-one"


def site_statement(
    bundle: Bundle,
    run: str,
    name: str,
    tagged: TaggedSchema,
    rules: OwnRules,
    units: tuple[int, int],
    public: bytes,
) -> SiteStatement:
    """Return a site's statement about itself.

    `units` are its persons for training and for testing; `public` checks its receipts.
    """
    config, own = bundle.config, {n: tag.tier for n, tag in tagged.tags.items()}
    strangers = [column for column in rules.tiers if column not in own]
    if strangers:
        raise ConfigError(
            [Problem("tags.toml", f"no column `{n}` is declared") for n in strangers]
        )
    tiers = {
        column: name_of(max(tier, rules.tiers.get(column, tier)))
        for column, tier in own.items()
    }
    limits = rules.limits
    return SiteStatement(
        run=run,
        name=name,
        terms=bundle.digest,
        declared=declaration_digest(tagged.schema),
        tiers=tiers,
        units=UnitCounts(train=units[0], test=units[1]) if may_count(config) else None,
        key=public.hex(),
        software=f"lexfed-{__version__}",
        epsilon=None if limits.epsilon is None else decimal(limits.epsilon),
        caps=by_label(limits.caps),
    )


def declaration_digest(schema: Schema) -> str:
    """Return the digest of the declared columns."""
    return digest(schema.to_dict())


def limits_of(statement: SiteStatement) -> SiteLimits:
    """Return the limits on spending that a site stated."""
    epsilon = statement.epsilon
    return SiteLimits(
        None if epsilon is None else float(epsilon),
        {Tier.parse(name): float(cap) for name, cap in statement.caps.items()},
    )


def read_statements(
    sealed: Mapping[str, bytes], bundle: Bundle, run: str, roster: Mapping[str, bytes]
) -> tuple[SiteStatement, ...]:
    """Return the statements of all sites, in the order of the programme.

    `sealed` has the signed statements about the terms of a bundle, `roster` everybody's
    public keys. An `AuditError` names the first site whose statement is not as it must
    be.

    Guarantees:
        There is exactly one statement of every site of the configuration, signed with
        its key in the roster, for this run and this configuration, and it names the
        same key.
    """
    statements = []
    for name in bundle.sites:
        if name not in sealed or name not in roster:
            raise AuditError(f"there is no statement of site `{name}`")
        statement = unseal("statement", sealed[name], SiteStatement, roster[name])
        expected = {
            "run": run,
            "name": name,
            "terms": bundle.digest,
            "key": roster[name].hex(),
            "software": f"lexfed-{__version__}",
        }
        for field, value in expected.items():
            if getattr(statement, field) != value:
                raise AuditError(
                    f"statement of site `{name}`: `{field}` is not that of this run",
                    "all must run the same version of lexfed"
                    if field == "software"
                    else "ask the sites again",
                )
        if (statement.units is None) == may_count(bundle.config):
            raise AuditError(f"statement of site `{name}`: `units` does not fit")
        statements.append(statement)
    return tuple(statements)


def strictest_tags(
    tagged: TaggedSchema, statements: Sequence[SiteStatement]
) -> TaggedSchema:
    """Return the tags with the most sensitive tier that any site states."""
    schema = declaration_digest(tagged.schema)
    tags = dict(tagged.tags)
    for statement in statements:
        if statement.declared != schema or statement.tiers.keys() != tags.keys():
            raise AuditError(f"statement of site `{statement.name}`: other columns")
        for column, label in statement.tiers.items():
            tier = Tier.parse(label)
            if tier < tagged.tags[column].tier:
                raise AuditError(
                    f"statement of site `{statement.name}`: column `{column}` is less "
                    "sensitive than the configuration says"
                )
            tag = tags[column]
            if tier > tag.tier:
                why = f"a site holds it to be {tier.label}; before: {tag.reason}"
                tags[column] = replace(tag, tier=tier, reason=why, by="person")
    return TaggedSchema(tagged.schema, tags, tagged.asked)


def packed_statements(
    sealed: Mapping[str, bytes], names: Sequence[str]
) -> tuple[str, ...]:
    """Return signed statements as an offer holds them."""
    return tuple(encode_base64(sealed[name]) for name in names)


def unpacked_statements(texts: Sequence[str], names: Sequence[str]) -> dict[str, bytes]:
    """Return the signed statements of an offer, by name: exactly one of each site."""
    if len(texts) != len(names):
        raise AuditError("offer: not one statement of every site")
    contents = [decode_base64(text, "offer: statement") for text in texts]
    return dict(zip(names, contents, strict=True))
