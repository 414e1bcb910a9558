# SPDX-License-Identifier: Apache-2.0
"""People's choices for training, and public facts about the population."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from lexfed.budget.allocation import TIER_MULTIPLIER, TIER_NOISE, Allocation
from lexfed.budget.noise_schedule import NoiseSchedule
from lexfed.budget.record_classes import RecordClass
from lexfed.budget.sites import BudgetProfile
from lexfed.budget.tower_steering import Adaptation
from lexfed.data.encoding import Encoding
from lexfed.errors import ConfigError, Problem
from lexfed.federation.programme.sketch_schedule import SketchSchedule
from lexfed.models.losses import LossName
from lexfed.models.networks.specifications import LINEAR
from lexfed.privacy.noise.shares import NoiseCohort
from lexfed.secagg.masks.thresholds import Threshold
from lexfed.terms import Accountant, Mechanism, Realisation, StepSchedule, Trust, Unit
from lexfed.tiers import Tier


def noise_cohort(sites: int, colluders: int, dropouts: int) -> NoiseCohort:
    """Return the sites that add shares of noise behind masks, or say why none can.

    Noise in shares needs an honest share in every sum (`privacy.noise.shares`); masks
    need two honest sites in it, and enough answers (`secagg.masks.thresholds`).
    """
    if sites < 2:
        what = "one site has nobody to add up with"
        raise ConfigError([Problem("secure aggregation", what, "let more take part")])
    # Beyond all sites is as impossible as all of them, and has the same words.
    cohort = NoiseCohort(sites, min(colluders, sites), min(dropouts, sites))
    Threshold.malicious(sites, colluders, dropouts)
    return cohort


@dataclass(frozen=True)
class Choices:
    """People's choices for training; every field has a key in `lexfed.toml`."""

    mechanism: Mechanism = "cascade"
    trust: Trust = "central"
    unit: Unit = "record"
    model: str = "logistic"
    allocation: Allocation = "caps"
    schedule: NoiseSchedule = field(default_factory=NoiseSchedule)
    accountant: Accountant = "pld"
    alpha: float = 2.0
    multipliers: Mapping[Tier, float] = field(default_factory=lambda: TIER_MULTIPLIER)
    weights: Mapping[Tier, float] = field(default_factory=lambda: TIER_NOISE)
    importance: Mapping[str, float] = field(default_factory=dict)
    clip: Mapping[Tier, float] = field(default_factory=dict)
    default_clip: float | None = None
    rounds: int | None = None
    sampling_rate: float = 1.0
    local_steps: int = 1
    learning_rate: float | None = None
    learning_rate_schedule: StepSchedule = "constant"
    momentum: float = 0.0
    batch_size: int | None = None
    paid_metrics: bool = False
    seed: int = 0
    realise: Realisation = "clip"
    adapting: Adaptation = field(default_factory=Adaptation)
    colluders: int = 0
    dropouts: int = 0
    setup_rounds: int = 32
    sketching: SketchSchedule = field(default_factory=SketchSchedule)

    def of_purchase(self) -> "Choices":
        """Return the choices of a run that buys facts for this one, unsampled."""
        return replace(
            self,
            mechanism="cascade",
            model="linear",
            learning_rate=None,
            sampling_rate=1.0,
            adapting=Adaptation(),
        )

    def cohort(self, sites: int) -> NoiseCohort | None:
        """Return the sites that add shares of noise; None where none does."""
        if self.trust != "distributed" or self.mechanism == "none":
            return None
        return noise_cohort(sites, self.colluders, self.dropouts)

    def senders(self, sites: int) -> int:
        """Return the number of noise values drawn for one coordinate of a release.

        A share's value is four times as far from its law as a Gaussian's (`skellam`).
        """
        return {"central": 1, "local": sites, "distributed": 4 * sites}[self.trust]

    def loudness(self, sites: int) -> float:
        """Return the variance of the noise with all present, over the charged one."""
        cohort = self.cohort(sites)
        if cohort is not None:
            return sites / cohort.honest
        return float(sites) if self.trust == "local" else 1.0

    @property
    def follows_rule(self) -> bool:
        """True if the rule sets rounds, steps and clip; a chosen step means descent."""
        return (
            self.unit == "record"
            and self.mechanism in ("cascade", "uniform")
            and self.learning_rate is None
        )

    @property
    def wants_networks(self) -> bool:
        """True if towers get networks beside their linear parts where they pay."""
        return self.follows_rule and self.model not in LINEAR

    @property
    def wants_shapes(self) -> bool:
        """True if towers get shape functions where the rule expects them to pay."""
        return self.follows_rule and self.model == "additive"

    def mean_importance(self, columns: Collection[str]) -> float:
        """Return the mean importance of columns, 1 where none is known."""
        return sum(self.importance.get(name, 1.0) for name in columns) / len(columns)

    def clip_of(self, tier: Tier) -> float | None:
        """Return the clip that a person chose for a tier; None: the rule decides."""
        return self.clip.get(tier, self.default_clip)


@dataclass(frozen=True)
class PopulationFacts:
    """Public facts about the population.

    Attributes:
        outputs: number of logits.
        units: public number of units; `divisor` makes a full-batch sum a mean.
        site_weights: public weight of each site's sum, at most 1.
        places: rows that a unit may have.
        site_units: public guess of the number of units at each site.
        profiles: sites with stricter budgets.
        classes: records with a stricter budget, by public rule.
    """

    encoding: Encoding
    loss: LossName
    outputs: int
    units: int
    divisor: float
    sites: tuple[str, ...]
    site_weights: tuple[float, ...]
    places: int
    site_units: tuple[float, ...] = ()
    profiles: tuple[BudgetProfile, ...] = ()
    classes: tuple[RecordClass, ...] = ()
