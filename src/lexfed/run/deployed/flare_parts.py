# SPDX-License-Identifier: Apache-2.0
"""The two classes that a FLARE job of lexfed names: one epoch, and a site's work.

A job says which run it is for and nothing else. Which kit, which data and which budget
are things that a process knows from where it was started.
"""

import time
from collections.abc import Sequence

from lexfed.errors import LexfedError, RunFolderError
from lexfed.federation.engines.channel import Channel, Handler
from lexfed.federation.flare.jobs.channel import EpochController
from lexfed.federation.flare.jobs.executor import SiteExecutor
from lexfed.federation.flare.kit.enrolment import read_roster
from lexfed.federation.flare.kit.folder import COORDINATOR, Kit
from lexfed.run.deployed.coordinator.epoch_driver import drive_epoch
from lexfed.run.deployed.coordinator.run_place import EpochOutcome, RunPlace
from lexfed.run.deployed.signed_messages import GuardedDoor, SignedChannel
from lexfed.run.deployed.site.door import SiteDoor
from lexfed.run.deployed.site.run_state import SiteBusy, SiteLock
from lexfed.signing.keys import Signer, load_key

_EARLIER_S = 45.0


class RunEpoch(EpochController):
    """Goes on with a run for one set-up epoch.

    Guarantees: how it ended is beside the run, for who submitted the job; an error
    that is not ours is told by its type alone.
    """

    def __init__(self, run: str) -> None:
        super().__init__()
        self._run = run

    def drive(self, channel: Channel, sites: Sequence[str], job: str) -> None:
        """Run one epoch and write down how it ended."""
        kit = Kit.of_process()
        error: LexfedError | None = None
        finished = False
        try:
            signer = Signer(COORDINATOR, load_key(kit.identity_key))
            signed = SignedChannel(channel, signer, job)
            finished = drive_epoch(kit, self._run, signed, sites)
        except LexfedError as known:
            error = known
        except Exception as unknown:
            name = type(unknown).__name__
            error = LexfedError(f"internal error in the coordinator: {name}")
        if error is not None:
            self.logger.error(f"the epoch ended: {error.message}")
        EpochOutcome(job, finished, error).write(RunPlace(kit, self._run).folder)


class SiteWork(SiteExecutor):
    """Answers for a site, from the kit and the table it was started with."""

    def __init__(self) -> None:
        super().__init__()
        self._open: SiteDoor | None = None

    def open_door(self, job: str) -> Handler:
        """Open the site of this process, for its coordinator."""
        kit = Kit.of_process()
        if kit.data is None:
            raise RunFolderError(
                "the site was started without its data",
                "start it with `lexfed site start KIT --data FILE`",
            )
        _wait_for_earlier(kit)
        self._open = SiteDoor(kit, kit.data)
        coordinator = read_roster(kit).keys[COORDINATOR]
        return GuardedDoor(self._open, coordinator, kit.name, job)

    def close_door(self) -> None:
        """Let the next job's process work with the site's state."""
        if self._open is not None:
            self._open.close()


def _wait_for_earlier(kit: Kit) -> None:
    """Wait until no process of an earlier job works with the site's state.

    After a crash of the coordinator FLARE needs some seconds to end them; a site that
    is not ready is waited for, one that refuses is not.
    """
    until = time.monotonic() + _EARLIER_S
    while time.monotonic() < until:
        try:
            SiteLock(kit).close()
        except SiteBusy:
            time.sleep(0.5)
        else:
            return
