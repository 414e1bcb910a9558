# SPDX-License-Identifier: Apache-2.0
"""The four tiers of a column, in the order of the protection they ask for."""

from enum import IntEnum


class Tier(IntEnum):
    """The sensitivity of a column; the order is that of the cascade's towers."""

    NON_PERSONAL = 0
    PERSONAL = 1
    SPECIAL = 2
    IDENTIFIER = 3

    @property
    def label(self) -> str:
        """The name used in configuration files, claims and tables."""
        return self.name.lower()

    @classmethod
    def parse(cls, label: str) -> "Tier":
        """Return the tier of that name, or raise `ValueError`."""
        for tier in cls:
            if tier.label == label:
                return tier
        known = ", ".join(f"`{tier.label}`" for tier in cls)
        raise ValueError(f"expected one of {known}, got: `{label}`")


MODEL_TIERS = (Tier.NON_PERSONAL, Tier.PERSONAL, Tier.SPECIAL)
"""The tiers that may enter a model; identifiers never do."""
