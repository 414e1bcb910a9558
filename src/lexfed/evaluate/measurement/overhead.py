# SPDX-License-Identifier: Apache-2.0
"""The cost of each part of protection: time, bytes and memory, with and without it.

`VARIANTS` is a chain. It begins with sites that train together without protection, in
memory; every further variant has one thing more than the one before it, its partner.
Both are run for a measurement, one after the other, each in a process of its own: a
peak of memory is then that of one run, and both find the machine equally busy.
"""

import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from lexfed.evaluate.comparison.case import Case, configuration
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.measurement import probes
from lexfed.federation.coordinator.learner import Learner
from lexfed.federation.coordinator.rounds import Coordinator
from lexfed.federation.engines.clear_sums import InProcess
from lexfed.federation.engines.masked_site import MaskedSite
from lexfed.federation.site.data_holder import Site
from lexfed.run.driver.open_run import start
from lexfed.run.driver.training_loop import train
from lexfed.run.intake.population import load_population
from lexfed.run.pricing.priced_run import PricedRun, price
from lexfed.run.results.metrics import evaluate

_READ: probes.Prefixes = {"tagging": ("law/",)}
"""Every run asks the tagger about its columns while it reads them."""
LEARNING = "learning"
"""Everything else in the rounds: gradients, sums, steps, messages, metrics."""
_SHARED_NOISE = (
    *("add_share", "noised_by_site", "grid_in_ring", "stays_within", "longest_sum"),
    "ring_of",
)
"""Functions about noise in shares; the others of their module are no noise."""
ROUNDS: probes.Prefixes = {
    "clipping": (
        *("models/gradients/clipping.py", "models/gradients/clipped_sum.py:_clip"),
        "federation/site/contributions.py:_clip",
    ),
    "noise": (
        "privacy/noise/",
        *(f"federation/programme/integer_sums.py:{name}" for name in _SHARED_NOISE),
    ),
    "masks": ("secagg/", "federation/engines/masked_"),
    "accounting": ("privacy/", "ledger/", "run/driver/site_accounts.py"),
    "log": (*("audit/", "signing/", "durable.py", "run/audit_log/", "run/folder.py"),),
    # What a site computes before its sum is masked is no work of the masks.
    LEARNING: ("federation/site/data_holder.py",),
}
"""Whose time it is from the opening of a run to its end, by where frames begin."""
PARTS = ("tagging", "reading", "allocation", *ROUNDS)
_CLIENT: probes.Prefixes = {
    "client": ("federation/site/data_holder.py", "federation/engines/masked_site.py")
}


_Sites = TypeVar("_Sites", Site, MaskedSite)


@dataclass(frozen=True)
class Variant:
    """A run, its partner with one thing less, and whether it has a folder on disk."""

    privacy: Mapping[str, str]
    partner: str
    written: bool = False

    @property
    def keys(self) -> dict[str, Mapping[str, Any]]:
        """Keys of the configuration; how is learned is the same for all."""
        # The rule has no rounds of its own without privacy, so they are set.
        federation = {"learning_rate": 1.0, "rounds": 20, "engine": "inprocess"}
        return {"privacy": self.privacy, "federation": federation}


_CASCADE = {"mechanism": "cascade"}
_RDP = {**_CASCADE, "accountant": "rdp"}
VARIANTS: Mapping[str, Variant] = {
    "no protection": Variant({"mechanism": "none"}, ""),
    "+ noise": Variant({"mechanism": "uniform"}, "no protection"),
    "+ towers": Variant(_CASCADE, "+ noise"),
    "+ log": Variant(_CASCADE, "+ towers", written=True),
    "+ Rényi accounting": Variant(_RDP, "+ log", written=True),
    "+ masks": Variant(
        {**_RDP, "trust": "distributed"}, "+ Rényi accounting", written=True
    ),
}
"""Additions from line to line; each has everything that the line before has."""
COMPARED = ("cpu_seconds", "round_milliseconds", "message_bytes", "memory_bytes")
"""Figures that are divided by the partner's; the quotients end in `_ratio`."""


def measure_overhead(dataset: Dataset, case: Case, variant: str) -> dict[str, float]:
    """Run a variant and its partner, and say what the variant took.

    Guarantees:
        Memory does not depend on the process that asks.
        The seconds of all parts add up to `cpu_seconds`.
    """
    probes.require_linux()
    partner = VARIANTS[variant].partner
    without = _in_a_fresh_process(dataset, case, partner) if partner else {}
    found = _in_a_fresh_process(dataset, case, variant)
    ratios = {
        f"{name.rsplit('_', 1)[0]}_ratio": found[name] / without[name]
        for name in COMPARED
        if without.get(name)
    }
    return {**found, **ratios}


def _in_a_fresh_process(dataset: Dataset, case: Case, variant: str) -> dict[str, float]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context) as pool:
        return pool.submit(run_once, dataset, case, VARIANTS[variant]).result()


def run_once(dataset: Dataset, case: Case, variant: Variant) -> dict[str, float]:
    """Run a variant in this process; see `measure_overhead`."""
    config = configuration(dataset, case, variant.keys)
    # What loading libraries took does not count.
    resting, wall, cpu = probes.begin_peak(), time.perf_counter(), time.thread_time()
    with probes.CpuSampler(_READ, rest=("reading",)) as before:
        population = load_population(config, dataset.folder)
    with probes.CpuSampler({}, rest=("allocation",)) as planned:
        priced = price(config, population, dataset.folder)
    rest = (LEARNING, "coordinator")
    with TemporaryDirectory() as place, count_traffic() as traffic:
        base = Path(place)
        with probes.CpuSampler(ROUNDS, _CLIENT, rest=rest) as watched:
            if variant.written:
                train(priced, start(priced, base / "run", "", base))
            else:
                train_unwritten(priced)
        wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
        kept = sum(f.stat().st_size for f in base.rglob("*") if f.is_file())
    parts = {
        part: sum(one.seconds(part) for one in (before, planned, watched))
        for part in PARTS
    }
    rounds, sites = priced.programme.rounds, len(priced.programme.sites)
    received, sent = traffic.received / sites, traffic.sent / sites
    return {
        "rounds": float(rounds),
        "cpu_seconds": cpu,
        "round_milliseconds": 1000.0 * watched.total / rounds,
        "waiting_seconds": max(0.0, wall - cpu),
        "client_seconds": watched.seconds("client"),
        "coordinator_seconds": watched.seconds("coordinator"),
        **{f"{part}_seconds": value for part, value in parts.items()},
        "received_bytes": received,
        "sent_bytes": sent,
        "message_bytes": received + sent,
        "folder_bytes": float(kept),
        "memory_bytes": float(probes.peak() - resting),
    }


@dataclass
class Traffic:
    """Bytes of all messages to and from all sites, masks and their keys included."""

    received: int = 0
    sent: int = 0


@contextmanager
def count_traffic() -> Iterator[Traffic]:
    """Count what passes the doors of all sites of this process during a block."""
    traffic, plain, masked = Traffic(), Site.handle, MaskedSite.handle
    # Engines open their sites themselves, so their classes are what can be watched.
    Site.handle = _watched(plain, traffic)  # type: ignore[method-assign,assignment]
    MaskedSite.handle = _watched(masked, traffic)  # type: ignore[method-assign,assignment]
    try:
        yield traffic
    finally:
        Site.handle = plain  # type: ignore[method-assign]
        MaskedSite.handle = masked  # type: ignore[method-assign]


def _watched(
    handle: Callable[[_Sites, bytes], bytes], traffic: Traffic
) -> Callable[[_Sites, bytes], bytes]:
    def door(site: _Sites, content: bytes) -> bytes:
        reply = handle(site, content)
        traffic.received += len(content)
        traffic.sent += len(reply)
        return reply

    return door


def train_unwritten(priced: PricedRun) -> None:
    """Do what `train` does without folder, log and receipts; ledgers are in memory."""
    programme, sources = priced.programme, priced.sources()
    learner = Learner(programme)
    coordinator = Coordinator(
        programme, learner, priced.ledger(), sources, learner.start()
    )
    sites = [
        Site(programme, data, priced.site_ledger(data.name), sources)
        for data in priced.population.sites
    ]
    engine = InProcess(sites)
    while (asked := coordinator.next()) is not None:
        answers = engine.ask(asked.query, asked.participants)
        progress = coordinator.receive(asked.query, answers).progress
        tower = programme.stages[progress.stage].tower
        evaluate(priced, progress.model, tower + 1)
