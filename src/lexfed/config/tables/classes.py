# SPDX-License-Identifier: Apache-2.0
"""The shape of `[[budget.classes]]`: records that get a stricter budget by rule."""

from typing import Annotated

from pydantic import Field

from lexfed.config.tables.field_types import ConfigTable, NonEmptyText, Positive


class ClassTable(ConfigTable):
    """`[[budget.classes]]`: a class of records, by a public rule on their columns."""

    name: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$",
            description="a name of up to 64 letters, digits, `_`, `-`",
        ),
    ]
    where: NonEmptyText
    epsilon: Positive
