# SPDX-License-Identifier: Apache-2.0
"""`lexfed policy`: what a policy says, and who vouches for it."""

import sys
from collections.abc import Sequence
from pathlib import Path

from lexfed.budget.policy import BudgetPolicy, Level
from lexfed.cli import talk
from lexfed.cli.inputs import print_json
from lexfed.config.policy_file import parse_policy, policy_bytes, read_policy
from lexfed.config.policy_signature import (
    check_signature,
    signature_path,
    with_signature,
)
from lexfed.durable import write_atomically
from lexfed.errors import AuditError, ConfigError
from lexfed.signing.keys import Signer, create_key, load_key, public_path

SIGNER = "lexfed-budget-policy"


def show(name: str, as_toml: bool, as_json: bool) -> None:
    """Print the levels of a policy, or its file."""
    found = read_policy(name)
    if as_toml:
        sys.stdout.write(found.content.decode())
    elif as_json:
        print_json(_plain(found.policy))
    else:
        print(_table(found.policy))


def sign(file: Path, key: Path) -> None:
    """Add a signature to those beside a policy file."""
    content = policy_bytes(file, str(file))
    parse_policy(content, str(file))
    if not key.exists():
        create_key(key)
        talk.say(f"made a key: {key}, and its public half {public_path(key)}")
    signer = Signer(SIGNER, load_key(key))
    beside = signature_path(file)
    before = beside.read_bytes() if beside.exists() else None
    write_atomically(beside, with_signature(content, before, signer))
    talk.say(
        f"signed {file}: {beside}\n"
        f"`policy_keys = [...]` with {public_path(key)} under `[budget]` asks for it"
    )


def verify(file: Path, keys: Sequence[Path]) -> None:
    """Check that every key has signed a policy file."""
    content = policy_bytes(file, str(file))
    policy = parse_policy(content, str(file))
    try:
        check_signature(file, content, keys, str(file))
    except ConfigError as error:
        raise AuditError(error.message, error.hint) from error
    talk.say(f"{file}: `{policy.title}`, signed by {len(keys)} of {len(keys)} key(s)")


def _plain(policy: BudgetPolicy) -> dict[str, object]:
    return {
        "name": policy.name,
        "title": policy.title,
        "levels": [
            {
                "name": level.name,
                "tier": level.tier.label,
                "epsilon": level.epsilon,
                "range": None if level.range is None else list(level.range),
                "delta": level.delta,
                "weight": level.weight,
            }
            for level in policy.levels
        ],
    }


def _table(policy: BudgetPolicy) -> str:
    lines = [
        f"{policy.name}: {policy.title}",
        "",
        f"  {'level':<12}{'tier':<14}{'cap ε':>7}{'allowed':>14}{'δ at most':>11}"
        f"{'weight':>8}",
    ]
    for level in policy.levels:
        lines.append(
            f"  {level.name:<12}{level.tier.label:<14}{_number(level.epsilon):>7}"
            f"{_allowed(level):>14}{_number(level.delta):>11}{level.weight:>8g}"
        )
    return "\n".join(lines)


def _number(value: float | None) -> str:
    return "any" if value is None else f"{value:g}"


def _allowed(level: Level) -> str:
    if level.epsilon is None:
        return "any"
    if level.range is None:
        return f"{level.epsilon:g} only"
    return f"{level.range[0]:g} to {level.range[1]:g}"
