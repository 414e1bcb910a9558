# SPDX-License-Identifier: Apache-2.0
"""A configuration and its population as a priced programme, a ledger and a claim."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lexfed.budget.column_importance import remaining_budget
from lexfed.budget.noise_plan import Budget, TowerTiers
from lexfed.budget.record_classes import class_tiers
from lexfed.budget.sites import BudgetProfile
from lexfed.config.policy_file import PolicyFile
from lexfed.config.tables.root import Config
from lexfed.federation.planning import training_programme
from lexfed.federation.planning.choices import Choices, PopulationFacts
from lexfed.federation.planning.programme_draft import read_tiers
from lexfed.federation.planning.site_shares import budget_of
from lexfed.federation.planning.tower_sketches import refuse_every_round
from lexfed.federation.programme.sequence import Programme
from lexfed.models.networks.specifications import is_imported
from lexfed.privacy.claim.lines import ClaimProfile
from lexfed.privacy.claim.premises import (
    ClaimedRun,
    ClaimTerms,
    MechanismFacts,
    ProtectedPopulation,
)
from lexfed.privacy.claim.proof import build_claim
from lexfed.privacy.claim.schema import Claim, LabelRecord, TierRecord
from lexfed.privacy.run_ledger import Ledger, Limits
from lexfed.privacy.scopes import CountedRelease, record_epsilon, tier_epsilon, up
from lexfed.randomness import SecureSource, SeededSource
from lexfed.run.earlier_runs import ProfileReleaseReader, profile_releases
from lexfed.run.intake.population import Population
from lexfed.run.intake.public_facts import public_facts
from lexfed.run.pricing.binding_cap import BindingCap, Replan, binding_cap
from lexfed.run.pricing.policy_terms import choices_of, stated_budget
from lexfed.run.pricing.site_budgets import SiteLimits, site_budgets
from lexfed.run.pricing.sketch_settings import sketching_of
from lexfed.tiers import Tier

if TYPE_CHECKING:
    from lexfed.federation.site.data_holder import Sources

_RECORD = "the record"
_Opening = tuple[tuple[CountedRelease, ...], float, tuple[tuple[Tier, float], ...]]


@dataclass(frozen=True)
class PricedRun:
    """A programme, its population and its price; nothing is spent yet.

    `profiles` are sites with stricter budgets, `paid` earlier releases about the same
    persons that this run uses; `replan` makes the programme at another budget, where
    one can be asked for.
    """

    config: Config
    population: Population
    programme: Programme
    budget: Budget
    profiles: tuple[BudgetProfile, ...]
    policy: PolicyFile
    paid: tuple[CountedRelease, ...] = ()
    replan: Replan | None = field(default=None, compare=False, repr=False)

    @property
    def private(self) -> bool:
        """True if releases are noised at all."""
        return self.programme.mechanism != "none"

    @property
    def tower_tiers(self) -> tuple[Tier, ...]:
        """The tiers that the model reads."""
        return read_tiers(self.population.encoding, self.programme.shapes)

    @property
    def read_tiers(self) -> tuple[Tier, ...]:
        """The tiers that the run reads: its model, and the rules of its classes."""
        by_classes = class_tiers(self.population.classes) if self.private else ()
        return tuple(sorted({*self.tower_tiers, *by_classes}))

    @cached_property
    def binding_cap(self) -> BindingCap | None:
        """The cap that leaves record budget unused, if one does."""
        if not self.private or self.replan is None:
            return None
        by_classes = class_tiers(self.population.classes)
        shapes = self.programme.shapes
        reads = tuple(max((shape.tier, *by_classes)) for shape in shapes)
        tiers, by = TowerTiers(reads, self.read_tiers), self.config.privacy.accountant
        return binding_cap(self.programme, tiers, self.budget, by, self.replan)

    def ledger(self) -> Ledger | None:
        """Return an empty ledger for exactly the programme; `Refused` over budget."""
        return self._opened(self.programme.charges(), self.budget)

    def site_ledger(self, site: str) -> Ledger | None:
        """Return an empty ledger that admits exactly a site's charges, or refuse."""
        if not self.private:
            return None
        charges = self.programme.charges(self.programme.sites.index(site))
        return self._opened(charges, budget_of(site, self.profiles, self.budget))

    def _opened(
        self, charges: tuple[CountedRelease, ...], budget: Budget
    ) -> Ledger | None:
        if not self.private:
            return None
        key = (charges, budget.epsilon, tuple(sorted(budget.caps.items())))
        if key not in self._ledgers:
            limits = Limits(key[1], budget.delta, budget.neighbours, key[2])
            accountant, sites = self.config.privacy.accountant, budget.sites_per_person
            if self.programme.guarantee == "filter":
                scales = self.programme.class_scales
                opened = Ledger.filtered(limits, charges, accountant, sites, scales)
            else:
                opened = Ledger.planned(limits, charges, accountant, sites)
            self._ledgers[key] = opened
        return self._ledgers[key].rebuild(())

    @cached_property
    def _ledgers(self) -> dict[_Opening, Ledger]:
        """Ledgers opened before: pricing a sampled plan takes seconds."""
        return {}

    def sources(self) -> "Sources":
        """Return secure bits, or seeded ones for a run that its claim stamps."""
        if self.config.run.test:
            seed = self.config.run.seed
            return lambda purpose: SeededSource(seed, purpose)
        secure = SecureSource()
        return lambda _: secure

    def claim(self, rounds: int) -> Claim | None:
        """Return the guarantee after that many rounds: the planned envelope."""
        mechanism = self.programme.mechanism
        if mechanism == "none":
            return None
        config, budget, programme = self.config, self.budget, self.programme
        run = ClaimedRun(
            releases=programme.charges(),
            rounds=rounds,
            private=not config.run.test,
            not_covered=(*not_covered(config), *self._bought_before()),
        )
        by, guarantee = config.privacy.accountant, programme.guarantee
        terms = ClaimTerms(budget.delta, budget.neighbours, by, guarantee)
        grids = {
            group.name: block.grid
            for stage in programme.stages
            for release in stage.releases[:1]
            if release is not None
            for group, block in zip(release.groups, stage.blocks, strict=True)
        }
        trust, cohort = config.privacy.trust, programme.cohort
        encoding = self.population.encoding
        population = ProtectedPopulation(
            unit=config.budget.unit,
            columns={tier: encoding.columns_of(tier) for tier in self.read_tiers},
            records_per_person=self.population.records_per_person,
            sites_per_person=budget.sites_per_person,
            profiles={
                profile.name: ClaimProfile(
                    len(profile.sites),
                    programme.charges(*map(programme.sites.index, profile.sites)),
                )
                for profile in self.profiles
            },
            classes={one.name: one.scale for one in programme.classes},
        )
        facts = MechanismFacts(mechanism, trust, cohort, grids)
        return build_claim(run, terms, facts, population)

    @property
    def joint_epsilon(self) -> float | None:
        """The record's epsilon of this run and of earlier releases together."""
        return None if self._joint is None else self._joint[_RECORD]

    @property
    def _joint(self) -> Mapping[str, float] | None:
        if not self.paid or not self.private:
            return None
        releases = (*self.paid, *self.programme.charges())
        by, delta = self.config.privacy.accountant, self.budget.delta
        neighbours, sites = self.budget.neighbours, self.budget.sites_per_person
        record = record_epsilon(releases, delta, neighbours, by, sites)
        return {_RECORD: record} | {
            tier.label: tier_epsilon(releases, tier, delta, by, sites)
            for tier in self.read_tiers
        }

    def _bought_before(self) -> tuple[str, ...]:
        if self._joint is None:
            return ()
        prices = [f"{name} {up(e, digits=6):g}" for name, e in self._joint.items()]
        return (
            f"{self.paid_before}, released before and claimed apart; together with "
            f"that epsilon is at most: {', '.join(prices)}",
        )

    @property
    def paid_before(self) -> str:
        """Earlier purchases that the run uses, in words."""
        importances = "the importances" if self.population.importance.paid else ""
        profile = "the profile" if self.config.data.profile is not None else ""
        return " and ".join(filter(None, (importances, profile)))


def not_covered(config: Config) -> tuple[str, ...]:
    """Return the gaps of the guarantee, in words."""
    gaps = [
        "values of lower tiers that tell something about a more sensitive column",
        "choices made by looking at the data before this run",
        "whether files match their declaration: a run starts only if they do (A7)",
        "timing and memory of the machines that compute",
    ]
    if config.evaluation.metrics == "outside-guarantee" and config.data.test_size > 0:
        gaps.insert(
            0, "test rows: the metrics printed for this run are computed on them"
        )
    if is_imported(model := config.federation.model):
        gaps.append(
            f"a model whose code (`{model}`) reads data, or changes the libraries it "
            "runs beside, when it is imported or called on made-up records (A8)"
        )
    return tuple(gaps)


@dataclass(frozen=True)
class OutsideTerms:
    """Terms of a run that its configuration does not state.

    It has a `part` of epsilon and of every cap; `limits` bind single sites in any case;
    `before` reads the releases of the profile that the run uses.
    """

    part: float = 1.0
    limits: tuple[SiteLimits, ...] = ()
    before: ProfileReleaseReader = profile_releases


_AS_CONFIGURED = OutsideTerms()


def price(
    config: Config,
    population: Population,
    base: Path = Path(),
    outside: OutsideTerms = _AS_CONFIGURED,
) -> PricedRun:
    """Return the priced programme of a configuration; paths are relative to `base`."""
    stated = stated_budget(config, population, base)
    budget = stated.part(outside.part)
    before = outside.before(config, base, population.tagged)
    paid = (*population.importance.paid, *before)
    if paid:
        budget = remaining_budget(budget, paid, config.privacy.accountant)
    budget, profiles = site_budgets(
        config, population.names, budget, outside.part, outside.limits
    )
    facts = public_facts(config, population, profiles)
    choices = replace(
        choices_of(config, stated.terms, population.importance.values),
        sketching=sketching_of(config, population.encoding, base),
    )
    replan = partial(_plan, facts, choices)
    programme = replan(budget)
    if config.sketches.every == 0:
        refuse_every_round(programme, budget, config.privacy.accountant)
    return PricedRun(
        config, population, programme, budget, profiles, stated.policy, paid, replan
    )


def _plan(facts: PopulationFacts, choices: Choices, budget: Budget) -> Programme:
    return training_programme.plan_training(facts, budget, choices)


def plan_json(priced: PricedRun) -> dict[str, Any]:
    """Return the machine-readable plan; the names of its fields are fixed."""
    claim = priced.claim(priced.programme.rounds)
    groups = [
        {
            "name": group.name,
            "clip": group.clip,
            "sigma": group.sigma,
            "sampling_rate": release.sampling_rate,
            "rounds": count,
            "release": release.name,
        }
        for release, count in priced.programme.charges()
        for group in release.groups
    ]
    return {
        "mechanism": priced.programme.mechanism,
        "neighbours": priced.budget.neighbours,
        "groups": groups,
        "claims": None if claim is None else claims_json(claim),
    }


def claims_json(claim: Claim) -> dict[str, Any]:
    """Return claims of record, tiers, label and profiles under their fixed names."""

    def guarantee(of: Claim | TierRecord | LabelRecord) -> dict[str, Any]:
        return {"epsilon": of.epsilon, "delta": of.delta, "neighbours": of.neighbours}

    return {
        "record": {**guarantee(claim), "accountant": claim.accountant.name},
        "tiers": {name: guarantee(tier) for name, tier in claim.tiers.items()},
        "label": guarantee(claim.label),
        "profiles": {
            name: {
                "sites": profile.sites,
                "epsilon": profile.epsilon,
                "delta": profile.delta,
                "tiers": dict(profile.tiers),
                "label": profile.label,
            }
            for name, profile in claim.profiles.items()
        },
    }
