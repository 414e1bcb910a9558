# SPDX-License-Identifier: Apache-2.0
"""The statement of a site about itself, and its checks by readers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lexfed.audit.entries.fields import decimal
from lexfed.canonical import digest
from lexfed.config.tables.root import Config
from lexfed.data.schema import Schema
from lexfed.errors import AuditError, ConfigError, Problem
from lexfed.law.tags import Tag, TaggedSchema
from lexfed.run.audit_log.logbook import by_label, name_of
from lexfed.run.deployed.terms.bundle import Bundle
from lexfed.run.deployed.terms.site_rules import OwnRules
from lexfed.run.deployed.wire.messages import SiteStatement, UnitCounts, unseal
from lexfed.run.pricing.site_budgets import SiteLimits
from lexfed.signing.strict_text import decode_base64, encode_base64
from lexfed.tiers import Tier
from lexfed.version import __version__


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

    `units` are its persons for training and for testing, `public` is the key of its
    receipts.

    Raises:
        ConfigError: if a rule of the site speaks of a column that is not there.
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

    `sealed` has the signed statements about the terms of a bundle, `roster`
    everybody's public keys.

    Guarantees:
        There is exactly one statement of every site of the configuration, signed with
        its key in the roster, for this run and this configuration, and it names the
        same key.

    Raises:
        AuditError: naming the first site whose statement is not so.
    """
    found = []
    for name in bundle.sites:
        if name not in sealed or name not in roster:
            raise AuditError(f"there is no statement of site `{name}`")
        said = unseal("statement", sealed[name], SiteStatement, roster[name])
        wanted = {
            "run": run,
            "name": name,
            "terms": bundle.digest,
            "key": roster[name].hex(),
            "software": f"lexfed-{__version__}",
        }
        for field, value in wanted.items():
            if getattr(said, field) != value:
                raise AuditError(
                    f"statement of site `{name}`: `{field}` is not that of this run",
                    "all must run the same version of lexfed"
                    if field == "software"
                    else "ask the sites again",
                )
        if (said.units is None) == may_count(bundle.config):
            raise AuditError(f"statement of site `{name}`: `units` does not fit")
        found.append(said)
    return tuple(found)


def strictest_tags(
    tagged: TaggedSchema, statements: Sequence[SiteStatement]
) -> TaggedSchema:
    """Return the tags with the most sensitive tier that any site states.

    Raises:
        AuditError: if a site states other columns, or a tier below the configuration's.
    """
    schema = declaration_digest(tagged.schema)
    tags = dict(tagged.tags)
    for said in statements:
        if said.declared != schema or said.tiers.keys() != tags.keys():
            raise AuditError(f"statement of site `{said.name}`: other columns")
        for column, label in said.tiers.items():
            tier = Tier.parse(label)
            if tier < tagged.tags[column].tier:
                raise AuditError(
                    f"statement of site `{said.name}`: column `{column}` is less "
                    "sensitive than the configuration says"
                )
            if tier > tags[column].tier:
                tags[column] = _raised(tags[column], tier)
    return TaggedSchema(tagged.schema, tags, tagged.asked)


def _raised(tag: Tag, tier: Tier) -> Tag:
    """Return a tag as the strictest site has it."""
    why = f"a site holds it to be {tier.label}; before: {tag.reason}"
    return replace(tag, tier=tier, reason=why, by="person")


def packed_statements(
    sealed: Mapping[str, bytes], names: Sequence[str]
) -> tuple[str, ...]:
    """Return signed statements as an offer holds them."""
    return tuple(encode_base64(sealed[name]) for name in names)


def unpacked_statements(texts: Sequence[str], names: Sequence[str]) -> dict[str, bytes]:
    """Return the signed statements of an offer, by name.

    Raises:
        AuditError: if there are more or fewer than sites.
    """
    if len(texts) != len(names):
        raise AuditError("offer: not one statement of every site")
    contents = [decode_base64(text, "offer: statement") for text in texts]
    return dict(zip(names, contents, strict=True))
