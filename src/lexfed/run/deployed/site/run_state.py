# SPDX-License-Identifier: Apache-2.0
"""A site's state of one run, so that a restart changes nothing it agreed to.

    KIT/state/runs/<number of the run>/
      terms/            the files that the configuration names
      coins             which of its persons are for training; secret
      programme.json    the programme it consented to
      log               the log that its receipts are bound to
      coordinator       the key that leads its masked sums
      epoch             the last set-up of masks it took part in
      answered          round, stage and step that it answered last
      ledger.jsonl      what it was charged for
      pending.json      the charge it began last, before its lasting ledger has it
      claim.json        of a profile: what it promises, as the site computed it
      encoding.json     of a profile: its columns and their tiers

Another run has another number, another consent and another ledger.
"""

import os
import re
from typing import Self

from lexfed.data.people.lots import LotKeys
from lexfed.durable import FileLock, write_atomically, write_privately
from lexfed.errors import RunFolderError, SecAggError, system_reason
from lexfed.federation.engines.masked_setting import EpochSettings
from lexfed.federation.flare.kit.folder import Kit
from lexfed.federation.site.data_holder import NOWHERE, RoundPosition
from lexfed.plain_files import MOST_OF_A_MODEL, read_plain
from lexfed.secagg.masks.terms import MaskSetting

_ANSWERED = "answered"
_MOST_AHEAD = 2**20
"""Epochs that may have been set up without this site; more would use up all numbers."""


class RunState:
    """The folder of one run at a site."""

    def __init__(self, kit: Kit, run: str) -> None:
        self.folder = kit.state / "runs" / run
        self.terms = self.folder / "terms"
        self.ledger = self.folder / "ledger.jsonl"
        self.pending = self.folder / "pending.json"
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            reason = system_reason(error)
            raise RunFolderError(f"cannot write `{self.folder}`: {reason}") from error

    def keep(self, name: str, content: bytes) -> bool:
        """Write something once; say whether it is what was written the first time."""
        before = self._read(name)
        if before is None:
            write_atomically(self.folder / name, content)
        return before in (None, content)

    def answered(self, charges: int) -> RoundPosition:
        """Return the round that the site answered last, in whatever process.

        `charges` counts the rounds that its ledger was charged for: if there are any
        and the last answer is not known, any could be answered again, so the run is
        refused.
        """
        found = self._read(_ANSWERED)
        if found is None and not charges:
            return NOWHERE
        numbers = re.fullmatch(rb"(\d{1,15}) (\d{1,15}) (\d{1,15})", found or b"")
        if numbers is None:
            raise RunFolderError(
                f"`{self.folder / _ANSWERED}` is damaged or missing",
                "this run cannot go on here: no older copy says what was answered",
            )
        return RoundPosition(*map(int, numbers.groups()))

    def keep_answered(self, place: RoundPosition) -> None:
        """Record the round that the site is about to answer."""
        content = " ".join(map(str, place)).encode()
        write_atomically(self.folder / _ANSWERED, content)

    def coins(self) -> LotKeys:
        """Return the site's coins for this run: drawn once, the same ever after."""
        kept = self._read("coins")
        if kept is None:
            kept = LotKeys.fresh().to_bytes()
            write_privately(self.folder / "coins", kept)
        try:
            return LotKeys.from_bytes(kept)
        except ValueError as error:
            raise RunFolderError(f"`{self.folder / 'coins'}` is damaged") from error

    def settings(self, agreed: EpochSettings) -> EpochSettings:
        """Return the settings of masked sums, of which each epoch is entered once.

        A site that restarts has forgotten the secrets of its epoch. Nobody can have it
        enter the same epoch with others.
        """
        entered: list[int] = []

        def setting(epoch: int) -> MaskSetting:
            if epoch not in entered:
                try:
                    self._enter(epoch)
                except RunFolderError as error:  # its words name files of the site
                    raise SecAggError("its state cannot be written") from error
                entered.append(epoch)
            return agreed(epoch)

        return setting

    def _enter(self, epoch: int) -> None:
        last = int(self._read("epoch") or b"-1")
        if not last < epoch <= last + _MOST_AHEAD:
            raise SecAggError(f"epoch {epoch} does not come after epoch {last}")
        write_atomically(self.folder / "epoch", str(epoch).encode())

    def _read(self, name: str) -> bytes | None:
        path = self.folder / name
        try:
            return read_plain(path, MOST_OF_A_MODEL)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RunFolderError(f"cannot read `{path}`") from error


class SiteBusy(RunFolderError):
    """Another process of the site is at work."""


class SiteLock:
    """The lock of a site's state; `SiteBusy` if another process holds it."""

    def __init__(self, kit: Kit, name: str = "lock") -> None:
        path = kit.state / name
        try:
            kit.state.mkdir(mode=0o700, exist_ok=True)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            reason = system_reason(error)
            raise RunFolderError(f"cannot write `{path}`: {reason}") from error
        try:
            self._lock = FileLock(handle)
        except OSError as error:
            raise SiteBusy(
                f"`{path}` is held by another process of this site",
                "wait until it has ended",
            ) from error

    def close(self) -> None:
        """Let others write."""
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
