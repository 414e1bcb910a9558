# SPDX-License-Identifier: Apache-2.0
"""A table on rows that lexfed makes up: shapes that no public table has."""

from lexfed.evaluate.catalogue.job_grids import DatasetSample, jobs, record
from lexfed.evaluate.datasets.variants import NEXT_HOUR, NO_GENETICS
from lexfed.evaluate.harness.tables import ResultTable

SEEDS = 5
_STUDY: DatasetSample = ("adni_like", None)
_NO_GENETICS: DatasetSample = (NO_GENETICS, None)
_VISITS: DatasetSample = ("ehr_like", 25_000)
_SENSORS: DatasetSample = ("iot_like", 500_000)
_NEXT_HOUR: DatasetSample = (NEXT_HOUR, 500_000)
_PRIVATE = ("uniform", "cascade")


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
