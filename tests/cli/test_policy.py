# SPDX-License-Identifier: Apache-2.0
"""Policies on the command line: shown, signed, checked, and in force."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lexfed.audit.entries import PolicyEntry
from lexfed.audit.log.evidence import read_evidence
from lexfed.config.policy_file import read_policy
from lexfed.signing.dsse import SignedEnvelope

Lexfed = Callable[..., Any]
Edit = Callable[..., None]


def published(*more: str) -> tuple[tuple[str, str], ...]:
    lines = "\n".join(('policy = "published"', *more))
    return (("delta = 1e-6", f"delta = 1e-7\n{lines}"),)


def logged(run: Path) -> tuple[PolicyEntry, bytes]:
    """Return the entry on the policy of a run, and the blob that it cites."""
    evidence = read_evidence(run)
    (found,) = evidence.of(PolicyEntry)
    assert found.entry.policy is not None
    return found.entry, evidence.blobs.get(found.entry.policy)


@pytest.mark.parametrize("name", ["default", "published"])
def test_a_policy_is_shown(lexfed: Lexfed, name: str) -> None:
    said = lexfed("policy", "show", name)
    assert said.code == 0
    for level in ("high", "medium", "low", "public", "metadata"):
        assert f"  {level} " in said.out
    plain = json.loads(lexfed("policy", "show", name, "--json").out)
    assert plain["levels"][0]["name"] == "high"
    file = lexfed("policy", "show", name, "--toml").out
    assert file.encode() == read_policy(name).content


def test_the_published_table_reads_like_the_table(lexfed: Lexfed) -> None:
    lines = lexfed("policy", "show", "published").out.splitlines()
    assert " ".join(lines[3].split()) == "high special 0.1 0.05 to 0.15 1e-07 2.5"
    assert " ".join(lines[-1].split()) == "metadata non_personal 5 5 only any 0.2"


def test_a_policy_that_is_not_there(lexfed: Lexfed, tmp_path: Path) -> None:
    said = lexfed("policy", "show", str(tmp_path / "nothing.toml"))
    assert said.code == 2
    assert "built in are `default`, `published`" in said.err


def test_a_policy_binds_a_run_and_is_in_its_log(
    lexfed: Lexfed, edit: Edit, place: Path
) -> None:
    edit(*published())
    plain = json.loads(lexfed("plan", "--json").out)
    assert plain["claims"]["tiers"]["special"]["epsilon"] <= 0.1
    assert plain["claims"]["tiers"]["personal"]["epsilon"] <= 0.5
    said = lexfed("run")
    assert said.code == 0
    assert "  policy   published: published budgets per sensitivity level" in said.err
    entry, blob = logged(place / "runs" / "visits")
    assert blob == read_policy("published").content
    assert {name: float(cap) for name, cap in entry.caps.items()} == {
        "special": 0.1,
        "personal": 0.5,
        "non_personal": 1.0,
    }
    assert lexfed("verify", "runs/visits").code == 0


def test_the_default_is_in_the_log_too(lexfed: Lexfed, place: Path) -> None:
    assert lexfed("run").code == 0
    entry, blob = logged(place / "runs" / "visits")
    assert blob == read_policy("default").content
    assert entry.caps == {}


def test_what_a_policy_does_not_allow_is_refused_with_its_line(
    lexfed: Lexfed, edit: Edit
) -> None:
    edit(("delta = 1e-6", 'delta = 1e-6\npolicy = "published"'))
    edit(add="\n[budget.caps]\nspecial = 0.3\npersonal = 0.6\n")
    said = lexfed("check")
    assert said.code == 2
    level = "policy `published`, level `high`"
    assert re.search(rf"toml:\d+: `budget.caps.special`: {level}: a cap", said.err)
    assert re.search(rf"toml:\d+: `budget.delta`: {level}: a delta", said.err)
    assert "caps.personal" not in said.err


def test_levels_of_columns_need_a_reason_and_an_effect(
    lexfed: Lexfed, edit: Edit
) -> None:
    level = (
        '\n[budget.levels]\nward = { level = "public", reason = "on the website" }\n'
    )
    edit(add=level)
    said = lexfed("check")
    assert "a level for `ward` does nothing: policy `default`" in said.err
    edit(("delta = 1e-6", 'delta = 1e-6\nallocation = "noise-scale"'))
    assert lexfed("check").code == 0
    with_level = json.loads(lexfed("plan", "--json").out)
    edit((level, ""))
    without = json.loads(lexfed("plan", "--json").out)
    assert with_level["claims"] != without["claims"]
    edit(add='\n[budget.levels]\nward = { level = "public" }\n')
    assert "`budget.levels.ward.reason` is missing" in lexfed("check").err


def test_without_noise_a_policy_bounds_nothing(lexfed: Lexfed, edit: Edit) -> None:
    edit(
        *published(),
        add='\n[budget.caps]\nspecial = 9.0\n[privacy]\nmechanism = "none"\n',
    )
    assert lexfed("check").code == 0


def test_only_a_signed_policy_may_be_asked_for(
    lexfed: Lexfed, edit: Edit, place: Path
) -> None:
    (place / "trust.toml").write_bytes(read_policy("published").content)
    keys = 'policy_keys = ["secret/officer.pub.pem"]'
    edit(("delta = 1e-6", f'delta = 1e-7\npolicy = "trust.toml"\n{keys}'))
    assert (
        lexfed("policy", "sign", "trust.toml", "--key", "secret/officer.pem").code == 0
    )
    public = ("--key", "secret/officer.pub.pem")
    assert lexfed("policy", "verify", "trust.toml", *public).code == 0
    assert lexfed("run").code == 0
    _, blob = logged(place / "runs" / "visits")
    assert SignedEnvelope.parse(blob).payload == read_policy("published").content
    assert lexfed("verify", "runs/visits").code == 0

    (place / "trust.toml").write_bytes(read_policy("default").content)
    said = lexfed("policy", "verify", "trust.toml", *public)
    assert said.code == 1
    assert "the file was changed after signing" in said.err
    said = lexfed("check")
    assert said.code == 2
    assert "`trust.toml` is not signed as `budget.policy_keys` asks" in said.err


def test_signing_twice_keeps_both(lexfed: Lexfed, place: Path) -> None:
    (place / "trust.toml").write_bytes(read_policy("published").content)
    for name in ("officer", "steward"):
        key = f"secret/{name}.pem"
        assert lexfed("policy", "sign", "trust.toml", "--key", key).code == 0
    both = ("--key", "secret/officer.pub.pem", "--key", "secret/steward.pub.pem")
    said = lexfed("policy", "verify", "trust.toml", *both)
    assert (said.code, "2 of 2" in said.err) == (0, True)


def test_what_is_no_policy_is_not_signed(lexfed: Lexfed, place: Path) -> None:
    said = lexfed("policy", "sign", "lexfed.toml", "--key", "secret/officer.pem")
    assert said.code == 2
    assert not (place / "secret").exists()
