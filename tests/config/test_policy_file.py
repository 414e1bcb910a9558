# SPDX-License-Identifier: Apache-2.0
"""Policy files: strict, every problem with its line; signatures over their bytes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.config.policy_file import (
    BUILT_IN,
    MOST_BYTES,
    parse_policy,
    read_policy,
    signature_path,
    with_signature,
)
from lexfed.errors import AuditError, ConfigError, RunFolderError
from lexfed.signing.dsse import SignedEnvelope
from lexfed.signing.keys import Signer, create_key, public_path
from lexfed.tiers import MODEL_TIERS, Tier

PUBLISHED = {
    "high": (Tier.SPECIAL, 0.1, (0.05, 0.15), 1e-7, 2.5),
    "medium": (Tier.PERSONAL, 0.5, (0.3, 0.7), 1e-6, 1.5),
    "low": (Tier.NON_PERSONAL, 1.0, (0.8, 1.5), 1e-5, 1.0),
    "public": (Tier.NON_PERSONAL, 2.0, (1.5, 3.0), 1e-4, 0.5),
    "metadata": (Tier.NON_PERSONAL, 5.0, None, None, 0.2),
}
GOOD = """\
version = 1
title = "ours"

[levels.high]
tier = "special"
epsilon = 0.2
range = [0.1, 0.3]
weight = 3.0

[levels.medium]
tier = "personal"
weight = 2.0

[levels.low]
tier = "non_personal"
weight = 1.0
"""


def problems(text: str | bytes) -> list[str]:
    content = text.encode() if isinstance(text, str) else text
    with pytest.raises(ConfigError) as refused:
        parse_policy(content, "p.toml")
    return [str(problem) for problem in refused.value.problems]


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new, 1)


def test_the_published_table_is_shipped() -> None:
    levels = read_policy("published").policy.levels
    assert {
        level.name: (level.tier, level.epsilon, level.range, level.delta, level.weight)
        for level in levels
    } == PUBLISHED


def test_the_default_has_weights_and_no_ceilings() -> None:
    policy = read_policy("default").policy
    assert all(
        (level.epsilon, level.range, level.delta) == (None, None, None)
        for level in policy.levels
    )
    # Noise of 2, 1 and one half times the base; 0.25 for public, 0.1 for metadata.
    noise = {level.name: level.weight / 2.0 for level in policy.levels}
    assert noise == {
        "high": 2.0,
        "medium": 1.0,
        "low": 0.5,
        "public": 0.25,
        "metadata": 0.1,
    }


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_policies_have_a_level_for_every_tier(name: str) -> None:
    found = read_policy(name)
    assert found.logged == found.content
    for tier in MODEL_TIERS:
        assert found.policy.of_tier(tier)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            changed("weight = 3.0", "weight = 0"),
            ["p.toml:8: `levels.high.weight`: expected a number above 0, got: `0`"],
        ),
        (
            changed('"special"', '"identifier"'),
            [
                "p.toml:5: `levels.high.tier`: expected one of `special`, `personal`, "
                '`non_personal`, got: `"identifier"`'
            ],
        ),
        (
            changed("weight = 2.0\n", ""),
            ["p.toml:10: `levels.medium.weight` is missing"],
        ),
        (
            changed("weight = 2.0", "wieght = 2.0\nweight = 1.0"),
            ["p.toml:12: unknown key `levels.medium.wieght`"],
        ),
        (
            changed("version = 1", "version = 2"),
            ["p.toml:1: `version`: expected `1`, got: `2`"],
        ),
        (
            changed('"non_personal"', '"personal"'),
            ["p.toml:4: no level has tier `non_personal`"],
        ),
        (
            changed("[0.1, 0.3]", "[0.3, 0.1]"),
            ["p.toml:7: `levels.high.range`: the first number is above the second"],
        ),
        (
            changed("[0.1, 0.3]", "[0.3, 0.4]"),
            ["p.toml:7: `levels.high.range` does not hold its epsilon, 0.2"],
        ),
        (
            changed("epsilon = 0.2\n", ""),
            ["p.toml:6: `levels.high.range` does nothing without `epsilon`"],
        ),
        (
            changed("levels.high", "levels.High"),
            [
                "p.toml:4: `levels.High`: a level's name has up to 32 small letters, "
                "digits, `_`, `-`"
            ],
        ),
        (
            changed("levels.high", 'levels.""'),
            [
                'p.toml:4: `levels.""`: a level\'s name has up to 32 small letters, '
                "digits, `_`, `-`"
            ],
        ),
        (
            changed("[0.1, 0.3]", "[nan, inf]"),
            [
                "p.toml:7: `levels.high.range[0]`: expected a finite number above 0, "
                "got: `nan`",
                "p.toml:7: `levels.high.range[1]`: expected a finite number above 0, "
                "got: `inf`",
            ],
        ),
        (
            changed("version = 1", "version = "),
            ["p.toml:1: not valid TOML at column 11: expected a value"],
        ),
        (b"\xff", ["p.toml: not UTF-8 text"]),
        (
            "x = " + "[" * 60 + "]" * 60,
            ["p.toml:1: arrays or tables are nested too deeply"],
        ),
    ],
)
def test_every_problem_has_its_line(text: str | bytes, expected: list[str]) -> None:
    assert problems(text) == expected


@given(st.binary(max_size=300))
def test_any_bytes_are_a_policy_or_a_problem(content: bytes) -> None:
    with pytest.raises(ConfigError):
        parse_policy(content, "p.toml")


def test_a_file_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read `publishd`: no such file"):
        read_policy("publishd", (), tmp_path)
    (tmp_path / "long.toml").write_text("#" * (MOST_BYTES + 1))
    with pytest.raises(ConfigError, match="longer than 65536 bytes"):
        read_policy("long.toml", (), tmp_path)


# Signatures


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with `p.toml`, and the keys of an officer and a steward."""
    (tmp_path / "p.toml").write_text(GOOD)
    for name in ("officer", "steward"):
        create_key(tmp_path / "keys" / f"{name}.pem")
    return tmp_path


def signer(place: Path, name: str) -> Signer:
    from lexfed.signing.keys import load_key

    return Signer(name, load_key(place / "keys" / f"{name}.pem"))


def sign(place: Path, *names: str) -> None:
    path = place / "p.toml"
    beside = signature_path(path)
    for name in names:
        before = beside.read_bytes() if beside.exists() else None
        beside.write_bytes(
            with_signature(path.read_bytes(), before, signer(place, name))
        )


def keys(*names: str) -> list[str]:
    return [f"keys/{public_path(Path(f'{name}.pem'))}" for name in names]


def test_a_signed_policy_is_read_and_logged_with_its_signatures(place: Path) -> None:
    sign(place, "officer", "steward", "officer")
    found = read_policy("p.toml", keys("officer", "steward"), place)
    assert found.policy.title == "ours"
    envelope = SignedEnvelope.parse(found.logged)
    assert envelope.payload == GOOD.encode() == found.content
    assert len(envelope.signatures) == 2
    # Nobody asks for signatures: they are not looked at.
    assert read_policy("p.toml", (), place).logged == GOOD.encode()


def refusal(place: Path, *names: str) -> str:
    with pytest.raises(ConfigError) as refused:
        read_policy("p.toml", keys(*names), place)
    return str(refused.value)


def test_what_is_not_signed_by_all_keys_is_refused(place: Path) -> None:
    assert "there is no readable `p.toml.sig`" in refusal(place, "officer")
    sign(place, "officer")
    assert "not signed by key" in refusal(place, "officer", "steward")
    assert "not signed by key" in refusal(place, "steward")


def test_one_changed_byte_is_refused(place: Path) -> None:
    sign(place, "officer")
    (place / "p.toml").write_text(GOOD.replace("0.2", "0.3"))
    assert "the file was changed after signing" in refusal(place, "officer")
    # Signing again drops signatures over the old bytes.
    sign(place, "steward")
    assert "not signed by key" in refusal(place, "officer")


def test_a_signature_of_another_kind_or_of_nobody_is_refused(place: Path) -> None:
    beside = signature_path(place / "p.toml")
    other = SignedEnvelope.sign(GOOD.encode(), signer(place, "officer"))
    beside.write_bytes(other.to_bytes())
    assert "not one of a budget policy" in refusal(place, "officer")
    beside.write_bytes(b"{}")
    assert "not signed as" in refusal(place, "officer")
    with pytest.raises(AuditError):
        sign(place, "officer")


def test_a_forged_signature_is_refused(place: Path) -> None:
    sign(place, "officer")
    beside = signature_path(place / "p.toml")
    envelope = SignedEnvelope.parse(beside.read_bytes())
    ((key, value),) = envelope.signatures
    forged = SignedEnvelope(
        envelope.payload, envelope.payload_type, ((key, value[::-1]),)
    )
    beside.write_bytes(forged.to_bytes())
    assert "signature of key" in refusal(place, "officer")


def test_built_in_policies_carry_no_signature(place: Path) -> None:
    with pytest.raises(ConfigError, match="carries no signature"):
        read_policy("published", keys("officer"), place)
    with pytest.raises(RunFolderError):
        read_policy("p.toml", ["keys/nobody.pub.pem"], place)
