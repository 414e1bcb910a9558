# SPDX-License-Identifier: Apache-2.0
"""Log folders of every size where something changes shape, before golang.org/x/mod."""

from pathlib import Path

import pytest

from support.log.judge import Judge
from support.log.plain import entries_of, signer, write_log

BOUNDARIES = [0, 1, 2, 3, 7, 8, 255, 256, 257, 511, 512]
LARGE = [65535, 65536, 65537, 70000]


@pytest.mark.parametrize("size", BOUNDARIES)
def test_another_program_accepts_the_folder(
    size: int, tmp_path: Path, judge: Judge
) -> None:
    write_log(tmp_path, entries_of(size))
    done = judge.run("log", tmp_path, signer().verifier.vkey)
    assert done.stdout == f"OK {signer().name} size {size} signed 0\n"


@pytest.mark.parametrize("size", LARGE)
def test_another_program_accepts_a_large_folder(
    size: int, tmp_path: Path, judge: Judge
) -> None:
    write_log(tmp_path, [b"%d" % number for number in range(size)])
    assert judge.accepts("log", tmp_path, signer().verifier.vkey)


def test_another_program_accepts_a_folder_that_grew(
    tmp_path: Path, judge: Judge
) -> None:
    write_log(tmp_path, entries_of(1030), 0, 1, 200, 256, 257, 600, 1024, 1030)
    assert judge.accepts("log", tmp_path, signer().verifier.vkey)


def test_another_program_refuses_a_changed_folder(tmp_path: Path, judge: Judge) -> None:
    write_log(tmp_path, entries_of(600))
    vkey = signer().verifier.vkey
    assert judge.accepts("log", tmp_path, vkey)
    for path in sorted(tmp_path.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            path.write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
            assert not judge.accepts("log", tmp_path, vkey), path.name
            path.write_bytes(content)
    assert judge.accepts("log", tmp_path, vkey)
