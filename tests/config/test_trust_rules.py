# SPDX-License-Identifier: Apache-2.0
"""What noise in shares has no proof for is refused, in words that say what to do."""

from pathlib import Path

import pytest

from lexfed.config import examine, load
from lexfed.config.drafting.first_draft import scaffold
from support.configurations import configuration

GOOD = (Path(__file__).parent / "good.toml").read_text()
COLUMN = '{ column = "hospital", names = ["east", "west"] }'
FEDERATION = "[federation]\n"
SHARES = (
    ('trust = "central"', 'trust = "distributed"'),
    ('accountant = "pld"', 'accountant = "rdp"'),
    ('engine = "simulation"', 'engine = "inprocess"'),
)
EU = '[budget.profiles.eu]\nsites = ["a"]\nepsilon = 1.0\n'
FILTER = '[adapt]\nnoise = "linear"\nguarantee = "filter"\n\n'


def shared(*changes: tuple[str, str]) -> str:
    """Return the good configuration with noise in shares, and some changes."""
    text = GOOD
    for old, new in (*SHARES, *changes):
        assert old in text
        text = text.replace(old, new, 1)
    return text


def problems(text: str) -> list[str]:
    return [f"{each.what} | {each.hint}" for each in examine(text).problems]


def test_noise_in_shares_is_fine() -> None:
    assert examine(shared()).problems == ()
    cohort = "[federation]\ndropouts = 2\ncolluders = 1\nsetup_rounds = 8\n"
    assert examine(shared((FEDERATION, cohort))).problems == ()


def test_it_runs_between_organisations_too() -> None:
    assert examine(shared(("inprocess", "flare"))).problems == ()


WRONG: dict[str, tuple[tuple[tuple[str, str], ...], str]] = {
    "another accountant": (
        (('accountant = "rdp"', 'accountant = "gdp"'),),
        '`privacy.accountant`: `trust = "distributed"` needs `rdp`, got: `"gdp"`',
    ),
    "sampling": (
        (("sampling_rate = 1.0", "sampling_rate = 0.5"),),
        '`federation.sampling_rate`: `trust = "distributed"` needs 1, got: `0.5`',
    ),
    "the simulation": (
        (('"inprocess"', '"simulation"'),),
        "needs sites that answer for themselves, got: `simulation`",
    ),
    "a filter": (
        (("[evaluation]", f"{FILTER}[evaluation]"),),
        '`adapt.guarantee`: `trust = "distributed"` needs `envelope`, got: `filter`',
    ),
    "no mechanism": (
        (('"cascade"', '"none"'),),
        "there is no noise to share",
    ),
    "sites that hide": (
        (('unit = "record"', 'unit = "client"'), ("units = 6000\n", "")),
        "sites sign who is in a sum, so that a site takes part is public",
    ),
    "strict sites that are sampled": (
        (
            (
                'schedule = "constant"\n',
                'schedule = "constant"\nrealise = "sampling"\n',
            ),
            ("[privacy]", f"{EU}\n[privacy]"),
        ),
        '`budget.realise`: `trust = "distributed"` needs `clip`',
    ),
    "three sites with a colluder that lose one": (
        (
            (COLUMN, "{ count = 3 }"),
            (FEDERATION, "[federation]\ndropouts = 1\ncolluders = 1\n"),
        ),
        "three sites survive one dropout only with no colluder",
    ),
    "two sites, one of which colludes": (
        ((COLUMN, "{ count = 2 }"), (FEDERATION, "[federation]\ncolluders = 1\n")),
        "a sum of one is that one",
    ),
    "one site": (
        ((COLUMN, "{ count = 1 }"),),
        "one site has nobody to add up with",
    ),
    "more colluders than sites": (
        ((COLUMN, "{ count = 4 }"), (FEDERATION, "[federation]\ncolluders = 9\n")),
        "leave no honest one in the sum",
    ),
    "files of too few sites": (
        (
            ('source = "patients.csv"\n', ""),
            (COLUMN, '{ files = ["a.csv", "b.csv"] }'),
            (FEDERATION, "[federation]\ndropouts = 1\n"),
        ),
        "2 sites with 0 colluders survive 0 dropouts, not 1",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_has_no_proof_is_refused(name: str) -> None:
    changes, words = WRONG[name]
    assert any(words in problem for problem in problems(shared(*changes)))


def test_sites_of_a_generator_are_counted() -> None:
    privacy = {"trust": "distributed", "accountant": "rdp"}
    federation = {"engine": "inprocess", "dropouts": 2}
    text = configuration({"privacy": privacy, "federation": federation})
    [problem] = problems(text)
    assert "3 sites with 0 colluders survive 1 dropout, not 2" in problem


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("colluders = 1", '`federation.colluders` needs `trust = "distributed"`'),
        ("setup_rounds = 8", '`trust = "distributed"` or `engine = "flare"`'),
        ("dropouts = 1", '`trust = "distributed"` or `engine = "flare"`'),
    ],
)
def test_what_only_masks_use_is_refused_elsewhere(line: str, words: str) -> None:
    [problem] = problems(GOOD.replace(FEDERATION, f"[federation]\n{line}\n"))
    assert words in problem


def test_between_organisations_dropouts_count_whoever_is_trusted() -> None:
    text = GOOD.replace(FEDERATION, "[federation]\ndropouts = 1\n")
    assert problems(text.replace('"simulation"', '"flare"')) == []


def test_a_scaffold_says_what_there_is_to_trust(tmp_path: Path) -> None:
    text = scaffold("patients.csv", [("age", "number")])
    assert '"distributed" (each site a share' in text
    (tmp_path / "good.toml").write_text(shared())
    assert load(tmp_path / "good.toml").privacy.trust == "distributed"
