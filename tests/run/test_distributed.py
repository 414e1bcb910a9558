# SPDX-License-Identifier: Apache-2.0
"""Whole runs of distributed trust in one process: claim, log, accuracy, losses."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from lexfed.arrays import Integers
from lexfed.audit.entries import AbortedRoundEntry, ChangeEntry, PolicyEntry, RoundEntry
from lexfed.errors import Refused, SecAggError
from lexfed.federation.engines.masked_setting import seat_name
from lexfed.privacy.claim.proof import check_claim
from lexfed.run import resume, start, train
from lexfed.run.driver.training_loop import MOST_LOST
from lexfed.secagg.envelopes.sealed_messages import EnvelopeKind, seal
from lexfed.secagg.mask_sessions.site import SiteSession
from lexfed.signing.keys import fingerprint
from support.audit.two_verifiers import compared
from support.federation.masked_worlds import step_of
from support.run.distributed_runs import (
    CENTRAL,
    CONFIG,
    Line,
    Loses,
    Price,
    Stop,
    entries,
    events,
    ledgers,
    stop_after,
    verified,
)


@pytest.fixture
def lossy(monkeypatch: pytest.MonkeyPatch) -> Callable[[Loses], None]:
    """Put the sites of the next run behind a line that loses answers."""

    def put(loses: Loses) -> None:
        monkeypatch.setattr(
            "lexfed.run.driver.engine_choice.InProcessChannel", Line(loses)
        )

    return put


def test_a_run_of_distributed_trust(priced_of: Price, tmp_path: Path) -> None:
    priced, path = priced_of(CONFIG), tmp_path / "run"
    result = train(priced, start(priced, path, CONFIG))
    assert (result.rounds, result.lost, result.stopped) == (7, 0, "")
    claim = result.claim
    assert claim is not None
    check_claim(claim)
    assert claim.trust == "distributed"
    assert claim.mechanism.noise == "skellam-shares"
    assert claim.accountant.name == "rdp"
    assert claim.cohort is not None
    assert claim.cohort.model_dump() == {
        "sites": 4, "colluders": 0, "dropouts": 1, "honest": 3, "threshold": 3,
    }  # fmt: skip
    assert claim.epsilon <= 3.0
    [policy] = entries(path, PolicyEntry)
    assert (policy.noise, policy.aggregation) == ("skellam-shares", "masking")
    rounds = entries(path, RoundEntry)
    assert [entry.aggregation.epoch for entry in rounds] == [1, 1, 1, 2, 2, 2, 3]
    assert {entry.aggregation.survivors for entry in rounds} == {4}
    planned = [r for r, count in priced.programme.charges() for _ in range(count)]
    for file in (path / "sites").glob("*.jsonl"):
        paid = [json.loads(line) for line in file.read_text().splitlines()]
        assert paid == [release.to_json() for release in planned]
    rows = compared(path)
    assert rows["secure aggregation"]["status"] == "OK"
    names = [site.name for site in priced.population.sites]
    log = b"".join(f.read_bytes() for f in (path / "log").rglob("*") if f.is_file())
    assert not any(name.encode() in log for name in names)


def test_a_seeded_run_can_be_repeated(priced_of: Price, tmp_path: Path) -> None:
    """Masks and keys differ; the model does not."""
    models = []
    for number in range(2):
        path = tmp_path / str(number) / "run"
        priced = priced_of(CONFIG)
        train(priced, start(priced, path, CONFIG))
        models.append((path / "state.safetensors").read_bytes())
    assert models[0] == models[1]


def test_accuracy_is_close_to_central(priced_of: Price, tmp_path: Path) -> None:
    """Without dropouts or colluders the noise is the charged one.

    All noise is seeded, so this cannot fail by chance. That a model with too much noise
    would show is seen at a thirtieth of the budget.
    """
    found = {}
    for name, text in (
        ("shared", CONFIG.replace("dropouts = 1\n", "")),
        ("central", CENTRAL),
        ("noisy", CENTRAL.replace("epsilon = 3.0", "epsilon = 0.1")),
    ):
        large = text.replace("patients = 400", "patients = 3000")
        priced = priced_of(large)
        result = train(priced, start(priced, tmp_path / name, large))
        found[name] = result.metrics["auc"]
    assert found["shared"] == pytest.approx(found["central"], abs=0.02)
    assert found["noisy"] < found["central"] - 0.04


@pytest.mark.parametrize("step", ["ask", "survivors", "consents"])
def test_a_site_may_be_lost_in_the_middle_of_a_round(
    step: str, priced_of: Price, tmp_path: Path, lossy: Callable[[Loses], None]
) -> None:
    lossy(lambda query, at, site: (query, at, site) == (2, step, "1"))
    priced, path = priced_of(CONFIG), tmp_path / "run"
    result = train(priced, start(priced, path, CONFIG))
    assert (result.rounds, result.lost) == (7, 0)
    survivors = [entry.aggregation.survivors for entry in entries(path, RoundEntry)]
    assert survivors == [4, 3 if step == "ask" else 4, 4, 4, 4, 4, 4]
    assert ledgers(path) == [7, 7, 7, 7]  # it answered, and was charged for it
    verified(path)
    assert compared(path)["participants"]["status"] == "OK"


def test_a_site_that_never_hears_of_a_round_is_not_charged(
    priced_of: Price, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Deaf(Line):
        def exchange(
            self, messages: Mapping[str, bytes], most: int = 2**20
        ) -> Mapping[str, bytes]:
            step = step_of(next(iter(messages.values())))
            gone = self._names[2] if step == "ask" and self._query == 3 else ""
            heard = {name: said for name, said in messages.items() if name != gone}
            return super().exchange(heard, most)

    monkeypatch.setattr(
        "lexfed.run.driver.engine_choice.InProcessChannel", Deaf(lambda *_: False)
    )
    priced, path = priced_of(CONFIG), tmp_path / "run"
    train(priced, start(priced, path, CONFIG))
    assert sorted(ledgers(path)) == [6, 7, 7, 7]
    verified(path)


def test_with_too_few_left_a_round_is_lost_and_the_run_goes_on(
    priced_of: Price, tmp_path: Path, lossy: Callable[[Loses], None]
) -> None:
    lossy(lambda query, at, site: query == 3 and at == "survivors" and site in "12")
    priced, path = priced_of(CONFIG), tmp_path / "run"
    result = train(priced, start(priced, path, CONFIG))
    assert (result.rounds, result.lost) == (6, 1)
    [aborted] = entries(path, AbortedRoundEntry)
    assert (aborted.round, aborted.cause, aborted.released) == (3, "site-lost", "no")
    assert aborted.event is not None
    rounds = entries(path, RoundEntry)
    assert [entry.round for entry in rounds] == [1, 2, 4, 5, 6, 7]
    assert [entry.aggregation.epoch for entry in rounds] == [1, 1, 2, 2, 2, 3]
    assert float(rounds[-1].epsilon_so_far) == pytest.approx(3.0)  # it stays paid
    assert compared(path)["rounds"]["status"] == "OK"
    verified(path)
    lost = [row for row in events(path) if row["type"] == "lost"]
    assert "too small" in lost[0]["reason"]


def test_rounds_that_are_lost_one_after_the_other_stop_the_run(
    priced_of: Price, tmp_path: Path, lossy: Callable[[Loses], None]
) -> None:
    """Going on would spend the budget on nothing; later the run can be resumed."""
    lossy(lambda query, at, site: query > 1 and at == "ask" and site in "12")
    priced, path = priced_of(CONFIG), tmp_path / "run"
    with pytest.raises(Refused, match="3 rounds in a row were lost") as stopped:
        train(priced, start(priced, path, CONFIG))
    assert "stay paid" in stopped.value.hint
    assert len(entries(path, AbortedRoundEntry)) == MOST_LOST
    lossy(lambda *_: False)
    result = train(priced, resume(priced, path, CONFIG))
    assert (result.rounds, result.lost) == (4, 3)
    verified(path)


def test_who_signs_another_list_is_excluded_also_from_later_jobs(
    priced_of: Price, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The site lies once; the run is stopped after that round and resumed."""
    honest = SiteSession.consent

    def lies(self: SiteSession, message: bytes) -> bytes:
        said = honest(self, message)
        if self.name == self._setting.sites.names[0]:
            return seal(EnvelopeKind.CONSENT, self._round, self._identity, bytes(32))
        return said

    monkeypatch.setattr(SiteSession, "consent", lies)
    priced, path = priced_of(CONFIG), tmp_path / "run"
    opened = start(priced, path, CONFIG)
    with pytest.raises(Stop):
        train(priced, opened, stop_after(1))
    [row] = [row for row in events(path) if row["type"] == "excluded"]
    assert "signed another list" in row["reason"]
    monkeypatch.undo()
    result = train(priced, resume(priced, path, CONFIG))
    assert (result.rounds, result.lost) == (7, 0)
    rounds = entries(path, RoundEntry)
    assert [entry.aggregation.survivors for entry in rounds] == [4] + 6 * [3]
    [change] = entries(path, ChangeEntry)
    assert (change.what, change.after) == ("site-excluded", None)
    assert change.before == fingerprint(opened.logbook.keys.public[row["site"]])
    verified(path)
    compared(path)


def test_a_sum_that_leaves_its_bound_ends_the_run_after_one_round(
    priced_of: Price, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One site sends as much as the ring holds from round 2 on."""
    honest = SiteSession.mask
    loud = {"name": ""}

    def lies(self: SiteSession, number: int, model: bytes, values: Integers) -> bytes:
        loud["name"] = self._setting.sites.names[0]
        if self.name == loud["name"] and (self._setting.epoch, number) >= (1, 2):
            values = np.full_like(values, self._setting.terms.ring.largest)
        return honest(self, number, model, values)

    monkeypatch.setattr(SiteSession, "mask", lies)
    priced, path = priced_of(CONFIG), tmp_path / "run"
    opened = start(priced, path, CONFIG)
    keys = opened.logbook.keys.public
    with pytest.raises(Refused, match="left its bound") as stopped:
        train(priced, opened)
    assert "stays paid" in stopped.value.hint
    assert sum(row["type"] == "charge" for row in events(path)) == 2
    [aborted] = entries(path, AbortedRoundEntry)
    assert (aborted.round, aborted.cause, aborted.released) == (
        2, "sum-out-of-bound", "no",
    )  # fmt: skip
    assert entries(path, ChangeEntry) == []  # nothing shows who it was
    # Left out by its people, as one of the dropouts, it costs nothing more.
    [liar] = [name for name in keys if seat_name(keys[name]) == loud["name"]]
    place = str(sorted(keys).index(liar))
    gone = Line(lambda _, step, site: step == "begin" and site == place)
    monkeypatch.setattr("lexfed.run.driver.engine_choice.InProcessChannel", gone)
    result = train(priced, resume(priced, path, CONFIG))
    assert (result.rounds, result.lost) == (6, 1)
    verified(path)
    compared(path)


def test_without_a_set_up_nothing_is_charged(
    priced_of: Price, tmp_path: Path, lossy: Callable[[Loses], None]
) -> None:
    lossy(lambda query, at, site: query == 3 and at == "begin" and site in "12")
    priced, path = priced_of(CONFIG), tmp_path / "run"
    with pytest.raises(SecAggError, match="no epoch of masked sums could be set up"):
        train(priced, start(priced, path, CONFIG))
    assert sum(row["type"] == "charge" for row in events(path)) == 3
    lossy(lambda *_: False)
    result = train(priced, resume(priced, path, CONFIG))
    assert (result.rounds, result.lost) == (7, 0)
    verified(path)
