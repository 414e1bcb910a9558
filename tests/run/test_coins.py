# SPDX-License-Identifier: Apache-2.0
"""Nobody's place depends on who else is there: coins are secret, and of one run."""

import stat
from pathlib import Path

import numpy as np
import pytest

import lexfed
from lexfed.config import load
from lexfed.data.people.lots import LotKeys
from lexfed.errors import ConfigError, RunFolderError
from lexfed.run import Population, load_population, price, resume, start, train
from lexfed.run.folder import COINS
from lexfed.run.intake.population import read_coins, write_coins
from lexfed.run.intake.public_facts import public_facts
from support.configurations import columns, configuration

_ROWS: dict[str, object] = {
    "run": {"name": "rows"},
    "data": {"source": "rows.csv", "target": "ill", "units": 60, "test_size": 0.4},
    "data.sites": {"count": 3},
    **columns({"age": ("personal", [0, 100]), "ill": ("special", "flag")}),
    "law.jurisdictions": ["gdpr"],
    "budget": {"epsilon": 4.0, "delta": 1e-3},
}
ROWS = configuration(_ROWS)
KNOWN_SIZES = {**_ROWS, "budget.neighbours": "replace-one"}
BY_LABEL = {"count": 3, "partition": "dirichlet", "alpha": 0.5}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A configuration without a person column, and its sixty rows."""
    path = tmp_path / "lexfed.toml"
    path.write_text(ROWS)
    rows = [f"{age},{age % 2}" for age in range(20, 80)]
    (tmp_path / "rows.csv").write_text("\n".join(["age,ill", *rows]) + "\n")
    return path


def places(population: Population) -> dict[tuple[str, str], set[float]]:
    """Return the places of persons, by their age."""
    return {
        (site.name, side): set(np.round(block.inputs[:, 0, 0], 6).tolist())
        for site in population.sites
        for side, block in (("train", site.train), ("test", site.test))
    }


def test_every_run_has_coins_of_its_own(file: Path) -> None:
    config = load(file)
    one, other = (load_population(config, file.parent) for _ in range(2))
    assert one.coins is not None
    assert one.coins.private
    assert one.coins != other.coins
    # Sixty persons at three sites and two sides: the same by chance in (1/6)^60.
    assert places(one) != places(other)
    again = load_population(config, file.parent, one.coins)
    assert places(again) == places(one)


def test_seeded_runs_have_the_same_coins(file: Path) -> None:
    file.write_text(configuration({**_ROWS, "run.test": True}))
    config = load(file)
    one, other = (load_population(config, file.parent) for _ in range(2))
    assert places(one) == places(other)
    assert one.coins == LotKeys.seeded(config.run.seed)
    assert not one.coins.private
    folder = lexfed.train(file).folder
    assert not (folder / COINS).exists()


def test_coins_are_their_owners_alone_and_stay_for_a_continued_run(file: Path) -> None:
    def stop(report: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lexfed.train(file, on_round=stop)
    config = load(file)
    folder = file.parent / "runs" / "rows"
    kept = folder / COINS
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    secret = kept.read_bytes()
    coins = read_coins(folder, config)
    assert coins is not None
    assert coins.private
    for path in folder.rglob("*"):
        if path.is_file() and path != kept:
            content = path.read_bytes()
            for half in (secret[:32], secret[32:]):
                assert half not in content
                assert half.hex().encode() not in content
    priced = price(config, load_population(config, file.parent, coins), file.parent)
    opened = resume(priced, folder, ROWS, file.parent)
    opened.close()
    lexfed.train(file, resume=True)
    assert kept.read_bytes() == secret


def test_other_coins_do_not_continue_a_run(file: Path) -> None:
    config = load(file)
    priced = price(config, load_population(config, file.parent), file.parent)
    folder = file.parent / "runs" / "rows"
    start(priced, folder, ROWS, file.parent).close()
    other = price(config, load_population(config, file.parent), file.parent)
    with pytest.raises(RunFolderError, match="other coins"):
        resume(other, folder, ROWS, file.parent)
    (folder / COINS).write_bytes(b"short")
    with pytest.raises(RunFolderError, match="missing or damaged"):
        lexfed.train(file, resume=True)
    (folder / COINS).unlink()
    with pytest.raises(RunFolderError, match="missing or damaged"):
        read_coins(folder, config)


def test_a_run_that_never_began_has_no_coins_yet(file: Path) -> None:
    assert read_coins(file.parent / "nowhere", load(file)) is None


def test_seeded_coins_are_for_experiments(file: Path) -> None:
    config = load(file)
    population = load_population(config, file.parent, LotKeys.seeded(0))
    with pytest.raises(ValueError, match="seeded coins"):
        start(price(config, population), file.parent / "out", ROWS, file.parent)
    with pytest.raises(ValueError, match="seeded coins"):
        write_coins(file.parent, LotKeys.seeded(0), config)


@pytest.mark.parametrize(
    ("key", "table"),
    [
        ("federation.weighting", '[federation]\nweighting = "sites"\n'),
        ("budget.profiles", '[budget.profiles.a]\nsites = ["site-1"]\nepsilon = 1.0\n'),
        ("budget.clients", "[budget.clients]\ntotal = 6.0\nlow = 1.0\nhigh = 3.0\n"),
    ],
)
def test_sites_by_label_are_all_alike(file: Path, key: str, table: str) -> None:
    even = {**KNOWN_SIZES, "federation": None}
    file.write_text(configuration(even) + table)
    load(file)
    file.write_text(configuration({**even, "data.sites": BY_LABEL}) + table)
    with pytest.raises(ConfigError, match=f"`{key}` does not go with"):
        load(file)


def test_sizes_of_sites_by_label_are_not_public(file: Path) -> None:
    unknown = {**KNOWN_SIZES, "data.units": None}
    file.write_text(configuration({**unknown, "data.sites": BY_LABEL}))
    config = load(file)
    population = load_population(config, file.parent)
    facts = public_facts(config, population, ())
    assert facts.site_units == (population.units / 3,) * 3
    file.write_text(configuration(unknown))
    facts = public_facts(load(file), population, ())
    assert facts.site_units == tuple(float(len(s.train)) for s in population.sites)


def test_a_run_trains_with_its_own_coins(file: Path) -> None:
    config = load(file)
    priced = price(config, load_population(config, file.parent), file.parent)
    folder = file.parent / "runs" / "rows"
    opened = start(priced, folder, ROWS, file.parent)
    train(priced, opened)
    assert read_coins(folder, config) == priced.population.coins
