# SPDX-License-Identifier: Apache-2.0
"""Records of masked sums before both verifiers: who agreed, and to what.

A record that is changed has wrong signatures. One that is signed again has right ones,
and only what it says is wrong.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lexfed.audit.entries import Participation, RoundEntry
from lexfed.audit.entries.masking_record import MaskingTerms
from lexfed.canonical import canonical_bytes
from support.audit.masked_rounds import name_of, signed_again
from support.audit.masked_runs import (
    ORDERED,
    how,
    masked_run,
    record,
    refused,
    sign_receipts,
    use,
)
from support.audit.two_verifiers import compared, failed
from support.audit.worlds import sha256, signer

OTHER = sha256(b"other")
STRANGER = signer("stranger")
NAMES = [name_of(site) for site in ORDERED]


def changed(content: bytes, change: Callable[[dict[str, Any]], Any]) -> bytes:
    """Return a record with something changed, under the signatures of before."""
    plain = json.loads(content)
    change(plain)
    return canonical_bytes(plain)


def test_a_set_up_without_a_blamed_site_passes_with_its_own_threshold(
    tmp_path: Path,
) -> None:
    run, left = masked_run(), ORDERED[:4]
    fewer = signed_again(
        record(run, 2), left[:3], names=NAMES[:4],
        cohort=[0, 1, 2, 3], survivors=[0, 1, 2, 3], epoch=3, key_list=OTHER,
    )  # fmt: skip
    use(run, 3, fewer)
    assert (how(run, 3).cohort, how(run, 3).threshold) == (4, 3)
    sign_receipts(run, 3, left)
    refused(run, tmp_path / "asked", "sites were asked something else")
    use(run, 3, signed_again(fewer, left[:3], model=sha256(b"query 4")))
    rows = compared(run.write(tmp_path / "again"))
    assert failed(rows) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("epoch", 2), ("server", OTHER), ("round", 2), ("model", OTHER),
        ("key_list", OTHER), ("names", NAMES[:4]), ("survivors", [0, 1, 2, 3]),
    ],
)  # fmt: skip
def test_signatures_are_for_one_record_only(
    field: str, value: Any, tmp_path: Path
) -> None:
    run = masked_run()
    four: dict[str, Any] = {"cohort": [0, 1, 2, 3], "survivors": [0, 1, 2, 3]}
    base = four if field == "names" else {}
    content = signed_again(record(run), ORDERED[:4], **base)
    use(run, 0, changed(content, lambda r: r.update({field: value})))
    refused(run, tmp_path, "did not sign this list")


@pytest.mark.parametrize("field", sorted(set(MaskingTerms.model_fields) - {"bits"}))
def test_signatures_are_for_their_terms_only(field: str, tmp_path: Path) -> None:
    run = masked_run()
    content = changed(
        record(run), lambda r: r["terms"].update({field: r["terms"][field] + 1})
    )
    use(run, 0, content)
    refused(run, tmp_path, "")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"session": OTHER}, "`session`"),
        ({"policy": OTHER}, "`policy`"),
        ({"terms": {"colluders": 0}}, "`colluders`"),
        ({"terms": {"colluders": 2}}, "`colluders`"),
        ({"terms": {"least_sites": 3}}, "`least_sites`"),
        ({"terms": {"rounds": 0}}, "`round`"),
        ({"names": [*NAMES, "zz"]}, "`names`"),
        ({"names": [*NAMES[:4], "zz"]}, "`names`"),
        ({"round": 0}, "`round`"),
        ({"round": 3}, "`round`"),
        ({"roster": OTHER}, "`roster`"),
        ({"model": OTHER}, "sites were asked something else"),
    ],
)
def test_what_sites_signed_must_be_what_this_run_allows(
    changes: dict[str, Any], words: str, tmp_path: Path
) -> None:
    run = masked_run()
    use(run, 0, signed_again(record(run), ORDERED[:4], **changes))
    refused(run, tmp_path, words)


def test_a_sum_of_too_few_sites_is_refused(tmp_path: Path) -> None:
    run = masked_run()
    few = signed_again(record(run), ORDERED[:4], survivors=[0, 1, 2, 3])
    use(run, 0, few)
    assert failed(compared(run.write(tmp_path / "enough"))) == []
    terms = {"least_sites": 5}
    use(run, 0, signed_again(few, ORDERED[:4], survivors=[0, 1, 2, 3], terms=terms))
    refused(run, tmp_path / "few", "`survivors`")


def test_a_sum_below_the_threshold_is_refused(tmp_path: Path) -> None:
    run = masked_run()
    use(run, 0, signed_again(record(run), ORDERED[:3], survivors=[0, 1, 2]))
    refused(run, tmp_path, "3 survivors, below the threshold 4")


def test_signatures_of_too_few_are_refused(tmp_path: Path) -> None:
    run = masked_run()
    use(run, 0, signed_again(record(run), ORDERED[1:]))
    assert failed(compared(run.write(tmp_path / "enough"))) == []
    use(run, 0, signed_again(record(run), ORDERED[2:]))
    refused(run, tmp_path / "few", "3 sites signed the list, 4 had to")


def test_the_signature_of_a_stranger_is_refused(tmp_path: Path) -> None:
    run = masked_run()
    under = {name_of(STRANGER): NAMES[0]}
    content = signed_again(record(run), [STRANGER, *ORDERED[1:4]], under)
    use(run, 0, content)
    refused(run, tmp_path, "did not sign this list")


def test_one_site_does_not_sign_for_two(tmp_path: Path) -> None:
    run = masked_run()
    first = signed_again(record(run), ORDERED[:3])
    twice = signed_again(record(run), ORDERED[:1], {NAMES[0]: NAMES[3]})
    both = changed(first, lambda r: r["consents"].update(json.loads(twice)["consents"]))
    use(run, 0, both)
    refused(run, tmp_path, "did not sign this list")


def test_rounds_of_an_epoch_go_up_and_epochs_too(tmp_path: Path) -> None:
    run = masked_run()
    asked = sha256(b"query 2")
    use(run, 1, signed_again(record(run, 0), ORDERED, model=asked))
    sign_receipts(run, 1, ORDERED)
    refused(run, tmp_path / "twice", "`round`")
    use(run, 1, signed_again(record(run, 0), ORDERED, model=asked, epoch=0, round=2))
    refused(run, tmp_path / "back", "`round`")


@pytest.mark.parametrize("changes", [{"key_list": OTHER}, {"cohort": [0, 1, 2, 3, 4]}])
def test_an_epoch_has_one_set_up(changes: dict[str, Any], tmp_path: Path) -> None:
    run = masked_run()
    least: dict[str, Any] = {"survivors": [0, 1, 2, 3], "cohort": [0, 1, 2, 3]}
    asked: dict[str, Any] = {"model": sha256(b"query 2"), "round": 2}
    for number, more in enumerate((dict[str, Any](), asked)):
        use(run, number, signed_again(record(run), ORDERED[:4], **least, **more))
        sign_receipts(run, number, ORDERED)
    assert failed(compared(run.write(tmp_path / "same"))) == []
    content = signed_again(record(run, 1), ORDERED[:4], **{**least, **asked, **changes})
    use(run, 1, content)
    refused(run, tmp_path / "other", "`key_list`")


def test_every_site_in_a_sum_signed_a_receipt(tmp_path: Path) -> None:
    run = masked_run()
    sign_receipts(run, 0, ORDERED[1:])
    refused(run, tmp_path / "one", "a site in the sum signed no receipt")
    run = masked_run()
    four = signed_again(record(run), ORDERED[:4], survivors=[0, 1, 2, 3])
    use(run, 0, four)
    sign_receipts(run, 0, ORDERED[1:])
    refused(run, tmp_path / "another", "a site in the sum signed no receipt")


@pytest.mark.parametrize(
    "stated",
    [
        Participation(sites=5, receipts="none", digest=None),
        Participation(sites=5, receipts="sealed", digest=OTHER),
        Participation(sites=5, receipts="open", digest=None),
    ],
)
def test_masked_sums_need_open_receipts(stated: Participation, tmp_path: Path) -> None:
    run = masked_run()
    run.edit(RoundEntry, 0, participation=stated)
    refused(run, tmp_path, "has no open receipts")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: r.pop("model"), "`model`: field required"),
        (lambda r: r.update(more=1), "`more`"),
        (lambda r: r.update(format="lexfed-secagg-round-v2"), "`format`"),
        (lambda r: r["names"].reverse(), "not in order"),
        (lambda r: r["survivors"].insert(0, 0), "not in order"),
        (lambda r: r["cohort"].append(5), "not in its sum or cohort"),
        (lambda r: r["consents"].update(zz="A" * 86 + "=="), "not in its sum"),
        (lambda r: r["consents"].update({NAMES[0]: "A" * 86}), "`consents."),
        (lambda r: r["consents"].update({NAMES[0]: 7}), "`consents."),
        (lambda r: r["terms"].update(bits=31), "`terms.bits`"),
        (lambda r: r["terms"].update(length=2**32), "`terms.length`"),
        (lambda r: r["terms"].pop("length"), "`terms.length`"),
    ],
)  # fmt: skip
def test_records_of_another_form_are_refused(
    change: Callable[[dict[str, Any]], Any], words: str, tmp_path: Path
) -> None:
    run = masked_run()
    digest = run.put(changed(record(run), change))
    stated = how(run, 0).model_copy(update={"evidence": digest})
    run.edit(RoundEntry, 0, aggregation=stated)
    refused(run, tmp_path, words)


def test_a_signature_has_one_spelling(tmp_path: Path) -> None:
    run = masked_run()
    old = json.loads(record(run))["consents"][NAMES[0]]
    last = {"A": "B", "Q": "R", "g": "h", "w": "x"}[old[-3]]
    odd = {NAMES[0]: f"{old[:-3]}{last}=="}
    use(run, 0, changed(record(run), lambda r: r["consents"].update(odd)))
    refused(run, tmp_path, "more than one spelling")
