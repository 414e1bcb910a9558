# SPDX-License-Identifier: Apache-2.0
"""The coordinator of a deployment: joins, plans, and drives the rounds of a run.

A round counts only with the receipts of keys in the roster. When the coordinator is
started again it goes on with the run folder; sites that were away come back with the
statement they began with.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from lexfed.errors import AuditError, Refused, RunFolderError
from lexfed.federation.engines.channel import LONGEST_WORD, Channel
from lexfed.federation.flare.kit.enrolment import read_roster
from lexfed.federation.flare.kit.folder import COORDINATOR, Kit
from lexfed.federation.programme.json_form import to_bytes
from lexfed.run.deployed.coordinator.run_place import JoinRecord, RunPlace
from lexfed.run.deployed.signed_messages import (
    WORDS,
    JoinRequest,
    ProgrammeConsent,
    ProgrammeOffer,
    RunEnd,
    RunStart,
    SiteStatement,
    refusal_code,
    seal,
    unseal,
)
from lexfed.run.deployed.terms.agreement import agreed_profile, agreed_programme
from lexfed.run.deployed.terms.bundle import Bundle, require_programme
from lexfed.run.deployed.terms.site_statements import packed_statements, read_statements
from lexfed.run.driver.open_run import OpenRun, finished_result, resume, start
from lexfed.run.driver.training_loop import train_part
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.run.purchases.profile_purchase import BoughtProfile, keep_profile
from lexfed.signing.keys import Signer, load_key


def drive_epoch(kit: Kit, run: str, channel: Channel, sites: Sequence[str]) -> bool:
    """Go on with a run for one set-up epoch; return True if the run is finished.

    `run` is the name from `run_place.place_run`; `sites` are those that can be reached.

    Raises:
        Refused: if too few sites take part, naming each and its reason; nothing was
            released.
    """
    place = RunPlace(kit, run)
    bundle = place.bundle()
    if place.begun and finished_result(bundle.config, place.out) is not None:
        return True
    participants = _Participants(place, bundle, channel, sites)
    session, roster = participants.join(), participants.roster
    statements = read_statements(session.statements, bundle, session.run, roster)
    priced = place.settled(agreed_programme(bundle, place.base, statements))
    priced.ledger()
    participants.plan(priced)
    begun = place.begun
    opened = (resume if begun else start)(priced, place.out, bundle.text, place.base)
    try:
        participants.begin(priced, opened)
    except BaseException as error:
        opened.close()
        if isinstance(error, Refused) and not begun:
            participants.end()  # sites that did begin have set room aside
        raise
    most_rounds = bundle.config.federation.setup_rounds
    finished = train_part(priced, opened, most_rounds, channel=participants) is not None
    if finished:
        participants.end()
    return finished


class _Participants:
    """The participating sites, and the channel to them.

    Guarantees:
        A run begins with all sites of its configuration. Later, a site that is missing
        or refuses sits out, as long as the cohort allows for it.
    """

    def __init__(
        self, place: RunPlace, bundle: Bundle, channel: Channel, sites: Sequence[str]
    ) -> None:
        self._session = place.session(bundle)
        self.roster = read_roster(place.kit).keys
        self._signer = Signer(COORDINATOR, load_key(place.kit.identity_key))
        self._channel = channel
        self._present = [name for name in bundle.sites if name in sites]
        self._silent: set[str] = set()
        self._bundle = bundle
        dropouts = bundle.config.federation.dropouts if place.begun else 0
        self._least = len(bundle.sites) - dropouts

    def exchange(
        self, messages: Mapping[str, bytes], most: int = LONGEST_WORD
    ) -> Mapping[str, bytes]:
        """Bring messages to participating sites; the others do not answer."""
        sent = {name: messages[name] for name in messages if name in self._present}
        answers = self._channel.exchange(sent, most)
        self._silent = (self._silent | sent.keys()) - answers.keys()
        return answers

    def join(self) -> JoinRecord:
        """Ask the sites to take part, and keep their signed statements."""
        session, bundle = self._session, self._bundle
        files = dict(bundle.files)
        question = JoinRequest.of(session.run, bundle.text, files, bundle.profile)
        before = session.statements

        def check(name: str, answer: bytes) -> None:
            unseal("statement", answer, SiteStatement, self.roster[name])
            if before and answer != before[name]:
                raise AuditError("says something else about itself than at the start")

        answers = self._ask(seal("join", question, self._signer), check)
        if not before:
            read_statements(answers, bundle, session.run, self.roster)
            self._session = session.with_statements(answers)
        return self._session

    def plan(self, priced: PricedRun) -> None:
        """Offer the programme; a site that still takes part has consented to it."""
        session, bundle = self._session, self._bundle
        programme = to_bytes(priced.programme)
        require_programme(len(programme))
        offer = ProgrammeOffer(
            run=session.run,
            programme=programme.decode(),
            statements=packed_statements(session.statements, bundle.sites),
        )

        def check(name: str, answer: bytes) -> None:
            consent = unseal("consent", answer, ProgrammeConsent, self.roster[name])
            if consent != ProgrammeConsent(
                run=session.run,
                name=name,
                terms=bundle.digest,
                programme=priced.programme.digest,
            ):
                raise AuditError("consents to something else")

        self._ask(seal("offer", offer, self._signer), check)

    def begin(self, priced: PricedRun, opened: OpenRun) -> None:
        """Name the log that receipts are bound to."""
        begin = RunStart(
            run=self._session.run,
            programme=priced.programme.digest,
            log=opened.logbook.log.origin,
            coordinator=opened.logbook.keys.log.coordinator.public.hex(),
        )

        def check(name: str, answer: bytes) -> None:
            if unseal("begun", answer, RunStart, self.roster[name]) != begin:
                raise AuditError("begins something else")

        self._ask(seal("begin", begin, self._signer), check)

    def end(self) -> None:
        """Announce that the run is over; a site that misses it goes by the calendar."""
        message = seal("end", RunEnd(run=self._session.run), self._signer)
        # Sites that did not answer the last time are not waited for.
        answering = (name for name in self._present if name not in self._silent)
        self.exchange(dict.fromkeys(answering, message))

    def _ask(
        self, content: bytes, check: Callable[[str, bytes], None]
    ) -> dict[str, bytes]:
        """Ask all participating sites; keep those whose answer is sound."""
        # A statement names the columns of the configuration, and little else.
        most = LONGEST_WORD + 4 * len(content)
        answers = self.exchange(dict.fromkeys(self._present, content), most)
        good: dict[str, bytes] = {}
        reasons: dict[str, str] = {}
        for name in self._bundle.sites:
            if name not in answers:
                reasons[name] = "did not answer"
            elif (why := refusal_code(answers[name])) is not None:
                reasons[name] = f"refuses: {WORDS[why]}"
            elif name not in self.roster:
                reasons[name] = "is not in the roster"
            else:
                try:
                    check(name, answers[name])
                    good[name] = answers[name]
                except AuditError as error:
                    reasons[name] = error.message
        self._present = list(good)
        if len(good) < self._least:
            raise Refused(
                "; ".join(f"site `{name}` {why}" for name, why in reasons.items()),
                "nothing was released; see to these sites, then start the run again",
                scope="site",
            )
        return good


def end_profile(kit: Kit, run: str) -> BoughtProfile:
    """Write and log the answers of a finished profile, and return them.

    They follow from the released state and the signed statements of the sites, so it
    costs nothing and can be done again.
    """
    place = RunPlace(kit, run)
    bundle = place.bundle()
    result = finished_result(bundle.config, place.out) if place.begun else None
    if bundle.profile is None or result is None:
        raise RunFolderError(
            f"`{place.out}` holds no finished profile",
            "continue it with `lexfed deploy run --profile --resume`",
        )
    session = place.session(bundle)
    roster = read_roster(kit).keys
    statements = read_statements(session.statements, bundle, session.run, roster)
    agreed = agreed_profile(bundle, bundle.profile, place.base, statements)
    agreed = replace(agreed, priced=place.settled(agreed.priced))
    return BoughtProfile(result, keep_profile(agreed, place.out))
