# SPDX-License-Identifier: Apache-2.0
"""One factor at a time around a base cell: budget, partition, sites, model, tiers.

Beside these a first look at every method, and rows of shapes that no public table has.
"""

from lexfed.evaluate.catalogue.job_grids import (
    ADULT,
    GERMAN,
    HEART,
    TAIWAN,
    WITHOUT_PRIVACY,
    DatasetSample,
    attribute,
    jobs,
    record,
)
from lexfed.evaluate.datasets.preparation import (
    EICU_FOUR,
    GERMAN_FOUR,
    NEXT_HOUR,
    NO_GENETICS,
)
from lexfed.evaluate.harness.tables import PublishedFigure, ResultTable
from lexfed.evaluate.methods import METHODS
from lexfed.evaluate.methods.ablations import ABLATIONS, MULTIPLIERS

SEEDS = 5
_STUDY: DatasetSample = ("adni_like", None)
_NO_GENETICS: DatasetSample = (NO_GENETICS, None)
_VISITS: DatasetSample = ("ehr_like", 25_000)
_SENSORS: DatasetSample = ("iot_like", 500_000)
_NEXT_HOUR: DatasetSample = (NEXT_HOUR, 500_000)
_PRIVATE = ("uniform", "cascade")
_HETEROGENEITY = {0.5: 0.938, 0.1: 0.904, 0.05: 0.869, 0.01: 0.803}
JACS = "sensitivity-aware dynamic DP, JACS 2025"


def methods() -> ResultTable:
    """Every method in the base cell, under both comparisons."""
    cells = (attribute(0.3, 2.0), record(1.0))
    return ResultTable(
        name="methods",
        title="Every method",
        question=(
            "Every method in the base cell: natural sites, a linear model, equal "
            "attribute ε .3 (record 2, replace-one) and equal record ε 1 (add-remove), "
            "δ 1e-5, 5 splits. Each private method chose among six settings, six "
            "trainings each, on rows made from the public declaration alone. `rounds "
            "to target`: the first round after which the "
            "test AUC has 90 % of what the model without privacy has above chance, "
            "averaged over the runs that reached it (none did where there is a dash); "
            "at most 40 rounds of a run are looked at. `budget per round`: record ε "
            "over rounds. Noise: planned, on weights of columns of the most sensitive "
            "tier and of the others, in units of the clip, over all rounds."
        ),
        jobs=jobs((HEART, TAIWAN), map(_tuned, METHODS), SEEDS, cells),
        across=("dataset", "rows", "equal", "method"),
        shows=(
            *("auc", "ap", "accuracy", "majority", "f1", "brier"),
            *("worst_site_auc", "gap_auc_sex", "gap_auc_age", "gap_auc_ethnicity"),
            *("retention", "record_epsilon", "attribute_epsilon", "rounds"),
            *("rounds_to_target", "budget_per_round"),
            *("noise_sensitive", "noise_others", "seconds"),
        ),
    )


def _tuned(method: str) -> str:
    return method if method in WITHOUT_PRIVACY else f"{method}-tuned"


def learning() -> ResultTable:
    """The rounds and the budget needed until a model is good enough."""
    chosen = ("none", "uniform", "fedsgd", "time-adaptive", "grouped-inverse")
    return ResultTable(
        name="learning",
        title="Rounds to a target",
        question=(
            "After which round does the test AUC have 90 % of what the model without "
            "privacy has above chance, and what was spent by then? Attribute ε .3, "
            "record ε 2 (replace-one, δ 1e-5), 5 splits; means are over the runs that "
            "reached it, a dash says that none did. Only a cascade can spend record ε "
            "2: methods without towers keep the whole record at .3. Test rows are "
            "looked at for this, which a run that stops early would have to pay for."
        ),
        jobs=jobs(
            (HEART, TAIWAN),
            (*chosen, "dp-ftrl", "cascade", "cascade-plain"),
            SEEDS,
            (attribute(0.3, 2.0),),
        ),
        across=("dataset", "rows", "method"),
        shows=(
            *("auc", "retention", "rounds_to_target", "budget_to_target"),
            *("rounds", "budget_per_round"),
        ),
        drawing="learning",
    )


def radar() -> ResultTable:
    """The same methods on several qualities at once, drawn."""
    chosen = ("uniform", "fedsgd", "grouped-inverse", "time-adaptive", "cascade")
    return ResultTable(
        name="radar",
        title="Qualities of methods at equal protection of the sensitive attribute",
        question=(
            "Taiwan credit, attribute ε .3, after the search of the table above. Every "
            "axis runs from the worst to the best of the methods shown."
        ),
        jobs=jobs((TAIWAN,), map(_tuned, chosen), SEEDS, (attribute(0.3, 2.0),)),
        across=("dataset", "rows", "method"),
        shows=("auc", "ap", "worst_site_auc", "gap_auc_sex", "brier", "seconds"),
        drawing="radar",
    )


def epsilon() -> ResultTable:
    """AUC against the record's epsilon."""
    chosen = ("uniform", "fedsgd", "grouped-inverse", "cascade")
    cells = tuple(record(value) for value in (0.1, 0.3, 1.0, 1.9, 4.0))
    return ResultTable(
        name="epsilon",
        title="AUC against epsilon",
        question=(
            "Equal record ε (add-remove, δ 1e-5), 5 splits, default settings: the "
            "steps of `fedsgd` and `grouped-inverse` follow no rule and were not tuned."
        ),
        jobs=jobs((HEART, ADULT), chosen, SEEDS, cells),
        across=("dataset", "rows", "record_epsilon", "method"),
        shows=("auc", "accuracy", "majority"),
        drawing="epsilon",
    )


def alpha() -> ResultTable:
    """Sites that differ more and more."""
    chosen = ("none", "fedsgd", "cascade")
    reason = (
        "the published data are not available; accuracy is shown beside the majority "
        "class, which on this table is 76 %. Sums over all sites do not depend on how "
        "rows are spread, so the curve of the product is flat by construction"
    )
    return ResultTable(
        name="alpha",
        title="Heterogeneity of sites",
        question=(
            "Adult, 10 sites by Dirichlet over the outcome, record ε 1.9 (add-remove, "
            "δ 1e-5), 5 splits."
        ),
        jobs=jobs(
            (ADULT,),
            chosen,
            SEEDS,
            tuple(
                record(1.9, sites=10, partition="dirichlet", alpha=value)
                for value in (1.0, 0.5, 0.1, 0.05, 0.01)
            ),
        ),
        across=("dataset", "rows", "alpha", "method"),
        shows=("accuracy", "majority", "auc", "worst_site_auc"),
        drawing="alpha",
        published=tuple(
            PublishedFigure(
                {"alpha": at, "method": "cascade"}, "accuracy", v, JACS, reason
            )
            for at, v in _HETEROGENEITY.items()
        ),
    )


def sites() -> ResultTable:
    """More sites, each with fewer rows."""
    chosen = ("fedsgd", "fedavg-clients", "local", "cascade")
    return ResultTable(
        name="sites",
        title="Number of sites",
        question="Adult, rows spread at random, record ε 1.9, 5 splits.",
        jobs=jobs(
            (ADULT,),
            chosen,
            SEEDS,
            tuple(record(1.9, sites=count) for count in (10, 50, 100, 120)),
        ),
        across=("dataset", "rows", "sites", "method"),
        shows=("auc", "worst_site_auc", "accuracy", "majority", "seconds"),
        drawing="sites",
    )


def models() -> ResultTable:
    """Linear models and networks."""
    return ResultTable(
        name="models",
        title="Models",
        question=(
            "Record ε 4 (add-remove, δ 1e-5), Adult with 4,000 rows to learn from, 5 "
            "splits. A note says where the rule kept towers linear because a network "
            "would not pay."
        ),
        jobs=jobs(
            (ADULT,),
            ("none", "fedsgd", "cascade"),
            SEEDS,
            tuple(
                record(4.0, model=model)
                for model in ("logistic", "mlp:256,128,64", "cnn")
            ),
        ),
        across=("dataset", "rows", "model", "method"),
        shows=("auc", "accuracy", "majority", "retention", "rounds", "seconds"),
    )


def tiers() -> ResultTable:
    """Two, three and four tiers."""
    return ResultTable(
        name="tiers",
        title="Number of tiers",
        question=(
            "German credit and eICU under policies that fill all four tiers (German: "
            "facts about the loan are not personal, the telephone is an identifier; "
            "eICU: facts about the hospital, and age). 4: identifiers are no input, "
            "three towers. 3: identifiers are inputs and count as special. 2: what is "
            "not personal counts as personal too, two towers. So fewer tiers count a "
            "column as more sensitive, never as less. Attribute ε .3 of the special "
            "tier, record ε 2 (replace-one, δ 1e-5), 20 splits."
        ),
        jobs=jobs(
            ((GERMAN_FOUR, None), (EICU_FOUR, None)),
            ("cascade", "cascade-plain"),
            20,
            tuple(attribute(0.3, 2.0, tiers=count) for count in (2, 3, 4)),
        ),
        across=("dataset", "tiers", "method"),
        shows=("auc", "accuracy", "majority", "noise_sensitive", "noise_others"),
    )


def ablations() -> ResultTable:
    """One idea taken out at a time."""
    return ResultTable(
        name="ablations",
        title="Ablations",
        question=(
            "`dynamic` has everything; each other line lacks one idea. Attribute ε .3, "
            "record ε 2 (replace-one), 5 splits, noisy descent with the same step; the "
            "gain is over `dynamic`, paired by split."
        ),
        jobs=jobs((GERMAN, HEART, TAIWAN), ABLATIONS, SEEDS, (attribute(0.3, 2.0),)),
        across=("dataset", "rows", "method"),
        shows=("auc", "accuracy", "majority", "rounds"),
        against="dynamic",
    )


def multipliers() -> ResultTable:
    """The strength with which noise follows sensitivity."""
    return ResultTable(
        name="multipliers",
        title="Factors between tiers",
        question=(
            "One model, noise by tier: factors of the rule `multiplier`, and base α of "
            "the rule `inverse`. Equal record ε 1.9 (add-remove), 5 splits."
        ),
        jobs=jobs((GERMAN, TAIWAN), MULTIPLIERS, SEEDS, (record(1.9),)),
        across=("dataset", "rows", "method"),
        shows=("auc", "accuracy", "majority", "attribute_epsilon"),
    )


def quick() -> ResultTable:
    """Every method on the heart table, both comparisons, two splits."""
    return ResultTable(
        name="quick",
        title="A first look",
        question=(
            "Every method on the heart table, 2 splits, which is far too few to rank "
            "them: equal attribute ε .3 (record 2, replace-one) and equal record ε 1 "
            "(add-remove), δ 1e-5."
        ),
        jobs=jobs((HEART,), METHODS, 2, (attribute(0.3, 2.0), record(1.0))),
        across=("dataset", "equal", "method"),
        shows=(
            *("auc", "accuracy", "majority", "worst_site_auc", "retention"),
            *("record_epsilon", "attribute_epsilon", "rounds", "seconds"),
        ),
    )


def synthetic_table() -> ResultTable:
    """Wide, repeated and streaming rows, all made up."""
    found = (
        *jobs(
            (_STUDY, _VISITS, _SENSORS, _NEXT_HOUR),
            ("none", "boosted", *_PRIVATE),
            SEEDS,
            (record(1.0), record(4.0)),
        ),
        *jobs((_NO_GENETICS,), ("none", *_PRIVATE), SEEDS, (record(1.0), record(4.0))),
    )
    # Seed after seed, as methods share the rows of a split and these tables are large.
    in_order = sorted(found, key=lambda job: (job.dataset, job.seed))
    return ResultTable(
        name="made",
        title="Made-up rows (not results on ADNI, MIMIC or any city)",
        question=(
            "Tables that lexfed makes from a seed; nobody in them exists, and no "
            "figure here is one of the study or hospital whose shape they have. "
            "`adni_like`: 5,000 people, 847 columns; `adni-without-genetics`: the same "
            "people under a policy that leaves out 305 columns of genetic data, GDPR "
            "Art. 9. `ehr_like`: about 25,000 visits of 9,000 patients, who may be "
            "known to two hospitals; a patient is protected with all visits. "
            "`iot_like`: 50 readings "
            "of each of 1,000 sensors; a sensor is protected with all readings, so "
            "there are 700 units to learn from. `iot-next-hour`: the next reading as a "
            "number; RMSE on the scale on which its range is [-1, 1]. Record ε 1 and 4 "
            "(add-remove, δ 1e-5), 5 splits."
        ),
        jobs=tuple(in_order),
        across=("dataset", "record_epsilon", "method"),
        shows=(
            *("auc", "ap", "retention", "brier", "rmse", "r2"),
            *("worst_site_auc", "worst_site_rmse", "attribute_epsilon", "seconds"),
        ),
    )
