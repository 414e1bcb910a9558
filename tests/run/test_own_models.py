# SPDX-License-Identifier: Apache-2.0
"""Models of users that try to mix people, through whole runs.

`python -m benchmarks.own_models` does the same with 200 of them.
"""

from pathlib import Path

import pytest

from lexfed.config import loads
from lexfed.models.networks import captured_model
from lexfed.run import load_population, price
from support.run.adversarial_models import (
    PIECES,
    Adversary,
    adversary,
    composed,
    realised,
    whole_batches,
)

MAXIMUM = composed([("batch maximum", "output", True)], "record")
NORMALISED = composed([("batch normalisation", "hidden", True)], "record")
OTHERS = {
    "shifted rows of persons": composed([("shifted rows", "input", True)], "persons"),
    "rows of the last site": composed([("global rows", "output", True)], "client"),
    "gradient": composed([("mixing gradient", "hidden", False)], "record"),
    "not numbers": composed([("infinite", "hidden", True)], "record"),
}


def test_a_maximum_over_people_moves_no_sum_by_more_than_the_charge(
    tmp_path: Path,
) -> None:
    found = realised(tmp_path, MAXIMUM)
    assert isinstance(found, float)
    assert 0.5 < found <= 1.0


@pytest.mark.slow
@pytest.mark.parametrize("own", [MAXIMUM, NORMALISED], ids=["maximum", "normalised"])
def test_run_as_it_came_it_moves_more(own: Adversary, tmp_path: Path) -> None:
    # Negative control: the same module on all rows at once.
    with whole_batches():
        found = realised(tmp_path, own)
    assert isinstance(found, float)
    assert found > 1.2


@pytest.mark.slow
def test_a_place_beyond_a_table_moves_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = composed([("place beyond a table", "hidden", False)], "record")
    found = realised(tmp_path / "apart", own)
    assert isinstance(found, float)
    assert found <= 1.0
    # Negative control: where the tables of all records are one.
    monkeypatch.setattr(captured_model, "looks_up", lambda _: False)
    mixed = realised(tmp_path / "mixed", own)
    assert isinstance(mixed, float)
    assert mixed > 1.05


@pytest.mark.slow
@pytest.mark.parametrize("case", OTHERS)
def test_other_ways_to_mix_people_move_no_more_or_are_refused(
    case: str, tmp_path: Path
) -> None:
    found = realised(tmp_path, OTHERS[case])
    assert isinstance(found, str) or found <= 1.0


def test_what_keeps_or_draws_is_refused_before_any_sum(tmp_path: Path) -> None:
    for number, piece in enumerate(("buffer in place", "random numbers", "branch")):
        own = composed([(piece, "hidden", False)], "record")
        found = realised(tmp_path / str(number), own)
        assert isinstance(found, str)
        assert "federation.model" in found


def test_generated_models_are_repeatable_and_show_every_piece() -> None:
    assert adversary(7) == adversary(7)
    shown = " ".join(piece for seed in range(37) for piece in adversary(seed).pieces)
    assert all(piece in shown for piece in PIECES)
    assert {adversary(seed).setting for seed in range(37)} == {
        "record",
        "persons",
        "client",
    }


def test_a_claim_names_what_is_assumed_of_the_code(config_text: str) -> None:
    own = config_text.replace(
        "rounds = 1",
        'rounds = 1\nlearning_rate = 0.5\nmodel = "support.factories:gated"',
    )
    for text, named in ((own, True), (config_text, False)):
        config = loads(text)
        claim = price(config, load_population(config, Path())).claim(1)
        assert claim is not None
        said = "\n".join(claim.not_covered)
        assert ("`support.factories:gated`" in said) is named
        assert ("(A8)" in said) is named
