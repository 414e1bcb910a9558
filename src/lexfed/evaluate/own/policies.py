# SPDX-License-Identifier: Apache-2.0
"""The configured policy, and those that it is compared with, as configuration keys.

    configured          the mechanism and every key of the file
    local               the same at every site alone
    none                the same model without noise, trained by the same steps; for a
                        linear one `cost` shows the best there is, solved exactly
    cascade             a tower per tier under the same budget; where the file says
                        `cascade` it is `configured`
    uniform-attribute   one noise for everything, so strong that a value of the most
                        sensitive tier is protected as well as by the cascade
    uniform-record      one noise for everything, at the epsilon that the cascade really
                        uses for the record: where a cap binds, that is not the budget

Where the cascade cannot be planned, `cascade` and `uniform-attribute` are left out.

Files that a configuration names (a policy, a catalogue, a profile, importances, an own
model) can change while it stays the same, so their content is part of the key of a
result.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lexfed import canonical
from lexfed.config import Config
from lexfed.errors import ConfigError, LexfedError, Problem
from lexfed.evaluate.comparison.case import (
    CONFIGURED,
    Case,
    configuration,
    sensitive_tier,
)
from lexfed.evaluate.comparison.split_rows import rows_of
from lexfed.evaluate.datasets import Dataset
from lexfed.models.networks.specifications import is_imported
from lexfed.privacy.claim.schema import Claim
from lexfed.run.deployed.terms.bundle import named_files
from lexfed.run.pricing.priced_run import price

LOCAL, NONE, CASCADE = "local", "none", "cascade"
UNIFORM_ATTRIBUTE, UNIFORM_RECORD = "uniform-attribute", "uniform-record"

PolicyKeys = dict[str, dict[str, Any]]

_NOT_HERE = ("ledgers",)
"""An evaluation spends no budget, so it opens no ledger."""

_OF_SHARES = ("engine", "dropouts", "colluders", "setup_rounds")
"""Keys about noise in shares, which training without noise has no use for."""


def with_policies(dataset: Dataset, config: Config, base: Path) -> Dataset:
    """Return a table with the policies that are compared on it.

    Guarantees:
        Another policy, or another content of a file that it names, has another digest.

    Raises:
        ConfigError: if the configuration protects nothing, or has no test rows.
        DataError: if the target has more than two classes.
    """
    if config.data.test_size == 0:
        what = "there are no test rows, so there is nothing to measure on"
        raise ConfigError([Problem("`data.test_size`", what, "set it to 0.2")])
    if config.privacy.mechanism == "none":
        what = "nothing is protected, so there is no protection to evaluate"
        hint = "choose `cascade`, `grouped` or `uniform`"
        raise ConfigError([Problem("`privacy.mechanism`", what, hint)])
    configured = _configured(config, base)
    cascade = configured
    if config.privacy.mechanism != CASCADE:
        caps = configured["budget"]["caps"]
        cascade = _plain(config, configured, CASCADE, caps)
    methods: dict[str, PolicyKeys] = {
        CONFIGURED: configured,
        NONE: _none(configured),
        CASCADE: cascade,
        UNIFORM_RECORD: _plain(config, configured, "uniform", {}),
    }
    own = replace(dataset, tables={**dataset.tables, "methods": methods})
    rows_of(own, own_case(config))  # says what is wrong with the rows, if anything
    epsilon = cascade_epsilon(own, config)
    used = planned_claim(own, config, CONFIGURED if epsilon is None else CASCADE)
    if used is not None:
        at_most = min(used.epsilon, config.budget.epsilon)
        methods[UNIFORM_RECORD]["budget"]["epsilon"] = at_most
    if epsilon is None:
        del methods[CASCADE]
    else:
        caps = {sensitive_tier(own, own_case(config)).label: epsilon}
        methods[UNIFORM_ATTRIBUTE] = _plain(config, configured, "uniform", caps)
    files = referenced_content(config, base)
    stated = {"table": dataset.digest, "methods": methods, "files": files}
    return replace(own, digest=canonical.digest(stated))


def own_case(config: Config, seed: int = 0) -> Case:
    """Return the cell of a configuration; its own statements are in its keys."""
    return Case(seed=seed, **own_setting(config))


def own_setting(config: Config) -> dict[str, Any]:
    """Return the settings of every job: `own_case` without its seed."""
    replaced = config.budget.neighbours == "replace-one"
    of_records, model = config.budget.unit == "record", config.federation.model
    return {
        "record_epsilon": config.budget.epsilon,
        "attribute_epsilon": config.budget.epsilon,
        "delta": config.budget.delta,
        # Linear models have one name, whatever the target is.
        "model": "logistic" if model == "linear" else model,
        "sites": None,
        "partition": "iid",
        "alpha": None,
        "equal": "attribute" if replaced and of_records else "record",
        "tiers": 4,
        "settings": {},
    }


def cascade_epsilon(dataset: Dataset, config: Config) -> float | None:
    """Return the cascade's epsilon for a value of the most sensitive tier, if any."""
    claim = planned_claim(dataset, config, CASCADE)
    tier = sensitive_tier(dataset, own_case(config)).label
    stated = None if claim is None else claim.tiers.get(tier)  # type: ignore[call-overload]
    return None if stated is None else stated.epsilon


def planned_claim(dataset: Dataset, config: Config, method: str) -> Claim | None:
    """Return the claim that a method will make, if it can be planned."""
    case = own_case(config)
    try:
        planned = configuration(dataset, case, dataset.tables["methods"][method])
        priced = price(planned, rows_of(dataset, case).population, dataset.folder)
        return priced.claim(priced.programme.rounds)
    except LexfedError:
        return None


def _configured(config: Config, base: Path) -> PolicyKeys:
    """Return every key that decides a run, with paths that hold in any folder."""
    plain = config.model_dump(mode="json", exclude_defaults=True, exclude_none=True)
    budget = {k: v for k, v in plain["budget"].items() if k not in _NOT_HERE}
    for key in ("importance_from", "groups_from"):
        if key in budget:
            kind, _, path = budget[key].partition(":")
            budget[key] = f"{kind}:{(base / path).resolve()}"
    if "policy" in budget and budget["policy"].endswith(".toml"):
        budget["policy"] = str((base / budget["policy"]).resolve())
    if "policy_keys" in budget:
        keys = budget["policy_keys"]
        budget["policy_keys"] = [str((base / key).resolve()) for key in keys]
    budget.setdefault("caps", {})
    # Noise in shares needs sites that answer for themselves.
    alone = config.privacy.trust == "distributed"
    engine = "inprocess" if alone else "simulation"
    federation = plain.get("federation", {}) | {"engine": engine}
    if config.federation.model in ("logistic", "linear"):
        federation.pop("model", None)  # the case names it to fit the target
    return {
        "budget": budget,
        "federation": federation,
        "privacy": plain.get("privacy", {}),
        **{name: plain[name] for name in ("adapt", "sketches") if name in plain},
    }


def _none(configured: PolicyKeys) -> PolicyKeys:
    """Return training without noise, by the file's own steps."""
    federation, budget = configured["federation"], configured["budget"]
    steps = {k: v for k, v in federation.items() if k not in _OF_SHARES}
    unit = {k: v for k, v in budget.items() if k == "unit"}
    return {"privacy": {"mechanism": "none"}, "budget": unit, "federation": steps}


def _plain(
    config: Config, configured: PolicyKeys, mechanism: str, caps: Mapping[str, float]
) -> PolicyKeys:
    """Return a mechanism under the same budget, steps and trust as the file's."""
    kept = ("epsilon", "delta", "unit", "neighbours", "classes")
    budget = configured["budget"]
    stated = {name: budget[name] for name in kept if name in budget}
    return {
        "budget": {**stated, "caps": dict(caps)},
        "privacy": {
            "mechanism": mechanism,
            "trust": config.privacy.trust,
            "accountant": config.privacy.accountant,
        },
        "federation": configured["federation"],
    }


def referenced_content(config: Config, base: Path) -> dict[str, str]:
    """Return a hash of everything that a configuration names, by its name there.

    Guarantees:
        Another content of a policy, its signature and keys, a catalogue, a profile, a
        table or folder of importances or groups, or another module of an own model's
        package, or beside its file, gives another result.
    """
    named = {name: _hashes([base / name]) for name in named_files(config)}
    for key in ("importance_from", "groups_from"):
        if (stated := getattr(config.budget, key)) is not None:
            named[f"{key} {stated}"] = _hashes([base / stated.partition(":")[2]])
    if is_imported(model := config.federation.model):
        named[f"model {model}"] = _hashes(_modules(model.partition(".")[0]))
    return named


def _hashes(places: Iterable[Path]) -> str:
    """Return one hash of files and of everything in folders; absence counts too."""
    total = hashlib.sha256()
    for place in places:
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            total.update(f"{path.relative_to(place.parent)}\0{path.is_file()}".encode())
            if path.is_file():
                with path.open("rb") as file:
                    total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()


def _modules(name: str) -> Iterator[Path]:
    """Return every module of a package, or those beside a module that is a file."""
    spec = find_spec(name.partition(":")[0])
    if spec is None:
        return
    for folder in spec.submodule_search_locations or ():
        yield from sorted(Path(folder).rglob("*.py"))
    if spec.submodule_search_locations is None and spec.origin is not None:
        yield from sorted(Path(spec.origin).parent.glob("*.py"))
