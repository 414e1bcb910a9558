# SPDX-License-Identifier: Apache-2.0
"""The semantic network: it belongs to its sources, and answers as when it was made."""

import hashlib
import importlib
import json
import os
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lexfed.errors import ConfigError
from lexfed.law.tagger.semantics.features import feature_rows
from lexfed.law.tagger.semantics.network import (
    INDEX,
    category_probabilities,
    load_network,
    read_network,
)
from lexfed.law.tagger.suggestions import (
    CATEGORIES,
    CATEGORIES_OF,
    TIERS,
    DescribedColumn,
)
from lexfed.law.tagger.words.readings import read_tables

ROOT = Path(__file__).parents[2]
MODEL = Path(str(files("lexfed.law.tagger"))) / "model"
RENAMES = ROOT / "training" / "tagger" / "renames.json"
"""Digests of training code that differs from the recorded one in names only.

Modules and types of the package were renamed after the network was made, and
`network.json` cannot follow: its bytes are in the logs of runs. Each entry maps the
digest of the renamed code to the recorded one, and was added after reading the
difference. Any other change needs a new training, after which the file can go.
"""
TOLERANCE = 0.01
"""Rounding differs between machines; a network of other sources differs by more."""

ASK = """
import json, sys
from lexfed.law.tagger.suggestions import DescribedColumn
from lexfed.law.tagger.semantics.network import category_probabilities
from lexfed.law.tagger.words.readings import read_tables
out = []
for probe in json.load(open(sys.argv[1], encoding="utf-8")):
    tables = read_tables([DescribedColumn(*fields) for fields in probe["columns"]])
    out.append(category_probabilities(tables).tolist())
print(json.dumps(out))
"""


def index() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((MODEL / INDEX).read_text("utf-8"))
    return found


def tier_of(table: str, name: str, description: str = "") -> str:
    row = category_probabilities(
        read_tables([DescribedColumn(table, name, description)])
    )[0]
    chances = dict(zip(CATEGORIES, row, strict=True))
    return max(TIERS, key=lambda tier: sum(chances[c] for c in CATEGORIES_OF[tier]))


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT)
    return importlib.import_module("training.tagger.sources")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(MODEL, tmp_path / "model"))


class TestBelongsToItsSources:
    def test_made_from_the_files_as_they_are(self, sources: Any) -> None:
        """Changes of names alone are no change of the training: RENAMES lists them."""
        made_from, now = index()["inputs"], sources.inputs()
        renamed = json.loads(RENAMES.read_text("utf-8"))
        now["training"] = renamed.get(now["training"], now["training"])
        changed = [name for name in now if made_from.get(name) != now[name]]
        assert not changed, f"{changed} changed: run scripts/train-tagger"

    def test_every_file_has_its_digest(self) -> None:
        outputs = index()["outputs"]
        on_disk = {path.name for path in MODEL.iterdir()} - {INDEX, "NOTICE"}
        assert on_disk == set(outputs)
        for name, digest in outputs.items():
            assert hashlib.sha256((MODEL / name).read_bytes()).hexdigest() == digest

    def test_answers_as_when_it_was_made(self, sources: Any) -> None:
        """In a process of its own, with the order of sets that training has."""
        done = subprocess.run(
            [sys.executable, "-c", ASK, sources.PROBES],
            env={**os.environ, "PYTHONHASHSEED": "0"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        probes = json.loads(sources.PROBES.read_text("utf-8"))
        answers = json.loads(done.stdout)
        assert len(probes) == len(answers) > 20
        for probe, rows in zip(probes, answers, strict=True):
            np.testing.assert_allclose(
                _by_tier(np.array(rows)),
                probe["tiers"],
                atol=TOLERANCE,
                err_msg=probe["source"],
            )

    def test_the_probes_see_another_network(self, sources: Any, folder: Path) -> None:
        bias = np.load(folder / "layer-3-scales.npy")
        bias[:, 1] += np.linspace(-0.5, 0.5, len(bias))
        np.save(folder / "layer-3-scales.npy", bias)
        _sign(folder, "layer-3-scales.npy")
        other = read_network(folder)
        probe = json.loads(sources.PROBES.read_text("utf-8"))[0]
        tables = read_tables([DescribedColumn(*fields) for fields in probe["columns"]])
        found = _by_tier(category_probabilities(tables, other))
        assert np.abs(found - probe["tiers"]).max() > TOLERANCE


class TestShape:
    def test_layers_of_128_and_64(self) -> None:
        outputs = [layer.weights.shape[0] for layer in load_network().layers]
        assert outputs == [128, 64, len(CATEGORIES)]

    def test_70_percent_of_the_first_layer_are_zero(self) -> None:
        weights = np.load(MODEL / "layer-1.npy")
        assert np.mean(weights == 0) >= 0.7

    def test_weights_and_vectors_are_in_8_bits(self) -> None:
        for name in ("layer-1", "layer-2", "layer-3", "pieces", "words"):
            assert np.load(MODEL / f"{name}.npy", mmap_mode="r").dtype == np.int8

    def test_fits_beside_lexicon_and_packs(self) -> None:
        assert sum(path.stat().st_size for path in MODEL.iterdir()) < 8_500_000

    def test_says_where_the_vectors_come_from(self) -> None:
        assert "all-MiniLM-L6-v2" in (MODEL / "NOTICE").read_text("ascii")


class TestAnswers:
    COLUMNS = (
        DescribedColumn("patients", "birth_date", "date of birth"),
        DescribedColumn("patients", "diag", "main diagnosis"),
        DescribedColumn("stores", "store_name", ""),
        DescribedColumn("patients", "xq7", ""),
    )

    def test_rows_are_probabilities(self) -> None:
        chances = category_probabilities(read_tables(self.COLUMNS))
        assert chances.shape == (4, len(CATEGORIES))
        assert (chances >= 0).all()
        np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-5)

    def test_other_tables_change_nothing(self) -> None:
        mine, others = self.COLUMNS[:2], self.COLUMNS[2:3]
        alone = category_probabilities(read_tables(mine))
        beside = category_probabilities(read_tables([*mine, *others]))
        np.testing.assert_allclose(alone, beside[:2], atol=1e-5)

    def test_order_of_columns_changes_nothing(self) -> None:
        mine = [self.COLUMNS[at] for at in (0, 1, 3)]
        network = load_network()
        forward = feature_rows(read_tables(mine), network.embedding, network.layout)
        back = feature_rows(read_tables(mine[::-1]), network.embedding, network.layout)
        np.testing.assert_allclose(forward, back[::-1], atol=1e-6)

    def test_no_columns_no_rows(self) -> None:
        assert category_probabilities([]).shape == (0, len(CATEGORIES))

    @pytest.mark.parametrize(
        ("table", "name", "description", "tier"),
        [
            ("patients", "hba1c", "glycated haemoglobin", "special"),
            ("personas", "religion_declarada", "religión", "special"),
            ("kunden", "Geburtsdatum", "", "personal"),
            ("clientes", "telefone_celular", "", "identifier"),
            ("salaries", "nom_famille", "nom de famille", "identifier"),
            ("sensors", "wind_speed", "wind speed at 10 m", "non_personal"),
            ("werknemers", "salaris", "bruto maandsalaris", "personal"),
            ("dipendenti", "iscrizione_sindacato", "tessera sindacale", "special"),
        ],
    )
    def test_plain_names_of_seven_languages(
        self, table: str, name: str, description: str, tier: str
    ) -> None:
        assert tier_of(table, name, description) == tier

    @pytest.mark.parametrize(
        "name", ["x" * 10_000, "\x00\x1b[31m", "تاريخ الميلاد", "生年月日", "💊", "_"]
    )
    def test_odd_names_are_answered(self, name: str) -> None:
        chances = category_probabilities(
            read_tables([DescribedColumn("t", name, name, name)])
        )
        assert np.isfinite(chances).all()

    def test_imports_nothing_but_numpy(self) -> None:
        code = (
            "import sys\nfrom lexfed.law.tagger.semantics import network\n"
            "network.load_network()\n"
            "heavy = {'torch', 'pandas', 'scipy', 'sklearn', 'pydantic'}\n"
            "found = heavy & set(sys.modules)\nsys.exit(str(found) if found else 0)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


class TestDamage:
    def test_a_changed_file_is_refused(self, folder: Path) -> None:
        path = folder / "layer-2.npy"
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        with pytest.raises(ConfigError, match=r"layer-2\.npy.*not the file"):
            read_network(folder)

    def test_a_missing_file_is_refused(self, folder: Path) -> None:
        (folder / "words.npy").unlink()
        with pytest.raises(ConfigError, match=r"words\.npy.*cannot be read"):
            read_network(folder)

    @pytest.mark.parametrize("content", ["", "{", "[]", '{"outputs": {}}', "[" * 9999])
    def test_an_index_that_is_none_is_refused(self, folder: Path, content: str) -> None:
        (folder / INDEX).write_text(content)
        with pytest.raises(ConfigError, match=r"network\.json.*cannot be read"):
            read_network(folder)

    @pytest.mark.parametrize(
        "change", [{"categories": ["health"]}, {"outputs": {"../network.json": "0"}}]
    )
    def test_an_index_of_other_things_is_refused(
        self, folder: Path, change: dict[str, Any]
    ) -> None:
        (folder / INDEX).write_text(json.dumps(index() | change))
        with pytest.raises(ConfigError, match="other categories or names"):
            read_network(folder)

    def test_files_that_do_not_fit_are_refused(self, folder: Path) -> None:
        (folder / "layer-1.npy").write_bytes(b"no array")
        _sign(folder, "layer-1.npy")
        with pytest.raises(ConfigError, match="does not fit"):
            read_network(folder)


def _by_tier(chances: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.stack(
        [
            chances[:, [CATEGORIES.index(c) for c in CATEGORIES_OF[tier]]].sum(axis=1)
            for tier in TIERS
        ],
        axis=1,
    )


def _sign(folder: Path, name: str) -> None:
    found = json.loads((folder / INDEX).read_text("utf-8"))
    digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    found["outputs"][name] = digest
    (folder / INDEX).write_text(json.dumps(found))
