# SPDX-License-Identifier: Apache-2.0
"""The number of persons or sites of a run, as far as it is public."""

from lexfed.config.tables.root import Config
from lexfed.errors import ConfigError, Problem


def public_units(
    config: Config, sites: int, counted: int | None, declared: int | None = None
) -> int:
    """Return the public divisor.

    Under replace-one the number of persons is the same for neighbours, so the true
    one may be used. Under add/remove it is private: only a declared one may.

    Args:
        config: the configuration.
        sites: number of sites.
        counted: persons for training at all sites; None where that is private.
        declared: number of persons that comes with the source.

    Raises:
        ConfigError: if no public number is declared.
    """
    if config.budget.unit == "client":
        return sites
    replaced = config.budget.neighbours == "replace-one"
    if replaced and config.data.units is None and counted is not None:
        return max(1, counted)
    units = config.data.units or declared
    if units is None:
        raise ConfigError(
            [
                Problem(
                    "`data.units`",
                    'missing: with `neighbours = "add-remove"` the number of persons '
                    "is itself private",
                    'declare a public `units = ...`, or use "replace-one"',
                )
            ]
        )
    return max(1, round(units * (1.0 - config.data.test_size)))


def check_delta(
    config: Config, sites: int, persons: int, declared: int | None = None
) -> None:
    """Refuse a delta of 1/n or more where n is public but not in the configuration.

    Where the configuration declares n, `lexfed.config` has compared them already.

    Raises:
        ConfigError: if one whole person or site could be published.
    """
    if config.privacy.mechanism == "none":
        return
    if config.budget.unit == "client":
        units, whom = sites, "site"
    elif config.budget.neighbours == "replace-one" or declared is not None:
        units, whom = persons, "person"
    else:
        return
    if config.budget.delta * units >= 1.0:
        what = f"expected below 1/{units}, one over the number of {whom}s"
        hint = f"at 1/{units} one whole {whom} could be published"
        raise ConfigError([Problem("`budget.delta`", what, hint)])
