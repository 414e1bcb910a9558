# SPDX-License-Identifier: Apache-2.0
"""Files written in 300 ways: the table read is the one written, or it is refused."""

import sys

from support.table_reading import outcomes_of

FILES = 300
LEAST_READ = 0.95
"""Of the files that are not damaged: one that is refused costs a person an edit."""


def test_three_hundred_writings_are_read_or_refused() -> None:
    found = outcomes_of(range(FILES))
    lines = [f"\n{FILES} files: {dict(found.counts)}"]
    lines += [f"  {n:3}  {reason}" for reason, n in found.reasons.most_common()]
    sys.stdout.write("\n".join(lines) + "\n")  # shown by `-s`
    assert not found.wrong, "\n".join(found.wrong)
    fine = found.counts["read"] + found.counts["refused"]
    assert found.counts["read"] >= LEAST_READ * fine
    assert fine >= 0.75 * FILES
