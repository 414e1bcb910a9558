# SPDX-License-Identifier: Apache-2.0
"""Sources that come with lexfed or scikit-learn, by name.

They bring their own schema and tags, so a run on them needs no declarations.
"""

import inspect
from collections.abc import Callable
from difflib import get_close_matches

from lexfed.data.builtin.bank import bank
from lexfed.data.builtin.declarations import BuiltinSource
from lexfed.data.builtin.hospital import hospital
from lexfed.data.builtin.scikit_learn_sets import breast_cancer, diabetes
from lexfed.errors import ConfigError, Problem

_SOURCES: dict[str, Callable[..., BuiltinSource]] = {
    "synthetic:hospital": hospital,
    "synthetic:bank": bank,
    "sklearn:breast_cancer": breast_cancer,
    "sklearn:diabetes": diabetes,
}
BUILTIN_NAMES = tuple(_SOURCES)


def is_builtin(source: str) -> bool:
    """Return True if a source names a built-in one, known or not, and not a file."""
    return source.startswith(("synthetic:", "sklearn:"))


def load_builtin(name: str, **params: int) -> BuiltinSource:
    """Return a built-in source.

    Args:
        name: one of `BUILTIN_NAMES`.
        params: `seed`, `sites`, and `patients` or `clients` of a synthetic source.

    Raises:
        ConfigError: if there is no such source or parameter, or its value is wrong.
    """
    if name not in _SOURCES:
        near = get_close_matches(name, BUILTIN_NAMES, n=1)
        listed = ", ".join(f"`{known}`" for known in BUILTIN_NAMES)
        hint = f"did you mean `{near[0]}`?" if near else f"known: {listed}"
        raise ConfigError([Problem("source", f"no built-in source `{name}`", hint)])
    make = _SOURCES[name]
    known_params = inspect.signature(make).parameters
    unknown = [param for param in params if param not in known_params]
    if unknown:
        hint = "known: " + (", ".join(f"`{p}`" for p in known_params) or "none")
        raise ConfigError(
            [Problem(f"source `{name}`", f"no parameter `{p}`", hint) for p in unknown]
        )
    try:
        return make(**params)
    except ValueError as error:
        raise ConfigError([Problem(f"source `{name}`", str(error))]) from error
