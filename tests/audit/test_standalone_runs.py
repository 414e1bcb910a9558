# SPDX-License-Identifier: Apache-2.0
"""Runs that did not go by the book, and entries that come later, by both verifiers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lexfed.audit.entries import (
    Aggregation,
    BudgetPlan,
    Certificate,
    CompletionEntry,
    Correction,
    Deletion,
    Document,
    Export,
    FeatureTags,
    Genesis,
    Governance,
    Participation,
    PolicyEntry,
    PredecessorLog,
    RecordOfProcessing,
    ResumptionEntry,
    RoundEntry,
    SpecialBasis,
    receipts,
)
from lexfed.audit.standalone import verify as standalone
from lexfed.audit.tree.merkle import Tree
from lexfed.canonical import canonical_bytes
from lexfed.errors import ClaimError
from lexfed.privacy.claim.lines import ClaimProfile, check_sampler, scaled_releases
from lexfed.privacy.claim.proof import dump_claim
from lexfed.privacy.claim.schema import Claim
from lexfed.privacy.noise.gaussian import delta_sampler
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.tiers import Tier
from support.audit.two_verifiers import Rows, compared, failed, tables
from support.audit.worlds import (
    SITES,
    Draft,
    FakeRun,
    fake_run,
    pretty,
    receipt_of,
    sha256,
)
from support.privacy.claims import claim_of

RUNS = tables(Path(__file__).with_name("test_verify.py"))
CERTIFICATES = tables(Path(__file__).with_name("test_verify_certificates.py"))


def sound(run: FakeRun, folder: Path) -> Rows:
    rows = compared(run.write(folder / "run"))
    assert failed(rows) == []
    return rows


def test_a_log_may_continue_another(tmp_path: Path) -> None:
    run = fake_run()
    run.edit(
        Genesis, previous=PredecessorLog(origin="old.example", size=7, root="0" * 64)
    )
    detail = sound(run, tmp_path)["genesis"]["detail"]
    assert "continues `old.example` after its first 7 entries" in detail


def test_a_lost_round_is_charged_and_said_to_be_lost(tmp_path: Path) -> None:
    run = fake_run()
    run.drafts[5] = Draft(RUNS.aborted(2, RUNS.event_of(run, 2)), "round/2")
    run.edit(CompletionEntry, released=3)
    rows = sound(run, tmp_path)
    assert rows["rounds"]["detail"] == "rounds 1 to 4, no gap, 1 of them lost"
    assert rows["budgets spent"]["detail"].startswith("4 rounds")


def test_a_round_may_be_lost_after_it_was_logged(tmp_path: Path) -> None:
    run = fake_run()
    run.drafts.insert(8, Draft(RUNS.aborted(4, RUNS.event_of(run, 4)), "lost/4"))
    run.drafts.insert(9, Draft(ResumptionEntry(rounds=4), "resumed/1"))
    run.drafts.insert(10, Draft(RUNS.refusal(5), "refusal/5"))
    run.edit(CompletionEntry, released=3)
    run.files["state.safetensors"] = b"state after round 3"
    sound(run, tmp_path)


def test_leaving_a_lost_round_out_of_the_sum_is_noticed(tmp_path: Path) -> None:
    run, cheaper = fake_run(), fake_run(rounds=(1, 2))
    run.drafts[5] = Draft(RUNS.aborted(2, RUNS.event_of(run, 2)), "round/2")
    for number in (1, 2):
        other = cheaper.of(RoundEntry)[number].entry
        assert isinstance(other, RoundEntry)
        run.edit(RoundEntry, number, epsilon_so_far=other.epsilon_so_far)
    run.edit(CompletionEntry, released=3)
    row = compared(run.write(tmp_path / "run"))["budgets spent"]
    assert (row["status"], row["index"]) == ("FAIL", 6)


def test_a_log_that_stopped_before_its_plan(tmp_path: Path) -> None:
    run = fake_run(rounds=(0, 0), finished=False)
    for size in (3, 2, 1):
        del run.drafts[size:]
        sound(run, tmp_path / str(size))


def test_a_run_that_was_refused_at_once(tmp_path: Path) -> None:
    run = fake_run(rounds=(0, 0), finished=False)
    run.add(RUNS.refusal(1), "refusal/1")
    rows = sound(run, tmp_path)
    assert rows["rounds"]["detail"] == "0 rounds so far; the run is not completed"


def test_rounds_beyond_the_plan_are_noticed(tmp_path: Path) -> None:
    run = fake_run()
    again = run.of(RoundEntry)[3].entry.model_copy(update={"round": 5})
    run.drafts.insert(8, Draft(again, "round/5"))
    assert "round events" in failed(compared(run.write(tmp_path / "run")))


def test_stating_more_than_was_spent_is_allowed(tmp_path: Path) -> None:
    run = fake_run()
    run.edit(RoundEntry, 3, epsilon="2.0", epsilon_so_far="2.9")
    sound(run, tmp_path)


def test_two_tiers_of_sources_make_a_column_as_sensitive_as_they_are(
    tmp_path: Path,
) -> None:
    """A column made from others has the tier of the most sensitive of them."""
    run = fake_run()
    tags = json.loads(run.files["tags.json"])
    for column in tags["schema"]["columns"]:
        if column["name"] == "age":
            column["sources"] = ["birth"]
    tags["tags"]["birth"] = {**tags["tags"]["age"], "tier": "special"}
    run.edit(FeatureTags, tags=run.put(pretty(tags)))
    assert "feature tags" in failed(compared(run.write(tmp_path / "run")))


def test_without_a_price_any_tiers_may_enter(tmp_path: Path) -> None:
    run = fake_run(mechanism="none")
    sound(run, tmp_path / "1")
    run.edit(FeatureTags, inputs=sha256(b'["age"]'))
    sound(run, tmp_path / "2")
    run.edit(FeatureTags, inputs=sha256(b'["age","outcome"]'))
    assert failed(compared(run.write(tmp_path / "3"))) == ["feature tags"]


# Claims

BUDGETS = tables(Path(__file__).with_name("test_verify_budgets.py"))
CLAIMS = {
    "delta of the sampler": BUDGETS.claim(delta_sampler=0.0),
    "delta of the label": BUDGETS.claim(label__delta=1e-5),
    "epsilon of the label": BUDGETS.claim(label__epsilon=0.1),
    "delta of a tier": BUDGETS.claim(tiers__special__delta=1e-5),
    "rates of another run": BUDGETS.claim(sampling__rates=[0.5]),
    "sampled by word only": BUDGETS.claim(sampling__scheme="poisson"),
    "read by nobody": BUDGETS.claim(tiers__special__reads=[]),
    "another version": BUDGETS.claim(version=3),
    "an older version": BUDGETS.claim(version=1),
    "sampler of the label": BUDGETS.claim(label__delta_sampler=0.0),
    "a label with nothing left": BUDGETS.claim(label__delta_sampler=0.5),
    "a tier with nothing left": BUDGETS.claim(tiers__special__delta_sampler=0.5),
    "sampler of a tier": BUDGETS.claim(tiers__special__delta_sampler=0.0),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_claims_that_do_not_follow(name: str, tmp_path: Path) -> None:
    run = fake_run()
    CLAIMS[name](run)
    assert failed(compared(run.write(tmp_path / "run"))) == ["claim"]


def first_version(run: FakeRun) -> None:
    """State the record's figure for all lines, as claims of version 1 do."""
    value = json.loads(run.files["claim.json"])
    value["version"] = 1
    for row in (value["label"], *value["tiers"].values()):
        del row["delta_sampler"]
    run.files["claim.json"] = pretty(value)
    run.edit(CompletionEntry, claim=run.put(run.files["claim.json"]))


def test_claims_of_the_first_version(tmp_path: Path) -> None:
    run = fake_run()
    first_version(run)
    assert failed(compared(run.write(tmp_path / "run"))) == []


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("samples", "sigma"),
    [(100, 0.28), (10**8, 0.5), (10**8, 2.0), (10**14, 0.5), (1, 0.5), (0, 0.01)],
)
def test_both_verifiers_let_every_line_pay_for_the_sampler(
    samples: int, sigma: float, version: int
) -> None:
    """At the edge, where a line's epsilon is large, they agree line by line."""
    group = (ReleaseGroup("special", 1.0, sigma),)
    release = Release("special", group, 1.0, Tier.SPECIAL, 0)
    found = claim_of(
        [(release, 1)],
        accountant="gdp",
        rounds=1,
        columns={Tier.SPECIAL: ["a"]},
        profiles={"p": ClaimProfile(1, scaled_releases([(release, 1)], 0.5))},
        classes={"c": 0.5},
    )
    value = json.loads(json.dumps(dump_claim(found)))
    value["version"] = version
    error = delta_sampler(samples, found.epsilon)
    value["delta_sampler"] = error
    profile, one = value["profiles"]["p"], value["classes"]["c"]
    for row, epsilon in (
        (value["label"], found.label.epsilon),
        (value["tiers"]["special"], found.tiers["special"].epsilon),
        (profile, profile["label"]),
        (one, one["epsilon"]),
    ):
        row.pop("delta_sampler")
        if version == 2:
            row["delta_sampler"] = delta_sampler(samples, epsilon)

    def refused(check: Callable[[], None]) -> bool:
        try:
            check()
        except (ClaimError, standalone.Unsound):
            return True
        return False

    claim = Claim.model_validate(value)
    ours = refused(lambda: check_sampler(claim, samples))
    theirs = refused(lambda: standalone.check_sampler(value, samples, 0))
    label = delta_sampler(samples, found.label.epsilon)
    assert ours == (version == 1 and label > max(error, 1e-9))
    # The other verifier builds no claim, and looks here at what that refuses there.
    assert theirs == (ours or error > 1e-6)


def test_releases_of_another_version(tmp_path: Path) -> None:
    run = fake_run()
    value = json.loads(run.files["claim.json"])["releases"]
    value[0]["release"]["version"] = 2
    run.edit(BudgetPlan, releases=run.put(canonical_bytes(value)))
    assert "budget plan" in failed(compared(run.write(tmp_path / "run")))


def grouped(run: FakeRun, mechanism: str, **changes: Any) -> None:
    """Let every release have two groups that cost as much as its one."""

    def changed(release: dict[str, Any]) -> dict[str, Any]:
        [group] = release["groups"]
        half = {**group, "clip": 0.5**0.5}
        return {**release, "groups": [half, half], **changes}

    value = json.loads(run.files["claim.json"])
    rows = [{**row, "release": changed(row["release"])} for row in value["releases"]]
    value["releases"], value["mechanism"]["name"] = rows, mechanism
    run.files["claim.json"] = pretty(value)
    run.edit(CompletionEntry, claim=run.put(run.files["claim.json"]))
    run.edit(PolicyEntry, mechanism=mechanism)
    run.edit(BudgetPlan, releases=run.put(canonical_bytes(rows)))


def test_what_a_mechanism_releases(tmp_path: Path) -> None:
    run = fake_run()
    grouped(run, "grouped")
    assert "claim" not in failed(compared(run.write(tmp_path / "1")))
    grouped(run := fake_run(), "cascade")
    assert "claim" not in failed(compared(run.write(tmp_path / "tables")))
    grouped(run := fake_run(), "uniform")
    row = compared(run.write(tmp_path / "2"))["claim"]
    assert "`uniform` has no groups" in row["detail"]
    grouped(run := fake_run(), "grouped", reads=None)
    assert "claim" in failed(compared(run.write(tmp_path / "3")))


# Files and blobs


def test_files_may_be_left_out(tmp_path: Path) -> None:
    run = fake_run()
    del run.files["model.safetensors"]
    row = sound(run, tmp_path)["files"]
    assert row["detail"].endswith("not here: `model.safetensors`")


def test_the_state_may_be_one_round_behind_while_a_run_goes_on(tmp_path: Path) -> None:
    run = fake_run(finished=False)
    run.files["state.safetensors"] = b"state after round 3"
    sound(run, tmp_path / "1")
    run.files["state.safetensors"] = b"state after round 2"
    assert failed(compared(run.write(tmp_path / "2"))) == ["files"]


def test_what_was_erased_is_said_to_be(tmp_path: Path) -> None:
    run = fake_run()
    digest = RUNS.plan_file(run)
    del run.blobs[digest], run.files["plan.json"]
    run.add(Deletion(artefact="plan.json", digest=digest), "deletion/1")
    assert "1 were erased" in sound(run, tmp_path)["blobs"]["detail"]


def test_a_blob_that_nothing_cites_has_its_digest_all_the_same(tmp_path: Path) -> None:
    run = fake_run()
    run.put(b"more")
    sound(run, tmp_path / "1")
    run.blobs[sha256(b"more")] = b"less"
    assert failed(compared(run.write(tmp_path / "2"))) == ["blobs"]


def test_a_report_is_one_that_was_logged(tmp_path: Path) -> None:
    run = fake_run()
    run.files["report.html"] = b"<html>"
    assert "never logged" in sound(run, tmp_path / "1")["report"]["detail"]
    tree = Tree()
    for entry in run.sealed():
        tree.append(entry)
    root = tree.root().hex()
    for number, content in enumerate((b"<html>", b"later")):
        made = Export(what="report", digest=sha256(content), size=9, root=root)
        run.add(made, f"export/{number}")
    row = sound(run, tmp_path / "2")["report"]
    assert row["detail"] == "`report.html` is the one of entry 9"
    run.files["report.html"] = b"<html>better numbers"
    assert failed(compared(run.write(tmp_path / "3"))) == ["report"]


# People


def test_sealed_receipts_may_stay_closed(tmp_path: Path) -> None:
    run = fake_run(unit="client", sampling_rate=0.1)
    del run.files["sealed/round-2.json"]
    detail = sound(run, tmp_path)["participants"]["detail"]
    assert detail == "9 receipts of 3 sites, 1 round sealed and not opened"


def test_receipts_that_are_sealed_for_us_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = fake_run(unit="client", sampling_rate=0.1).write(tmp_path / "run")
    read = standalone.read_file

    def refused(folder: str, name: str) -> bytes | None:
        if name.startswith("sealed/"):
            raise PermissionError(name)
        return read(folder, name)

    monkeypatch.setattr(standalone, "read_file", refused)
    rows = standalone.verify(str(folder), None, None)["checks"]
    [row] = [row for row in rows if row["claim"] == "participants"]
    assert row["detail"] == "0 receipts of 0 sites, 4 rounds sealed and not opened"


@pytest.mark.parametrize("content", [b"[]", b"{}", b'{"receipts":"","salt":""} '])
def test_sealed_receipts_that_are_none(content: bytes, tmp_path: Path) -> None:
    run = fake_run(unit="client", sampling_rate=0.1)
    run.files["sealed/round-2.json"] = content
    assert failed(compared(run.write(tmp_path / "run"))) == ["participants"]


def test_the_sites_of_a_round_may_be_fewer_than_all(tmp_path: Path) -> None:
    run = fake_run()
    event = RUNS.event_of(run, 2)
    made = [receipts.sign(receipt_of(2, event), site) for site in SITES[:2]]
    blob = run.put(receipts.encode(made))
    run.edit(
        RoundEntry,
        1,
        participation=Participation(sites=2, receipts="open", digest=blob),
    )
    detail = sound(run, tmp_path)["participants"]["detail"]
    assert detail == "11 receipts of 3 sites"


def test_secure_aggregation_with_enough_survivors(tmp_path: Path) -> None:
    run = fake_run()
    run.edit(PolicyEntry, aggregation="secagg-v1")
    for number in range(4):
        used = Aggregation(protocol="secagg-v1", threshold=2, survivors=2 + number)
        run.edit(RoundEntry, number, aggregation=used)
    detail = sound(run, tmp_path / "1")["secure aggregation"]["detail"]
    assert detail == "`secagg-v1`, threshold met in every round"
    for number, (threshold, survivors) in enumerate(((3, 2), (None, 2), (2, None))):
        wrong = Aggregation(
            protocol="secagg-v1", threshold=threshold, survivors=survivors
        )
        run.edit(RoundEntry, 1, aggregation=wrong)
        rows = compared(run.write(tmp_path / f"wrong-{number}"))
        assert failed(rows) == ["secure aggregation"]
    run.edit(
        RoundEntry, 1, aggregation=Aggregation(protocol="x", threshold=1, survivors=1)
    )
    assert failed(compared(run.write(tmp_path / "x"))) == ["secure aggregation"]


# What comes later


def test_statements_of_people_are_carried(tmp_path: Path) -> None:
    run = fake_run()
    law = SpecialBasis(exception="9.2.j", law="0" * 64)
    governance = Governance(
        purpose="research",
        allowed_purposes=("research", "care"),
        special={"health": law},
        retention={"log": "2036-01-01"},
        high_risk=False,
    )
    run.drafts.insert(4, Draft(governance, "governance"))
    record = RecordOfProcessing(
        role="controller", groups={"purposes": "stated"}, text=run.put(b"text")
    )
    run.drafts.insert(5, Draft(record, "record"))
    run.add(Correction(index=5, reason="0" * 64), "correction/5")
    run.add(Document(what="dpia", digest="0" * 64, issued="2026-01-01"), "document/1")
    about = Document(what="dpia", digest="1" * 64, issued="2026-01-01", about=9)
    run.add(about, "document/2")
    assert sound(run, tmp_path)["references"]["detail"].startswith("2 entries")


def test_certificates_are_not_evaluated_again(tmp_path: Path) -> None:
    row = sound(fake_run(certified=True), tmp_path)["certificates"]
    assert row["status"] == "NOTE"
    assert row["detail"].startswith("NOT RE-EVALUATED (needs the rules of lexfed): 1 ")


@pytest.mark.parametrize("name", ["another catalogue", "another start", "a rule twice"])
def test_certificates_that_do_not_fit(name: str, tmp_path: Path) -> None:
    run = fake_run(certified=True)
    if name == "another catalogue":
        run.edit(Certificate, catalogue="0" * 64)
    elif name == "another start":
        run.edit(Certificate, first=1)
    else:
        CERTIFICATES.twice(run)
    assert failed(compared(run.write(tmp_path / "run"))) == ["certificates"]
