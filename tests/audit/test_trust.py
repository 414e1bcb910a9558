# SPDX-License-Identifier: Apache-2.0
"""Trust files, quorums, and what they say to a checkpoint."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.audit.tree.checkpoint import cosign
from lexfed.audit.tree.trust_policy import TrustPolicy, WitnessGroup, parse_policy
from lexfed.errors import AuditError
from lexfed.signing.notes import NoteSignature, parse_note
from support.log.plain import ORIGIN, entries_of, signed, signer, tree_of

LOG = signer()
WITNESSES = {
    name: signer(f"{name}.example", 10 + at) for at, name in enumerate("abcdef")
}
TIME = 1_790_000_000
LOG_LINE = f"log {LOG.verifier.vkey}\n"
LINES = {
    name: f"witness {name} {one.cosigner.vkey}\n" for name, one in WITNESSES.items()
}
TWO_LEVELS = (
    LOG_LINE
    + "".join(LINES.values())
    + "group x 2 a b c\ngroup y any d e f\ngroup both all x y\nquorum both\n"
)


def policy(text: str) -> TrustPolicy:
    return parse_policy(text.encode())


def checkpoint(*names: str) -> bytes:
    note = parse_note(signed(tree_of(entries_of(5))))
    lines = [cosign(note.body, WITNESSES[name], TIME) for name in names]
    return note.with_signatures(lines).to_bytes()


def test_a_policy_is_read_as_written() -> None:
    read = policy(TWO_LEVELS)
    assert read.logs == (LOG.verifier,)
    assert read.witnesses == {n: one.cosigner for n, one in WITNESSES.items()}
    assert read.groups == {
        "x": WitnessGroup(2, ("a", "b", "c")),
        "y": WitnessGroup(1, ("d", "e", "f")),
        "both": WitnessGroup(2, ("x", "y")),
    }
    assert read.quorum == "both"
    assert read.urls == {}


def test_spaces_tabs_comments_and_addresses_are_allowed() -> None:
    text = (
        "# trust of the auditor, in Z\u00fcrich\n \t\n"
        f"\tlog\t{LOG.verifier.vkey}  https://log.example/ \n"
        f"  # a comment\n witness a {WITNESSES['a'].cosigner.vkey}\thttps://w.example/\n"
        "quorum a \t\n"
    )
    read = policy(text)
    assert read.logs == (LOG.verifier,)
    assert read.urls == {"a": "https://w.example/"}
    assert read.quorum == "a"


def test_every_subset_of_witnesses_is_judged_by_the_definition() -> None:
    read = policy(TWO_LEVELS)
    for size in range(7):
        for names in itertools.combinations("abcdef", size):
            x = len({"a", "b", "c"} & set(names)) >= 2
            y = bool({"d", "e", "f"} & set(names))
            assert read.met_by(names) == (x and y)


def test_names_that_are_no_witness_do_not_count() -> None:
    read = policy(TWO_LEVELS)
    assert not read.met_by(["both"])
    assert not read.met_by(["x", "y"])
    assert not read.met_by(["stranger"])


def test_without_a_quorum_everything_meets_it() -> None:
    assert policy("quorum none\n").met_by([])


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 6), st.sets(st.sampled_from("abcdef")))
def test_a_threshold_is_a_threshold(needed: int, names: set[str]) -> None:
    text = "".join(LINES.values()) + f"group g {needed} a b c d e f\nquorum g\n"
    assert policy(text).met_by(names) == (len(names) >= needed)


def cases() -> dict[str, tuple[str, str]]:
    a, b = LINES["a"], LINES["b"]
    vkey = WITNESSES["a"].cosigner.vkey
    return {
        "empty": ("", "no quorum"),
        "no-quorum": (LOG_LINE + a, "no quorum"),
        "two-quorums": (a + "quorum a\nquorum a\n", ":3: a second quorum"),
        "quorum-of-two": (a + b + "quorum a b\n", ":3: expected `quorum"),
        "quorum-undefined": ("quorum a\n" + a, ":1: `a` is not defined"),
        "unknown-word": ("trust everyone\n", ":1: expected `log, witness"),
        "upper-case": ("QUORUM none\n", ":1: expected"),
        "log-without-key": ("log\n", ":1: expected `log <vkey>"),
        "log-with-too-much": (LOG_LINE[:-1] + " u v\n", ":1: expected `log <vkey>"),
        "log-with-bad-key": ("log x+y+z\n", ":1: verifier key"),
        "log-with-witness-key": (f"log {vkey}\n", "algorithm 01"),
        "witness-without-name": (f"witness {vkey}\n", ":1: expected `witness"),
        "witness-with-too-much": (a[:-1] + " u v\n", ":1: expected `witness"),
        "witness-with-log-key": (f"witness w {LOG.verifier.vkey}\n", "04 or 06"),
        "witness-twice": (a + a, ":2: the public key of `a.example` is listed twice"),
        "name-twice": (a + b.replace(" b ", " a "), ":2: the name `a` is taken"),
        "named-none": (a.replace(" a ", " none "), ":1: the name `none` is taken"),
        "group-named-none": (a + "group none any a\n", ":2: the name `none`"),
        "group-named-as-witness": (a + "group a any a\n", ":2: the name `a`"),
        "group-of-none": ("group g any none\n", ":1: `none` is not defined"),
        "group-without-members": ("group g any\n", ":1: expected `group"),
        "group-of-undefined": ("group g any a\n", ":1: `a` is not defined"),
        "group-of-itself": (a + "group g any g\n", ":2: `g` is not defined"),
        "member-twice": (a + "group g all a a\n", ":2: `a` is a member already"),
        "member-of-two": (
            a + "group g any a\ngroup h any a\n",
            ":3: `a` is a member already",
        ),
        "threshold-0": (a + "group g 0 a\n", "a number from 1 to 1, got: 0"),
        "threshold-2": (a + "group g 2 a\n", "a number from 1 to 1, got: 2"),
        "threshold-01": (a + "group g 01 a\n", "got: 01"),
        "threshold-signed": (a + "group g +1 a\n", r"got: \+1"),
        "threshold-huge": (a + f"group g {'9' * 5000} a\n", "got: 9999"),
        "threshold-word": (a + "group g most a\n", "got: most"),
        "same-key-log-twice": (LOG_LINE + LOG_LINE, ":2: the public key"),
        "same-key-log-and-witness": (
            LOG_LINE + f"witness w {signer('w.example', 1).cosigner.vkey}\n",
            ":2: the public key of `w.example` is listed twice",
        ),
        "cut-off": (a + "quorum a", "the last line has no newline"),
        "crlf": ("quorum none\r\n", ":1: has a control character"),
        "form-feed": ("quorum\fnone\n", ":1: has a control character"),
        "delete": ("# \x7f\nquorum none\n", ":1: has a control character"),
        "no-break-space": ("quorum\u00a0none\n", ":1: expected"),
        "too-large": ("#" * 1_048_577 + "\n", "more than 1048576 bytes"),
        "many-logs": (
            "".join(
                f"log {signer('l.example', at).verifier.vkey}\n" for at in range(101)
            ),
            ":101: more than 100 logs",
        ),
        "many-witnesses": (
            "".join(
                f"witness w{at} {signer('w.example', at).cosigner.vkey}\n"
                for at in range(101)
            ),
            ":101: more than 100 witnesses",
        ),
        "many-groups": (
            a
            + "group g0 any a\n"
            + "".join(f"group g{at + 1} any g{at}\n" for at in range(100)),
            ":102: more than 100 groups",
        ),
    }


@pytest.mark.parametrize("name", cases())
def test_a_wrong_line_is_named(name: str) -> None:
    text, match = cases()[name]
    with pytest.raises(AuditError, match=match):
        policy(text)


def test_a_policy_is_utf8() -> None:
    with pytest.raises(AuditError, match=r"trust\.txt: not UTF-8 at byte 2"):
        parse_policy(b"# \xff\nquorum none\n", "trust.txt")


def test_a_hundred_of_each_fit() -> None:
    logs = "".join(
        f"log {signer('l.example', at).verifier.vkey}\n" for at in range(100)
    )
    read = policy(logs + "quorum none\n")
    assert len(read.logs) == 100


def test_a_quorum_of_witnesses_is_trusted() -> None:
    found = policy(TWO_LEVELS).check(checkpoint("a", "c", "f"))
    assert found.signed.checkpoint.origin == ORIGIN
    assert found.witnesses == {"a": TIME, "c": TIME, "f": TIME}
    assert found.quorum_met
    assert found.witnessed
    assert found.reason == "quorum `both` met: cosigned by `a`, `c`, `f`"


def test_too_few_witnesses_are_named() -> None:
    found = policy(TWO_LEVELS).check(checkpoint("a", "b"))
    assert not found.quorum_met
    assert not found.witnessed
    assert found.reason == (
        "quorum `both` not met: cosigned by `a`, `b`; a split view cannot be excluded"
    )


def test_without_witnesses_a_split_view_cannot_be_excluded() -> None:
    found = policy(LOG_LINE + "quorum none\n").check(checkpoint())
    assert found.quorum_met
    assert not found.witnessed
    assert found.reason == (
        "the policy asks for no witness (cosigned by no witness): "
        "a split view cannot be excluded"
    )


def test_cosignatures_of_others_are_ignored() -> None:
    stranger = signer("stranger.example", 99)
    note = parse_note(checkpoint("a"))
    note = note.with_signatures([cosign(note.body, stranger, TIME)])
    found = policy(LOG_LINE + LINES["a"] + "quorum a\n").check(note.to_bytes())
    assert found.witnesses == {"a": TIME}


def test_a_wrong_cosignature_of_a_listed_witness_refuses_the_checkpoint() -> None:
    note = parse_note(checkpoint("a"))
    key = WITNESSES["b"].cosigner
    forged = NoteSignature(key.name, key.key_id, TIME.to_bytes(8, "big") + bytes(64))
    data = note.with_signatures([forged]).to_bytes()
    assert policy(LOG_LINE + LINES["a"] + "quorum a\n").check(data).witnessed
    with pytest.raises(AuditError, match=r"cosignature of `b\.example`"):
        policy(TWO_LEVELS).check(data)


def test_nothing_is_trusted_unless_a_listed_log_signed() -> None:
    other = signer("other.example", 50).verifier
    with pytest.raises(AuditError, match="not signed by"):
        policy(f"log {other.vkey}\nquorum none\n").check(checkpoint())
    with pytest.raises(AuditError, match="not signed by any known key"):
        policy("quorum none\n").check(checkpoint())


def test_the_log_may_be_known_from_elsewhere_if_the_policy_lists_none() -> None:
    assert policy("quorum none\n").check(checkpoint(), LOG.verifier).quorum_met
    other = signer("other.example", 50).verifier
    with pytest.raises(AuditError, match="not signed by"):
        policy(f"log {other.vkey}\nquorum none\n").check(checkpoint(), LOG.verifier)
