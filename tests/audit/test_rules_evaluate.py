# SPDX-License-Identifier: Apache-2.0
"""Evaluation: never above a ceiling, nothing on an unsound log, the same every time."""

import dataclasses
from typing import get_args

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from lexfed.audit.entries import (
    Certificate,
    Correction,
    Document,
    Genesis,
    Governance,
    PolicyEntry,
    Withdrawal,
)
from lexfed.audit.entries.envelopes import EntryPlace, seal
from lexfed.audit.entries.lifecycle import RuleOutcome
from lexfed.audit.rules import (
    AT_CEILING,
    RuleCatalogue,
    Score,
    VerifierFindings,
    catalogue,
    certify,
    evaluate,
    facts_of,
    score,
)
from lexfed.audit.rules.catalogue import RuleCeiling
from lexfed.audit.rules.evaluation import capped
from lexfed.errors import AuditError
from lexfed.signing.keys import Signer
from support.rules.statements import ONE, ZERO, policy
from support.rules.world import Content, Paper, World, let, put, then

ORDER = ["NOT_EVIDENCED", "DOCUMENT_PRESENT", "PARTIAL", "EVIDENCED"]
RULES = catalogue().rules


@pytest.mark.parametrize("ceiling", get_args(RuleCeiling))
@pytest.mark.parametrize("outcome", get_args(RuleOutcome))
def test_nothing_is_claimed_above_a_ceiling(
    outcome: RuleOutcome, ceiling: RuleCeiling
) -> None:
    found, most = capped(outcome, ceiling), AT_CEILING[ceiling]
    if outcome == "NOT_APPLICABLE":
        assert found == "NOT_APPLICABLE"
    elif ceiling == "none":
        assert found == "NOT_MACHINE_CHECKABLE"
    elif ceiling == "not-applicable" or outcome == "NOT_MACHINE_CHECKABLE":
        assert found == "NOT_EVIDENCED"
    else:
        assert ORDER.index(found) == min(ORDER.index(outcome), ORDER.index(most))


@pytest.mark.parametrize("ceiling", get_args(RuleCeiling))
def test_no_rule_outgrows_another_ceiling(ceiling: RuleCeiling) -> None:
    """Every rule, given any ceiling, keeps to it in a world that shows everything."""
    rules = tuple(rule.model_copy(update={"ceiling": ceiling}) for rule in RULES)
    most = AT_CEILING[ceiling]
    for judgement in evaluate(World().facts(), RuleCatalogue(rules, ZERO)):
        if judgement.outcome not in ("NOT_APPLICABLE", most):
            assert judgement.outcome in ORDER[: ORDER.index("PARTIAL") + 1]
            if most in ORDER:
                assert ORDER.index(judgement.outcome) < ORDER.index(most)


def test_a_log_that_does_not_verify_proves_nothing() -> None:
    world = World(checks=VerifierFindings(log=False, budget=True, quorum=True))
    outcomes = {judgement.outcome for judgement in evaluate(world.facts())}
    assert outcomes == {"NOT_EVIDENCED", "NOT_MACHINE_CHECKABLE"}
    for judgement in evaluate(world.facts()):
        assert judgement.why == "the log does not verify"


def test_an_empty_log_proves_nothing() -> None:
    facts = facts_of(
        [], Content({}), VerifierFindings(log=True, budget=True, quorum=True)
    )
    claimed = [
        judgement.rule.id
        for judgement in evaluate(facts)
        if judgement.outcome not in ("NOT_EVIDENCED", "NOT_MACHINE_CHECKABLE")
    ]
    # Of nothing it can be said that it verifies and holds no text.
    assert claimed == ["edpb.02-2025", "hipaa.audit"]


def test_the_same_facts_give_the_same_judgements() -> None:
    assert evaluate(World().facts()) == evaluate(World().facts())


def test_corrected_evidence_does_not_count() -> None:
    world = World()
    notice = next(
        n
        for n, paper in enumerate(world.build())
        if isinstance(paper.entry, Document) and paper.entry.what == "notice"
    )
    assert world.judged("gdpr.13-14").outcome == "DOCUMENT_PRESENT"
    then(Correction(index=notice, reason=ONE))(world)
    assert world.judged("gdpr.13-14").outcome == "NOT_EVIDENCED"


def test_duties_cannot_be_corrected_away() -> None:
    world = World(answers=set())
    found = [n for n, p in enumerate(world.build()) if isinstance(p.entry, Withdrawal)]
    then(*(Correction(index=n, reason=ONE) for n in found))(world)
    world.governance["none_known"] = ("withdrawals", "limits")
    assert world.judged("gdpr.17-21").outcome == "NOT_EVIDENCED"
    assert world.judged("ccpa.limit").outcome == "NOT_EVIDENCED"


def test_the_last_word_of_people_counts() -> None:
    world = World()
    then(Governance(high_risk=False))(world)
    assert world.judged("aiact.12.1").outcome == "NOT_APPLICABLE"


@pytest.mark.parametrize("content", [b"[]", b'{"schema": 1}', b"\xff", b"{}", b"null"])
def test_tags_of_another_form_are_no_tags(content: bytes) -> None:
    world = World(readable=False)
    world.build()
    world.blobs[world.features["tags"]] = content
    assert world.facts().tagged is None
    assert world.judged("gdpr.25.2").outcome == "NOT_EVIDENCED"


def test_many_entries_are_cited_by_the_first_and_the_last() -> None:
    world = World(withdrawals=["erasure"] * 200)
    evidence = world.judged("gdpr.17-21").evidence
    assert len(evidence) == 100
    every = [n for n, p in enumerate(world.papers) if isinstance(p.entry, Withdrawal)]
    assert evidence[0] == every[0]
    assert list(evidence) == sorted(evidence)


def test_catalogues_that_this_version_cannot_evaluate_are_refused() -> None:
    rule = catalogue().rule("gdpr.33")
    updates: tuple[dict[str, object], ...] = (
        {"check": "oracle"},
        {"applies": ("the-moon",)},
        {"parameters": {}},
        {"parameters": {"hours": "many"}},
    )
    for update in updates:
        other = RuleCatalogue((rule.model_copy(update=update),), ZERO)
        with pytest.raises(AuditError, match=r"rule `gdpr\.33` cannot be evaluated"):
            evaluate(World().facts(), other)


def test_score_counts_what_applies_and_can_be_checked() -> None:
    judgements = evaluate(World().facts())
    total = score(judgements)
    left_out = {"hipaa.ed", "gdpr.25.1.suff", "edpb.28-2024.claim", "hipaa.sh.know"}
    assert total.applicable == 78 - len(left_out)
    assert total.at_ceiling == total.applicable - 1
    assert {j.rule.id for j in judgements if j.counts and not j.at_ceiling} == {
        "aiact.12.3"
    }
    assert total.share == pytest.approx(73 / 74)
    assert score(()) == Score(0, 0)
    assert Score(0, 0).share is None


def test_certificate_is_what_was_evaluated() -> None:
    world = World()
    papers = world.build()
    content = Content(world.blobs)
    found = certify(papers, content)
    assert found == certify(papers, content, VerifierFindings(True, True, quorum=True))
    assert (found.first, found.last) == (0, len(papers) - 1)
    assert found.catalogue == catalogue().digest
    by_rule = {result.rule: result for result in found.results}
    assert len(by_rule) == 78
    assert by_rule["gdpr.25.1.enforce"].outcome == "EVIDENCED"
    assert all(index <= found.last for r in found.results for index in r.evidence)
    counts = [r for r in found.results if r.outcome.startswith(("EVI", "PAR", "DOC"))]
    assert found.at_ceiling <= len(counts) <= found.applicable


def test_certificates_do_not_look_at_witnesses() -> None:
    world = World()
    papers, content = world.build(), Content(world.blobs)
    results = {r.rule: r.outcome for r in certify(papers, content).results}
    assert results["gdpr.5.1.f"] == results["gdpr.32.1.b"] == "NOT_EVIDENCED"
    assert world.judged("gdpr.5.1.f").outcome == "PARTIAL"


def test_certificate_on_a_log_that_fails_claims_nothing() -> None:
    papers = World().build()
    found = certify(papers, Content({}), VerifierFindings(log=False, budget=None))
    assert found.at_ceiling == 0
    wrong = certify(papers, Content({}), VerifierFindings(log=True, budget=False))
    outcomes = {result.rule: result.outcome for result in wrong.results}
    assert outcomes["gdpr.25.1.enforce"] == "NOT_EVIDENCED"


def test_nothing_is_charged_without_noise() -> None:
    world = World()
    put("policy", mechanism="none", epsilon=None, delta=None, noise="none")(world)
    put("round", event=None, epsilon=None, epsilon_so_far=None)(world)
    put("completed", claim=None, model=None)(world)
    papers = world.build()
    outcomes = {r.rule: r.outcome for r in certify(papers, Content({})).results}
    for rule in ("gdpr.25.1.config", "gdpr.25.1.enforce", "nist.226.guarantee"):
        assert outcomes[rule] == "NOT_EVIDENCED"


def test_an_empty_log_is_not_certified() -> None:
    with pytest.raises(AuditError, match="without entries"):
        certify([], Content({}))


def test_certificates_fit_into_an_entry() -> None:
    world = World(withdrawals=["erasure", "limit"] * 300)
    signer = Signer("coordinator", Ed25519PrivateKey.from_private_bytes(bytes(32)))
    found = certify(world.build(), Content(world.blobs))
    place = EntryPlace("a.example/0123456789abcdef", "0123456789abcdef", 9, ZERO)
    key, time = "certificate/9", "2026-11-15T12:00:00Z"
    data = seal(found, place, key=key, time=time, signers=(signer,))
    assert len(data) < 65535


def test_facts_are_found_by_place_not_by_claim() -> None:
    papers = [Paper(paper.entry, paper.time) for paper in World().build()]
    facts = facts_of(papers, Content({}), VerifierFindings(True, True))
    assert [at.index for at in facts.entries] == list(range(len(papers)))
    assert facts.of(Certificate) == ()


def test_a_roster_that_was_erased_names_nobody() -> None:
    papers = World().build()
    [first] = [n for n, paper in enumerate(papers) if isinstance(paper.entry, Genesis)]
    genesis = papers[first].entry.model_copy(update={"parties": (), "roster": ZERO})
    papers[first] = Paper(genesis, papers[first].time)
    facts = facts_of(papers, Content({}), VerifierFindings(True, True))
    assert facts.parties == ()


def test_policy_after_the_first_round_is_not_the_policy() -> None:
    world = World()
    let(policy={})(world)
    then(PolicyEntry(**policy()))(world)
    assert world.facts().policy is None
    assert world.judged("gdpr.25.1.config").outcome == "NOT_EVIDENCED"


def test_judgements_are_results_without_their_words() -> None:
    judgement = World().judged("gdpr.9")
    assert judgement.result.rule == "gdpr.9"
    assert judgement.result.evidence == judgement.evidence
    assert dataclasses.is_dataclass(judgement)
