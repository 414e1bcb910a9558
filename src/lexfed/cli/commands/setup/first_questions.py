# SPDX-License-Identifier: Apache-2.0
"""Questions on a terminal, one at a time, each with its default and its reason.

Enter takes the default in brackets, `?` says why it is asked, `!` takes the defaults of
all further questions, and Ctrl-C ends without a file.
"""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from lexfed.cli import talk

if TYPE_CHECKING:
    from lexfed.config.drafting.questions import Question

T = TypeVar("T")

WHY, REST = "?", "!"
_LONGEST_ANSWER = 10_000


def on_terminal() -> bool:
    """Return True if somebody can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


class TerminalAnswers:
    """The answers of a person at a terminal.

    Guarantees:
        An answer that is none is asked for again, whatever it is.
    """

    def __init__(self) -> None:
        self.of_person = True
        talk.say("Enter takes the answer in brackets; ? says why; ! takes all further")

    def ask(self, question: "Question", read: Callable[[str], T]) -> T:
        """Return the answer of the person, or the default once they have said `!`."""
        if question.default and not self.of_person:
            return read(question.default)
        while True:
            answer = _line(question)
            if answer == WHY:
                talk.say(f"  {question.reason}")
                continue
            if answer == REST and question.default:
                self.of_person = False
            try:
                if answer not in ("", REST):
                    return read(answer)
                if question.default:
                    return read(question.default)
                talk.say("  this one has no default")
            except ValueError as error:
                talk.say(f"  {error}")

    def tell(self, text: str) -> None:
        """Show a line."""
        talk.say(f"  {text}")


def _line(question: "Question") -> str:
    default = f" [{question.default}]" if question.default else ""
    print(f"{question.text}{default}: ", end="", file=sys.stderr, flush=True)
    try:
        line = sys.stdin.readline(_LONGEST_ANSWER)
    except UnicodeDecodeError:
        return WHY
    if not line:
        talk.say("")
        raise question.unanswered
    return line.strip()
