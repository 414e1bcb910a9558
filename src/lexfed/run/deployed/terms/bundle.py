# SPDX-License-Identifier: Apache-2.0
"""A configuration with the files it names, as one thing to consent to.

A budget policy or a catalogue of law decides as much as the configuration that names
it, and so does the kind of the run: training, or a profile at a price. So all of it
travels together, and the digest is over all of it. What is under that digest must not
change: people have consented to it.

A site computes the whole programme and reads the whole model in every query. A run that
no machine could hold, or no message carry, is refused by the first reader of the
configuration, before any consent.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from lexfed.audit.entries.fields import decimal
from lexfed.audit.log.logged_files import PROFILE
from lexfed.canonical import digest
from lexfed.config import Config, loads
from lexfed.config.examination import config_text
from lexfed.config.open_decisions import OpenConfig, examine_open
from lexfed.config.policy_file import BUILT_IN, SUFFIX
from lexfed.data.encoding import Encoding
from lexfed.durable import write_atomically
from lexfed.errors import ConfigError, Problem, RunFolderError, system_reason
from lexfed.federation.flare.kit.folder import COORDINATOR
from lexfed.models.networks.specifications import is_imported, network_weights
from lexfed.plain_files import read_plain
from lexfed.run.deployed.signed_messages import MOST_PROGRAMME
from lexfed.run.purchases.profile_purchase import profile_configuration, require_use
from lexfed.terms import SITE_NAME

CONFIG = "lexfed.toml"
CLAIM = "claim.json"
ENCODING = "encoding.json"
"""File of a profile that training uses, beside its answers."""
MOST_BYTES = 1 << 20
"""Most bytes of each file: policies and catalogues are pages, not books."""
MOST_ROUNDS = 10_000
"""Most rounds of a tower: each is a few hundred bytes of the compared programme."""
MOST_WEIGHTS = 10_000_000
"""Most weights of a model: 80 MB in every query, for each tower."""


@dataclass(frozen=True)
class Bundle:
    """Everything that decides a run: text of the configuration, and the files it names.

    `profile` is the epsilon that a record pays for a profile; None for training.
    """

    text: str
    files: Mapping[str, bytes]
    profile: float | None = None

    @classmethod
    def read(
        cls, path: Path, base: Path | None = None, profile: float | None = None
    ) -> "Bundle":
        """Read a deployable configuration, and the files it names beside `base`."""
        try:
            text = config_text(path)
        except (OSError, UnicodeDecodeError) as error:
            problem = Problem(str(path), "cannot be read as UTF-8 text")
            raise ConfigError([problem]) from error
        config = _decided(text, str(path), profile)
        files = {}
        for name in named_files(config):
            try:
                file = (base or path.parent) / name
                files[name] = read_plain(file, MOST_BYTES, links=True)
            except OSError as error:
                what = f"cannot be read: {system_reason(error)}"
                raise ConfigError([Problem(f"`{name}`", what)]) from error
        return cls(text, files, profile)

    @cached_property
    def config(self) -> Config:
        """The configuration; for a profile, without the parts that only training has.

        A `ConfigError` has every problem of running it in a deployment.
        """
        config = _decided(self.text, CONFIG, self.profile)
        if set(self.files) != set(named_files(config)):
            raise ConfigError([Problem(CONFIG, "came with other files than it names")])
        return config

    @cached_property
    def opened(self) -> OpenConfig:
        """The configuration, and the columns whose range or list a profile finds."""
        return replace(examine_open(self.text).require(), config=self.config)

    @property
    def name(self) -> str:
        """The name of the run: a profile has one of its own."""
        name = self.config.run.name
        return name if self.profile is None else f"{name}-profile"

    @property
    def sites(self) -> tuple[str, ...]:
        """The sites, in the order of the programme."""
        return site_names(self.config)

    @cached_property
    def digest(self) -> str:
        """The hash of the configuration, of every file, and of the kind of the run.

        Guarantees:
            Training and a profile have different digests, and so have profiles of
            other prices, or of other open columns.
        """
        hashes = {n: hashlib.sha256(c).hexdigest() for n, c in self.files.items()}
        parts: dict[str, Any] = {"config": self.config.digest, "files": hashes}
        if self.profile is not None:
            parts["config"] = examine_open(self.text).require().config.digest
            parts["profile"] = decimal(self.profile)
            parts["open"] = list(self.opened.columns)
        return digest(parts)

    def write(self, folder: Path) -> None:
        """Put the files where the configuration expects them."""
        for name, content in self.files.items():
            path = folder / name
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise RunFolderError(
                    f"cannot write `{path.parent}`: {error.strerror or error}"
                ) from error
            write_atomically(path, content)


def _decided(text: str, name: str, profile: float | None) -> Config:
    if profile is None:
        config = loads(text, name)
    else:
        config = examine_open(text, name).require().config
        require_use(config, profile)
        config = profile_configuration(config)
    require_deployable(config)
    return config


def named_files(config: Config) -> tuple[str, ...]:
    """Return the files that decide a run beside its configuration."""
    budget = config.budget
    names = list(config.law.catalogues)
    if budget.policy not in BUILT_IN:
        names.append(budget.policy)
        if budget.policy_keys:
            names += [budget.policy + SUFFIX, *budget.policy_keys]
    if config.data.profile is not None:
        folder = PurePosixPath(config.data.profile)
        names += [str(folder / name) for name in (CLAIM, ENCODING, PROFILE)]
    return tuple(dict.fromkeys(names))


def site_names(config: Config) -> tuple[str, ...]:
    """Return the names of the sites: those of their files, without the endings."""
    files = (config.data.sites.files if config.data.sites else None) or ()
    return tuple(PurePosixPath(file).name.split(".", 1)[0] for file in files)


def require_deployable(config: Config) -> None:
    """Refuse a configuration that a coordinator without data cannot run."""
    parts = (_of_sites, _of_data, _of_model, size_problems, _of_places, _of_paths)
    problems = [problem for part in parts for problem in part(config)]
    if problems:
        raise ConfigError(problems)


def _of_sites(config: Config) -> Iterator[Problem]:
    if config.federation.engine != "flare":
        yield Problem(
            "`federation.engine`",
            f'a deployment needs "flare", got: "{config.federation.engine}"',
            'set `engine = "flare"`; `lexfed run` runs the others',
        )
    names = site_names(config)
    if not names:
        yield Problem(
            "`data.sites`",
            "a deployment needs one file for every site",
            'write `sites = { files = ["north.csv", "south.csv"] }`: what comes before '
            "the ending is the site's name in the roster",
        )
    for name in names:
        if not re.fullmatch(SITE_NAME, name) or name == COORDINATOR:
            yield Problem(
                "`data.sites.files`",
                f"`{name}` is not the name of a site",
                "files are called like sites in the roster: letters, digits, `_`",
            )
        elif names.count(name) > 1:
            yield Problem("`data.sites.files`", f"names site `{name}` twice")


def _of_data(config: Config) -> Iterator[Problem]:
    if config.evaluation.metrics != "paid" and config.data.test_size > 0:
        yield Problem(
            "`evaluation.metrics`",
            f"`{config.evaluation.metrics}` needs test rows where the model is, and a "
            "coordinator has none",
            'set `metrics = "paid"`, or `test_size = 0.0` under `[data]`',
        )
    for key in ("importance_from", "groups_from"):
        if getattr(config.budget, key) is not None:
            yield Problem(
                f"`budget.{key}`",
                "reads a table or a run folder that the sites do not have",
                "state importances or groups in the configuration",
            )


def _of_model(config: Config) -> Iterator[Problem]:
    if is_imported(config.federation.model):
        yield Problem(
            "`federation.model`",
            f"`{config.federation.model}` would run code of whoever wrote the "
            "configuration at every site",
            "use `logistic`, `linear`, `additive`, `mlp:256,128,64` or `cnn`",
        )


def _of_places(config: Config) -> Iterator[Problem]:
    elsewhere = {
        "run.out": (config.run.out, "the run is in the coordinator's kit"),
        "budget.ledgers": (config.budget.ledgers, "sites keep theirs in their kits"),
    }
    for key, (value, where) in elsewhere.items():
        if value is not None:
            what = f"does nothing in a deployment: {where}"
            yield Problem(f"`{key}`", what, "remove it")


def _of_paths(config: Config) -> Iterator[Problem]:
    for name in named_files(config):
        parts = PurePosixPath(name).parts
        if PurePosixPath(name).is_absolute() or ".." in parts or "\\" in name:
            yield Problem(
                f"`{name}`",
                "is not in the folder of the configuration",
                "files that travel to the sites lie beside the configuration",
            )


def size_problems(config: Config) -> Iterator[Problem]:
    """Yield the excesses of a configuration, whatever its columns are."""
    for table, key in (("federation", "rounds"), ("adapt", "rounds_at_most")):
        rounds = getattr(getattr(config, table), key)
        if rounds is not None and rounds > MOST_ROUNDS:
            yield Problem(
                f"`{table}.{key}`",
                f"at most {MOST_ROUNDS} in a deployment, got: {rounds}",
                "every site plans, pays and signs each round on its own; use fewer",
            )
    yield from _too_wide(config, 1)


def _too_wide(config: Config, inputs: int, outputs: int = 1) -> Iterator[Problem]:
    model = config.federation.model
    weights = network_weights(model, inputs, outputs)
    if weights > MOST_WEIGHTS:
        yield Problem(
            "`federation.model`",
            f"at most {MOST_WEIGHTS} weights in a deployment, got: {weights} in "
            f"`{model}`",
            "every query carries the whole model to every site; use narrower layers, "
            "or declare fewer values of columns and target",
        )


def require_weights(config: Config, encoding: Encoding) -> None:
    """Refuse a model with too many weights for its columns and its outputs."""
    schema = encoding.schema
    outputs = len(schema.classes) if schema.task == "multiclass" else 1
    problems = list(_too_wide(config, len(encoding.slots), outputs))
    if problems:
        raise ConfigError(problems)


def require_programme(size: int) -> None:
    """Refuse a programme of so many bytes that no site would read it."""
    if size > MOST_PROGRAMME:
        problem = Problem(
            "`federation.rounds`",
            f"the programme has {size} bytes, sites read {MOST_PROGRAMME}",
            "use fewer rounds, or fewer groups of columns",
        )
        raise ConfigError([problem])
