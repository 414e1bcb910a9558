# SPDX-License-Identifier: Apache-2.0
"""Limits on the size of a run between organisations, checked before any consent.

A site computes the whole programme and reads the whole model in every query. A run that
no machine could hold, or no message carry, is refused in words by the first reader of
the configuration, and not by an error in the middle of a run.
"""

from collections.abc import Iterator

from lexfed.config import Config
from lexfed.config.rules.training import network_weights
from lexfed.data.encoding import Encoding
from lexfed.errors import ConfigError, Problem

MOST_ROUNDS = 10_000
"""Most rounds of a tower: each is a few hundred bytes of the compared programme."""
MOST_WEIGHTS = 10_000_000
"""Most weights of a model: 80 MB in every query, for each tower."""
MOST_PROGRAMME = 1 << 23
"""Bytes of a programme that a site reads."""


def size_problems(config: Config) -> Iterator[Problem]:
    """Yield the excesses of a configuration, whatever its columns are."""
    for table, key in (("federation", "rounds"), ("adapt", "rounds_at_most")):
        rounds = getattr(getattr(config, table), key)
        if rounds is not None and rounds > MOST_ROUNDS:
            yield Problem(
                f"`{table}.{key}`",
                f"at most {MOST_ROUNDS} in a deployment, got: {rounds}",
                "every site plans, pays and signs each round on its own; use fewer",
            )
    yield from _too_wide(config, 1)


def require_weights(config: Config, encoding: Encoding) -> None:
    """Refuse a model with too many weights for its columns and its outputs.

    Raises:
        ConfigError: with the numbers.
    """
    schema = encoding.schema
    outputs = len(schema.classes) if schema.task == "multiclass" else 1
    problems = list(_too_wide(config, len(encoding.slots), outputs))
    if problems:
        raise ConfigError(problems)


def require_programme(size: int) -> None:
    """Refuse a programme of so many bytes that no site would read it.

    Raises:
        ConfigError: with the numbers.
    """
    if size > MOST_PROGRAMME:
        problem = Problem(
            "`federation.rounds`",
            f"the programme has {size} bytes, sites read {MOST_PROGRAMME}",
            "use fewer rounds, or fewer groups of columns",
        )
        raise ConfigError([problem])


def _too_wide(config: Config, inputs: int, outputs: int = 1) -> Iterator[Problem]:
    model = config.federation.model
    weights = network_weights(model, inputs, outputs)
    if weights > MOST_WEIGHTS:
        yield Problem(
            "`federation.model`",
            f"at most {MOST_WEIGHTS} weights in a deployment, got: {weights} in "
            f"`{model}`",
            "every query carries the whole model to every site; use narrower layers, "
            "or declare fewer values of columns and target",
        )
