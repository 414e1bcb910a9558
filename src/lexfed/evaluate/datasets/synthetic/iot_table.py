# SPDX-License-Identifier: Apache-2.0
"""The table of D3: a few readings of every sensor, with features of earlier ones.

The measurement of a sensor may tell of a household, so readings are personal in the
whole column; the state of the device is not.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from lexfed.evaluate.datasets.public.declarations import TableDeclaration
from lexfed.evaluate.datasets.synthetic import iot
from lexfed.evaluate.datasets.synthetic.random_streams import parameters, site_stream

_DEFAULT = parameters()[iot.NAME]["default"]
ROWS = int(_DEFAULT["sensors"] * _DEFAULT["readings"])
_MANY = 1_000_000
NEXT_LEVEL = "next_level"
"""The level an hour later, without units: what `derived.py` may predict."""
_START = np.datetime64("2024-01-01T00", "h")


def sizes(rows: int) -> tuple[int, int]:
    """Return the number of sensors, and the number of readings of each.

    From a million readings on, sensors have as many as in the full table.
    """
    p = parameters()[iot.NAME]
    readings = p["full" if rows >= _MANY else "default"]["readings"]
    return max(iot.zones(), rows // readings), readings


def facts(rows: int) -> TableDeclaration:
    """Return the public facts about a table of so many readings."""
    p = parameters()[iot.NAME]
    device: dict[str, Mapping[str, Any]] = {
        "type": _one_of(*iot.TYPES),
        "years": _number(0, 15),
        "battery": _number(0, 100),
        "rssi": _number(-120, -30),
        "temperature": _number(-20, 45),
        "status": _one_of(*iot.STATUS),
        "hour_sine": _number(-1, 1),
        "hour_cosine": _number(-1, 1),
    }
    low, high = -6.0, 6.0
    reading: dict[str, Mapping[str, Any]] = {
        "household": {"kind": "flag", "missing": False},
        "latitude": _number(iot.CENTRE[0] - 0.1, iot.CENTRE[0] + 0.4),
        "longitude": _number(iot.CENTRE[1] - 0.1, iot.CENTRE[1] + 0.4),
        "value": _number(-20, 60000, missing=True),
        "spread": _number(0, high),
    }
    for name in ("level", "step", "from_mean", "day_change"):
        reading[name] = _number(low, high, missing=True)
    for name in ("step_size", "from_mean_size", "day_change_size"):
        reading[name] = _number(0, high, missing=True)
    reading["anomaly"] = {"kind": "flag", "missing": False}
    return TableDeclaration(
        name=iot.NAME,
        title="Shaped like a city's sensors: is a reading part of an anomaly?",
        licence="made by lexfed, nothing in it exists",
        reason="parameters",
        file="",
        rows=rows,
        target="anomaly",
        sites={"column": "zone"},
        sha256={},
        columns=device | reading,
        tiers=dict.fromkeys(device, "non_personal")
        | dict.fromkeys(reading, "personal"),
        departures={},
        person="sensor",
        persons=sizes(rows)[0],
        records_per_person=min(p["used_readings"], sizes(rows)[1]),
        extra=("timestamp", NEXT_LEVEL),
    )


def _number(low: float, high: float, missing: bool = False) -> Mapping[str, Any]:
    return {"kind": "number", "range": [low, high], "missing": missing}


def _one_of(*values: str) -> Mapping[str, Any]:
    return {"kind": "category", "values": list(values), "missing": False}


def frames(seed: int, rows: int) -> Iterator[pd.DataFrame]:
    """Yield some readings of every sensor, one zone after the other."""
    sensors, readings = sizes(rows)
    used = min(parameters()[iot.NAME]["used_readings"], readings)
    ends = np.linspace(0, sensors, iot.zones() + 1).astype(int)
    for zone, (first, end) in enumerate(pairwise(ends)):
        made = iot.one_zone(seed, zone, int(end - first), readings, int(first))
        # A stream of its own, so that the readings do not depend on how many are used.
        rng = site_stream(seed, iot.zones() + zone)
        hours = np.argsort(rng.random((int(end - first), readings)), axis=1)[:, :used]
        yield _frame(made, np.sort(hours, axis=1))


def _frame(zone: iot.Zone, hours: np.ndarray[Any, Any]) -> pd.DataFrame:
    sensors, used = hours.shape
    row = np.repeat(np.arange(sensors), used)
    hour = hours.ravel()

    def picked(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.asarray(values[row, hour])

    columns: dict[str, Any] = {
        "sensor": [f"S{number:05d}" for number in zone.sensor[row]],
        "zone": f"zone-{zone.zone + 1:02d}",
        "timestamp": np.datetime_as_string(_START + hour.astype("timedelta64[h]")),
        "type": np.array(iot.TYPES, dtype=object)[zone.kind[row]],
        "household": zone.household[row].astype(int),
        "latitude": zone.latitude[row],
        "longitude": zone.longitude[row],
        "years": zone.years[row],
        "status": np.array(iot.STATUS, dtype=object)[picked(zone.status)],
        "anomaly": picked(zone.anomaly).astype(int),
    }
    for name in ("value", "battery", "rssi", "temperature"):
        columns[name] = picked(getattr(zone, name))
    for name, values in iot.features(zone).items():
        columns[name] = picked(values)
    later = np.full_like(zone.level, np.nan)
    later[:, :-1] = zone.level[:, 1:]
    columns[NEXT_LEVEL] = picked(later)
    return pd.DataFrame(columns).round(4)
