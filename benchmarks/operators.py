# SPDX-License-Identifier: Apache-2.0
"""What sums over several aggregators cost, without a network; one line of JSON.

    python -m benchmarks.operators [--repeats 20] [--sites 120] [--length 100000]

`additive` shares among three aggregators, `polynomial` so that 3 of 5 open. Figures
are milliseconds of CPU time on one core: of a site for a whole round (shares, keys,
encryption, signatures), of an aggregator for taking a message and for adding all
sites, and of opening the sum. The sum is compared with the true one. `split` is the
site's arithmetic alone. Every figure is a median with the best beside it.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import TypeVar

import numpy as np

from lexfed.randomness import SecureSource
from lexfed.secagg.envelopes.identities import Identity, Roster
from lexfed.secagg.primitives.ring import Ring
from lexfed.secagg.shares.aggregator import AggregatorSession, open_sum, propose_list
from lexfed.secagg.shares.schemes import (
    AdditiveSharing,
    PolynomialSharing,
    SharingScheme,
)
from lexfed.secagg.shares.site import OperatorSetting, OperatorTerms, SharingSite

TARGET_SITE_MS = 2.0
MODEL = sha256(b"model").digest()

Result = TypeVar("Result")


class Watch:
    """CPU milliseconds by what was done."""

    def __init__(self) -> None:
        self._taken: dict[str, list[float]] = {}

    def run(self, what: str, work: Callable[[], Result]) -> Result:
        """Do something and remember how long it took."""
        start = time.process_time()
        result = work()
        self._taken.setdefault(what, []).append(1e3 * (time.process_time() - start))
        return result

    def figures(self) -> dict[str, dict[str, float]]:
        """Return medians and bests."""
        return {
            what: {
                "median": round(statistics.median(taken), 2),
                "best": round(min(taken), 2),
            }
            for what, taken in self._taken.items()
        }


def measure(scheme: SharingScheme, sites: int, repeats: int) -> dict[str, object]:
    """Run one round of all sites, and further deals and openings."""
    watch = Watch()
    people = [Identity.generate(f"site{at}") for at in range(sites)]
    operators = [Identity.generate(f"operator{at}") for at in range(scheme.operators)]
    setting = OperatorSetting(
        os.urandom(32),
        1,
        sha256(b"policy").digest(),
        Roster({each.name: each.public for each in people}),
        Roster({each.name: each.public for each in operators}),
        OperatorTerms(scheme, 2, 10**6),
    )
    sessions = [AggregatorSession(each, setting) for each in operators]
    keys = [session.announce() for session in sessions]
    for session in sessions:
        session.start(1, MODEL)
    rng = np.random.default_rng(1)
    truth = np.zeros(scheme.length, dtype=np.int64)
    uploaded = 0
    for each in people:
        values = rng.integers(-1000, 1001, scheme.length)
        truth += values
        site = SharingSite(each, setting, keys)
        sent = watch.run("site", partial(site.deal, 1, MODEL, values))
        uploaded = sum(map(len, sent.values()))
        for operator, session in zip(operators, sessions, strict=True):
            message = sent[operator.name]
            watch.run(f"take_{operator.name}", partial(session.take, message))
    listed = propose_list(setting, 1, MODEL, [session.held() for session in sessions])
    signed = [session.sign(listed) for session in sessions]
    sums = [
        watch.run(f"add_{operator.name}", partial(session.add, signed))
        for operator, session in zip(operators, sessions, strict=True)
    ]
    for _ in range(repeats):
        watch.run("split", lambda: scheme.split(truth, MODEL, SecureSource()))
        opened = watch.run("open", lambda: open_sum(setting, 1, MODEL, signed, sums))
        assert np.array_equal(opened.values, truth)
    return {"upload_bytes": uploaded, **watch.figures()}


def main() -> None:
    """Measure, and print one line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--sites", type=int, default=120)
    parser.add_argument("--length", type=int, default=100_000)
    asked = parser.parse_args()
    schemes: dict[str, SharingScheme] = {
        "additive": AdditiveSharing(3, Ring(32), asked.length),
        "polynomial": PolynomialSharing(5, 3, asked.length),
    }
    result = {
        name: measure(scheme, asked.sites, asked.repeats)
        for name, scheme in schemes.items()
    }
    print(
        json.dumps(
            {
                "unit": "ms",
                "sites": asked.sites,
                "length": asked.length,
                "target_additive_site": TARGET_SITE_MS,
                **result,
                "load": round(os.getloadavg()[0], 1),
            }
        )
    )


if __name__ == "__main__":
    main()
