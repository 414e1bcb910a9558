# SPDX-License-Identifier: Apache-2.0
"""Every table of the evaluation, by the name that the command line knows."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches

from lexfed.errors import ConfigError, Problem
from lexfed.evaluate.catalogue import (
    attacked,
    compared,
    made,
    planned,
    reported,
    sweeps,
)
from lexfed.evaluate.catalogue.quick import quick
from lexfed.evaluate.tables import Table

__all__ = ["NAMES", "quick", "table"]

_TABLES: Mapping[str, Callable[[], Table]] = {
    "equal-attribute": compared.equal_attribute,
    "tuned": compared.tuned,
    "equal-record": compared.equal_record,
    "retention": compared.retention,
    "dynamic": reported.dynamic,
    "flamby": reported.flamby,
    "methods": sweeps.methods,
    "learning": sweeps.learning,
    "radar": sweeps.radar,
    "epsilon": sweeps.epsilon,
    "alpha": sweeps.alpha,
    "sites": sweeps.sites,
    "models": sweeps.models,
    "tiers": sweeps.tiers,
    "made": made.made,
    "ablations": sweeps.ablations,
    "multipliers": sweeps.multipliers,
    "membership": attacked.membership,
    "attribute-inference": attacked.inference,
    "reconstruction": attacked.reconstruction,
    "inversion": attacked.inversion,
    "audit": attacked.audit,
    "rounds": planned.rounds,
    "noise": planned.noise,
    "overhead": planned.overhead,
}
NAMES = tuple(_TABLES)


def table(name: str) -> Table:
    """Return a table by its name.

    Raises:
        ConfigError: if there is none of that name.
    """
    if name not in _TABLES:
        near = get_close_matches(name, NAMES, n=1)
        hint = f"did you mean `{near[0]}`?" if near else "known: " + ", ".join(NAMES)
        raise ConfigError([Problem("--table", f"there is no table `{name}`", hint)])
    return _TABLES[name]()
