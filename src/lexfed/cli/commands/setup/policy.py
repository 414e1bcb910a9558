# SPDX-License-Identifier: Apache-2.0
"""`lexfed policy`: levels of a budget policy, and the keys that vouch for it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from lexfed.cli import talk
from lexfed.cli.groups import command_group
from lexfed.cli.options import AsJson
from lexfed.cli.output import print_json
from lexfed.counted_words import counted
from lexfed.errors import AuditError, ConfigError

if TYPE_CHECKING:
    from lexfed.budget.policy import BudgetPolicy, Level

SIGNER = "lexfed-budget-policy"
PolicyArgument = Annotated[Path, Argument(help="A policy file.", readable=False)]
policy = command_group("Show, sign and check budget policies.")


@policy.command()
def show(
    name: Annotated[str, Argument(help="`default`, `published`, or a policy file.")],
    as_toml: Annotated[
        bool, Option("--toml", help="Print the file itself, byte for byte.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print the levels of a policy."""
    from lexfed.config.policy_file import read_policy

    found = read_policy(name)
    if as_toml:
        sys.stdout.write(found.content.decode())
    elif as_json:
        print_json(_plain(found.policy))
    else:
        print(_table(found.policy))


@policy.command()
def sign(
    file: PolicyArgument,
    key: Annotated[
        Path,
        Option(metavar="KEY", help="Private key (PEM); made if it is not there yet."),
    ],
) -> None:
    """Sign a policy file; the signature is FILE.sig."""
    from lexfed.config.policy_file import (
        parse_policy,
        policy_bytes,
        signature_path,
        with_signature,
    )
    from lexfed.durable import write_atomically
    from lexfed.signing.keys import Signer, create_key, load_key, public_path

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


@policy.command()
def verify(
    file: PolicyArgument,
    key: Annotated[
        list[Path],
        Option(
            metavar="PUBLIC", help="Public key (PEM); several: all must have signed."
        ),
    ],
) -> None:
    """Check who signed a policy file.

    The exit code is 1 if a signature is missing or wrong.
    """
    from lexfed.config.policy_file import check_signature, parse_policy, policy_bytes

    content = policy_bytes(file, str(file))
    found = parse_policy(content, str(file))
    try:
        check_signature(file, content, key, str(file))
    except ConfigError as error:
        raise AuditError(error.message, error.hint) from error
    signed = f"signed by {len(key)} of {counted(len(key), 'key')}"
    talk.say(f"{file}: `{found.title}`, {signed}")


def _plain(policy: "BudgetPolicy") -> dict[str, object]:
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


def _table(policy: "BudgetPolicy") -> str:
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


def _allowed(level: "Level") -> str:
    if level.epsilon is None:
        return "any"
    if level.range is None:
        return f"{level.epsilon:g} only"
    return f"{level.range[0]:g} to {level.range[1]:g}"
