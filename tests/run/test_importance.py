# SPDX-License-Identifier: Apache-2.0
"""Importances for a run: read from files and folders, paid for once, used once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lexfed
from lexfed.audit.verify import verify_run
from lexfed.cli.display import plan_table
from lexfed.errors import ConfigError, RunFolderError
from lexfed.federation.programme.messages import Query
from lexfed.privacy.claim.proof import load_claim
from lexfed.privacy.scopes import record_epsilon, tier_epsilon
from lexfed.run import PricedRun, load_population, price
from lexfed.run.audit_log.logbook import Logbook
from lexfed.run.purchases.importance_purchase import buy_importance, priced_importance
from lexfed.tiers import Tier

Write = Callable[..., Path]
COLUMNS = """
[data.columns]
dose = { kind = "number", range = [0, 10], missing = false }
copy = { kind = "number", range = [0, 10], missing = false }
age = { kind = "number", range = [0, 100], missing = false }
marker = { kind = "flag", missing = false }
y = { kind = "flag", missing = false }

[law.columns]
dose = { tier = "non_personal", reason = "operational" }
copy = { tier = "non_personal", reason = "operational" }
age = { tier = "personal", reason = "demographic" }
marker = { tier = "special", reason = "health" }
y = { tier = "special", reason = "health" }
"""
HEAD = """version = 1

[run]
name = "small"
seed = 3
{test}

[data]
source = "rows.csv"
target = "y"
units = 400
sites = {{ count = 2 }}

[budget]
epsilon = 4.0
delta = 1e-5
{budget}
"""


def rows(path: Path, count: int, seed: int, marker: str | None = None) -> None:
    """Write rows in which the dose decides, `copy` repeats it and age helps."""
    generator = np.random.default_rng(seed)
    lines = ["dose,copy,age,marker,y"]
    for _ in range(count):
        dose, age = generator.uniform(0, 10), generator.uniform(0, 100)
        score = dose - 5 + 0.03 * (age - 50) + generator.normal()
        told = marker if marker is not None else int(generator.random() < 0.3)
        lines.append(f"{dose:.3f},{dose:.3f},{age:.1f},{told},{int(score > 0)}")
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a configuration with private rows beside it, and return its path."""

    def written(budget: str, tables: str = "", test: bool = True) -> Path:
        rows(tmp_path / "rows.csv", 400, 1)
        rows(tmp_path / "public.csv", 3000, 2)
        text = HEAD.format(budget=budget, test="test = true" if test else "")
        path = tmp_path / "lexfed.toml"
        path.write_text(text + tables + COLUMNS)
        return path

    return written


def priced_of(path: Path) -> PricedRun:
    config = lexfed.config.load(path)
    return price(config, load_population(config, path.parent), path.parent)


MULTIPLIER = 'allocation = "multiplier"\n'
PUBLIC = MULTIPLIER + 'importance_from = "public:public.csv"\n'
PAID = MULTIPLIER + 'importance_from = "paid:bought"\n'


def test_without_importances_nothing_changes(write: Write) -> None:
    found = priced_of(write(MULTIPLIER)).population.importance
    assert found.values == {}
    assert found.source == ""
    stated = write(MULTIPLIER, "\n[budget.importance]\nage = 3.0\n")
    assert priced_of(stated).population.importance.values == {"age": 3.0}


def test_a_public_table_moves_the_budget_to_what_helps(write: Write) -> None:
    plain = priced_of(write(MULTIPLIER))
    priced = priced_of(write(PUBLIC))
    values = priced.population.importance.values
    assert values["dose"] == pytest.approx(values["copy"])
    assert values["dose"] > values["age"] > values["marker"]

    def noise(of: PricedRun, name: str) -> float:
        return next(
            release.noise_multiplier
            for release, _ in of.programme.charges()
            if release.name == name
        )

    assert noise(priced, "tower non_personal") < noise(plain, "tower non_personal")
    assert noise(priced, "tower personal") > noise(plain, "tower personal")
    words = plan_table(priced)
    assert "importance (public:public.csv): dose" in words
    assert priced.joint_epsilon is None


@pytest.mark.parametrize(
    ("kind", "best"),
    [
        ('{ kind = "category", values = ["0", "1", "2"], missing = false }', "dose"),
        ('{ kind = "number", range = [0, 1], missing = false }', "dose"),
    ],
)
def test_public_importances_of_other_targets(
    write: Write, kind: str, best: str
) -> None:
    path = write(PUBLIC)
    flag = '\ny = { kind = "flag", missing = false }'
    model = "logistic" if "category" in kind else "linear"
    text = path.read_text().replace(flag, f"\ny = {kind}")
    path.write_text(f'{text}\n[federation]\nmodel = "{model}"\n')
    values = priced_of(path).population.importance.values
    assert values[best] == max(values.values())


def test_stated_numbers_win_over_a_public_table(write: Write) -> None:
    path = write(PUBLIC, "\n[budget.importance]\nmarker = 9.0\n")
    assert priced_of(path).population.importance.values["marker"] == 9.0


def test_groups_share_the_largest_importance(write: Write) -> None:
    stated = write(PUBLIC, '\n[budget.groups]\npair = ["age", "marker"]\n')
    values = priced_of(stated).population.importance.values
    assert values["age"] == values["marker"]
    found = write(PUBLIC + 'groups_from = "public:public.csv"\n',
                  "\n[budget.importance]\ncopy = 0.1\n")  # fmt: skip
    values = priced_of(found).population.importance.values
    assert values["copy"] == values["dose"] > 1.0


def test_unimportant_columns_are_not_read(write: Write) -> None:
    """Nobody looks at their values. Negative control: without sparsity they matter."""
    path = write(PUBLIC + "sparsity = 0.2\n")
    before = priced_of(path)
    assert before.population.importance.left_out == ("marker",)
    assert before.population.encoding.columns == ("dose", "copy", "age")
    assert Tier.SPECIAL not in before.read_tiers
    assert "left out as unimportant, not read: marker" in plan_table(before)
    claim = before.claim(0)
    assert claim is not None
    assert set(claim.tiers) == {"non_personal", "personal"}
    rows(path.parent / "rows.csv", 400, 1, marker="nonsense")
    result = lexfed.train(path)
    assert result.rounds > 0
    strict = write(PUBLIC)
    rows(path.parent / "rows.csv", 400, 1, marker="nonsense")
    with pytest.raises(lexfed.errors.DataError):
        priced_of(strict)


def test_a_rule_of_a_class_still_reads_what_is_left_out(write: Write) -> None:
    tables = (
        '\n[[budget.classes]]\nname = "c"\nwhere = "marker = true"\nepsilon = 1.0\n'
    )
    priced = priced_of(write(PUBLIC + "sparsity = 0.2\n", tables))
    assert "marker" not in priced.population.encoding.columns
    assert Tier.SPECIAL in priced.read_tiers
    assert {r.reads for r, _ in priced.programme.charges()} == {Tier.SPECIAL}


def test_weights_of_a_released_model_count_in_part(write: Write) -> None:
    path = write("")
    folder = lexfed.train(path).folder
    source = (
        f'{MULTIPLIER}importance_from = "weights:{folder.relative_to(path.parent)}"\n'
    )
    values = priced_of(write(source)).population.importance.values
    assert values["dose"] > values["marker"]
    # Half of the prior stays.
    assert min(values.values()) >= 0.5
    prior = write(source, "\n[budget.importance]\nmarker = 9.0\n")
    assert priced_of(prior).population.importance.values["marker"] >= 4.5


def test_weights_of_a_network_belong_to_columns_too(write: Write) -> None:
    network = '\n[federation]\nmodel = "mlp:4"\nlearning_rate = 0.5\nrounds = 2\n'
    folder = lexfed.train(write("", network)).folder
    source = MULTIPLIER + f'importance_from = "weights:{folder}"\n'
    assert len(priced_of(write(source)).population.importance.values) == 4
    folder = folder.rename(folder.with_name("odd"))
    with pytest.raises(RunFolderError, match="holds no trained model"):
        priced_of(write(source))


def test_a_convolution_has_no_weights_of_columns(write: Write) -> None:
    network = '\n[federation]\nmodel = "cnn"\nlearning_rate = 0.5\nrounds = 1\n'
    folder = lexfed.train(write("", network)).folder
    with pytest.raises(ConfigError, match="do not belong to single columns"):
        priced_of(write(MULTIPLIER + f'importance_from = "weights:{folder}"\n'))


# Paid


def test_paid_importances_and_run_together_keep_the_budget(write: Write) -> None:
    path = write(PAID, "\n[budget.caps]\nspecial = 2.0\n")
    bought = buy_importance(path, 1.0, path.parent / "bought")
    assert bought.claim is not None
    assert bought.claim.epsilon <= 1.0
    assert bought.claim.tiers["special"].epsilon <= 0.5
    priced = priced_of(path)
    spent = priced.population.importance.paid
    both = [*spent, *priced.programme.charges()]
    cost = record_epsilon(both, 1e-5, "add-remove")
    assert priced.joint_epsilon == cost
    assert 3.9 < cost <= 4.0
    assert tier_epsilon(both, Tier.SPECIAL, 1e-5) <= 2.0
    claim = priced.claim(0)
    assert claim is not None
    assert claim.epsilon < 4.0
    assert any("released before" in gap for gap in claim.not_covered)
    assert "together with the importances paid for before" in plan_table(priced)
    values = priced.population.importance.values
    assert values["dose"] > values["marker"]


def test_what_was_bought_is_a_run_that_verifies(write: Write) -> None:
    path = write(PAID, test=False)
    folder = buy_importance(path, 1.0, path.parent / "bought").folder
    report = verify_run(folder)
    assert report.ok
    claim = load_claim((folder / "claim.json").read_bytes())
    names = [row.release.name for row in claim.releases]
    assert names == ["label rate"] + [
        f"importance {tier}" for tier in ("non_personal", "personal", "special")
    ]
    with pytest.raises(RunFolderError, match="already contains a run"):
        buy_importance(path, 1.0, folder)
    again = buy_importance(path, 1.0, folder, resume=True)
    assert again.rounds == 4


def test_seeded_importances_are_for_test_runs_only(write: Write) -> None:
    path = write(PAID)
    buy_importance(path, 1.0, path.parent / "bought")
    with pytest.raises(ConfigError, match="seeded noise"):
        priced_of(write(PAID, test=False))


def test_folders_without_fitting_importances_are_refused(write: Write) -> None:
    path = write(PAID)
    with pytest.raises(RunFolderError, match="holds no finished run"):
        priced_of(path)
    folder = lexfed.train(write("")).folder
    (path.parent / "bought").symlink_to(folder)
    with pytest.raises(ConfigError, match="holds no importances"):
        priced_of(write(PAID))
    (path.parent / "bought").unlink()
    buy_importance(path, 1.0, path.parent / "bought")
    kept = path.parent / "bought" / "claim.json"
    content = kept.read_bytes()
    kept.write_bytes(content + b" ")
    with pytest.raises(ConfigError, match="does not verify: FAIL"):
        priced_of(write(PAID))
    kept.write_bytes(content)
    rows = path.read_text().splitlines(keepends=True)
    path.write_text("".join(row for row in rows if not row.startswith("copy")))
    with pytest.raises(ConfigError, match="other declarations"):
        priced_of(path)


@pytest.mark.parametrize(
    ("budget", "tables", "epsilon", "what"),
    [
        (MULTIPLIER, "", 4.0, "--epsilon"),
        (MULTIPLIER, "", 0.0, "--epsilon"),
        (MULTIPLIER, '\n[privacy]\nmechanism = "none"\n', 1.0, "protects nothing"),
        (MULTIPLIER + 'unit = "client"\n', "", 1.0, "no records to ask"),
        (MULTIPLIER, '\n[[budget.classes]]\nname = "c"\nwhere = "age < 18"\n'
         "epsilon = 1.0\n", 1.0, "would need a share"),
    ],
)  # fmt: skip
def test_importances_are_not_bought_where_they_cannot_be_used(
    write: Write, budget: str, tables: str, epsilon: float, what: str
) -> None:
    path = write(budget, tables)
    with pytest.raises(ConfigError, match=what):
        priced_importance(lexfed.config.load(path), path.parent, epsilon)


def test_names_of_columns_that_no_model_reads_are_refused(write: Write) -> None:
    path = write(PUBLIC, "\n[budget.importance]\ny = 2.0\n")
    with pytest.raises(ConfigError, match="not a column that a model may read"):
        priced_of(path)


@pytest.mark.parametrize("lost", [(2,), (1, 2, 3, 4)])
def test_importances_of_which_rounds_were_lost(
    write: Write, monkeypatch: pytest.MonkeyPatch, lost: tuple[int, ...]
) -> None:
    path = write(PAID)
    folder, real = path.parent / "bought", Logbook.round

    class Stop(Exception):
        """Ends a round between its release and its entry in the log."""

    def round_of(self: Logbook, query: Query, *more: Any) -> None:
        if query.round in lost:
            raise Stop
        real(self, query, *more)

    monkeypatch.setattr(Logbook, "round", round_of)
    for number in range(len(lost)):
        with pytest.raises(Stop):
            buy_importance(path, 1.0, folder, resume=number > 0)
    assert buy_importance(path, 1.0, folder, resume=True).lost == len(lost)
    found = priced_of(path).population.importance
    assert len(found.paid) == 4
    assert [name for name in found.values if found.values[name] == 1.0]
    if len(lost) == 4:
        assert set(found.values.values()) == {1.0}
