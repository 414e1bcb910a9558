# SPDX-License-Identifier: Apache-2.0
"""The one way from commands to a terminal: hidden characters are spelled out.

`shielded` puts itself in the place of `sys.stdout` and `sys.stderr`, so that a command
cannot forget to escape. Colours and cursor movements of our own go by `act`, which
takes them from a fixed list and no text.

Right-to-left letters are shown, but they would take numbers beside them along: in a
terminal with bidirectional text, `ALEPH 0.4 400` shows 400 first. Marks around them
(U+200E) keep the rest of the line in its order.
"""

import contextlib
import io
import re
import sys
import unicodedata
from collections.abc import Iterator
from typing import Any, Literal, TextIO

from lexfed.visible_text import visible

Action = Literal["red", "yellow", "cyan", "plain", "line start", "erase to line end"]
_SEQUENCES: dict[Action, str] = {
    "red": "\x1b[31m",
    "yellow": "\x1b[33m",
    "cyan": "\x1b[36m",
    "plain": "\x1b[0m",
    "line start": "\r",
    "erase to line end": "\x1b[K",
}
_LINES = "\n\t"  # control characters that only lay out text of several lines
_ORDINARY = re.compile(r"[\n\t -~]*")
_LEFT_TO_RIGHT = "\u200e"
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+(?: [^\x00-\x7f]+)*")


class Shield(io.TextIOBase):
    """A text stream to which hidden characters come spelled out.

    Guarantees:
        No character that acts on a terminal or hides text reaches the stream through
        `write`, apart from newline and tab.
        A character that the stream cannot encode is spelled out.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self._spell = stream.encoding or "utf-8"
        self._bidirectional = stream.isatty()

    def write(self, text: str) -> int:
        """Write text from anywhere; return its length."""
        if _ORDINARY.fullmatch(text):
            self.stream.write(text)
            return len(text)
        shown = visible(text.replace("\r\n", "\n"), _LINES)
        if self._bidirectional:
            shown = _BEYOND_ASCII.sub(_marked, shown)
        known = shown.encode(self._spell, "backslashreplace").decode(self._spell)
        self.stream.write(known)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        """The encoding, the descriptor and the like are those of the stream."""
        return getattr(self.stream, name)

    def flush(self) -> None:
        """Flush the stream."""
        self.stream.flush()

    def isatty(self) -> bool:
        """Return True for a terminal."""
        return self.stream.isatty()

    def fileno(self) -> int:
        """Return the descriptor of the stream."""
        return self.stream.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the stream."""
        return self._spell


def _marked(found: re.Match[str]) -> str:
    text = found.group()
    if any(unicodedata.bidirectional(each) in ("R", "AL", "AN") for each in text):
        return f"{_LEFT_TO_RIGHT}{text}{_LEFT_TO_RIGHT}"
    return text


@contextlib.contextmanager
def shielded() -> Iterator[None]:
    """Let nothing but shielded text out of stdout and stderr."""
    with (
        contextlib.redirect_stdout(Shield(sys.stdout)),
        contextlib.redirect_stderr(Shield(sys.stderr)),
    ):
        yield


def redraw(line: str) -> None:
    """Write a line over the one that the cursor of stderr is in."""
    act("line start")
    print(line, end="", file=sys.stderr)
    act("erase to line end")
    sys.stderr.flush()


def act(action: Action) -> None:
    """Colour what follows on stderr, or move its cursor."""
    stream = sys.stderr
    (stream.stream if isinstance(stream, Shield) else stream).write(_SEQUENCES[action])
