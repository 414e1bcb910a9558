# SPDX-License-Identifier: Apache-2.0
"""Every table of the evaluation, by the name that the command line knows.

Start with `equal_protection.py`; `job_grids.py` has the data sets and the two cells
(equal record, equal attribute) that tables are built from. To add a table, write a
function that returns a `ResultTable`, enter it in `_TABLES`, and its question in
`questions.toml`, which is printed on its page in docs/results. Names of tables are part
of the command line and of file names.
"""

from collections.abc import Callable, Mapping
from difflib import get_close_matches

from lexfed.errors import ConfigError, Problem
from lexfed.evaluate.catalogue import (
    attacks_and_audits,
    equal_protection,
    made_suite,
    plans,
    sweeps,
)
from lexfed.evaluate.catalogue.sweeps import quick
from lexfed.evaluate.harness.tables import ResultTable

__all__ = ["NAMES", "quick", "table"]

_TABLES: Mapping[str, Callable[[], ResultTable]] = {
    "equal-attribute": equal_protection.equal_attribute,
    "comparison": equal_protection.comparison,
    "adult-rows": equal_protection.adult_rows,
    "tuned": equal_protection.tuned,
    "equal-record": equal_protection.equal_record,
    "retention": equal_protection.retention,
    "dynamic": equal_protection.dynamic,
    "flamby": equal_protection.flamby,
    "methods": sweeps.methods,
    "learning": sweeps.learning,
    "radar": sweeps.radar,
    "epsilon": sweeps.epsilon,
    "alpha": sweeps.alpha,
    "sites": sweeps.sites,
    "models": sweeps.models,
    "tiers": sweeps.tiers,
    "made": sweeps.synthetic_table,
    "made-suite": made_suite.made_suite,
    "ablations": sweeps.ablations,
    "multipliers": sweeps.multipliers,
    "schedules": plans.schedules,
    "charged-search": plans.charged_search,
    "membership": attacks_and_audits.membership,
    "attribute-inference": attacks_and_audits.inference,
    "reconstruction": attacks_and_audits.reconstruction,
    "inversion": attacks_and_audits.inversion,
    "audit": attacks_and_audits.audit,
    "rounds": plans.rounds,
    "noise": plans.noise,
    "overhead": plans.overhead,
}
NAMES = tuple(_TABLES)


def table(name: str) -> ResultTable:
    """Return a table by its name, or refuse a name that no table has."""
    if name not in _TABLES:
        near = get_close_matches(name, NAMES, n=1)
        hint = f"did you mean `{near[0]}`?" if near else "known: " + ", ".join(NAMES)
        raise ConfigError([Problem("--table", f"there is no table `{name}`", hint)])
    return _TABLES[name]()
