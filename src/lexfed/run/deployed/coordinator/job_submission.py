# SPDX-License-Identifier: Apache-2.0
"""`lexfed deploy run`: one FLARE job for every set-up epoch, until the run is finished.

Everything that must survive is in the kits: this process and the coordinator may end at
any time, and go on from the run's own folder.
"""

import csv
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lexfed.errors import RunFolderError
from lexfed.federation.flare.jobs.admin_session import AdminSession, JobPart, write_job
from lexfed.federation.flare.kit.folder import Kit
from lexfed.federation.programme.json_form import from_bytes
from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain
from lexfed.run.deployed.coordinator.run_place import EpochOutcome, RunPlace, place_run
from lexfed.run.driver.open_run import finished_result
from lexfed.run.results.run_result import RunResult, read_result

StatusWriter = Callable[[str], None]

_RUN_EPOCH = "lexfed.run.deployed.flare_parts.RunEpoch"
_SITE_WORK = "lexfed.run.deployed.flare_parts.SiteWork"
_CRASHES = 3
"""Jobs in a row that may end without a word of their own."""


@dataclass(frozen=True)
class WaitLimits:
    """Limits on waiting, in seconds.

    Attributes:
        sites: for the sites that a run cannot do without.
        latecomers: for the others, such as one that is being restarted.
        ending: for FLARE to end a job whose epoch is over, before it is told to.
        look: between two looks.
    """

    sites: float = 300.0
    latecomers: float = 10.0
    ending: float = 15.0
    look: float = 0.3


def deploy_run(
    config_path: Path,
    kit: Kit,
    *,
    profile: float | None = None,
    resuming: bool = False,
    say: StatusWriter = lambda _: None,
    waiting: WaitLimits | None = None,
) -> RunResult:
    """Run a configuration in a deployment, or go on with a run.

    `kit` is the coordinator's, whose process is running; `profile` the epsilon that a
    record pays for a profile, None for training. `say` is given one line of progress at
    a time.

    Raises:
        RunFolderError: if there is a run already, if the coordinator does not answer,
            or if sites are missing; the run can be resumed.
        LexfedError: with the words and the exit code of what ended the epoch.
    """
    if kit.role != "coordinator":
        raise RunFolderError(
            f"`{kit.folder}` is the kit of a site",
            "runs are started with the kit of the coordinator",
        )
    place = RunPlace(kit, place_run(kit, config_path, profile))
    if place.begun and not resuming:
        raise RunFolderError(
            f"`{place.out}` already contains a run",
            "continue it with `--resume`, or choose another `run.name`",
        )
    done = finished_result(place.bundle().config, place.out) if place.begun else None
    if done is not None:
        say(f"`{place.out}` is finished already; nothing was spent")
        return done
    with AdminSession(kit) as admin:
        _EpochRunner(admin, place, say, waiting or WaitLimits()).run()
    return read_result(place.out)


@dataclass
class _EpochRunner:
    """Submits jobs until a run is finished."""

    admin: AdminSession
    place: RunPlace
    say: StatusWriter
    waiting: WaitLimits
    job: str = ""
    shown: int = 0

    @property
    def name(self) -> str:
        """The name of the run's jobs."""
        return f"lexfed-{self.place.folder.name}"

    def run(self) -> None:
        """Run epoch after epoch."""
        for stale in self.admin.unfinished(self.name):
            self.admin.end(stale)
        crashes = 0
        while crashes < _CRASHES:
            outcome = self._epoch(self._gather())
            if outcome is None:
                crashes += 1
                self.say("the coordinator's process of the job ended early; again")
                continue
            if outcome.error is not None:
                raise outcome.error
            if outcome.finished:
                return
            crashes = 0
        raise RunFolderError(
            f"{_CRASHES} jobs in a row ended without a word",
            "the logs of the job and of the coordinator say why: "
            f"`flare/{self.job}/log.txt` and `flare/log.txt` in its kit",
        )

    def _gather(self) -> int:
        """Wait for the sites of the run; return the number it cannot do without."""
        bundle = self.place.bundle()
        names = frozenset(bundle.sites)
        # A run begins with everybody, whoever may be missing later.
        spare = bundle.config.federation.dropouts if self.place.begun else 0
        least = len(names) - spare
        begin, told = time.monotonic(), frozenset[str]()
        while True:
            missing = names - self.admin.sites()
            waited = time.monotonic() - begin
            if not missing:
                return least
            if len(missing) <= spare and waited > self.waiting.latecomers:
                self.say(f"going on without {', '.join(sorted(missing))}")
                return least
            if waited > self.waiting.sites:
                raise RunFolderError(
                    f"not connected: {', '.join(sorted(missing))}",
                    "start them with `lexfed site start KIT --data FILE`, then "
                    "continue with `lexfed deploy run --resume`",
                )
            if missing != told:
                self.say(f"waiting for {', '.join(sorted(missing))}")
                told = missing
            time.sleep(self.waiting.look)

    def _epoch(self, least: int) -> EpochOutcome | None:
        """Run one job; return its epoch's outcome, None if its process crashed."""
        coordinator = JobPart(_RUN_EPOCH, {"run": self.place.folder.name})
        site = JobPart(_SITE_WORK, {})
        with tempfile.TemporaryDirectory() as folder:
            written = write_job(Path(folder), self.name, least, coordinator, site)
            self.job = job = self.admin.submit(written)
        try:
            while True:
                over = self.admin.over(job)
                outcome = EpochOutcome.read(self.place.folder, job)
                self._show_rounds()
                if over or outcome is not None:
                    self._end(job)
                    return outcome
                time.sleep(self.waiting.look)
        except KeyboardInterrupt:
            self.admin.end(job)
            raise

    def _end(self, job: str) -> None:
        """Wait until a job has ended; FLARE may be waiting for a site that is gone."""
        until = time.monotonic() + self.waiting.ending
        told = False
        while not self.admin.over(job):
            if time.monotonic() > until:
                if told:
                    return
                self.admin.end(job)
                told = True
                until = time.monotonic() + self.waiting.ending
            time.sleep(self.waiting.look)

    def _show_rounds(self) -> None:
        """Report the rounds done so far, about ten times in all."""
        measured = _measured(self.place.out)
        if len(measured) <= self.shown:
            return
        # A run that learns may end before the last planned round.
        programme = read_plain(self.place.folder / "programme.json", MOST_OF_A_DOCUMENT)
        rounds = from_bytes(programme).rounds
        for row in measured[self.shown :]:
            number, stage, *values = row.items()
            done = int(number[1])
            if done % max(1, rounds // 10) == 0 or done == rounds:
                said = "   ".join(f"{name} {value}" for name, value in values)
                self.say(f"  round {done} of {rounds}   {stage[1]}   {said}".rstrip())
        self.shown = len(measured)


def _measured(out: Path) -> list[dict[str, str]]:
    try:
        text = read_plain(out / "metrics.csv", MOST_OF_A_DOCUMENT).decode()
    except OSError:
        return []
    whole = text[: text.rfind("\n") + 1]  # the last line may be half written
    return list(csv.DictReader(whole.splitlines()))
