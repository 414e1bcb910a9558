# SPDX-License-Identifier: Apache-2.0
"""Asking witnesses that are honest, slow, broken, lying or forgetful."""

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from lexfed.audit.tree.checkpoint import cosign
from lexfed.audit.tree.trust_policy import parse_policy
from lexfed.audit.witness.client import (
    ATTEMPTS,
    CheckedCosignature,
    MissingCosignature,
    WitnessTarget,
    gather_cosignatures,
    last_seen_checkpoint,
    submit_checkpoint,
    targets_of,
)
from lexfed.audit.witness.cosigner import digest_of
from lexfed.errors import AuditError
from lexfed.signing.notes import NoteSignature, parse_note
from support.audit.witnessed import (
    ORIGIN,
    WITNESS,
    Book,
    numbered,
    served,
    signer,
)
from support.loopback import Respond, answering, http, raw, read_request, silent

KEY = signer(WITNESS, seed=77)
LOG = numbered(5)
BODY = parse_note(LOG.note()).body


@pytest.fixture
def target(tmp_path: Path) -> Iterator[WitnessTarget]:
    with served(tmp_path / "w") as target:
        yield target


def patience(*responses: Respond) -> float:
    """Wait long for those who will answer, and not for those who never do."""
    return 0.5 if silent in responses else 10


def asked(
    *responses: Respond, known_size: int = 0
) -> CheckedCosignature | MissingCosignature:
    """Ask a made-up witness that has the key `KEY`."""
    with answering(*responses) as url:
        target = WitnessTarget("w", KEY.cosigner, url)
        return submit_checkpoint(
            target,
            LOG.note(),
            LOG.tree,
            known_size=known_size,
            timeout_s=patience(*responses),
        )


def size_answer(size: int | str) -> Respond:
    return http(409, f"{size}\n".encode(), "text/x.tlog.size")


def good_line(time: int = 1_000) -> bytes:
    return cosign(BODY, KEY, time).line.encode()


# An honest witness


def test_an_honest_witness_cosigns(target: WitnessTarget) -> None:
    got = submit_checkpoint(target, LOG.note(), LOG.tree)
    assert isinstance(got, CheckedCosignature)
    assert got.signature.is_by(target.key)


def test_a_wrong_guess_costs_one_more_request(target: WitnessTarget) -> None:
    log = numbered(3)
    submit_checkpoint(target, log.note(), log.tree)
    log.add("a", "b")
    assert isinstance(
        submit_checkpoint(target, log.note(), log.tree), CheckedCosignature
    )
    log.add("c")
    assert isinstance(
        submit_checkpoint(target, log.note(), log.tree, known_size=5),
        CheckedCosignature,
    )
    # The same checkpoint again: a fresh cosignature of the same size.
    assert isinstance(
        submit_checkpoint(target, log.note(), log.tree, known_size=6),
        CheckedCosignature,
    )


def test_an_older_checkpoint_of_a_larger_tree_is_proven(target: WitnessTarget) -> None:
    log = numbered(9)
    assert isinstance(
        submit_checkpoint(target, log.note(4), log.tree), CheckedCosignature
    )
    assert isinstance(
        submit_checkpoint(target, log.note(7), log.tree), CheckedCosignature
    )


def test_a_fork_is_refused_with_the_reason(target: WitnessTarget) -> None:
    submit_checkpoint(target, LOG.note(), LOG.tree)
    same_size = Book("a", "b", "c", "d", "e")
    got = submit_checkpoint(target, same_size.note(), same_size.tree)
    assert isinstance(got, MissingCosignature)
    assert "status 409: 'another root" in got.reason
    longer = same_size.add("f")
    got = submit_checkpoint(target, longer.note(), longer.tree)
    assert isinstance(got, MissingCosignature)
    assert "status 422" in got.reason


def test_a_log_the_witness_does_not_know_is_unwitnessed(target: WitnessTarget) -> None:
    other = numbered(2, by=signer("audit.example.org/run-9", seed=9))
    got = submit_checkpoint(target, other.note(), other.tree)
    assert isinstance(got, MissingCosignature)
    assert "status 404" in got.reason


def test_a_checkpoint_of_another_tree_is_our_own_mistake(target: WitnessTarget) -> None:
    with pytest.raises(AuditError, match="of another tree"):
        submit_checkpoint(target, LOG.note(), Book("a", "b", "c", "d", "e").tree)
    with pytest.raises(AuditError, match="5"):
        submit_checkpoint(target, LOG.note(), numbered(4).tree)
    with pytest.raises(AuditError, match="blank line"):
        submit_checkpoint(target, b"nonsense", LOG.tree)


# Witnesses that are not


def answers(reason: str) -> Callable[[object], None]:
    def check(got: object) -> None:
        assert isinstance(got, MissingCosignature)
        assert re.search(reason, got.reason), got.reason
        assert got.reason.isprintable()

    return check


WRONG_KEY = signer(WITNESS, seed=78)
OTHER_BODY = parse_note(LOG.note(4)).body
NAMED_ALIKE = NoteSignature(WITNESS, KEY.cosigner.key_id, b"\0" * 72)


@pytest.mark.parametrize(
    ("respond", "reason"),
    [
        pytest.param(silent, "within 0.5 s", id="silent"),
        pytest.param(raw(b""), "gave no answer", id="hangs up"),
        pytest.param(raw(b"\xff\x00garbage\r\n\r\n"), "gave no answer", id="not http"),
        pytest.param(http(500, b"sorry"), "status 500: 'sorry'", id="failing"),
        pytest.param(http(302, b"go"), "status 302", id="redirect"),
        pytest.param(http(204), "status 204", id="no content"),
        pytest.param(
            http(400, b"<b>\x1b[31m\xff" * 99), r"status 400: '<b>\\x1b", id="terminal"
        ),
        pytest.param(http(200, b""), "not sound", id="empty"),
        pytest.param(http(200, b"\xff\xfe\0"), "not sound: note is not", id="garbage"),
        pytest.param(http(200, b"hello\n"), "em dash", id="text"),
        pytest.param(http(200, b"x" * 70_000), "more than 65536", id="oversized"),
        pytest.param(http(200, good_line() * 101), "more than 100", id="101 lines"),
        pytest.param(http(200, good_line()[:-1]), "not sound", id="cut off"),
        pytest.param(
            http(200, cosign(BODY, WRONG_KEY, 1).line.encode()),
            "no signature of",
            id="wrong key",
        ),
        pytest.param(
            http(200, NAMED_ALIKE.line.encode()), "no time", id="forged, time 0"
        ),
        pytest.param(
            http(200, cosign(OTHER_BODY, KEY, 1_000).line.encode()),
            "is wrong",
            id="another checkpoint",
        ),
        pytest.param(
            http(
                200,
                NoteSignature(
                    WITNESS, KEY.cosigner.key_id, KEY.sign(BODY)
                ).line.encode(),
            ),
            "expected 72 bytes",
            id="not a cosignature",
        ),
        pytest.param(
            http(200, b"\n" + OTHER_BODY + b"\n" + good_line()), "", id="note in note"
        ),
        pytest.param(http(409, b"3\n"), "status 409: '3'", id="409 without its type"),
        pytest.param(size_answer(""), "not a decimal", id="no size"),
        pytest.param(size_answer("-1"), "not a decimal", id="negative size"),
        pytest.param(size_answer("03"), "not a decimal", id="leading zero"),
        pytest.param(size_answer(2**64), "not a decimal", id="beyond 2^63"),
        pytest.param(size_answer("9" * 9_000), "not a decimal", id="9000 digits"),
        pytest.param(
            http(409, b"3", "text/x.tlog.size"), "no newline", id="no newline"
        ),
        pytest.param(
            http(409, b"\xb2\n", "text/x.tlog.size"), "not a decimal", id="not ascii"
        ),
    ],
)
def test_a_bad_witness_is_a_reason(respond: Respond, reason: str) -> None:
    if reason:
        answers(reason)(asked(respond))
    else:
        # Whatever surrounds it: the signature counts, and it is for this checkpoint.
        got = asked(respond)
        assert got == CheckedCosignature(cosign(BODY, KEY, 1_000), 1_000)


def test_signatures_of_others_are_dropped() -> None:
    stranger = NoteSignature("stranger.example", b"abcd", b"x" * 72).line.encode()
    wrong = cosign(BODY, WRONG_KEY, 1).line.encode()
    got = asked(http(200, stranger + wrong + good_line() + stranger))
    assert got == CheckedCosignature(cosign(BODY, KEY, 1_000), 1_000)


def test_a_loop_of_conflicts_ends() -> None:
    count: list[int] = []

    def loop(connection: socket.socket) -> None:
        count.append(1)
        size_answer(1 + len(count) % 2)(connection)

    got = asked(loop)
    answers("one old size after the other: 0, 2, 1, 2")(got)
    assert len(count) == ATTEMPTS


def test_the_same_conflict_again_and_again_ends() -> None:
    answers("one old size after the other")(asked(size_answer(2)))


def test_a_witness_that_claims_more_is_named() -> None:
    got = asked(size_answer(6))
    answers("it has seen 6 entries, the log here has 5: was the log restored")(got)
    assert isinstance(got, MissingCosignature)
    assert got.claims == 6


def test_a_log_below_what_the_witness_cosigned_is_not_even_sent() -> None:
    got = asked(silent, known_size=9)
    assert isinstance(got, MissingCosignature)
    assert got.claims == 9


def test_a_witness_that_forgot_is_not_counted() -> None:
    answers("cosigned 4 entries before and now knows only 2")(
        asked(size_answer(2), known_size=4)
    )


def test_a_restored_witness_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    log = numbered(3)
    with served(folder) as target:
        submit_checkpoint(target, log.note(), log.tree)
        state = folder / "state" / digest_of(ORIGIN)
        backup = state.read_bytes()
        log.add("a", "b")
        assert isinstance(
            submit_checkpoint(target, log.note(), log.tree, known_size=3),
            CheckedCosignature,
        )
    state.write_bytes(backup)
    log.add("c")
    with served(folder) as target:
        got = submit_checkpoint(target, log.note(), log.tree, known_size=5)
    answers("cosigned 5 entries before and now knows only 3")(got)


# Several at once, and what they have seen


def test_all_witnesses_are_asked_and_none_holds_up_the_others(tmp_path: Path) -> None:
    with ExitStack() as stack:
        names = ["witness.example.net/a", "witness.example.net/b"]
        good = [stack.enter_context(served(tmp_path / n[-1], n)) for n in names]
        slow = WitnessTarget(
            "slow", KEY.cosigner, stack.enter_context(answering(silent))
        )
        got = gather_cosignatures(
            [*good, slow],
            LOG.note(),
            LOG.tree,
            known_sizes={names[0]: 0},
            timeout_s=3,
        )
    assert [isinstance(got[name], CheckedCosignature) for name in (*names, "slow")] == [
        True,
        True,
        False,
    ]
    assert gather_cosignatures([], LOG.note(), LOG.tree) == {}


def test_a_policy_says_whom_to_ask() -> None:
    lines = [
        f"witness near {KEY.cosigner.vkey} https://near.example/",
        f"witness far {WRONG_KEY.cosigner.vkey}",
        "quorum near",
    ]
    policy = parse_policy(("\n".join(lines) + "\n").encode())
    assert targets_of(policy, policy.urls) == (
        WitnessTarget("near", KEY.cosigner, "https://near.example/"),
    )


def test_plain_http_to_another_machine_needs_leave() -> None:
    got = submit_checkpoint(
        WitnessTarget("w", KEY.cosigner, "http://w.invalid"), LOG.note(), LOG.tree
    )
    answers("plain http")(got)
    allowed = WitnessTarget("w", KEY.cosigner, "http://w.invalid", allow_plain=True)
    got = submit_checkpoint(allowed, LOG.note(), LOG.tree, timeout_s=2)
    assert isinstance(got, MissingCosignature)
    assert "plain http" not in got.reason


def test_a_submission_prefix_may_have_a_path() -> None:
    seen: list[bytes] = []

    def keep(connection: socket.socket) -> None:
        seen.append(read_request(connection).split(b" ")[1])
        connection.sendall(b"HTTP/1.1 500 No\r\n\r\n")

    with answering(keep) as url:
        for prefix in ("/some/where", "/some/where/"):
            submit_checkpoint(
                WitnessTarget("w", KEY.cosigner, url + prefix), LOG.note(), LOG.tree
            )
    assert seen == [b"/some/where/add-checkpoint"] * 2


def test_the_last_checkpoint_a_witness_saw_is_proof(target: WitnessTarget) -> None:
    log_key = signer().verifier
    answers("status 404")(last_seen_checkpoint(target, ORIGIN, log_key))
    submit_checkpoint(target, LOG.note(), LOG.tree)
    seen = last_seen_checkpoint(target, ORIGIN, log_key)
    assert not isinstance(seen, MissingCosignature)
    assert (seen.checkpoint.size, seen.checkpoint.root) == (5, LOG.tree.root())


@pytest.mark.parametrize(
    ("respond", "reason"),
    [
        (silent, "within 0.5 s"),
        (http(500), "status 500"),
        (http(200, b"nonsense"), "not sound"),
        (http(200, LOG.note()), "not cosigned by"),
        (http(200, LOG.note() + NAMED_ALIKE.line.encode()), "no time"),
        (http(200, numbered(9, by=signer(seed=2)).note() + good_line()), "not signed"),
        (
            http(200, numbered(9, by=signer("audit.example.org/run-2", 4)).note()),
            "another log",
        ),
    ],
    ids=["silent", "failing", "garbage", "alone", "forged", "wrong key", "other log"],
)
def test_no_proof_without_both_signatures(respond: Respond, reason: str) -> None:
    known = (signer().verifier, signer("audit.example.org/run-2", 4).verifier)
    with answering(respond) as url:
        target = WitnessTarget("w", KEY.cosigner, url)
        got = last_seen_checkpoint(target, ORIGIN, *known, timeout_s=patience(respond))
    answers(reason)(got)
