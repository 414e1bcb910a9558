# SPDX-License-Identifier: Apache-2.0
"""The documents as a site: Markdown as it is on disk, and the API from docstrings.

The root of the repository is the source, so that links between documents are the same
here and in a checkout. Nothing on a page is fetched from elsewhere.

Notebooks hold no outputs: they are run for the site, and their outputs kept until they
or the package change.
"""

import re
import shutil
import sys
from pathlib import Path

from sphinx.application import Sphinx

SITE = Path(__file__).parent
ROOT = SITE.parents[1]
sys.path.insert(0, str(SITE))

from api_pages import docstring_lines, write_pages  # noqa: E402

import lexfed  # noqa: E402
from lexfed.evaluate.harness.tables import code_digest  # noqa: E402

project = "lexfed"
copyright = "the authors of lexfed, Apache-2.0"
version = release = lexfed.__version__
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**"]
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {
    ".md": "myst-nb",
    ".ipynb": "myst-nb",
    ".rst": "restructuredtext",
}

myst_heading_anchors = 6

_CACHES = ROOT / "build" / "notebooks"
nb_execution_mode = "cache"
nb_execution_cache_path = str(_CACHES / code_digest()[:12])
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_merge_streams = True
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # else from a server of somebody

autodoc_typehints = "signature"
autodoc_class_signature = "separated"
napoleon_numpy_docstring = False
napoleon_custom_sections = ["Guarantees"]

html_theme = "furo"
html_title = f"lexfed {release}"
html_extra_path = ["start"]
html_static_path = ["static"]
html_css_files = ["notebooks.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {"top_of_page_buttons": []}


def _contents(_: Sphinx, name: str, source: list[str]) -> None:
    """Add to index and results what they link to, as the contents of the site."""
    if name == "docs/results":
        source[0] += _toctree(
            re.findall(r"\]\((results/[^):#]+)\.md\)", source[0]), "Tables"
        )
    if name == root_doc:
        for section in source[0].split("\n## ")[1:]:
            title, _, text = section.partition("\n")
            pages = re.findall(r"\]\(([^):#]+)\.(?:md|ipynb)\)", text)
            source[0] += _toctree(pages, title)
        source[0] += _toctree(["api/index"], "Code")


def _toctree(pages: list[str], title: str) -> str:
    entries = (f"/docs/{page}".replace("/docs/../", "/") for page in pages)
    lines = [":hidden:", f":caption: {title}", "", *dict.fromkeys(entries)]
    return "\n".join(["", "```{toctree}", *lines, "```", ""])


def _forget_old_outputs() -> None:
    for cache in _CACHES.glob("*"):
        if str(cache) != nb_execution_cache_path:
            shutil.rmtree(cache)


def setup(app: Sphinx) -> None:
    """Write the pages of the API, and read docstrings as the plain text they are."""
    _forget_old_outputs()
    app.connect("builder-inited", lambda _: write_pages(ROOT))
    app.connect("source-read", _contents)
    # Before napoleon, which turns sections into fields.
    app.connect("autodoc-process-docstring", docstring_lines, priority=400)
