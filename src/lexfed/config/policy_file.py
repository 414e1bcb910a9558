# SPDX-License-Identifier: Apache-2.0
"""Policy files: read strictly, every problem with its line, signed if keys ask for it.

    version = 1
    title = "budgets of the trust"

    [levels.high]
    tier = "special"
    epsilon = 0.1              # the cap, unless a run states its own
    range = [0.05, 0.15]       # where that one must lie
    delta = 1e-7               # largest delta of a run with such a column
    weight = 2.5               # noise relative to other levels

What is parsed is what was signed: the file is read once. The signature of `policy.toml`
is `policy.toml.sig`, a DSSE envelope whose payload is the file, byte for byte, under a
payload type of its own: no other signature of the same key can be taken for one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError
from pydantic_core import ErrorDetails

from lexfed.budget.policy import BudgetPolicy, Level
from lexfed.config.tables.field_types import ConfigTable, NonEmptyText, Positive, Real
from lexfed.config.text.findings import Finding, about, hidden_in, syntax_finding
from lexfed.config.text.positions import KeyPath, key_lines, nearest_line
from lexfed.config.text.repair import without_lists
from lexfed.config.text.wording import dotted, expectation, listed, schema_node, shown
from lexfed.errors import AuditError, ConfigError, Problem, system_reason
from lexfed.plain_files import MOST_OF_A_DOCUMENT, plain_or_link, read_plain
from lexfed.signing.dsse import SignedEnvelope
from lexfed.signing.keys import Signer, fingerprint, load_public
from lexfed.tiers import MODEL_TIERS, Tier
from lexfed.toml_text import parse_toml

PAYLOAD_TYPE = "application/vnd.lexfed.budget-policy+toml"
SUFFIX = ".sig"


def signature_path(path: Path) -> Path:
    """Return where the signatures of a policy file lie."""
    return path.with_name(path.name + SUFFIX)


def with_signature(content: bytes, before: bytes | None, signer: Signer) -> bytes:
    """Return the envelope of a policy with one more signature.

    Guarantees:
        Signatures of others over the same bytes are kept; those over others go.
    """
    fresh = SignedEnvelope.sign(content, signer, payload_type=PAYLOAD_TYPE)
    others: list[tuple[str, bytes]] = []
    if before is not None:
        old = SignedEnvelope.parse(before)
        if (old.payload, old.payload_type) == (content, PAYLOAD_TYPE):
            others = [p for p in old.signatures if p[0] != signer.fingerprint]
    signatures = (*others, *fresh.signatures)
    return SignedEnvelope(content, PAYLOAD_TYPE, signatures).to_bytes()


def check_signature(
    path: Path, content: bytes, keys: Sequence[Path], name: str
) -> bytes:
    """Return the envelope of a policy file once every key has signed the content.

    `ConfigError` tells that a key has not signed, or that other bytes were signed.
    """
    public = {fingerprint(raw): raw for raw in map(load_public, keys)}
    try:
        data = read_plain(signature_path(path), MOST_OF_A_DOCUMENT, links=True)
        envelope = SignedEnvelope.parse(data)
        if envelope.payload_type != PAYLOAD_TYPE:
            raise AuditError("the signature is not one of a budget policy")
        if envelope.payload != content:
            raise AuditError("the file was changed after signing")
        envelope.verify(public, public)
    except OSError as error:
        reason = f"there is no readable `{name}{SUFFIX}`"
        raise ConfigError([_unsigned(name, reason)]) from error
    except AuditError as error:
        raise ConfigError([_unsigned(name, error.message)]) from error
    return data


def _unsigned(name: str, reason: str) -> Problem:
    return Problem(
        "`budget.policy`",
        f"`{name}` is not signed as `budget.policy_keys` asks: {reason}",
        f"`lexfed policy sign {name} --key KEY` signs it; nothing runs under a policy "
        "that nobody vouches for",
    )


BUILT_IN = ("default", "published")
MOST_BYTES = 65_536

_HERE = Path()
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")


class _LevelTable(ConfigTable):
    tier: Literal["special", "personal", "non_personal"]
    weight: Positive
    epsilon: Positive | None = None
    range: tuple[Positive, Positive] | None = None
    delta: Annotated[Real, Field(gt=0, lt=1)] | None = None


class _PolicyTable(ConfigTable):
    version: Literal[1]
    title: NonEmptyText
    levels: Annotated[Mapping[NonEmptyText, _LevelTable], Field(min_length=1)]


@dataclass(frozen=True)
class PolicyFile:
    """A policy, the bytes of its file, and both signed (DSSE) where keys ask for it."""

    policy: BudgetPolicy
    content: bytes
    envelope: bytes | None = None

    @property
    def logged(self) -> bytes:
        """The bytes for the log: the envelope, which holds the file, or the file."""
        return self.content if self.envelope is None else self.envelope


def read_policy(name: str, keys: Sequence[str] = (), base: Path = _HERE) -> PolicyFile:
    """Read a policy by the name of a built-in one, or from a file.

    `keys` are public key files whose signatures the policy must carry, all of them;
    paths are relative to the folder `base`.

    Guarantees:
        With keys, every one of them has signed exactly the bytes that are in force.

    Raises:
        ConfigError: with every problem of the file; if a signature is missing or wrong.
        RunFolderError: if a key file cannot be used.
    """
    if name in BUILT_IN:
        if keys:
            what = "a built-in policy carries no signature"
            hint = (
                "write it to a file with `lexfed policy show NAME --toml`, sign that "
                "with `lexfed policy sign`, and name the file"
            )
            raise ConfigError([Problem("`budget.policy_keys`", what, hint)])
        return _built_in(name)
    path = base / name
    content = policy_bytes(path, name)
    envelope = None
    if keys:
        envelope = check_signature(path, content, [base / key for key in keys], name)
    return PolicyFile(parse_policy(content, name), content, envelope)


@cache
def _built_in(name: str) -> PolicyFile:
    """Return a policy that comes with the package; it is read once."""
    content = (files("lexfed.budget") / "policies" / f"{name}.toml").read_bytes()
    return PolicyFile(parse_policy(content, name), content)


def parse_policy(content: bytes, name: str) -> BudgetPolicy:
    """Return what the bytes of a file say; `name` stands for the file in messages.

    Raises:
        ConfigError: with every problem, each with its line.
    """
    try:
        text = content.decode("utf-8")
        tables = without_lists(parse_toml(text))
    except UnicodeDecodeError as error:
        raise ConfigError([Problem(name, "not UTF-8 text")]) from error
    except (ValueError, RecursionError) as error:
        finding, line = syntax_finding(text, error)
        problem = Problem(f"{name}:{line}", finding.what, finding.hint)
        raise ConfigError([problem]) from error
    try:
        table = _PolicyTable.model_validate(tables)
        findings = [*hidden_in(tables), *_contradictions(table)]
    except ValidationError as error:
        findings = [_finding(details) for details in error.errors(include_url=False)]
    if findings:
        lines = key_lines(text)
        places = (f"{name}:{nearest_line(lines, f.path)}" for f in findings)
        pairs = zip(places, findings, strict=True)
        raise ConfigError([Problem(place, f.what, f.hint) for place, f in pairs])
    levels = tuple(
        Level(
            level, Tier.parse(row.tier), row.weight, row.epsilon, row.range, row.delta
        )
        for level, row in table.levels.items()
    )
    return BudgetPolicy(name, table.title, levels)


def _finding(details: ErrorDetails) -> Finding:
    path = details["loc"]
    schema = _PolicyTable.model_json_schema()
    if path[-1] == "[key]":
        return _unnamed(path[:-1])
    if details["type"] == "missing":
        return Finding(path[:-1], f"`{dotted(path)}` is missing")
    if details["type"] == "extra_forbidden":
        known = listed(schema_node(schema, path[:-1]).get("properties", {}))
        return Finding(path, f"unknown key `{dotted(path)}`", f"known are {known}")
    value = details["input"]
    expected = expectation(schema, schema_node(schema, path), value)
    return about(path, f": expected {expected}, got: {shown(value)}")


def _unnamed(path: KeyPath) -> Finding:
    return about(path, ": a level's name has up to 32 small letters, digits, `_`, `-`")


def _contradictions(table: _PolicyTable) -> Iterator[Finding]:
    for tier in MODEL_TIERS:
        if all(level.tier != tier.label for level in table.levels.values()):
            hint = "every tier that a model may read needs a level"
            yield Finding(("levels",), f"no level has tier `{tier.label}`", hint)
    for name, level in table.levels.items():
        if not _NAME.fullmatch(name):
            yield _unnamed(("levels", name))
        if level.range is None:
            continue
        path = ("levels", name, "range")
        low, high = level.range
        if low > high:
            yield about(path, ": the first number is above the second")
        elif level.epsilon is None:
            yield about(path, " does nothing without `epsilon`")
        elif not low <= level.epsilon <= high:
            yield about(path, f" does not hold its epsilon, {level.epsilon:g}")


def policy_bytes(path: Path, name: str) -> bytes:
    """Read a policy file, or raise `ConfigError`, without looking at what it says."""
    try:
        with open(path, "rb", opener=plain_or_link) as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        hint = f"built in are {listed(BUILT_IN)}; others are files"
        what = f"cannot read `{name}`: {system_reason(error)}"
        raise ConfigError([Problem("`budget.policy`", what, hint)]) from error
    if len(content) > MOST_BYTES:
        raise ConfigError([Problem(name, f"longer than {MOST_BYTES} bytes")])
    return content
