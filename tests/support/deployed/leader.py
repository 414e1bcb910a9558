# SPDX-License-Identifier: Apache-2.0
"""A coordinator that says what a test wants it to, one message at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lexfed.federation.coordinator.learner import Learner
from lexfed.federation.coordinator.rounds import Coordinator, RoundRequest
from lexfed.federation.programme.json_form import to_bytes
from lexfed.federation.programme.messages import Reply, answer_from_bytes
from lexfed.federation.programme.sequence import Programme
from lexfed.run.deployed.signed_messages import (
    JoinRequest,
    ProgrammeConsent,
    ProgrammeOffer,
    RunStart,
    SiteStatement,
    refusal_code,
    seal,
    unseal,
)
from lexfed.run.deployed.terms.agreement import agreed_programme
from lexfed.run.deployed.terms.bundle import Bundle
from lexfed.run.deployed.terms.site_statements import packed_statements, read_statements
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.signing.keys import Signer
from support.deployed.worlds import World

LOG = "example.org/log/small/0123456789abcdef"
RUN = "ab" * 32


@dataclass
class Leader:
    """Asks the sites of a world by hand."""

    world: World
    path: Path
    run: str = RUN
    signer: Signer | None = None
    statements: dict[str, bytes] = field(default_factory=dict)
    profile: float | None = None

    @property
    def bundle(self) -> Bundle:
        """What it asks about."""
        return Bundle.read(self.path, profile=self.profile)

    @property
    def key(self) -> Signer:
        """What it signs with."""
        return self.signer or self.world.signer()

    def join(self, site: str, **changed: object) -> bytes:
        """Ask a site to join; return what it answers."""
        bundle = self.bundle
        asked = JoinRequest.of(
            self.run, bundle.text, dict(bundle.files), bundle.profile
        )
        asked = asked.model_copy(update=changed)
        return self.world.open_doors[site](seal("join", asked, self.key))

    def join_all(self) -> None:
        """Have all sites join."""
        self.statements = {name: self.join(name) for name in self.world.sites}

    def said(self, site: str) -> SiteStatement:
        """Return what a site said about itself."""
        public = self.world.signer(site).public
        return unseal("statement", self.statements[site], SiteStatement, public)

    def priced(self) -> PricedRun:
        """Return what the statements give."""
        roster = {name: self.world.signer(name).public for name in self.world.sites}
        said = read_statements(self.statements, self.bundle, self.run, roster)
        return agreed_programme(self.bundle, self.path.parent, said)

    def offer(
        self,
        site: str,
        offered: Programme,
        statements: Mapping[str, bytes] | None = None,
        **changed: object,
    ) -> bytes:
        """Offer a programme to a site; return what it answers."""
        said = statements or self.statements
        made = ProgrammeOffer(
            run=self.run,
            programme=to_bytes(offered).decode(),
            statements=packed_statements(said, tuple(said)),
        ).model_copy(update=changed)
        return self.world.open_doors[site](seal("offer", made, self.key))

    def begin(self, site: str, agreed_on: Programme, **changed: object) -> bytes:
        """Have a site begin; return what it answers."""
        begin = RunStart(
            run=self.run,
            programme=agreed_on.digest,
            log=LOG,
            coordinator=self.key.public.hex(),
        ).model_copy(update=changed)
        return self.world.open_doors[site](seal("begin", begin, self.key))

    def opened(self, site: str) -> PricedRun:
        """Take a site through all steps before the rounds."""
        if not self.statements:
            self.join_all()
        priced = self.priced()
        answer = self.offer(site, priced.programme)
        consented = unseal(
            "consent", answer, ProgrammeConsent, self.world.signer(site).public
        )
        assert consented.programme == priced.programme.digest
        begun = self.begin(site, priced.programme)
        assert refusal_code(begun) is None
        return priced


def rounds(priced: PricedRun, log: str = LOG) -> "Asking":
    """Return a coordinator that asks one round after the other."""
    learner = Learner(priced.programme)
    ledger, sources = priced.ledger(), priced.sources()
    made = Coordinator(priced.programme, learner, ledger, sources, learner.start(), log)
    return Asking(made)


@dataclass
class Asking:
    """The queries of a run, and what learning from answers makes of the next."""

    coordinator: Coordinator

    def next(self) -> RoundRequest:
        """Return the next query."""
        asked = self.coordinator.next()
        assert asked is not None
        return asked

    def learn(self, asked: RoundRequest, answers: Sequence[bytes]) -> None:
        """Go on with the next round."""
        replies = [answer_from_bytes(answer) for answer in answers]
        assert all(isinstance(reply, Reply) for reply in replies)
        self.coordinator.receive(asked.query, replies)


def with_sigma(programme: Programme, factor: float) -> Programme:
    """Return a programme with other noise in all of its releases."""
    return _changed(programme, sigma=factor)


def with_clip(programme: Programme, factor: float) -> Programme:
    """Return a programme with other clips in all of its releases."""
    return _changed(programme, clip=factor)


def _changed(programme: Programme, sigma: float = 1.0, clip: float = 1.0) -> Programme:
    stages = []
    for stage in programme.stages:
        releases = [
            replace(
                release,
                groups=tuple(
                    replace(g, sigma=g.sigma * sigma, clip=g.clip * clip)
                    for g in release.groups
                ),
            )
            for release in stage.releases
            if release is not None
        ]
        stages.append(replace(stage, releases=tuple(releases)))
    return replace(programme, stages=tuple(stages))
