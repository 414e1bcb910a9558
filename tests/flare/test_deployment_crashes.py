# SPDX-License-Identifier: Apache-2.0
"""One run through everything that can end: a site, a worker, a disk, the coordinator.

Every party is killed in the middle of a round. To be sure of that the worker of a site
is stopped first: then the round is charged, and its answer cannot come.
"""

from pathlib import Path

import psutil
import pytest

from support.deployed.federations import Federation, Submitted, federation
from support.deployed.paid_rounds import answered, assert_paid, logged_charges
from support.deployed.worlds import SITES, config_text

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

EPOCH = 8
TEXT = config_text(
    trust="distributed",
    privacy='accountant = "rdp"',
    federation=f"dropouts = 1\nsetup_rounds = {EPOCH}",
).replace("rounds = 2", "rounds = 14")


def in_epoch(made: Federation, number: int) -> bool:
    """Return True if rounds of an epoch have begun, and enough of them are to come."""
    return EPOCH * (number - 1) < len(made.charges()) < EPOCH * number


def stop_in_a_round(made: Federation, run: Submitted, site: str, epoch: int) -> None:
    """Stop the worker of a site such that a round waits for its answer."""
    run.until(lambda: in_epoch(made, epoch))
    [worker] = made.workers(site)
    worker.suspend()
    run.until(lambda: len(made.charges()) > made.released())


def fill_disk(made: Federation, run: Submitted, site: str, epoch: int) -> None:
    """Let a site's process write no more than its ledger has, for one epoch."""
    run.until(lambda: in_epoch(made, epoch))
    [path] = made.kits[site].state.glob("runs/*/ledger.jsonl")
    [worker] = made.workers(site)
    most = path.stat().st_size + 10  # room for a part of a line
    worker.rlimit(psutil.RLIMIT_FSIZE, (most, most))
    before, later = made.ledger(site), min(len(made.charges()) + 3, EPOCH * epoch)
    run.until(lambda: len(made.charges()) >= later)
    assert made.ledger(site) == before  # refused


def test_a_run_survives_everybody(tmp_path: Path) -> None:
    with federation(tmp_path, SITES) as made:
        path = made.agree(TEXT)
        with made.running(path) as run:
            stop_in_a_round(made, run, "south", epoch=1)
            made.kill("south")
            made.start("south")
            stop_in_a_round(made, run, "east", epoch=2)
            made.kill_worker("east")
            fill_disk(made, run, "north", epoch=3)
            stop_in_a_round(made, run, "south", epoch=4)
            made.kill("coordinator")
            said = run.finish(code=2)
        assert "the coordinator does not answer" in said
        made.start("coordinator")
        made.run(path, "--resume")
        # Both were asked in a round that they did not see the end of.
        assert_paid(made, missed={"south": 1, "east": 1})
        for name in SITES:
            rounds = answered(made, name)
            assert len(rounds) < len(logged_charges(made)), name
            assert max(rounds) == max(logged_charges(made)), name  # it was back
        # A site that was started again is there in the next epoch.
        assert any(EPOCH < n <= 2 * EPOCH for n in answered(made, "south"))
