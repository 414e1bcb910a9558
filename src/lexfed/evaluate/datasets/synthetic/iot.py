# SPDX-License-Identifier: Apache-2.0
"""D3: sensors of a city that does not exist, hour by hour, zone by zone.

Ten million readings do not fit beside a model: a zone is made by itself, in single
precision, and only a few readings of each sensor are kept with their features. The unit
of privacy is a sensor, since a meter in a household tells of the household. Readings
are personal in the whole column; the state of the device is not.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lexfed.arrays import Bools, Integers, Singles
from lexfed.evaluate.datasets.declarations import TableDeclaration
from lexfed.evaluate.datasets.synthetic.ingredients import (
    FLAG,
    ColumnKeys,
    between,
    declare,
    number,
    one_of,
    parameters,
    shared_stream,
    site_stream,
)

NAME = "iot_like"
_DEFAULT = parameters()[NAME]["default"]
ROWS = int(_DEFAULT["sensors"] * _DEFAULT["readings"])
_MANY = 1_000_000
_START = np.datetime64("2024-01-01T00", "h")
_WINDOW = 6
NEXT_LEVEL = "next_level"
"""The level an hour later, without units: the outcome of `iot-next-hour`."""
TYPES = ("traffic", "air", "noise", "energy", "water")
STATUS = ("ok", "low battery", "weak signal")
ANOMALIES = ("shift", "stuck", "ramp", "burst")
"""Kinds of anomaly in series of readings, equally likely."""
# Micrograms of fine dust, decibels, bar of water pressure.
_SCALES = {"air": (18.0, 6.0), "noise": (55.0, 6.0), "water": (4.0, 0.4)}
# Zone centres on a grid of a tenth of a degree around a point in the sea.
CENTRE = (50.0, -20.0)


@dataclass(frozen=True)
class Zone:
    """The readings of one zone; arrays of readings are [sensors, hours].

    Attributes:
        sensor: number of each sensor, over all zones.
        kind: place of each sensor's type in `TYPES`, as `status` in `STATUS`.
        household: whether a sensor is close to a person: a smart meter, a parking tag.
        value: in the units of the type; NaN where missing, as is its `level` without
            units.
        rssi: strength of the radio signal in dBm.
        temperature: in degrees, the same over the zone but for the sensor's place.
    """

    zone: int
    sensor: Integers
    kind: Integers
    household: Bools
    latitude: Singles
    longitude: Singles
    years: Singles
    value: Singles
    level: Singles
    battery: Singles
    rssi: Singles
    temperature: Singles
    status: NDArray[np.int8]
    anomaly: Bools


def zones() -> int:
    """Return the number of zones of the city."""
    return int(parameters()[NAME]["sites"])


def one_zone(seed: int, zone: int, sensors: int, readings: int, first: int) -> Zone:
    """Return the readings of one zone; its sensors are numbered from `first` on.

    Guarantees:
        The same arguments give the same readings, whatever other zones are made.
    """
    rng, p = site_stream(seed, zone), parameters()[NAME]
    shares = np.array([p["types"][kind] for kind in TYPES])
    kind = rng.choice(len(TYPES), sensors, p=shares / shares.sum())
    level = _levels(rng, sensors, readings)
    busy = shared_stream(seed).permutation(zones())[: p["anomaly"]["double_zones"]]
    anomaly = with_anomalies(rng, level, p["anomaly"], 2.0 if zone in busy else 1.0)
    value, shown = _in_units(rng, level, kind)
    absent = _absent(rng, sensors, readings)
    value[absent] = shown[absent] = np.nan
    hours = np.arange(readings, dtype=np.float32)
    drain = rng.uniform(0.002, 0.02, (sensors, 1)).astype(np.float32)
    battery = np.maximum(5.0, rng.uniform(60, 100, (sensors, 1)) - drain * hours)
    rssi = rng.normal(-75, 8, (sensors, 1)) + rng.normal(
        0, 3, (sensors, readings)
    ).astype(np.float32)
    daily = 6.0 * np.sin(2 * np.pi * (hours - 9) / 24)
    warm = 14.0 + daily + rng.normal(0, 1.5, (sensors, 1))
    place = (CENTRE[0] + 0.1 * (zone // 4), CENTRE[1] + 0.1 * (zone % 4))
    spread = p["position_sd"]
    return Zone(
        zone=zone,
        sensor=first + np.arange(sensors),
        kind=kind,
        household=rng.random(sensors) < p["household"],
        latitude=rng.normal(place[0], spread, sensors).astype(np.float32),
        longitude=rng.normal(place[1], spread, sensors).astype(np.float32),
        years=rng.uniform(0, 12, sensors).astype(np.float32),
        value=value,
        level=shown,
        battery=battery.astype(np.float32),
        rssi=rssi.astype(np.float32),
        temperature=warm.astype(np.float32),
        status=np.where(battery < 20, 1, np.where(rssi < -95, 2, 0)).astype(np.int8),
        anomaly=anomaly,
    )


def _levels(rng: np.random.Generator, sensors: int, readings: int) -> Singles:
    p = parameters()[NAME]["value"]
    hours = np.arange(readings, dtype=np.float32)
    phase = rng.normal(0.0, p["phase"], (sensors, 1)).astype(np.float32)
    high = between(rng, p["amplitude"], (sensors, 1)).astype(np.float32)
    level = high * np.sin(2 * np.pi * hours / 24 + phase)
    level += p["weekly"] * np.sin(2 * np.pi * hours / 168)
    zone, own = p["zone"], p["sensor"]
    level += zone["weight"] * _autoregressive(rng, 1, readings, zone["phi"], zone["sd"])
    level += _autoregressive(rng, sensors, readings, own["phi"], own["sd"])
    return np.asarray(level, dtype=np.float32)


def _autoregressive(
    rng: np.random.Generator, series: int, steps: int, phi: float, sd: float
) -> Singles:
    """Return AR(1) series, x_t = phi x_(t-1) + N(0, sd), begun in their usual state."""
    shocks = rng.normal(0.0, sd, (series, steps)).astype(np.float32)
    shocks[:, 0] /= np.sqrt(1 - phi**2)
    for step in range(1, steps):
        shocks[:, step] += phi * shocks[:, step - 1]
    return shocks


def _in_units(
    rng: np.random.Generator, level: Singles, kind: Integers
) -> tuple[Singles, Singles]:
    """Return values in the units of their type, and the level that they show."""
    value, shown = np.empty_like(level), level.copy()
    for place, name in enumerate(TYPES):
        rows = kind == place
        if name == "traffic":  # vehicles in an hour
            value[rows] = rng.poisson(np.exp(np.clip(4.0 + level[rows], -5, 11)))
            shown[rows] = np.log1p(value[rows]) - 4.0
        elif name == "energy":  # kilowatt-hours
            value[rows] = np.exp(0.6 * level[rows])
        else:
            middle, step = _SCALES[name]
            value[rows] = middle + step * level[rows]
    return value, shown


def _absent(rng: np.random.Generator, sensors: int, readings: int) -> Bools:
    p = parameters()[NAME]["value"]
    absent = rng.random((sensors, readings), dtype=np.float32) < p["missing"]
    low, high = p["gap"]["hours"]
    for row in np.flatnonzero(rng.random(sensors) < p["gap"]["sensors"]):
        start = rng.integers(readings)
        absent[row, start : start + rng.integers(low, high + 1)] = True
    return np.asarray(absent)


def features(zone: Zone) -> dict[str, NDArray[Any]]:
    """Return a detector's features of every reading, [sensors, hours] each.

    Missing readings stay missing; the first hours have no past and see zeros.
    """
    level = zone.level
    filled = np.where(np.isnan(level), 0.0, level).astype(np.float32)
    known = (~np.isnan(level)).astype(np.float32)
    count = np.maximum(1.0, _window_sum(known))
    mean = _window_sum(filled) / count
    square = _window_sum(filled * filled) / count
    step, day = _difference(level, 1), _difference(level, 24)
    away = level - mean
    hours = np.arange(level.shape[1], dtype=np.float32) % 24
    shape = np.zeros_like(level)
    return {
        "level": level,
        "step": step,
        "from_mean": away,
        "spread": np.sqrt(np.maximum(0.0, square - mean**2)),
        "day_change": day,
        "hour_sine": shape + np.sin(2 * np.pi * hours / 24).astype(np.float32),
        "hour_cosine": shape + np.cos(2 * np.pi * hours / 24).astype(np.float32),
        "step_size": np.abs(step),
        "from_mean_size": np.abs(away),
        "day_change_size": np.abs(day),
    }


def _window_sum(values: Singles) -> Singles:
    """Return sums over the six steps that end at each reading."""
    total = np.cumsum(values, axis=1, dtype=np.float64)
    total[:, _WINDOW:] -= total[:, :-_WINDOW].copy()
    return total.astype(np.float32)


def _difference(values: Singles, lag: int) -> Singles:
    change = np.zeros_like(values)
    change[:, lag:] = values[:, lag:] - values[:, :-lag]
    return change


def with_anomalies(
    rng: np.random.Generator, levels: Singles, settings: Mapping[str, Any], rate: float
) -> Bools:
    """Put anomalies into series, in place, and return a mask of them.

    `rate` is a factor on the frequency of starts.
    """
    where = np.zeros(levels.shape, dtype=bool)
    gap = settings["mean_gap"] / rate
    low, high = settings["length"]
    for series, marked in zip(levels, where, strict=True):
        start = int(rng.exponential(gap))
        while start < len(series):
            length = int(rng.integers(low, high + 1))
            piece = slice(start, start + length)
            series[piece] = _bent(rng, series[piece], settings)
            marked[piece] = True
            start += 1 + int(rng.exponential(gap))
    return where


def _bent(
    rng: np.random.Generator, piece: Singles, settings: Mapping[str, Any]
) -> Singles:
    kind = ANOMALIES[rng.integers(len(ANOMALIES))]
    if kind == "stuck":
        return np.full_like(piece, piece[0])
    if kind == "burst":
        change = rng.normal(0.0, settings["burst"], len(piece))
    elif kind == "shift":
        change = rng.uniform(*settings["shift"]) * rng.choice((-1.0, 1.0))
    else:
        change = np.linspace(0.0, rng.uniform(*settings["ramp"]), len(piece))
    return np.asarray(piece + change, dtype=np.float32)


def sizes(rows: int) -> tuple[int, int]:
    """Return the number of sensors, and the number of readings of each.

    From a million readings on, sensors have as many as in the full table.
    """
    p = parameters()[NAME]
    readings = p["full" if rows >= _MANY else "default"]["readings"]
    return max(zones(), rows // readings), readings


def facts(rows: int) -> TableDeclaration:
    """Return the public facts about a table of so many readings."""
    p = parameters()[NAME]
    device: dict[str, ColumnKeys] = {
        "type": one_of(*TYPES),
        "years": number(0, 15),
        "battery": number(0, 100),
        "rssi": number(-120, -30),
        "temperature": number(-20, 45),
        "status": one_of(*STATUS),
        "hour_sine": number(-1, 1),
        "hour_cosine": number(-1, 1),
    }
    low, high = -6.0, 6.0
    reading: dict[str, ColumnKeys] = {
        "household": FLAG,
        "latitude": number(CENTRE[0] - 0.1, CENTRE[0] + 0.4),
        "longitude": number(CENTRE[1] - 0.1, CENTRE[1] + 0.4),
        "value": number(-20, 60000, missing=True),
        "spread": number(0, high),
    }
    for name in ("level", "step", "from_mean", "day_change"):
        reading[name] = number(low, high, missing=True)
    for name in ("step_size", "from_mean_size", "day_change_size"):
        reading[name] = number(0, high, missing=True)
    reading["anomaly"] = FLAG
    return declare(
        NAME,
        rows,
        {"non_personal": device, "personal": reading},
        title="Shaped like a city's sensors: is a reading part of an anomaly?",
        licence="made by lexfed, nothing in it exists",
        target="anomaly",
        sites={"column": "zone"},
        person="sensor",
        persons=sizes(rows)[0],
        records_per_person=min(p["used_readings"], sizes(rows)[1]),
        extra=("timestamp", NEXT_LEVEL),
    )


def frames(seed: int, rows: int) -> Iterator[pd.DataFrame]:
    """Yield some readings of every sensor, one zone after the other."""
    sensors, readings = sizes(rows)
    used = min(parameters()[NAME]["used_readings"], readings)
    ends = np.linspace(0, sensors, zones() + 1).astype(int)
    for zone, (first, end) in enumerate(pairwise(ends)):
        made = one_zone(seed, zone, int(end - first), readings, int(first))
        # A stream of its own, so that the readings do not depend on how many are used.
        rng = site_stream(seed, zones() + zone)
        hours = np.argsort(rng.random((int(end - first), readings)), axis=1)[:, :used]
        yield _frame(made, np.sort(hours, axis=1))


def _frame(zone: Zone, hours: np.ndarray[Any, Any]) -> pd.DataFrame:
    sensors, used = hours.shape
    row = np.repeat(np.arange(sensors), used)
    hour = hours.ravel()

    def picked(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.asarray(values[row, hour])

    columns: dict[str, Any] = {
        "sensor": [f"S{number:05d}" for number in zone.sensor[row]],
        "zone": f"zone-{zone.zone + 1:02d}",
        "timestamp": np.datetime_as_string(_START + hour.astype("timedelta64[h]")),
        "type": np.array(TYPES, dtype=object)[zone.kind[row]],
        "household": zone.household[row].astype(int),
        "latitude": zone.latitude[row],
        "longitude": zone.longitude[row],
        "years": zone.years[row],
        "status": np.array(STATUS, dtype=object)[picked(zone.status)],
        "anomaly": picked(zone.anomaly).astype(int),
    }
    for name in ("value", "battery", "rssi", "temperature"):
        columns[name] = picked(getattr(zone, name))
    for name, values in features(zone).items():
        columns[name] = picked(values)
    later = np.full_like(zone.level, np.nan)
    later[:, :-1] = zone.level[:, 1:]
    columns[NEXT_LEVEL] = picked(later)
    return pd.DataFrame(columns).round(4)
