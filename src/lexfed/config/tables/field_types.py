# SPDX-License-Identifier: Apache-2.0
"""Types of keys in `lexfed.toml`: bounds, texts, and the closed table."""

from typing import Annotated, Any, ClassVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
)

# Bounds. Integers stay below 2^53 so that canonical JSON can hold them exactly.
PositiveCount = Annotated[int, Field(ge=1, lt=2**53)]
RoundCount = Annotated[int, Field(ge=1, le=100_000)]
"""Of a tower, or steps between two rounds: a plan, and a log, hold every one."""
Seed = Annotated[int, Field(ge=0, lt=2**53)]
Real = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[Real, Field(gt=0)]
Rate = Annotated[Real, Field(gt=0, le=1)]
NonEmptyText = Annotated[str, Field(min_length=1, max_length=4096)]


class ConfigTable(BaseModel):
    """A table of the file: unknown keys are errors, values are never converted.

    Attributes:
        later: keys that the first configurations did not have. They are written down
            only where they are set, so that a configuration keeps its hash.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    later: ClassVar[frozenset[str]] = frozenset()

    @model_serializer(mode="wrap")
    def _written(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        plain: dict[str, Any] = handler(self)
        unset = {key for key in self.later if not self.changes(key)}
        return {key: value for key, value in plain.items() if key not in unset}

    def changes(self, key: str) -> bool:
        """Return True if a key has another value than its default."""
        default = type(self).model_fields[key].get_default(call_default_factory=True)
        return bool(getattr(self, key) != default)
