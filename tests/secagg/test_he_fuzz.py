# SPDX-License-Identifier: Apache-2.0
"""Ten thousand broken messages under encryption crash nothing and change nothing."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from lexfed.secagg.encrypted import tenseal_bfv
from lexfed.secagg.encrypted.parties import KeyHolder, SiteEncryptor
from support.secagg.encrypted_sums import HOLDER, Encrypted, agreed
from support.secagg.secure_sums import MODEL, identity, names, refused

EACH = 2000


def broken(message: bytes, rng: np.random.Generator) -> bytes:
    """A message with one thing wrong; often in its head or near its end."""
    changed = bytearray(message)
    near = (len(message), 250, 250)[int(rng.integers(3))]
    place = int(rng.integers(min(near, len(message))))
    if rng.integers(2):
        place = len(message) - 1 - place
    kind = int(rng.integers(4))
    if kind == 0:
        changed[place] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        del changed[place:]
    elif kind == 2:
        changed[place:place] = rng.bytes(int(rng.integers(1, 99)))
    else:
        changed[place] = (changed[place] + 1 + int(rng.integers(255))) % 256
    return bytes(changed)


def all_refused(
    take: Callable[[bytes], object], message: bytes, rng: np.random.Generator
) -> int:
    """Try broken forms of a message and return how many there were."""
    for _ in range(EACH):
        refused(partial(take, broken(message, rng)))
    refused(partial(take, message + bytes(10**6)))
    return EACH + 1


def test_broken_messages_are_refused_and_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(11)
    epoch = Encrypted(agreed())
    sent = epoch.encrypt()
    fresh = KeyHolder(identity(HOLDER), epoch.setting)
    late = SiteEncryptor(identity("site000"), epoch.setting)
    loads: list[object] = []
    with monkeypatch.context() as patch:
        patch.setattr(tenseal_bfv._Scheme, "load", lambda *given: loads.append(given))
        count = all_refused(fresh.admit, epoch.sites["site000"].join(), rng)
        count += all_refused(late.accept, epoch.announced, rng)
        epoch.server.start(1, MODEL)
        count += all_refused(epoch.server.take, sent["site000"], rng)
        for name in names(4):
            epoch.server.take(sent[name])
        summed = epoch.server.close()
        count += all_refused(partial(epoch.holder.open, 1, MODEL), summed, rng)
    assert not loads
    opened = epoch.holder.open(1, MODEL, summed)
    count += all_refused(partial(epoch.read, 1), opened, rng)
    assert count >= 10_000
    assert epoch.read(1, opened).values.tolist() == epoch.truth(names(4))
