# SPDX-License-Identifier: Apache-2.0
"""A site's own rules for every configuration: stricter tags, limits, a ledger.

    KIT/tags.toml   [columns]
                    postcode = { tier = "special", reason = "three houses each" }

    KIT/site.toml   [budget]
                    epsilon = 2.0
                    caps = { special = 0.5 }
                    [ledger]
                    file = "ledgers/patients.ledger"
                    data_set = "patients"

Both files may be left out. A site can be stricter than a configuration, never looser:
of two tiers the more sensitive counts, of two budgets the smaller. They are the site's
own and nothing of them comes over the network.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import Field, ValidationError

from lexfed.config.tables.budget import CapsTable
from lexfed.config.tables.field_types import ConfigTable, NonEmptyText, Positive
from lexfed.config.tables.root import LawColumnTable
from lexfed.config.text.findings import hidden_in
from lexfed.errors import ConfigError, Problem
from lexfed.federation.flare.kit.folder import Kit
from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain
from lexfed.run.pricing.site_budgets import SiteLimits
from lexfed.tiers import MODEL_TIERS, Tier
from lexfed.toml_text import parse_toml

LEDGER = "lasting.ledger"


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

    Attributes:
        tiers: the least tier of columns, by name.
        limits: the most it spends on one run.
        ledger: file that counts everything ever spent on its data.
        data_set: the ledger's name of the data; None for the name of the file.
    """

    tiers: Mapping[str, Tier]
    limits: SiteLimits
    ledger: Path
    data_set: str | None

    @classmethod
    def read(cls, kit: Kit) -> "OwnRules":
        """Read the site's own files.

        Raises:
            ConfigError: if one of them cannot be understood.
        """
        site = _parsed(_SiteFile, kit.folder / "site.toml")
        tags = _parsed(_TagsFile, kit.folder / "tags.toml")
        caps = {
            tier: cap
            for tier in MODEL_TIERS
            if (cap := getattr(site.budget.caps, tier.label)) is not None
        }
        file = site.ledger.file
        return cls(
            tiers={name: tag.as_tier for name, tag in tags.columns.items()},
            limits=SiteLimits(site.budget.epsilon, caps),
            ledger=kit.state / LEDGER if file is None else kit.folder / file,
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
