# SPDX-License-Identifier: Apache-2.0
"""Do the logged tags, the encoding and the claim speak of the same columns?"""

from typing import Any

from lexfed.audit import strict_json
from lexfed.audit.entries import Completed, FeatureTags
from lexfed.audit.evidence import Evidence
from lexfed.audit.verify.outcome import Remark, Unsound
from lexfed.audit.verify.plan import read_plan
from lexfed.canonical import digest
from lexfed.data.encode import Encoding
from lexfed.errors import ConfigError
from lexfed.law.tags import TaggedSchema
from lexfed.privacy.attributes import tier_releases
from lexfed.tiers import Tier


def feature_tags(evidence: Evidence) -> str | Remark:
    """Every column has a tag and a tier, and the counts and inputs follow from them.

    Guarantees:
        The encoding uses the tiers of the tags.
        Every tier that the model reads has a price in the plan.
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
    if digest(sorted(encoding.columns)) != entry.inputs:
        raise Unsound("`inputs` does not follow from the encoding", index)
    tiers = tagged.tiers()
    for name in encoding.columns:
        if encoding.tiers[name] != tiers.get(name):
            raise Unsound("the encoding has another tier than the tags", index)
    _priced(evidence, encoding)
    _claimed(evidence, encoding)
    listed = ", ".join(f"{count} {name}" for name, count in counts.items())
    return f"{sum(counts.values())} columns ({listed}), {len(encoding.columns)} used"


def _json(evidence: Evidence, blob: str) -> Any:
    return strict_json.loads(evidence.blobs.get(blob))


def _priced(evidence: Evidence, encoding: Encoding) -> None:
    planned = read_plan(evidence)
    if planned is None:
        return
    for tier in encoding.model_tiers:
        read = tier_releases(planned.releases, tier)
        if read and tier.label not in planned.plan.tiers:
            raise Unsound(
                f"tier `{tier.label}` is read and has no price", planned.index
            )


def _claimed(evidence: Evidence, encoding: Encoding) -> None:
    for found in evidence.of(Completed):
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
