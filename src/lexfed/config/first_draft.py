# SPDX-License-Identifier: Apache-2.0
"""Write a first `lexfed.toml`: everything that can be guessed, and nothing more.

Ranges, categories, tiers and their reasons are decisions. A scaffold marks each with
`"?"`, and `lexfed check` lists the marks that are left, with a hint for each. Nothing
in it is taken from the values of a table, only from its header and guessed kinds.
"""

import re
from collections.abc import Iterable
from pathlib import PurePath

from lexfed.config.text.wording import dotted, quoted
from lexfed.data.schema import ColumnKind

_HEAD = """\
# lexfed.toml: everything that decides a run. Every key: docs/reference/configuration.md
#
# Each "?" is a decision that only you can take. `lexfed check` lists those left.
version = 1

[run]
name = {name}
# out = {out}            # the run folder; created, never overwritten
# seed = 0               # start of training; noise always uses a secure generator

[data]
source = {source}
target = "?"             # the column to predict
# person = "patient_id"  # the column that says whom a row is about; without it
#                        # each row counts as a person of its own
# records_per_person = 1 # with `person`: at most so many rows of one person
units = "?"              # a public number of persons, not counted from the data;
#                        # not needed with `neighbours = "replace-one"`, see [budget]
sites = "?"              # {{ column = "hospital", names = ["north", "south"] }}: all
#                        # sites there are, from public knowledge; or
#                        # {{ files = ["north.csv", "south.csv"] }}, {{ count = 8 }}
test_size = 0.2

# What anyone may know about a column without seeing the data. Kinds are guesses.
# Ranges and categories must be public knowledge: those of your data would leak. Where
# nobody knows them leave the "?": `lexfed profile` learns them, with noise, at a price.
# Remove a column that no model should read.
[data.columns]
"""

_LAW = """
[law]
jurisdictions = ["gdpr"]

# How sensitive each column is, and why. `special` is for health, religion, ethnicity
# and the like (GDPR Art. 9); `identifier` never enters a model. `lexfed tag` says what
# each column looks like and why; `lexfed tag --accept` writes that here.
[law.columns]
"""

_TAIL = """
[budget]
epsilon = 2.0            # what the whole run may cost one person; smaller is safer
delta = 1e-6             # well below one over the number of persons
unit = "record"          # whom the guarantee is about: "record" or "client" (a site)
neighbours = "add-remove" # with and without a person, so their number is private.
#                        # "replace-one": a person replaced by another; about twice as
#                        # strict, makes the number public and needs no `units`

# The most that a column of a tier may cost by itself (one value replaced).
[budget.caps]
special = 0.3
personal = 1.2

[privacy]
mechanism = "cascade"    # "cascade", "grouped", "uniform" or "none"
trust = "central"        # who adds the noise: "central" (the coordinator), "local"
#                        # (each site all of it), "distributed" (each site a share, and
#                        # nobody sees a single sum; needs `accountant = "rdp"`)

[federation]
model = "logistic"       # "linear" for numbers, "mlp:64,32", "cnn", "module:factory"

[evaluation]
metrics = "uncovered"    # metrics on test rows are outside the claim; "public": these
#                        # rows may be known to everyone; "paid": from the budget
"""

_COLUMN = {
    "number": '{ kind = "number", range = "?" }',
    "category": '{ kind = "category", values = "?" }',
    "flag": '{ kind = "flag" }',
    "text": '{ kind = "text" }',
}

_DEMO = """\
# A run on synthetic patients: columns, ranges and tiers come with the generator.
version = 1

[run]
name = "demo"
out = {out}
seed = {seed}

[data]
source = "synthetic:hospital"
test_size = 0.2

[data.generator]
patients = 6000
sites = 8

[budget]
epsilon = 2.0            # the whole record of a patient, over the entire run
delta = 1e-6

[budget.caps]            # one value of one column of a tier
special = 0.3
personal = 1.2

[privacy]
mechanism = "cascade"

[federation]
model = "logistic"
engine = "inprocess"     # every hospital answers, and signs, for itself
"""


def scaffold(source: str, columns: Iterable[tuple[str, ColumnKind]]) -> str:
    """Return a commented `lexfed.toml` for a table.

    Args:
        source: the table's file, as it should stand in the configuration.
        columns: names from the header, in order, with guessed kinds.

    Guarantees:
        The text is valid TOML and names every column once, whatever its name; columns
            without a name are left out.
        It does not pass `lexfed check` before every `"?"` is replaced.
    """
    kinds = {column: kind for column, kind in columns if column}
    name = _run_name(source)
    head = _HEAD.format(
        name=quoted(name), out=quoted(f"runs/{name}"), source=quoted(source)
    )
    declared = "".join(f"{dotted((n,))} = {_COLUMN[k]}\n" for n, k in kinds.items())
    tagged = "".join(
        f'{dotted((n,))} = {{ tier = "?", reason = "?" }}\n' for n in kinds
    )
    return head + declared + _LAW + tagged + _TAIL


def _run_name(source: str) -> str:
    """Return a name for the run made of the characters that a name may have."""
    stem = PurePath(source).name.partition(".")[0]
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("._-")
    return name[:64] or "run"


def demo_config(out: str = "runs/demo", seed: int = 7) -> str:
    """Return the configuration of `lexfed demo`."""
    return _DEMO.format(out=quoted(out), seed=seed)
