# SPDX-License-Identifier: Apache-2.0
"""`lexfed tag --accept`: decisions go into the configuration, nothing else changes."""

import json
import os
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Lexfed = Callable[..., Any]
Expected = Callable[[str, str], None]
OPEN = '{ tier = "?", reason = "?" }'
TABLE = """\
patient_id,hiv_status,alter,qqzx,postcode
1,yes,34,3,79100
2,no,56,4,79104
3,no,41,4,79100
"""


@pytest.fixture
def begun(lexfed: Lexfed, place: Path) -> Path:
    """A configuration as `lexfed init` leaves it."""
    (place / "lexfed.toml").unlink()
    (place / "people.csv").write_text(TABLE)
    assert lexfed("init", "people.csv").code == 0
    return place / "lexfed.toml"


def decided(path: Path) -> dict[str, Any]:
    columns: dict[str, Any] = tomllib.loads(path.read_text())["law"]["columns"]
    return {name: row for name, row in columns.items() if row["tier"] != "?"}


def test_init_and_check_mention_it(lexfed: Lexfed, begun: Path) -> None:
    begun.rename("first.toml")
    assert "`lexfed tag --accept` suggests tiers" in lexfed("init", "people.csv").err
    said = lexfed("init", "people.csv", "--out", "other.toml")
    assert "`lexfed tag other.toml --accept` suggests tiers" in said.err
    checked = lexfed("check").err
    assert (
        "hint: it looks like health (rule `gdpr.art9.health`, `hiv` (hiv infection) in "
        "the name matches: health); accept it with "
        "`lexfed tag --accept hiv_status`, or state why not under `[law.columns]`"
    ) in checked
    assert "a person must look: `lexfed tag --explain qqzx`" in checked
    other = lexfed("check", "other.toml").err
    assert "`lexfed tag other.toml --accept hiv_status`" in other


def test_hints_stay_where_nothing_can_be_suggested(lexfed: Lexfed, begun: Path) -> None:
    text = begun.read_text()
    begun.write_text(text.replace('"people.csv"', '"synthetic:hospital"'))
    said = lexfed("check").err
    assert (
        "choose `non_personal`, `personal`, `special` (health, religion, ...)" in said
    )
    assert "--accept" not in said
    begun.write_text(text.replace('tier = "?"', 'tier = "special"'))
    assert "--accept" not in lexfed("check").err


def test_open_decisions_are_filled_in_and_nothing_else_changes(
    lexfed: Lexfed, begun: Path
) -> None:
    before = begun.read_bytes()
    said = lexfed("tag", "--accept")
    assert said.code == 0
    found = decided(begun)
    assert {"patient_id", "hiv_status", "alter", "postcode"} <= set(found)
    assert found["hiv_status"]["tier"] == "special"
    assert found["hiv_status"]["category"] == "health"
    assert "`gdpr.art9.health` (GDPR Art. 9(1), 4(15))" in found["hiv_status"]["reason"]
    assert "`hiv`" in found["hiv_status"]["reason"]
    after = begun.read_bytes().splitlines()
    for number, line in enumerate(before.splitlines()):
        name = line.split(b" = ")[0].decode()
        if name not in found or OPEN.encode() not in line:
            assert after[number] == line
    assert len(after) == len(before.splitlines())
    assert "accepted " in said.err
    assert "the decision is yours" in said.err


def test_what_is_for_review_is_accepted_only_by_name(
    lexfed: Lexfed, begun: Path
) -> None:
    assert lexfed("tag", "--accept").code == 0
    assert "qqzx" not in decided(begun)
    said = lexfed("tag", "--accept")
    assert "accepted 0 of 1 open columns" in said.err
    assert "still to review: `qqzx`" in said.err
    named = lexfed("tag", "lexfed.toml", "--accept", "qqzx")
    assert named.code == 0
    assert "qqzx" in decided(begun)
    assert "accepted 0 of 0 open columns" in lexfed("tag", "--accept").err


def test_only_named_columns(lexfed: Lexfed, begun: Path) -> None:
    assert lexfed("tag", "--accept", "alter", "hiv_status", "alter").code == 0
    assert set(decided(begun)) == {"alter", "hiv_status"}


def test_decisions_are_never_overwritten(
    lexfed: Lexfed, begun: Path, expected: Expected
) -> None:
    text = begun.read_text().replace(
        f"hiv_status = {OPEN}", 'hiv_status = { tier = "personal", reason = "my own" }'
    )
    begun.write_text(text)
    assert lexfed("tag", "--accept").code == 0
    assert decided(begun)["hiv_status"] == {"tier": "personal", "reason": "my own"}
    before = begun.read_text()
    said = lexfed("tag", "--accept", "hiv_status", "alte", "nowhere")
    assert said.code == 2
    expected("accept-refused.txt", said.err)
    assert begun.read_text() == before


def test_missing_lines_are_added_with_windows_line_ends(
    lexfed: Lexfed, begun: Path
) -> None:
    text = begun.read_text().replace(f"hiv_status = {OPEN}\n", "")
    begun.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert lexfed("tag", "--accept").code == 0
    content = begun.read_bytes()
    assert content.startswith(b"\xef\xbb\xbf# lexfed.toml")
    assert content.count(b"\n") == content.count(b"\r\n")
    assert b'\r\nhiv_status = { tier = "special"' in content


def test_permissions_and_links_stay(lexfed: Lexfed, begun: Path) -> None:
    begun.rename("real.toml")
    os.chmod("real.toml", 0o640)
    begun.symlink_to("real.toml")
    assert lexfed("tag", "--accept").code == 0
    assert begun.is_symlink()
    assert stat.S_IMODE(Path("real.toml").stat().st_mode) == 0o640
    assert "hiv_status" in decided(begun)


def test_json_and_sheets_of_everything(lexfed: Lexfed, begun: Path) -> None:
    said = lexfed("tag", "--accept", "alter", "--json", "--csv", "o.csv")
    assert said.code == 0
    assert len(json.loads(said.out)) == 5
    assert Path("o.csv").exists()


def test_a_configuration_that_cannot_be_added_to(
    lexfed: Lexfed, begun: Path, expected: Expected
) -> None:
    begun.write_text(
        '[data]\nsource = "people.csv"\n'
        '[data.columns]\nhiv_status = { kind = "flag" }\n'
        "[[law.columns]]\n"
    )
    before = begun.read_text()
    said = lexfed("tag", "--accept")
    assert said.code == 2
    expected("accept-dotted.txt", said.err)
    assert begun.read_text() == before


def test_values_leave_no_trace_in_the_configuration(
    lexfed: Lexfed, begun: Path
) -> None:
    rows = "".join(f"{n},no,{n},someone{n}@example.org,1\n" for n in range(60))
    Path("people.csv").write_text(TABLE.splitlines()[0] + f"\n{rows}")
    assert lexfed("tag", "--accept", "qqzx").code == 0
    reason = decided(begun)["qqzx"]["reason"]
    assert "someone" not in reason
    assert "%" not in reason


def test_accepted_tags_make_a_run(lexfed: Lexfed, place: Path) -> None:
    """A configuration of accepted tags prices, runs, verifies, and keeps proposals."""
    names = ("patient", "ward", "age", "smoker", "bmi", "diagnosis", "readmitted")
    text = (place / "lexfed.toml").read_text()
    head, _, rest = text.partition("[law.columns]\n")
    law = "".join(f"{name} = {OPEN}\n" for name in names)
    law += (
        'hospital = { tier = "non_personal", category = "reference", '
        'reason = "says where, not who" }\n'
    )
    tail = rest[rest.index("[budget]") :]
    (place / "mine.toml").write_text(
        'version = 1\njurisdiction = "mine"\ntitle = "Mine"\n[[rule]]\nid = "mine.1"\n'
        'reference = "Mine 1"\nobligation = "Ask."\ntiers = ["special"]\n'
    )
    laws = (
        '[law]\njurisdictions = ["gdpr", "hipaa", "ccpa"]\n'
        'catalogues = ["mine.toml"]\n\n[law.columns]\n'
    )
    (place / "lexfed.toml").write_text(f"{head}{laws}{law}\n{tail}")
    assert lexfed("tag", "--accept").code == 0
    left = set(names) - set(decided(place / "lexfed.toml"))
    if left:
        assert lexfed("tag", "--accept", *sorted(left)).code == 0
    assert lexfed("run").code == 0
    tags = json.loads(Path("runs/visits/tags.json").read_text())
    assert [law["jurisdiction"] for law in tags["asked"]["catalogues"]] == [
        "gdpr", "hipaa", "ccpa", "mine",
    ]  # fmt: skip
    assert set(tags["asked"]["tagger"]) == {"lexicon", "packs", "model"}
    bmi = tags["tags"]["bmi"]
    assert bmi["by"] == "rule"
    assert all(tags["tags"][name]["by"] == "person" for name in (*left, "hospital"))
    assert bmi["proposal"]["tier"] == "special"
    assert bmi["proposal"]["evidence"]
    rules = {obligation["rule"] for obligation in bmi["obligations"]}
    assert {"gdpr.art9.health", "hipaa.phi", "mine.1"} <= rules
    entry = lexfed("log", "show", "runs/visits", "2", "--json").out
    assert "mine:Mine-1" in entry
    assert '"mine"' in entry
    hospital = tags["tags"]["hospital"]
    assert hospital["reason"] == "says where, not who"
    assert hospital["proposal"]["category"] != "reference"
    verified = lexfed("verify", "runs/visits")
    assert verified.code == 0, verified.out
    certificate = lexfed("report", "runs/visits", "--formats", "html")
    assert certificate.code == 0
    page = Path("runs/visits/report.html").read_text()
    assert "people tagged some columns and named no category" not in page


ENTRIES = {
    "absent": None,
    "both open": '{ tier = "?", reason = "?" }',
    "all open": '{ tier = "?", reason = "?", category = "?" }',
    "one open": '{ tier = "?" }',
    "empty": "{}",
    "a word": '"?"',
    "no reason": '{ tier = "personal" }',
    "open reason": '{ tier = "personal", reason = "?" }',
    "open tier": '{ tier = "?", reason = "about people" }',
    "open category": '{ tier = "personal", reason = "x", category = "?" }',
}


@pytest.mark.parametrize("form", ENTRIES)
def test_check_and_accept_agree_on_what_is_open(
    lexfed: Lexfed, place: Path, form: str
) -> None:
    """What `check` calls open is accepted, or named as begun; afterwards both agree."""
    path, entry = place / "lexfed.toml", ENTRIES[form]
    line = 'age = { tier = "personal", reason = "about the person" }\n'
    text = path.read_text()
    assert line in text
    text = text.replace(line, "" if entry is None else f"age = {entry}\n")
    path.write_text(text)
    before = lexfed("check")
    assert before.code == 2
    assert "age" in before.err
    said = lexfed("tag", "--accept")
    after = lexfed("check")
    if "accepted 1 of 1 open columns" in said.err:
        assert after.code == 0
        assert decided(path)["age"]["category"] == "demographic"
        return
    # A part of it was decided by a person: nothing is overwritten, and it is named.
    assert path.read_text() == text
    assert "accepted 0 of 0 open columns" in said.err
    assert (
        after.err.split("lexfed.toml:", 1)[1] == before.err.split("lexfed.toml:", 1)[1]
    )
    assert "warning: column `age`: `" in said.err
    assert "not decided yet" in said.err
    named = lexfed("tag", "--accept", "age")
    assert named.code == 2
    assert "not decided yet" in named.err
    assert "finish it by hand under `[law.columns]`" in named.err


def test_a_decision_about_no_column_is_not_open(lexfed: Lexfed, place: Path) -> None:
    path = place / "lexfed.toml"
    text = path.read_text() + "\n[law.columns.aage]\ntier = '?'\nreason = '?'\n"
    path.write_text(text)
    assert "`law.columns.aage.tier` is not decided yet" in lexfed("check").err
    said = lexfed("tag", "--accept").err
    assert "accepted 0 of 0 open columns" in said
    assert "warning: `[law.columns]`: there is no column `aage`" in said
    assert "there is no column `aage`" in lexfed("tag", "--accept", "aage").err
    assert path.read_text() == text


DECIDED = """\
[law.columns]
hiv_status = { tier = "special", category = "health", reason = "a test result" }
qqzx = { tier = "non_personal", reason = "number of beds" }
"""


def test_decisions_of_the_page_are_written(
    lexfed: Lexfed, begun: Path, place: Path
) -> None:
    (place / "decisions.toml").write_text(DECIDED)
    said = lexfed("tag", "--decisions", "decisions.toml")
    assert (said.code, said.out) == (0, "")
    assert "2 decisions written" in said.err
    assert "still open: `patient_id`, `alter`, `postcode`" in said.err
    assert decided(begun) == tomllib.loads(DECIDED)["law"]["columns"]
    # The same ones again change nothing.
    before = begun.read_bytes()
    again = lexfed("tag", "lexfed.toml", "--decisions", "decisions.toml")
    assert again.code == 0
    assert "nothing to write" in again.err
    assert begun.read_bytes() == before


def test_a_decision_is_never_overwritten_by_a_file(
    lexfed: Lexfed, begun: Path, place: Path
) -> None:
    (place / "first.toml").write_text(DECIDED)
    assert lexfed("tag", "--decisions", "first.toml").code == 0
    before = begun.read_bytes()
    other = DECIDED.replace("number of beds", "something else")
    other += 'alter = { tier = "personal", reason = "an age" }\n'
    (place / "second.toml").write_text(other)
    said = lexfed("tag", "--decisions", "second.toml")
    assert said.code == 2
    assert "second.toml:3: column `qqzx` is decided already" in said.err
    assert begun.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('hiv_statu = { tier = "special", reason = "r" }',
         "d.toml:2: there is no column `hiv_statu`"),
        ('hiv_status = { tier = "secret", reason = "r" }', "d.toml:2: "),
        ("hiv_status = {", "d.toml:2: not valid TOML"),
    ],
)  # fmt: skip
def test_a_wrong_decision_writes_none(
    content: str, said: str, lexfed: Lexfed, begun: Path, place: Path
) -> None:
    (place / "d.toml").write_text("[law.columns]\n" + content)
    before = begun.read_bytes()
    found = lexfed("tag", "--decisions", "d.toml")
    assert found.code == 2
    assert said in found.err
    assert begun.read_bytes() == before


def test_decisions_go_with_nothing_else(lexfed: Lexfed, begun: Path) -> None:
    for more in (
        ("--accept",), ("--json",), ("--html", "a"), ("--csv", "a"), ("--explain", "a"),
        ("--schema", "a"), ("--jurisdictions", "gdpr"), ("--catalogue", "a"),
        ("lexfed.toml", "hiv_status"),
    ):  # fmt: skip
        said = lexfed("tag", "--decisions", "d.toml", *more)
        assert said.code == 2
        assert "exclude each other" in said.err or "no column names" in said.err


def test_the_page_of_a_configuration_asks_for_what_is_open(
    lexfed: Lexfed, begun: Path, place: Path
) -> None:
    (place / "decisions.toml").write_text(DECIDED)
    assert lexfed("tag", "--decisions", "decisions.toml").code == 0
    assert lexfed("tag", "lexfed.toml", "--html", "tags.html").code == 0
    text = (place / "tags.html").read_text()
    assert text.count("decided in the configuration") == 2
    assert text.count('class="form"') == 3
