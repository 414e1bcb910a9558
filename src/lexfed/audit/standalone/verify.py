#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Verify the log of a federated training run. One file: read it before you run it.

    python -I verify.py FOLDER [--policy FILE] [--pin CHECKPOINT] [--json]

FOLDER is a run folder or an unpacked evidence bundle: it holds `log/` and, beside it,
files that the log has hashes of. Needs Python 3.9 and `cryptography` (for signatures),
nothing of lexfed and no network. Prints one line per claim:

    OK     computed again from the evidence, and it agrees
    FAIL   it does not; the first entry at which it does not is named
    NOTE   nothing is wrong, and something cannot be shown, here or at all

and ends with exit code 0, or with 1 if anything failed, 2 if nothing could be read or
written, 3 if this Python is too old or has no `cryptography`, 4 if this file has a
defect. Whatever the folder holds, it prints no traceback.

The log is a Merkle tree in the layout of C2SP tlog-tiles. Its root and size are a
signed checkpoint. Each entry is a DSSE envelope, signed by the coordinator, around an
in-toto statement:

    leaf       = SHA256(0x00 || entry)                                      [RFC 6962]
    node       = SHA256(0x01 || left || right)                              [RFC 6962]
    checkpoint = origin LF size LF base64(root) LF LF signatures     [tlog-checkpoint]
    entry      = {"payload", "payloadType", "signatures"}             [DSSE, RFC 8785]
    payload    = {"_type", "subject", "predicateType", "predicate"}       [in-toto v1]
    predicate  = {"entry", "index", "key", "log", "previous", "run", "time"}

`--policy` is a C2SP tlog-policy file: whose log it is, and which witnesses must have
cosigned. `--pin` is a checkpoint of this log that you kept. With neither, the keys come
from the log itself, and an operator who shows you another history than everybody else
cannot be found out.

What no log can show: that noise of the stated scale was drawn, that clipping was done,
that no more sites work together than is assumed, that data and tags are true, that
nothing happened outside the log.

Sections: 1 bytes and JSON, 2 signatures, 3 the tree, 4 whom to trust, 5 entries,
6 epsilon, 7 the evidence, 8 what the log says of itself, 9 budgets, 10 files and
people, 11 the lines.
"""

from __future__ import annotations

import sys

OLDEST = (3, 9)
UNABLE = 3  # exit code: nothing was looked at, so nothing is said about the log
if __name__ == "__main__":
    if sys.version_info < OLDEST:
        sys.stderr.write("error: verify.py needs Python 3.9 or newer\n")
        sys.exit(UNABLE)
    if not sys.flags.isolated:
        sys.path.pop(
            0
        )  # the file's folder: whoever packed it may have put modules there

import argparse
import base64
import calendar
import hashlib
import json
import math
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, Context
from functools import cache
from itertools import accumulate, combinations
from typing import Any, BinaryIO

try:
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except ImportError as error:
    if __name__ != "__main__":
        raise
    sys.stderr.write(
        f"error: verify.py checks signatures with `cryptography`, which this Python "
        f"cannot import: {error}\n\n"
        f"hint: {sys.executable!a} -m pip install cryptography\n"
    )
    sys.exit(UNABLE)

TIERS = ("non_personal", "personal", "special", "identifier")
MAX_SIZE = 2**63 - 1
MAX_FILE = 2**28  # bytes of the largest file that is held in memory
MAX_MODEL = 2**32  # bytes of the largest file that is hashed
STATEMENT, BUNDLE = "privacy-statement.json", "evidence.zip"
UNLOGGED = (  # what runs and reports write and the log has no digest of, or not yet
    "events.jsonl", "sites", "coins", "parties.json", "metrics.csv", "adaptation.csv",
    "result.json", "profile.html", "report.pdf", "dpia.md", "model-card.md",
    "record-of-processing.csv", "state.safetensors", "model.safetensors", "claim.json",
    STATEMENT, BUNDLE,
)  # fmt: skip
MAX_PARTIES = 10**6


class Unsound(Exception):
    """The evidence contradicts a claim: what is wrong, and at which entry."""

    def __init__(self, what: str, index: int | None = None) -> None:
        super().__init__(what)
        self.index = index


class NotShown(Exception):
    """The evidence does not decide a claim; says why."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun in the right form."""
    many = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"
    return f"1 {noun}" if number == 1 else f"{number} {many}"


def require(fine: object, what: str, index: int | None = None) -> None:
    """Refuse the evidence unless something holds."""
    if not fine:
        raise Unsound(what, index)


# --- 1. Bytes and JSON: one spelling, or refused --------------------------------------


def sha256(data: bytes) -> bytes:
    """Return the SHA-256 of some bytes."""
    return hashlib.sha256(data).digest()


def unbase64(text: str, what: str) -> bytes:
    """Return the bytes of padded standard base64 in its only spelling [RFC 4648]."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        raise Unsound(f"{what}: not base64") from None
    require(base64.b64encode(data).decode() == text, f"{what}: base64 spelt oddly")
    return data


def parse_json(data: bytes, what: str) -> Any:
    """Return a JSON value that means the same to every reader [RFC 7493]."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        require(len(dict(pairs)) == len(pairs), f"{what}: a key is there twice")
        return dict(pairs)

    def integer(digits: str) -> int:
        small = len(digits) <= 17 and abs(int(digits)) < 2**53
        require(small, f"{what}: an integer beyond 2^53-1")
        return int(digits)

    try:
        value = json.loads(data.decode(), object_pairs_hook=unique, parse_int=integer)
        canonical(value)  # refuses NaN, infinities and lone surrogates
    except (ValueError, RecursionError) as error:
        raise Unsound(f"{what}: not sound JSON: {str(error)[:80]}") from None
    return value


ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def canonical(value: Any) -> bytes:
    """Return the RFC 8785 bytes of a value without fractions."""
    return ENCODER.encode(ordered(value)).encode()


def ordered(value: Any) -> Any:
    """Return a value with its keys in the order of RFC 8785: by units of UTF-16."""
    if isinstance(value, list):
        return [ordered(each) for each in value]
    if not isinstance(value, dict):
        return value
    keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
    return {key: ordered(value[key]) for key in keys}


def open_file(folder: str, name: str) -> BinaryIO | None:
    """Open a file below a folder; None if there is none. Follows no links."""
    path = folder
    try:
        for part in name.split("/"):
            path = os.path.join(path, part)
            mode = os.lstat(path).st_mode
            require(not stat.S_ISLNK(mode), f"`{name}` is a link")
        require(stat.S_ISREG(mode), f"`{name}` is not a plain file")
        return open(path, "rb")
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_file(folder: str, name: str) -> bytes | None:
    """Return the content of a file; None if there is none."""
    file = open_file(folder, name)
    if file is None:
        return None
    with file:
        data = file.read(MAX_FILE + 1)
    require(len(data) <= MAX_FILE, f"`{name}` has more than {MAX_FILE} bytes")
    return data


def file_digest(folder: str, name: str) -> str | None:
    """Return the SHA-256 of a file of any size; None if there is none."""
    file, found = open_file(folder, name), hashlib.sha256()
    if file is None:
        return None
    with file:
        size = os.fstat(file.fileno()).st_size
        require(size <= MAX_MODEL, f"`{name}` has more than {MAX_MODEL} bytes")
        for chunk in iter(lambda: file.read(2**20), b""):
            found.update(chunk)
    return found.hexdigest()


# --- 2. Signatures, keys and checkpoints ----------------------------------------------


def signs(public: bytes, value: bytes, message: bytes) -> bool:
    """Say whether a value is the Ed25519 signature of a message [RFC 8032]."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(value, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def signs_mldsa(public: bytes, value: bytes, message: bytes) -> bool:
    """Say whether a value is the ML-DSA-44 signature of a message [FIPS 204]."""
    try:
        from cryptography.hazmat.primitives.asymmetric import mldsa

        mldsa.MLDSA44PublicKey.from_public_bytes(public).verify(value, message)
    except (ImportError, UnsupportedAlgorithm):
        raise Unsound("an ML-DSA-44 cosignature needs a newer `cryptography`") from None
    except (InvalidSignature, ValueError):
        return False
    return True


@dataclass(frozen=True)
class Key:
    """A public key and its name, as a vkey: name+hex(id)+base64(algorithm||public)."""

    name: str
    algorithm: int  # 1: Ed25519 of a log; 4, 6: Ed25519, ML-DSA-44 of a witness
    public: bytes
    id: bytes

    @classmethod
    def parse(cls, vkey: str, algorithms: Sequence[int]) -> Key:
        """Read a vkey; its id is SHA256(name || LF || algorithm || public)[:4]."""
        name, _, rest = vkey.partition("+")
        hexed, _, encoded = rest.partition("+")
        material = unbase64(encoded, "vkey") or b"\0"
        found = sha256(name.encode() + b"\n" + material)[:4]
        whole = len(material) == (1313 if material[0] == 6 else 33)
        known = material[0] in algorithms and found.hex() == hexed
        named = re.fullmatch(r"[^\s+\x00-\x1f]+", name)
        require(whole and known and named, f"not a vkey for this use: {vkey[:60]!a}")
        return cls(name, material[0], material[1:], found)


@dataclass(frozen=True)
class Checkpoint:
    """The signed statement of a log's size and root; no signature is checked yet."""

    origin: str
    size: int
    root: bytes
    body: bytes
    signatures: tuple[tuple[str, bytes, bytes], ...]  # name, key id, value

    def signature_of(self, key: Key) -> bytes | None:
        """Return the first signature that names a key, as golang's note.Open does."""
        for name, key_id, value in self.signatures:
            if (name, key_id) == (key.name, key.id):
                return value
        return None

    def signed_by(self, keys: Sequence[Key]) -> list[Key]:
        """Return which keys of a log signed; one wrong signature refuses it."""
        found = [key for key in keys if self.signature_of(key) is not None]
        for key in found:
            right = signs(key.public, self.signature_of(key) or b"", self.body)
            require(right, f"checkpoint: the signature of `{key.name}` is wrong")
        return found

    def cosigned_at(self, witness: Key) -> int | None:
        """Return when a witness cosigned [tlog-cosignature]; None if it did not."""
        value = self.signature_of(witness)
        if value is None:
            return None
        seconds = int.from_bytes(value[:8], "big")
        if witness.algorithm == 4:
            message = b"cosignature/v1\ntime %d\n" % seconds + self.body
            right = signs(witness.public, value[8:], message)
        else:
            names = (witness.name.encode(), self.origin.encode())
            who, log = (bytes([len(name)]) + name for name in names)
            span = value[:8] + log + bytes(8) + self.size.to_bytes(8, "big")
            message = b"subtree/v1\n\0" + who + span + self.root
            right = signs_mldsa(witness.public, value[8:], message)
        sound = right and 0 < seconds <= MAX_SIZE
        require(sound, f"checkpoint: the cosignature of `{witness.name}` is wrong")
        return seconds


CHECKPOINT = re.compile(
    r"([^\s+\x00-\x1f]+)\n(0|[1-9][0-9]{0,18})\n(\S+)\n\n"
    r"((?:\u2014 [^\s+\x00-\x1f]+ \S+\n){1,100})"
)


def parse_checkpoint(data: bytes, what: str) -> Checkpoint:
    """Read a checkpoint: origin, size, root, a blank line, one line per signature."""
    try:
        match = CHECKPOINT.fullmatch(data.decode())
    except UnicodeDecodeError:
        match = None
    if match is None:
        raise Unsound(f"{what}: not a checkpoint with 1 to 100 signatures")
    origin, size, root = match[1], int(match[2]), unbase64(match[3], f"{what}: root")
    lines = [line.split(" ") for line in match[4].split("\n")[:-1]]
    values = [(name, unbase64(text, f"{what}: signature")) for _, name, text in lines]
    signatures = tuple((name, value[:4], value[4:]) for name, value in values)
    short = min(len(value) for _, value in values) < 5
    sound = not short and size <= MAX_SIZE and len(root) == 32
    require(sound and (size or root == sha256(b"")), f"{what}: no sound size or root")
    body = data[: data.index(b"\n\n") + 1]
    return Checkpoint(origin, size, root, body, signatures)


# --- 3. The tree and its files --------------------------------------------------------


class Tree:
    """RFC 6962: `levels[k][i]` is the root of entries i*2^k to (i+1)*2^k - 1."""

    def __init__(self, leaves: Sequence[bytes]) -> None:
        self.levels = [list(leaves)]
        while len(below := self.levels[-1]) > 1:
            pairs = range(0, len(below) - 1, 2)
            above = [sha256(b"\x01" + below[i] + below[i + 1]) for i in pairs]
            self.levels.append(above)

    def root(self, size: int) -> bytes:
        """Return the root of the first `size` entries."""
        parts, start = [], 0
        for level in range(len(self.levels) - 1, -1, -1):
            if size >> level & 1:  # a complete subtree, largest first
                parts.append(self.levels[level][start >> level])
                start += 1 << level
        node = parts.pop() if parts else sha256(b"")
        while parts:
            node = sha256(b"\x01" + parts.pop() + node)
        return node


def tile_path(level: str, index: int, width: int) -> str:
    """Return where a tile lies: `tile/0/x001/x234/067`, with `.p/7` if not full."""
    digits = str(index).zfill(-(-len(str(index)) // 3) * 3)
    groups = [digits[at : at + 3] for at in range(0, len(digits), 3)]
    name = "/".join([*(f"x{group}" for group in groups[:-1]), groups[-1]])
    return f"tile/{level}/{name}" + ("" if width == 256 else f".p/{width}")


TILE = re.compile(
    r"tile/(entries|[0-7])/((?:x[0-9]{3}/){0,6}[0-9]{3})(?:\.p/([0-9]{1,3}))?"
)
OTHER_FILE = re.compile(
    r"checkpoint|lock|part|stage|(co)?signed/[0-9]{1,19}|timestamps/[0-9]{1,19}\.tsr"
    r"|blobs/part|blobs/sha256/[0-9a-f]{64}(\.erased)?"
)


def list_files(log: str) -> set[str]:
    """Return the names of all files of a log; what is no part of one is refused."""
    found, folders = set(), [""]
    while folders:
        folder = folders.pop()
        with os.scandir(os.path.join(log, folder)) as listing:
            for each in listing:
                name = folder + each.name
                if each.is_dir(follow_symlinks=False) and name.count("/") < 12:
                    folders.append(name + "/")
                    continue
                plain = each.is_file(follow_symlinks=False)
                require(plain, f"`{name}` is a link or a special file")
                known = TILE.fullmatch(name) or OTHER_FILE.fullmatch(name)
                require(known, f"`{name}` is no part of a log")
                found.add(name)
    return found


def read_entries(log: str, size: int) -> list[bytes]:
    """Return the entries of the bundles: u16 length || entry, 256 to a bundle."""
    entries: list[bytes] = []
    while len(entries) < size:
        first, width = len(entries), min(256, size - len(entries))
        name = tile_path("entries", first // 256, width)
        data, at = read_file(log, name), 0
        if data is None:
            raise Unsound(f"`{name}` is missing", first)
        for index in range(first, first + width):
            end = at + 2 + int.from_bytes(data[at : at + 2], "big")
            require(at + 2 <= end <= len(data), f"`{name}` ends within it", index)
            entries.append(data[at + 2 : end])
            at = end
        require(at == len(data), f"`{name}` goes on after it", len(entries) - 1)
    return entries


def partial_tiles(size: int) -> list[tuple[str, int, int]]:
    """Return level, index and width of the tiles that are not full at a size."""
    counts = {"entries": size, **{str(level): size >> 8 * level for level in range(8)}}
    rows = [(level, count // 256, count % 256) for level, count in counts.items()]
    return [row for row in rows if row[2]]


def check_files(log: str, entries: Sequence[bytes], tree: Tree) -> set[str]:
    """Compare every file of the tree with the entries, and return all names.

    A reader who skips what it does not know can be shown two logs in one folder, so
    every name must be one that a log has, and every tile, also of older sizes, right.
    """
    names = list_files(log)
    rows = {str(k // 8): tree.levels[k] for k in range(0, len(tree.levels), 8)}
    rows["entries"] = [len(entry).to_bytes(2, "big") + entry for entry in entries]
    full = [(k, at, 256) for k, row in rows.items() for at in range(len(row) // 256)]
    needed = {tile_path(*row) for row in [*full, *partial_tiles(len(entries))]}
    known = set(needed)
    signed = [int(name[7:]) for name in names if name.startswith("signed/")]
    for size in [size for size in signed if size < len(entries)]:
        # Partial tiles of older sizes stay until the full one is there; bundles need
        # not, since they hold what the newest one begins with.
        for level, index, width in partial_tiles(size):
            name = tile_path(level, index, width)
            known.add(name)
            if level != "entries" and tile_path(level, index, 256) not in names:
                needed.add(name)
    for name in sorted(needed - names):
        raise Unsound(f"`{name}` is missing")
    for name in sorted(names):
        match = TILE.fullmatch(name)
        if match is None:
            continue
        if name not in known:
            # With a stage, a writer is at work or died: no part of the log yet.
            require("stage" in names, f"`{name}` belongs to no signed checkpoint")
            continue
        level, index = match[1], int(re.sub("[x/]", "", match[2]))
        parts = rows[level][256 * index :][: int(match[3] or 256)]
        found, at = read_file(log, name), 0
        if found is None and level == "entries" and match[3]:
            continue  # a writer at work removed it; what it held was read
        data = found or b""
        step = 1 if level == "entries" else 256 ** int(level)
        for place, part in enumerate(parts, 256 * index):
            same = data[at : at + len(part)] == part
            require(same, f"`{name}` differs from it", place * step)
            at += len(part)
        require(at == len(data), f"`{name}` has bytes too many")
    return names


# --- 4. Whom to trust: tlog-policy ----------------------------------------------------


@dataclass(frozen=True)
class Policy:
    """Accepted logs, known witnesses, and how many of them must have cosigned."""

    logs: tuple[Key, ...]
    witnesses: Mapping[str, Key]
    groups: Mapping[str, tuple[int, Sequence[str]]]  # name: how many, of whom
    quorum: str

    def met_by(self, names: Iterable[str]) -> bool:
        """Say whether these witnesses are a quorum."""
        counted = {"none", *names}
        for name, (needed, members) in self.groups.items():  # members come first
            if len(counted.intersection(members)) >= needed:
                counted.add(name)
        return self.quorum in counted


def parse_policy(data: bytes) -> Policy:
    """Read a policy: lines `log`, `witness`, `group`, and one `quorum`."""
    logs: list[Key] = []
    witnesses: dict[str, Key] = {}
    groups: dict[str, tuple[int, Sequence[str]]] = {}
    quorum = ""
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            require(not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", line), "a control byte")
            words = [word for word in re.split("[ \t]", line.decode()) if word]
            word, *rest = words or ["#"]
            known = [*witnesses, *groups]
            if word == "log" and len(rest) in (1, 2):
                logs.append(Key.parse(rest[0], (1,)))
            elif word == "witness" and len(rest) in (2, 3):
                require(rest[0] not in ["none", *known], "the name is taken")
                witnesses[rest[0]] = Key.parse(rest[1], (4, 6))
            elif word == "group" and len(rest) > 2:
                require(rest[0] not in ["none", *known], "the name is taken")
                members, inside = rest[2:], [m for _, g in groups.values() for m in g]
                once = len({*members, *inside}) == len(members) + len(inside)
                defined = once and set(members) <= set(known)
                require(defined, "a member is unknown, or would count twice")
                texts = {str(n): n for n in range(1, len(members) + 1)}
                needed = {"any": 1, "all": len(members), **texts}.get(rest[1], 0)
                require(needed, "asks for none, or for too many")
                groups[rest[0]] = (needed, members)
            elif word == "quorum" and len(rest) == 1:
                require(rest[0] in ["none", *known] and not quorum, "not one quorum")
                quorum = rest[0]
            else:
                require(word.startswith("#"), "not a line of a policy")
            publics = [key.public for key in [*logs, *witnesses.values()]]
            require(len(set(publics)) == len(publics), "the key is listed twice")
        except (Unsound, ValueError) as error:
            raise Unsound(f"policy, line {number}: {error}") from None
    require(quorum and data.endswith(b"\n"), "policy: no quorum, or cut off")
    return Policy(tuple(logs), witnesses, groups, quorum)


# --- 5. What an entry may hold: exactly these fields ---------------------------------

# `name:kind`, or `name?:kind` for a field that may be missing. `kind?` may be null,
# `kind*` is a list, `kind%` an object with code words as names. A kind is one of WORDS
# or SHAPES, or the texts it may be: `a|b`.
WORDS = {
    "text": "(?s:.*)",
    "name": "(?s:.{0,128})",
    "digest": "[0-9a-f]{64}",
    "leaf": "([0-9a-f]{64})?",
    "decimal": r"(0|[1-9][0-9]{0,20})(\.[0-9]{1,25})?(e[+-][0-9]{1,3})?",
    "code": "[A-Za-z0-9][A-Za-z0-9._:()+-]{0,95}",
    "origin": "[A-Za-z0-9._~/-]{1,200}",
    "run": "[0-9a-f]{16}",
    "key": "[a-z0-9][A-Za-z0-9._/-]{0,127}",
    "moment": "[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z",
    "date": "[0-9]{4}-[01][0-9]-[0-3][0-9]",
    "site": "[A-Za-z0-9][A-Za-z0-9_]{0,31}",
    "consent": "[A-Za-z0-9+/]{86}==",
    "base64": "[A-Za-z0-9+/]{1,4096}={0,2}",
    "tier": "|".join(TIERS),
}
SHAPES = {
    "envelope": "payload:text payloadType:text signatures:signature*",
    "signature": "keyid:digest sig:text",
    "statement": "_type:text subject:subject* predicateType:text predicate:predicate",
    "subject": "name:text digest:sha256",
    "sha256": "sha256:leaf",
    "predicate": "log:origin run:run index:count previous:leaf key:key time:moment "
    "entry:object",
    "receipt": "log:origin run:run programme:digest round:count query:digest? "
    "clips:decimal* charged:count event?:digest answer?:digest",
    "sealed": "receipts:text salt:text",
    "record": "format:lexfed-secagg-round-v1 session:digest epoch:count policy:digest "
    "server:digest roster:digest terms:terms round:count model:digest key_list:digest "
    "names:site* cohort:count* survivors:count* consents:object",
    "terms": "rounds:count colluders:count least_sites:count bits:count length:count "
    "least_change:count",
    "claim": "version:count stamp:text? unit:record|client records_per_person:count "
    "sites_per_person:count neighbours:add-remove|replace-one epsilon:number "
    "delta:number delta_sampler:number accountant:accountant mechanism:mechanism "
    "sampling:sampling rounds:count trust:central|local|distributed "
    "cohort?:assumed? released:text "
    "tiers:tier_claims label:label not_covered:text* releases:planned* "
    "profiles:profile% classes:class%",
    "own": "sites:count releases:planned*",
    "profile": "sites:count epsilon:number delta:number delta_sampler?:number "
    "tiers:tier_numbers label:number releases:planned*",
    "tier_numbers": " ".join(f"{tier}?:number" for tier in TIERS),
    "class": "scale:number epsilon:number delta:number delta_sampler?:number "
    "neighbours:add-remove|replace-one",
    "accountant": "name:pld|rdp|gdp version:text filter:F0|F1|F2",
    "mechanism": "name:uniform|grouped|cascade "
    "noise:rounded-gaussian|skellam-shares grid:grid*",
    "grid": "group:text dimension:count step:number release_step:number clip_to:number",
    "sampling": "scheme:none|poisson rates:number* secrecy:text",
    "tier_claims": " ".join(f"{tier}?:tier_claim" for tier in TIERS),
    "tier_claim": "epsilon:number delta:number delta_sampler?:number "
    "neighbours:attribute columns:text* reads:text*",
    "label": "epsilon:number delta:number delta_sampler?:number neighbours:replace-one",
    "planned": "release:release count:count",
    "release": "version:count name:text groups:spread* sampling_rate:number "
    "reads:tier? samples:count noise?:gaussian|skellam",
    "spread": "name:text clip:number sigma:number",
    "public_key": "keyid:digest public:base64",
    "party": "key:public_key? role:site|aggregator "
    "legal_role?:controller|joint-controller|processor? country?:code? "
    "contract?:digest? transfer_tool?:code?",
    "special": "exception:code law:digest?",
    "transforms": "zip?:code? zip_table?:digest? date?:code? age?:code?",
    "pseudonyms": "domain:code algorithm:code custodian:code",
    "previous": "origin:origin size:count root:digest",
    "row": "count:count party:party",
    "by_tier": " ".join(f"{tier}?:decimal" for tier in TIERS),
    "budgets": " ".join(f"{tier}?:decimal" for tier in ("record", *TIERS)),
    "columns": " ".join(f"{tier}?:count" for tier in TIERS),
    "group": "name:name clip:decimal sigma:decimal",
    "event": "name:name groups:group* sampling_rate:decimal reads:tier? samples:count "
    "noise?:skellam?",
    "participation": "sites:count? receipts:open|sealed|none digest:digest?",
    "aggregation": "protocol:code threshold:count? survivors:count? cohort?:count? "
    "epoch?:count? list?:digest? evidence?:digest?",
    "cohort": "sites:count colluders:count dropouts:count",
    "assumed": "sites:count colluders:count dropouts:count honest:count "
    "threshold:count",
    "result": "rule:code outcome:EVIDENCED|PARTIAL|DOCUMENT_PRESENT|NOT_EVIDENCED"
    "|NOT_MACHINE_CHECKABLE|NOT_APPLICABLE evidence:count*",
}
KINDS = {
    "genesis": "software:code catalogue:digest config:digest coordinator:public_key "
    "log:text parties:party* witnesses:digest? previous:previous? test:flag "
    "roster?:digest?",
    "policy": "config:digest programme:digest mechanism:cascade|grouped|uniform|none "
    "unit:record|client neighbours:add-remove|replace-one epsilon:decimal? "
    "delta:decimal? caps:by_tier accountant:pld|rdp|gdp "
    "trust:central|local|distributed noise:rounded-gaussian|skellam-shares|none "
    "randomness:operating-system|seeded sampling:none|poisson secret_sampling:flag "
    "aggregation:code transport:code records_per_person:count sites_per_person:count "
    "policy:digest? cohort?:cohort? receipts?:event-(digest|answer)?",
    "feature-tags": "tags:digest encoding:digest inputs:digest columns:columns "
    "jurisdictions:code* obligations:code*",
    "budget-plan": "plan:digest releases:digest? rounds:count epsilon:decimal? "
    "delta:decimal? tiers:by_tier filter:F0|F1|F2 profiles:digest? classes:decimal%",
    "governance": "purpose?:code? allowed_purposes?:code*? legal_basis?:code? "
    "special?:special% approved_inputs?:digest? offence_data?:flag? "
    "offence_law?:digest? review_due?:date? residual_risk?:code? dpia_triggers?:code*? "
    "measures?:code*? model_status?:code? deidentification?:code? attack_model?:code? "
    "high_risk?:flag? remote_biometric?:flag? bias_correction?:flag? "
    "min_participants?:count? max_dropouts?:count? none_known?:code* retention?:date% "
    "transforms?:transforms pseudonymisation?:pseudonyms?",
    "record-of-processing": "role:controller|processor categories?:code*? "
    "groups:stated|not-applicable|missing% bias_reason?:flag text:digest",
    "round": "round:count stage:code event:event? epsilon:decimal? "
    "epsilon_so_far:decimal? tiers_so_far:by_tier delta:decimal? accountant:gdp|rdp? "
    "budgets:budgets tags:digest update:digest? state:digest? "
    "participation:participation aggregation:aggregation",
    "round-aborted": "round:count released:no|unknown event:event? "
    "cause:interrupted|site-refused|site-lost|site-blamed|sum-out-of-bound"
    "|receipt-invalid",
    "refusal": "round:count by:coordinator|site scope:code would_reach:decimal? "
    "limit:decimal?",
    "resumed": "rounds:count",
    "completed": "rounds:count released:count early:flag claim:digest? model:digest?",
    "certificate": "catalogue:digest first:count last:count results:result* "
    "at_ceiling:count applicable:count",
    "privacy-test": "attack:code tool:code model:digest metric:code value:decimal "
    "report:digest?",
    "change": "what:code before:digest? after:digest?",
    "key-rotation": "role:coordinator|log old:digest new:public_key vkey:text?",
    "withdrawal": "commitment:digest ground:code",
    "deletion": "artefact:code digest:digest?",
    "incident": "what:code aware_at:moment notified_at:moment? delay_reason:digest?",
    "correction": "index:count reason:digest",
    "export": "what:code digest:digest size:count root:digest",
    "document": "what:code digest:digest issued:date expires?:date? about?:count? "
    "site?:digest?",
}
SUBJECTS = {  # what an entry is about: name -> field
    "genesis": {"config.toml": "config", "catalogue": "catalogue"},
    "policy": {"config.toml": "config"},
    "feature-tags": {"tags.json": "tags", "encoding.json": "encoding"},
    "budget-plan": {"plan.json": "plan"},
    "round": {"update": "update", "state.safetensors": "state"},
    "completed": {"model.safetensors": "model", "claim.json": "claim"},
    "record-of-processing": {"record-of-processing.json": "text"},
    "certificate": {"catalogue": "catalogue"},
    "privacy-test": {"model.safetensors": "model"},
    "export": {"{what}": "digest"},
    "document": {"{what}": "digest"},
}


def fits(value: Any, kind: str) -> bool:
    """Say whether a value is of a kind."""
    if kind.endswith("?"):
        return value is None or fits(value, kind[:-1])
    if kind.endswith("*"):
        return isinstance(value, list) and all(fits(each, kind[:-1]) for each in value)
    if kind.endswith("%"):
        return isinstance(value, dict) and all(
            fits(name, "code") and fits(each, kind[:-1]) for name, each in value.items()
        )
    if kind == "count":
        return type(value) is int and 0 <= value < 2**53
    if kind == "number":
        return type(value) in (int, float) and 0 <= value < math.inf
    if kind in ("flag", "object"):
        return type(value) is (bool if kind == "flag" else dict)
    if kind in SHAPES:
        return isinstance(value, dict) and wrong_field(value, SHAPES[kind]) == ""
    pattern = WORDS.get(kind, kind)
    return isinstance(value, str) and re.fullmatch(pattern, value) is not None


def wrong_field(value: Mapping[str, Any], shape: str) -> str:
    """Return the first field that is missing, unknown or malformed; empty if none."""
    fields = dict(part.split(":") for part in shape.split())
    for name, kind in fields.items():
        if name not in value and not name.endswith("?"):
            return name
        if name.rstrip("?") in value and not fits(value[name.rstrip("?")], kind):
            return name.rstrip("?")
    known = [name.rstrip("?") for name in fields]
    return next((name for name in value if name not in known), "")


@dataclass(frozen=True)
class Entry:
    """One entry: its place, what it says, and the signatures on it."""

    index: int
    kind: str
    body: Mapping[str, Any]
    head: Mapping[str, Any]  # the predicate: log, run, index, previous, key, time
    message: bytes  # what is signed
    signatures: Mapping[str, bytes]  # by key id
    leaf: str

    @property
    def seconds(self) -> int:
        """The time the coordinator states, in seconds since 1970."""
        text = self.head["time"]
        try:
            return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))
        except ValueError:
            raise Unsound(f"`{text}` is no time", self.index) from None


def parse_envelope(data: bytes, kind: str) -> tuple[bytes, bytes, dict[str, bytes]]:
    """Return payload, signed bytes and signatures of a DSSE envelope."""
    value = parse_json(data, "envelope")
    sound = fits(value, "envelope") and canonical(value) == data
    require(sound, "not a canonical envelope")
    listed = [(each["keyid"], each["sig"]) for each in value["signatures"]]
    signatures = {keyid: unbase64(text, "`sig`") for keyid, text in listed}
    few = 1 <= len(signatures) == len(listed) <= 16
    require(few and value["payloadType"] == kind, f"not a signed `{kind}`")
    payload = unbase64(value["payload"], "`payload`")
    message = b"DSSEv1 %d %b %d %b" % (len(kind), kind.encode(), len(payload), payload)
    return payload, message, signatures


def parse_entry(data: bytes, index: int) -> Entry:
    """Read an entry; its signatures are checked when all keys are known."""
    payload, message, signatures = parse_envelope(data, "application/vnd.in-toto+json")
    statement = parse_json(payload, "statement")
    sound = fits(statement, "statement") and canonical(statement) == payload
    require(sound, "not a canonical in-toto statement of an entry")
    uri, head = statement["predicateType"], statement["predicate"]
    kind = uri[len("https://lexfed.example/audit/") : -len("/v1")]
    known = uri == f"https://lexfed.example/audit/{kind}/v1" and kind in KINDS
    toto = statement["_type"] == "https://in-toto.io/Statement/v1"
    require(known and toto, f"unknown kind `{uri[:100]}`")
    body = head["entry"]
    wrong = wrong_field(body, KINDS[kind])
    require(not wrong, f"`{kind}`: `{wrong}` is missing, unknown or malformed")
    subjects = [
        {"name": name.format(**body), "digest": {"sha256": body[part]}}
        for name, part in SUBJECTS.get(kind, {}).items()
        if body[part] is not None
    ] or [{"name": "previous entry", "digest": {"sha256": head["previous"]}}]
    require(statement["subject"] == subjects, "its subjects do not follow from it")
    leaf = sha256(b"\x00" + data).hex()
    return Entry(index, kind, body, head, message, signatures, leaf)


# --- 6. Epsilon of Gaussian releases --------------------------------------------------


def mills(x: float) -> float:
    """Return Phi(-x)/phi(x), by its continued fraction where erfc underflows."""
    if x < 20.0:
        return math.sqrt(math.pi / 2) * math.exp(x * x / 2) * math.erfc(x / 2**0.5)
    tail = x
    for term in range(30, 0, -1):
        tail = x + term / tail
    return 1.0 / tail


def log_delta(mu: float, epsilon: float) -> float:
    """Return ln delta of mu-GDP [Dong, Roth, Su 2022; Balle, Wang 2018, Thm. 8].

    delta = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu). With
    a = epsilon/mu - mu/2, b = a + mu and m(x) = Phi(-x)/phi(x) this is
    phi(a) (m(a) - m(b)); for small mu, phi(a) times the integral of 1 - x m(x) over
    [a, b], by Simpson's rule.
    """
    a = epsilon / mu - mu / 2
    if a > 1000.0:
        return -math.inf
    log_density = -a * a / 2 - math.log(2 * math.pi) / 2
    if a < -1.0:  # delta is large, and m(a) would overflow
        lost = math.exp(log_density + math.log(mills(a + mu)))
        return math.log(math.erfc(a / 2**0.5) / 2 - lost)
    if mu > 0.1:
        return log_density + math.log(mills(a) - mills(a + mu))
    slopes = [1 - x * mills(x) for x in (a + mu * step / 32 for step in range(33))]
    area = slopes[0] + 4 * sum(slopes[1::2]) + 2 * sum(slopes[2:-1:2]) + slopes[-1]
    return log_density + math.log(area * mu / 96)


def epsilon_of(mu: float, delta: float) -> float:
    """Return the epsilon at which mu-GDP has this delta, within 1e-11 of itself."""
    if mu == 0.0 or delta >= 1.0 or log_delta(mu, 0.0) <= math.log(delta):
        return 0.0
    low, high = 0.0, mu * math.sqrt(-2 * math.log(delta)) + mu * mu / 2
    for _ in range(100):
        middle = (low + high) / 2
        if log_delta(mu, middle) > math.log(delta):
            low = middle
        else:
            high = middle
    return high


ORDERS = (
    *range(2, 65),
    *(72, 80, 96, 112, 128, 160, 192, 256, 384, 512, 768, 1024, 2048, 4096),
)


def log_sum(logs: Sequence[float]) -> float:
    """Return the logarithm of a sum, from logarithms."""
    top = max(logs)
    return top + math.log(math.fsum(math.exp(each - top) for each in logs))


@cache
def divergence(ratio: float, rate: float, order: int, replaced: bool) -> float:
    """Return the Renyi divergence of a sampled Gaussian, ratio being clip over sigma.

    Leaving a record out: ln sum_k C(a,k) (1-q)^(a-k) q^k e^(k(k-1) R^2/2) / (a-1)
    [Mironov, Talwar, Zhang 2019]. Replacing it: of (1-q)N(0,1) + q N(R,1) from
    (1-q)N(0,1) + q N(-R,1), by the trapezoid rule; where its window would be very wide,
    without sampling, which costs at least as much.
    """
    if rate == 0.0:
        return 0.0
    if ratio > 1e6:  # hardly any noise
        return math.inf
    if rate == 1.0 or (replaced and (2 * order - 1) * ratio > 256.0):
        return order * (ratio * (2 if replaced else 1)) ** 2 / 2
    stay, move, shift = math.log1p(-rate), math.log(rate), ratio * ratio / 2
    if not replaced:
        choose = [
            math.lgamma(k + 1) + math.lgamma(order - k + 1) for k in range(order + 1)
        ]
        logs = [
            math.lgamma(order + 1) - below
            + k * move + (order - k) * stay + k * (k - 1) * shift
            for k, below in enumerate(choose)
        ]  # fmt: skip
        return max(0.0, log_sum(logs)) / (order - 1)
    step = 1 / (8 * max(1.0, ratio))
    logs, x = [], -ratio - 12.0
    while x < (2 * order - 1) * ratio + 12.0:
        up_, down = (log_sum((stay, move + s * ratio * x - shift)) for s in (1, -1))
        logs.append(order * up_ - (order - 1) * down - x * x / 2)
        x += step
    area = log_sum(logs) + math.log(step) - math.log(2 * math.pi) / 2
    return max(0.0, area) / (order - 1)


@dataclass(frozen=True)
class Release:
    """A noised sum that left: all groups of it are charged together."""

    name: str
    groups: tuple[tuple[str, float, float], ...]  # name, clip, sigma
    rate: float
    reads: int  # rank of the most sensitive tier it may depend on; -1 for none
    samples: int
    noise: str = "gaussian"  # or `skellam`: shares that sites added

    @classmethod
    def parse(cls, row: Mapping[str, Any]) -> Release:
        """Read an event of the log, or a release of a plan or claim."""
        texts = [(each["name"], each["clip"], each["sigma"]) for each in row["groups"]]
        groups = tuple((name, float(clip), float(sigma)) for name, clip, sigma in texts)
        positive = [0 < n < math.inf for _, *numbers in groups for n in numbers]
        rate = float(row["sampling_rate"])
        sound = groups and all(positive) and 0 <= rate <= 1
        require(sound, f"`{row['name']}` has numbers out of range")
        reads = -1 if row["reads"] is None else TIERS.index(row["reads"])
        noise = row.get("noise") or "gaussian"
        exact = noise == "gaussian" or rate in (0.0, 1.0)
        require(exact, f"`{row['name']}`: noise in shares has no price if sampled")
        return cls(row["name"], groups, rate, reads, row["samples"], noise)

    @property
    def shape(self) -> tuple[Any, ...]:
        """Everything but how much noise it has."""
        clips = tuple((name, clip) for name, clip, _ in self.groups)
        return (self.name, clips, self.rate, self.reads, self.samples, self.noise)

    def inside(self, other: Release, same_clips: bool = True) -> bool:
        """Say whether it costs no more than another one, whoever pays."""
        if [name for name, *_ in self.groups] != [name for name, *_ in other.groups]:
            return False
        groups = [
            (clip == most if same_clips else clip <= most) and sigma >= least
            for (_, clip, sigma), (_, most, least) in zip(self.groups, other.groups)
        ]
        less = self.rate <= other.rate and self.reads <= other.reads
        few = self.samples <= other.samples and self.noise == other.noise
        return self.name == other.name and all(groups) and less and few

    def with_clips(self, scale: float) -> Release:
        """Return it with every clip times a scale."""
        groups = tuple((name, scale * clip, sigma) for name, clip, sigma in self.groups)
        return replace(self, groups=groups)

    def with_noise(self, noises: Iterable[float]) -> Release:
        """Return it with other noise on its groups."""
        sigmas = list(noises)
        require(len(sigmas) == len(self.groups), "noise for other groups")
        pairs = zip(self.groups, sigmas)
        groups = tuple((name, clip, sigma) for (name, clip, _), sigma in pairs)
        return replace(self, groups=groups)


@dataclass
class Sum:
    """Releases composed: mu^2 adds up [Dong, Roth, Su 2022, Cor. 3.3].

    One release has mu^2 = sum over its groups of (clip/sigma)^2 if a record is left
    out. Replacing a record moves a sum twice as far, a person at m sites m times. An
    attribute of tier t is touched only by releases that read t or a higher tier.
    Where rounds are sampled, and priced by `rdp`, Renyi divergences add up instead.
    Noise in shares has at every integer order at most the divergence of the Gaussian it
    is charged as, and is priced so only [docs/theory/guarantees.md, Theorem D].
    """

    delta: float
    neighbours: str
    sites_per_person: int
    accountant: str = "pld"
    squares: dict[str, float] = field(default_factory=dict)  # of the record, by tier
    sampled: bool = False
    coins: bool = False  # some take part and some do not: mu is not enough
    shares: bool = False  # noise in shares: nor is it here
    samples: int = 0
    steps: dict[Release, int] = field(default_factory=dict)

    def add(self, release: Release, count: int = 1) -> None:
        """Add a release that happens so many times."""
        sound = 1 <= self.sites_per_person <= 2**20 and self.delta > 0
        require(sound, "`sites_per_person` or `delta` out of range")
        alone = release.rate == 1.0 or self.sites_per_person == 1
        require(alone, "sampled, and a person at several sites: there is no proof")
        ratios = [clip / sigma for _, clip, sigma in release.groups]
        square = count * math.fsum(ratio * ratio for ratio in ratios)
        square = square if release.rate > 0.0 else 0.0  # nobody takes part
        for scope in ("record", *TIERS[: release.reads + 1]):
            self.squares[scope] = self.squares.get(scope, 0.0) + square
        self.sampled = self.sampled or release.rate < 1.0
        self.coins = self.coins or 0.0 < release.rate < 1.0
        self.shares = self.shares or release.noise == "skellam"
        self.samples += count * release.samples
        self.steps[release] = self.steps.get(release, 0) + count

    def cost(self, release: Release, scope: str, order: int) -> float:
        """Return the Renyi divergence of one release in a scope."""
        if scope in TIERS and release.reads < TIERS.index(scope):
            return 0.0
        replaced = scope != "record" or self.neighbours == "replace-one"
        ratio = self.sites_per_person * math.hypot(
            *(c / s for _, c, s in release.groups)
        )
        return divergence(ratio, release.rate, order, replaced)

    def renyi(self, scope: str) -> tuple[float, int, float]:
        """Return the smallest epsilon of a scope, its order, and the divergence there.

        The conversion is that of Canonne, Kamath, Steinke 2020, Prop. 12.
        """
        found = []
        for a in ORDERS:
            costs = [n * self.cost(r, scope, a) for r, n in self.steps.items() if n]
            total = math.fsum(costs)
            tail = (math.log(self.delta) + math.log(a)) / (a - 1)
            found.append((max(0.0, total + math.log1p(-1 / a) - tail), a, total))
        return min(found, key=lambda row: row[0])

    @property
    def divergent(self) -> bool:
        """True if divergences are added up, not squares."""
        return self.coins or self.shares

    @property
    def priced(self) -> bool:
        """True if this file can compute epsilon: few kinds of rounds, if sampled."""
        return not self.coins or (self.accountant == "rdp" and len(self.steps) <= 64)

    def mu(self, scope: str) -> float:
        """Return mu of the record, of the label, or of an attribute of a tier."""
        adding = scope == "record" and self.neighbours == "add-remove"
        square = self.squares.get("record" if scope == "label" else scope, 0.0)
        return (1 if adding else 2) * self.sites_per_person * math.sqrt(square)

    def epsilon(self, scope: str) -> float:
        """Return epsilon at delta."""
        if self.divergent:
            return self.renyi(scope)[0]
        return epsilon_of(self.mu(scope), self.delta)

    def check(self, what: str, stated: float, scope: str, index: int) -> None:
        """Refuse a stated epsilon that the releases do not prove.

        They do if delta at that epsilon, with 1e-9 of room for floats, is small enough.
        """
        mu = self.mu(scope)
        if not self.priced or mu == 0.0 or self.delta >= 1.0:
            return
        require(mu < math.inf > stated, f"{what} is infinite", index)
        if self.divergent:
            below = stated * (1 + 1e-9) < self.epsilon(scope)
        else:
            below = log_delta(mu, stated * (1 + 1e-9)) > math.log(self.delta)
        if below:
            cost = f"its events cost {self.epsilon(scope):.8g}"
            raise Unsound(f"{what} is stated as {stated:.8g}, {cost}", index)

    def recomputed(self) -> None:
        """Say so where this file cannot compute epsilon."""
        if not self.priced:
            raise NotShown("NOT RECOMPUTED (needs a PLD accountant): sampled rounds")

    @property
    def by(self) -> str:
        """The accountant that computes epsilon."""
        return "RDP" if self.divergent else "GDP"


def up(epsilon: float) -> str:
    """Return an epsilon in six digits, the last of them rounded up."""
    context = Context(prec=6, rounding=ROUND_CEILING)
    return f"{float(context.create_decimal_from_float(epsilon)):.6g}"


def within(what: str, stated: float, budget: float, index: int) -> None:
    """Refuse a number above its budget."""
    above = f"{what} is {stated:.8g}, above the budget {budget:.8g}"
    require(stated <= budget * (1 + 1e-9), above, index)


# --- 7. The evidence: a log that agrees with its signed checkpoint --------------------


@dataclass(frozen=True)
class Evidence:
    """A log whose tree was computed again, its keys, and what lies beside it."""

    folder: str
    files: set[str]  # of the log
    checkpoints: Sequence[Checkpoint]  # those that may be cosigned; the last is latest
    tree: Tree
    entries: Sequence[Entry]
    signers: Sequence[Mapping[str, bytes]]  # who must sign each entry, by key id
    log_keys: Sequence[Key]  # oldest first
    policy: Policy | None
    pin: bytes | None

    @property
    def checkpoint(self) -> Checkpoint:
        """The latest checkpoint."""
        return self.checkpoints[-1]

    @property
    def genesis(self) -> Mapping[str, Any]:
        """The content of entry 0."""
        return self.entries[0].body

    def of(self, *kinds: str) -> list[Entry]:
        """Return the entries of some kinds, oldest first."""
        return [entry for entry in self.entries if entry.kind in kinds]

    def first(self, kind: str, otherwise: str) -> Entry:
        """Return the first entry of a kind."""
        for entry in self.of(kind):
            return entry
        raise NotShown(otherwise)

    def blob(self, digest: str, index: int | None) -> bytes:
        """Return the content that an entry cites by its SHA-256."""
        data, what = read_file(self.folder, f"log/blobs/sha256/{digest}"), digest[:16]
        if data is None or f"blobs/sha256/{digest}.erased" in self.files:
            raise Unsound(f"blob {what} is missing, or was erased", index)
        require(sha256(data).hex() == digest, f"blob {what} was changed", index)
        return data


def read_evidence(folder: str, policy: Policy | None, pin: bytes | None) -> Evidence:
    """Read a log, compute its tree again, and check the signatures on its roots."""
    log = os.path.join(folder, "log")
    require(not os.path.islink(log), "`log` is a link")
    latest = parse_checkpoint(read_file(log, "checkpoint") or b"", "`checkpoint`")
    stored = read_entries(log, latest.size)
    tree = Tree([sha256(b"\x00" + entry) for entry in stored])
    files = check_files(log, stored, tree)
    signed = tree.root(latest.size) == latest.root
    require(signed, "entries and tiles are not those that the checkpoint signs")
    entries = []
    for index, data in enumerate(stored):
        try:
            entries.append(parse_entry(data, index))
        except Unsound as error:
            raise Unsound(str(error), index) from None
    signers, log_keys = custody(entries, latest.origin)
    trusted = not policy or not policy.logs or set(policy.logs) & set(log_keys)
    require(trusted, "the log was never signed with a key that you trust")
    in_force = log_keys[-1] in latest.signed_by(log_keys)
    require(in_force, "`checkpoint` is not signed with the log's key in force")
    require(f"signed/{latest.size}" in files, f"`signed/{latest.size}` is missing")
    require(read_file(log, "lock") in (None, b""), "`lock` is not empty")
    older = []
    for name in sorted(name for name in files if "signed/" in name):
        old = parse_checkpoint(read_file(log, name) or b"", f"`{name}`")
        own = old.signed_by(log_keys) and old.origin == latest.origin
        named = own and name.partition("/")[2] == str(old.size)
        require(named, f"`{name}` is not a checkpoint of this log")
        if old.size > latest.size and "stage" in files:
            continue  # signed by a writer who has not finished, and will say the same
        begins = old.size <= latest.size and tree.root(old.size) == old.root
        require(begins, f"`{name}`: the log does not begin with what was signed")
        older += [old] if name.startswith("cosigned/") else []
    notes = [each for each in older if each.size != latest.size] + [latest]
    return Evidence(folder, files, notes, tree, entries, signers, log_keys, policy, pin)


def public_key(row: Mapping[str, str], index: int) -> bytes:
    """Return the 32 bytes of a key that an entry lists."""
    raw = unbase64(row["public"], "`public`")
    named = len(raw) == 32 and sha256(raw).hex() == row["keyid"]
    require(named, "a key is not Ed25519, or not the one its id names", index)
    return raw


def custody(
    entries: Sequence[Entry], origin: str
) -> tuple[list[Mapping[str, bytes]], list[Key]]:
    """Return who must sign each entry, and the keys that sign checkpoints.

    Entry 0 names both keys. A `key-rotation` hands one job to a new key and is signed
    by the coordinator in force, by the old key and by the new one.
    """
    started = entries and entries[0].kind == "genesis"
    require(started, "entry 0 is not a genesis: nothing says whose keys sign", 0)
    coordinator = public_key(entries[0].body["coordinator"], 0)
    log_keys = [Key.parse(entries[0].body["log"], (1,))]
    signers: list[Mapping[str, bytes]] = []
    for entry in entries:
        body, index, needed = entry.body, entry.index, [coordinator]
        if entry.kind == "key-rotation":
            new, of_log = public_key(body["new"], index), body["role"] == "log"
            old = log_keys[-1].public if of_log else coordinator
            in_force = body["old"] == sha256(old).hex()
            require(in_force, f"`old` is not the {body['role']} key in force", index)
            require(of_log == (body["vkey"] is not None), "`vkey` is a log's", index)
            needed += [old, new]
            if of_log:
                log_keys.append(Key.parse(body["vkey"], (1,)))
                require(log_keys[-1].public == new, "`vkey` is another key", index)
            else:
                coordinator = new
        signers.append({sha256(key).hex(): key for key in needed})
    require({key.name for key in log_keys} == {origin}, "a log key of another name")
    return signers, log_keys


# --- 8. What the log says of itself; each claim returns what it saw, or raises --------

SPLIT_VIEW = "a split view (another history, shown to others) cannot be excluded"
NOT_PRIVATE = "NOT PRIVATE: no noise was added, so nothing is guaranteed"
SKEW_S = 300  # seconds by which clocks may differ
TRAINING = ("round", "round-aborted", "refusal", "resumed", "completed")


def log(evidence: Evidence) -> str:
    """Every byte of the log is under its signed checkpoint: see `read_evidence`."""
    root, waiting = evidence.checkpoint.root.hex(), ""
    if "stage" in evidence.files:
        waiting = "; a writer left unfinished entries, which are no part of it"
    size = f"{counted(len(evidence.entries), 'entry')}, root {root}"
    return f"{size}, every byte under the signed checkpoint{waiting}"


def log_key(evidence: Evidence) -> str:
    """Say where the key comes from that the log is verified with."""
    key = evidence.log_keys[-1].id.hex()
    if evidence.policy is not None and evidence.policy.logs:
        return f"{key}, by your policy"
    raise NotShown(
        f"{key}, taken from the log itself: it agrees with itself, but only a policy "
        "(`--policy`) says whose log it is"
    )


def cosigned(checkpoint: Checkpoint, policy: Policy | None) -> dict[str, int]:
    """Return when each witness of a policy cosigned a checkpoint."""
    named = policy.witnesses.items() if policy else ()
    found = {name: checkpoint.cosigned_at(key) for name, key in named}
    return {name: seconds for name, seconds in found.items() if seconds is not None}


def witnesses(evidence: Evidence) -> str:
    """Enough witnesses cosigned the checkpoint, by the reader's policy."""
    policy, named = evidence.policy, evidence.genesis["witnesses"]
    if policy is None and named is None:
        raise NotShown(f"none: {SPLIT_VIEW}")
    policy = policy or parse_policy(evidence.blob(named, 0))
    seen = cosigned(evidence.checkpoint, policy)
    listed = ", ".join(f"`{name}`" for name in sorted(seen)) or "no witness"
    met = policy.met_by(seen)
    words = f"quorum `{policy.quorum}` {'' if met else 'not '}met: cosigned by {listed}"
    if evidence.policy is None:
        raise NotShown(f"by the policy the log itself names, {words}; {SPLIT_VIEW}")
    require(met, f"{words}; {SPLIT_VIEW}")
    if policy.quorum == "none":
        raise NotShown(f"the policy asks for no witness ({listed}): {SPLIT_VIEW}")
    return words


def pin(evidence: Evidence) -> str:
    """The log extends the checkpoint that the reader kept."""
    if evidence.pin is None:
        raise NotShown("none given: entries cut off at the end would not show")
    kept, latest = parse_checkpoint(evidence.pin, "pin"), evidence.checkpoint
    require(kept.signed_by(evidence.log_keys), "the pin is not signed by this log")
    require(kept.origin == latest.origin, f"the pin is of `{kept.origin}`")
    missing = f"{latest.size} entries are here, but {kept.size} were pinned"
    require(kept.size <= latest.size, missing)
    same = evidence.tree.root(kept.size) == kept.root
    require(same, f"another history: the first {kept.size} entries are not the pinned")
    return f"extends your checkpoint of {kept.size} entries"


def entry_signatures(evidence: Evidence) -> str:
    """Every entry is signed by the coordinator in force; a rotation by more."""
    for entry in evidence.entries:
        needed, index = evidence.signers[entry.index], entry.index
        exactly = set(entry.signatures) == set(needed)
        require(exactly, "not signed by exactly the keys in force", index)
        for keyid, value in entry.signatures.items():
            right = signs(needed[keyid], value, entry.message)
            require(right, f"signature of key {keyid[:16]} is wrong", index)
    rotations = len(evidence.of("key-rotation"))
    entries = counted(len(evidence.entries), "entry")
    return f"{entries}, {counted(rotations, 'key rotation')}"


def separate_keys(evidence: Evidence) -> str:
    """The coordinator's key, the log's and every party's are different keys."""
    keys = [sha256(key.public).hex() for key in evidence.log_keys]
    keys.append(evidence.genesis["coordinator"]["keyid"])
    for entry in evidence.of("key-rotation"):
        keys += [entry.body["new"]["keyid"]] * (entry.body["role"] == "coordinator")
    keys += [sha256(key).hex() for _, key in party_keys(evidence)]
    require(len(set(keys)) == len(keys), "two jobs have the same key", 0)
    return f"{counted(len(keys), 'key')}, all different"


def party_keys(evidence: Evidence) -> list[tuple[str, bytes]]:
    """Return role and key of every party that has a key."""
    parties = [each for each in listed_parties(evidence) if each["key"] is not None]
    return [(each["role"], public_key(each["key"], 0)) for each in parties]


def listed_parties(evidence: Evidence) -> Sequence[Mapping[str, Any]]:
    """Return the parties in entry 0, or one of every row of the roster it cites."""
    genesis, digest = evidence.genesis, evidence.genesis.get("roster")
    if digest is None:
        found: Sequence[Mapping[str, Any]] = genesis["parties"]
        return found
    require(not genesis["parties"], "lists parties and cites a roster", 0)
    blob = evidence.blob(digest, 0)
    rows = parse_json(blob, "roster")
    sound = fits(rows, "row*") and canonical(rows) == blob and len(blob) <= 2**24
    require(sound, "the roster is not a canonical list of parties", 0)
    forms = [canonical(row["party"]) for row in rows]
    whole = all(len(row["party"]) == 6 for row in rows)  # no field is left out
    require(whole and forms == sorted(set(forms)), "the roster is not in order", 0)
    counts = [row["count"] for row in rows]
    right = 0 not in counts and sum(counts) <= MAX_PARTIES
    require(right, "the roster counts parties wrongly", 0)
    return [row["party"] for row in rows for _ in range(row["count"])]


def bindings(evidence: Evidence) -> str:
    """Every entry names this log, this run, its place and the entry before it."""
    origin, previous, keys = evidence.checkpoint.origin, "", set()
    for entry in evidence.entries:
        wanted: dict[str, object] = {"log": origin, "run": origin.rpartition("/")[2]}
        wanted.update(index=entry.index, previous=previous)
        for name, expected in wanted.items():
            what = f"`{name}` is `{entry.head[name]}`, expected: `{expected}`"
            require(entry.head[name] == expected, what, entry.index)
        fresh = entry.head["key"] not in keys
        require(fresh, "has the key of an earlier entry", entry.index)
        keys.add(entry.head["key"])
        previous = entry.leaf
    return f"log `{origin}`, {len(keys)} different events"


def genesis(evidence: Evidence) -> str:
    """Entry 0 and no other is the genesis."""
    for entry in evidence.of("genesis")[1:]:
        raise Unsound("a second genesis", entry.index)
    old, continued = evidence.genesis["previous"], ""
    if old is not None:
        size = f"its first {counted(old['size'], 'entry')}"
        continued = f", continues `{old['origin']}` after {size}"
    return f"written by {evidence.genesis['software']}{continued}"


def references(evidence: Evidence) -> str:
    """An entry that is cited by index is an earlier entry."""
    cited = []
    for entry in evidence.of("correction", "document", "certificate"):
        body, index = entry.body, entry.index
        number = {"correction": "index", "document": "about"}.get(entry.kind, "last")
        cited += [body[number]] if body.get(number) is not None else []
        require(not cited or cited[-1] < index, "cites what is not before it", index)
        if entry.kind == "certificate":
            require(body["first"] <= body["last"], "is about no entries", index)
            named = [number for row in body["results"] for number in row["evidence"]]
            inside = max(named, default=0) <= body["last"]
            require(inside, "cites an entry that it is not about", index)
    return f"{counted(len(cited), 'entry')} citing earlier ones"


def decided_first(evidence: Evidence) -> str:
    """Policy, tags and plan were logged once, before the first round."""
    first = next((entry.index for entry in evidence.of(*TRAINING)), None)
    for kind in ("policy", "feature-tags", "budget-plan"):
        found = [entry.index for entry in evidence.of(kind)]
        early = first is None or (found and found[0] < first)
        require(early, f"training began without a `{kind}` entry", first)
        require(len(found) < 2, f"a second `{kind}` entry", [*found, 0, 0][1])
    return "policy, tags and plan before the first round"


def rounds(evidence: Evidence) -> str:
    """Rounds are numbered without gaps, and nothing is lost silently."""
    last, lost, completed = 0, set(), None
    for entry in evidence.of(*TRAINING):
        body, kind, index = entry.body, entry.kind, entry.index
        require(completed is None, f"`{kind}` after the run was completed", index)
        number = body.get("round", 0)
        again = kind == "round-aborted" and number == last and last not in lost
        if kind in ("round", "round-aborted") and not again:
            last += 1
            require(number == last, f"round {number}: expected round {last}", index)
        if kind == "round-aborted":
            lost.add(number)
        elif kind == "refusal":
            near = number in (last, last + 1)
            require(near, f"refuses round {number} after {last}", index)
        elif kind == "resumed":
            near = body["rounds"] in (last, last - 1)
            require(near, f"resumed after {body['rounds']} rounds of {last}", index)
        elif kind == "completed":
            completed = entry
    if completed is None:
        raise NotShown(f"{counted(last, 'round')} so far; the run is not completed")
    planned = max([entry.body["rounds"] for entry in evidence.of("budget-plan")] or [0])
    shown = {"rounds": last, "released": last - len(lost), "early": last < planned}
    for name, value in shown.items():
        what = f"`{name}` is {completed.body[name]}, the log shows {value}"
        require(completed.body[name] == value, what, completed.index)
    gone = f", {len(lost)} of them lost" if lost else ""
    return f"rounds 1 to {last}, no gap{gone}" if last else "no round"


def times(evidence: Evidence) -> str:
    """Entries claim times that agree with those that witnesses signed.

    An entry belongs between the last cosignature without it and the first with it.
    """
    policy, claimed = evidence.policy, [entry.seconds for entry in evidence.entries]
    seen = {each.size: cosigned(each, policy) for each in evidence.checkpoints}
    signed = sorted((size, t) for size, found in seen.items() for t in found.values())
    latest = [*accumulate((t for _, t in reversed(signed)), min)][::-1]
    at, earliest, limits = 0, -math.inf, [*latest, math.inf]
    for index, seconds in enumerate(claimed):
        while at < len(signed) and signed[at][0] <= index:
            earliest, at = max(earliest, signed[at][1]), at + 1
        fine = earliest - SKEW_S <= seconds <= limits[at] + SKEW_S
        require(fine, f"claims time {seconds}, signed times do not allow it", index)
    first, last = (evidence.entries[at].head["time"] for at in (0, -1))
    for index in range(1, len(claimed)):
        if claimed[index] < claimed[index - 1] - SKEW_S:
            raise NotShown(f"{first} to {last}; the clock went back at entry {index}")
    if not signed:
        raise NotShown(f"{first} to {last}, by the coordinator's clock only")
    count = f"{len(signed)} times that others signed"
    return f"{first} to {last}, in agreement with {count}"


# --- 9. Budgets -----------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """The releases a run is allowed, logged before anything ran."""

    index: int
    policy: Mapping[str, Any]
    body: Mapping[str, Any]
    releases: Sequence[tuple[Release, int]]
    profiles: Mapping[str, tuple[int, Sequence[tuple[Release, int]]]]  # sites, releases

    @property
    def classes(self) -> dict[str, float]:
        """The factor on contributions of units of each class."""
        return {name: float(scale) for name, scale in self.body["classes"].items()}

    def sum_of(self, releases: Iterable[tuple[Release, int]]) -> Sum:
        """Compose releases under the policy."""
        policy = self.policy
        settings = (policy["neighbours"], policy["sites_per_person"])
        total = Sum(float(policy["delta"]), *settings, policy["accountant"])
        for release, count in releases:
            total.add(release, count)
        return total

    @property
    def prices(self) -> dict[str, float]:
        """The stated price of the whole plan, for the record and for tiers."""
        stated = {"record": self.body["epsilon"], **self.body["tiers"]}
        return {scope: float(e) for scope, e in stated.items() if e is not None}

    @property
    def budgets(self) -> dict[str, str]:
        """The budget of the record, and the caps of tiers."""
        return {"record": self.policy["epsilon"], **self.policy["caps"]}


def parse_releases(rows: Any) -> list[tuple[Release, int]]:
    """Return releases and their counts, as plans and claims hold them."""
    require(fits(rows, "planned*"), "not a list of releases")
    versions = {row["release"]["version"] for row in rows}
    require(versions <= {1}, "a release of another version")
    return [(Release.parse(row["release"]), row["count"]) for row in rows]


def read_plan(evidence: Evidence) -> Plan | None:
    """Return the plan that is logged; None before it is, and without privacy."""
    found, policies = evidence.of("budget-plan"), evidence.of("policy")
    if not found or not policies:
        return None
    plan, index, policy = found[0].body, found[0].index, policies[-1].body
    mechanism = policy["mechanism"]
    noised = plan["releases"] is not None
    require(noised == (mechanism != "none"), f"does not fit `{mechanism}`", index)
    require(plan["delta"] == policy["delta"], "`delta` is not the policy's", index)
    seeded = (policy["randomness"] == "seeded") == evidence.genesis["test"]
    require(seeded, "entry 0 and the policy disagree about seeded noise", index)
    if not noised:
        return None
    rows = parse_json(evidence.blob(plan["releases"], index), "`releases`")
    releases = parse_releases(rows)
    counted = sum(count for _, count in releases)
    require(counted == plan["rounds"], f"`rounds`: its releases are {counted}", index)
    kind, by = plan["filter"], policy["accountant"]
    priced = kind in ("F0", "F1" if by == "rdp" else "F2")
    require(priced, f"filter {kind} has no price by {by.upper()}", index)
    exact = kind != "F2" or all(release.rate == 1.0 for release, _ in releases)
    require(exact, "filter F2 is for rounds without sampling", index)
    profiles = {}
    if plan["profiles"] is not None:
        own = parse_json(evidence.blob(plan["profiles"], index), "`profiles`")
        require(fits(own, "own%"), "`profiles` cannot be read", index)
        for name, row in own.items():
            profiles[name] = (row["sites"], parse_releases(row["releases"]))
    return Plan(index, policy, plan, releases, profiles)


def unplanned(evidence: Evidence) -> str:
    """Say why there is nothing to price."""
    mechanisms = [entry.body["mechanism"] for entry in evidence.of("policy")]
    return NOT_PRIVATE if "none" in mechanisms else "no plan is logged yet"


def budget_plan(evidence: Evidence) -> str:
    """The plan is priced again: not above what is stated, nor above the budgets."""
    plan = read_plan(evidence)
    if plan is None:
        raise NotShown(unplanned(evidence))
    stated = "record" in plan.prices and None not in plan.budgets.values()
    require(stated, "states no epsilon although noise is added", plan.index)
    total, index = plan.sum_of(plan.releases), plan.index
    proven = not total.shares or total.accountant == "rdp"
    require(proven, "noise in shares is priced by Renyi divergences only", index)
    for scope, value in plan.prices.items():
        total.check(f"`{scope}`", value, scope, index)
        within(f"`{scope}`", value, float(plan.budgets.get(scope, "inf")), index)
    total.recomputed()
    for scope in plan.budgets:
        within(f"`{scope}`", total.epsilon(scope), float(plan.budgets[scope]), index)
    price = f"epsilon {plan.body['epsilon']} at delta {plan.body['delta']}"
    computed = f"recomputed {up(total.epsilon('record'))} by {total.by}"
    neighbours, budget = plan.policy["neighbours"], plan.policy["epsilon"]
    return f"{price}, {neighbours}, {computed}, budget {budget}"


def charges(evidence: Evidence) -> list[Entry]:
    """Return what was charged, once for each round: a logged one may be lost later."""
    found: list[Entry] = []
    for entry in evidence.of("round", "round-aborted"):
        again = found and found[-1].body["round"] == entry.body["round"]
        if entry.kind == "round" or not again:
            found.append(entry)
    return found


def round_events(evidence: Evidence) -> str:
    """The event of every round is the planned one, and tags are those in force."""
    plan, found = read_plan(evidence), charges(evidence)
    tags = [entry.body["tags"] for entry in evidence.of("feature-tags")]
    kept = None if plan is None else Kept(plan)
    for entry in found:
        number, event, index = entry.body["round"], entry.body["event"], entry.index
        require((event is None) == (plan is None), "has an event, or none", index)
        inside = kept is None or kept.takes(Release.parse(event))
        require(inside, f"round {number} is not within the plan", index)
        if entry.kind == "round" and tags:
            require(entry.body["tags"] in tags, "`tags` is not the logged one", index)
    if kept is None and found:
        raise NotShown(NOT_PRIVATE)
    return f"{len(found)} rounds{'' if kept is None else kept.in_words()}"


MOST_SAMPLES = 1000  # times the planned number, where rounds may be more than planned


class Kept:
    """Rounds that keep to a plan, as far as they go.

    F0: each costs no more than a planned release, and those are used in their order.
    F1, F2: each has the shape of a planned release, and in every scope costs add up to
    no more than the plan's: squares of mu [Smith, Thakurta 2022] or, where rounds are
    sampled, divergences at the order that is best for the plan [Feldman, Zrnic 2021].
    Sites that are charged less, and classes of records, have sums of their own.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.at, self.used = plan, 0, 0
        self.samples = MOST_SAMPLES * sum(r.samples * n for r, n in plan.releases)
        self.sums = [Budget(plan, "", plan.releases, ("record", "label", *TIERS))]
        for name, (_, own) in plan.profiles.items():
            self.sums.append(Budget(plan, name, own, ("record", "label", *TIERS)))
        for name, scale in plan.classes.items():
            scaled = [(r.with_clips(scale), n) for r, n in plan.releases]
            self.sums.append(Budget(plan, name, scaled, ("record",)))

    def takes(self, release: Release) -> bool:
        """Add a round, and say whether it is within the plan."""
        if self.plan.body["filter"] != "F0":
            self.samples -= release.samples
            return self.samples >= 0 and all(
                budget.adds_up(release) for budget in self.sums
            )
        while self.at < len(self.plan.releases):
            planned, count = self.plan.releases[self.at]
            if self.used < count and release.inside(planned):
                self.used += 1
                return True
            self.at, self.used = self.at + 1, 0
        return False

    def in_words(self) -> str:
        """Say how the rounds kept to the plan."""
        kind = self.plan.body["filter"]
        if kind != "F0" and not all(budget.total.priced for budget in self.sums):
            raise NotShown("NOT RECOMPUTED (needs a Renyi accountant): sums of rounds")
        return f", {'each' if kind == 'F0' else 'in sum'} within the plan ({kind})"


class Budget:
    """The charges that one party is allowed in sum, and those that it has paid."""

    def __init__(
        self,
        plan: Plan,
        name: str,
        own: Sequence[tuple[Release, int]],
        scopes: Sequence[str],
    ) -> None:
        self.own: dict[Any, Release] = {}  # what is charged for each planned shape
        for mine, planned in side_by_side(own, plan.releases):
            known = self.own.setdefault(planned.shape, mine)
            alike = plan.body["filter"] == "F0" or known.shape == mine.shape
            require(alike, f"profile `{name}`: one shape, two charges", plan.index)
        self.total = total = plan.sum_of(own)
        # Without sampling a divergence is a square times its order, whichever it is.
        adds_up = plan.body["filter"] != "F0" and total.priced
        some = [scope for scope in scopes if adds_up and own]
        self.orders = {s: total.renyi(s)[1] if total.coins else 2 for s in some}
        self.limits = {
            scope: math.fsum(n * total.cost(r, scope, order) for r, n in own if n)
            for scope, order in self.orders.items()
        }
        self.spent = dict.fromkeys(self.orders, 0.0)

    def adds_up(self, release: Release) -> bool:
        """Add a round, and say whether every sum is within its limit."""
        mine = self.own.get(release.shape)
        if mine is None:
            return False
        noises = [sigma for *_, sigma in release.groups]
        charged = mine.with_noise(noises)
        for scope, order in self.orders.items():
            self.spent[scope] += self.total.cost(charged, scope, order)
        most = {scope: limit * (1 + 1e-11) for scope, limit in self.limits.items()}
        return all(self.spent[scope] <= most[scope] for scope in self.spent)


def side_by_side(
    own: Sequence[tuple[Release, int]], planned: Sequence[tuple[Release, int]]
) -> Iterator[tuple[Release, Release]]:
    """Yield what two lists charge for the same rounds, each different pair once."""
    left, right = list(own)[::-1], list(planned)[::-1]
    while left and right:
        (mine, rounds), (theirs, others) = left.pop(), right.pop()
        both = min(rounds, others)
        if both:
            yield mine, theirs
        if rounds > both:
            left.append((mine, rounds - both))
        if others > both:
            right.append((theirs, others - both))


def budgets_spent(evidence: Evidence) -> str:
    """Budgets are recomputed from the events and compared, round by round."""
    plan = read_plan(evidence)
    if plan is None:
        why = unplanned(evidence)
        for entry in evidence.of("round"):
            parts = ("update", "state", "epsilon", "epsilon_so_far")
            silent = all(entry.body[part] is None for part in parts)
            sound = silent or why != NOT_PRIVATE
            require(sound, "hashes or prices values without noise", entry.index)
        raise NotShown(why)
    total, before = plan.sum_of([]), dict.fromkeys(["record"], 0.0)
    for entry in charges(evidence):
        release = Release.parse(entry.body["event"])
        total.add(release)
        if entry.kind == "round":
            before = check_round(entry, plan, total, release, before)
    total.recomputed()
    read = [tier for tier in TIERS if tier in total.squares]
    tiers = ", ".join(f"{tier} {up(total.epsilon(tier))}" for tier in read)
    record = f"record {up(total.epsilon('record'))} of {plan.policy['epsilon']}"
    spent = f"{record} at delta {plan.policy['delta']} by {total.by}"
    count = f"{len(charges(evidence))} rounds"
    return f"{count}: {spent}; tiers {tiers}" if tiers else f"{count}: {spent}"


def check_round(
    entry: Entry, plan: Plan, total: Sum, release: Release, before: dict[str, float]
) -> dict[str, float]:
    """Check the numbers that a round states, and return them."""
    body, index, prices = entry.body, entry.index, plan.prices
    by = "rdp" if total.sampled or total.shares else "gdp"
    require(body["accountant"] == by, f"`accountant`: its events need {by}", index)
    require(body["delta"] == plan.policy["delta"], "`delta` is not the policy's", index)
    require(body["budgets"] == plan.budgets, "`budgets` are not the policy's", index)
    missing = None in (body["epsilon"], body["epsilon_so_far"])
    require(not missing, "states no epsilon although noise is added", index)
    texts = {"record": body["epsilon_so_far"], **body["tiers_so_far"]}
    stated = {scope: float(value) for scope, value in texts.items()}
    for scope in [scope for scope in prices if scope in total.squares] + list(before):
        require(scope in stated, f"states no epsilon of `{scope}`", index)
    # A part of the plan costs no more than the plan, whose price is checked by itself.
    if float(body["epsilon"]) < prices.get("record", math.inf):
        alone = plan.sum_of([(release, 1)])
        alone.check("`epsilon`", float(body["epsilon"]), "record", index)
    for scope, value in stated.items():
        if value < prices.get(scope, math.inf):
            total.check(f"`{scope}` so far", value, scope, index)
        within(f"`{scope}`", value, float(plan.budgets.get(scope, "inf")), index)
        fell = f"`{scope}` fell from {before.get(scope)} to {value}"
        require(value >= before.get(scope, 0.0), fell, index)
    return stated


def claim(evidence: Evidence) -> str:
    """The claim is proven again, and says what policy, plan and rounds say."""
    end = evidence.first("completed", "no claim yet: the run is not completed")
    plan, index = read_plan(evidence), end.index
    both = (end.body["claim"] is None) == (plan is None)
    require(both, "a claim and a plan need each other", index)
    if plan is None:
        raise NotShown(NOT_PRIVATE)
    found = parse_json(evidence.blob(end.body["claim"], index), "claim")
    require(fits(found, "claim"), "claim: a field is missing, unknown or wrong", index)
    policy, tiers = plan.policy, found["tiers"]
    stated = {"record": found["epsilon"]}
    stated.update((tier, row["epsilon"]) for tier, row in tiers.items())
    same = {
        "version": (found["version"] in (1, 2), True),
        "releases": (parse_releases(found["releases"]), plan.releases),
        "epsilon": (stated, plan.prices),
        "delta": (found["delta"], float(plan.body["delta"])),
        "rounds": (found["rounds"], end.body["rounds"]),
        "stamp": (found["stamp"] is not None, evidence.genesis["test"]),
        "accountant": (found["accountant"]["name"], policy["accountant"]),
        "filter": (found["accountant"]["filter"], plan.body["filter"]),
        "profiles": (
            {
                name: (row["sites"], parse_releases(row["releases"]))
                for name, row in found["profiles"].items()
            },
            plan.profiles,
        ),
        "classes": (
            {name: row["scale"] for name, row in found["classes"].items()},
            plan.classes,
        ),
        "mechanism": (found["mechanism"]["name"], policy["mechanism"]),
        "noise": (found["mechanism"]["noise"], policy["noise"]),
        "cohort": (found.get("cohort"), assumed(policy.get("cohort"))),
        "sampling": (found["sampling"]["scheme"], policy["sampling"]),
    }
    also = "unit neighbours trust records_per_person sites_per_person"
    same.update((name, (found[name], policy[name])) for name in also.split())
    for name, (claimed, logged) in same.items():
        require(claimed == logged, f"claim: `{name}` is not what the log says", index)
    check_claim(found, plan, index)
    whole = f"epsilon {up(found['epsilon'])} at delta {found['delta']:g}"
    parts = ", ".join(f"{tier} {up(row['epsilon'])}" for tier, row in tiers.items())
    label = up(found["label"]["epsilon"])
    text = f"{whole} per {found['unit']}, {found['neighbours']}; tiers {parts}"
    text += f"; label {label}"
    if found["stamp"] is not None:
        raise NotShown(f"NOT PRIVATE, the noise was seeded: {text}")
    return text


def assumed(cohort: Mapping[str, int] | None) -> dict[str, int] | None:
    """Return what a claim says of a cohort: its numbers, and what follows from them."""
    if cohort is None:
        return None
    sites, colluders = cohort["sites"], cohort["colluders"]
    honest = sites - colluders - cohort["dropouts"]
    return {**cohort, "honest": honest, "threshold": (sites + colluders) // 2 + 1}


def check_claim(found: Mapping[str, Any], plan: Plan, index: int) -> None:
    """Prove the numbers of a claim from its releases."""
    total, mechanism = plan.sum_of(plan.releases), plan.policy["mechanism"]
    scopes = {**found["tiers"], "label": found["label"], "record": found}
    for scope, row in scopes.items():
        total.check(f"claim: `{scope}`", row["epsilon"], scope, index)
        require(row["delta"] == found["delta"], f"claim: delta of `{scope}`", index)
    samples = total.samples * (1 if plan.body["filter"] == "F0" else MOST_SAMPLES)
    check_sampler(found, samples, index)
    lines = {f"tier {tier}": row for tier, row in found["tiers"].items()}
    for name, row in {**lines, "the label": found["label"]}.items():
        named = any(gap.startswith(f"{name}: ") for gap in found["not_covered"])
        named = named or row.get("delta_sampler", 0.0) <= found["delta"]
        require(named, f"claim: `not_covered` does not name {name}", index)
    rates = sorted({release.rate for release, _ in plan.releases})
    sampling = ("poisson" if total.sampled else "none", rates)
    follows = (found["sampling"]["scheme"], found["sampling"]["rates"]) == sampling
    require(follows, "claim: `sampling` does not follow from the releases", index)
    single = all(
        sum(name != "clip bit" for name, _, _ in release.groups) <= 1
        for release, _ in plan.releases
    )
    require(single or mechanism != "uniform", "claim: `uniform` has no groups", index)
    for rank, tier in enumerate(TIERS):
        reads = [release.name for release, _ in plan.releases if release.reads >= rank]
        if tier in found["tiers"]:
            listed = found["tiers"][tier]["reads"] == list(dict.fromkeys(reads))
            # Without towers every column moves every gradient.
            sound = listed and (mechanism == "cascade" or reads)
            require(sound, f"claim: other releases read `{tier}`", index)
    parts = [check_profile(found, plan, name, index) for name in plan.profiles]
    parts += [check_class(found, plan, name, index) for name in plan.classes]
    for each in (total, *parts):
        each.recomputed()


def check_sampler(found: Mapping[str, Any], samples: int, index: int) -> None:
    """Let every line pay for the noise sampler, at the epsilon that it states.

    Each drawn value is within total variation 2^-90 of the Gaussian, which costs
    N (1 + e^epsilon) 2^-90 beside delta. Version 1 stated the record's figure for all
    lines: it stands where no other line needs more, but for a thousandth of delta.
    """
    lines = {"record": (found["epsilon"], found)}
    rows = {"label": found["label"], **found["tiers"]}
    rows.update((f"class {name}", row) for name, row in found["classes"].items())
    lines.update((name, (row["epsilon"], row)) for name, row in rows.items())
    for name, row in found["profiles"].items():
        most = max(row["epsilon"], row["label"], *row["tiers"].values())
        lines[f"profile {name}"] = (most, row)
    for name, (epsilon, row) in lines.items():
        what, least = f"claim: `delta_sampler` of the {name}", 0.0
        if samples > 0:
            least = samples * (1 + math.exp(min(epsilon, 600.0))) * 2.0**-90
        fits_in = name != "record" or least <= found["delta"]
        require(fits_in, f"{what} is more than delta", index)
        old = found["version"] == 1 and name != "record"
        require(("delta_sampler" in row) != old, f"{what} is of another version", index)
        floor = max(found["delta_sampler"], 1e-3 * found["delta"])
        stated = floor if old else row["delta_sampler"]
        enough = stated >= min(1.0, least) * (1 - 1e-9)
        require(enough, f"{what} is too small", index)


def check_profile(found: Mapping[str, Any], plan: Plan, name: str, index: int) -> Sum:
    """Prove what is guaranteed at sites that are charged less than the plan."""
    row, (sites, releases) = found["profiles"][name], plan.profiles[name]
    what, total = f"claim: profile `{name}`", plan.sum_of(releases)
    counts = [sum(n for _, n in rows) for rows in (releases, plan.releases)]
    pairs = side_by_side(releases, plan.releases)
    less = all(mine.inside(planned, same_clips=False) for mine, planned in pairs)
    require(sites >= 1 and less and counts[0] == counts[1], f"{what} is above", index)
    tiers = row["tiers"].keys() == found["tiers"].keys()
    require(tiers and row["delta"] == found["delta"], f"{what} is incomplete", index)
    scopes = {**row["tiers"], "record": row["epsilon"], "label": row["label"]}
    for scope, value in scopes.items():
        total.check(f"{what}, `{scope}`", value, scope, index)
    return total


def check_class(found: Mapping[str, Any], plan: Plan, name: str, index: int) -> Sum:
    """Prove what is guaranteed to units whose contributions are scaled down."""
    row, what = found["classes"][name], f"claim: class `{name}`"
    scale = row["scale"]
    require(0 < scale <= 1, f"{what}: `scale` is out of range", index)
    same = (row["delta"], row["neighbours"]) == (found["delta"], found["neighbours"])
    require(same, f"{what} is about something else", index)
    total = plan.sum_of((release.with_clips(scale), n) for release, n in plan.releases)
    total.check(f"{what}, `record`", row["epsilon"], "record", index)
    return total


# --- 10. Files and people -------------------------------------------------------------


def blobs(evidence: Evidence) -> str:
    """Everything that entries cite is there, and whatever is there has its digest."""
    cited = {evidence.genesis["witnesses"]: 0, evidence.genesis.get("roster"): 0}
    parts = {"policy": ["config", "policy"], "feature-tags": ["tags", "encoding"]}
    parts.update({"budget-plan": ["plan", "releases", "profiles"]})
    parts["completed"] = ["claim"]
    for entry in evidence.entries:
        for part in parts.get(entry.kind, []):
            cited[entry.body[part]] = entry.index
        if entry.kind == "round" and entry.body["participation"]["receipts"] == "open":
            cited[entry.body["participation"]["digest"]] = entry.index
        if entry.kind == "round":
            cited[entry.body["aggregation"].get("evidence")] = entry.index
    cited.pop(None, None)
    erased = {entry.body["digest"] for entry in evidence.of("deletion")}
    found = [re.fullmatch("blobs/sha256/(.{64})", name) for name in evidence.files]
    there = {match[1] for match in found if match is not None}
    gone = [digest for digest in cited if digest in erased - there]
    for digest in [*cited, *sorted(there.difference(cited))]:
        if digest not in gone:
            evidence.blob(digest, cited.get(digest))
    text = f"{len(there)} blobs have their digests, none that is cited is missing"
    if gone:
        raise NotShown(f"{text}; {len(gone)} were erased")
    return text


def feature_tags(evidence: Evidence) -> str:
    """Columns have tags and reasons; counts, inputs and claim follow from them."""
    entry = evidence.first("feature-tags", "no tags are logged yet")
    body, index = entry.body, entry.index
    tagged = parse_json(evidence.blob(body["tags"], index), "tags")
    encoding = parse_json(evidence.blob(body["encoding"], index), "encoding")
    tags, columns = tagged["tags"], tagged["schema"]["columns"]
    used: list[str] = encoding["columns"]
    reasons = [tag["reason"].strip() for tag in tags.values()]
    require(all(reasons), "a tag without a reason", index)
    sources = {column["name"]: column.get("sources", []) for column in columns}
    ranks = {}
    for name in sources:
        family, more = {name}, {name}  # it is as sensitive as all it was made from
        while more:
            more = {each for one in more for each in sources.get(one, [])} - family
            family |= more
        ranks[name] = max(TIERS.index(tags[each]["tier"]) for each in family)
    counts = {tier: list(ranks.values()).count(rank) for rank, tier in enumerate(TIERS)}
    same = all(body["columns"].get(tier, 0) == count for tier, count in counts.items())
    require(same, "`columns` does not follow from the tags", index)
    # A tier that is left out has no price; without privacy nothing has one.
    plan, found = read_plan(evidence), sorted({ranks[name] for name in used})
    some = [each for n in range(len(found) + 1) for each in combinations(found, n)]
    if plan is not None:
        some = [tuple(rank for rank in found if TIERS[rank] in plan.prices)]
    inputs = [sorted(name for name in used if ranks[name] in each) for each in some]
    entering = [
        each for each in inputs if sha256(canonical(each)).hex() == body["inputs"]
    ]
    require(entering, "`inputs` is not the columns of the tiers that are priced", index)
    same = all(encoding["tiers"][name] == TIERS[ranks[name]] for name in used)
    require(same and 3 not in found, "the encoding has another tier than tags", index)
    for end in evidence.of("completed"):
        if end.body["claim"] is not None:
            claimed = parse_json(evidence.blob(end.body["claim"], end.index), "claim")
            for tier, row in claimed["tiers"].items():
                listed = [name for name in used if TIERS[ranks[name]] == tier]
                same = row["columns"] == listed
                require(same, f"the claim lists other columns of `{tier}`", end.index)
    tiers = ", ".join(f"{count} {tier}" for tier, count in counts.items() if count)
    columns = counted(len(sources), "column")
    return f"{columns} ({tiers}), {len(entering[0])} enter the model"


def participants(evidence: Evidence) -> str:
    """Receipts of every round are signed by its sites, and their number is stated."""
    policy = evidence.first("policy", "no round, nobody took part").body
    evidence.first("round", "no round, nobody took part")
    sites = [key for role, key in party_keys(evidence) if role == "site"]
    keys, charged = {sha256(key).hex(): key for key in sites}, dict[str, int]()
    signed, unopened = 0, {"none": 0, "sealed": 0}
    for entry in evidence.of("round"):
        stated, index = entry.body["participation"], entry.index
        count, form = stated["sites"], stated["receipts"]
        hidden = (count is None) == policy["secret_sampling"] and (
            count is not None or form != "open"
        )
        require(hidden, "who took part is shown exactly where it must not be", index)
        linked = (stated["digest"] is None) == (form == "none")
        require(linked, "receipts and their digest do not fit together", index)
        backed = form != "none" or not keys
        require(backed, "has no receipts, although the sites have keys", index)
        blob = receipt_list(evidence, stated, entry)
        if blob is None:
            unopened[form] += 1
            continue
        found = parse_receipts(blob, keys, index)
        number = (
            f"states {counted(count, 'site')}, {len(found)} of them signed receipts"
        )
        require(count in (None, len(found)), number, index)
        check_receipts(evidence, policy, entry, found, charged)
        signed += len(found)
    text = f"{counted(signed, 'receipt')} of {counted(len(charged), 'site')}"
    if unopened["none"]:
        words = "rounds without receipts: who took part is the coordinator's word only"
        raise NotShown(f"{unopened['none']} {words}")
    if unopened["sealed"]:
        raise NotShown(
            f"{text}, {counted(unopened['sealed'], 'round')} sealed and not opened"
        )
    return text


def receipt_list(
    evidence: Evidence, stated: Mapping[str, Any], entry: Entry
) -> bytes | None:
    """Return the receipts of a round; None if there are none, or sealed for us too."""
    if stated["receipts"] == "open":
        return evidence.blob(stated["digest"], entry.index)
    name = f"sealed/round-{entry.body['round']}.json"
    try:
        data = read_file(evidence.folder, name)
    except PermissionError:
        data = None
    if data is None or stated["receipts"] == "none":
        return None
    value = parse_json(data, f"`{name}`")
    sound = fits(value, "sealed") and canonical(value) == data
    require(sound, f"`{name}` is not canonical", entry.index)
    salt, blob = (unbase64(value[part], f"`{name}`") for part in ("salt", "receipts"))
    made = len(salt) == 32 and sha256(salt + blob).hex() == stated["digest"]
    require(made, f"`{name}` is not what the entry commits to", entry.index)
    return blob


def parse_receipts(
    blob: bytes, keys: Mapping[str, bytes], index: int
) -> dict[str, Mapping[str, Any]]:
    """Return the receipts of a round by the key id of the site that signed each."""
    rows, found = parse_json(blob, "receipts"), dict[str, Mapping[str, Any]]()
    sound = fits(rows, "text*") and canonical(rows) == blob
    require(sound, "receipts: not a canonical array", index)
    for row in rows:
        data, kind = unbase64(row, "receipt"), "application/vnd.lexfed.receipt+json"
        payload, message, signatures = parse_envelope(data, kind)
        [keyid, *more] = signatures
        right = keyid in keys and signs(keys[keyid], signatures[keyid], message)
        single = right and not more
        require(single, f"receipt: not signed by a site: {keyid[:16]}", index)
        receipt = parse_json(payload, "receipt")
        sound = fits(receipt, "receipt") and canonical(receipt) == payload
        require(sound, "receipt: malformed", index)
        found[keyid] = receipt
    once = list(found) == sorted(found) and len(found) == len(rows)
    require(once, "receipts: not one of each site, sorted by key id", index)
    return found


def check_receipts(
    evidence: Evidence,
    policy: Mapping[str, Any],
    entry: Entry,
    found: Mapping[str, Mapping[str, Any]],
    charged: dict[str, int],
) -> None:
    """Compare the receipts of a round with what the log says of it."""
    event, number, index = entry.body["event"], entry.body["round"], entry.index
    origin = evidence.checkpoint.origin
    wanted = {"log": origin, "run": origin.rpartition("/")[2], "round": number}
    wanted["programme"] = policy["programme"]
    wanted["clips"] = [group["clip"] for group in event["groups"]] if event else []
    signed = {} if event is None else {"event": event_digest(event)}
    for keyid, receipt in found.items():
        for name, value in wanted.items():
            same = receipt[name] == value
            require(same, f"receipt: `{name}` is not that of the round", index)
        # Logs of before: receipts did not name the event. One that does is compared.
        old = policy.get("receipts") is None and "event" not in receipt
        same = old or {n: receipt[n] for n in ("event",) if n in receipt} == signed
        require(same, "receipt: `event` is not that of the round", index)
        bound = policy.get("receipts") != "event-answer" or "answer" in receipt
        require(bound, "receipt: the site signed no sum", index)
        hashed = (receipt["query"] is None) == (event is None)
        require(hashed, "receipt: `query` is hashed exactly under noise", index)
        # A site that was charged more often than there are rounds knows of another one.
        low = charged.get(keyid, 0) + 1 if event else 0
        times = f"site {keyid[:16]} was charged {receipt['charged']} times"
        require(low <= receipt["charged"] <= number, times, index)
        charged[keyid] = receipt["charged"]
    asked = {receipt["query"] for receipt in found.values()}
    require(len(asked) <= 1, "sites were asked different questions", index)


def event_digest(event: Mapping[str, Any]) -> str:
    """Return what sites sign of an event: the hash of its only form."""
    named = {name: v for name, v in event.items() if name != "noise" or v is not None}
    return sha256(canonical(named)).hex()


def secure_aggregation(evidence: Evidence) -> str:
    """Rounds used the protocol that was decided on, and enough sites agreed to it."""
    policies, used = evidence.of("policy"), "none"
    for policy in policies[-1:]:
        used = policy.body["aggregation"]
    for entry in evidence.of("round"):
        stated, index = entry.body["aggregation"], entry.index
        same = stated["protocol"] == used or not policies
        require(same, "another protocol than decided", index)
        if stated["protocol"] != "none":
            numbers = (stated["threshold"], stated["survivors"])
            met = None not in numbers and numbers[0] <= numbers[1]
            require(met, "no threshold, or fewer survivors than it", index)
    cohort = shared_trust(evidence, policies[-1]) if policies else None
    if used == "none":
        raise NotShown("none: the coordinator sees every site's sum")
    if cohort is None:
        return f"`{used}`, threshold met in every round"
    masked = Masked(evidence, policies[-1].body, cohort)
    for entry in evidence.of("round"):
        masked.check(entry)
    least, honest = masked.least, masked.least - cohort["colluders"]
    sums = f"{masked.sums} sums of at least {least} of {cohort['sites']} sites"
    signed = f"{masked.signatures} signatures"
    return f"`{used}`: {sums}, {signed}; {honest} honest sites in each are assumed"


def shared_trust(evidence: Evidence, entry: Entry) -> Mapping[str, int] | None:
    """Return what is assumed of sites that share the noise; None if they do not.

    Trust, noise, masks and cohort are decided together; then Renyi accounting and
    everybody in every round are needed, and sums that some honest sites are in.
    """
    policy, index = entry.body, entry.index
    shared, cohort = policy["trust"] == "distributed", policy.get("cohort")
    noise = policy["noise"] == "skellam-shares"
    decided = (noise, policy["aggregation"] == "masking", cohort is not None)
    together = decided == (shared, shared, shared)
    require(together, "trust, noise, aggregation and cohort do not fit", index)
    law, plan = "skellam" if shared else "gaussian", read_plan(evidence)
    if plan is not None:
        rows = [*plan.releases, *(r for _, own in plan.profiles.values() for r in own)]
        require({r.noise for r, _ in rows} <= {law}, "plans other noise", plan.index)
    for charged in charges(evidence):
        event = charged.body["event"]
        same = event is None or (event.get("noise") or "gaussian") == law
        require(same, "is charged for other noise", charged.index)
    if cohort is None:
        return None
    # A release that nobody is in would cost nothing; only profiles may have such.
    if plan is not None:
        whole = {release.rate for release, _ in plan.releases} <= {1.0}
        require(whole, "plans a release that not everybody is in", plan.index)
    for charged in charges(evidence):
        event = charged.body["event"]
        whole = event is None or float(event["sampling_rate"]) == 1.0
        require(whole, "is charged for what not everybody is in", charged.index)
    exact = (policy["accountant"], policy["sampling"]) == ("rdp", "none")
    needed = exact and not policy["secret_sampling"]
    require(needed, "noise in shares: only by `rdp`, without sampling", index)
    asked = policy.get("receipts") == "event-digest"
    require(asked, "noise in shares: receipts must name what was asked", index)
    sites = [key for role, key in party_keys(evidence) if role == "site"]
    count, colluders = cohort["sites"], cohort["colluders"]
    least = count - cohort["dropouts"]
    possible = least > colluders and least >= (count + colluders) // 2 + 1
    require(possible and count == len(sites), "no such cohort can be", index)
    return {name: int(number) for name, number in cohort.items()}


class Masked:
    """Records of masked sums, each signed by enough of the sites of entry 0.

    What a site signs fixes session, terms, round, model, set-up and list. Of n sites
    with c colluders t sign, 2 t > n + c, so no second list of the round can have t
    signatures [Bonawitz et al. 2017].
    """

    def __init__(
        self, evidence: Evidence, policy: Mapping[str, Any], cohort: Mapping[str, int]
    ) -> None:
        self.evidence, self.policy, self.cohort = evidence, policy, cohort
        self.least = cohort["sites"] - cohort["dropouts"]
        sites = [key for role, key in party_keys(evidence) if role == "site"]
        self.keys = {sha256(key).hex(): key for key in sites}
        # Records hold no names of sites: each is called by half of its key's id.
        self.sites = {keyid[:32]: key for keyid, key in self.keys.items()}
        rows = {name: key.hex() for name, key in self.sites.items()}
        self.roster = sha256(canonical({"lexfed-secagg-roster-v1": rows})).hex()
        self.setups: dict[int, Any] = {}  # by epoch
        self.last, self.sums, self.signatures = (0, 0), 0, 0

    def check(self, entry: Entry) -> None:
        """Check the record that a round cites."""
        stated, index = entry.body["aggregation"], entry.index
        digest = stated.get("evidence")
        require(digest is not None, "has no record of its masked sum", index)
        blob = self.evidence.blob(digest, index)
        record = parse_record(blob, index)
        names, colluders = record["names"], record["terms"]["colluders"]
        wanted = {
            "protocol": "masking",
            "threshold": (len(names) + colluders) // 2 + 1,
            "survivors": len(record["survivors"]),
            "cohort": len(names),
            "epoch": record["epoch"],
            "list": survivor_list(record).hex(),
            "evidence": digest,
        }
        require(stated == wanted, "does not say what its record shows", index)
        self.agreed(record, index)
        consents, least = record["consents"], wanted["threshold"]
        few = f"{len(consents)} sites signed the list, {least} had to"
        require(len(consents) >= least, few, index)
        for name, text in consents.items():
            value, message = unbase64(text, "record"), consent(record, name)
            right = signs(self.sites[name], value, message)
            require(right, f"record: site {name[:16]} did not sign this list", index)
        self.asked(entry, record)
        self.sums, self.signatures = self.sums + 1, self.signatures + len(consents)

    def agreed(self, record: Mapping[str, Any], index: int) -> None:
        """Refuse a record of another run, of weaker terms, or out of its order."""
        terms, here = record["terms"], (record["epoch"], record["round"])
        origin, programme = self.evidence.checkpoint.origin, self.policy["programme"]
        session = f"lexfed secagg session\n{origin}\n{programme}".encode()
        setup = (record["key_list"], record["cohort"])
        checked = {
            "session": record["session"] == sha256(session).hex(),
            "policy": record["policy"] == programme,
            "colluders": terms["colluders"] == self.cohort["colluders"],
            "least_sites": terms["least_sites"] >= self.least,
            "roster": record["roster"] == self.roster,
            "names": self.sites.keys() >= set(record["names"]),
            "survivors": len(record["survivors"]) >= terms["least_sites"],
            "round": 1 <= record["round"] <= terms["rounds"] and here > self.last,
            "key_list": self.setups.setdefault(record["epoch"], setup) == setup,
        }
        for name, fine in checked.items():
            require(fine, f"record: `{name}` is not what this run allows here", index)
        self.last = here

    def asked(self, entry: Entry, record: Mapping[str, Any]) -> None:
        """Compare with the receipts, which say what the sites were asked."""
        stated, index = entry.body["participation"], entry.index
        there = stated["receipts"] == "open" and stated["digest"] is not None
        require(there, "has no open receipts, which masked sums need", index)
        blob = self.evidence.blob(stated["digest"], index)
        found = parse_receipts(blob, self.keys, index)
        summed = {record["names"][seat] for seat in record["survivors"]}
        enough = summed <= {keyid[:32] for keyid in found}
        require(enough, "a site in the sum signed no receipt", index)
        same = {receipt["query"] for receipt in found.values()} == {record["model"]}
        require(same, "sites were asked something else than their sum is for", index)


def parse_record(blob: bytes, index: int) -> Mapping[str, Any]:
    """Return the record of a masked sum; nothing that it says is checked yet."""
    record: Mapping[str, Any] = parse_json(blob, "record")
    sound = fits(record, "record") and canonical(record) == blob
    require(sound, "record: malformed, or not canonical", index)
    lists = [record[part] for part in ("names", "cohort", "survivors")]
    rising = all(rows == sorted(set(rows)) for rows in lists)
    names, cohort, survivors = lists
    inside = set(survivors) <= set(cohort) <= set(range(len(names)))
    require(rising and inside, "record: sites are twice, or unknown", index)
    consents, summed = record["consents"], {names[seat] for seat in survivors}
    signed = all(fits(each, "consent") for each in consents.values())
    require(signed and consents.keys() <= summed, "record: odd signatures", index)
    require(record["terms"]["bits"] in (16, 24, 32), "record: no such ring", index)
    return record


def survivor_list(record: Mapping[str, Any]) -> bytes:
    """Return the hash of set-up and survivors."""
    cohort, survivors = (
        b"".join(seat.to_bytes(2, "big") for seat in record[part])
        for part in ("cohort", "survivors")
    )
    names = sha256("\n".join(record["names"]).encode())
    setup = b"lexfed secagg set-up\0" + bytes.fromhex(record["key_list"]) + names
    return sha256(sha256(setup + cohort) + survivors)


def consent(record: Mapping[str, Any], name: str) -> bytes:
    """Return what a site signs: a domain, a head, and the hash of the list's hash."""
    order = ("rounds", "colluders", "least_sites", "bits", "length", "least_change")
    packed = [record["terms"][part].to_bytes(4, "big") for part in order]
    policy = bytes.fromhex(record["policy"] + record["server"])
    terms = sha256(b"lexfed secagg terms\0" + policy + b"".join(packed))
    parts = [
        b"lexfed secagg message\0LXSA\x01\x09",  # version 1, kind 9
        bytes.fromhex(record["session"]),
        *(record[part].to_bytes(8, "big") for part in ("epoch", "round")),
        bytes.fromhex(record["model"]),
        terms,
        bytes.fromhex(record["roster"]),
        bytes([len(name)]) + name.encode(),
        (32).to_bytes(4, "big") + sha256(survivor_list(record)),
    ]
    return b"".join(parts)


def logged_files(evidence: Evidence) -> list[tuple[str, list[Any], int]]:
    """Return the files that entries name: digests each may have, and the entry."""
    logged = [("config.toml", [evidence.genesis["config"]], 0)]
    for entry in evidence.of("feature-tags", "budget-plan", "completed"):
        parts = SUBJECTS[entry.kind].items()
        logged += [(name, [entry.body[part]], entry.index) for name, part in parts]
    lost = {entry.body["round"] for entry in evidence.of("round-aborted")}
    kept = [each for each in evidence.of("round") if each.body["round"] not in lost]
    for entry in kept[-1:]:
        # A round's entry is on disk before the state that it speaks of.
        states = kept[-1:] if evidence.of("completed") else kept[-2:]
        digests = [each.body["state"] for each in states]
        logged.append(("state.safetensors", digests, entry.index))
    told = [one for one in evidence.of("export") if one.body["what"] == "profile"]
    if told or file_digest(evidence.folder, "profile.json") is not None:
        digests = [one.body["digest"] for one in told[:1]] or [""]
        logged.append(("profile.json", digests, told[0].index if told else 0))
    # What a report writes may lie elsewhere: the claim once more, and the bundle.
    if os.path.lexists(os.path.join(evidence.folder, STATEMENT)):
        ends = evidence.of("completed")[-1:]
        logged += [(STATEMENT, [one.body["claim"]], one.index) for one in ends]
    made = [one for one in evidence.of("export") if one.body["what"] == "evidence"]
    if made and os.path.lexists(os.path.join(evidence.folder, BUNDLE)):
        digests = [one.body["digest"] for one in made]
        logged.append((BUNDLE, digests, made[-1].index))
    return [row for row in logged if row[1][-1] is not None]


def files(evidence: Evidence) -> str:
    """Files of the run folder are the ones that were logged."""
    for entry in evidence.of("policy"):
        same = entry.body["config"] == evidence.genesis["config"]
        require(same, "`config` is not that of entry 0", entry.index)
    found, absent = 0, []
    for name, digests, index in logged_files(evidence):
        here = file_digest(evidence.folder, name)
        same = here is None or here in digests
        require(same, f"`{name}` is not the file that was logged", index)
        found += here is not None
        absent += [f"`{name}`"] if here is None else []
    text = f"{found} files are the logged ones"
    if absent:
        raise NotShown(f"{text}; not here: {', '.join(absent)}")
    return text


def other_files(evidence: Evidence) -> str:
    """Name the files of a run whose content nothing in the log shows."""
    logged = {name for name, _, _ in logged_files(evidence)}
    here = [
        f"`{name}`"
        for name in UNLOGGED
        if name not in logged and os.path.lexists(os.path.join(evidence.folder, name))
    ]
    if here:
        raise NotShown(f"the log has no digest of {', '.join(here)}")
    return "none that the log has no digest of"


def report(evidence: Evidence) -> str:
    """Exports speak of this log, and the report here is one that was logged."""
    exports = evidence.of("export")
    for entry in exports:
        size, root = entry.body["size"], entry.body["root"]
        right = size <= entry.index and evidence.tree.root(size).hex() == root
        require(right, "speaks of another state of this log", entry.index)
    here = file_digest(evidence.folder, "report.html")
    if here is None:
        raise NotShown(f"{counted(len(exports), 'export')} logged, no report here")
    for entry in reversed(exports):
        if entry.body["digest"] == here:
            return f"`report.html` is the one of entry {entry.index}"
    require(not exports, "`report.html` is not a report that was logged")
    raise NotShown("`report.html` is here and was never logged")


def certificates(evidence: Evidence) -> str:
    """Certificates are by the rules of entry 0, and about what was before them."""
    found = evidence.of("certificate")
    for entry in found:
        body, index = entry.body, entry.index
        same = body["catalogue"] == evidence.genesis["catalogue"]
        require(same, "cites another catalogue than entry 0", index)
        before = body["first"] == 0 and body["last"] < index
        require(before, "is not about the entries from 0 on before it", index)
        once = len({row["rule"] for row in body["results"]}) == len(body["results"])
        require(once, "does not list every rule of its catalogue once", index)
    if found:
        score = f"{found[-1].body['at_ceiling']} of {found[-1].body['applicable']}"
        needs = "NOT RE-EVALUATED (needs the rules of lexfed)"
        raise NotShown(
            f"{needs}: {counted(len(found), 'certificate')}, the last states {score}"
        )
    raise NotShown("none")


# --- 11. One line per claim -----------------------------------------------------------

JUDGES: tuple[Callable[[Evidence], str], ...] = (
    log, log_key, witnesses, pin, times, entry_signatures, separate_keys, bindings,
    genesis, references, decided_first, rounds, blobs, feature_tags, budget_plan,
    round_events, budgets_spent, claim, participants, secure_aggregation, files,
    other_files, report, certificates,
)  # fmt: skip
CLAIMS = {judge.__name__.replace("_", " "): judge for judge in JUDGES}
WRONG = (Unsound, ValueError, ArithmeticError, LookupError, TypeError)


def line(
    claim: str, status: str, detail: str, index: int | None = None
) -> dict[str, Any]:
    """Return one claim and what became of it, as plain data."""
    return {"claim": claim, "status": status, "detail": detail, "index": index}


def failed(claim: str, error: Exception) -> dict[str, Any]:
    """Return the line of a claim that does not follow from the evidence."""
    if not isinstance(error, Unsound):
        what = f"cannot be computed from what is logged: {type(error).__name__}"
        return line(claim, "FAIL", what)
    where = "" if error.index is None else f"entry {error.index}: "
    return line(claim, "FAIL", where + str(error), error.index)


def decide(claim: str, evidence: Evidence) -> dict[str, Any]:
    """Turn what a check says into a line; what cannot be computed fails."""
    try:
        return line(claim, "OK", CLAIMS[claim](evidence))
    except NotShown as note:
        return line(claim, "NOTE", str(note))
    except WRONG as error:
        return failed(claim, error)


def verify(folder: str, policy: bytes | None, pin: bytes | None) -> dict[str, Any]:
    """Return the verdict on a run folder, as plain data."""
    verdict: dict[str, Any] = {"ok": False, "origin": "", "size": 0, "root": ""}
    trust = None if policy is None else parse_policy(policy)
    try:
        evidence = read_evidence(folder, trust, pin)
    except WRONG as error:
        rest = line("everything else", "NOTE", "not checked: the log is not sound")
        return {**verdict, "checks": [failed("log", error), rest]}
    latest = evidence.checkpoint
    verdict.update(origin=latest.origin, size=latest.size, root=latest.root.hex())
    checks = [decide(claim, evidence) for claim in CLAIMS]
    verdict["ok"] = all(check["status"] != "FAIL" for check in checks)
    return {**verdict, "checks": checks}


def in_words(verdict: Mapping[str, Any]) -> str:
    """Return one line per claim, in characters that every terminal shows."""
    lines = []
    for row in verdict["checks"]:
        # Evidence may hold any character: none of it may look like a line of ours.
        detail = row["detail"].encode("ascii", "backslashreplace").decode()
        shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in detail)
        lines.append(f"{row['status']:<5}{row['claim']:<19} {shown}")
    return "\n".join(lines)


def read_given(path: str | None) -> bytes | None:
    """Return the policy or pin that the reader gives."""
    if path is None:
        return None
    with open(path, "rb") as file:
        data = file.read(2**20 + 1)
    if len(data) > 2**20:
        raise OSError(f"`{path}` is too long for a policy or a checkpoint")
    return data


def main(arguments: Sequence[str]) -> int:
    """Verify a folder, print the lines, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="verify.py", description="Verify the log of a federated training run."
    )
    parser.add_argument("folder", help="a run folder, or an unpacked evidence bundle")
    parser.add_argument("--policy", help="your trust file (C2SP tlog-policy)")
    parser.add_argument("--pin", help="a checkpoint of this log that you kept")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(arguments)
    try:
        if not os.path.isdir(os.path.join(given.folder, "log")):
            raise OSError(f"`{given.folder}` holds no log")
        policy, pin = read_given(given.policy), read_given(given.pin)
        verdict = verify(given.folder, policy, pin)
    except (OSError, Unsound) as error:
        print(f"error: {ascii(str(error))[1:-1]}", file=sys.stderr)
        return 1 if isinstance(error, Unsound) else 2
    except Exception as error:  # a defect: say so, and never the code of "failed"
        print(f"error: verify.py has a defect: {type(error).__name__}", file=sys.stderr)
        return 4
    text = json.dumps(verdict, indent=2) if given.json else in_words(verdict)
    try:
        print(text, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # where the rest of it goes
        print(f"error: the verdict cannot be written: {error}", file=sys.stderr)
        return 2
    return 0 if verdict["ok"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
