# SPDX-License-Identifier: Apache-2.0
"""Whole rounds of secure aggregation, without a network; used by `benchmarks.secagg`.

One hundred sites and a server in one process; 33 may collude, so 67 sign a list. One
set-up serves 20 rounds. Ten sites miss each round, and every sum is compared with the
true one. `sparse` is the graph that sites of this number use, `complete` one on which
all mask with all. Figures are CPU time: of the median site, and of the server for all
sites. `limit` is what the masks alone take at the speed at which this core made masks
during the same round. If Flower is there, one of its rounds is measured after each of
ours, so that a busy moment meets both; see `benchmarks/flower_masks.py`.
"""

import os
import statistics
import time
from collections.abc import Callable
from hashlib import sha256
from typing import Any, TypeVar
from unittest.mock import patch

import numpy as np

from benchmarks.flower_masks import FlowerMasks
from lexfed.secagg.envelopes.identities import Identity, Roster
from lexfed.secagg.mask_sessions.server_rounds import ServerSession
from lexfed.secagg.mask_sessions.server_setup import ServerSetup
from lexfed.secagg.mask_sessions.site import SiteSession
from lexfed.secagg.masks import cohort
from lexfed.secagg.masks.terms import MaskSetting, MaskTerms
from lexfed.secagg.masks.thresholds import Density, Threshold, density
from lexfed.secagg.primitives import keystreams
from lexfed.secagg.primitives.ring import Ring

SITES, COLLUDERS, DROPPED, ROUNDS = 100, 33, 10, 20
SHARES = Threshold.malicious(SITES, COLLUDERS).shares
TARGETS = {
    100_000: {"site_ms": 90, "server_s": 0.3, "upload": 1.03},
    1_000_000: {"site_ms": 200, "server_s": 1.2},
}

Result = TypeVar("Result")


class Watch:
    """CPU seconds and bytes of each party."""

    def __init__(self) -> None:
        self.site: dict[str, float] = {}
        self.server = 0.0
        self.sent: dict[str, int] = {}

    def by_site(self, name: str, work: Callable[..., bytes], *given: object) -> bytes:
        """Charge a site for one answer."""
        start = time.process_time()
        message = work(*given)
        taken = time.process_time() - start
        self.site[name] = self.site.get(name, 0.0) + taken
        self.sent[name] = self.sent.get(name, 0) + len(message)
        return message

    def by_server(self, work: Callable[..., Result], *given: object) -> Result:
        """Charge the server."""
        start = time.process_time()
        found = work(*given)
        self.server += time.process_time() - start
        return found


def made(length: int) -> tuple[dict[str, SiteSession], MaskSetting, Identity]:
    """Return sites that agree with a server."""
    keys = {f"site{at:03d}": Identity.generate(f"site{at:03d}") for at in range(SITES)}
    server = Identity.generate("server")
    setting = MaskSetting(
        os.urandom(32),
        1,
        sha256(b"policy").digest(),
        Roster({name: key.public for name, key in keys.items()}),
        Roster({"server": server.public}),
        MaskTerms(ROUNDS, COLLUDERS, SITES - DROPPED, Ring(32), length),
    )
    sites = {name: SiteSession(key, setting) for name, key in keys.items()}
    return sites, setting, server


def set_up(
    sites: dict[str, SiteSession], setting: MaskSetting, identity: Identity
) -> tuple[ServerSession, Watch]:
    """Set an epoch up."""
    watch, server = Watch(), ServerSetup(identity, setting)
    for name, site in sites.items():
        message = watch.by_site(name, site.advertise)
        watch.by_server(server.advertised, message)
    keys = watch.by_server(server.close_keys)
    for name, site in sites.items():
        message = watch.by_site(name, site.deal, keys)
        watch.by_server(server.dealt, message)
    deliveries = watch.by_server(server.close_deals)
    for name, site in sites.items():
        message = watch.by_site(name, site.accept, deliveries[name])
        watch.by_server(server.ready, message)
    return ServerSession(identity, server.established()), watch


def one_round(
    sites: dict[str, SiteSession], server: ServerSession, number: int, length: int
) -> Watch:
    """Run a round in which other sites are lost than in the one before."""
    watch, model = Watch(), sha256(b"model").digest()
    names = list(sites)
    gone = {names[(at + DROPPED * number) % SITES] for at in range(DROPPED)}
    here = {name: site for name, site in sites.items() if name not in gone}
    coins = np.random.default_rng(number)
    truth = np.zeros(length, dtype=np.int64)
    server.begin(number, model)
    for name, site in here.items():
        values = coins.integers(-1000, 1001, length)
        truth += values
        message = watch.by_site(name, site.mask, number, model, values)
        watch.by_server(server.masked, message)
    survivors = watch.by_server(server.close_masked)
    for name, site in here.items():
        message = watch.by_site(name, site.consent, survivors)
        watch.by_server(server.consented, message)
    consents = watch.by_server(server.close_consents)
    for name, site in here.items():
        message = watch.by_site(name, site.unmask, consents)
        watch.by_server(server.unmasked, message)
    assert watch.by_server(server.reconstruct) is None
    total = watch.by_server(server.total, 10**6)
    assert np.array_equal(total, truth)
    return watch


def speed(length: int) -> float:
    """Return at how many bytes a second of CPU time masks are made now."""
    total = np.zeros(length, dtype=np.uint32)
    start = time.process_time()
    repeats = max(10, 40_000_000 // length)
    for _ in range(repeats):
        keystreams.add_mask(total, os.urandom(keystreams.KEY_BYTES), 1)
    return repeats * total.nbytes / (time.process_time() - start)


def rounds(
    length: int, repeats: int, peer: FlowerMasks | None = None
) -> dict[str, dict[str, Any]]:
    """Measure epochs with vectors of that many 32-bit values, on both graphs."""
    sparse = density(SITES, COLLUDERS, DROPPED)
    certain = Threshold.malicious(SITES, COLLUDERS, DROPPED)
    complete = Density(SITES, SITES - 1, certain, DROPPED)
    found: dict[str, dict[str, Any]] = {"targets": TARGETS[length]}
    beside: list[dict[str, float]] = []
    for name, graph in (("sparse", sparse), ("complete", complete)):
        with patch.object(cohort, "_density", lambda *_, graph=graph: graph):
            found[name] = measured(length, repeats, graph.degree, peer, beside)
    if beside:
        found["flower"] = {
            each: _figures([one[each] for one in beside]) for each in beside[0]
        }
    return found


def measured(
    length: int,
    repeats: int,
    degree: int,
    peer: FlowerMasks | None,
    beside: list[dict[str, float]],
) -> dict[str, Any]:
    """Measure an epoch on a graph of that degree.

    Args:
        length: of the vectors.
        repeats: how many rounds.
        degree: neighbours of a site.
        peer: whose rounds are measured in between, if any.
        beside: takes what is found on the peer.
    """
    sites, setting, identity = made(length)
    server, first = set_up(sites, setting, identity)
    found = []
    for number in range(1, repeats + 1):
        before = speed(length)
        watch = one_round(sites, server, number, length)
        found.append((watch, statistics.mean((before, speed(length)))))
        if peer:
            beside.append(peer.measure(SITES, SHARES, DROPPED, length))
    site = [1e3 * statistics.median(watch.site.values()) for watch, _ in found]
    whole = [watch.server for watch, _ in found]
    rate = [each for _, each in found]
    survivors = SITES - DROPPED
    # Own masks of survivors; of a missing site those with neighbours that survived.
    opened = survivors + DROPPED * degree * survivors / (SITES - 1)
    setup_bytes = statistics.median(first.sent.values()) / ROUNDS
    sent = statistics.median(found[0][0].sent.values()) + setup_bytes
    size = 4 * length
    return {
        "site_ms": _figures(site),
        "neighbours": degree,
        "site_limit_ms": round(1e3 * (degree + 1) * size / statistics.median(rate), 1),
        "server_s": _figures(whole),
        "server_limit_s": round(opened * size / statistics.median(rate), 3),
        "prg_gb_s": round(statistics.median(rate) / 1e9, 2),
        "upload": round(sent / size, 4),
        "upload_bytes": round(sent),
        "setup_site_ms": round(1e3 * statistics.median(first.site.values()), 1),
        "setup_server_s": round(first.server, 3),
    }


def _figures(values: list[float]) -> dict[str, float]:
    return {
        "median": round(statistics.median(values), 3),
        "best": round(min(values), 3),
    }
