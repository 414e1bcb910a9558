# SPDX-License-Identifier: Apache-2.0
"""The division of rows among sites.

Real sites come from a key column or from one file per site. The other two divide one
table to simulate a federation: `partition_iid` deals persons out at random,
`partition_dirichlet` gives every site its own mix of labels. Both keep all rows of a
person together, and neither lets one person's presence move another person to another
site. A site may be empty: to fill it, or to refuse, would tell who is there.

`partition_dirichlet` looks at a person's own label, for experiments only. A person
with another label may be elsewhere, so how many are at each site is not public there,
not even under replace-one.
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lexfed.arrays import Integers
from lexfed.data.encoding import encode_target
from lexfed.data.people.lots import LotKeys, draw_lots
from lexfed.data.problems import refuse
from lexfed.data.reading.typed_cells.database_address import SQL, is_database_source
from lexfed.data.table import Table
from lexfed.errors import ConfigError, Problem
from lexfed.terms import FRAME
from lexfed.visible_text import hidden_in, visible

_REGRESSION_BINS = 4


@dataclass(frozen=True)
class Partition:
    """Sites by name, and for each the positions of its rows in ascending order.

    A name with characters that do not show raises `DataError`.
    """

    names: tuple[str, ...]
    rows: tuple[Integers, ...]

    def __post_init__(self) -> None:
        for name in self.names:
            if hidden_in(name):
                raise refuse(
                    "site-hidden",
                    f"site `{visible(name)}` has the hidden character "
                    f"`{hidden_in(name)}` in its name",
                    hint="rename the site: people decide by names, so they must show",
                )

    def codes(self, length: int) -> Integers:
        """Return for each row of a table the code of its site, -1 for none."""
        codes = np.full(length, -1, dtype=np.int64)
        for code, rows in enumerate(self.rows):
            codes[rows] = code
        return codes

    def keep(self, rows: Integers) -> "Partition":
        """Return the partition of some of the rows, such as those for training."""
        largest = max((int(site[-1]) for site in self.rows if len(site)), default=-1)
        is_kept = np.zeros(largest + 1, dtype=bool)
        is_kept[rows[rows <= largest]] = True
        return Partition(self.names, tuple(site[is_kept[site]] for site in self.rows))

    def of(self, codes: Integers) -> "Partition":
        """Return the same sites with other rows, from the code of each row's site."""
        return _grouped(codes, self.names)


def partition_by_column(table: Table, names: Sequence[str]) -> Partition:
    """Return the declared sites, with the rows whose site key names them.

    Rows of other sites are at none: which sites there are is not read from the data.
    """
    place = {name: code for code, name in enumerate(names)}
    known = np.array([place.get(name, -1) for name in table.site_names], dtype=np.int64)
    return _grouped(known[table.sites], tuple(names))


def partition_by_files(table: Table) -> Partition:
    """Return one site for each source, named after it: a file or a data frame."""
    of_files = table.file_sources or table.files
    sources = list(dict.fromkeys(of_files))
    stems = [_stem(source) for source in sources]
    unique = stems if len(set(stems)) == len(stems) else sources
    places = np.array([sources.index(each) for each in of_files], dtype=np.int64)
    return _grouped(places[table.file_codes], tuple(unique))


def _stem(file: str) -> str:
    if file.startswith(FRAME):
        return file.removeprefix(FRAME)
    if is_database_source(file):
        return file.removeprefix(SQL).rpartition(".")[2]
    name = file.replace("\\", "/").rsplit("/", 1)[-1]
    return re.sub(r"[-_ ]*[*?][-_ ]*", "", name.split(".", 1)[0]) or name


def partition_iid(table: Table, count: int, coins: LotKeys) -> Partition:
    """Return a partition that gives every person a site at random.

    Guarantees:
        A person's site depends on the person's key, `count` and `coins` only.
    """
    _check_count(count)
    lots = draw_lots(coins.sites, table.person_keys)
    return _dealt(table, np.floor(lots * count).astype(np.int64), count)


def partition_dirichlet(
    table: Table,
    count: int,
    alpha: float,
    coins: LotKeys,
    generator: np.random.Generator,
) -> Partition:
    """Return a partition in which every site has its own mix of labels, to simulate.

    For each label the `generator` draws the shares of the sites from
    Dirichlet(alpha, ..., alpha): the smaller alpha, the more the sites differ. A
    person's label is that of the first row; a number is cut in four equal parts of
    its declared range.

    Guarantees:
        A person's site depends on the person's own key and label, and on what was
        drawn without looking at the data.
    """
    if not alpha > 0:
        raise ConfigError([Problem("sites", f"expected `alpha` > 0, got: {alpha}")])
    _check_count(count)
    labels = encode_target(table)
    kinds = len(table.schema.classes) or _REGRESSION_BINS
    if table.schema.task == "regression":
        labels = np.clip(np.floor((labels + 1.0) / 2.0 * kinds), 0.0, kinds - 1.0)
    # Shares for every declared label, so that the draws do not depend on the data.
    shares = generator.dirichlet(np.full(count, alpha), size=kinds)
    ends = np.cumsum(shares, axis=1)[:, :-1]
    present, first = np.unique(table.persons, return_index=True)
    lots = draw_lots(coins.sites, table.person_keys)
    sites = np.zeros(len(table.person_keys), dtype=np.int64)
    label_of = labels[first].astype(np.int64)
    sites[present] = (lots[present, None] >= ends[label_of]).sum(axis=1)
    return _dealt(table, sites, count)


def _dealt(table: Table, site_of: Integers, count: int) -> Partition:
    width = len(str(count))
    names = tuple(f"site-{number:0{width}d}" for number in range(1, count + 1))
    return _grouped(site_of[table.persons], names)


def _check_count(count: int) -> None:
    if count < 1:
        raise ConfigError([Problem("sites", f"expected `count` >= 1, got: {count}")])


def _grouped(codes: Integers, names: tuple[str, ...]) -> Partition:
    # One sort for all sites: a look through all rows for each of 100,000 takes minutes.
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(len(names) + 1))
    rows = tuple(order[start:end] for start, end in itertools.pairwise(ends))
    return Partition(names, rows)
