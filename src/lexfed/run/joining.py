# SPDX-License-Identifier: Apache-2.0
"""The number of people two organisations share: each pays before it answers.

`make_offer` makes a noised sketch. The exact way has four steps, which are files, so
that they travel as people like: `make_question`, `make_answer`, `open_answer` and, if
the other side is to know the count too, `tell_count`. The side that asks pays nothing
until it tells the count; the side that answers pays before its noise is drawn. A crash
between payment and answer leaves something paid for that never left: the safe side.

The exact way is private set intersection of which only the size is seen, by the
optional library `openmined-psi`. It sends points of a curve, sorted, so that no order
says whose they are. Every message is checked before anything is computed: as many
points as agreed, none twice, and a question for a number only.
"""

import secrets
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from lexfed.data.file_format import PACKED_SUFFIXES, PLAIN, TEXT_SUFFIXES
from lexfed.data.problems import Problems
from lexfed.data.reading.conversion import plain_texts
from lexfed.data.reading.format_guess import common_text_format
from lexfed.data.reading.packed_files import DamagedArchive
from lexfed.data.reading.table_sources import files_of, read_source, table_source
from lexfed.errors import ConfigError, Problem
from lexfed.ledger.purse import ChargeTerms, LedgerPlace
from lexfed.privacy.releases import Release
from lexfed.randomness import RandomSource
from lexfed.run.driver.site_accounts import ALL_PARTS
from lexfed.sketch.joining import exact_count
from lexfed.sketch.joining.exact_count import Agreement, ExactMessage, disagreement
from lexfed.sketch.joining.keys import PersonKeys, people_of
from lexfed.sketch.joining.offered_sketch import (
    OfferedSketch,
    exact_tables,
    offer,
    require_within,
)
from lexfed.sketch.joining.terms import JoiningTerms


def ledger_of(folder: Path | None, site: str | None, file: Path) -> LedgerPlace | None:
    """Return the ledger, if any, that pays for answers about a file of a site."""
    if folder is None:
        return None
    return LedgerPlace(folder, site or ALL_PARTS, file.name)


def read_people(file: Path, column: str) -> PersonKeys:
    """Return the different people of a column of keys in a file.

    A `DataError` names no key.
    """
    problems, written = Problems(), PLAIN
    texts = [
        each
        for each in files_of(file)
        if str(each).lower().endswith((*TEXT_SUFFIXES, *PACKED_SUFFIXES))
    ]
    if texts:
        with suppress(ConfigError, OSError, DamagedArchive):  # reading it says why
            written = common_text_format(texts)
    frames = read_source(table_source(file), [column], problems, written)
    problems.raise_if_any()
    keys = [key for each in frames for key in plain_texts(column, each, problems)]
    problems.raise_if_any()
    return people_of(key or "" for key in keys)


def charge_joining(ledger: LedgerPlace | None, event: Release) -> None:
    """Charge an event, once and for ever; on return it is on disk."""
    if ledger is None:
        return
    name = f"joining {secrets.token_hex(8)}"
    with closing(ledger.purse(ChargeTerms(name, "record", "add-remove"))) as purse:
        purse.pay(1, event)


def make_offer(
    terms: JoiningTerms,
    people: PersonKeys,
    ledger: LedgerPlace | None,
    source: RandomSource,
) -> OfferedSketch:
    """Pay for a sketch, then make it.

    Guarantees:
        Nothing is paid for people that do not fit the terms.
        Nothing is drawn before it is paid.
    """
    tables = exact_tables(terms, people)
    charge_joining(ledger, terms.noise.event(terms.width))
    return offer(terms, tables, source)


def make_question(
    agreement: Agreement, people: PersonKeys, data_set: str, source: RandomSource
) -> tuple[ExactMessage, ExactMessage]:
    """Return the question of the exact way, and the secret that stays.

    Nothing is paid: what leaves looks random without the secret.
    """
    keys = exact_count.asking_keys(agreement, people, source)
    secret, request = psi_question(keys)
    size, epsilon = agreement.size, agreement.epsilon
    question = ExactMessage("question", size, epsilon, "", (request,))
    kept = ExactMessage(
        *("secret", size, epsilon, question.hash, (secret,)),
        people=len(people),
        data_set=data_set,
    )
    return question, kept


def make_answer(
    agreement: Agreement,
    question: ExactMessage,
    people: PersonKeys,
    ledger: LedgerPlace | None,
    source: RandomSource,
) -> ExactMessage:
    """Check a question, pay for the answer, then answer with noise.

    Guarantees:
        Nothing is paid for a question that is not as agreed, or for people that are
        not.
        Nothing is drawn or computed before it is paid.
    """
    question.check_agreed(agreement)
    require_within(people, agreement.size)
    (request,) = question.parts
    check_question(request, agreement)
    charge_joining(ledger, agreement.event())
    keys = exact_count.answering_keys(agreement, people, source)
    parts = tuple(psi_answer(request, agreement, keys))
    size, epsilon = agreement.size, agreement.epsilon
    return ExactMessage("answer", size, epsilon, question.hash, parts)


@dataclass(frozen=True)
class CommonCount:
    """A count of people in both, with noise and its 95 % interval."""

    value: int
    low: int
    high: int


def open_answer(secret: ExactMessage, answer: ExactMessage) -> CommonCount:
    """Return the count that an answer to this question gives to the side that asked."""
    if answer.question != secret.question:
        raise disagreement("answer", "it answers another question")
    answer.check_agreed(secret.agreement)
    (own,) = secret.parts
    found = psi_count(own, list(answer.parts), secret.agreement)
    return _with_interval(secret.agreement, found, noises=1)


def tell_count(
    secret: ExactMessage,
    found: CommonCount,
    ledger: LedgerPlace | None,
    source: RandomSource,
) -> CommonCount:
    """Pay for telling the count to the answering side, then add noise of one's own."""
    agreement = secret.agreement
    charge_joining(ledger, agreement.event())
    value = found.value + exact_count.drawn_noise(agreement, source)
    return _with_interval(agreement, value, noises=2)


def _with_interval(agreement: Agreement, value: int, noises: int) -> CommonCount:
    reach = agreement.reach(noises)
    low, high = (
        max(0, min(agreement.size, end)) for end in (value - reach, value + reach)
    )
    return CommonCount(value, low, high)


_NO_POINT = "it holds what is no point of the curve"
_POINT_BYTES = 33  # of a point of the curve, as the library writes it
_FALSE_POSITIVES = 1e-9  # asked for by the library; raw points have none


@cache
def library() -> ModuleType:
    """Return `openmined-psi`; without it a `ConfigError` says what to install."""
    try:
        return import_module("private_set_intersection.python")
    except ImportError as error:
        what = "the exact way needs the library `openmined-psi`"
        hint = "install the extra `psi`, or use `lexfed overlap sketch`"
        raise ConfigError([Problem("overlap", what, hint)]) from error


def psi_question(keys: list[str]) -> tuple[bytes, bytes]:
    """Return the secret of a question and the question."""
    psi = library()
    client = psi.client.CreateWithNewKey(False)
    request = client.CreateRequest(keys)
    _sort(request.encrypted_elements)
    return client.GetPrivateKeyBytes(), request.SerializeToString()


def psi_answer(question: bytes, agreement: Agreement, keys: list[str]) -> list[bytes]:
    """Return the answer to a checked question, under a secret that is used once."""
    psi = library()
    server = psi.server.CreateWithNewKey(False)
    raw = psi.DataStructure.RAW
    request = psi.Request.FromString(question)
    setup = server.CreateSetupMessage(_FALSE_POSITIVES, agreement.elements, keys, raw)
    try:
        response = server.ProcessRequest(request)
    except RuntimeError as error:
        raise disagreement("question", _NO_POINT) from error
    # Order must not say whose a number is; the library sorts, and we rely on nobody.
    _sort(setup.raw.encrypted_elements)
    _sort(response.encrypted_elements)
    return [setup.SerializeToString(), response.SerializeToString()]


def check_question(question: bytes, agreement: Agreement) -> None:
    """Refuse a question that is not as agreed, before anything is paid for it."""
    request = _parsed("Request", question, "question")
    if request.reveal_intersection:
        raise disagreement("question", "it asks for people, not for their number")
    _check_points(request.encrypted_elements, agreement, "question")


def psi_count(secret: bytes, parts: list[bytes], agreement: Agreement) -> int:
    """Return the people in both, with the answering side's noise."""
    setup = _parsed("ServerSetup", parts[0], "answer")
    response = _parsed("Response", parts[1], "answer")
    _check_points(setup.raw.encrypted_elements, agreement, "answer")
    _check_points(response.encrypted_elements, agreement, "answer")
    try:
        client = library().client.CreateFromKey(secret, False)
        found: int = client.GetIntersectionSize(setup, response)
    except RuntimeError as error:
        raise disagreement("answer", _NO_POINT) from error
    return found - agreement.margin


def _sort(points: Any) -> None:
    ordered = sorted(points)
    del points[:]
    points.extend(ordered)


def _parsed(kind: str, data: bytes, where: str) -> Any:
    try:
        return getattr(library(), kind).FromString(data)
    # The library's own error class comes with the library.
    except Exception as error:
        raise disagreement(where, "it is no message of the protocol") from error


def _check_points(points: Any, agreement: Agreement, where: str) -> None:
    if len(points) != agreement.elements:
        what = f"expected {agreement.elements} keys, got {len(points)}"
        raise disagreement(where, what)
    # One key several times would count one person several times.
    if len(set(points)) != len(points):
        raise disagreement(where, "a key is in it twice")
    if any(len(point) != _POINT_BYTES for point in points):
        raise disagreement(where, _NO_POINT)
