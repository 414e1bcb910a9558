# SPDX-License-Identifier: Apache-2.0
"""Whole runs on neighbouring tables, and how far the integers that are noised differ.

Both runs read files and go from there to the last round. Where noise is drawn the
first run's integers are kept, with what was released; the second run's are compared
with them, and it is told the first one's release. So both have the same history, and
the distances of all rounds add up as the proofs have it (Theorem C): the root of the
sum of squares, in deviations of the noise, against the mu that the plan is charged for.

Coins of persons are secret and of the same law for neighbours (Lemma 4), so the runs
may be given the same ones: everybody who is in both tables draws the same lot.
"""

import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lexfed.config import load
from lexfed.config.open_decisions import load_open
from lexfed.data.people import lots, site_partition
from lexfed.data.people.lots import LotKeys
from lexfed.errors import ConfigError, Refused
from lexfed.federation.coordinator.learner import Learner
from lexfed.federation.coordinator.rounds import Coordinator
from lexfed.federation.engines import clear_sums
from lexfed.federation.engines.clear_sums import Engine, InProcess, Simulation
from lexfed.federation.programme import integer_sums
from lexfed.federation.programme.integer_sums import noised_by_site
from lexfed.federation.programme.messages import Query, Refusal, Reply
from lexfed.federation.programme.sequence import Programme, Stage
from lexfed.federation.site import data_holder
from lexfed.federation.site.data_holder import Site
from lexfed.privacy.releases import Release
from lexfed.run import PricedRun, load_population, price
from lexfed.run.purchases.importance_purchase import priced_importance
from lexfed.run.purchases.profile_population import load_profile_population
from lexfed.run.purchases.profile_purchase import (
    price_profile,
    profile_configuration,
    require_use,
)
from support.run.neighbour_tables import Draws, Neighbour, Setting, Table

_REAL_LOTS = lots.draw_lots
_REAL_NOISE = integer_sums.add_noise


def _real_site_noise(*parts: Any) -> Any:
    """Add a site's noise with nothing replaced: a site is noted once."""
    with pytest.MonkeyPatch.context() as real:
        real.setattr(integer_sums, "add_noise", _REAL_NOISE)
        return noised_by_site(*parts)


@dataclass(frozen=True)
class Noised:
    """One place where noise was drawn: what it was added to, and what left."""

    stage: Stage
    release: Release
    before: Any
    after: Any


@dataclass
class History:
    """What a run noised, in order; a second run is held against it.

    Attributes:
        noised: of the first run.
        differences: of the second run's integers from the first one's.
    """

    noised: list[Noised] = field(default_factory=list)
    differences: list[Any] | None = None

    def add(
        self, stage: Stage, release: Release, before: Any, noise: Callable[[], Any]
    ) -> Any:
        """Keep what is noised, or compare it; return what leaves."""
        if self.differences is None:
            exact = before.copy()
            self.noised.append(Noised(stage, release, exact, noise()))
            return self.noised[-1].after.copy()
        first = self.noised[len(self.differences)]
        assert (first.stage.name, first.release) == (stage.name, release)
        self.differences.append(before - first.before)
        return first.after.copy()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Stand where noise is drawn."""

        def centrally(total: Any, stage: Stage, release: Any, source: Any) -> Any:
            return self.add(
                stage,
                release,
                total,
                lambda: _REAL_NOISE(total, stage, release, source),
            )

        def by_site(
            total: Any, programme: Programme, stage: Stage, release: Any, source: Any
        ) -> Any:
            return self.add(
                stage,
                release,
                total,
                lambda: _real_site_noise(total, programme, stage, release, source),
            )

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(integer_sums, "add_noise", centrally)
            patch.setattr(data_holder, "noised_by_site", by_site)
            patch.setattr(clear_sums, "noised_by_site", by_site)
            yield


@contextmanager
def coupled(identities: dict[str, str]) -> Iterator[None]:
    """Let everybody draw by who they are, wherever their row stands."""

    def draw(secret: bytes, keys: Sequence[str]) -> Any:
        return _REAL_LOTS(secret, [identities[key] for key in keys])

    with pytest.MonkeyPatch.context() as patch:
        for module in (lots, site_partition):
            patch.setattr(module, "draw_lots", draw)
        yield


class Unmasked:
    """Sites that add shares of noise, without the masks: those cancel to the bit."""

    def __init__(self, sites: Sequence[Site]) -> None:
        self._sites = sites

    def prepare(self) -> None:
        """Nothing."""

    def ask(
        self, query: Query, participants: Sequence[str]
    ) -> Sequence[Reply | Refusal]:
        """Ask everybody."""
        content = query.to_bytes()
        return [one.answer(content) for one in self._sites if one.name in participants]


@dataclass(frozen=True)
class Base:
    """A run that was recorded, ready to be compared with neighbours.

    Attributes:
        setting: its configuration.
        table: its rows.
        place: its folder.
        coins: its coins.
        priced: what it was charged for.
        history: what it noised.
    """

    setting: Setting
    table: Table
    place: Path
    coins: LotKeys
    priced: PricedRun
    history: History


def base_of(setting: Setting, table: Table, place: Path, coins: LotKeys) -> Base:
    """Run a configuration on its table.

    Args:
        setting: the configuration.
        table: its rows.
        place: an empty folder.
        coins: of both runs.

    Raises:
        ConfigError: if the configuration is not allowed.
    """
    (place / "lexfed.toml").write_text(setting.text())
    history = History()
    identities = table.write(place)
    with coupled(identities), history.listening():
        priced = _priced(setting, place, coins)
        _run(setting, priced)
    return Base(setting, table, place, coins, priced, history)


def _priced(setting: Setting, place: Path, coins: LotKeys) -> PricedRun:
    path = place / "lexfed.toml"
    if setting.programme == "profile":
        opened = load_open(path)
        require_use(opened.config, setting.epsilon / 3)
        config = profile_configuration(opened.config)
        found = load_profile_population(
            type(opened)(**{**vars(opened), "config": config}), place, coins
        )
        return price_profile(config, found, place, setting.epsilon / 3).priced
    config = load(path)
    if setting.programme == "importances":
        return priced_importance(config, place, setting.epsilon / 3, coins)
    return price(config, load_population(config, place, coins), place)


def _run(setting: Setting, priced: PricedRun) -> None:
    programme, sources = priced.programme, priced.sources()
    learner = Learner(programme)
    coordinator = Coordinator(
        programme, learner, priced.ledger(), sources, learner.start()
    )
    engine = _engine(setting, priced)
    while (asked := coordinator.next()) is not None:
        coordinator.receive(asked.query, engine.ask(asked.query, asked.participants))


def _engine(setting: Setting, priced: PricedRun) -> Engine:
    programme, sources = priced.programme, priced.sources()
    if setting.engine == "simulation":
        return Simulation(programme, priced.population.sites, sources)
    sites = [
        Site(programme, data, priced.site_ledger(data.name), sources)
        for data in priced.population.sites
    ]
    return InProcess(sites) if programme.cohort is None else Unmasked(sites)


def realised(base: Base, other: Table) -> list[float]:
    """Run the neighbour; return the squared distance of every release.

    Raises:
        AssertionError: if the neighbour is run by another programme, or stops earlier.
    """
    history, setting = base.history, base.setting
    history.differences = []
    identities = other.write(base.place)
    with coupled(identities), history.listening():
        priced = _priced(setting, base.place, base.coins)
        assert priced.programme.digest == base.priced.programme.digest
        _run(setting, priced)
    differences, history.differences = history.differences, None
    assert len(differences) == len(history.noised)
    together = len(base.priced.programme.sites) if setting.trust == "distributed" else 1
    return [
        _squared(history.noised[at], sum(differences[at : at + together]))
        for at in range(0, len(differences), together)
    ]


def _squared(noised: Noised, difference: Any) -> float:
    total = 0.0
    for block, group in zip(noised.stage.blocks, noised.release.groups, strict=True):
        part = difference[block.start : block.stop].astype(np.float64)
        total += float(part @ part) * (block.grid.step / group.sigma) ** 2
    return total


def claimed(base: Base, neighbour: Neighbour) -> float:
    """Return the mu that the line of the claim stands for, under which they differ."""
    programme, setting = base.priced.programme, base.setting
    places: list[int] = []
    if setting.layout in ("files", "column") and neighbour.sites:
        places = [programme.sites.index(name) for name in neighbour.sites]
    squares = 0.0
    for release, count in programme.charges(*places):
        reads = release.reads
        if neighbour.tier is not None and (reads is None or reads < neighbour.tier):
            continue
        if release.sampling_rate > 0.0:
            squares += count / release.noise_multiplier**2
    removed = neighbour.relation == "record" and setting.neighbours == "add-remove"
    scale = programme.class_scales[0] if neighbour.frail and programme.classes else 1.0
    return (1.0 if removed else 2.0) * scale * setting.spread * math.sqrt(squares)


@dataclass
class Tally:
    """How many pairs were compared, and the largest share of a claim.

    Attributes:
        pairs: compared.
        settings: from so many configurations.
        refused: configurations that are not allowed, and were drawn again.
        worst: largest realised over claimed mu.
        kinds: pairs by what they were about.
        largest: the same share by kind.
    """

    pairs: int = 0
    settings: int = 0
    refused: int = 0
    worst: float = 0.0
    kinds: dict[str, int] = field(default_factory=dict)
    largest: dict[str, float] = field(default_factory=dict)

    def add(self, kinds: Sequence[str], share: float) -> None:
        """Count one pair."""
        self.pairs += 1
        self.worst = max(self.worst, share)
        for kind in kinds:
            self.kinds[kind] = self.kinds.get(kind, 0) + 1
            self.largest[kind] = max(self.largest.get(kind, 0.0), share)

    def merge(self, other: "Tally") -> None:
        """Add what somebody else counted."""
        self.pairs += other.pairs
        self.settings += other.settings
        self.refused += other.refused
        self.worst = max(self.worst, other.worst)
        for kind, count in other.kinds.items():
            self.kinds[kind] = self.kinds.get(kind, 0) + count
            share = max(self.largest.get(kind, 0.0), other.largest[kind])
            self.largest[kind] = share


def share_of(base: Base, neighbour: Neighbour) -> float:
    """Return realised over claimed mu; 0 where both are 0."""
    found = math.sqrt(sum(realised(base, neighbour.table)))
    limit = claimed(base, neighbour)
    if found == 0.0:
        return 0.0
    return found / limit if limit > 0.0 else math.inf


def compare(
    seed: int,
    pairs: int,
    each: int = 25,
    told: Callable[[int, float], None] = lambda _pairs, _worst: None,
) -> Tally:
    """Compare random neighbours of random runs.

    Args:
        seed: of all draws but the noise.
        pairs: how many.
        each: of one configuration.
        told: hears after every configuration how many, and the largest share.

    Raises:
        AssertionError: if a neighbour is run by another programme.
        LexfedError: if a neighbour is refused.
    """
    draws, tally = Draws(seed), Tally()
    while tally.pairs < pairs:
        setting = draws.setting()
        with tempfile.TemporaryDirectory() as place:
            table = draws.table(setting)
            try:
                coins = LotKeys.seeded(1000 * seed + tally.settings)
                base = base_of(setting, table, Path(place), coins)
            except (ConfigError, Refused):  # importances that noise would decide
                tally.refused += 1
                continue
            tally.settings += 1
            for neighbour in draws.neighbours(table, min(each, pairs - tally.pairs)):
                tally.add(_kinds(setting, neighbour), share_of(base, neighbour))
        told(tally.pairs, tally.worst)
    return tally


def _kinds(setting: Setting, neighbour: Neighbour) -> list[str]:
    return [
        f"{setting.unit}, {neighbour.relation}, {setting.neighbours}"
        if neighbour.relation == "record"
        else f"{setting.unit}, {neighbour.relation}",
        setting.mechanism,
        setting.trust,
        setting.layout,
        setting.programme,
        *(["persons"] if setting.person else []),
        *(
            word
            for word in ("classes", "profiles", "adapt", "sketches", "paid", "mlp")
            if any(word in part for part in setting.parts.values())
        ),
    ]
