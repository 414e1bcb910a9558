# SPDX-License-Identifier: Apache-2.0
"""Costs of parts: one thing more in each variant, real messages, parts that add up."""

from pathlib import Path

import pytest

import lexfed
from lexfed.evaluate.comparison.case import configuration
from lexfed.evaluate.measurement.overhead import (
    _CLIENT,
    _READ,
    COMPARED,
    LEARNING,
    PARTS,
    ROUNDS,
    VARIANTS,
    Variant,
    count_traffic,
    measure_overhead,
    run_once,
    train_unwritten,
)
from lexfed.evaluate.measurement.probes import _first
from lexfed.federation.engines.masked_site import MaskedSite
from lexfed.federation.site.data_holder import Site
from lexfed.run.intake.population import load_population
from lexfed.run.pricing.priced_run import PricedRun, price
from support.evaluation.small_dataset import small_case, small_dataset

UNIFORM = {"mechanism": "uniform", "accountant": "rdp"}


def planned(folder: Path, variant: Variant, **federation: int) -> PricedRun:
    dataset = small_dataset(folder, rows=400)
    keys = {**variant.keys, "federation": {**variant.keys["federation"], **federation}}
    config = configuration(dataset, small_case(equal="attribute"), keys)
    return price(config, load_population(config, folder), folder)


def differences(one: Variant, other: Variant) -> set[str]:
    """Return the differences, keys of a configuration and other fields alike."""
    keys = {**one.privacy, **other.privacy}
    found = {key for key in keys if one.privacy.get(key) != other.privacy.get(key)}
    return found | ({"written"} if one.written != other.written else set())


def test_each_variant_has_one_thing_more_than_its_partner() -> None:
    names = list(VARIANTS)
    assert [one.partner for one in VARIANTS.values()] == ["", *names[:-1]]
    for one in list(VARIANTS.values())[1:]:
        assert len(differences(one, VARIANTS[one.partner])) == 1
        assert one.keys["federation"] == VARIANTS[one.partner].keys["federation"]
    # A line that changes two things would be seen.
    assert len(differences(VARIANTS["+ masks"], VARIANTS["+ log"])) == 2


def test_without_privacy_towers_and_rounds_are_the_same(tmp_path: Path) -> None:
    none = planned(tmp_path, VARIANTS["no protection"]).programme
    noise = planned(tmp_path, VARIANTS["+ noise"]).programme
    assert none.shapes == noise.shapes
    assert none.rounds == noise.rounds


def test_messages_grow_with_rounds_and_doors_are_given_back(tmp_path: Path) -> None:
    doors, found = (Site.handle, MaskedSite.handle), []
    for rounds in (2, 4):
        with count_traffic() as traffic:
            train_unwritten(planned(tmp_path, VARIANTS["+ noise"], rounds=rounds))
        found.append(traffic)
    assert found[1].received > found[0].received > 0
    assert found[1].sent > found[0].sent > 0
    assert doors == (Site.handle, MaskedSite.handle)


def test_a_run_is_divided_among_sides_and_parts(tmp_path: Path) -> None:
    dataset, case = small_dataset(tmp_path, rows=400), small_case(equal="attribute")
    found = run_once(dataset, case, VARIANTS["+ noise"])
    whole = sum(found[f"{part}_seconds"] for part in PARTS)
    assert whole == pytest.approx(found["cpu_seconds"], rel=0.05)
    assert found["client_seconds"] > 0
    assert found["coordinator_seconds"] > 0
    assert found["allocation_seconds"] > 0
    assert found["tagging_seconds"] + found["reading_seconds"] > 0
    assert found["folder_bytes"] == found["masks_seconds"] == found["log_seconds"] == 0


def test_gradients_behind_masks_are_learning() -> None:
    stack = [
        "federation/site/contributions.py:contribute",
        "federation/site/data_holder.py:Site.answer",
        "federation/engines/masked_site.py:MaskedSite._ask",
    ]
    assert _first(stack, ROUNDS) == LEARNING
    assert (
        _first(["models/gradients/clipping.py:clip_factors", *stack], ROUNDS)
        == "clipping"
    )
    assert _first(["secagg/masks/epoch_secrets.py:mask", stack[2]], ROUNDS) == "masks"
    # Without the site's own frame masks would get the time of its gradients.
    assert _first([stack[0], stack[2]], ROUNDS) == "masks"


def test_masks_are_in_the_bytes(tmp_path: Path) -> None:
    dataset, case = small_dataset(tmp_path, rows=400), small_case(equal="attribute")
    shares = {**UNIFORM, "trust": "distributed"}
    plain = run_once(dataset, case, Variant(UNIFORM, "", written=True))
    masked = run_once(dataset, case, Variant(shares, "", written=True))
    assert plain["rounds"] == masked["rounds"]
    assert masked["sent_bytes"] > plain["sent_bytes"]
    assert masked["received_bytes"] > plain["received_bytes"]
    assert masked["masks_seconds"] > 0 == plain["masks_seconds"]
    assert masked["folder_bytes"] > 0
    assert plain["log_seconds"] > 0


@pytest.mark.slow
def test_a_run_is_compared_with_its_partner(tmp_path: Path) -> None:
    dataset, case = small_dataset(tmp_path, rows=400), small_case(equal="attribute")
    first = measure_overhead(dataset, case, "no protection")
    found = measure_overhead(dataset, case, "+ noise")
    ratios = {f"{name.rsplit('_', 1)[0]}_ratio" for name in COMPARED}
    assert not ratios & set(first)
    assert ratios <= set(found)
    # Messages do not depend on chance, so this quotient is known.
    assert found["message_ratio"] == found["message_bytes"] / first["message_bytes"] > 1
    assert found["memory_bytes"] > 0


@pytest.mark.parametrize(
    "prefix",
    [one for parts in (_READ, ROUNDS, _CLIENT) for p in parts.values() for one in p],
)
def test_time_is_counted_for_code_that_exists(prefix: str) -> None:
    """A stale prefix fails nowhere else: its time would silently be another part's."""
    package = Path(lexfed.__file__).parent
    name, _, function = prefix.partition(":")
    found = [
        path
        for path in package.rglob("*.py")
        if str(path.relative_to(package)).startswith(name)
    ]
    assert found
    assert any(f"def {function}" in path.read_text("utf-8") for path in found)
