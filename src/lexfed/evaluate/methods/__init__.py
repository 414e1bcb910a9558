# SPDX-License-Identifier: Apache-2.0
"""The methods that are compared, by name; all take the same case on the same split.

Read `comparison/case.py` first (what is equal in a comparison), then `product.py`.

    none                 the same model without noise: the ceiling
    boosted              gradient-boosted trees on all rows, without noise
    boosted-federated    such trees by histograms of each site; needs the extra `trees`
    local-none           every site alone, a linear model without noise
    local                every site alone, with a cascade of its own
    uniform              one tower, one noise for everything, steps by the rule
    fedsgd               DP-FedSGD: one noisy step of all sites in a round
    fedavg               DP-FedAvg: noisy steps at each site, then an average
    time-adaptive        fedsgd that saves budget early [KKD+25]
    fedavg-clients       clipped updates of local steps; a whole site is protected
    dp-ftrl              noise that is correlated over steps [KL24]
    dp-ebm               additive trees on all rows [NCB+21]; needs the extra `ebm`
    grouped-RULE         one model, noise by tier, shared by a published rule
    cascade              a tower per tier, steps by the rule
    cascade-plain        a tower per tier, steps that know nothing of their noise

`ablations.py`, `simple_uniform.py` and `additive.py` have more, which single tables
of the catalogue ask for. A method of lexfed is a few keys of a configuration. Baselines
outside it state their releases to `baseline_claims.py`, so that the product's
accountant prices them all.
"""

from collections.abc import Mapping
from types import MappingProxyType

from lexfed.evaluate.comparison.case import Case, Method
from lexfed.evaluate.methods import boosted_trees, ebm, exact_solution, single_tower
from lexfed.evaluate.methods.product import MethodKeys, alone, through_the_product

__all__ = ["MECHANISMS", "METHODS", "Case", "Method"]

_STEP = {"learning_rate": 1.0}

_PRODUCT: Mapping[str, MethodKeys] = {
    "uniform": {"privacy": {"mechanism": "uniform"}},
    "fedsgd": {"privacy": {"mechanism": "uniform"}, "federation": _STEP},
    "time-adaptive": {
        "privacy": {"mechanism": "uniform"},
        "budget": {"schedule": "time-adaptive"},
        "federation": _STEP,
    },
    "fedavg-clients": {
        "privacy": {"mechanism": "uniform"},
        "budget": {"unit": "client"},
        "federation": {"local_steps": 5},
    },
    **{
        f"grouped-{rule}": {
            "privacy": {"mechanism": "grouped"},
            "budget": {"allocation": rule},
        }
        for rule in ("inverse", "multiplier", "noise-scale", "caps")
    },
    "cascade": {"privacy": {"mechanism": "cascade"}},
    "cascade-plain": {"privacy": {"mechanism": "cascade"}, "federation": _STEP},
}

MECHANISMS: Mapping[str, MethodKeys] = {
    "none": {"privacy": {"mechanism": "none"}},
    **{
        name: _PRODUCT[name]
        for name in ("uniform", "grouped-inverse", "cascade", "time-adaptive")
    },
}
"""Keys of the methods that are attacked, audited and priced."""

METHODS: Mapping[str, Method] = MappingProxyType(
    {
        **{name: through_the_product(name, keys) for name, keys in _PRODUCT.items()},
        "none": exact_solution.train,
        "local-none": exact_solution.train_alone,
        "local": alone("local", _PRODUCT["cascade"]),
        boosted_trees.POOLED: boosted_trees.train_pooled,
        boosted_trees.FEDERATED: boosted_trees.train_federated,
        single_tower.FEDAVG: single_tower.train_fedavg,
        single_tower.FTRL: single_tower.train_ftrl,
        ebm.NAME: ebm.train,
    }
)
