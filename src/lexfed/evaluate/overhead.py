# SPDX-License-Identifier: Apache-2.0
"""What each part of protection costs: time, bytes and memory of whole runs.

The same run is done as a user would do it, with a folder, a log and ledgers, four
times: without privacy, with noise of a trusted coordinator, with every site as an
object of its own, and with noise in shares. Each is done in a process of its own, so
that peaks of memory do not mix.
"""

import multiprocessing
import resource
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.methods.case import Case, configuration
from lexfed.evaluate.sampled import Sampled
from lexfed.federation.coordinator import Coordinator
from lexfed.federation.engines import Simulation
from lexfed.federation.learner import Learner
from lexfed.federation.messages import answer_to_bytes
from lexfed.randomness import SecureSource
from lexfed.run.opening import start
from lexfed.run.planning import Priced, price
from lexfed.run.population import load_population
from lexfed.run.training import train
from lexfed.tagging import tag

PARTS: Mapping[str, tuple[str, ...]] = {
    "tagging": ("law/", "tagging.py"),
    "allocation": ("budget/", "federation/planning.py", "run/planning.py"),
    "clipping": ("models/clipping.py", "models/clipped_sum.py", "models/norms.py"),
    "noise": (
        "privacy/noise.py",
        "privacy/grid.py",
        "randomness.py",
        "privacy/skellam",
    ),
    "masks": ("secagg/", "federation/masked"),
    "accounting": ("privacy/", "ledger/"),
    "log": ("audit/", "run/logbook.py", "run/folder.py", "durable.py"),
    "reading": ("data/", "run/population.py"),
}
"""Files of each part, by how their paths begin."""
SIDES: Mapping[str, tuple[str, ...]] = {
    "client": ("federation/engines.py", "federation/site.py", "federation/masked_site"),
    "coordinator": ("run/training.py", "run/opening.py"),
}
_DESCENT = {"learning_rate": 1.0, "rounds": 20}
"""The same rounds for all of them: the rule has none without privacy."""
_SITES = {**_DESCENT, "engine": "inprocess"}
VARIANTS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "no privacy": {"privacy": {"mechanism": "none"}, "federation": _DESCENT},
    "cascade": {"privacy": {"mechanism": "cascade"}, "federation": _DESCENT},
    "cascade, single sites": {
        "privacy": {"mechanism": "cascade"},
        "federation": _SITES,
    },
    "cascade, noise in shares": {
        "privacy": {
            "mechanism": "cascade",
            "trust": "distributed",
            "accountant": "rdp",
        },
        "federation": _SITES,
    },
}
"""What is added from line to line; each has everything that the line before has."""


def measured(dataset: Dataset, case: Case, variant: str) -> dict[str, float]:
    """Run the product once in a fresh process and say what it took.

    Returns:
        Seconds of the whole run, of each part and side; bytes that a site sends and
        receives and that the folder holds; growth of memory.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context) as pool:
        return pool.submit(_run, dataset, case, variant).result()


def _run(dataset: Dataset, case: Case, variant: str) -> dict[str, float]:
    config = configuration(dataset, case, VARIANTS[variant])
    began = _peak()
    with TemporaryDirectory() as place, Sampled(PARTS, SIDES) as watched:
        base = Path(place)
        tag(dataset.folder / "table.csv")
        priced = price(config, load_population(config, dataset.folder), dataset.folder)
        train(priced, start(priced, base / "run", "", base))
        kept = sum(f.stat().st_size for f in base.rglob("*") if f.is_file())
    down, up = message_bytes(priced)
    return {
        "seconds": watched.total,
        "rounds": float(priced.programme.rounds),
        **{f"{part}_seconds": value for part, value in watched.seconds.items()},
        **{f"{side}_seconds": value for side, value in watched.sides.items()},
        "received_bytes": float(down),
        "sent_bytes": float(up),
        "folder_bytes": float(kept),
        "memory_bytes": float(_peak() - began),
    }


def message_bytes(priced: Priced) -> tuple[int, int]:
    """Return what one site receives and sends in all rounds, masks left out."""
    learner, source = Learner(priced.programme), SecureSource()
    coordinator = Coordinator(
        priced.programme, learner, priced.ledger(), lambda _: source, learner.start()
    )
    engine = Simulation(priced.programme, priced.population.sites, lambda _: source)
    down = up = 0
    while (asked := coordinator.next()) is not None:
        answers = engine.ask(asked.query, asked.participants)
        down += len(asked.query.to_bytes())
        # One site's answer is as long as the sum of all.
        up += len(answer_to_bytes(answers[0]))
        coordinator.receive(asked.query, answers)
    return down, up


def _peak() -> int:
    """Return the most memory that this process ever had; kilobytes on Linux."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
