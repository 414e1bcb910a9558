# SPDX-License-Identifier: Apache-2.0
"""Runs with sites that are elsewhere, in parts, and after interruptions."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lexfed.audit.entries import AbortedRoundEntry, RoundEntry
from lexfed.run import PricedRun, resume, start, train, train_part
from support.run.distributed_runs import (
    CENTRAL,
    CONFIG,
    LOCAL,
    Price,
    Stop,
    doors_of,
    entries,
    events,
    ledgers,
    stop_after,
    verified,
)


@pytest.mark.parametrize("text", [CONFIG, LOCAL, CENTRAL])
def test_sites_behind_a_channel_give_the_same_model(
    text: str, priced_of: Price, tmp_path: Path
) -> None:
    priced = priced_of(text)
    train(priced, start(priced, tmp_path / "here", text))
    opened = start(priced, tmp_path / "there", text)
    result = train(priced, opened, channel=doors_of(priced, opened))
    assert result.rounds == priced.programme.rounds
    states = [tmp_path / name / "state.safetensors" for name in ("here", "there")]
    assert states[0].read_bytes() == states[1].read_bytes()
    assert not (tmp_path / "there" / "sites").exists()  # they keep their own ledgers
    verified(tmp_path / "there")


@pytest.mark.parametrize("text", [LOCAL, CENTRAL])
def test_a_silent_site_behind_a_channel_loses_rounds(
    text: str, priced_of: Price, tmp_path: Path
) -> None:
    priced, path = priced_of(text), tmp_path / "run"
    opened = start(priced, path, text)
    doors = doors_of(priced, opened)

    class Silent:
        """A channel on which nobody but the first site answers at first."""

        asked = 0

        def exchange(
            self, messages: Mapping[str, bytes], most: int = 2**20
        ) -> Mapping[str, bytes]:
            """Bring messages to some of the sites."""
            self.asked += 1
            return doors.exchange(messages if self.asked != 2 else {}, most)

    result = train(priced, opened, channel=Silent())
    assert (result.rounds, result.lost) == (priced.programme.rounds - 1, 1)
    verified(path)


# Interruptions


def test_an_interrupted_run_goes_on(priced_of: Price, tmp_path: Path) -> None:
    priced, path = priced_of(CONFIG), tmp_path / "run"
    with pytest.raises(Stop):
        train(priced, start(priced, path, CONFIG), stop_after(2))
    result = train(priced, resume(priced, path, CONFIG))
    assert (result.rounds, result.lost) == (7, 0)
    epochs = [entry.aggregation.epoch for entry in entries(path, RoundEntry)]
    assert epochs == [1, 1, 2, 2, 2, 3, 3]  # keys of an epoch die with the process
    verified(path)


def interrupted(
    priced: PricedRun, path: Path, text: str, patch: Any, what: str
) -> None:
    """Run two rounds, and die in the third after it was charged."""
    opened = start(priced, path, text)
    with pytest.raises(Stop):
        train(priced, opened, stop_after(2))

    def die(*_: object) -> None:
        raise Stop

    with patch.context() as patched:
        patched.setattr(what, die)
        with pytest.raises(Stop):
            train(priced, resume(priced, path, text))


@pytest.mark.parametrize("text", [CONFIG, LOCAL], ids=["distributed", "local"])
def test_a_round_that_was_charged_and_not_logged_is_lost(
    text: str, priced_of: Price, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    priced, path = priced_of(text), tmp_path / "run"
    what = "lexfed.federation.coordinator.rounds.Coordinator.receive"
    interrupted(priced, path, text, monkeypatch, what)
    result = train(priced, resume(priced, path, text))
    rounds = priced.programme.rounds
    assert (result.rounds, result.lost) == (rounds - 1, 1)
    [aborted] = entries(path, AbortedRoundEntry)
    assert (aborted.round, aborted.cause) == (3, "interrupted")
    assert set(ledgers(path)) == {rounds}
    verified(path)


def test_with_central_trust_it_is_run_again(
    priced_of: Price, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    priced, path = priced_of(CENTRAL), tmp_path / "run"
    what = "lexfed.federation.coordinator.rounds.Coordinator.receive"
    interrupted(priced, path, CENTRAL, monkeypatch, what)
    result = train(priced, resume(priced, path, CENTRAL))
    assert (result.rounds, result.lost) == (priced.programme.rounds, 0)


def test_a_run_in_parts(priced_of: Price, tmp_path: Path) -> None:
    priced, path = priced_of(CONFIG), tmp_path / "run"
    assert train_part(priced, start(priced, path, CONFIG), 3) is None
    assert train_part(priced, resume(priced, path, CONFIG), 3) is None
    assert sum(row["type"] == "charge" for row in events(path)) == 6
    result = train_part(priced, resume(priced, path, CONFIG), 3)
    assert result is not None
    assert result.rounds == 7
    again = train_part(priced, resume(priced, path, CONFIG), 3)
    assert again is not None
    assert again.rounds == 7


def test_the_last_part_ends_the_run(priced_of: Price, tmp_path: Path) -> None:
    priced, path = priced_of(CONFIG), tmp_path / "run"
    result = train_part(priced, start(priced, path, CONFIG), 7)
    assert result is not None
    assert result.rounds == 7
