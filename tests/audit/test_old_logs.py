# SPDX-License-Identifier: Apache-2.0
"""Logs of the version that knew no masked sums verify as they did, line by line.

`expected/logs-before-masking.zip` holds three runs of `support.audit.worlds`, written
by that version, and what its two verifiers said of them.
"""

import re
import zipfile
from pathlib import Path

import pytest

from lexfed.audit.entries.envelopes import body_of, unseal
from lexfed.audit.log.evidence import read_evidence
from lexfed.audit.standalone import verify as standalone
from lexfed.audit.verify import verify_run
from lexfed.signing.dsse import InTotoStatement

LOGS = Path(__file__).parent / "expected" / "logs-before-masking.zip"
RUNS = ["cascade", "none", "sampled"]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    with zipfile.ZipFile(LOGS) as archive:
        archive.extractall(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", RUNS)
def test_old_logs_verify_line_by_line_as_before(name: str, old: Path) -> None:
    folder = old / name / "run"
    # Which files the log has no digest of was not said then.
    checks = [c for c in verify_run(folder).checks if c.claim != "other files"]
    lines = [_as_then(str(check)) for check in checks]
    assert lines == (old / name / "lexfed.txt").read_text().splitlines()
    verdict = standalone.verify(str(folder), None, None)
    rows = [row for row in verdict["checks"] if row["claim"] != "other files"]
    verdict = {**verdict, "checks": rows}
    said = standalone.in_words(verdict) + "\n"
    assert _as_then(said) == (old / name / "verify.txt").read_text()


def _as_then(text: str) -> str:
    """Return a line in the words of then; the numbers in it are those of now.

    Since then both verifiers say the label's epsilon, rules that software can show are
    counted apart from those that need people, and one of a thing is called one.
    """

    def together(counts: re.Match[str]) -> str:
        shown, software, stated, people = map(int, counts.groups())
        return (
            f"{shown + stated} of {software + people} applicable ones at their ceiling"
        )

    text = _RULES.sub(together, re.sub(r"; label [0-9.]+", "", text))
    text = re.sub(r"(entry|entries) citing earlier", "entries cite earlier", text)
    return _SINGLE.sub(lambda one: "1 " + _PLURALS[one[1]], text)


_PLURALS = {"entry": "entries"} | {
    noun: f"{noun}s"
    for noun in ("certificate", "round", "receipt", "site", "key rotation", "column")
}
_SINGLE = re.compile(rf"\b1 ({'|'.join(_PLURALS)})\b")


_RULES = re.compile(
    r"shown: (\d+) of the (\d+) rules that software can show; (\d+) of the (\d+) that "
    "need statements or documents of people"
)


@pytest.mark.parametrize("name", RUNS)
def test_old_entries_keep_their_bytes(name: str, old: Path) -> None:
    for index, data in enumerate(read_evidence(old / name / "run").view.entries):
        found = unseal(data, index)
        said = InTotoStatement.parse(found.envelope.payload).predicate["entry"]
        assert body_of(found.entry) == said
