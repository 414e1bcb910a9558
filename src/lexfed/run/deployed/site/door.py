# SPDX-License-Identifier: Apache-2.0
"""The door of a site: join, plan, begin, and one answer a round.

The site trusts the coordinator with nothing it can check. It joins for configurations
its people consented to, computes the programme itself from the signed statements of
all, prices it with its own ledger, and from then on answers queries of that programme
and no other. Whatever goes wrong, the coordinator hears a code word; the reason is in
the site's own log.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from lexfed.errors import AuditError, ConfigError, DataError, LexfedError, Refused
from lexfed.federation.flare.hardening.limits import rotate
from lexfed.federation.flare.kit.folder import Kit
from lexfed.federation.programme.messages import Refusal, answer_to_bytes
from lexfed.run.deployed.signed_messages import (
    EnrolmentKind,
    RefusalCode,
    kind_of,
    refusal,
)
from lexfed.run.deployed.site.enrolment import SiteEnrolment, StepRefusal
from lexfed.run.deployed.site.run_state import SiteBusy, SiteLock

LOG = "site.log"
"""The notes of a site to its own people, in `KIT/state`."""


_CODES: tuple[tuple[type[LexfedError], RefusalCode], ...] = (
    (SiteBusy, "busy"),
    (DataError, "data"),
    (ConfigError, "configuration"),
    (Refused, "budget"),
    (AuditError, "message"),
)
"""Code words for errors; any other of ours is one of the site's state."""


class SiteDoor:
    """Answers every message that reaches a site.

    Guarantees:
        It never raises.
        Nothing is answered but refusals before its people have consented, and no
        query before it has consented itself to the programme.
        A programme that it does not compute itself from configuration and signed
        statements is refused, and so is one its ledger does not pay for.
        What it agreed to in a run stays, also after a restart.
        Neither answers nor its log hold a value of a row.
    """

    def __init__(self, kit: Kit, data: Path) -> None:
        self._kit = kit
        self._steps = SiteEnrolment(kit, data, partial(self._note, "budget"))
        self._lock: SiteLock | None = None

    def __call__(self, content: bytes) -> bytes:
        """Answer one message."""
        kind = kind_of(content)
        return self._round(content) if kind is None else self._before(kind, content)

    def close(self) -> None:
        """Let another process of this site work; everything charged is on disk."""
        self._steps.close()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _before(self, kind: EnrolmentKind, content: bytes) -> bytes:
        """Answer a message before the rounds, or say in one word why not."""
        why: RefusalCode
        try:
            return self._step(kind, content)
        except StepRefusal as error:
            why, reason = error.why, str(error)
        except LexfedError as error:
            why = next(
                (code for kind, code in _CODES if isinstance(error, kind)), "state"
            )
            reason = error.message
        except Exception as error:  # its text might hold anything
            why, reason = "defect", type(error).__name__
        self._note(why, reason)
        return refusal(why)

    def _step(self, kind: EnrolmentKind, content: bytes) -> bytes:
        steps: dict[EnrolmentKind, Callable[[bytes], bytes]] = {
            "join": self._steps.join,
            "offer": self._steps.plan,
            "begin": self._steps.begin,
            "end": self._steps.end,
        }
        if kind not in steps:
            raise StepRefusal("message", f"a coordinator does not send `{kind}`")
        if self._lock is None:
            self._lock = SiteLock(self._kit)
        return steps[kind](content)

    def _round(self, content: bytes) -> bytes:
        if self._steps.rounds is None:
            return self._refusal("no programme was agreed on")
        try:
            return self._steps.rounds(content)
        except Exception as error:  # its text might hold anything
            self._note("defect", type(error).__name__)
            return self._refusal("something is wrong in its software")

    def _refusal(self, reason: str) -> bytes:
        return answer_to_bytes(Refusal(self._kit.name, 0, reason))

    def _note(self, why: RefusalCode, reason: str) -> None:
        """Tell the site's own people; a full disk is no reason to fail."""
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        line = f"{now} refused ({why}): {' / '.join(reason.splitlines())}\n"
        with suppress(OSError):
            rotate(self._kit.state / LOG)
            with open(self._kit.state / LOG, "a") as file:
                file.write(line)
