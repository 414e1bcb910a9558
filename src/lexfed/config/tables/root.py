# SPDX-License-Identifier: Apache-2.0
"""`Config`, the whole of `lexfed.toml`: one frozen class per table, one field per key.

Optional keys that are `None` mean "set by a rule", never "off".
`docs/reference/configuration.md` explains every key.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from lexfed import canonical, terms
from lexfed.budget.tower_steering import Adaptation, ClipRule, NoiseRule, RateRule
from lexfed.config.tables.audit import AuditTable
from lexfed.config.tables.budget import BudgetTable
from lexfed.config.tables.field_types import (
    ConfigTable,
    NonEmptyText,
    Positive,
    PositiveCount,
    Rate,
    Real,
    RoundCount,
    Seed,
)
from lexfed.data.file_format import (
    PLAIN,
    DateOrder,
    DecimalMark,
    FileFormat,
    SeparatorName,
    TextEncoding,
    ThousandsMark,
)
from lexfed.data.made_columns import MOST_BUCKETS
from lexfed.data.reading.typed_cells.database_address import (
    DEFAULT_DATABASE,
    is_database_source,
)
from lexfed.data.schema import DatePart, DeclaredKind, NumberScale
from lexfed.law.tagger.suggestions import TaggerSettings
from lexfed.tiers import Tier

_ADAPTATION = Adaptation()
_TAGGER = TaggerSettings()


class RunTable(ConfigTable):
    """`[run]`: what the run is called and where it writes."""

    name: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
            description="a name of up to 64 letters, digits, `.`, `_`, `-`",
        ),
    ]
    out: NonEmptyText | None = None
    seed: Seed = 0
    test: bool = False

    @property
    def folder(self) -> str:
        """The run folder: `out`, or `runs/<name>`."""
        return self.out or f"runs/{self.name}"


class SitesTable(ConfigTable):
    """`data.sites`: by a column, by a partition into `count` parts, or by files."""

    column: NonEmptyText | None = None
    names: Annotated[tuple[NonEmptyText, ...], Field(min_length=1)] | None = None
    count: PositiveCount | None = None
    partition: Literal["iid", "dirichlet"] = "iid"
    alpha: Positive | None = None
    files: Annotated[tuple[NonEmptyText, ...], Field(min_length=1)] | None = None


class GeneratorTable(ConfigTable):
    """`[data.generator]`: sizes of a synthetic source; omitted ones are its own."""

    patients: PositiveCount | None = None
    clients: PositiveCount | None = None
    sites: PositiveCount | None = None
    seed: Seed | None = None


class ColumnTable(ConfigTable):
    """`[data.columns]`: the public declaration of one column."""

    later = frozenset({"period", "parts", "buckets"})

    kind: DeclaredKind
    range: tuple[Real, Real] | None = None
    values: tuple[str, ...] | None = None
    scale: NumberScale = "auto"
    sources: tuple[NonEmptyText, ...] = ()
    missing: bool = True
    public_stats: tuple[Real, Positive] | None = None
    period: tuple[NonEmptyText, NonEmptyText] | None = None
    parts: Annotated[tuple[DatePart, ...], Field(min_length=1)] | None = None
    buckets: Annotated[int, Field(ge=2, le=MOST_BUCKETS)] | None = None


class DataTable(ConfigTable):
    """`[data]`: where the rows are, whom they are about, how they are spread."""

    later = frozenset({"database", *(field.name for field in fields(FileFormat))})

    source: NonEmptyText | None = None
    target: NonEmptyText | None = None
    person: NonEmptyText | None = None
    records_per_person: PositiveCount | None = None
    excess_records: terms.ExcessHandling = "error"
    sites_per_person: PositiveCount = 1
    units: PositiveCount | None = None
    test_size: Annotated[Real, Field(ge=0, lt=1)] = 0.2
    strict: bool = False
    profile: NonEmptyText | None = None
    separator: SeparatorName = PLAIN.separator
    decimal: DecimalMark = PLAIN.decimal
    thousands: ThousandsMark = PLAIN.thousands
    missing: tuple[NonEmptyText, ...] = PLAIN.missing
    encoding: TextEncoding = PLAIN.encoding
    header: bool = PLAIN.header
    dates: DateOrder = PLAIN.dates
    sheet: str = PLAIN.sheet
    database: NonEmptyText = DEFAULT_DATABASE
    sites: SitesTable | None = None
    generator: GeneratorTable = GeneratorTable()
    columns: Mapping[NonEmptyText, ColumnTable] = Field(default_factory=dict)

    @property
    def in_memory(self) -> bool:
        """True if the rows are data frames, which a configuration cannot open."""
        files = self.sites.files if self.sites else None
        listed = files or (self.source or "",)
        return any(file.startswith(terms.FRAME) for file in listed)

    @property
    def in_database(self) -> bool:
        """True if rows come from tables of a database."""
        files = self.sites.files if self.sites else None
        return any(map(is_database_source, files or (self.source or "",)))

    @property
    def built_in(self) -> bool:
        """True if schema, tags and number of persons come with the source."""
        return (self.source or "").startswith(("synthetic:", "sklearn:"))

    @property
    def written(self) -> FileFormat:
        """How files are written, or `ConfigError` if the keys do not go together."""
        keys = [field.name for field in fields(FileFormat)]
        return FileFormat(**{key: getattr(self, key) for key in keys})


class LawColumnTable(ConfigTable):
    """`[law.columns]`: what was decided about one column, why, and by whom."""

    later = frozenset({"by"})

    tier: terms.TierName
    reason: NonEmptyText
    category: NonEmptyText | None = None
    by: Literal["person", "rule"] = "person"

    @property
    def as_tier(self) -> Tier:
        """The tier as the rest of lexfed knows it."""
        return Tier.parse(self.tier)


class TaggerTable(ConfigTable):
    """`[law.tagger]`: how the tagger weighs evidence for its suggestions."""

    alpha: Annotated[Real, Field(ge=0, le=1)] = _TAGGER.alpha
    statistics: Annotated[Real, Field(ge=0, le=1)] = _TAGGER.statistics
    low: Annotated[Real, Field(ge=0, le=1)] = _TAGGER.low
    high: Annotated[Real, Field(ge=0, le=1)] = _TAGGER.high
    tiers: Literal[3, 4] = 4

    @property
    def settings(self) -> TaggerSettings:
        """The settings as the tagger takes them."""
        return TaggerSettings(**self.model_dump())


class LawTable(ConfigTable):
    """`[law]`: whose law applies, and what people decided about columns."""

    jurisdictions: tuple[Literal["gdpr", "hipaa", "ccpa"], ...] = ("gdpr",)
    catalogues: tuple[NonEmptyText, ...] = ()
    tagger: TaggerTable = TaggerTable()
    columns: Mapping[NonEmptyText, LawColumnTable] = Field(default_factory=dict)


class ClipTable(ConfigTable):
    """`privacy.clip`: the charged norm of one contribution, per tower or group."""

    default: Positive | None = None
    non_personal: Positive | None = None
    personal: Positive | None = None
    special: Positive | None = None


class PrivacyTable(ConfigTable):
    """`[privacy]`: how the noise is added, who is trusted, who counts."""

    mechanism: terms.Mechanism = "cascade"
    trust: terms.Trust = "central"
    accountant: terms.Accountant = "pld"
    clip: ClipTable = ClipTable()


class FederationTable(ConfigTable):
    """`[federation]`: how the sites train together."""

    engine: Literal["simulation", "inprocess", "flare"] = "simulation"
    rounds: RoundCount | None = None
    sampling_rate: Rate = 1.0
    local_steps: RoundCount = 1
    learning_rate: Positive | None = None
    learning_rate_schedule: terms.StepSchedule = "constant"
    momentum: Annotated[Real, Field(ge=0, lt=1)] = 0.0
    batch_size: PositiveCount | None = None
    model: NonEmptyText = "logistic"
    weighting: Literal["units", "sites"] = "units"
    dropouts: Annotated[int, Field(ge=0, le=2**16)] = 0
    colluders: Annotated[int, Field(ge=0, le=2**16)] = 0
    setup_rounds: Annotated[int, Field(ge=1, le=4096)] = 32


class AdaptTable(ConfigTable):
    """`[adapt]`: noise, clip, step length and number of rounds along the way."""

    noise: NoiseRule = "none"
    guarantee: terms.Guarantee = "envelope"
    beta: Annotated[Real, Field(gt=0, le=0.9)] = _ADAPTATION.beta
    decay: Positive = _ADAPTATION.decay
    window: PositiveCount = _ADAPTATION.window
    clip: ClipRule = "none"
    quantile: Annotated[Real, Field(gt=0, lt=1)] = _ADAPTATION.quantile
    clip_rate: Annotated[Real, Field(gt=0, le=1)] = _ADAPTATION.clip_rate
    learning_rate: RateRule = "none"
    patience: PositiveCount | None = None
    rounds_at_most: RoundCount | None = None

    @property
    def adapting(self) -> Adaptation:
        """The same as the rest of lexfed knows it."""
        return Adaptation(**self.model_dump())


class SketchesTable(ConfigTable):
    """`[sketches]`: tables of counts while a model is trained."""

    share: Annotated[Real, Field(ge=0, le=0.5)] = 0.0
    every: Annotated[int, Field(ge=0, le=64)] = 1
    weights: terms.WeightRule = "none"
    columns: Annotated[int, Field(ge=0, le=64)] = 3


class EvaluationTable(ConfigTable):
    """`[evaluation]`: who pays for the metrics on the test rows."""

    metrics: Literal["outside-guarantee", "public", "paid"] = "outside-guarantee"


class ReportTable(ConfigTable):
    """`[report]`: what `lexfed report` writes, and for whom."""

    formats: tuple[terms.ReportFormat, ...] = get_args(terms.ReportFormat)
    controller: NonEmptyText | None = None


class Config(ConfigTable):
    """Everything that decides a run."""

    version: Literal[1]
    run: RunTable
    data: DataTable
    law: LawTable = LawTable()
    budget: BudgetTable
    privacy: PrivacyTable = PrivacyTable()
    federation: FederationTable = FederationTable()
    adapt: AdaptTable = AdaptTable()
    sketches: SketchesTable = SketchesTable()
    evaluation: EvaluationTable = EvaluationTable()
    audit: AuditTable = AuditTable()
    report: ReportTable = ReportTable()

    @property
    def follows_rule(self) -> bool:
        """True if the built-in rule sets rounds, steps and clip.

        A step size given by a person means plain descent, whatever the model.
        """
        return (
            self.federation.learning_rate is None
            and self.budget.unit == "record"
            and self.privacy.mechanism in ("cascade", "uniform")
        )

    def to_json(self) -> dict[str, Any]:
        """Return every key with its value, defaults included, as JSON values."""
        return self.model_dump(mode="json")

    @property
    def digest(self) -> str:
        """The hash of the configuration, whatever its layout, order and comments."""
        return canonical.digest(self.to_json())
