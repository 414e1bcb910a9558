# SPDX-License-Identifier: Apache-2.0
"""Rules for budgets that differ over rounds and between sites.

Written like `data_rules.py`.
"""

from collections.abc import Iterator

from lexfed.config.locate import Path
from lexfed.config.model import Config
from lexfed.config.site_tables import PaceTable
from lexfed.config.translate import Finding
from lexfed.config.wording import dotted

PACE: Path = ("budget", "pace")
SCHEDULE: Path = ("budget", "schedule")

_OWNERS = {
    "ratio": ("geometric", "cosine", "step"),
    "drops": ("step",),
    "save": ("time-adaptive",),
    "save_until": ("time-adaptive",),
}


def pace_keys_are_used(config: Config) -> Iterator[Finding]:
    """Each schedule has its own settings."""
    name = config.budget.schedule
    for key, owners in _OWNERS.items():
        default = PaceTable.model_fields[key].default
        if getattr(config.budget.pace, key) != default and name not in owners:
            path = (*PACE, key)
            what = f'`{dotted(path)}` does nothing with `schedule = "{name}"`'
            hint = f'remove it, or set `schedule = "{owners[0]}"` under `[budget]`'
            yield Finding(path, what, hint, (SCHEDULE,))


def drops_ascend(config: Config) -> Iterator[Finding]:
    """Noise falls at one round after the other."""
    drops = config.budget.pace.drops
    if list(drops) != sorted(set(drops)):
        yield Finding(
            (*PACE, "drops"),
            "`budget.pace.drops`: expected parts of the rounds that ascend",
            "for example `drops = [0.5, 0.75]`: after half and three quarters of them",
        )


RULES = (pace_keys_are_used, drops_ascend)
