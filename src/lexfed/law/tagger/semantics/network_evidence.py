# SPDX-License-Identifier: Apache-2.0
"""Evidence of the semantic network about columns, as one more witness.

The network is asked once for all tables. It is loaded, with NumPy, when the first
column is tagged; where its share is nothing it is not loaded at all.
"""

from collections.abc import Mapping, Sequence
from math import log

from lexfed.law.tagger.settings import TaggerSettings
from lexfed.law.tagger.suggestions import CATEGORIES, TIER_OF, TagEvidence
from lexfed.law.tagger.words.table_readings import TableReading

_MOST = 6.0
"""The log-odds at which the network's evidence is cut off."""


def network_probabilities(
    tables: Sequence[TableReading], settings: TaggerSettings
) -> dict[int, Mapping[str, float]]:
    """Return the probabilities of the categories, by the place of each column.

    Empty if the network has no share.

    Raises:
        ConfigError: if the files of the network are missing or damaged.
    """
    if settings.alpha == 1.0 or not tables:
        return {}
    from lexfed.law.tagger.semantics.network import category_probabilities

    places = [place for table in tables for place in table.places]
    rows = category_probabilities(tables).tolist()
    return {
        place: dict(zip(CATEGORIES, row, strict=True))
        for place, row in zip(places, rows, strict=True)
    }


def evidence_of_network(chances: Mapping[str, float], readable: bool) -> TagEvidence:
    """Return the network's likeliest category as evidence.

    Where no word of name or description is `readable`, the network knows little but
    the neighbours, and the sentence says so.
    """
    best = max(CATEGORIES, key=lambda category: chances[category])
    chance = min(max(chances[best], 1e-6), 1.0 - 1e-6)
    weight = min(_MOST, log(chance / (1.0 - chance)))
    alike = (
        "names and descriptions that mean about the same"
        if readable
        else "nothing is known of the name, but columns beside such neighbours"
    )
    return TagEvidence(
        "semantics", TIER_OF[best], best, weight, f"{alike} are mostly {best}"
    )
