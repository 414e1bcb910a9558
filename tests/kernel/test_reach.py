# SPDX-License-Identifier: Apache-2.0
"""Every module is reached by a command, a documented name or a file of a deployment.

Code that nothing reaches is read, translated and tested for nobody. What waits for
its command stands in `WAITING`, with the reason; that list only gets shorter.
"""

from functools import cache
from pathlib import Path

import pytest

from support.reach import ModuleGraph, documented_names

ROOT = Path(__file__).parents[2]
ENTRIES = {
    "lexfed.cli.main": "the command `lexfed`",
    "lexfed.__main__": "`python -m lexfed`",
    "lexfed.python.evidence": "names of `lexfed`, imported when first used",
    "lexfed.python.training": "names of `lexfed`, imported when first used",
    "lexfed.tagging": "names of `lexfed`, imported when first used",
    "lexfed.audit.standalone.verify": "a program that evidence bundles hold",
    "lexfed.federation.flare.process": "stands in start scripts of kits",
    "lexfed.federation.flare.notices.Notices": "stands in files of kits",
    "lexfed.federation.flare.connections.Connections": "stands in files of kits",
    "lexfed.federation.flare.storage.KitStorage": "stands in files of kits",
    "lexfed.federation.flare.launcher.TolerantLauncher": "stands in files of kits",
    "lexfed.federation.flare.coordinator_launcher.CoordinatorLauncher": (
        "stands in files of kits"
    ),
    "lexfed.run.deployed.flare_parts.RunEpoch": "stands in jobs of kits",
    "lexfed.run.deployed.flare_parts.SiteWork": "stands in jobs of kits",
}
WAITING = {
    "homomorphic sums, a way to sum that no configuration selects yet": {
        "lexfed.secagg.encrypted.ciphertexts",
        "lexfed.secagg.encrypted.parties",
        "lexfed.secagg.encrypted.tenseal_bfv",
    },
    "regions: a relay between sites and the coordinator": {
        "lexfed.secagg.mask_sessions.relay",
    },
    "Bloom filters with flipped bits, as a kind of sketch": {
        "lexfed.sketch.estimates.flipped_bits",
        "lexfed.sketch.releases.randomised_response",
    },
    "running sketches: one release per round at the price of a tree": {
        "lexfed.sketch.releases.running_sums",
    },
    "sketch queries with ranges": {
        "lexfed.sketch.estimates.range_counts",
        "lexfed.sketch.tables.range_tree",
    },
    "weights of sites by the overlap of their distributions": {
        "lexfed.sketch.estimates.common_mass",
    },
    "a new log after a key was stolen: the threat model counts on this check, and no "
    "command opens such a log yet": {
        "lexfed.audit.witness.succession",
    },
}


@cache
def graph() -> ModuleGraph:
    return ModuleGraph(ROOT / "src")


@cache
def islands() -> frozenset[str]:
    documents = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    entries = (*ENTRIES, *documented_names(documents))
    return frozenset(graph().files) - graph().reached_from(entries)


def waiting() -> set[str]:
    return set().union(*WAITING.values())


@pytest.mark.no_cover
def test_every_module_is_reached_or_waits_for_its_command() -> None:
    new = sorted(islands() - waiting())
    assert not new, f"reached by no command: {new}, {graph().lines(new)} lines"


def test_what_is_reached_waits_no_longer() -> None:
    assert sorted(waiting() - islands()) == []


def test_the_entry_points_exist() -> None:
    modules = {name: graph().module_of(name) for name in ENTRIES}
    assert [name for name, found in modules.items() if found in (None, "lexfed")] == []


@pytest.mark.parametrize(
    ("written", "reached"),
    [
        ("import p.b.other", True),
        ("from p.b import other", True),
        ("from p.b.other import name", True),
        ("def f():\n    from p.b.other import name", True),
        ("PART = 'p.b.other.Part'", True),
        ("run(['-m', 'p.b.other'])", True),
        ('"""As in p.b.other, but faster."""', False),
        ("# from p.b import other", False),
        ("from p.b import another", False),
    ],
)
def test_a_module_is_reached_by_import_or_name(
    tmp_path: Path, written: str, reached: bool
) -> None:
    for name, text in {
        "p/__init__.py": "",
        "p/a.py": written,
        "p/b/__init__.py": "from p import c",
        "p/b/other.py": "",
        "p/b/another.py": "",
        "p/c.py": "",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    found = ModuleGraph(tmp_path).reached_from(["p.a.main"])
    assert ("p.b.other" in found) is reached
    # Whatever lies in a package reaches what the package imports itself.
    assert ("p.c" in found) is ("p.b" in found)
    assert {"p", "p.a"} <= found


def test_names_of_examples_are_entry_points(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "from p import no\n\n```python\nfrom p.b import (one,\n    two)\n"
        ">>> from p import three\n```\n\n```sh\nfrom p import neither\n```\n",
        "utf-8",
    )
    assert documented_names([page]) == {"p.b.one", "p.b.two", "p.three"}
