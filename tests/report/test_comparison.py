# SPDX-License-Identifier: Apache-2.0
"""Runs side by side: verified first, priced together, never ranked across terms."""

import math
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from lexfed.audit.entries import CompletionEntry, PolicyEntry
from lexfed.errors import AuditError
from lexfed.privacy.claim.composition import composed_guarantee
from lexfed.report.comparison.compared_runs import ComparedRun, read_runs
from lexfed.report.comparison.page import compare_json, compare_page, metric_line
from lexfed.report.comparison.result_groups import (
    apart,
    metric_interval,
    result_groups,
)
from lexfed.report.comparison.run_facts import binding_limit, fact_groups, people
from lexfed.report.comparison.setting_differences import setting_differences
from lexfed.report.comparison.together import data_name, joint_cost
from report.compared import (
    HOSTILE_NAME,
    configured,
    named,
    read_named,
    write_runs,
)
from report.conftest import MakeDossier
from support.audit.worlds import fake_run


def cells(runs: tuple[ComparedRun, ...]) -> dict[str, tuple[str, ...]]:
    return {row.name: row.cells for group in fact_groups(runs) for row in group.rows}


def test_each_run_is_verified_and_none_stops_the_others(tmp_path: Path) -> None:
    found = read_named(
        tmp_path, "damaged", "plain", "missing", "interrupted", "refused", "none",
        "seeded",
    )  # fmt: skip
    assert [run.dossier is not None for run in found] == [
        False, True, False, True, True, True, True,
    ]  # fmt: skip
    troubles = [run.trouble for run in found]
    assert troubles[0].startswith("does not verify: files: ")
    assert troubles[1] == ""
    assert troubles[2] == "cannot be read: no log in its folder"
    assert troubles[3].startswith("not finished: 3 of 4 planned rounds")
    assert troubles[4].startswith("nothing was released: refused by a site")
    assert troubles[5].startswith("NOT PRIVATE: no noise was added")
    assert troubles[6].startswith("NOT PRIVATE: the noise was seeded")
    assert [run.claim is not None for run in found] == [False, True, *[False] * 5]
    assert found[0].name == "damaged"  # its configuration cannot be relied on


def test_a_log_that_cannot_be_read_is_said_and_does_not_stop(tmp_path: Path) -> None:
    [path, other] = write_runs(tmp_path, "plain", "more")
    (path / "log" / "checkpoint").write_bytes(b"nonsense")
    first, second = read_runs([path, other])
    assert first.trouble.startswith("does not verify: ")
    assert second.claim is not None


def test_a_trust_file_that_is_none_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AuditError):
        read_runs(write_runs(tmp_path, "plain", "more"), b"nonsense\n")


def test_a_copy_is_counted_once_whichever_end_it_has(tmp_path: Path) -> None:
    run = named("twice")
    run.write(tmp_path / "whole")
    shutil.copytree(tmp_path / "whole", tmp_path / "copy")
    run.drafts = run.drafts[: -len(run.of(CompletionEntry))]
    run.files.pop("claim.json")
    run.files.pop("model.safetensors")
    run.write(tmp_path / "earlier")
    paths = [tmp_path / "earlier", tmp_path / "whole", tmp_path / "copy"]
    found = read_runs(paths)
    assert [each.same_as for each in found] == [2, None, 2]
    cost = joint_cost(found)
    assert cost.composed is None
    assert "only run 2 has a claim" in cost.sentence
    assert cost.left_out == ()


def test_a_log_that_goes_another_way_is_no_copy(tmp_path: Path) -> None:
    first, second = read_named(tmp_path, "plain", "more")
    assert not second.is_copy_of(first)
    assert not first.is_copy_of(ComparedRun(3, tmp_path, None))


def test_the_price_together_is_that_of_the_claims(tmp_path: Path) -> None:
    found = read_named(tmp_path, "plain", "more")
    cost = joint_cost(found)
    exact = composed_guarantee([run.claim for run in found if run.claim])
    assert cost.composed == exact
    assert cost.counted == (1, 2)
    assert cost.sentence.startswith("(ε, δ) = (")
    assert "per person under add/remove (replace-one: " in cost.sentence
    assert "by PLD, trust: central" in cost.sentence
    assert "the same data, `rows.csv`" in cost.people


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (("plain", "clients"), "a person, others a whole site"),
        (("none", "refused"), "no run here has a claim"),
        (("plain", "none"), "only run 1 has a claim"),
    ],
)
def test_without_a_price_together_the_reason_is_said(
    names: tuple[str, ...], why: str, tmp_path: Path
) -> None:
    cost = joint_cost(read_named(tmp_path, *names))
    assert cost.composed is None
    assert cost.counted == ()
    assert cost.sentence.startswith("No ε is stated for these runs together: ")
    assert why in cost.sentence


def _counting(run: ComparedRun, person: str | None, erased: bool) -> ComparedRun:
    assert run.dossier is not None
    assert run.dossier.tagged is not None
    schema = replace(run.dossier.tagged.schema, person=person)
    tagged = None if erased else replace(run.dossier.tagged, schema=schema)
    return replace(run, dossier=replace(run.dossier, tagged=tagged))


@pytest.mark.parametrize(
    ("person", "erased", "why"),
    [
        ("age", False, "different things for one person: `age`, each row"),
        (None, True, "its key of a person is not known"),
    ],
)
def test_runs_that_count_people_by_another_key_have_no_price(
    person: str | None, erased: bool, why: str, tmp_path: Path
) -> None:
    plain, more = read_named(tmp_path, "plain", "more")
    cost = joint_cost([plain, _counting(more, person, erased)])
    assert cost.composed is None
    assert why in cost.sentence


def test_whole_sites_are_counted_without_a_key_of_a_person(tmp_path: Path) -> None:
    named("others", unit="client", rounds=(3, 2)).write(tmp_path / "others")
    [clients] = write_runs(tmp_path, "clients")
    one, other = read_runs([clients, tmp_path / "others"])
    cost = joint_cost([one, _counting(other, "age", erased=False)])
    assert cost.composed is not None
    assert "per site" in cost.sentence


def test_added_up_claims_are_said_to_be(tmp_path: Path) -> None:
    paths = write_runs(tmp_path, "plain")
    adaptive = named("adaptive", accountant="rdp", guarantee="filter")
    cost = joint_cost(read_runs([*paths, adaptive.write(tmp_path / "adaptive")]))
    assert "by adding up what each states" in cost.sentence


def test_numbers_above_the_error_of_the_sampler_are_not_stated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = read_named(tmp_path, "plain", "more")
    monkeypatch.setattr(
        "lexfed.privacy.claim.composition.most_samples", lambda _: 10**25
    )
    cost = joint_cost(found)
    assert cost.composed is None
    assert "the error of the noise sampler" in cost.sentence


def test_an_erased_claim_is_said(tmp_path: Path) -> None:
    plain, more = read_named(tmp_path, "plain", "more")
    assert more.dossier is not None
    gone = replace(more, dossier=replace(more.dossier, claim=None))
    assert (
        "Run 2 comes on top: its claim is not at hand."
        in joint_cost([plain, gone]).left_out
    )


def test_runs_whose_cost_is_unknown_come_on_top(tmp_path: Path) -> None:
    cost = joint_cost(
        read_named(
            tmp_path, "plain", "more", "none", "damaged", "interrupted", "refused"
        )
    )
    assert cost.counted == (1, 2)
    told = " ".join(cost.left_out)
    assert "Run 3 comes on top: it is not private" in told
    assert "Run 4 comes on top: nothing in it can be relied on" in told
    assert "Run 5 comes on top: it is not finished, and spent ε " in told
    assert "Run 6" not in told, "nothing was released, so nothing was spent"


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("plain", "elsewhere"), "nobody can tell from here"),
        (("made-up", "made-up"), "made up or published"),
        (("none", "refused"), ""),
    ],
)
def test_what_is_known_about_the_people_is_said(
    names: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    assert words in joint_cost(read_named(tmp_path, *names)).people


def test_the_record_stands_before_tiers_and_metrics(tmp_path: Path) -> None:
    found = read_named(tmp_path, "plain", "more", "none")
    names = [group.name for group in fact_groups(found)]
    assert names[0] == "Whole record"
    assert names.index("Result on test rows") > 2
    rows = cells(found)
    assert rows["per"] == ("person", "person", "")
    assert rows["ε"][2] == ""
    assert rows["covered by"] == ("outside the guarantee",) * 3
    assert rows["accuracy without a model"][0] == "0.600, `no`, always"
    assert rows["people"] == ("600, declared",) * 3
    assert rows["mechanism"] == ("cascade", "cascade", "none")
    assert rows["special"][0].endswith(", cap 2.50")


def test_lost_rounds_are_counted(tmp_path: Path) -> None:
    assert cells(read_named(tmp_path, "plain", "interrupted"))[
        "lost rounds, paid for"
    ] == ("", "1")


@pytest.mark.parametrize(
    ("caps", "words"),
    [
        ({"special": "2.5"}, "no cap: ε 1.75 of 3.00 used"),
        ({"personal": "3.8"}, "the cap on personal, 3.80: ε 1.75 of 3"),
        (
            {"special": "2.5", "personal": "4.0", "non_personal": "3.9"},
            "the cap on non-personal, 3.90",
        ),
    ],
)
def test_the_limit_that_binds_is_read_from_the_log(
    caps: dict[str, str], words: str, dossier_of: MakeDossier
) -> None:
    run = fake_run()
    run.edit(PolicyEntry, caps=caps)
    assert words in binding_limit(dossier_of(run))


def test_a_full_record_is_its_own_limit(dossier_of: MakeDossier) -> None:
    run = fake_run()
    run.edit(PolicyEntry, epsilon="1.75")
    assert binding_limit(dossier_of(run)).startswith("the record's budget: ε 1.75 of")
    assert binding_limit(dossier_of(fake_run(mechanism="none"))) == ""


@pytest.mark.parametrize(
    ("table", "data", "number"),
    [
        ("", "not named", "not stated"),
        ('source = "a.csv"\nunits = 9', "a.csv", "9, declared"),
        ("units = true", "not named", "not stated"),
        ('sites = { files = ["a", "b"] }', "a, b", "not stated"),
        ("sites = { count = 2 }", "not named", "not stated"),
        ("generator = { patients = 7 }", "not named", "7, made up"),
        ("generator = { patients = true }", "not named", "not stated"),
    ],
)
def test_data_and_people_are_those_of_the_configuration(
    table: str, data: str, number: str, dossier_of: MakeDossier
) -> None:
    dossier = dossier_of(configured(fake_run(), f"[data]\n{table}\n"))
    assert (data_name(dossier), people(dossier)) == (data, number)


def test_results_on_other_terms_are_apart(tmp_path: Path) -> None:
    found = read_named(
        tmp_path, "plain", "more", "elsewhere", "clients", "none", "bare", "damaged"
    )
    groups = result_groups(found)
    assert [[run.number for run in group.runs] for group in groups] == [
        [1, 2, 5],
        [3],
        [4],
    ]
    assert apart(groups) == "data, unit"
    assert apart(groups[:1]) == ""
    assert groups[1].chart() is None
    drawn = str(groups[0].chart())
    assert drawn.count("<circle") == 2
    assert "AUC over epsilon of the whole record" in drawn


def test_an_interval_is_that_of_hanley_and_mcneil(dossier_of: MakeDossier) -> None:
    dossier = dossier_of(named("one"))
    found = metric_interval(dossier)
    assert found is not None
    low, high = found
    # Area .8364, 60 negatives and 40 positives: by hand, a standard error of .0436.
    assert (high - low) / (2 * 1.96) == pytest.approx(0.0436, abs=5e-5)
    assert math.isclose((low + high) / 2, 0.8364, abs_tol=1e-9)


@pytest.mark.parametrize("why", ["several rows", "paid", "no metrics"])
def test_no_interval_where_counts_do_not_give_one(
    why: str, dossier_of: MakeDossier
) -> None:
    run = fake_run() if why == "no metrics" else named("one")
    if why == "several rows":
        run.edit(PolicyEntry, records_per_person=4)
    if why == "paid":
        run = configured(run, '[evaluation]\nmetrics = "paid"\n')
    assert metric_interval(dossier_of(run)) is None
    assert metric_interval(None) is None


def test_only_keys_that_differ_are_listed(tmp_path: Path) -> None:
    found = read_named(tmp_path, "plain", "more", "made-up", "damaged")
    rows = {row.key: row.values for row in setting_differences(found)}
    assert rows == {
        "run.name": ('"plain"', '"more"', '"made-up"', ""),
        "data.source": ('"rows.csv"', '"rows.csv"', '"synthetic:hospital"', ""),
    }


def test_long_values_are_cut(tmp_path: Path) -> None:
    found = read_named(tmp_path, "plain", "hostile")
    assert max(len(v) for row in setting_differences(found) for v in row.values) == 100


class _Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)


def test_hostile_names_are_text(tmp_path: Path) -> None:
    page = compare_page(read_named(tmp_path, "plain", "hostile"), "now")
    tags = _Tags(page).tags
    assert "script" not in tags
    assert "img" not in tags
    assert HOSTILE_NAME not in page
    assert "\u202e" not in page
    assert "&lt;script&gt;" in page


def test_the_page_says_both_warnings_and_what_is_outside(tmp_path: Path) -> None:
    page = compare_page(read_named(tmp_path, "plain", "more", "none"), "now")
    assert page.index("Whole record: (ε, δ)") < page.index("outside the guarantee")
    assert page.index("Runs about the same people add up") < page.index("0.836")
    assert "outside every guarantee" in page
    assert "settled before" in page
    assert "ranked" not in page
    assert "best first" not in page


def test_a_page_of_runs_without_anything_has_no_chart(tmp_path: Path) -> None:
    page = compare_page(read_named(tmp_path, "missing", "refused"), "now")
    assert "<svg" not in page
    assert 'id="chart"' not in page


def test_many_differences_are_behind_a_line(tmp_path: Path) -> None:
    keys = "".join(f"key{number} = {number}\n" for number in range(60))
    configured(fake_run(), f"[data]\n{keys}").write(tmp_path / "many")
    [plain] = write_runs(tmp_path, "plain")
    page = compare_page(read_runs([plain, tmp_path / "many"]), "now")
    assert "23 more</summary>" in page


def test_json_has_fixed_names_and_no_infinity(tmp_path: Path) -> None:
    found = read_named(tmp_path, "plain", "more", "none", "damaged")
    plain = compare_json(found)
    assert set(plain) == {
        "runs", "together", "comparable", "differences", "warnings",
    }  # fmt: skip
    assert plain["together"]["runs"] == [1, 2]
    assert plain["runs"][3]["verified"] is False
    assert plain["runs"][3]["claim"] is None
    assert plain["runs"][0]["covered_by"] == "outside the guarantee"
    assert plain["comparable"][0]["runs"] == [1, 2, 3]
    assert plain["differences"]["run.name"][3] is None
    alone = compare_json(read_named(tmp_path, "plain", "none"))
    assert alone["together"]["epsilon"] is None


def test_the_metric_of_a_run_has_its_name(tmp_path: Path) -> None:
    plain, bare, damaged = read_named(tmp_path, "plain", "bare", "damaged")
    assert metric_line(plain) == ("0.836", "AUC")
    assert metric_line(bare) == metric_line(damaged) == ("", "")
