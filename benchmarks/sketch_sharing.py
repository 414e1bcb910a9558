# SPDX-License-Identifier: Apache-2.0
"""What sketches cost that nobody sees before they are added; one line of JSON.

    python -m benchmarks.sketch_sharing [--sites 120] [--people 2000] [--repeats 3]

`overlaps` counts what all pairs of sites share, between two aggregators in one process
and without a network: CPU seconds of each step, both aggregators together, the median
of the repeats; `online` is everything after sites and dealer have sent, with all
intervals. Bytes are those of the messages. Every answer is compared with the truth:
`error` is the deviation over all pairs, `stated` what the answers state themselves,
`covered` the part of 95 % intervals that hold. Noise is that of rho = .05.
`noised_tables` is the deviation that tables of the best size with noise of their own
would have for the same price, by the formula of `estimates.products`.

`packing` is bits a cell of opened noise in 5 x 1024 cells by deviation, beside the
entropy log2(s sqrt(2 pi e)), and the factor over cells of 32 bits.

`sums` is a site's CPU milliseconds and bytes for its tables, 5 x 1024 cells, by masks,
by shares for three aggregators, and under encryption if TenSEAL is there.
"""

import argparse
import json
import math
import os
import statistics
from functools import partial
from typing import Any

import numpy as np

from benchmarks.sketch_sums import DEPTH, KEYS, POLICY, WIDTH, Watch, roster, sums
from lexfed.federation.sharing.overlap_aggregator import OverlapAggregator
from lexfed.federation.sharing.overlap_protocol import (
    OverlapSetting,
    deal_triple,
    open_overlaps,
    overlap_terms,
)
from lexfed.secagg.envelopes.identities import Identity
from lexfed.secagg.shares.aggregator import propose_list
from lexfed.secagg.shares.site import OperatorSetting, SharingSite
from lexfed.sketch.sharing.overlap_plan import CommonBits, OverlapPlan, width_for
from lexfed.sketch.sharing.packed_tables import pack_integers
from lexfed.sketch.tables.counts import BloomFilter
from lexfed.sketch.tables.shape import SketchKind, SketchShape

RHO = 0.05


def made_sets(sites: int, people: int) -> list[Any]:
    """Return keys of sites: half of each site's from a pool that all draw from."""
    rng = np.random.default_rng(1)
    pool = np.arange(20 * people)
    sets = []
    for at in range(sites):
        shared = rng.choice(pool, people // 2, replace=False)
        own = len(pool) + at * people + np.arange(people - people // 2)
        sets.append(np.concatenate([shared, own]))
    return sets


def overlaps(sites: int, people: int, repeats: int) -> dict[str, Any]:
    """Return times, bytes and errors of all overlaps."""
    shape = SketchShape(SketchKind.BLOOM, 1, width_for(people), 7, KEYS.digest)
    # rho = R^2 / 2 with R^2 = (sites - 1 + 1) / sigma^2.
    sigma = math.sqrt(sites / (2 * RHO))
    plan = OverlapPlan("overlaps", sites, shape, sigma)
    hospitals = [Identity.generate(f"site{at}") for at in range(sites)]
    names = [each.name for each in hospitals]
    parties = [Identity.generate(name) for name in ("ministry", "university")]
    dealer = Identity.generate("coordinator")
    operators = OperatorSetting(
        os.urandom(32), 1, POLICY, roster(hospitals), roster(parties),
        overlap_terms(plan, 2),
    )  # fmt: skip
    overlap = OverlapSetting(plan, operators, roster([dealer]))
    sets = dict(zip(names, made_sets(sites, people), strict=True))
    watches: list[dict[str, float]] = []
    for _ in range(repeats):
        watch = Watch()
        found, sent = _computed(overlap, hospitals, parties, dealer, sets, watch)
        watches.append(watch.taken)
    steps = {
        step: round(statistics.median(each[step] for each in watches), 3)
        for step in watches[0]
    }
    online = ("hide", "test", "multiply", "open", "answers")
    steps["online"] = round(sum(steps[step] for step in online), 3)
    return {
        "bits": shape.width,
        "sigma": round(sigma, 1),
        "seconds": steps,
        "bytes": sent,
        **_errors(found, sets, sites, people),
    }


def _computed(
    overlap: OverlapSetting,
    hospitals: list[Identity],
    parties: list[Identity],
    dealer: Identity,
    sets: dict[str, Any],
    watch: Watch,
) -> tuple[CommonBits, dict[str, int]]:
    one, two = (OverlapAggregator(each, overlap) for each in parties)
    keys = [one.announce(), two.announce()]
    sent: dict[str, int] = {}
    for party in (one, two):
        party.meet(keys)
        party.start(1, overlap.model)
    for each in hospitals:
        site = SharingSite(each, overlap.operators, keys)
        bits = BloomFilter.build(overlap.plan.shape, KEYS.keys(sets[each.name])).bits
        values = bits.astype(np.int64)
        messages = watch.run("sites", partial(site.deal, 1, overlap.model, values))
        sent["site"] = sum(map(len, messages.values()))
        for identity, party in zip(parties, (one, two), strict=True):
            watch.run("take", partial(party.take, messages[identity.name]))
    triples = watch.run("deal", lambda: deal_triple(dealer, overlap, 1, keys))
    sent["dealer"] = sum(map(len, triples.values()))
    for identity, party in zip(parties, (one, two), strict=True):
        watch.run("receive", partial(party.receive, triples[identity.name]))
    held = [one.held(), two.held()]
    listed = propose_list(overlap.operators, 1, overlap.model, held)
    signed = [one.sign(listed), two.sign(listed)]
    hidden = watch.run("hide", lambda: (one.hide(signed), two.hide(signed)))
    tested = watch.run("test", lambda: (one.test(hidden[1]), two.test(hidden[0])))
    products = watch.run(
        "multiply", lambda: (one.multiply(tested[1]), two.multiply(tested[0]))
    )
    sent["between_aggregators"] = len(hidden[0]) + len(tested[0])
    sent["counts"] = len(products[0])
    found = watch.run("open", lambda: open_overlaps(overlap, 1, products))
    watch.run("answers", found.overlaps)
    return found, sent


def _errors(
    found: CommonBits, sets: dict[str, Any], sites: int, people: int
) -> dict[str, Any]:
    values, variances = found.overlaps()
    members = [set(sets[name].tolist()) for name in found.sites]
    truth = np.array([[len(a & b) for b in members] for a in members], dtype=float)
    upper = np.triu_indices(sites, 1)
    error = (values - truth)[upper]
    deviation = np.sqrt(variances[upper])
    return {
        "error": round(float(error.std()), 1),
        "stated": round(float(np.sqrt(np.mean(deviation**2))), 1),
        "covered": round(float(np.mean(np.abs(error) <= 1.96 * deviation)), 4),
        # |f|^2 |g|^2 / m + (|f|^2 + |g|^2) / (2 rho) + m / (4 rho^2) at the best m.
        "noised_tables": round(math.sqrt(2 * people / RHO)),
    }


def packing() -> dict[str, Any]:
    """Return bits a cell by deviation."""
    rng, cells = np.random.default_rng(1), DEPTH * WIDTH
    found = {}
    for deviation in (3, 10, 100, 1000):
        noise = np.rint(rng.normal(0, deviation, cells)).astype(np.int64)
        bits = 8 * len(pack_integers(noise)) / cells
        entropy = math.log2(deviation * math.sqrt(2 * math.pi * math.e))
        found[str(deviation)] = {
            "bits": round(bits, 2),
            "entropy": round(entropy, 2),
            "factor": round(32 / bits, 1),
        }
    return found


def main() -> None:
    """Measure, and print one line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sites", type=int, default=120)
    parser.add_argument("--people", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    found = {
        "sites": asked.sites,
        "people": asked.people,
        "rho": RHO,
        "overlaps": overlaps(asked.sites, asked.people, asked.repeats),
        "packing": packing(),
        "sums": sums(asked.sites, asked.repeats),
        "load": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
