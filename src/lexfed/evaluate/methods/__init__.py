# SPDX-License-Identifier: Apache-2.0
"""The methods that are compared, by name; all take the same case on the same split.

Read `case.py` first (what is equal in a comparison), then `product.py`.

    none                 the same model without noise: the ceiling
    uniform              one tower, one noise for everything, steps by the rule
    fedsgd               DP-FedSGD: one noisy step of all sites in a round
    time-adaptive        the same, saving budget early [KKD+25]
    fedavg-clients       DP-FedAvg: clipped local updates; a whole site is protected
    grouped-RULE         one model, noise by tier, shared by a published rule
    cascade              a tower per tier, steps by the rule
    cascade-plain        a tower per tier, steps that know nothing of their noise
"""

from collections.abc import Mapping
from types import MappingProxyType

from lexfed.evaluate.methods.case import Case, Method
from lexfed.evaluate.methods.product import Keys, through_the_product

__all__ = ["METHODS", "Case", "Method"]

_STEP = {"learning_rate": 1.0}

_PRODUCT: Mapping[str, Keys] = {
    "none": {"privacy": {"mechanism": "none"}},
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

METHODS: Mapping[str, Method] = MappingProxyType(
    {name: through_the_product(name, keys) for name, keys in _PRODUCT.items()}
)
