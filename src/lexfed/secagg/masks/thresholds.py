# SPDX-License-Identifier: Apache-2.0
"""Thresholds for opening a secret when the server itself may lie.

A malicious server may tell some sites that a victim is present and others that it is
gone, to collect shares of both of its secrets. Of n sites c collude and give both
kinds; the n - c honest ones give one kind each. To have t of both kinds it needs
2t <= (n - c) + 2c, so 2t > n + c keeps every update masked [BIK+17]. The smallest
such t leaves most room for sites that drop out. There is no weaker variant here for
servers that only listen: nobody can check that one only listens.
"""

from dataclasses import dataclass
from typing import Self

from lexfed.checks import in_range
from lexfed.errors import ConfigError, Problem


@dataclass(frozen=True)
class Threshold:
    """The number of n shares that open a secret, and the collusion it withstands.

    Attributes:
        sites: how many sites hold shares of one secret, itself included.
        colluders: how many of them may work with the server.
        shares: how many shares open a secret; t.
    """

    sites: int
    colluders: int
    shares: int

    @classmethod
    def malicious(cls, sites: int, colluders: int, dropouts: int = 0) -> Self:
        """Return the smallest threshold that a malicious server cannot get round.

        Args:
            sites: how many sites hold shares of one secret, itself included.
            colluders: how many of them may work with the server.
            dropouts: how many of them may be lost without losing the round.

        Guarantees:
            2t > sites + colluders, and no smaller t has it.
            At least two honest sites are in every sum that can be opened.

        Raises:
            ConfigError: if so few sites cannot withstand that much.
        """
        in_range(0, sites, colluders=colluders, dropouts=dropouts)
        if sites - colluders < 2:
            raise _refused(
                f"{_count(colluders, 'colluder')} among {_count(sites, 'site')} would "
                "leave no two honest ones, and a sum of one is that one",
                f"ask for at most {_count(max(sites - 2, 0), 'colluder')}",
            )
        shares = (sites + colluders) // 2 + 1
        if sites - shares < dropouts:
            raise _refused(_survives(sites, dropouts), "ask for less, or enrol more")
        return cls(sites, colluders, shares)

    @property
    def dropouts(self) -> int:
        """Most sites that may be lost: n - t."""
        return self.sites - self.shares

    @property
    def honest(self) -> int:
        """Fewest honest sites in every sum that can be opened: t - c."""
        return self.shares - self.colluders


def _survives(sites: int, dropouts: int) -> str:
    # n - t >= d with t = floor((n + c) / 2) + 1 says c <= n - 2d - 1.
    colluders = sites - 2 * dropouts - 1
    if colluders < 0:
        most = _count((sites - 1) // 2, "dropout")
        return f"{_count(sites, 'site')} survive at most {most}, without a colluder"
    among = _count(colluders, "colluder")
    only = f"at most {among}" if colluders else "no colluder"
    lost = _count(dropouts, "dropout")
    return f"{_count(sites, 'site')} survive {lost} only with {only}"


def _count(number: int, noun: str) -> str:
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")
    name = words[number] if number < len(words) else str(number)
    return f"{name} {noun}" if number == 1 else f"{name} {noun}s"


def _refused(what: str, hint: str) -> ConfigError:
    return ConfigError([Problem("secure aggregation", what, hint)])
