# SPDX-License-Identifier: Apache-2.0
"""The coordinator's end of a FLARE job: its channel, and one set-up epoch of a run.

A restarted site, new keys and a resumed run all join at the boundary of a job, so a job
is no longer than an epoch.

One `send_aux_request` per site and message, each in its own thread: FLARE's call for
different messages to many fails in 2.9.0, because the cell below it knows no abort
signal; and an empty list of targets would reach everybody.

A dead site never answers. So while answers are missing the channel asks for a sign of
life, which a site gives even while it computes. A site that owes too many is dropped
until the next job: FLARE does not let it back into this one.
"""

import logging
import queue
import threading
import time
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nvflare.apis.fl_constant import ReservedKey, ReturnCode
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable
from nvflare.apis.signal import Signal

from lexfed.errors import RunFolderError
from lexfed.federation.engines.channel import LONGEST_WORD, Channel
from lexfed.federation.flare.hardening.limits import intake
from lexfed.federation.flare.jobs.executor import (
    ASK,
    CONTENT,
    PULSE,
    READY,
    UNABLE,
    WORD,
)

STAGE = "stage: %d of %d sites answered in %.3f s"
"""The line of the coordinator's log about every exchange."""
_LOGGER = logging.getLogger(__name__)
_BETWEEN_CALLS = 0.5
_BETWEEN_LOOKS = 0.2


@dataclass(frozen=True)
class Patience:
    """The waiting times of a coordinator, in seconds.

    Attributes:
        gather: for the processes of all sites to be ready when a job begins.
        answer: for the answer of a site that is alive.
        pulse: between two questions for a sign of life, and for its answer.
        missed: signs in a row that a site may owe.
    """

    gather: float = 60.0
    answer: float = 600.0
    pulse: float = 3.0
    missed: int = 3


class FlareChannel:
    """Brings messages to sites of one FLARE job, until that is ended from outside.

    Guarantees: a message goes to the named sites only, each at most once; an answer is
    bytes from the named site, no longer than the limit; a site that misses its time is
    missing in this answer and in all later ones.
    """

    def __init__(
        self, engine: Any, abort_signal: Any, patience: Patience | None = None
    ) -> None:
        self._engine = engine
        self._abort = abort_signal
        self._patience = Patience() if patience is None else patience
        self.gone: set[str] = set()

    def gather(self, names: Collection[str]) -> tuple[str, ...]:
        """Return the sites that are ready; the others are dropped.

        A message before a site's process listens would cost the time of an answer.
        """
        until = time.monotonic() + self._patience.gather
        open_names, ready = set(names), set[str]()
        while open_names and time.monotonic() < until:
            words = self._signs(open_names, self._abort)
            ready |= {name for name, word in words.items() if word == READY}
            open_names -= {name for name, word in words.items() if word}
            self._require_job()
            if open_names:
                time.sleep(_BETWEEN_CALLS)
        self.gone |= set(names) - ready
        return tuple(sorted(ready))

    def exchange(
        self, messages: Mapping[str, bytes], most: int = LONGEST_WORD
    ) -> Mapping[str, bytes]:
        """Bring messages, or raise `RunFolderError` if the job ended from outside."""
        begin = time.monotonic()
        intake.expect(most)
        answers = self._exchange(messages)
        answers = {name: a for name, a in answers.items() if len(a) <= most}
        _LOGGER.info(STAGE, len(answers), len(messages), time.monotonic() - begin)
        return answers

    def _exchange(self, messages: Mapping[str, bytes]) -> dict[str, bytes]:
        reports: queue.SimpleQueue[_SiteReport] = queue.SimpleQueue()
        waiting = set(messages) - self.gone
        # Ends the waiting of all threads: FLARE joins its own before a process ends.
        over = Signal(parent=self._abort)
        for name in waiting:
            _in_background(self._ask, name, messages[name], reports, over)
        _in_background(self._watch, frozenset(waiting), reports, over)
        answers: dict[str, bytes] = {}
        owed = dict.fromkeys(waiting, 0)
        until = time.monotonic() + self._patience.answer
        try:
            while waiting and time.monotonic() < until:
                self._require_job()
                try:
                    report = reports.get(timeout=_BETWEEN_LOOKS)
                except queue.Empty:
                    continue
                if report.name is None:
                    lost = self._missed(report.alive, waiting, owed)
                    self.gone |= lost
                    waiting -= lost
                    continue
                waiting.discard(report.name)
                if report.answer is not None:
                    answers[report.name] = report.answer
                elif not report.spoke:
                    self.gone.add(report.name)
        finally:
            over.trigger(True)
        # A job that ends makes its calls return: that is no word of a site.
        self._require_job()
        self.gone |= waiting
        return answers

    def _missed(
        self, alive: frozenset[str], waiting: set[str], owed: dict[str, int]
    ) -> set[str]:
        for name in waiting:
            owed[name] = 0 if name in alive else owed[name] + 1
        return {name for name in waiting if owed[name] >= self._patience.missed}

    def _require_job(self) -> None:
        if self._abort.triggered:
            raise RunFolderError(
                "the job was ended from outside",
                "continue with `lexfed deploy run --resume`",
            )

    # In threads of their own

    def _ask(
        self,
        name: str,
        message: bytes,
        reports: "queue.SimpleQueue[_SiteReport]",
        over: Signal,
    ) -> None:
        request = Shareable()
        request[CONTENT] = message
        replies = self._send([name], ASK, request, self._patience.answer, over)
        reply = replies.get(name)
        reports.put(_SiteReport(name, _content(reply), spoke=_spoke(reply)))

    def _watch(
        self,
        names: frozenset[str],
        reports: "queue.SimpleQueue[_SiteReport]",
        over: Signal,
    ) -> None:
        next_time = time.monotonic() + self._patience.pulse
        while not over.triggered:
            if time.monotonic() < next_time:
                time.sleep(_BETWEEN_LOOKS)
                continue
            words = self._signs(names, over)
            alive = {name for name, word in words.items() if word}
            reports.put(_SiteReport(None, alive=frozenset(alive)))
            next_time = time.monotonic() + self._patience.pulse

    def _signs(self, names: Collection[str], over: Signal) -> dict[str, str]:
        """Return each site's sign of life; empty if it gives none."""
        if not names:  # FLARE takes an empty list for everybody
            return {}
        request, patience = Shareable(), self._patience.pulse
        replies = self._send(sorted(names), PULSE, request, patience, over)
        return {name: _word(replies.get(name)) for name in names}

    def _send(
        self,
        names: list[str],
        topic: str,
        request: Shareable,
        timeout: float,
        over: Signal,
    ) -> Mapping[str, Any]:
        with self._engine.new_context() as context:
            # A copy of the job's own signal is there, and would not be replaced.
            context.remove_prop(ReservedKey.RUN_ABORT_SIGNAL, force_removal=True)
            context.set_prop(ReservedKey.RUN_ABORT_SIGNAL, over, sticky=False)
            replies = self._engine.send_aux_request(
                targets=names,
                topic=topic,
                request=request,
                timeout=timeout,
                fl_ctx=context,
                optional=True,
            )
        return replies or {}


@dataclass(frozen=True)
class _SiteReport:
    """A thread's report: one site's answer, or (without a name) the living sites."""

    name: str | None
    answer: bytes | None = None
    spoke: bool = False  # the site, and not FLARE in its place
    alive: frozenset[str] = frozenset()


def _content(reply: Any) -> bytes | None:
    if not isinstance(reply, Shareable) or reply.get_return_code() != ReturnCode.OK:
        return None
    content = reply.get(CONTENT)
    return content if isinstance(content, bytes) else None


def _spoke(reply: Any) -> bool:
    return isinstance(reply, Shareable) and (CONTENT in reply or WORD in reply)


def _word(reply: Any) -> str:
    word = reply.get(WORD) if isinstance(reply, Shareable) else None
    return word if word in (READY, UNABLE) else ""


def _in_background(work: Any, *arguments: Any) -> None:
    # A thread that waits for a dead site must not keep the process from ending.
    threading.Thread(target=work, args=arguments, daemon=True).start()


class EpochController(Controller):  # type: ignore[misc]  # FLARE has no types
    """Gathers the sites of a job and hands them over."""

    def __init__(self, patience: Patience | None = None) -> None:
        super().__init__()
        self._patience = patience

    @abstractmethod
    def drive(self, channel: Channel, sites: Sequence[str], job: str) -> None:
        """Run one epoch with the sites that are ready; it must not raise."""

    def start_controller(self, fl_ctx: Any) -> None:
        """Do nothing before the job's own thread runs."""

    def control_flow(self, abort_signal: Any, fl_ctx: Any) -> None:
        """Run the epoch; when it returns FLARE ends the job at every site."""
        engine = fl_ctx.get_engine()
        channel = FlareChannel(engine, abort_signal, self._patience)
        ready = channel.gather([client.name for client in engine.get_clients()])
        self.log_info(fl_ctx, f"sites that are ready: {', '.join(ready) or 'none'}")
        self.drive(channel, ready, fl_ctx.get_job_id())

    def stop_controller(self, fl_ctx: Any) -> None:
        """Do nothing after it."""
