# SPDX-License-Identifier: Apache-2.0
"""The state of a run after an interruption, at whatever moment it came.

    charged, no trace of a release      run again under the same charge, if nothing
                                        can have left a site unseen; else lost
    charged, a part of it on disk       spent and lost: the next round is asked
    staged, and its entry in the log    published: it was whole, and others may know it
    released                            done

Rounds are charged one by one, so at most the last one is open. A lost round is written
down, for others and for us, before its trace is removed; a crash in between finds the
same answer again.
"""

from dataclasses import dataclass

from lexfed.errors import RunFolderError
from lexfed.federation.coordinator.learner import Progress
from lexfed.plain_files import MOST_OF_A_MODEL, read_plain
from lexfed.privacy.releases import Release
from lexfed.run.audit_log.logbook import Logbook, sha256
from lexfed.run.folder import EVENTS, OLD_COPY, RunFolder
from lexfed.run.resumption.journal import read_journal


@dataclass(frozen=True)
class ResumePoint:
    """The state from which a run goes on.

    Attributes:
        progress: state after the last round that is over.
        charges: every release charged so far, in order; None without privacy.
        paid: whether the next round is charged already.
        released: rounds whose release is part of the state.
        durable: state after the last round whose release is on disk.
    """

    progress: Progress
    charges: tuple[Release | None, ...]
    paid: bool
    released: int
    durable: Progress


def recover(
    folder: RunFolder, start: Progress, logbook: Logbook, answers_left: bool = False
) -> ResumePoint:
    """Return the state of a run, and settle an open round.

    `start` is the state before the first round. If `answers_left`, sites may have
    answered a round that was charged: they are not asked again for nothing, so such a
    round is lost.

    Raises:
        RunFolderError: if events and state contradict each other.
    """
    journal = read_journal(folder.path / EVENTS, folder.events.rows)
    charges, lost = journal.charges, set(journal.lost)
    _publish_what_is_logged(folder, logbook, len(charges))
    durable = folder.state() or start
    over = durable.done
    while over + 1 in lost:
        over += 1
    if not over <= len(charges) <= over + 1:
        raise RunFolderError(
            f"`{folder.path / EVENTS}` lists {len(charges)} charged rounds, the state "
            f"knows {over}",
            OLD_COPY,
        )
    paid = len(charges) == over + 1
    seen = folder.partial_release.exists() or logbook.is_over(over + 1)
    if paid and (seen or answers_left):
        over += 1
        logbook.aborted(over, charges[-1].release, "interrupted")
        folder.events.append({"type": "lost", "round": over})
        lost.add(over)
        paid = False
    folder.partial_release.unlink(missing_ok=True)
    progress = durable
    for charge in charges[durable.done : over]:
        progress = progress.after_round(charge.stage, charge.step)
    return ResumePoint(
        progress=progress,
        charges=tuple(charge.release for charge in charges),
        paid=paid,
        released=over - len(lost),
        durable=durable,
    )


def _publish_what_is_logged(folder: RunFolder, logbook: Logbook, last: int) -> None:
    """Finish a round that was interrupted between its entry and its release."""
    staged, entry = folder.partial_release, logbook.round_entry(last)
    if entry is None or not staged.exists():
        return
    # Without privacy nothing is hashed; the entry alone says that staging was over.
    if entry.state is None or entry.state == sha256(
        read_plain(staged, MOST_OF_A_MODEL)
    ):
        folder.publish()
