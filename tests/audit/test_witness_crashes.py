# SPDX-License-Identifier: Apache-2.0
"""A witness killed at each system call of an answer, and requests spoiled at random."""

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lexfed.audit.tree.checkpoint import Checkpoint
from lexfed.audit.tree.proof_files import ConsistencyProof
from lexfed.audit.witness.cosigner import Witness, digest_of
from lexfed.errors import AuditError
from lexfed.signing.notes import NoteSignature, parse_note
from support.audit.witnessed import ORIGIN, make_witness, numbered

PROGRAM = """
import sys
from pathlib import Path
from lexfed.audit.witness.cosigner import Witness
witness = Witness(Path(sys.argv[1]), lambda: 1_000)
for request in sys.argv[2:]:
    answer = witness.add_checkpoint(Path(request).read_bytes())
    sys.stdout.write(f"{answer.status}\\n")
    sys.stdout.flush()
"""


def traceable() -> bool:
    if shutil.which("strace") is None:
        return False
    words = ["strace", "-o", "/dev/null", "true"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not traceable(), reason="needs strace and the right to use it")
@pytest.mark.parametrize(
    ("call", "fault"),
    [
        ("write", "signal=KILL"),
        ("write", "error=ENOSPC"),
        ("fsync", "signal=KILL"),
        ("fsync", "error=EIO"),
        ("rename,renameat,renameat2", "signal=KILL"),
        ("mkdirat", "signal=KILL"),
    ],
)
def test_every_system_call_may_be_the_last(
    tmp_path: Path, call: str, fault: str
) -> None:
    log = numbered(6)
    steps = [(0, 2), (2, 4), (4, 6)]
    requests = []
    for old, new in steps:
        requests.append(tmp_path / f"{old}-{new}")
        requests[-1].write_bytes(log.ask(old, new))
    fresh = make_witness(tmp_path / "fresh")
    number, fired = 0, True
    while fired:
        number += 1
        folder = Path(shutil.copytree(fresh, tmp_path / f"w{number}"))
        inject = f"inject={call}:{fault}:when={number}"
        words = ["strace", "-f", "-o", str(tmp_path / "trace")]
        words += ["-e", f"trace={call}", "-e", inject]
        words += [sys.executable, "-c", PROGRAM, str(folder), *map(str, requests)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        trace = (tmp_path / "trace").read_text()
        fired = "(INJECTED)" in trace or "+++ killed by SIGKILL" in trace
        answered = done.stdout.split().count("200")
        acknowledged = steps[answered - 1][1] if answered else 0
        witness = Witness(folder, lambda: 1_000)
        kept = witness.latest(digest_of(ORIGIN))
        size = (
            0
            if kept.status == 404
            else Checkpoint.parse(parse_note(kept.body).body).size
        )
        # What was answered is there, and at most the next one beside it.
        assert acknowledged <= size <= acknowledged + 2
        assert witness.add_checkpoint(log.ask(size, 6)).status == 200
        witness.close()
        assert number < 40
    assert number > 1, "no call was reached"


def test_spoiled_requests_are_refused_and_never_raise(tmp_path: Path) -> None:
    """A thousand requests with a changed, missing or doubled piece; fixed seed."""
    folder = make_witness(tmp_path / "w")
    witness = Witness(folder, lambda: 1_000)
    log = numbered(7)
    witness.add_checkpoint(log.ask(0, 3))
    good = log.ask(3)
    body = parse_note(log.note()).body
    draw = random.Random(3)
    counts: dict[int, int] = {}
    for _ in range(1_000):
        at, length = draw.randrange(len(good)), draw.randrange(1, 40)
        piece = good[at : at + length]
        spoiled = (
            good[:at]
            + draw.choice(
                [
                    b"",
                    piece + piece,
                    bytes([draw.randrange(256)]),
                    piece[::-1],
                    draw.randbytes(length),
                ]
            )
            + good[at + length :]
        )
        answer = witness.add_checkpoint(spoiled)
        counts[answer.status] = counts.get(answer.status, 0) + 1
        if answer.status == 200:
            # Then nothing that counts was changed: the log signed this very text.
            assert parse_note(ConsistencyProof.parse(spoiled).checkpoint).body == body
            NoteSignature.parse(answer.body.decode())
            witness.close()
            shutil.rmtree(folder)
            witness = Witness(make_witness(folder), lambda: 1_000)
            witness.add_checkpoint(log.ask(0, 3))
    witness.close()
    assert set(counts) <= {200, 400, 403, 404, 409, 422}
    assert counts[400] > 500


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the program openssl")
def test_openssl_accepts_the_cosignature(tmp_path: Path) -> None:
    folder = make_witness(tmp_path / "w")
    log = numbered(3)
    witness = Witness(folder, lambda: 1_679_315_147)
    line = witness.add_checkpoint(log.ask(0)).body.decode()
    witness.close()
    value = NoteSignature.parse(line).value
    assert int.from_bytes(value[:8], "big") == 1_679_315_147
    message = b"cosignature/v1\ntime 1679315147\n" + parse_note(log.note()).body
    (tmp_path / "message").write_bytes(message)
    (tmp_path / "signature").write_bytes(value[8:])
    words = ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin"]
    words += [
        "-inkey",
        str(folder / "witness.pub.pem"),
        "-in",
        str(tmp_path / "message"),
    ]
    words += ["-sigfile", str(tmp_path / "signature")]
    assert subprocess.run(words, capture_output=True, check=False).returncode == 0
    (tmp_path / "message").write_bytes(message.replace(b"147\n", b"148\n"))
    assert subprocess.run(words, capture_output=True, check=False).returncode != 0


def test_a_state_that_is_older_than_it_was_is_not_noticed(tmp_path: Path) -> None:
    """The limit that the documentation states: never restore a witness's state."""
    folder = make_witness(tmp_path / "w")
    log = numbered(5)
    witness = Witness(folder)
    witness.add_checkpoint(log.ask(0, 3))
    state = folder / "state" / digest_of(ORIGIN)
    backup = state.read_bytes()
    witness.add_checkpoint(log.ask(3, 5))
    witness.close()
    state.write_bytes(backup)
    again = Witness(folder)
    assert again.add_checkpoint(log.ask(0)).body == b"3\n"
    again.close()
    state.write_bytes(backup.replace(b"\n3\n", b"\n2\n"))
    with pytest.raises(AuditError, match="is wrong"):
        Witness(folder)
