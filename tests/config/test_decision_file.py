# SPDX-License-Identifier: Apache-2.0
"""Files of decisions are read as strictly as configurations, with lines in messages."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.config.decision_file import read_decisions
from lexfed.config.edits import ColumnDecision
from lexfed.errors import ConfigError

HEAD = "[law.columns]\n"
GOOD = (
    HEAD + '"blood group" = { tier = "special", category = "health", reason = "r" }\n'
)


def problems(tmp_path: Path, content: str | bytes) -> list[str]:
    path = tmp_path / "decisions.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigError) as error:
        read_decisions(path)
    return [str(problem).removeprefix(f"{path}:") for problem in error.value.problems]


def test_decisions_are_read_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "decisions.toml"
    path.write_text("\ufeff# made by hand\n" + GOOD, encoding="utf-8")
    found = read_decisions(path)
    assert found.decisions == {"blood group": ColumnDecision("special", "health", "r")}
    assert found.places == {"blood group": f"{path}:3"}


def test_a_category_may_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "decisions.toml"
    path.write_text(HEAD + 'ward = { tier = "personal", reason = "r", by = "rule" }')
    [decision] = read_decisions(path).decisions.values()
    assert decision.keys() == {"tier": "personal", "reason": "r", "by": "rule"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "1: holds no decisions: `[law.columns]` is missing"),
        ("[law]\n", "1: holds no decisions: `[law.columns]` is missing"),
        ("law = 3\n", "1: holds no decisions: `[law.columns]` is missing"),
        (GOOD + "[budget]\nepsilon = 9.0\n",
         "3: `budget` is no decision about a column"),
        ('[law]\njurisdictions = ["gdpr"]\n' + GOOD.replace("[law.", "[law."),
         "2: `law.jurisdictions` is no decision about a column"),
        (HEAD + 'ward = { tier = "free", reason = "r" }\n',
         "2: `law.columns.ward.tier`: expected"),
        (HEAD + 'ward = { tier = "personal" }\n',
         "2: `law.columns.ward.reason` is missing"),
        (HEAD + 'ward = { tier = "?", reason = "r" }\n',
         "2: `law.columns.ward.tier` is not decided yet"),
        (HEAD + 'ward = { tier = "personal", reason = "a\\u202eb" }\n',
         "2: `law.columns.ward.reason`: expected visible characters on one line, "
         "found `\\u202e`"),
        (HEAD + 'ward = { tier = "personal", reason = "" }\n', "2: "),
        (HEAD + 'ward = { tier = "personal", reason = "r", epsilon = 9 }\n', "2: "),
        (HEAD + "ward = 3\n", "2: "),
        (GOOD + GOOD.split("\n")[1] + "\n", '3: `law.columns."blood group"` is set '
         "twice, first on line 2"),
        (HEAD + "ward = {\n", "2: not valid TOML"),
        (b"\xff\xfe", "not UTF-8 text"),
    ],
)  # fmt: skip
def test_whatever_is_wrong_is_said(
    content: str | bytes, said: str, tmp_path: Path
) -> None:
    found = problems(tmp_path, content)
    assert any(said in line for line in found), found


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_decisions(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_decisions(tmp_path)


@given(st.binary(max_size=200))
def test_no_file_breaks_it(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "d.toml"
        path.write_bytes(content)
        with pytest.raises(ConfigError):
            read_decisions(path)
