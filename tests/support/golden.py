# SPDX-License-Identifier: Apache-2.0
"""Configurations whose plans, claims and logs are kept, to notice when they change.

    python -m support.golden             (in `tests`) compare, byte by byte
    python -m support.golden --record    keep what this version says

They span mechanisms, units, trusts, schedules, profiles, classes and adaptation. A log
is kept without what differs between two runs of one version: times, keys, run numbers
and digests of them.
"""

import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lexfed
from lexfed.audit.log.evidence import read_evidence

HERE = Path(__file__).parent.parent / "golden"
VARIES = "(varies)"
PLANS, RUNS = HERE / "plans.jsonl", HERE / "runs.jsonl"

_BASE = """\
version = 1

[run]
name = "golden"
seed = 5
test = true

[data]
source = "synthetic:hospital"
@data

[data.generator]
patients = 240
sites = 3
seed = 2

[budget]
epsilon = 3.0
delta = 1e-5
@budget

[privacy]
@privacy

[federation]
@federation

@tables
"""

_CAPS = "[budget.caps]\nspecial = 0.5\npersonal = 2.0"
_PROFILE = '[budget.profiles.strict]\nsites = ["hospital-02"]\nepsilon = 1.0'
_CAPPED_PROFILE = f"{_PROFILE}\n[budget.profiles.strict.caps]\nspecial = 0.3"
_SAVING = '[budget.profiles.late]\nsites = ["hospital-01"]\nepsilon = 2.0\nsave = 0.4'
_CLASS = '[[budget.classes]]\nname = "old"\nwhere = "age >= 80"\nepsilon = 1.0'
_CLIENTS = "[budget.clients]\ntotal = 6.0\nlow = 0.5\nhigh = 2.9"
_SKETCHES = '[sketches]\nshare = 0.4\nweights = "overlap"\ncolumns = 2'
_PAID = '[evaluation]\nmetrics = "paid"'
_PUBLIC = '[evaluation]\nmetrics = "public"'
_SHARED = 'trust = "distributed"\naccountant = "rdp"'
_STEP = "learning_rate = 0.5\nrounds = 3"
_IN_PROCESS = 'engine = "inprocess"'


def _adapt(**words: str) -> str:
    return "[adapt]\n" + "\n".join(f"{key} = {value}" for key, value in words.items())


def configurations() -> dict[str, str]:
    """Return the text of every configuration by its name."""
    found: dict[str, str] = {}
    for name, words in _words():
        text = _BASE
        for part in ("data", "budget", "privacy", "federation", "tables"):
            text = text.replace(f"@{part}", words.get(part, ""))
        found[name] = text.replace("3.0", "30.0") if "sketches" in name else text
    return found


def _words() -> Iterator[tuple[str, dict[str, str]]]:
    for mechanism in ("cascade", "grouped", "uniform", "none"):
        privacy = f'mechanism = "{mechanism}"'
        yield mechanism, {"privacy": privacy}
        yield f"{mechanism} steps", {"privacy": privacy, "federation": _STEP}
        yield f"{mechanism} local", {"privacy": privacy + '\ntrust = "local"'}
    for accountant in ("pld", "rdp", "gdp"):
        privacy = f'accountant = "{accountant}"'
        yield f"{accountant} caps", {"privacy": privacy, "tables": _CAPS}
        yield (
            f"{accountant} replaced",
            {
                "privacy": privacy,
                "budget": 'neighbours = "replace-one"',
            },
        )
    for allocation in ("inverse", "multiplier", "noise-scale"):
        yield allocation, {"budget": f'allocation = "{allocation}"'}
    for schedule in ("geometric", "cosine", "step", "time-adaptive"):
        budget = f'schedule = "{schedule}"'
        yield schedule, {"budget": budget, "federation": _STEP}
        sampled = f"{_STEP}\nsampling_rate = 0.5"
        yield f"{schedule} sampled", {"budget": budget, "federation": sampled}
    yield "sampled", {"federation": f"{_STEP}\nsampling_rate = 0.3"}
    yield (
        "sampled rdp",
        {
            "privacy": 'accountant = "rdp"',
            "federation": f"{_STEP}\nsampling_rate = 0.3",
        },
    )
    for model in ("mlp:8", "mlp:8,4", "logistic"):
        yield f"{model} rule", {"federation": f'model = "{model}"'}
        yield f"{model} steps", {"federation": f'model = "{model}"\n{_STEP}'}
    yield "profile", {"tables": _PROFILE}
    yield "profile caps", {"tables": f"{_CAPS}\n{_CAPPED_PROFILE}"}
    yield (
        "profile sampling",
        {
            "budget": 'realise = "sampling"',
            "federation": f"{_STEP}\nsampling_rate = 0.5",
            "tables": _PROFILE,
        },
    )
    yield "saving", {"federation": _STEP, "tables": _SAVING}
    yield "profile local", {"privacy": 'trust = "local"', "tables": _PROFILE}
    yield "clients", {"tables": _CLIENTS}
    yield "class", {"tables": _CLASS}
    yield "class profile", {"tables": f"{_CLASS}\n\n{_PROFILE}"}
    yield "class steps", {"federation": _STEP, "tables": _CLASS}
    client = 'unit = "client"'
    steps = f"{_STEP}\nlocal_steps = 2"
    yield "client", {"budget": client, "federation": steps}
    yield (
        "client sampled",
        {
            "budget": client,
            "federation": f"{steps}\nsampling_rate = 0.5",
        },
    )
    yield (
        "client replaced",
        {
            "budget": f'{client}\nneighbours = "replace-one"',
            "federation": steps,
        },
    )
    yield "shares", {"privacy": _SHARED, "federation": _IN_PROCESS}
    yield (
        "shares dropouts",
        {
            "privacy": _SHARED,
            "federation": f"{_IN_PROCESS}\ndropouts = 1",
        },
    )
    yield (
        "shares caps",
        {
            "privacy": _SHARED,
            "federation": f"{_IN_PROCESS}\n{_STEP}",
            "tables": _CAPS,
        },
    )
    yield "in process", {"federation": _IN_PROCESS}
    yield (
        "in process local",
        {
            "privacy": 'trust = "local"',
            "federation": f"{_IN_PROCESS}\n{_STEP}",
        },
    )
    yield (
        "weights of sites",
        {
            "budget": 'neighbours = "replace-one"',
            "federation": f'{_STEP}\nweighting = "sites"',
        },
    )
    for noise in ("convergence", "linear", "feedback"):
        yield (
            f"noise {noise}",
            {
                "federation": _STEP,
                "tables": _adapt(noise=f'"{noise}"'),
            },
        )
        yield (
            f"noise {noise} filter",
            {
                "federation": _STEP,
                "tables": _adapt(noise=f'"{noise}"', guarantee='"filter"'),
            },
        )
    for clip in ("quantile", "feedback"):
        yield (
            f"clip {clip}",
            {
                "federation": _STEP,
                "tables": _adapt(clip=f'"{clip}"'),
            },
        )
    yield "patience", {"federation": _STEP, "tables": _adapt(patience="1")}
    yield "sketches", {"federation": _IN_PROCESS, "tables": _SKETCHES}
    yield "sketches steps", {"federation": _STEP, "tables": _SKETCHES}
    yield "paid metrics", {"data": "test_size = 0.3", "tables": _PAID}
    yield "public metrics", {"data": "test_size = 0.3", "tables": _PUBLIC}
    yield (
        "importance",
        {
            "budget": 'allocation = "multiplier"',
            "tables": "[budget.importance]\nage = 4.0",
        },
    )


RUN_NAMES = (
    "cascade",
    "grouped steps",
    "uniform local",
    "none steps",
    "rdp caps",
    "geometric sampled",
    "mlp:8 steps",
    "profile caps",
    "class profile",
    "client sampled",
    "shares dropouts",
    "in process local",
    "noise convergence filter",
    "clip quantile",
    "sketches",
    "paid metrics",
)


def plan_of(text: str) -> Any:
    """Return the priced part of the plan of a configuration."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lexfed.toml"
        path.write_text(text)
        plan = lexfed.plan(path)
    names = ("mechanism", "neighbours", "groups", "claims")
    return json.loads(json.dumps({name: plan[name] for name in names}))


def run_of(text: str) -> dict[str, Any]:
    """Return the claim, the digest of the model and the log of a seeded run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lexfed.toml"
        path.write_text(text)
        out = lexfed.train(path).folder
        claim = out / "claim.json"
        model = out / "model.safetensors"
        log = [
            {"key": record.key, **record.entry.model_dump(mode="json")}
            for record in read_evidence(out).records
        ]
        return {
            "claim": json.loads(claim.read_text()) if claim.exists() else None,
            "model": hashlib.sha256(model.read_bytes()).hexdigest(),
            "log": log,
        }


def steady(first: Any, second: Any) -> Any:
    """Return a value with `VARIES` wherever two runs differ."""
    if isinstance(first, dict) and isinstance(second, dict) and [*first] == [*second]:
        return {key: steady(first[key], second[key]) for key in first}
    lists = isinstance(first, list) and isinstance(second, list)
    if lists and len(first) == len(second):
        return [steady(a, b) for a, b in zip(first, second, strict=True)]
    return first if first == second else VARIES


def differences(kept: Any, found: Any, place: str = "") -> Iterator[str]:
    """Yield the places where a value is not the kept one, to the last bit."""
    if kept == VARIES:
        return
    if isinstance(kept, dict) and isinstance(found, dict) and set(kept) == set(found):
        for key in kept:
            yield from differences(kept[key], found[key], f"{place}.{key}")
    elif isinstance(kept, list) and isinstance(found, list) and len(kept) == len(found):
        for number, (a, b) in enumerate(zip(kept, found, strict=True)):
            yield from differences(a, b, f"{place}[{number}]")
    elif kept != found:
        yield f"{place}: {kept!r} != {found!r}"


def kept(path: Path) -> dict[str, Any]:
    """Return what is kept in a file, by the name of the configuration."""
    return dict(json.loads(line) for line in path.read_text().splitlines())


def main(options: list[str]) -> int:
    """Compare or record; return 1 if something differs."""
    texts = configurations()
    if "--record" in options:
        HERE.mkdir(exist_ok=True)
        plans = [[name, plan_of(text)] for name, text in texts.items()]
        runs = [[n, steady(run_of(texts[n]), run_of(texts[n]))] for n in RUN_NAMES]
        for path, values in ((PLANS, plans), (RUNS, runs)):
            lines = [json.dumps(value, sort_keys=True) for value in values]
            path.write_text("\n".join(lines) + "\n")
        return 0
    lines = []
    for path, function in ((PLANS, plan_of), (RUNS, run_of)):
        for name, value in kept(path).items():
            lines += differences(value, function(texts[name]), name)
    sys.stdout.write(("\n".join(lines) or "everything is as it was kept") + "\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
