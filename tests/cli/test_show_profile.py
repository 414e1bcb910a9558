# SPDX-License-Identifier: Apache-2.0
from lexfed.cli.commands.training.profile import profile_lines as lines
from support.sketch.profile_samples import empty, odd, whole


def test_every_column_has_a_line_and_its_notes() -> None:
    shown = lines(whole())
    assert (
        shown[0]
        == "profile of 4,000 people declared at 2 sites; intervals hold in 95 %"
    )
    assert shown[1].split() == ["column", "kind", "missing", "range", "or", "values"]
    age = next(line for line in shown if line.startswith("  age"))
    assert " number " in age
    assert age.endswith("(found)")
    assert any(
        line.startswith("  height") and line.endswith("0 to 128") for line in shown
    )
    at = next(at for at, line in enumerate(shown) if line.startswith("  nothing"))
    assert (
        shown[at + 1]
        == "    no range stands out of the noise: declare one, or pay more"
    )
    assert any(line.startswith("  north and south: ") for line in shown)


def test_odd_names_stay_on_their_lines() -> None:
    shown = lines(odd())
    assert not any("\u202e" in line or "\n" in line for line in shown)
    assert max(map(len, shown)) < 200
    assert shown[-1] == "  and 68 more pairs, with less in common"


def test_an_empty_profile_has_a_head() -> None:
    assert lines(empty()) == [
        "profile of 1 person declared; intervals hold in 95 %",
        "  column  kind  missing  range or values",
    ]
