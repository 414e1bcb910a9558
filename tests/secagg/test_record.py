# SPDX-License-Identifier: Apache-2.0
"""A record shows which sum was opened, and no other passes for it."""

from dataclasses import replace
from functools import partial
from hashlib import sha256

import pytest

from lexfed.secagg.record import RoundRecord
from lexfed.secagg.server import ServerSession
from support.secure_sums import Epoch, names, refused, setting


@pytest.fixture(scope="module")
def epoch() -> Epoch:
    return Epoch(setting(5, colluders=1, least=3))


@pytest.fixture(scope="module")
def server(epoch: Epoch) -> ServerSession:
    return epoch.set_up()


@pytest.fixture(scope="module")
def record(epoch: Epoch, server: ServerSession) -> RoundRecord:
    epoch.round(server, names(5)[1:])
    return server.record()


def test_a_record_names_the_sites_of_the_sum(
    epoch: Epoch, server: ServerSession, record: RoundRecord
) -> None:
    assert server.survivors == names(5)[1:]
    assert record.survivors == (1, 2, 3, 4)
    assert set(record.consents) == set(names(5)[1:])
    assert epoch.sent["consent", "site001"][-96:-64] == record.signed_list
    record.check(epoch.agreed)


def test_a_record_of_anything_else_does_not_pass(
    epoch: Epoch, record: RoundRecord
) -> None:
    signers = dict(record.consents)
    first = signers.pop("site001")
    for other, why in (
        (replace(record, round=2), "not signed"),
        (replace(record, model=sha256(b"other").digest()), "not signed"),
        (replace(record, key_list=bytes(32)), "not signed"),
        (replace(record, cohort=(0, 1, 2, 3, 4, 5)), "not signed"),
        (replace(record, survivors=(0, 1, 2, 3, 4)), "not signed"),
        (replace(record, survivors=(1, 2, 3)), "too small"),
        (replace(record, consents=signers), "too small"),
        (replace(record, consents={**signers, "site000": first}), "not in its sum"),
        (replace(record, cohort=(1, 2, 3)), "not in its sum or cohort"),
        (replace(record, names=record.names[:2]), "too small"),
        (replace(record, names=record.names[:4]), "not in the key list"),
        (replace(record, names=(*record.names[:-1], "x")), "not in its sum"),
        (replace(record, names=("x", *record.names[1:])), "not signed"),
    ):
        assert why in refused(partial(other.check, epoch.agreed)).message


def test_a_record_under_other_terms_does_not_pass(record: RoundRecord) -> None:
    weaker = setting(5, colluders=0, least=3)
    assert "not signed" in refused(lambda: record.check(weaker)).message


def test_there_is_no_record_before_a_sum_can_be_opened(epoch: Epoch) -> None:
    fresh = Epoch(epoch.agreed)
    server = fresh.set_up()
    fresh.masked(server, fresh.sites)
    assert "waits for masked" in refused(server.record).message
