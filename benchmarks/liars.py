# SPDX-License-Identifier: Apache-2.0
"""Liars among a hundred sites behind masks: who is named, and is anybody else?

    PYTHONPATH=tests python -m benchmarks.liars [CASES] [SEED]

Prints one JSON line. A case is a federation of 100 sites (9 may collude, 9 may be
missing) of which 1 to 9 lie, each in a way drawn from 27
(`tests/support/federation/liars.py`):
parts that cannot be used, shares that open nothing or another secret, false complaints,
wrong shares, other lists, replays, silence; in half of the cases all of them lie about
one honest site. A case ends when everybody is blamed whose lie can be shown, or no
further round helps. `unnamed` counts liars that told such a lie and were not blamed,
`innocent` sites that were blamed for nothing, `wrong_sums` sums that were opened and
are not those of their sites; all must be 0. `planted` says in how many of 20 cases the
same count notices a coordinator that blames the dealer of every wrong share.

Cases are forks of processes in which all sites have advertised keys and dealt shares,
50 of each; a signature that many sites of one process check is checked once. In most
cases all liars lie in the set-up, or all of them when the sum is opened; in one of
twenty each lies when it likes, from the first message on.
"""

import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from lexfed.errors import SecAggError
from lexfed.secagg.envelopes.identities import Roster
from lexfed.secagg.envelopes.payloads import Deal
from lexfed.secagg.envelopes.sealed_messages import EnvelopeKind
from lexfed.secagg.mask_sessions.server_rounds import RoundOpening
from lexfed.secagg.masks.epoch_secrets import part_bytes
from support.federation.liars import (
    LIES,
    OPENING,
    SETTING_UP,
    Outcome,
    Sites,
    case,
    lied_to,
)
from support.secagg.disputes import payload_of

FORKS = 50
PLANTED = 20
_ANYTIME = 0.05


def checked_once() -> None:
    """Remember which signatures hold: many sites of one process check the same."""
    verify = Roster.verify

    @cache
    def holds(public: bytes, name: str, message: bytes, signature: bytes) -> bool:
        try:
            verify(Roster({name: public}), name, message, signature)
        except SecAggError:
            return False
        return True

    def remembered(self: Roster, name: str, message: bytes, signature: bytes) -> None:
        if name not in self or not holds(self.public(name), name, message, signature):
            verify(self, name, message, signature)

    vars_of: Any = Roster
    vars_of.verify = remembered


def rehearsed(sites: Sites) -> Sites:
    """Let sites deal, and check the signatures of what they dealt."""
    sites.rehearse()
    for (name, message), said in sites.recorded.items():
        session = sites.sites[name]._session
        if message[5:6] != bytes((EnvelopeKind.KEYS,)) or session is None:
            continue
        listed, rounds = session._listed, session._setting.terms.rounds
        near = listed.circles[session._seat]
        payload = memoryview(payload_of(said))
        for holder, part in Deal.read(
            payload, session._seat, near, rounds
        ).parts.items():
            signed = part_bytes(listed.digest, session.name, listed.names[holder], part)
            session._setting.sites.verify(session.name, signed, part.signature)
    return sites


def forked(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Run something in a copy of this process and return what it says."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        said = file.read()
    os.waitpid(child, 0)
    found: dict[str, Any] = json.loads(said)
    return found


def blame_dealers() -> None:
    """Plant a wrong rule: a wrong share is blamed on one of its dealers."""
    add = RoundOpening.add

    def wrong(self: RoundOpening, seat: int, payload: memoryview) -> None:
        try:
            add(self, seat, payload)
        except SecAggError as error:
            names = self._cohort.listed.names
            dealers = [names[at] for at in self._cohort.circle(seat) if at != seat]
            raise SecAggError(error.message, blamed=dealers[:1]) from error

    vars_of: Any = RoundOpening
    vars_of.add = wrong


def said(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as plain numbers."""
    return {
        "liars": len(outcome.kinds),
        "kinds": sorted(outcome.kinds.values()),
        "blamed": len(outcome.blamed),
        "unnamed": len(outcome.unnamed),
        "innocent": len(outcome.innocent),
        "wrong": outcome.wrong,
        "lost": outcome.lost,
    }


def one(seed: int, sites: Sites) -> dict[str, Any]:
    """Run one case in a fork of its own."""
    coins = random.Random(seed)  # noqa: S311
    liars, kinds = coins.randint(1, 9), coins.choice((SETTING_UP, OPENING))
    if coins.random() < _ANYTIME:
        sites, kinds = Sites.of_world(sites.of), tuple(LIES)
    return said(case(sites, coins, liars, kinds))


def planted(seed: int, sites: Sites) -> dict[str, Any]:
    """Run one case with wrong shares under a wrong rule."""
    blame_dealers()
    coins = random.Random(seed)  # noqa: S311
    return said(case(sites, coins, coins.randint(1, 9), ["wrong shares"]))


def main(cases: int, seed: int) -> dict[str, Any]:
    """Run all cases and count."""
    began = time.monotonic()
    checked_once()
    world = lied_to(100)
    found: list[dict[str, Any]] = []
    for start in range(0, cases, FORKS):
        sites = rehearsed(Sites.of_world(world))
        for number in range(start, min(start + FORKS, cases)):
            found.append(forked(partial(one, seed + number, sites)))
        bad = sum(each["unnamed"] + each["innocent"] + each["wrong"] for each in found)
        print(f"{len(found)} of {cases}, {bad} bad", file=sys.stderr, flush=True)
    sites = rehearsed(Sites.of_world(world))
    wrong = [forked(partial(planted, seed + at, sites)) for at in range(PLANTED)]
    told = Counter(kind for each in found for kind in each["kinds"])
    return {
        "cases": len(found),
        "seed": seed,
        "sites": 100,
        "liars": sum(each["liars"] for each in found),
        "by_kind": dict(sorted(told.items())),
        "blamed": sum(each["blamed"] for each in found),
        "unnamed": sum(each["unnamed"] for each in found),
        "innocent": sum(each["innocent"] for each in found),
        "wrong_sums": sum(each["wrong"] for each in found),
        "lost_rounds": sum(each["lost"] for each in found),
        "planted": f"{sum(each['innocent'] > 0 for each in wrong)} of {PLANTED}",
        "seconds": round(time.monotonic() - began),
    }


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:3]]
    result = main(*(numbers + [1000, 1][len(numbers) :]))
    print(json.dumps(result))
    bad = result["unnamed"] + result["innocent"] + result["wrong_sums"]
    sys.exit(1 if bad else 0)
