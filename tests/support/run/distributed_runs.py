# SPDX-License-Identifier: Apache-2.0
"""Runs whose sums are masked, on lines that lose answers, and what is left of them."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lexfed.audit.entries import Entry
from lexfed.audit.log.evidence import read_evidence
from lexfed.audit.verify import verify_run
from lexfed.audit.verify.verdict import Status
from lexfed.federation.engines.channel import Handler, InProcessChannel
from lexfed.federation.engines.masked_setting import epoch_settings, seat_identity
from lexfed.federation.engines.masked_site import MaskedSite
from lexfed.federation.site.data_holder import Site
from lexfed.run import OpenRun, PricedRun, RoundReport
from support.configurations import configuration
from support.federation.masked_worlds import step_of

_SHARED: dict[str, object] = {
    "run.name": "shared",
    "data.generator": {"patients": 400, "sites": 4},
    "privacy": {"trust": "distributed", "accountant": "rdp"},
    "federation.engine": "inprocess",
}
CONFIG = configuration(
    {**_SHARED, "federation.dropouts": 1, "federation.setup_rounds": 3}
)
CENTRAL = configuration({**_SHARED, "privacy.trust": "central"})
LOCAL = configuration({**_SHARED, "privacy.trust": "local"})

Price = Callable[[str], PricedRun]
Loses = Callable[[int, str, str], bool]
"""Takes the number of queries so far, a step and a site; says if an answer is lost."""


class Stop(Exception):
    """Ends a training between two rounds, or in one."""


class Line:
    """The doors of a run's sites, on a line that loses answers."""

    def __init__(self, loses: Loses) -> None:
        self._loses = loses
        self._query = 0

    def __call__(self, handlers: Mapping[str, Any]) -> "Line":
        self._doors = InProcessChannel(handlers)
        self._names = sorted(handlers)
        return self

    def exchange(
        self, messages: Mapping[str, bytes], most: int = 2**20
    ) -> Mapping[str, bytes]:
        """Bring messages to sites; some answers never arrive."""
        step = step_of(next(iter(messages.values()), b"LXMB"))
        self._query += step == "ask"
        came = self._doors.exchange(messages, most)
        return {
            name: said
            for name, said in came.items()
            if not self._loses(self._query, step, str(self._names.index(name)))
        }


def entries(path: Path, kind: type[Entry]) -> list[Any]:
    """Return the entries of one kind in a run's log."""
    return [found.entry for found in read_evidence(path).of(kind)]


def verified(path: Path) -> None:
    """Require that nothing in a run's log fails to verify."""
    checks = verify_run(path).checks
    assert [check for check in checks if check.status is Status.FAIL] == []


def ledgers(path: Path) -> list[int]:
    """Return how many releases each site was charged for."""
    files = sorted((path / "sites").glob("*.jsonl"))
    return [len(file.read_text().splitlines()) for file in files]


def stop_after(number: int) -> Callable[[RoundReport], None]:
    """Return what ends a training after a round."""

    def on_round(report: RoundReport) -> None:
        if report.round == number:
            raise Stop

    return on_round


def events(path: Path) -> list[dict[str, Any]]:
    """Return the journal of a run."""
    lines = (path / "events.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def doors_of(priced: PricedRun, opened: OpenRun) -> InProcessChannel:
    """Return doors to sites with ledgers and keys that the run has not made."""
    keys, origin = opened.logbook.keys, opened.logbook.log.origin
    handlers: dict[str, Handler] = {}
    for site in priced.population.sites:
        ledger, signer = priced.site_ledger(site.name), keys.sites[site.name]
        here = Site(
            priced.programme,
            site,
            ledger,
            priced.sources(),
            signer,
            every_answer=True,
            log=origin,
        )
        handlers[site.name] = here.handle
        if priced.programme.cohort is not None:
            coordinator = keys.log.coordinator.public
            agreed = epoch_settings(priced.programme, origin, keys.public, coordinator)
            masked = MaskedSite(here, seat_identity(signer), agreed)
            handlers[site.name] = masked.handle
    return InProcessChannel(handlers)
