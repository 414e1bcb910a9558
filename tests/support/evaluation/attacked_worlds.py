# SPDX-License-Identifier: Apache-2.0
"""Synthetic patients whose models are attacked."""

from pathlib import Path
from typing import Any

from lexfed.config import Config, from_mapping
from lexfed.run.intake.population import Population, seeded_population


def hospital(
    mechanism: str, epsilon: float = 1.9, patients: int = 400, **tables: Any
) -> tuple[Config, Population]:
    """Return a configuration of three hospitals, and its patients."""
    config = from_mapping(
        {
            "version": 1,
            "run": {"name": "attacked", "seed": 3},
            "data": {
                "source": "synthetic:hospital",
                "generator": {"patients": patients, "sites": 3},
            },
            "budget": {
                "epsilon": epsilon,
                "delta": 1e-5,
                "neighbours": "replace-one",
            },
            "privacy": {"mechanism": mechanism},
            **tables,
        }
    )
    return config, seeded_population(config, Path())
