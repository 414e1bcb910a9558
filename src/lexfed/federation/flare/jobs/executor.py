# SPDX-License-Identifier: Apache-2.0
"""A site's end of a FLARE job: it hands bytes to the site's door and answers.

Messages are pushed, so FLARE's task filters are not on this path, and every rule of the
site sits in its door. One message at a time reaches the door.
"""

import threading
from abc import abstractmethod
from typing import Any

from nvflare.apis.event_type import EventType
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.shareable import Shareable, make_reply

from lexfed.errors import LexfedError
from lexfed.federation.engines.channel import Handler

ASK = "lexfed.ask"
"""The topic of a message for the door."""
PULSE = "lexfed.pulse"
"""The topic of a question whether the site is there; answered while it computes."""
CONTENT = "content"
WORD = "word"
READY, UNABLE, FAILED = "ready", "unable", "failed"
"""All that a site ever says about itself beside the answers of its door."""


class SiteExecutor(Executor):  # type: ignore[misc]  # FLARE has no types
    """Answers messages by the site's door.

    Guarantees: of an exception in the door the coordinator gets one fixed word, and
    the site's own log gets the words of a `LexfedError`, which hold no data value, or
    else the exception's type.
    """

    def __init__(self) -> None:
        super().__init__()
        self._door: Handler | None = None
        self._one_at_a_time = threading.Lock()

    @abstractmethod
    def open_door(self, job: str) -> Handler:
        """Open the site for a job, by FLARE's name of it."""

    @abstractmethod
    def close_door(self) -> None:
        """Close the site."""

    def handle_event(self, event_type: str, fl_ctx: Any) -> None:
        """Open the site when the job begins, and only then say that it is there."""
        if event_type == EventType.START_RUN:
            self._begin(fl_ctx)
        elif event_type == EventType.END_RUN:
            with self._one_at_a_time:
                self._door = None
                self.close_door()

    def _begin(self, fl_ctx: Any) -> None:
        try:
            self._door = self.open_door(fl_ctx.get_job_id())
        except Exception as error:
            self.logger.error(f"the site cannot take part: {_words(error)}")
        engine = fl_ctx.get_engine()
        engine.register_aux_message_handler(ASK, self._asked)
        engine.register_aux_message_handler(PULSE, self._pulse)

    def _pulse(self, topic: str, request: Any, fl_ctx: Any) -> Any:  # noqa: ARG002
        reply = make_reply(ReturnCode.OK)
        reply[WORD] = UNABLE if self._door is None else READY
        return reply

    def _asked(self, topic: str, request: Any, fl_ctx: Any) -> Any:  # noqa: ARG002
        try:
            content = request[CONTENT]
            with self._one_at_a_time:
                if self._door is None or not isinstance(content, bytes):
                    return _refusal(UNABLE)
                answer = self._door(content)
        except Exception as error:
            self.logger.error(f"a message could not be answered: {_words(error)}")
            return _refusal(FAILED)
        reply = make_reply(ReturnCode.OK)
        reply[CONTENT] = answer
        return reply

    def execute(
        self, task_name: str, shareable: Any, fl_ctx: Any, abort_signal: Any
    ) -> Any:
        """Refuse: there are no tasks, only messages."""
        del task_name, shareable, fl_ctx, abort_signal
        return make_reply(ReturnCode.TASK_UNKNOWN)


def _refusal(word: str) -> Shareable:
    reply = make_reply(ReturnCode.EXECUTION_EXCEPTION)
    reply[WORD] = word
    return reply


def _words(error: Exception) -> str:
    if isinstance(error, LexfedError):
        return error.message
    return type(error).__name__
