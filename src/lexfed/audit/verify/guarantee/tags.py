# SPDX-License-Identifier: Apache-2.0
"""Do the logged tags, the encoding and the claim speak of the same columns?"""

from itertools import combinations
from typing import Any

from lexfed.audit.entries import CompletionEntry, FeatureTags
from lexfed.audit.log.evidence import Evidence
from lexfed.audit.verify.guarantee.plan_price import read_plan
from lexfed.audit.verify.verdict import Remark, Unsound
from lexfed.canonical import digest
from lexfed.data.encoding import Encoding
from lexfed.errors import ConfigError
from lexfed.law.tags import TaggedSchema
from lexfed.signing import strict_json
from lexfed.tiers import Tier


def feature_tags(evidence: Evidence) -> str | Remark:
    """Every column has a tag and a tier, and the counts and inputs follow from them.

    Guarantees:
        The encoding uses the tiers of the tags.
        What enters the model are the columns of the tiers that the plan prices.
        The columns of a tier in the claim are those of the encoding.
    """
    found = evidence.of(FeatureTags)
    if not found:
        return Remark("no tags are logged yet")
    entry, index = found[0].entry, found[0].index
    try:
        tagged = TaggedSchema.from_dict(_json(evidence, entry.tags))
        encoding = Encoding.from_dict(_json(evidence, entry.encoding))
    except (ConfigError, ValueError, TypeError, AttributeError) as error:
        raise Unsound(f"tags or encoding cannot be read: {error}", index) from error
    counts = {t.label: len(tagged.columns_in(t)) for t in Tier if tagged.columns_in(t)}
    if {name: count for name, count in entry.columns.items() if count} != counts:
        raise Unsound("`columns` does not follow from the tags", index)
    used = _used(evidence, encoding, entry.inputs)
    if used is None:
        raise Unsound("`inputs` is not the columns of the tiers that are priced", index)
    tiers = tagged.tiers()
    for name in encoding.columns:
        if encoding.tiers[name] != tiers.get(name):
            raise Unsound("the encoding has another tier than the tags", index)
    _claimed(evidence, encoding)
    listed = ", ".join(f"{count} {name}" for name, count in counts.items())
    return f"{sum(counts.values())} columns ({listed}), {used} enter the model"


def _json(evidence: Evidence, blob: str) -> Any:
    return strict_json.loads(evidence.blobs.get(blob))


def _used(evidence: Evidence, encoding: Encoding, inputs: str) -> int | None:
    """Return the number of columns in the model; None if they are not these.

    A tier that its budget would drown in noise is left out, all of its columns. The
    tiers that are in have a price; without privacy nothing has, and any of them may
    be in.
    """
    planned = read_plan(evidence)
    if planned is not None:
        priced = [Tier.parse(name) for name in planned.plan.tiers]
        choices = [tuple(tier for tier in encoding.model_tiers if tier in priced)]
    else:
        sizes = range(len(encoding.model_tiers) + 1)
        choices = [c for n in sizes for c in combinations(encoding.model_tiers, n)]
    for tiers in choices:
        columns = [name for tier in tiers for name in encoding.columns_of(tier)]
        if digest(sorted(columns)) == inputs:
            return len(columns)
    return None


def _claimed(evidence: Evidence, encoding: Encoding) -> None:
    for found in evidence.of(CompletionEntry):
        if found.entry.claim is None:
            continue
        tiers = _json(evidence, found.entry.claim)["tiers"]
        for name, claimed in tiers.items():
            columns = list(encoding.columns_of(Tier.parse(name)))
            if claimed["columns"] != columns:
                raise Unsound(
                    f"the claim lists other columns of tier `{name}` than the encoding",
                    found.index,
                )
