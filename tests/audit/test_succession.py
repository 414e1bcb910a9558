# SPDX-License-Identifier: Apache-2.0
"""After a stolen key only what witnesses saw counts."""

import pytest

from lexfed.audit.tree.checkpoint import Checkpoint, cosign
from lexfed.audit.witness.succession import check_succession, last_witnessed
from lexfed.errors import AuditError
from lexfed.signing.keys import Signer
from lexfed.signing.notes import NoteSignature, parse_note
from support.audit.witnessed import ORIGIN, WITNESS, Book, numbered, policy_of, signer

ONE, TWO = signer(WITNESS, 11), signer("witness.example.net/w2", 12)
POLICY = policy_of(ONE.cosigner, TWO.cosigner, quorum="all")
LOG = numbered(9)
FORK = Book(*(f"entry {number}" for number in range(5)), *"stolen")


def cosigned(note: bytes, *witnesses: Signer) -> bytes:
    read = parse_note(note)
    signatures = [cosign(read.body, witness, 1_000) for witness in witnesses]
    return read.with_signatures(signatures).to_bytes()


def at(log: Book, size: int) -> Checkpoint:
    return Checkpoint(ORIGIN, size, log.tree.root(size))


def test_the_largest_with_a_quorum_counts() -> None:
    notes = [
        LOG.note(2),
        cosigned(LOG.note(5), ONE, TWO),
        cosigned(LOG.note(3), ONE, TWO),
        cosigned(LOG.note(9), ONE),
        FORK.note(),
        b"nonsense",
        cosigned(numbered(7, by=signer(seed=2)).note(), ONE, TWO),
    ]
    last = last_witnessed(notes, POLICY)
    assert last is not None
    assert last.signed.checkpoint == at(LOG, 5)
    assert check_succession(at(LOG, 5), notes, POLICY) == last


def test_cosignatures_in_several_notes_count_together() -> None:
    notes = [cosigned(LOG.note(5), ONE), cosigned(LOG.note(5), TWO)]
    last = last_witnessed(notes, POLICY)
    assert last is not None
    assert set(last.witnesses) == {"w1", "w2"}


def test_a_spoiled_note_does_not_hide_a_sound_one() -> None:
    good = cosigned(LOG.note(5), ONE, TWO)
    other = parse_note(cosigned(LOG.note(4), ONE)).signatures
    spoiled = parse_note(LOG.note(5)).with_signatures(other).to_bytes()
    crowd = parse_note(LOG.note(5)).with_signatures(
        [NoteSignature(f"s{number}", b"abcd", b"x") for number in range(99)]
    )
    for notes in ([spoiled, good], [good, spoiled], [crowd.to_bytes(), good]):
        last = last_witnessed(notes, POLICY)
        assert last is not None
        assert last.signed.checkpoint == at(LOG, 5)


def test_the_thief_cannot_move_the_line() -> None:
    notes = [cosigned(LOG.note(5), ONE, TWO), FORK.note(), FORK.note(9)]
    last = last_witnessed(notes, POLICY)
    assert last is not None
    assert last.signed.checkpoint.size == 5


@pytest.mark.parametrize(
    "cited",
    [at(LOG, 9), at(LOG, 4), at(FORK, 9), Checkpoint("other", 5, LOG.tree.root(5))],
    ids=["unseen entries", "entries left out", "the fork", "another log"],
)
def test_a_new_log_that_starts_elsewhere_is_refused(cited: Checkpoint) -> None:
    notes = [cosigned(LOG.note(5), ONE, TWO), LOG.note(9)]
    with pytest.raises(AuditError, match="the last witnessed checkpoint is of"):
        check_succession(cited, notes, POLICY)


def test_without_witnesses_there_is_no_line() -> None:
    alone = policy_of(quorum="none")
    assert last_witnessed([LOG.note()], alone) is None
    with pytest.raises(AuditError, match="quorum of witnesses"):
        check_succession(at(LOG, 9), [LOG.note()], alone)
    assert last_witnessed([], POLICY) is None


def test_two_witnessed_histories_end_all_trust() -> None:
    notes = [cosigned(LOG.note(9), ONE, TWO), cosigned(FORK.note(9), ONE, TWO)]
    with pytest.raises(AuditError, match="two histories"):
        last_witnessed(notes, POLICY)
