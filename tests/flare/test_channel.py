# SPDX-License-Identifier: Apache-2.0
"""Messages over FLARE: who gets them, who is waited for, and what never leaves."""

import threading
from collections.abc import Sequence

import pytest
from nvflare.apis.event_type import EventType
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.shareable import Shareable
from nvflare.apis.signal import Signal

from lexfed.errors import RunFolderError
from lexfed.federation.engines.channel import Channel
from lexfed.federation.flare.jobs.channel import EpochController, FlareChannel, Patience
from lexfed.federation.flare.jobs.executor import (
    ASK,
    CONTENT,
    FAILED,
    PULSE,
    UNABLE,
    WORD,
)
from support.deployed.loop_engine import LoopEngine, Worker

VALUE = "age 47, ward b"
SHORT = Patience(gather=1.0, answer=30.0, pulse=0.05, missed=2)


def backwards(content: bytes) -> bytes:
    return content[::-1]


def broken(_: bytes) -> bytes:
    raise ValueError(VALUE)


def channel_to(engine: LoopEngine, patience: Patience = SHORT) -> FlareChannel:
    return FlareChannel(engine, engine.job, patience)


def three() -> LoopEngine:
    return LoopEngine({name: Worker(backwards) for name in ("a", "b", "c")})


def test_each_site_gets_its_message_and_nobody_else() -> None:
    engine = three()
    answers = channel_to(engine).exchange({"a": b"one", "b": b"two"})
    assert answers == {"a": b"eno", "b": b"owt"}
    assert sorted(engine.sent) == [("a", ASK), ("b", ASK)]


def test_an_empty_exchange_reaches_nobody() -> None:
    engine = three()
    channel = channel_to(engine)
    assert channel.exchange({}) == {}
    assert channel.gather([]) == ()
    assert engine.sent == []


def test_the_engine_would_take_an_empty_list_for_everybody() -> None:
    engine = three()
    with engine.new_context() as context:
        engine.send_aux_request([], PULSE, Shareable(), 1.0, context, optional=True)
    assert len(engine.sent) == 3


def test_who_is_ready_is_gathered_and_the_others_are_dropped() -> None:
    engine = LoopEngine(
        {
            "ready": Worker(backwards),
            "unable": Worker(RunFolderError("no data")),
            "gone": Worker(backwards),
        }
    )
    engine.gone.add("gone")
    channel = channel_to(engine)
    assert channel.gather(list(engine.sites)) == ("ready",)
    assert channel.gone == {"unable", "gone"}
    assert channel.exchange(dict.fromkeys(engine.sites, b"ab")) == {"ready": b"ba"}


def test_a_site_that_is_late_is_waited_for() -> None:
    engine = LoopEngine({"late": Worker(backwards)}, start=False)
    begin = threading.Timer(0.3, engine.sites["late"].fire, [EventType.START_RUN])
    begin.start()
    patience = Patience(gather=60.0, answer=30.0, pulse=0.05, missed=2)
    assert channel_to(engine, patience).gather(["late"]) == ("late",)


def test_a_site_that_dies_is_dropped_and_not_asked_again() -> None:
    engine = three()

    def dies(_: bytes) -> bytes:
        engine.gone.add("b")
        return b""

    engine.sites["b"] = LoopEngine({"b": Worker(dies)}).sites["b"]
    channel = channel_to(engine)
    answers = channel.exchange(dict.fromkeys("abc", b"ab"))
    assert answers == {"a": b"ba", "c": b"ba"}
    assert channel.gone == {"b"}
    engine.sent.clear()
    assert channel.exchange(dict.fromkeys("abc", b"ab")) == answers
    assert "b" not in {name for name, _ in engine.sent}


def test_a_site_that_computes_is_waited_for_while_it_gives_signs_of_life() -> None:
    pulses = threading.Semaphore(0)

    class Computing(Worker):
        def _pulse(self, topic: str, request: Shareable, fl_ctx: object) -> Shareable:
            pulses.release()
            return super()._pulse(topic, request, fl_ctx)

    def slow(content: bytes) -> bytes:
        for _ in range(2 * SHORT.missed):
            pulses.acquire()
        return content

    engine = LoopEngine({"slow": Computing(slow)})
    channel = channel_to(engine)
    assert channel.exchange({"slow": b"done"}) == {"slow": b"done"}
    assert channel.gone == set()


def test_nobody_is_waited_for_forever() -> None:
    held = threading.Event()

    def endless(content: bytes) -> bytes:
        held.wait()
        return content

    engine = LoopEngine({"a": Worker(backwards), "endless": Worker(endless)})
    channel = channel_to(engine, Patience(1.0, answer=0.5, pulse=0.05, missed=1000))
    assert channel.exchange({"a": b"ab", "endless": b""}) == {"a": b"ba"}
    assert channel.gone == {"endless"}
    held.set()


def test_a_job_that_is_ended_ends_the_waiting() -> None:
    engine = three()

    def ends(content: bytes) -> bytes:
        engine.job.trigger(True)
        engine.gone.add("a")
        return content

    engine.sites["a"] = LoopEngine({"a": Worker(ends)}).sites["a"]
    channel = channel_to(engine)
    with pytest.raises(RunFolderError, match="ended from outside"):
        channel.exchange({"a": b""})
    with pytest.raises(RunFolderError, match="ended from outside"):
        channel.gather(["a"])


def test_what_is_not_bytes_is_no_answer() -> None:
    def wrong(_: bytes) -> bytes:
        return "text"  # type: ignore[return-value]

    channel = channel_to(LoopEngine({"a": Worker(wrong), "b": Worker(backwards)}))
    assert channel.exchange({"a": b"x", "b": b"x"}) == {"b": b"x"}


# The site's end


def ask(engine: LoopEngine, name: str, content: object) -> Shareable:
    request = Shareable()
    request[CONTENT] = content
    return engine.sites[name].topics[ASK](topic=ASK, request=request, fl_ctx=None)


def test_an_exception_leaves_as_one_word(caplog: pytest.LogCaptureFixture) -> None:
    engine = LoopEngine({"a": Worker(broken)})
    reply = ask(engine, "a", b"x")
    assert reply.get_return_code() == ReturnCode.EXECUTION_EXCEPTION
    assert reply[WORD] == FAILED
    assert VALUE not in str(reply)
    assert "ValueError" in caplog.text
    assert VALUE not in caplog.text
    assert channel_to(engine).exchange({"a": b"x"}) == {}


def test_the_log_of_a_site_has_the_words_of_our_own_errors(
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine = LoopEngine({"a": Worker(RunFolderError("the ledger is damaged"))})
    assert "the site cannot take part: the ledger is damaged" in caplog.text
    reply = ask(engine, "a", b"x")
    assert reply[WORD] == UNABLE
    assert "ledger" not in str(reply)


def test_only_bytes_reach_the_door() -> None:
    engine = LoopEngine({"a": Worker(backwards)})
    assert ask(engine, "a", "text")[WORD] == UNABLE
    assert ask(engine, "a", b"ab")[CONTENT] == b"ba"


def test_a_job_that_ends_closes_the_door() -> None:
    worker = Worker(backwards)
    engine = LoopEngine({"a": worker})
    assert channel_to(engine).gather(["a"]) == ("a",)
    engine.sites["a"].fire(EventType.END_RUN)
    assert worker.closed
    assert ask(engine, "a", b"ab")[WORD] == UNABLE


def test_there_are_no_tasks() -> None:
    reply = Worker(backwards).execute("train", Shareable(), None, Signal())
    assert reply.get_return_code() == ReturnCode.TASK_UNKNOWN


def test_other_events_are_of_no_concern() -> None:
    engine = LoopEngine({"a": Worker(backwards)}, start=False)
    engine.sites["a"].fire(EventType.ABOUT_TO_START_RUN)
    assert engine.sites["a"].topics == {}


# The coordinator's end


class Epoch(EpochController):
    def __init__(self) -> None:
        super().__init__(SHORT)
        self.seen: list[object] = []

    def drive(self, channel: Channel, sites: Sequence[str], job: str) -> None:
        answers = channel.exchange(dict.fromkeys(sites, b"x"))
        self.seen += [tuple(sites), dict(answers), job]


def test_an_epoch_is_driven_with_the_sites_that_are_ready() -> None:
    engine = LoopEngine({"a": Worker(backwards), "b": Worker(RunFolderError("no"))})
    epoch = Epoch()
    with engine.new_context() as context:
        epoch.start_controller(context)
        epoch.control_flow(engine.job, context)
        epoch.stop_controller(context)
    assert epoch.seen == [("a",), {"a": b"x"}, "job"]
