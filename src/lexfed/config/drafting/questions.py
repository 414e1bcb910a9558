# SPDX-License-Identifier: Apache-2.0
"""Questions before the first configuration, and who answers them.

A question has a default wherever one is safe. `DefaultAnswers` takes it, so that nobody
has to be asked; a question without one is then an error that names its option.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from lexfed.errors import ConfigError, Problem

T = TypeVar("T")


@dataclass(frozen=True)
class Question:
    """A question for a person.

    Attributes:
        default: the answer that saying nothing gives; empty if there is none.
        reason: why it is asked and what the default means, in a few sentences.
        option: the option of the command that answers it; empty if there is none.
    """

    text: str
    default: str
    reason: str
    option: str = ""

    @property
    def unanswered(self) -> ConfigError:
        """The error of a question that nobody answers and that has no default."""
        hint = f"answer it with `{self.option}`" if self.option else "use `--yes`"
        return ConfigError([Problem("", f"no answer: {self.text}", hint)])


class Answers(Protocol):
    """Whoever answers questions: a person, or nobody."""

    @property
    def of_person(self) -> bool:
        """True while a person is asked."""

    def ask(self, question: Question, read: Callable[[str], T]) -> T:
        """Return the answer; `read` raises `ValueError` for one that is none."""

    def tell(self, text: str) -> None:
        """Show a line to who holds the data; it is for no other eyes."""


class DefaultAnswers:
    """The default of every question."""

    of_person = False

    def ask(self, question: Question, read: Callable[[str], T]) -> T:
        """Return the default, or raise `ConfigError` if there is none."""
        if not question.default:
            raise question.unanswered
        return read(question.default)

    def tell(self, text: str) -> None:
        """Nobody is there to be told."""
