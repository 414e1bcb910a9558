# SPDX-License-Identifier: Apache-2.0
"""Pages from templates, with everything that they print made harmless.

Templates are in `report/templates`. Their values are first made visible (`escaping`)
and then escaped by the engine; the only markup that is let through is our own.
"""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

import jinja2
from markupsafe import Markup, escape

from lexfed.report.markup.escaping import visible

_CODE = re.compile(r"`([^`]*)`")


def page(template: str, /, **values: object) -> str:
    """Return the page that a template of this package makes of some values.

    Guarantees:
        Text of others is shown as text, whatever it looks like.
        A value that the template asks for and nobody gave is an error, not a gap.
    """
    return "".join(pieces(template, **values))


def pieces(template: str, /, **values: object) -> Iterator[str]:
    """Return a page as `page` does, piece by piece: it may be too large to hold."""
    file = resources.files("lexfed.report") / "templates" / "report.css"
    css = Markup(file.read_text(encoding="utf-8"))  # noqa: S704 - our own file
    return _environment().get_template(template).generate(css=css, **values)


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    environment = template_environment(visible, autoescape=True)
    environment.filters["words"] = words
    environment.filters["exact"] = exact
    return environment


def template_environment(
    shown: Callable[[str], str],
    autoescape: bool = False,
    keep_trailing_newline: bool = False,
) -> jinja2.Environment:
    """Return the environment of our templates, which prints all text by `shown`.

    Our own markup is let through; formats other than HTML have escapes of their own.
    """

    def finalize(value: object) -> object:
        if isinstance(value, str) and not isinstance(value, Markup):
            return shown(value)
        return value

    return jinja2.Environment(
        loader=jinja2.PackageLoader("lexfed.report"),
        autoescape=autoescape,  # noqa: S701
        undefined=jinja2.StrictUndefined,
        finalize=finalize,
        keep_trailing_newline=keep_trailing_newline,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def words(text: str) -> Markup:
    """Return a sentence with the words in backticks set as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(visible(text)))))  # noqa: S704


def exact(text: str) -> Markup:
    """Return a text as JSON for an attribute: programs read it to the character.

    Only ASCII is in it, so that nothing hides, and nothing is spelled out in its place.
    """
    return Markup(escape(json.dumps(text)))  # noqa: S704


@dataclass(frozen=True)
class PageScript:
    """A program of our own in a page, and the only one that its policy lets run."""

    code: Markup
    allowed: str

    @classmethod
    def named(cls, name: str) -> "PageScript":
        """Return a script from `report/templates`."""
        file = resources.files("lexfed.report") / "templates" / name
        code = file.read_text(encoding="utf-8")
        digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        return cls(Markup(code), f"sha256-{digest}")  # noqa: S704 - our own file
