# SPDX-License-Identifier: Apache-2.0
"""`lexfed importance` as a user sees it: what it says, what it costs, what is left."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Lexfed = Callable[..., Any]
Edit = Callable[..., None]


def test_an_order_that_noise_would_decide_is_not_sold(
    lexfed: Lexfed, place: Path
) -> None:
    said = lexfed("importance", "--epsilon", "0.005", "--out", "runs/bought")
    assert said.code == 3, said.err
    assert "noise would decide the order of importances at ε = 0.005" in said.err
    assert "times that" in said.err
    assert not (place / "runs").exists()
    bought = lexfed("importance", "--epsilon", "0.3", "--out", "runs/bought")
    assert bought.code == 0
    assert "warning: noise is expected to decide the order" in bought.err


def test_importances_are_bought_used_and_counted_together(
    lexfed: Lexfed, edit: Edit, place: Path
) -> None:
    said = lexfed("importance", "--epsilon", "0.5", "--out", "runs/bought")
    assert said.code == 0, said.err
    assert "whole record (ε, δ) = (0.50" in said.err
    assert 'importance_from = "paid:runs/bought"' in said.err
    assert all(" to " in line for line in said.out.splitlines())
    assert "undecided" in said.err
    assert "intervals hold together in 95 %" in said.err
    assert lexfed("verify", "runs/bought").code == 0
    keys = 'allocation = "multiplier"\nimportance_from = "paid:runs/bought"\n'
    edit(("[budget]\n", "[budget]\n" + keys))
    said = lexfed("plan")
    assert said.code == 0, said.err
    assert "importance (paid:runs/bought)" in said.out
    assert "together with the importances paid for before" in said.out
    assert lexfed("run").code == 0


def test_importances_as_json_and_their_default_place(
    lexfed: Lexfed, place: Path
) -> None:
    said = lexfed("importance", "--json")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    assert found["importance"]
    assert set(found["intervals"]) == set(found["importance"])
    assert all(low <= high for low, high in found["intervals"].values())
    assert found["decided"] == (len(found["leaders"]) == 1)
    result = json.loads((Path(found["folder"]) / "result.json").read_text())
    assert result["verdict"].startswith("importances: ")
    assert Path(found["folder"]).name.endswith("-importance")
    again = lexfed("importance")
    assert again.code == 2
    assert "already contains a run" in again.err


def test_too_much_for_importances_is_refused(lexfed: Lexfed, place: Path) -> None:
    said = lexfed("importance", "--epsilon", "1000")
    assert said.code == 2
    assert "below `budget.epsilon`" in said.err
    assert not (place / "runs").exists()
