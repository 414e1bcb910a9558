# SPDX-License-Identifier: Apache-2.0
"""Entries: every kind comes back as it was sealed, and nothing else is read."""

import json
from collections.abc import Iterator
from dataclasses import astuple, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from lexfed.audit.entries import (
    KINDS,
    ChargedEvent,
    CompletionEntry,
    Entry,
    Incident,
    RefusalEntry,
    ResumptionEntry,
    RoundEntry,
    decimal,
)
from lexfed.audit.entries.envelopes import (
    EntryPlace,
    body_of,
    predicate_type,
    seal,
    unseal,
)
from lexfed.audit.tree.merkle import leaf_hash
from lexfed.errors import AuditError
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.signing.dsse import InTotoStatement, SignedEnvelope
from lexfed.tiers import Tier
from support.audit.schemas import Where, every_spoilt, example, instances
from support.audit.worlds import COORDINATOR, LOG, ORIGIN, RUN, fake_run, signer

FEW = settings(deadline=None, max_examples=40)
MORE = settings(deadline=None, max_examples=300)
PREVIOUS = "ab" * 32
KEY, TIME = "round/7", "2026-11-15T12:00:00Z"
PLACE = EntryPlace(ORIGIN, RUN, 7, PREVIOUS)


def sealed(entry: Entry, **changes: Any) -> bytes:
    key, time = changes.pop("key", KEY), changes.pop("time", TIME)
    place = replace(PLACE, **changes)
    return seal(entry, place, key=key, time=time, signers=[COORDINATOR])


@pytest.mark.no_cover
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_comes_back_as_it_was(kind: str) -> None:
    @FEW
    @given(instances(KINDS[kind]))
    def comes_back(entry: Entry) -> None:
        data = sealed(entry)
        record = unseal(data, 7)
        assert record.entry == entry
        assert record.kind == kind
        assert record.leaf == leaf_hash(data)
        found = (record.origin, record.run, record.index, record.previous)
        assert found == astuple(PLACE)
        assert (record.key, record.time) == (KEY, TIME)
        assert body_of(record.entry) == body_of(entry)

    comes_back()


# One example of each kind, with something in every field, and every way to spoil it.


def replaced(body: dict[str, Any], path: Where, value: Any) -> dict[str, Any]:
    changed: dict[str, Any] = json.loads(json.dumps(body))
    there: Any = changed
    for step in path[:-1]:
        there = there[step]
    there[path[-1]] = value
    return changed


def written(kind: str, body: Any, **predicate: Any) -> bytes:
    """Return a signed entry that says anything."""
    entry = example(KINDS[kind])
    values = {
        "log": ORIGIN, "run": RUN, "index": 7, "previous": PREVIOUS, "key": "round/7",
        "time": "2026-11-15T12:00:00Z", "entry": body, **predicate,
    }  # fmt: skip
    subjects = entry.subjects() or (("previous entry", PREVIOUS),)
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "predicate": values,
        "predicateType": predicate_type(entry),
        "subject": [{"digest": {"sha256": d}, "name": n} for n, d in subjects],
    }
    form = {"sort_keys": True, "separators": (",", ":"), "ensure_ascii": False}
    payload = json.dumps(statement, **form)  # type: ignore[arg-type] # options
    return SignedEnvelope.sign(payload.encode(), COORDINATOR).to_bytes()


@pytest.mark.no_cover
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_no_value_of_another_form_is_read(kind: str) -> None:
    body = body_of(example(KINDS[kind]))
    assert unseal(written(kind, body), 7).entry == example(KINDS[kind])  # control
    count = 0
    for path, value in every_spoilt(kind):
        data = written(kind, replaced(body, path, value))
        with pytest.raises(AuditError, match=r"^entry 7: "):
            pytest.fail(f"{path} = {value!r}: {unseal(data, 7).entry}")
        count += 1
    assert count >= 7


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_no_python_value_of_another_form_is_taken(kind: str) -> None:
    fields = dict(example(KINDS[kind]))
    for path, value in every_spoilt(kind):
        if len(path) == 1:
            with pytest.raises(ValidationError):
                KINDS[kind](**{**fields, str(path[0]): value})


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_field_that_has_no_default_is_needed(kind: str) -> None:
    body = body_of(example(KINDS[kind]))
    for name, field in KINDS[kind].model_fields.items():
        less = {key: value for key, value in body.items() if key != name}
        if field.is_required():
            with pytest.raises(AuditError, match=f"entry 7: `{name}`: field required"):
                unseal(written(kind, less), 7)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.text(max_size=5), inner, max_size=2)
    ),
    max_leaves=4,
)


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in a body that stands for a schema."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from objects(inner)
    if isinstance(value, list):
        for inner in value:
            yield from objects(inner)


@pytest.mark.no_cover
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_an_unknown_field_is_refused_wherever_it_is(kind: str) -> None:
    @FEW
    @given(st.data(), st.text(min_size=1, max_size=20), PLAIN)
    def refused(data: st.DataObject, name: str, value: Any) -> None:
        body = body_of(example(KINDS[kind]))
        there = data.draw(st.sampled_from(list(objects(body))))
        if name in there:
            return
        there[name] = value
        with pytest.raises(AuditError):
            unseal(written(kind, body), 7)

    refused()


@MORE
@given(st.text(min_size=2).filter(lambda text: any(c.isspace() for c in text)))
def test_no_sentence_is_a_code(text: str) -> None:
    with pytest.raises(ValidationError):
        Incident(
            what=text, aware_at="2026-11-15T12:00:00Z", notified_at=None,
            delay_reason=None,
        )  # fmt: skip


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e400", "-1"])
def test_numbers_that_json_does_not_have_are_refused(word: str) -> None:
    data = written("resumed", {"rounds": 123456})
    payload = SignedEnvelope.parse(data).payload.replace(b"123456", word.encode())
    with pytest.raises(AuditError, match="entry 7: "):
        unseal(SignedEnvelope.sign(payload, COORDINATOR).to_bytes(), 7)


# Where an entry belongs

UNBOUND: dict[str, list[Any]] = {
    "origin": ["", "https://x", "two words", "a" * 201, None, 1],
    "run": ["", "0123", RUN.upper(), RUN + "0", "0123456789abcdeg", None],
    "index": [-1, 2**53, "7", True, 1.5, None],
    "previous": ["ab", "AB" * 32, "xy" * 32, None, 0],
    "key": ["", "Round/7", "/x", "a b", "a" * 129, None, "ä"],
    "time": ["", "now", "2026-11-15T12:00:00", 0, None],
}


@pytest.mark.parametrize("name", UNBOUND)
def test_an_entry_without_its_place_is_not_sealed(name: str) -> None:
    for value in UNBOUND[name]:
        with pytest.raises(AuditError, match=r"^entry "):
            pytest.fail(str(sealed(ResumptionEntry(rounds=1), **{name: value})))


@pytest.mark.parametrize("name", UNBOUND)
def test_an_entry_without_its_place_is_not_read(name: str) -> None:
    field = {"origin": "log"}.get(name, name)
    for value in UNBOUND[name]:
        data = written("resumed", {"rounds": 1}, **{field: value})
        with pytest.raises(AuditError, match=rf"^entry 7: (`{field}`|JSON has an int)"):
            unseal(data, 7)
    with pytest.raises(AuditError, match="entry 7: `note`"):
        unseal(written("resumed", {"rounds": 1}, note="hello"), 7)
    with pytest.raises(AuditError, match="entry 7: `entry`"):
        unseal(written("resumed", [1]), 7)


def test_the_first_entry_follows_nothing() -> None:
    entry = fake_run().drafts[0].entry
    assert unseal(sealed(entry, index=0, previous=""), 0).previous == ""
    # Only what names something of its own can be first.
    with pytest.raises(AuditError, match="subject 0"):
        sealed(ResumptionEntry(rounds=1), index=0, previous="")


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_subjects_are_those_of_the_entry(kind: str) -> None:
    entry = example(KINDS[kind])
    statement = InTotoStatement.parse(SignedEnvelope.parse(sealed(entry)).payload)
    own = entry.subjects()
    assert statement.subject == (own or (("previous entry", PREVIOUS),))
    others = [
        (*statement.subject, ("model.safetensors", "0" * 64)),
        tuple((f"{name}!", digest) for name, digest in statement.subject),
        tuple((name, "f" * 64) for name, _ in statement.subject),
    ]
    for subject in others:
        lie = InTotoStatement(subject, statement.predicate_type, statement.predicate)
        data = SignedEnvelope.sign(lie.to_bytes(), COORDINATOR).to_bytes()
        with pytest.raises(AuditError, match="entry 7: its subjects do not follow"):
            unseal(data, 7)


def test_where_nothing_was_released_nothing_is_named() -> None:
    entry = example(RoundEntry).model_copy(update={"update": None, "state": None})
    assert entry.subjects() == ()
    assert unseal(sealed(entry), 7).entry == entry
    done = example(CompletionEntry).model_copy(update={"model": None})
    assert [name for name, _ in done.subjects()] == ["claim.json"]


@pytest.mark.parametrize(
    "name",
    [
        "https://lexfed.example/audit/resumed/v2",
        "https://lexfed.example/audit/nonsense/v1",
        "https://elsewhere.example/audit/resumed/v1",
    ],
)
def test_another_kind_or_version_is_refused(name: str) -> None:
    statement = InTotoStatement.parse(
        SignedEnvelope.parse(sealed(ResumptionEntry(rounds=1))).payload
    )
    other = InTotoStatement(statement.subject, name, statement.predicate)
    data = SignedEnvelope.sign(other.to_bytes(), COORDINATOR).to_bytes()
    with pytest.raises(AuditError, match="entry 7: unknown kind") as refused:
        unseal(data, 7)
    assert "another version" in refused.value.hint


def test_another_payload_type_is_refused() -> None:
    payload = SignedEnvelope.parse(sealed(ResumptionEntry(rounds=1))).payload
    data = SignedEnvelope.sign(
        payload, COORDINATOR, payload_type="text/plain"
    ).to_bytes()
    with pytest.raises(AuditError, match="entry 7: payload type is `text/plain`"):
        unseal(data, 7)


def test_every_signer_signs() -> None:
    signers = [COORDINATOR, LOG, signer("x")]
    data = seal(ResumptionEntry(rounds=1), PLACE, key=KEY, time=TIME, signers=signers)
    keys = {each.fingerprint: each.public for each in signers}
    unseal(data, 7).envelope.verify(keys, keys.keys())
    with pytest.raises(AuditError, match="expected 1 to 16 signatures"):
        seal(ResumptionEntry(rounds=1), PLACE, key=KEY, time=TIME, signers=[])


@settings(deadline=None, max_examples=400)
@given(st.binary(max_size=300) | st.text(max_size=100).map(str.encode))
def test_bytes_of_any_kind_never_raise_anything_else(data: bytes) -> None:
    with pytest.raises(AuditError, match=r"^entry 7: "):
        unseal(data, 7)


@settings(deadline=None, max_examples=400)
@given(st.integers(0, 10_000), st.integers(0, 255))
def test_a_changed_byte_never_raises_anything_else(at: int, to: int) -> None:
    data = bytearray(sealed(example(RoundEntry)))
    data[at % len(data)] = to
    try:
        record = unseal(bytes(data), 7)
    except AuditError:
        return
    assert record.leaf == leaf_hash(bytes(data))


# Numbers


@MORE
@given(st.floats(min_value=0.0, allow_nan=False, allow_infinity=False))
def test_every_double_is_written_exactly(value: float) -> None:
    value = abs(value)  # -0.0
    text = decimal(value)
    assert float(text) == value
    entry = RefusalEntry(round=1, by="site", scope="site", would_reach=text, limit=None)
    assert body_of(entry)["would_reach"] == text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0])
def test_no_other_number_gets_into_an_entry(value: float) -> None:
    with pytest.raises(ValidationError):
        RefusalEntry(
            round=1, by="site", scope="site", would_reach=decimal(value), limit=None
        )


POSITIVE = st.floats(min_value=5e-324, allow_infinity=False)
RELEASES = st.builds(
    Release,
    name=st.text(max_size=128),
    groups=st.lists(
        st.builds(ReleaseGroup, st.text(max_size=128), POSITIVE, POSITIVE),
        min_size=1,
        max_size=4,
    ).map(tuple),
    sampling_rate=st.floats(0.0, 1.0),
    reads=st.none() | st.sampled_from(Tier),
    samples=st.integers(0, 2**53 - 1),
)


@MORE
@given(RELEASES)
def test_events_and_releases_are_the_same_to_the_last_bit(release: Release) -> None:
    event = ChargedEvent.of(release)
    assert event.release() == release
    again = ChargedEvent.model_validate_json(event.model_dump_json())
    assert again == event
    assert again.release() == release


def test_whole_numbers_are_written_as_doubles() -> None:
    release = Release("r", (ReleaseGroup("g", 1, 2),), 1, None, 3)
    event = ChargedEvent.of(release)
    assert (event.groups[0].clip, event.groups[0].sigma) == ("1.0", "2.0")
    assert event.sampling_rate == "1.0"
    assert event.release() == release


@pytest.mark.parametrize(
    ("field", "text"), [("clip", "0"), ("sigma", "0.0"), ("clip", "1e+999")]
)
def test_an_event_no_accountant_takes(field: str, text: str) -> None:
    body = body_of(example(RoundEntry))["event"]
    body["groups"][0][field] = text
    with pytest.raises(ValueError, match=field):
        ChargedEvent.model_validate_json(json.dumps(body)).release()


def test_entries_do_not_change() -> None:
    entry = ResumptionEntry(rounds=1)
    with pytest.raises(ValidationError, match="frozen"):
        entry.rounds = 2  # type: ignore[misc] # that is the point
