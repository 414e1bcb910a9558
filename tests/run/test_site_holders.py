# SPDX-License-Identifier: Apache-2.0
"""The holders of a run's data, and the payment of each."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lexfed.config import load
from lexfed.errors import Refused
from lexfed.ledger.verification import verify_ledger
from lexfed.run.api import priced_file, train
from lexfed.run.driver.site_accounts import DataHolder, data_holders
from support.ledger.site_ledgers import (
    PARTS,
    book_of,
    ledgers,
    limited,
    planned,
    writer,
)


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Path]:
    """A writer of configurations beside the data of two sites."""
    return writer(tmp_path)


def test_parts_of_one_file_share_a_ledger(made: Callable[..., Path]) -> None:
    path = made("inprocess", PARTS, 'ledgers = "../shared ledgers"')
    train(path)
    folder = path.parent / "../shared ledgers"
    [file] = folder.glob("*")
    assert file.name.startswith("north-csv-all-parts-")
    expected = planned(priced_file(path, load(path)))
    sums = book_of(folder, "all parts").meters["label:gdp"]
    assert (sums.committed, sums.reserved) == (expected["label:gdp"], 0)


def test_who_holds_the_data(made: Callable[..., Path]) -> None:
    def found(**words: str) -> tuple[DataHolder, ...]:
        path = made(**words)
        return data_holders(priced_file(path, load(path)))

    assert [holder.site for holder in found()] == ["north", "south"]
    assert [holder.data_set for holder in found()] == ["north.csv", "south.csv"]
    [one] = found(source=PARTS)
    assert one == DataHolder("all parts", "north.csv", (0, 1))
    assert found(test="test = true") == ()
    by_column = 'source = "north.csv"\nsites = { column = "ward", names = ["a", "b"] }'
    names = [holder.site for holder in found(source=by_column)]
    assert names == ["a", "b"]


def test_made_data_have_no_ledger(tmp_path: Path, config_text: str) -> None:
    path = tmp_path / "lexfed.toml"
    path.write_text(config_text.replace("test = true", ""))
    train(path)
    assert not (tmp_path / "ledgers").exists()


def test_a_run_without_noise_is_noted_and_exceeds_every_ceiling(
    made: Callable[..., Path],
) -> None:
    more = '\n[privacy]\nmechanism = "none"'
    path = made(more=more)
    train(path)
    folder = path.parent / "ledgers"
    assert book_of(folder, "north").unprotected == 1
    limited(folder, "south", 5.0)
    with pytest.raises(Refused, match="without secret noise exceeds every ceiling"):
        train(made(more=more, name="second"))


def test_a_person_at_two_sites_pays_for_both(made: Callable[..., Path]) -> None:
    path = made(more="")
    folder = path.parent
    for name in ("north", "south"):
        lines = (folder / f"{name}.csv").read_text().splitlines()
        keyed = [f"{line},{n if n else 'key'}" for n, line in enumerate(lines)]
        (folder / f"{name}.csv").write_text("\n".join([*keyed, ""]))
    text = path.read_text().replace(
        "[data]", '[data]\nperson = "key"\nrecords_per_person = 2\nsites_per_person = 2'
    )
    path.write_text(text)
    train(path)
    expected = planned(priced_file(path, load(path)))
    sums = book_of(folder / "ledgers", "north").meters["label:gdp"]
    # Clips twice as long cost four times as much.
    assert sums.committed == pytest.approx(4 * expected["label:gdp"], rel=1e-9)


def test_whole_sites_as_units(made: Callable[..., Path]) -> None:
    path = made("inprocess", more='unit = "client"')
    text = path.read_text().replace("1e-5", "0.1").replace("rounds = 1", "rounds = 3")
    path.write_text(text.replace('neighbours = "replace-one"', ""))
    train(path)
    rows = ledgers(path.parent / "ledgers")["north"].rows()
    commits = [row.body for row in rows if row.kind == "commit"]
    assert len(commits) == train(path, resume=True).rounds
    assert {body["unit"] for body in commits} == {"client"}
    assert commits[0]["cost"]["label:gdp"] == commits[0]["cost"]["label:gdp"]


def test_sites_that_coins_leave_out_pay_too(made: Callable[..., Path]) -> None:
    path = made("inprocess", more='unit = "client"')
    text = path.read_text().replace("1e-5", "0.1").replace("rounds = 1", "rounds = 6")
    text = text.replace('neighbours = "replace-one"', "")
    path.write_text(text + "sampling_rate = 0.5\n")
    result = train(path)
    for ledger in ledgers(path.parent / "ledgers").values():
        commits = [row for row in ledger.rows() if row.kind == "commit"]
        assert len(commits) == result.rounds
        verify_ledger(ledger.database)
        ledger.close()
