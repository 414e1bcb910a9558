# SPDX-License-Identifier: Apache-2.0
"""Rules and notes that the table of mistakes does not show."""

from pathlib import Path

import pytest

from lexfed.config import demo_config, examine

GOOD = (Path(__file__).parent / "good.toml").read_text()
DEMO = demo_config()


def good(*changes: tuple[str, str]) -> str:
    text = GOOD
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def demo(*changes: tuple[str, str]) -> str:
    text = DEMO
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def problems(text: str) -> list[str]:
    return [problem.what for problem in examine(text).problems]


def notes(text: str) -> list[str]:
    return [note.what for note in examine(text).notes]


FILES = ('source = "patients.csv"\n', "")
SITES = '{ column = "hospital", names = ["east", "west"] }'
SOURCE = 'source = "synthetic:hospital"'
TAG = 'tier = "personal"\nreason = "demographic"'
WEIGHTED = ('"logistic"', '"logistic"\nweighting = "sites"')
NUMBER = 'readmitted = { kind = "number", range = [0, 1] }'
CLIENT = ('unit = "record"', 'unit = "client"')
NO_CLIP = ("clip = { default = 1.0, special = 0.5 }\n", "")


@pytest.mark.parametrize(
    "text",
    [
        good(FILES, (SITES, '{ files = ["a.csv", "b.parquet"] }')),
        good((SITES, '{ count = 8, partition = "dirichlet", alpha = 0.5 }')),
        good((SITES, "{ count = 8 }")),
        good(("add-remove", "replace-one"), ("units = 6000\n", "")),
        good(('"cascade"', '"none"'), ("units = 6000\n", "")),
        good(CLIENT, ("units = 6000\n", ""), ("rounds = 30", "local_steps = 5")),
        good(CLIENT, ("rounds = 30", "momentum = 0.9\nbatch_size = 64")),
        good(CLIENT, ("learning_rate = 0.5", "momentum = 0.9")),
        good(("rounds = 30", "momentum = 0.9")),
        good(("rounds = 30", 'learning_rate_schedule = "cosine"')),
        good(NO_CLIP, ("learning_rate = 0.5\n", "")),
        good(("learning_rate = 0.5", "momentum = 0.9"), ('"cascade"', '"grouped"')),
        good(NO_CLIP, ("learning_rate = 0.5\n", ""), ('"logistic"', '"cnn"')),
        good(WEIGHTED, ("add-remove", "replace-one")),
        good(WEIGHTED, CLIENT),
        good(WEIGHTED, ('"cascade"', '"none"')),
        good(('"public"', '"paid"')),
        good(('"public"', '"outside-guarantee"')),
        good(('"public"', '"outside-guarantee"'), ("test_size = 0.2", "test_size = 0")),
        good(("epsilon = 2.0", "epsilon = 1e-4"), ("delta = 1e-6", "delta = 1e-15")),
        good(("epsilon = 2.0", "epsilon = 1000")),
        good(("epsilon = 2.0", "epsilon = 1e9"), ('"cascade"', '"none"')),
        good(("records_per_person = 4\n", "")),
        good(('person = "patient_id"\nrecords_per_person = 4\n', "")),
        good(('"caps"', '"inverse"\nalpha = 3')),
        good(('"caps"', '"multiplier"\nimportance = { age = 2.0 }')),
        good(('"caps"', '"multiplier"\nmultipliers = { special = 0.1 }')),
        good(('"caps"', '"noise-scale"')),
        good(('"logistic"', '"mlp:256,128,64"')),
        good(('"logistic"', '"my_package.models:make"')),
        good(('"pld"', '"gdp"')),
        good(("sampling_rate = 1.0", "sampling_rate = 0.1")),
        good(
            ('smoker = { kind = "flag"', 'smoker = { sources = ["age"], kind = "flag"')
        ),
        demo((SOURCE, 'source = "synthetic:bank"'), ("patients =", "clients =")),
        demo((SOURCE, f'{SOURCE}\nrecords_per_person = 4\nexcess_records = "drop"')),
    ],
)
def test_allowed(text: str) -> None:
    assert problems(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            good(
                (
                    SITES,
                    '{ column = "hospital", names = ["north"], '
                    'partition = "dirichlet", alpha = 1 }',
                )
            ),
            [
                "`data.sites.partition` does nothing without `count`",
                "`data.sites.alpha` does nothing without `count`",
            ],
        ),
        (
            good((SITES, "{ count = 8, alpha = 1 }")),
            ['`data.sites.alpha` does nothing with `partition = "iid"`'],
        ),
        (
            good((SITES, '{ column = "readmitted", names = ["1"] }')),
            ["`readmitted` is both `data.target` and the column of the sites"],
        ),
        (
            good((SITES, '{ column = "patient_id", names = ["1"] }')),
            ["`patient_id` is both `data.person` and the column of the sites"],
        ),
        (
            good(FILES, (SITES, '{ files = ["a.doc"] }')),
            ['`data.sites.files[0]`: cannot tell how to read `"a.doc"`'],
        ),
        (
            good(('"patients.csv"', '"hospital"')),
            ['`data.source`: cannot tell how to read `"hospital"`'],
        ),
        (
            good(('target = "readmitted"', 'target = "zzz"')),
            ["`data.target`: column `zzz` is not in `[data.columns]`"],
        ),
        (
            good(("[budget]", f"[law.columns.zzz]\n{TAG}\n[budget]")),
            ["`law.columns.zzz`: there is no column `zzz`"],
        ),
    ],
)
def test_refused(text: str, expected: list[str]) -> None:
    assert sorted(problems(text)) == sorted(expected)


def test_columns_must_be_declared() -> None:
    start, _, rest = GOOD.partition("[data.columns]")
    _, _, end = rest.partition("[law]")
    assert problems(f"{start}[law]{end}") == ["`[data.columns]` is missing"]


def test_something_must_be_left_to_learn() -> None:
    text = GOOD
    for column in ("age", '"blood type"', "ward", "smoker"):
        for tier in ("personal", "special", "non_personal"):
            text = text.replace(
                f'{column} = {{ tier = "{tier}"', f'{column} = {{ tier = "identifier"'
            )
    assert problems(text) == ["`[data.columns]`: no column is left to learn from"]


def test_sources_need_tiers_too() -> None:
    text = good(
        ('smoker = { kind = "flag"', 'smoker = { sources = ["x"], kind = "flag"')
    )
    assert problems(text) == ["column `x` has no tier"]


def test_persons_of_a_file_need_a_person_column() -> None:
    text = good(
        ('person = "patient_id"\n', 'excess_records = "drop"\nsites_per_person = 2\n')
    )
    assert sorted(problems(text)) == [
        "`data.excess_records` does nothing without `data.person`",
        "`data.records_per_person` does nothing without `data.person`",
        "`data.sites_per_person` does nothing without `data.person`",
    ]


def test_built_in_sources_state_their_units() -> None:
    text = demo((SOURCE, f"{SOURCE}\nunits = 3"))
    assert problems(text) == ["`data.units` comes with `synthetic:hospital`"]


def test_generator_belongs_to_its_source() -> None:
    assert problems(demo((SOURCE, 'source = "synthetic:bank"'))) == [
        "`data.generator.patients` does nothing with `synthetic:bank`"
    ]
    text = demo((SOURCE, 'source = "sklearn:diabetes"\nsites = { count = 2 }'))
    assert problems(text) == [
        "`data.generator.patients` does nothing with a source that is not synthetic",
        "`data.generator.sites` does nothing with a source that is not synthetic",
    ]
    assert problems(demo(("sites = 8", "sites = 6001"))) == [
        "`data.generator.sites`: expected at most `patients`, got: `6001`"
    ]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (demo(("delta = 1e-6", "delta = 1e-3")), "`data.generator.patients`"),
        (good(CLIENT, (SITES, "{ count = 8 }"), ("1e-6", "0.2")), "`data.sites.count`"),
        (
            good(FILES, CLIENT, (SITES, '{ files = ["a.csv"] }'), ("1e-6", "0.999")),
            None,
        ),
        (
            demo(("delta = 1e-6", 'delta = 0.2\nunit = "client"')),
            "`data.generator.sites`",
        ),
    ],
)
def test_delta_against_the_number_of_units(text: str, key: str | None) -> None:
    found = problems(text)
    if key is None:
        assert found == []
    else:
        assert len(found) == 1
        assert f"one over {key}" in found[0]


def test_sampling_that_proves_nothing() -> None:
    sampled = ("sampling_rate = 1.0", "sampling_rate = 0.5")
    text = good(CLIENT, ('"central"', '"local"'), sampled)
    assert problems(text)[0].startswith("`federation.sampling_rate`: `trust = ")
    text = good(("units", "sites_per_person = 2\nunits"), sampled)
    assert problems(text) == [
        "`federation.sampling_rate`: `sites_per_person = 2` needs 1, got: `0.5`"
    ]


def test_importance_of_no_column() -> None:
    for name, hint in {"agee": "did you mean `age`?", "zzz": "remove it"}.items():
        text = good(('"caps"', f'"multiplier"\nimportance = {{ {name} = 2.0 }}'))
        (problem,) = examine(text).problems
        assert problem.what == (
            f"`budget.importance.{name}`: there is no column `{name}`"
        )
        assert problem.hint == hint


def test_regression_needs_a_linear_model() -> None:
    text = good(('readmitted = { kind = "flag" }', NUMBER))
    (problem,) = examine(text).problems
    assert problem.hint == 'use `model = "linear"`'
    assert problems(text.replace('"logistic"', '"linear"')) == []


def test_model_like_nothing() -> None:
    (problem,) = examine(good(('"logistic"', '"a b"'))).problems
    assert problem.hint == ""


def test_rule_decides_only_where_nobody_gave_a_step() -> None:
    omitted = ("learning_rate = 0.5\n", "")
    uniform = (('"cascade"', '"uniform"'),)
    number = ('readmitted = { kind = "flag" }', NUMBER), ('"logistic"', '"linear"')
    network = ('"logistic"', '"mlp:8"')
    for rule in (
        good(omitted, NO_CLIP),
        good(omitted, NO_CLIP, *uniform),
        good(omitted, NO_CLIP, *number),
        good(omitted, NO_CLIP, network),
        good(omitted, NO_CLIP, network, *uniform),
    ):
        assert examine(rule).require().follows_rule
    for plain in (
        GOOD,
        good(network),
        good(omitted, network, CLIENT),
        good(omitted, CLIENT),
        good(omitted, ('"cascade"', '"grouped"')),
        good(omitted, ('"cascade"', '"none"')),
    ):
        assert not examine(plain).require().follows_rule


def test_what_the_rule_sets_itself_is_all_reported() -> None:
    both = 'momentum = 0.9\nlearning_rate_schedule = "cosine"'
    found = examine(good(("learning_rate = 0.5", both))).problems
    assert [problem.key for problem in found] == [
        "privacy.clip",
        "federation.momentum",
        "federation.learning_rate_schedule",
    ]
    assert {problem.hint for problem in found} == {
        "set `learning_rate` too, or remove it"
    }


def test_paid_metrics_without_test_rows() -> None:
    text = good(('"public"', '"paid"'), ("test_size = 0.2", "test_size = 0"))
    assert problems(text) == [
        "`evaluation.metrics`: `paid` does nothing with `test_size = 0`"
    ]


def test_notes() -> None:
    assert notes(DEMO) == []
    assert notes(good(("seed = 7", "test = true"))) == [
        "`run.test` is on: noise can be repeated, every output says NOT PRIVATE"
    ]
    assert notes(good(('"cascade"', '"none"'))) == [
        '`mechanism = "none"`: no noise, no guarantee; the budget is not used'
    ]
    outside = [
        "`data.test_size` = 0.2: metrics on these rows are not covered by the claim"
    ]
    assert notes(good(('metrics = "public"\n', ""))) == outside
    assert notes(good(('"public"', '"outside-guarantee"'))) == outside
    assert notes(good(('"public"', '"paid"'))) == []
    without = ('metrics = "public"\n', ""), ("test_size = 0.2", "test_size = 0")
    assert notes(good(*without)) == []


def test_notes_on_caps() -> None:
    assert notes(good(("personal = 1.2", "personal = 3.0"))) == [
        "`budget.caps.personal` = 3 is above `budget.epsilon` = 2: the whole record's "
        "budget usually binds first"
    ]
    assert notes(good(("special = 0.3", "special = 1.5"))) == [
        "`budget.caps.special` = 1.5 is above `budget.caps.personal` = 1.2: what a "
        "`personal` column may cost binds first"
    ]


def test_notes_do_not_stand_in_the_way() -> None:
    assert examine(good(("seed = 7", "test = true"))).require().run.test
