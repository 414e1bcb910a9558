# SPDX-License-Identifier: Apache-2.0
"""The steps of a site before the first round: state, compare, consent, open ledgers."""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from lexfed.audit.entries.fields import ClosedModel
from lexfed.config.declarations import tagged_schema_of
from lexfed.config.tables.root import Config
from lexfed.data.people.lots import LotKeys
from lexfed.errors import AuditError
from lexfed.federation.engines.channel import Handler
from lexfed.federation.engines.masked_setting import epoch_settings, seat_identity
from lexfed.federation.engines.masked_site import MaskedSite
from lexfed.federation.flare.hardening.limits import intake
from lexfed.federation.flare.kit.enrolment import read_roster
from lexfed.federation.flare.kit.folder import COORDINATOR, Kit
from lexfed.federation.programme.json_form import first_difference, from_bytes
from lexfed.federation.site.data_holder import Site
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.purse import Purse, SiteLogWriter, SitePurse
from lexfed.privacy.run_ledger import FileLedger
from lexfed.run.deployed.signed_messages import (
    EnrolmentKind,
    JoinRequest,
    ProgrammeConsent,
    ProgrammeOffer,
    RefusalCode,
    RunEnd,
    RunStart,
    seal,
    unseal,
)
from lexfed.run.deployed.site import consent
from lexfed.run.deployed.site.own_data import OwnData, read_own_data, site_data
from lexfed.run.deployed.site.own_profiles import OwnProfiles
from lexfed.run.deployed.site.run_state import RunState
from lexfed.run.deployed.terms.agreement import agreed_programme
from lexfed.run.deployed.terms.bundle import Bundle
from lexfed.run.deployed.terms.site_statements import (
    OwnRules,
    read_statements,
    site_statement,
    unpacked_statements,
)
from lexfed.run.driver.site_accounts import charge_terms
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.signing.keys import Signer, load_key


class StepRefusal(Exception):
    """Ends the handling of a message with a code word and a reason for the log."""

    def __init__(self, why: RefusalCode, reason: str) -> None:
        super().__init__(reason)
        self.why = why


@dataclass(frozen=True)
class _SiteJoin:
    """The site's statement about itself, and the run it is for."""

    run: str
    bundle: Bundle
    state: RunState
    sealed: bytes
    units: tuple[int, int]


def _coins(kept: RunState, config: Config) -> LotKeys:
    """Return the site's coins; seeded for a run that is stamped as not private."""
    return LotKeys.seeded(config.run.seed) if config.run.test else kept.coins()


_Message = TypeVar("_Message", bound=ClosedModel)


class SiteEnrolment:
    """Join, plan, begin; each needs the one before, and one that fails changes nothing.

    `rounds` handles the messages of rounds once all steps are done, `note` hears why a
    round is not paid.
    """

    def __init__(self, kit: Kit, data: Path, note: SiteLogWriter) -> None:
        self._kit = kit
        self._data = data
        self._note = note
        self._roster = read_roster(kit).keys
        self._signer = Signer(kit.name, load_key(kit.identity_key))
        self._joined: _SiteJoin | None = None
        self._agreed: tuple[PricedRun, OwnData] | None = None
        self._purse: SitePurse | None = None
        self._open = ExitStack()
        self.rounds: Handler | None = None

    def close(self) -> None:
        """Forget the run that was open; everything charged is on disk."""
        self._open.close()
        self._joined = self._agreed = self._purse = self.rounds = None

    def join(self, content: bytes) -> bytes:
        """State what this site is, for a configuration its people agreed to."""
        asked = self._signed("join", content, JoinRequest)
        self.close()
        bundle = Bundle(asked.text, asked.contents(), asked.price)
        config, name = bundle.config, self._kit.name
        if not consent.has_consent(self._kit, bundle.digest, asked.run):
            raise StepRefusal("consent", f"nobody consented to {bundle.digest}")
        if name not in bundle.sites:
            raise StepRefusal("configuration", "this site is not in the configuration")
        kept = RunState(self._kit, asked.run)
        bundle.write(kept.terms)
        tagged = tagged_schema_of(config, base=kept.terms)
        coins = _coins(kept, config)
        own = read_own_data(bundle, kept.terms, tagged, self._data, coins)
        rules, public = OwnRules.read(self._kit), self._signer.public
        statement = site_statement(
            bundle, asked.run, name, tagged, rules, own.units, public
        )
        sealed = seal("statement", statement, self._signer)
        self._joined = _SiteJoin(asked.run, bundle, kept, sealed, own.units)
        return sealed

    def plan(self, content: bytes) -> bytes:
        """Consent to the programme that all statements give, if it can be paid."""
        offer = self._signed("offer", content, ProgrammeOffer)
        joined = self._of_run(offer.run)
        bundle, kept = joined.bundle, joined.state
        priced = self._computed(joined, offer)
        sent = from_bytes(offer.programme.encode())
        where = first_difference(priced.programme, sent)
        if where:
            raise StepRefusal("programme", f"another programme than computed: {where}")
        priced = replace(priced, programme=sent)
        priced.site_ledger(self._kit.name)  # raises where the budget does not pay
        if not kept.keep("programme.json", offer.programme.encode()):
            raise StepRefusal("programme", "another programme than agreed to before")
        tagged = priced.population.tagged
        coins = _coins(kept, bundle.config)
        own = read_own_data(bundle, kept.terms, tagged, self._data, coins)
        if own.units != joined.units:
            raise StepRefusal("data", "the file has changed since the site joined")
        if not consent.has_consent(self._kit, bundle.digest, joined.run):
            raise StepRefusal("consent", "another run took the consent meanwhile")
        consent.take_consent(self._kit, bundle.digest, joined.run)
        if bundle.profile is not None and not OwnProfiles.keep(kept, priced):
            raise StepRefusal("programme", "another claim than agreed to before")
        self._agreed = priced, own
        answer = ProgrammeConsent(
            run=joined.run,
            name=self._kit.name,
            terms=bundle.digest,
            programme=sent.digest,
        )
        return seal("consent", answer, self._signer)

    def _computed(self, joined: _SiteJoin, offer: ProgrammeOffer) -> PricedRun:
        bundle = joined.bundle
        try:
            sealed = unpacked_statements(offer.statements, bundle.sites)
            statements = read_statements(sealed, bundle, joined.run, self._roster)
            if sealed[self._kit.name] != joined.sealed:
                raise AuditError("this site's statement is not what it said")
            return agreed_programme(
                bundle, joined.state.terms, statements, OwnProfiles(self._kit).paid
            )
        except AuditError as error:
            raise StepRefusal("statements", error.message) from error

    def begin(self, content: bytes) -> bytes:
        """Open data and ledgers for the rounds of the agreed programme."""
        begin = self._signed("begin", content, RunStart)
        joined = self._of_run(begin.run)
        if self._agreed is None or self.rounds is not None:
            raise StepRefusal("order", "rounds begin once, after the plan")
        priced, own = self._agreed
        if begin.programme != priced.programme.digest:
            raise StepRefusal("programme", "another programme than agreed to")
        if not joined.state.keep("log", begin.log.encode()):
            raise StepRefusal("order", "another log than the run began with")
        if not joined.state.keep("coordinator", begin.coordinator.encode()):
            raise StepRefusal(
                "order", "another coordinator's key than the run began with"
            )
        intake.expect_queries(stage.dimension for stage in priced.programme.stages)
        data = site_data(self._kit.name, own, priced.population)
        ledger = self._purse = self._ledger(priced, joined)
        sources = priced.sources()
        charges = 0
        if ledger is not None:
            # First: a run that cannot begin must not leave out a charge that a ledger
            # knows.
            ledger.catch_up()
            charges = len(ledger.events())
        site = Site(
            priced.programme,
            data,
            ledger,
            sources,
            self._signer,
            every_answer=True,
            log=begin.log,
            answered=joined.state.answered(charges),
            keep=joined.state.keep_answered,
        )
        rounds = self._masked(priced, joined, begin, site)
        if ledger is not None:
            # Last of all: a run that cannot begin leaves no room set aside.
            place = priced.programme.sites.index(self._kit.name)
            ledger.reserve(priced.programme.charges(place))
        self.rounds, self._agreed = rounds, None
        return seal("begun", begin, self._signer)

    def end(self, content: bytes) -> bytes:
        """Give back what was set aside for a run and not used, and forget the run."""
        end = self._signed("end", content, RunEnd)
        self._of_run(end.run)
        if self._purse is not None:
            self._purse.give_back()
        self.close()
        return seal("end", end, self._signer)

    def _masked(
        self, priced: PricedRun, joined: _SiteJoin, begin: RunStart, site: Site
    ) -> Handler:
        programme = priced.programme
        if programme.cohort is None:
            return site.handle
        keys = {name: self._roster[name] for name in programme.sites}
        leader = bytes.fromhex(begin.coordinator)
        agreed_on = epoch_settings(programme, begin.log, keys, leader)
        settings = joined.state.settings(agreed_on)
        return MaskedSite(site, seat_identity(self._signer), settings).handle

    def _ledger(self, priced: PricedRun, joined: _SiteJoin) -> SitePurse | None:
        self._open.close()  # a run that could not begin may have left it open
        rules = priced.site_ledger(self._kit.name)
        # An answer leaves at once, so no round is asked again.
        terms = charge_terms(priced, joined.run, again=False)
        own_rules = OwnRules.read(self._kit)
        data_set = own_rules.data_set or self._data.name
        ledger = LastingLedger.open(own_rules.ledger, self._kit.name, data_set)
        self._open.callback(ledger.close)
        lasting = Purse(ledger, terms)
        test = priced.config.run.test
        if rules is None or test:
            # The coordinator knows the seed: to it there is no noise.
            lasting.unprotected()
        if rules is None:
            return None
        own = FileLedger(joined.state.ledger, rules)
        self._open.callback(own.close)
        paying = None if test else lasting
        return SitePurse(own, paying, pending=joined.state.pending, note=self._note)

    def _signed(
        self, kind: EnrolmentKind, content: bytes, expected: type[_Message]
    ) -> _Message:
        try:
            return unseal(kind, content, expected, self._roster[COORDINATOR])
        except AuditError as error:
            raise StepRefusal("coordinator", error.message) from error

    def _of_run(self, run: str) -> _SiteJoin:
        if self._joined is None or self._joined.run != run:
            raise StepRefusal("order", "there was no join for this run")
        return self._joined
