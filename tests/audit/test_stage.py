# SPDX-License-Identifier: Apache-2.0
"""Stages: signed to the last byte, and of this log or refused."""

from dataclasses import replace
from hashlib import sha256

import pytest

from lexfed.audit.storage import write_protocol as stages
from lexfed.audit.storage.write_protocol import StagedAppend, open_stage
from lexfed.audit.tree.checkpoint import open_checkpoint
from lexfed.errors import AuditError
from lexfed.signing.keys import Signer
from lexfed.signing.notes import NoteSignature, SignedNote
from lexfed.signing.strict_text import encode_base64
from support.log.folders import KEYS, ORIGIN, OTHER, SIGNER, entries, tree_of

STAGE = StagedAppend(ORIGIN, 3, tree_of(3).root(), tuple(entries(3, 6)))
DATA = STAGE.to_bytes(SIGNER)


def signed(body: str, tail: bytes = b"", signer: Signer = SIGNER) -> bytes:
    value = signer.sign(body.encode())
    signature = NoteSignature(signer.name, signer.verifier.key_id, value)
    return SignedNote(body.encode(), (signature,)).to_bytes() + tail


def test_what_is_written_is_read() -> None:
    assert open_stage(DATA, KEYS) == STAGE
    assert open_stage(DATA, [OTHER.verifier, *KEYS]) == STAGE
    assert STAGE.new_size == 6


def test_every_byte_is_signed() -> None:
    for at in range(len(DATA)):
        changed = DATA[:at] + bytes([DATA[at] ^ 1 << at % 8]) + DATA[at + 1 :]
        with pytest.raises(AuditError, match="`stage`"):
            open_stage(changed, KEYS)
        with pytest.raises(AuditError, match="`stage`"):
            open_stage(DATA[:at], KEYS)
    with pytest.raises(AuditError, match="other entries than those that were signed"):
        open_stage(DATA + b"\0", KEYS)


def test_stage_of_another_key_is_refused() -> None:
    with pytest.raises(AuditError, match="`stage`: note is not signed by"):
        open_stage(STAGE.to_bytes(OTHER), KEYS)


def test_no_stage_passes_for_a_checkpoint() -> None:
    end = DATA.index(b"\n", DATA.index(b"\n\n") + 2) + 1
    with pytest.raises(AuditError, match="expected three lines"):
        open_checkpoint(DATA[:end], *KEYS)


ROOT = encode_base64(STAGE.old_root)
NOTHING = encode_base64(sha256(b"").digest())


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["lexfed stage v2", ORIGIN, "3", ROOT, "0", NOTHING], "is not the stage of"),
        (["lexfed stage v1", "x", "3", ROOT, "0", NOTHING], "is not the stage of"),
        (["lexfed stage v1", ORIGIN, "03", ROOT, "0", NOTHING], "line 3"),
        (["lexfed stage v1", ORIGIN, "3", "x", "0", NOTHING], "line 4"),
        (["lexfed stage v1", ORIGIN, "3", ROOT, "-1", NOTHING], "line 5"),
        (["lexfed stage v1", ORIGIN, "3", ROOT, "9" * 18, NOTHING], "ends within"),
        (["lexfed stage v1", ORIGIN, "3", ROOT, "0", "x"], "line 6"),
        (["lexfed stage v1", ORIGIN, "3", ROOT, "0", ROOT], "other entries than"),
        (["lexfed stage v1", ORIGIN, "3", ROOT, "0"], "has 5 lines of text, not 6"),
    ],
)
def test_signed_nonsense_is_refused(lines: list[str], message: str) -> None:
    with pytest.raises(AuditError, match=message):
        open_stage(signed("".join(f"{line}\n" for line in lines)), KEYS)


def test_entries_that_are_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AuditError, match="entry 4 has 65536 bytes, more than 65535"):
        replace(STAGE, entries=(b"", bytes(65536))).to_bytes(SIGNER)
    assert open_stage(
        replace(STAGE, entries=(bytes(65535),)).to_bytes(SIGNER), KEYS
    ).entries == (bytes(65535),)
    monkeypatch.setattr(stages, "MAX_STAGE", len(DATA) - 1)
    with pytest.raises(AuditError, match=r"3 entries have .* in one append") as refused:
        STAGE.to_bytes(SIGNER)
    assert "several steps" in refused.value.hint


@pytest.mark.parametrize("size", [3, 6, 9])
def test_stage_belongs_to_a_log_before_and_after_it(size: int) -> None:
    STAGE.check(tree_of(size), entries(0, size))


def test_stage_of_a_larger_log() -> None:
    with pytest.raises(AuditError, match=r"continues a log of 3 .* only 2") as refused:
        STAGE.check(tree_of(2), entries(0, 2))
    assert "old copy" in refused.value.hint


def test_stage_of_another_history() -> None:
    other = replace(STAGE, old_root=tree_of(2).root())
    with pytest.raises(AuditError, match="continues another log of 3 entries"):
        other.check(tree_of(3), entries(0, 3))
    other = replace(STAGE, entries=(b"a", b"b"))
    with pytest.raises(AuditError, match="other entries after 3 than the log"):
        other.check(tree_of(6), entries(0, 6))
    with pytest.raises(AuditError, match="ends at entry 5, the log within it at 4"):
        STAGE.check(tree_of(5), entries(0, 5))
