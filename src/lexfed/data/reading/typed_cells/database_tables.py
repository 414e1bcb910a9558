# SPDX-License-Identifier: Apache-2.0
"""Tables and views of a database to frames, by SQLAlchemy (extra `sql`).

Rows are selected by one statement, in a transaction that cannot write, and are fetched
in batches. They come in the order of the table's primary key, else of the columns that
are read: a database promises none, and a run that is continued must find everybody in
the same place.

Messages of a driver hold addresses, names of users and values of cells: none is shown.
"""

import sqlite3
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from lexfed.data.file_format import FileFormat
from lexfed.data.problems import Problems
from lexfed.data.reading.column_names import check_names
from lexfed.data.reading.frames import Frame, RawColumn
from lexfed.data.reading.typed_cells.cell_columns import (
    column_of_cells,
    joined_columns,
)
from lexfed.data.reading.typed_cells.database_address import (
    DEFAULT_DATABASE,
    DatabaseAddress,
    WrongAddress,
    require_table_name,
)
from lexfed.plain_files import plain_or_link

_BATCH = 5_000
"""Rows whose cells are in memory at once."""
_PATIENCE_S = 10


@dataclass(frozen=True)
class DatabaseTable:
    """A table or view of a database, `sql:TABLE`.

    Attributes:
        name: the source as it is stated.
        database: where the database is, as `database_address` has it.
        base: the folder that paths are relative to.
    """

    name: str
    database: str = DEFAULT_DATABASE
    base: Path = field(default_factory=Path)

    def __str__(self) -> str:
        return self.name

    def read(
        self,
        wanted: Collection[str] | None,
        problems: Problems,
        written: FileFormat,
        most: int | None = None,
    ) -> Frame | None:
        """Return the wanted columns (all that have a name for None), or note problems.

        Of a table with more rows than `most` the first ones are read.
        """
        note = partial(problems.add, file=self.name)
        try:
            import sqlalchemy
        except ImportError:
            hint = 'pip install "lexfed[sql]"'
            note("file-library", "needs SQLAlchemy to be read", hint=hint)
            return None
        try:
            address = DatabaseAddress.of(self.database, self.base)
            with _connected(address) as connection:
                return self._frame(connection, wanted, problems, written, most)
        except WrongAddress as error:
            note("database", str(error), hint=error.hint)
        except OSError as error:
            reason = (error.strerror or "cannot be read").lower()
            note("database", f"its file of SQLite: {reason}")
        except (sqlalchemy.exc.SQLAlchemyError, ValueError, OverflowError) as error:
            what = "the database could not be read"
            if isinstance(error, sqlalchemy.exc.OperationalError):
                what = "the database could not be opened or read"
            hint = (
                "read the table with `psql` or `sqlite3`: the reason is not shown "
                "here, since such messages hold addresses and values"
            )
            note("database", what, hint=hint)
        except ImportError:
            what = "PostgreSQL needs psycopg to be read"
            note("file-library", what, hint='pip install "lexfed[sql]"')
        return None

    def _frame(
        self,
        connection: Any,
        wanted: Collection[str] | None,
        problems: Problems,
        written: FileFormat,
        most: int | None,
    ) -> Frame | None:
        found = self._columns(connection, problems)
        if found is None:
            return None
        schema, table, types = found
        names = check_names(list(types), wanted, self.name, problems, noun="table")
        names = _single_valued(names, types, self.name, problems, of_all=wanted is None)
        if not names or len(set(names)) < len(names):
            return None
        statement = _statement(connection, schema, table, names, types, most)
        parts: list[list[RawColumn]] = [[] for _ in names]
        rows = 0
        streamed = connection.execution_options(yield_per=_BATCH).execute(statement)
        for batch in streamed.partitions():
            rows += len(batch)
            for place, part in enumerate(parts):
                part.append(column_of_cells(row[place] for row in batch))
        columns = {
            name: joined_columns(part or [column_of_cells([])])
            for name, part in zip(names, parts, strict=True)
        }
        ignored = tuple(name for name in types if name not in columns)
        numbers = np.arange(1, rows + 1, dtype=np.int64)
        return Frame(self.name, columns, numbers, ignored, written)

    def _columns(
        self, connection: Any, problems: Problems
    ) -> tuple[str | None, str, dict[str, Any]] | None:
        """Return schema, table, and the columns with their types."""
        import sqlalchemy

        schema, table = require_table_name(self.name)
        inspector = sqlalchemy.inspect(connection)
        if schema is not None and schema not in inspector.get_schema_names():
            what, hint = f"there is no schema `{schema}`", "a name has no quotes"
            problems.add("file-not-found", what, file=self.name, hint=hint)
            return None
        if not inspector.has_table(table, schema=schema):
            what = f"there is no table or view `{table}` that this user can see"
            hint = "names are as the database has them, without quotes"
            problems.add("file-not-found", what, file=self.name, hint=hint)
            return None
        columns = inspector.get_columns(table, schema=schema)
        return schema, table, {each["name"]: each["type"] for each in columns}


@contextmanager
def _connected(address: DatabaseAddress) -> Iterator[Any]:
    """Open a transaction in which nothing can be written."""
    import sqlalchemy

    if address.path is not None:
        engine = _sqlite(address.path)
    else:
        url = sqlalchemy.make_url(address.url).set(drivername="postgresql+psycopg")
        engine = sqlalchemy.create_engine(
            url,
            poolclass=sqlalchemy.NullPool,
            hide_parameters=True,
            connect_args={"connect_timeout": _PATIENCE_S},
        )
    with warnings.catch_warnings():
        # Of types that SQLAlchemy does not know; such a column is `other`.
        warnings.simplefilter("ignore")
        with closing(engine.connect()) as plain:
            if address.path is not None:
                yield plain
                return
            connection = plain.execution_options(
                isolation_level="REPEATABLE READ", postgresql_readonly=True
            )
            # A moment with a time zone is the same moment for every reader.
            connection.execute(sqlalchemy.text("SET LOCAL TIME ZONE 'UTC'"))
            yield connection


def _sqlite(path: Path) -> Any:
    import sqlalchemy

    # The library would wait for a pipe, and make a file that is not there.
    open(path, "rb", opener=plain_or_link).close()
    name = f"file:{quote(str(path.resolve()))}?mode=ro"

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(name, uri=True, timeout=_PATIENCE_S)
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        return connection

    return sqlalchemy.create_engine(
        "sqlite://",
        creator=connect,
        poolclass=sqlalchemy.NullPool,
        hide_parameters=True,
    )


def _single_valued(
    names: Sequence[str],
    types: dict[str, Any],
    source: str,
    problems: Problems,
    *,
    of_all: bool,
) -> list[str]:
    """Return the columns that have cells, by their declared types; note the others."""
    from sqlalchemy import ARRAY, JSON
    from sqlalchemy.dialects.postgresql import HSTORE

    nested = [name for name in names if isinstance(types[name], ARRAY | JSON | HSTORE)]
    for name in nested:
        held = "lists" if isinstance(types[name], ARRAY) else "structures"
        hint = "make a view that has each part of it as a column of its own"
        if of_all:
            hint += ", or one without this column"
        what = f"holds {held}, not single values"
        problems.add("column-nested", what, file=source, column=name, hint=hint)
    return [name for name in names if name not in nested]


def _statement(
    connection: Any,
    schema: str | None,
    table: str,
    names: Sequence[str],
    types: dict[str, Any],
    most: int | None,
) -> Any:
    """Return the statement; columns have no type, so that cells come as they are."""
    import sqlalchemy

    key = sqlalchemy.inspect(connection).get_pk_constraint(table, schema=schema)
    any_type = connection.dialect.name == "sqlite"
    order = key["constrained_columns"] or [
        name for name in names if any_type or _has_order(types[name])
    ]
    known = dict.fromkeys((*names, *order))
    rows = sqlalchemy.table(table, *map(sqlalchemy.column, known), schema=schema)
    statement = sqlalchemy.select(*(rows.c[name] for name in names))
    return statement.order_by(*(rows.c[name] for name in order)).limit(most)


def _has_order(kind: Any) -> bool:
    import sqlalchemy as sa

    ordered = (
        sa.Numeric, sa.Float, sa.Integer, sa.String, sa.Boolean, sa.Date, sa.DateTime,
        sa.Time, sa.Uuid, sa.Interval,
    )  # fmt: skip
    return isinstance(kind, ordered)
