# SPDX-License-Identifier: Apache-2.0
"""Rules of `budget.ledgers`: runs that protect nobody have no lasting ledgers."""

from collections.abc import Iterator

from lexfed.config.rules.data import SOURCE
from lexfed.config.tables.root import Config
from lexfed.config.text.findings import Finding
from lexfed.config.text.positions import KeyPath

LEDGERS: KeyPath = ("budget", "ledgers")


def ledgers_are_used(config: Config) -> Iterator[Finding]:
    """Made data and seeded noise are about nobody, so nothing is spent."""
    if config.budget.ledgers is None:
        return
    if config.data.built_in:
        yield Finding(
            LEDGERS,
            f'`budget.ledgers` does nothing with `source = "{config.data.source}"`',
            "remove it; ledgers are kept for data in files",
            (SOURCE,),
        )
    elif config.run.test:
        yield Finding(
            LEDGERS,
            "`budget.ledgers` does nothing with `test = true`",
            "remove it; a seeded run protects nobody and is not charged",
            (("run", "test"),),
        )


RULES = (ledgers_are_used,)
