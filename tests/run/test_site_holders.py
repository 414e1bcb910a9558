# SPDX-License-Identifier: Apache-2.0
"""The holders of a run's data, and the payment of each."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from lexfed import train
from lexfed.config import load
from lexfed.errors import Refused
from lexfed.ledger.verification import verify_ledger
from lexfed.run.api import priced_file
from lexfed.run.driver.site_accounts import DataHolder, data_holders
from support.ledger.site_ledgers import (
    PARTS,
    book_of,
    ledgers,
    limited,
    planned,
    writer,
)

CLIENTS = {"budget": {"epsilon": 1.0, "delta": 0.1, "unit": "client"}}


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Path]:
    """A writer of configurations beside the data of two sites."""
    return writer(tmp_path)


def test_parts_of_one_file_share_a_ledger(made: Callable[..., Path]) -> None:
    path = made("inprocess", {**PARTS, "budget.ledgers": "../shared ledgers"})
    train(path)
    folder = path.parent / "../shared ledgers"
    [file] = folder.glob("*")
    assert file.name.startswith("north-csv-all-parts-")
    expected = planned(priced_file(path, load(path)))
    sums = book_of(folder, "all parts").meters["label:gdp"]
    assert (sums.committed, sums.reserved) == (expected["label:gdp"], 0)


def test_who_holds_the_data(made: Callable[..., Path]) -> None:
    def found(changes: Mapping[str, object]) -> tuple[DataHolder, ...]:
        path = made(changes=changes)
        return data_holders(priced_file(path, load(path)))

    assert [holder.site for holder in found({})] == ["north", "south"]
    assert [holder.data_set for holder in found({})] == ["north.csv", "south.csv"]
    [one] = found(PARTS)
    assert one == DataHolder("all parts", "north.csv", (0, 1))
    assert found({"run.test": True}) == ()
    by_column = {**PARTS, "data.sites": {"column": "ward", "names": ["a", "b"]}}
    names = [holder.site for holder in found(by_column)]
    assert names == ["a", "b"]


def test_made_data_have_no_ledger(tmp_path: Path, config_text: str) -> None:
    path = tmp_path / "lexfed.toml"
    path.write_text(config_text.replace("test = true", ""))
    train(path)
    assert not (tmp_path / "ledgers").exists()


def test_a_run_without_noise_is_noted_and_exceeds_every_ceiling(
    made: Callable[..., Path],
) -> None:
    unprotected = {"privacy.mechanism": "none"}
    path = made(changes=unprotected)
    train(path)
    folder = path.parent / "ledgers"
    assert book_of(folder, "north").unprotected == 1
    limited(folder, "south", 5.0)
    with pytest.raises(Refused, match="without secret noise exceeds every ceiling"):
        train(made(changes=unprotected, name="second"))


def test_a_person_at_two_sites_pays_for_both(made: Callable[..., Path]) -> None:
    keys = {"person": "key", "records_per_person": 2, "sites_per_person": 2}
    path = made(changes={f"data.{key}": value for key, value in keys.items()})
    folder = path.parent
    for name in ("north", "south"):
        lines = (folder / f"{name}.csv").read_text().splitlines()
        keyed = [f"{line},{n if n else 'key'}" for n, line in enumerate(lines)]
        (folder / f"{name}.csv").write_text("\n".join([*keyed, ""]))
    train(path)
    expected = planned(priced_file(path, load(path)))
    sums = book_of(folder / "ledgers", "north").meters["label:gdp"]
    # Clips twice as long cost four times as much.
    assert sums.committed == pytest.approx(4 * expected["label:gdp"], rel=1e-9)


def test_whole_sites_as_units(made: Callable[..., Path]) -> None:
    path = made("inprocess", {**CLIENTS, "federation.rounds": 3})
    train(path)
    rows = ledgers(path.parent / "ledgers")["north"].rows()
    commits = [row.body for row in rows if row.kind == "commit"]
    assert len(commits) == train(path, resume=True).rounds
    assert {body["unit"] for body in commits} == {"client"}
    assert commits[0]["cost"]["label:gdp"] == commits[0]["cost"]["label:gdp"]


def test_sites_that_coins_leave_out_pay_too(made: Callable[..., Path]) -> None:
    sampled = {"federation.rounds": 6, "federation.sampling_rate": 0.5}
    path = made("inprocess", {**CLIENTS, **sampled})
    result = train(path)
    for ledger in ledgers(path.parent / "ledgers").values():
        commits = [row for row in ledger.rows() if row.kind == "commit"]
        assert len(commits) == result.rounds
        verify_ledger(ledger.database)
        ledger.close()
