# SPDX-License-Identifier: Apache-2.0
"""Where a database is, without what opens it.

    source = "sql:patients"  or  "sql:clinic.patients"      a table or a view
    database = "env:NAME"                   its URL is in an environment variable
    database = "sqlite:///patients.db"      or here, if it has no password in it

A configuration is copied, hashed and logged, so a password can stand in an environment
variable only. What somebody writes in its place is never repeated in a message.

A source is the name of a table or view, not a statement: a statement would put values
of rows into the configuration, and would let whoever writes a shared configuration run
it with the rights of whoever reads the data. A view says the same, and is made by those
who own them.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

SQL = "sql:"
"""Beginning of a source that is a table of a database, not a file."""
ENVIRONMENT = "env:"
DEFAULT_DATABASE = "env:LEXFED_DATABASE"
"""Where the URL is unless a configuration says otherwise, and always at a site."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_SCHEMES = {
    "sqlite": "sqlite", "postgresql": "postgresql", "postgres": "postgresql",
    "postgresql+psycopg": "postgresql",
}  # fmt: skip
_SCHEME = "[A-Za-z][A-Za-z0-9+.]+"
_URL = re.compile(
    rf"(?:{SQL})?(?:{_SCHEME}://|{_SCHEME}:/[^/]*@|(?:sqlite|postgres|mysql|jdbc|https?)"
    r"[A-Za-z0-9+.:]*:/)"
)
_EXAMPLE = (
    'write `database = "env:NAME"` and put the URL into that environment variable'
)


class WrongAddress(ValueError):
    """An address that leads to no database, with a hint; it repeats nothing."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.hint = hint


def is_database_source(source: str) -> bool:
    """Return True if a source is a table of a database."""
    return source.startswith(SQL)


def looks_like_url(source: str) -> bool:
    """Return True for a URL where a source belongs, also as a path shortens it."""
    return _URL.match(source) is not None


def may_hold_password(text: str) -> bool:
    """Return True for a text that could be a URL with a password; show none."""
    return re.search(r"[A-Za-z0-9+.]{2}:/", text) is not None and (
        "@" in text or "?" in text
    )


def require_no_url(source: str) -> None:
    """Raise `WrongAddress` for a URL where a source belongs."""
    if looks_like_url(source):
        what = "a URL where a file or a table belongs"
        hint = "name a table of the database, `sql:TABLE`, and put its URL into "
        hint += "`LEXFED_DATABASE` or another environment variable"
        raise WrongAddress(what, hint)


def require_table_name(source: str) -> tuple[str | None, str]:
    """Return schema, if one is named, and table of a source; or `WrongAddress`."""
    require_no_url(source)
    name = source.removeprefix(SQL)
    schema, dot, table = name.rpartition(".")
    if (
        not table
        or (dot and not schema)
        or "." in schema
        or re.search(r"[\s;()/]", name)
    ):
        what = "expected a table or a view, `sql:TABLE` or `sql:SCHEMA.TABLE`"
        hint = "for rows that a statement selects, make a view of it and name that"
        raise WrongAddress(what, hint)
    return (schema or None), table


def require_stated(database: str) -> None:
    """Raise `WrongAddress` unless a configuration may say this of its database."""
    if database.startswith(ENVIRONMENT):
        if not _NAME.fullmatch(database.removeprefix(ENVIRONMENT)):
            what = "names no environment variable"
            raise WrongAddress(what, "for example `env:LEXFED_DATABASE`")
        return
    parts = _split(database)
    if parts.password is not None or parts.query or parts.fragment:
        what = "has a password or options in it, and a configuration is no secret"
        raise WrongAddress(
            what, f"{_EXAMPLE}; change the password if others have seen it"
        )


@dataclass(frozen=True)
class DatabaseAddress:
    """The kind of a database, and a URL that may hold a password.

    It is shown nowhere: its `repr` has the kind alone. A path of SQLite is absolute.
    """

    kind: str
    url: str
    path: Path | None

    @classmethod
    def of(
        cls, stated: str, base: Path, environment: Mapping[str, str] | None = None
    ) -> "DatabaseAddress":
        """Return the address that is stated, or in the variable that is stated.

        Paths are relative to `base`. `WrongAddress` says what is wrong with it.
        """
        known = os.environ if environment is None else environment
        url = stated
        if stated.startswith(ENVIRONMENT):
            name = stated.removeprefix(ENVIRONMENT)
            if not (url := known.get(name, "").strip()):
                what = f"the environment variable `{name}` is not set"
                hint = (
                    f"set it to the URL of the database: `export {name}=sqlite:///FILE`"
                    ", or `postgresql://USER:PASSWORD@HOST/DATABASE`"
                )
                raise WrongAddress(what, hint)
        parts = _split(url)
        kind = _SCHEMES[parts.scheme]
        if kind == "sqlite":
            return cls(kind, url, base / parts.path.removeprefix("/"))
        return cls(kind, url, None)

    def __repr__(self) -> str:
        return f"DatabaseAddress({self.kind})"


def _split(url: str) -> SplitResult:
    """Return the parts of a URL of a known kind; nothing of it is repeated."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in _SCHEMES:
        what = "is no URL of a database that can be read"
        hint = f"`sqlite:///FILE` and `postgresql://...` can; {_EXAMPLE}"
        raise WrongAddress(what, hint)
    if _SCHEMES[parts.scheme] == "sqlite" and (
        parts.netloc or len(parts.path) < 2 or not url.startswith("sqlite:///")
    ):
        hint = "write `sqlite:///patients.db`, or `sqlite:////absolute/path.db`"
        raise WrongAddress("names no file of SQLite", hint)
    return parts
