# SPDX-License-Identifier: Apache-2.0
"""FLARE's engine as far as a channel knows it, with the sites in this process.

It has the habits of the real one that matter: an empty list of targets is everybody, a
call waits until all have answered or its time is over, and who is gone never answers.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from nvflare.apis.event_type import EventType
from nvflare.apis.fl_constant import ReservedKey, ReturnCode
from nvflare.apis.fl_context import FLContext, FLContextManager
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal

from lexfed.federation.engines.channel import Handler
from lexfed.federation.flare.jobs.executor import SiteExecutor

Receive = Callable[..., Shareable]


class Worker(SiteExecutor):
    """A site's end of a job with a door that a test makes."""

    def __init__(self, door: Handler | Exception) -> None:
        super().__init__()
        self.door = door
        self.closed = False

    def open_door(self, job: str) -> Handler:
        assert job
        if isinstance(self.door, Exception):
            raise self.door
        return self.door

    def close_door(self) -> None:
        self.closed = True


class SiteEngine:
    """The engine at one site."""

    def __init__(self, worker: SiteExecutor) -> None:
        self.topics: dict[str, Receive] = {}
        self._worker = worker

    def register_aux_message_handler(self, topic: str, receive: Receive) -> None:
        self.topics[topic] = receive

    def fire(self, event: str) -> None:
        context = FLContext()
        context.set_prop(ReservedKey.ENGINE, self, sticky=False)
        context.set_prop(ReservedKey.RUN_NUM, "job", sticky=False)
        self._worker.handle_event(event, context)


class LoopEngine:
    """The engine in the server process of a job.

    Attributes:
        sent: who got a message of which topic, in order.
        gone: sites that do not answer any more.
    """

    def __init__(self, workers: Mapping[str, SiteExecutor], start: bool = True) -> None:
        self.sites = {name: SiteEngine(worker) for name, worker in workers.items()}
        self.sent: list[tuple[str, str]] = []
        self.gone: set[str] = set()
        self.job = Signal()
        self._contexts = FLContextManager(
            engine=self, identity_name="server", job_id="job"
        )
        with self.new_context() as context:
            context.set_prop(ReservedKey.RUN_ABORT_SIGNAL, self.job)
        for site in self.sites.values() if start else ():
            site.fire(EventType.START_RUN)

    @contextmanager
    def new_context(self) -> Iterator[FLContext]:
        with self._contexts.new_context() as context:
            yield context

    def get_clients(self) -> list[Any]:
        return [type("Client", (), {"name": name}) for name in self.sites]

    def send_aux_request(
        self,
        targets: list[str],
        topic: str,
        request: Shareable,
        timeout: float,
        fl_ctx: FLContext,
        optional: bool,
    ) -> dict[str, Shareable]:
        assert optional
        names = targets or list(self.sites)
        replies: dict[str, Shareable] = {}
        threads = [
            threading.Thread(
                target=self._deliver, args=(name, topic, request, replies), daemon=True
            )
            for name in names
        ]
        for thread in threads:
            thread.start()
        until, over = time.monotonic() + timeout, fl_ctx.get_run_abort_signal()
        while any(thread.is_alive() for thread in threads) or len(replies) < len(names):
            if time.monotonic() > until or over.triggered:
                break
            time.sleep(0.005)
        return {n: replies.get(n, make_reply(ReturnCode.TIMEOUT)) for n in names}

    def _deliver(
        self, name: str, topic: str, request: Shareable, replies: dict[str, Shareable]
    ) -> None:
        self.sent.append((name, topic))
        receive = self.sites[name].topics.get(topic)
        if name in self.gone:
            return
        if receive is None:
            replies[name] = make_reply(ReturnCode.TOPIC_UNKNOWN)
            return
        reply = receive(topic=topic, request=request, fl_ctx=FLContext())
        if name not in self.gone:
            replies[name] = reply
