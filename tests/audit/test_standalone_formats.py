# SPDX-License-Identifier: Apache-2.0
"""The formats of the standalone verifier, compared with those of the package.

Each parser must accept exactly what the package's parser accepts; inputs are honest
ones, a table of bad ones, and mutations drawn from fixed seeds.
"""

import json
import random
from collections.abc import Callable
from typing import Any, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lexfed.audit.entries import KINDS
from lexfed.audit.entries.fields import ClosedModel
from lexfed.audit.entries.receipts import PAYLOAD_TYPE, Receipt
from lexfed.audit.standalone import verify as standalone
from lexfed.audit.tree.checkpoint import Checkpoint, sign
from lexfed.audit.tree.merkle import Tree
from lexfed.audit.tree.tiles import TileName
from lexfed.audit.tree.trust_policy import parse_policy
from lexfed.canonical import canonical_bytes
from lexfed.errors import AuditError
from lexfed.privacy.claim.schema import Claim
from lexfed.signing.dsse import SignedEnvelope
from lexfed.signing.notes import VerifierKey, parse_note
from lexfed.signing.strict_text import decode_base64, encode_base64, parse_json
from support.audit.worlds import LOG, ORIGIN, SITES, receipt_of, signer


def accepts(parse: Callable[[Any], object], value: Any) -> bool:
    """Return True if a parser takes a value; any other exception is a defect."""
    try:
        parse(value)
    except (AuditError, standalone.Unsound):
        return False
    return True


def mutated(text: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(text))
    more = bytes([chance.choice(b'\n +0Aa=\xe2\x80\x94\r\t#"{}[],:x')])
    return (
        text[:at]
        + chance.choice([b"", more, more + text[at : at + 1]])
        + text[at + 1 :]
    )


# JSON

VALUES = [
    b"{}", b'{"a":1}', b'{"a":1,"a":2}', b"[1,2]", b"NaN", b"[Infinity]", b"-1",
    b"9007199254740991", b"9007199254740992", b"1" * 5000, b"1e999", b"1.5", b"-0",
    b'"\\ud800"', b'"\\ud83d\\ude00"', b'"\xff"', b"\xef\xbb\xbf{}", b"", b" ", b"{",
    b"nul", b"true", b"[" * 100_000, b'"\xc3\xa4"', b'{"\\ud800":1}',
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda value: ascii(value)[:20])
def test_json_is_strict_in_the_same_places(value: bytes) -> None:
    ours = accepts(parse_json, value)
    assert accepts(lambda data: standalone.parse_json(data, "x"), value) == ours
    if ours:
        assert standalone.parse_json(value, "x") == parse_json(value)


TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


# A key beyond the basic plane comes before one at its end, in units of UTF-16.
@example({"\ue000": None, "\U00010000": [{"b": 1, "a": 2}]})
@given(TREES)
def test_canonical_bytes_are_those_of_rfc_8785(value: Any) -> None:
    assert standalone.canonical(value) == canonical_bytes(value)


@pytest.mark.parametrize(
    "text", ["", "AA==", "AB==", "AA=", "AAAA", "AA AA", "_-__", "\u00e4", "A" * 5]
)
def test_base64_has_one_spelling(text: str) -> None:
    ours = accepts(lambda value: decode_base64(value, "x"), text)
    assert accepts(lambda value: standalone.unbase64(value, "x"), text) == ours


# Keys and checkpoints


def as_key(vkey: str) -> standalone.Key:
    return standalone.Key.parse(vkey, (1, 4, 6))


def test_keys_are_read_the_same_way() -> None:
    for key in (LOG.verifier, SITES[0].cosigner):
        found = as_key(key.vkey)
        assert (found.name, found.public) == (key.name, key.public)
        assert (found.id, found.algorithm) == (key.key_id, key.algorithm)


def test_no_mutated_key_is_taken() -> None:
    chance, honest = random.Random(1), LOG.verifier.vkey.encode()
    for _ in range(500):
        text = mutated(honest, chance).decode("utf-8", "replace")
        ours = accepts(VerifierKey.parse, text)
        assert accepts(as_key, text) == ours, text
        assert not ours or text == honest.decode()


NAMELESS = VerifierKey("x", 1, bytes(32)).vkey.removeprefix("x")


@pytest.mark.parametrize(
    "vkey",
    ["", "+", "++", "x", "x+00000000+", "x+00000000+AA==", "x+00000000+Ag==", NAMELESS],
)
def test_what_is_no_key(vkey: str) -> None:
    assert not accepts(VerifierKey.parse, vkey)
    assert not accepts(as_key, vkey)


def read_note(data: bytes) -> Checkpoint:
    return Checkpoint.parse(parse_note(data).body)


def read_checkpoint(data: bytes) -> standalone.Checkpoint:
    return standalone.parse_checkpoint(data, "x")


def honest_note(size: int = 3) -> bytes:
    tree = Tree()
    for number in range(size):
        tree.append(b"%d" % number)
    return sign(Checkpoint(ORIGIN, size, tree.root()), LOG, signer(ORIGIN, "new"))


@pytest.mark.parametrize("size", [0, 1, 3])
def test_checkpoints_are_read_the_same_way(size: int) -> None:
    note = honest_note(size)
    found, ours = read_checkpoint(note), read_note(note)
    assert (found.origin, found.size, found.root) == (ours.origin, size, ours.root)
    assert found.body == ours.body()
    keys = [as_key(LOG.verifier.vkey), as_key(SITES[0].verifier.vkey)]
    assert found.signed_by(keys) == keys[:1]


LINE = honest_note().split(b"\n")[4]
NOTES = {
    "CRLF": honest_note().replace(b"\n", b"\r\n"),
    "no last newline": honest_note()[:-1],
    "hyphen": honest_note().replace("\u2014".encode(), b"-"),
    "extension line": honest_note().replace(b"\n\n", b"\nmore\n\n"),
    "leading zero": honest_note().replace(b"\n3\n", b"\n03\n"),
    "negative": honest_note().replace(b"\n3\n", b"\n-3\n"),
    "huge": honest_note().replace(b"\n3\n", b"\n%d\n" % 2**63),
    "largest": honest_note().replace(b"\n3\n", b"\n%d\n" % (2**63 - 1)),
    "of nothing": honest_note().replace(b"\n3\n", b"\n0\n"),
    "short root": honest_note().replace(honest_note().split(b"\n")[2], b"AAAA"),
    "empty origin": honest_note().replace(ORIGIN.encode() + b"\n3", b"\n3"),
    "spaced origin": honest_note().replace(ORIGIN.encode() + b"\n3", b"a b\n3"),
    "plus in origin": honest_note().replace(ORIGIN.encode() + b"\n3", b"a+b\n3"),
    "no-break space": honest_note().replace(ORIGIN.encode() + b"\n3", b"a\xc2\xa0b\n3"),
    "soft hyphen": honest_note().replace(ORIGIN.encode() + b"\n3", b"a\xc2\xadb\n3"),
    "not UTF-8": honest_note().replace(ORIGIN.encode() + b"\n3", b"a\xff\n3"),
    "no signatures": honest_note().split(b"\n\n")[0] + b"\n\n",
    "100 signatures": honest_note() + (LINE + b"\n") * 98,
    "101 signatures": honest_note() + (LINE + b"\n") * 99,
    "short signature": honest_note() + "\u2014 x AAAA\n".encode(),
    "empty signature": honest_note() + "\u2014 x \n".encode(),
    "nameless": honest_note() + "\u2014  AAAAAAAA\n".encode(),
    "oddly spelt": honest_note() + "\u2014 x AAAAAAAAAAB=\n".encode(),
    "text after": honest_note() + b"x",
    "blank line after": honest_note() + b"\n",
    "empty": b"",
}


@pytest.mark.parametrize("name", NOTES)
def test_notes_that_play_games(name: str) -> None:
    assert accepts(read_checkpoint, NOTES[name]) == accepts(read_note, NOTES[name])


def test_mutated_notes_have_the_same_fate() -> None:
    chance, honest = random.Random(2), honest_note()
    for _ in range(2000):
        text = mutated(honest, chance)
        assert accepts(read_checkpoint, text) == accepts(read_note, text), text


# Policies

ONE, TWO, THREE = (signer(f"w{n}.example").cosigner.vkey for n in (1, 2, 3))
POLICY = (
    f"# trust\nlog {LOG.verifier.vkey} https://log.example\n\n"
    f"witness a {ONE}\nwitness b\t{TWO} https://b.example\nwitness c {THREE}\n"
    "group bc any b c\ngroup all 2 a bc\nquorum all\n"
).encode()


@pytest.mark.parametrize(
    "names", [[], ["a"], ["b"], ["b", "c"], ["a", "c"], ["a", "b", "c"], ["x"]]
)
def test_quorums_are_met_by_the_same_witnesses(names: list[str]) -> None:
    for quorum in (b"all", b"bc", b"a", b"none"):
        data = POLICY.replace(b"quorum all", b"quorum " + quorum)
        found = standalone.parse_policy(data)
        assert found.met_by(names) == parse_policy(data).met_by(names)


POLICIES = {
    "honest": POLICY,
    "no logs": b"quorum none\n",
    "empty": b"",
    "no quorum": b"# nothing\n",
    "two quorums": POLICY + b"quorum none\n",
    "unknown quorum": b"quorum x\n",
    "no last newline": POLICY[:-1],
    "CRLF": POLICY.replace(b"\n", b"\r\n"),
    "not UTF-8": b"# \xff\n" + POLICY,
    "unknown word": b"trust me\n" + POLICY,
    "a log's key for a witness": POLICY.replace(
        ONE.encode(), LOG.verifier.vkey.encode()
    ),
    "a witness's key for a log": b"log " + ONE.encode() + b"\n" + POLICY,
    "a key twice": POLICY + b"witness d " + ONE.encode() + b"\n",
    "a log twice": POLICY + b"log " + LOG.verifier.vkey.encode() + b"\n",
    "a name twice": POLICY.replace(b"witness b", b"witness a"),
    "named none": POLICY.replace(b"witness a", b"witness none"),
    "a group named none": POLICY.replace(b"group all", b"group none"),
    "a group named as a witness": POLICY.replace(b"group bc", b"group a"),
    "an unknown member": POLICY.replace(b"any b c", b"any b d"),
    "a member twice": POLICY.replace(b"any b c", b"any b b"),
    "a member of two groups": POLICY.replace(b"2 a bc", b"2 b bc"),
    "no members": POLICY.replace(b"any b c", b"any"),
    "all": POLICY.replace(b"any b c", b"all b c"),
    "zero": POLICY.replace(b"any b c", b"0 b c"),
    "too many": POLICY.replace(b"any b c", b"3 b c"),
    "leading zero": POLICY.replace(b"any b c", b"01 b c"),
    "signed": POLICY.replace(b"any b c", b"+1 b c"),
    "too many words": POLICY.replace(b"quorum all", b"quorum all a"),
    "a bare log": b"log\n" + POLICY,
    "a wrong key": b"log x\n" + POLICY,
}


@pytest.mark.parametrize("name", POLICIES)
def test_policies_are_read_the_same_way(name: str) -> None:
    ours = accepts(parse_policy, POLICIES[name])
    assert accepts(standalone.parse_policy, POLICIES[name]) == ours


def test_mutated_policies_have_the_same_fate() -> None:
    chance = random.Random(3)
    for _ in range(1000):
        text = mutated(POLICY, chance)
        ours = accepts(parse_policy, text)
        assert accepts(standalone.parse_policy, text) == ours, text


# The tree


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 8, 9, 255, 256, 257, 600])
def test_roots_are_those_of_the_package(size: int) -> None:
    tree = Tree()
    for number in range(size):
        tree.append(b"%d" % number)
    found = standalone.Tree(tree.leaves)
    for part in {0, 1, 2, size // 2, size - 1, size} & set(range(size + 1)):
        assert found.root(part) == tree.root(part)


@given(st.integers(0, 2**40), st.integers(1, 256))
def test_tiles_lie_where_the_package_puts_them(index: int, width: int) -> None:
    name = standalone.tile_path("3", index, width)
    assert name == TileName(3, index, width).path
    name = standalone.tile_path("entries", index, width)
    assert name == TileName(None, index, width).path
    assert standalone.TILE.fullmatch(name)


# What entries may hold


def fields_of(model: type[ClosedModel]) -> dict[str, bool]:
    """Return the fields of a model, and whether each must be there."""
    return {name: f.is_required() for name, f in model.model_fields.items()}


def shape_of(shape: str) -> dict[str, bool]:
    names = [part.partition(":")[0] for part in shape.split()]
    return {name.rstrip("?"): not name.endswith("?") for name in names}


@pytest.mark.parametrize("kind", sorted({*KINDS, *standalone.KINDS}))
def test_entries_have_the_fields_of_the_package(kind: str) -> None:
    assert shape_of(standalone.KINDS[kind]) == fields_of(KINDS[kind])


def parts_of(annotation: Any) -> list[type[ClosedModel]]:
    """Return the models inside an annotation, such as `tuple[Party, ...] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, ClosedModel):
        return [annotation]
    return [part for inner in get_args(annotation) for part in parts_of(inner)]


SHAPED = {
    "Party": "party", "PublicKeyRecord": "public_key", "PredecessorLog": "previous",
    "ChargedEvent": "event", "GroupEvent": "group", "Participation": "participation",
    "Aggregation": "aggregation", "RuleResult": "result", "SpecialBasis": "special",
    "Transforms": "transforms", "Pseudonymisation": "pseudonyms",
    "CohortAssumptions": "cohort",
}  # fmt: skip


def test_parts_of_entries_have_the_fields_of_the_package() -> None:
    waiting: list[type[ClosedModel]] = [Receipt, *KINDS.values()]
    seen = set()
    while waiting:
        for field in waiting.pop().model_fields.values():
            for part in parts_of(field.annotation):
                found = shape_of(standalone.SHAPES[SHAPED[part.__name__]])
                assert found == fields_of(part)
                seen.add(part.__name__)
                waiting.append(part)
    assert seen == set(SHAPED)
    assert shape_of(standalone.SHAPES["receipt"]) == fields_of(Receipt)


def test_claims_have_the_fields_of_the_package() -> None:
    assert set(shape_of(standalone.SHAPES["claim"])) == set(Claim.model_fields)


@pytest.mark.parametrize(
    ("value", "kind", "fine"),
    [
        (1, "count", True), (True, "count", False), (-1, "count", False),
        (2**53, "count", False), (1.0, "count", False), ("1", "count", False),
        (1.5, "number", True), (float("inf"), "number", False), (True, "number", False),
        (True, "flag", True), (1, "flag", False), ({}, "object", True),
        ([], "object", False), (None, "digest?", True), ("", "digest?", False),
        (["a", "b"], "code*", True), (["a", 1], "code*", False), ("ab", "code*", False),
        ({"a": 1}, "count%", True), ({"a b": 1}, "count%", False),
        ({"a": "x"}, "count%", False), ([], "count%", False), ("b", "a|b", True),
        ("c", "a|b", False), ("a\n", "code", False), ([], "event", False),
    ],
)  # fmt: skip
def test_kinds_of_values(value: Any, kind: str, fine: bool) -> None:
    assert standalone.fits(value, kind) == fine


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ({"a": 1}, ""), ({"a": 1, "b": None}, ""), ({}, "a"), ({"a": "1"}, "a"),
        ({"a": 1, "b": "x"}, "b"), ({"a": 1, "c": 1}, "c"),
    ],
)  # fmt: skip
def test_fields_that_are_missing_unknown_or_wrong(value: Any, wrong: str) -> None:
    assert standalone.wrong_field(value, "a:count b?:count?") == wrong


# Receipts


def receipt_blob(*envelopes: bytes) -> bytes:
    rows = [encode_base64(each) for each in envelopes]
    return json.dumps(rows, separators=(",", ":")).encode()


def test_receipts_are_of_one_site_each_and_sorted() -> None:
    sites = sorted(SITES[:2], key=lambda site: site.fingerprint)
    payload = receipt_of(1, None).to_bytes()
    keys = {site.fingerprint: site.public for site in sites}
    one, two = (
        SignedEnvelope.sign(payload, site, payload_type=PAYLOAD_TYPE).to_bytes()
        for site in sites
    )
    both = SignedEnvelope.sign(payload, *sites, payload_type=PAYLOAD_TYPE).to_bytes()
    odd = SignedEnvelope.sign(
        b'{"a":1}', sites[0], payload_type=PAYLOAD_TYPE
    ).to_bytes()
    spaced = SignedEnvelope.sign(payload + b" ", sites[0], payload_type=PAYLOAD_TYPE)

    def read(blob: bytes) -> object:
        return standalone.parse_receipts(blob, keys, 0)

    assert accepts(read, receipt_blob(one, two))
    wrong = [(two, one), (one, one), (both,), (odd,), (spaced.to_bytes(),)]
    for envelopes in wrong:
        assert not accepts(read, receipt_blob(*envelopes))
    assert not accepts(read, receipt_blob(one) + b" ")
