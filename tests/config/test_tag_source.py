# SPDX-License-Identifier: Apache-2.0
"""A configuration full of open decisions can be tagged; one that is wrong cannot."""

from pathlib import Path

import pytest

from lexfed.config import demo_config, scaffold
from lexfed.config.open_decisions import TagSource, tag_source
from lexfed.errors import ConfigError
from lexfed.law.tagger.suggestions import TaggerSettings


def source(folder: Path, text: str) -> TagSource:
    path = folder / "lexfed.toml"
    path.write_bytes(text.encode())
    return tag_source(path)


DATA = '[data]\nsource = "p.csv"\n'


def test_a_scaffold_is_enough(tmp_path: Path) -> None:
    text = scaffold("p.csv", [("age", "number"), ("hiv", "flag")])
    found = source(tmp_path, text)
    assert found.files == (tmp_path / "p.csv",)
    assert found.jurisdictions == ("gdpr",)
    assert found.settings == TaggerSettings()
    assert found.needed == found.undecided == ("age", "hiv")
    assert found.text == text


def test_laws_settings_and_files_of_sites(tmp_path: Path) -> None:
    found = source(
        tmp_path,
        '[data]\nsites = { files = ["a.csv", "b.csv"] }\n'
        '[law]\njurisdictions = ["ccpa", "gdpr"]\ncatalogues = ["mine.toml"]\n'
        "[law.tagger]\nalpha = 0.5\nlow = 0.2\nhigh = 0.9\ntiers = 3\n",
    )
    assert found.files == (tmp_path / "a.csv", tmp_path / "b.csv")
    assert found.jurisdictions == ("ccpa", "gdpr")
    assert found.catalogues == (tmp_path / "mine.toml",)
    assert found.settings == TaggerSettings(alpha=0.5, low=0.2, high=0.9, tiers=3)


def test_what_is_decided_stays_decided(tmp_path: Path) -> None:
    found = source(
        tmp_path,
        f"{DATA}[data.columns]\na = {{ kind = 'flag', sources = ['e', 3] }}\n"
        "b = 3\nc = { kind = 'flag' }\nd = { kind = 'flag' }\n"
        "[law.columns]\na = { tier = '?', reason = '?' }\n"
        "c = { tier = 'special', reason = '?' }\n"
        "d = { tier = 'special', reason = 'x' }\n"
        "f = { tier = '?', reason = '?' }\n",
    )
    assert found.needed == ("a", "b", "c", "d", "e")
    assert found.undecided == ("a", "b", "e")
    assert found.begun == {"c": ("reason",)}
    assert found.unknown == ("f",)


def test_a_mark_in_front_is_kept(tmp_path: Path) -> None:
    assert source(tmp_path, f"\ufeff{DATA}").text.startswith("\ufeff")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "`data.source` names no file"),
        ("data = 3\nlaw = 4\n", "`data.source` names no file"),
        ('[data]\nsource = "?"\n', "`data.source` names no file"),
        ("[data\n", r"lexfed\.toml:1: not valid TOML"),
        (f"{DATA}[data]\n", r"`\[data\]` is set twice"),
        ("x = " + "[" * 50 + "]" * 50, "nested too deeply"),
        (demo_config(), "`synthetic:hospital` brings tags of its own"),
        ('[data]\nsource = "p.xls"\n', "cannot tell how to read"),
        (f'{DATA}[law]\njurisdictions = ["lgpd"]\n', r"toml:4: `law\.jurisdictions"),
        (f"{DATA}[law]\ncatalogues = 3\n", r"toml:4: `law\.catalogues`"),
        (f"{DATA}[law.tagger]\nlow = 3\n", r"toml:4: `law\.tagger\.low`"),
        (f"{DATA}[law.tagger]\nbeta = 3\n", r"unknown key `law\.tagger\.beta`"),
        (f"{DATA}[law.tagger]\nlow = 0.8\n", r"below `law\.tagger\.high`"),
    ],
)
def test_mistakes_in_what_tagging_rests_on(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        source(tmp_path, text)


def test_mistakes_elsewhere_are_left_to_check(tmp_path: Path) -> None:
    text = f"{DATA}sites_per_person = 'x'\nnonsense = 1\n[budget]\nepsilon = -1\n"
    assert source(tmp_path, text).files == (tmp_path / "p.csv",)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file") as caught:
        tag_source(tmp_path / "gone.toml")
    assert "lexfed init" in caught.value.hint
    with pytest.raises(ConfigError, match="is a directory"):
        tag_source(tmp_path)
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8"):
        tag_source(tmp_path / "x.toml")
