# SPDX-License-Identifier: Apache-2.0
"""Every column with its tier, the articles that apply, and the reason on record."""

from dataclasses import dataclass, replace

from lexfed.law.tags import Tag, TaggedSchema
from lexfed.report.wording.plain_words import TIERS, tier_name
from lexfed.report.wording.rounding import count


@dataclass(frozen=True)
class ColumnRow:
    """One column with its tag, as printed.

    Attributes:
        use: its part in the model, if any.
        by: the tag's author: a rule, a person or the generator of synthetic data.
        sources: columns it is made from, whose tier it inherits.
        proposed: the proposal of the tagger or the source, if a person decided
            otherwise.
    """

    name: str
    tier: str
    use: str
    category: str
    articles: tuple[str, ...]
    reason: str
    by: str
    sources: tuple[str, ...]
    proposed: str = ""


def column_rows(tagged: TaggedSchema) -> tuple[ColumnRow, ...]:
    """Return every declared column, most sensitive first, in declared order."""
    tiers = tagged.tiers()
    features = {column.name for column in tagged.features()}
    order = {tier: place for place, tier in enumerate(("identifier", *TIERS))}
    rows = []
    for column in tagged.schema.columns:
        tag = tagged.tags.get(column.name)
        rows.append(
            ColumnRow(
                name=column.name,
                tier=tiers[column.name].label,
                use=_use(tagged, column.name, features),
                category="" if tag is None else tag.category,
                articles=()
                if tag is None
                else tuple(each.reference for each in tag.obligations),
                reason="inherits from its sources" if tag is None else tag.reason,
                by="" if tag is None else tag.by,
                sources=column.sources,
                proposed=_proposed(tag),
            )
        )
    rows.sort(key=lambda row: order[row.tier])
    return tuple(replace(row, tier=tier_name(row.tier)) for row in rows)


def _proposed(tag: Tag | None) -> str:
    if tag is None or tag.proposal is None or not tag.overrules:
        return ""
    proposal = tag.proposal
    proposer = "the tagger" if proposal.by == "rule" else "the source"
    return f"{proposer} proposed {tier_name(proposal.tier.label)}, {proposal.category}"


def column_count(tagged: TaggedSchema | None) -> str:
    """Return the sentence with the numbers of all columns and of the model's."""
    if tagged is None:
        return ""
    declared = count(len(tagged.schema.columns), "column")
    return f"{declared} declared, {len(tagged.features())} of them inputs of the model"


def _use(tagged: TaggedSchema, name: str, features: set[str]) -> str:
    schema = tagged.schema
    if name == schema.target:
        return "target"
    if name == schema.person:
        return "names the person"
    if name == schema.site:
        return "names the site"
    return "input" if name in features else "not used"
