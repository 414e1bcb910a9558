# SPDX-License-Identifier: Apache-2.0
"""Estimators for scikit-learn: every fit is a run, with its budget, log and claim.

    from lexfed.sklearn import PrivateClassifier

    model = PrivateClassifier(
        columns={"age": (0, 110), "sex": ["f", "m"]}, target=["no", "yes"],
        tiers={"age": "personal", "sex": "personal"}, epsilon=2, units=5000,
    )
    model.fit(X, y).predict_proba(X_new)
    model.claim_.epsilon, lexfed.verify(model.run_).ok

Ranges, lists, tiers, labels and budget are stated, never read from `X` or `y`; where
one is missing, `fit` refuses and says what to state.

A fit is a release about the people in `X`, and costs add up: a pipeline that is fitted
again, a fold, a candidate of a grid. Under `folder` one data set is fitted once; a
second fit is `Refused`, until `ledger` names a folder of lasting ledgers. With it every
fit is charged there, and refused once a ceiling is reached
(`lexfed ledger set-ceiling`). Scores on held-out rows, and a choice made by them, are
outside every guarantee: no ledger can charge for a look.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from lexfed.arrays import Floats
from lexfed.data.reading.memory_tables import MemoryTable
from lexfed.durable import FileLock
from lexfed.errors import (
    ConfigError,
    DataError,
    Problem,
    Refused,
    RunFolderError,
    system_reason,
)
from lexfed.ledger.charging import LastingLedger
from lexfed.privacy.claim.schema import Claim
from lexfed.python.evidence import write_report
from lexfed.python.requests import RunRequest
from lexfed.python.settings import (
    ColumnStatement,
    Settings,
    TierStatement,
    configuration_tables,
    data_set_name,
)
from lexfed.report.documents.run_documents import WrittenDocuments
from lexfed.run.driver.open_run import start
from lexfed.run.driver.site_accounts import FOLDER, data_holders
from lexfed.run.driver.training_loop import train as run_rounds
from lexfed.run.earlier_runs import released_model
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.run.results.prediction import scores
from lexfed.run.results.run_result import RunResult
from lexfed.tagging import TaggedColumns
from lexfed.tiers import Tier

__all__ = ["PrivateClassifier", "PrivateRegressor"]

IN_LABELS = "public"
"""Of `target`: the caller states that which labels occur in `y` is public."""


class UnsuitableRows(DataError, ValueError):
    """A `DataError` that scikit-learn knows as the `ValueError` it expects."""


class _PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """The common part of both estimators: parameters, a fit's run, and scores."""

    def __init__(
        self,
        *,
        columns: Mapping[str, ColumnStatement] | tuple[float, float] | None = None,
        tiers: Mapping[str, TierStatement] | TaggedColumns | str | None = None,
        target: Sequence[Any] | tuple[float, float] | str | None = None,
        target_tier: TierStatement = "special",
        epsilon: float | None = None,
        delta: float = 1e-6,
        caps: Mapping[str, float] | None = None,
        neighbours: str | None = None,
        units: int | None = None,
        records_per_person: int = 1,
        site_names: Sequence[str] | None = None,
        folder: str | Path = "runs/sklearn",
        ledger: str | Path | None = None,
        data_set: str = "table",
        more: Mapping[str, Any] | None = None,
    ) -> None:
        self.columns = columns
        self.tiers = tiers
        self.target = target
        self.target_tier = target_tier
        self.epsilon = epsilon
        self.delta = delta
        self.caps = caps
        self.neighbours = neighbours
        self.units = units
        self.records_per_person = records_per_person
        self.site_names = site_names
        self.folder = folder
        self.ledger = ledger
        self.data_set = data_set
        self.more = more

    @property
    def claim_(self) -> Claim | None:
        """The proven guarantee of the fit; None without privacy."""
        check_is_fitted(self, "run_")
        return self.run_.claim

    @property
    def report_(self) -> WrittenDocuments:
        """The documents of the fit's run, written into its folder now."""
        check_is_fitted(self, "run_")
        return write_report(self.run_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.non_deterministic = True
        return tags

    def _fit(
        self,
        X: Any,
        y: Any,
        target: Mapping[str, Any],
        sites: ArrayLike | int | None,
        person: ArrayLike | None,
    ) -> Self:
        """Run a training on the rows, and keep its model."""
        table, names = self._rows(X), self._names()
        taken = set(names)
        label = _free("target", taken)
        settings = self._settings(names, label, target)
        columns: dict[str, Any] = {label: y}
        if person is not None:
            key = settings["person"] = _free("person", taken)
            columns[key] = _texts(person, len(y), "person")
            reason = ("identifier", "says whom a row is about")
            _add(settings, key, "text", reason)
        if isinstance(sites, int) or sites is None:
            settings["sites"] = 1 if sites is None else sites
        elif self.site_names is None:
            what = "is missing: which sites there are is not read from the rows"
            hint = 'state them, `site_names=["north", "south"]`'
            raise ConfigError([Problem("`site_names`", what, hint)])
        else:
            key = _free("site", taken)
            columns[key] = _texts(sites, len(y), "sites")
            settings["sites"] = (key, list(self.site_names))
        request = self._request(settings, _joined(table, columns))
        priced = request.priced()
        folder = Path(self.folder)
        with self._turn(folder):
            self._require_first(priced, request)
            place = folder / _new_folder(folder)
            opened = start(priced, place, request.text, folder)
            self.run_: RunResult = run_rounds(priced, opened)
        self._released = released_model(place, "fit the estimator again")
        return self

    def _turn(self, folder: Path) -> AbstractContextManager[object]:
        """Return the turn of a fit in its folder: the next one sees what it charged.

        With a ledger of the caller's, which refuses by itself, fits need no turns.
        """
        if self.ledger is not None:
            return nullcontext()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            return FileLock.on_folder(folder)
        except OSError as error:
            raise _not_writable(folder, error) from error

    def _rows(self, X: Any) -> Any:
        """Return the rows as a frame; arrays get the names that scikit-learn gives."""
        import pandas as pd

        if _is_frame(X):
            return X
        return pd.DataFrame(X, columns=self._names())

    def _names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return [f"x{place}" for place in range(self.n_features_in_)]
        return [str(name) for name in names]

    def _settings(
        self, names: Sequence[str], label: str, target: Mapping[str, Any]
    ) -> Settings:
        """Return what the parameters state, with what is true of every column."""
        settings: Settings = {
            "target": label,
            "delta": self.delta,
            "test_size": 0.0,
            "name": "fit",
            "data_set": self.data_set,
        }
        columns, tiers = self.columns, self.tiers
        if columns is not None:
            if isinstance(columns, tuple):
                columns = dict.fromkeys(names, columns)
            settings["columns"] = {**columns, label: target}
        if isinstance(tiers, TaggedColumns):
            decided = tiers.decisions()
            tiers = {name: decided[name] for name in decided if name in names}
        elif isinstance(tiers, str):
            tiers = dict.fromkeys(names, tiers)
        if tiers is not None:
            settings["tiers"] = {**tiers, label: self.target_tier}
        if self.epsilon is not None:
            settings["epsilon"] = self.epsilon
        if self.caps is not None:
            settings["caps"] = self.caps
        if self.neighbours is not None:
            settings["neighbours"] = self.neighbours
        if self.units is not None:
            settings["units"] = self.units
        settings["more"] = dict(self.more or {})
        return settings

    def _request(self, settings: Settings, table: Any) -> RunRequest:
        name = data_set_name(settings)
        tables = configuration_tables(settings, [name])
        if "person" in settings:
            tables["data"]["records_per_person"] = self.records_per_person
        ledgers = FOLDER if self.ledger is None else os.path.abspath(self.ledger)
        tables["budget"]["ledgers"] = ledgers
        path = Path(self.folder) / "lexfed.toml"
        frames = (MemoryTable.of(table, name),)
        return RunRequest.of_tables(tables, type(self).__name__, path, frames)

    def _require_first(self, priced: PricedRun, request: RunRequest) -> None:
        """Without a ledger of the caller's, refuse to be fitted to the same people."""
        if self.ledger is not None or not priced.private:
            return
        names = {holder.data_set for holder in data_holders(priced)}
        for path in sorted((request.path.parent / FOLDER).glob("*.ledger")):
            with closing(LastingLedger.open(path)) as ledger:
                charged = any(row.kind == "commit" for row in ledger.rows())
            if charged and ledger.data_set in names:
                raise Refused(
                    f"`{self.folder}` holds a fit to the data set `{self.data_set}`; "
                    "what another one costs adds up",
                    "name a folder of lasting ledgers, `ledger=...`, which every fit "
                    "is charged to, or another `data_set` if these are other people",
                )

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self, "run_")
        X = self._validated(X)
        model, encoding = self._released
        table = MemoryTable.of(self._rows(X))
        try:
            return scores(model, encoding, table, Tier.SPECIAL).values
        except DataError as error:
            raise UnsuitableRows(error.problems) from error

    def _validated(self, X: Any, **y: Any) -> Any:
        """Return arrays checked as scikit-learn does; frames keep their types.

        With `y` for a fit, else to predict.
        """
        reset = "y" in y
        if not _is_frame(X):
            return validate_data(
                self, X, **y, reset=reset, ensure_all_finite="allow-nan"
            )
        validate_data(self, X, **y, reset=reset, skip_check_array=True)
        if reset:
            check_consistent_length(X, y["y"])
        return (X, y["y"]) if reset else X


class PrivateClassifier(ClassifierMixin, _PrivateEstimator):  # type: ignore[misc]
    """A classifier whose every fit is a private run with a claim.

    Args:
        columns: what is public about each column of `X`, as for `lexfed.train`; a pair
            `(low, high)` is the range of all of them. Required.
        tiers: how sensitive each column is, or one tier for all of them. Required.
        target: all labels there are, or "public" to state that which labels occur in
            `y` is public. Required.
        target_tier: the tier of `y`; the strictest by default.
        epsilon: what a fit may cost one person; required. `delta`, `caps`,
            `neighbours` and `units` are as for `lexfed.train`.
        records_per_person: rows that one person may have, with `fit(person=...)`.
        site_names: all sites there are, with `fit(sites=...)` for each row.
        folder: where runs, keys and, without `ledger`, ledgers are.
        ledger: the folder of lasting ledgers that every fit is charged to. Without it
            a data set is fitted once.
        data_set: the name under which ledgers know the rows.
        more: other keys of a configuration, `{"federation.rounds": 10}`.

    Attributes:
        classes_: the labels, sorted, in the order of `predict_proba`.
        run_: the result of the run, with its folder, for `lexfed.verify`.
    """

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sites: ArrayLike | int | None = None,
        person: ArrayLike | None = None,
    ) -> Self:
        """Train a private model.

        Args:
            X: a data frame, or an array whose columns are called x0, x1, ...
            y: the labels.
            sites: the site of each row, or a number of random parts.
            person: whom each row is about; without it each row is a person.

        Raises:
            ConfigError, DataError: with every problem; nothing was written or spent.
            Refused: if a budget or a ceiling would be exceeded, or the data set was
                fitted before and no `ledger` is named.
        """
        X, y = self._validated(X, y=y)
        check_classification_targets(y)
        labels = column_or_1d(y, warn=True)
        self.classes_ = self._classes(labels)
        words = [str(label) for label in self.classes_]
        if len(set(words)) < len(words):
            what, hint = "two of them read alike", "give them different names"
            raise ConfigError([Problem("`target`", what, hint)])
        place = dict(zip(self.classes_, words, strict=True))
        coded = [place.get(label) for label in labels.tolist()]
        if None in coded:
            row = coded.index(None) + 1
            what = f"a label, first in row {row}, is none of `target`"
            raise UnsuitableRows([Problem("`y`", what, "list all labels there are")])
        target = {"kind": "category", "values": words, "missing": False}
        return self._fit(X, coded, target, sites, person)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, [rows, classes]."""
        values = self._scores(X)
        if len(self.classes_) == 2:
            return np.hstack([1 - values, values])
        return values

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _classes(self, labels: NDArray[Any]) -> NDArray[Any]:
        if isinstance(self.target, str) and self.target == IN_LABELS:
            found = np.unique(labels)
            if len(found) < 2:
                what = "has one class only"
                raise UnsuitableRows(
                    [Problem("`y`", what, "list all labels there are")]
                )
            return found
        if self.target is None or isinstance(self.target, str):
            what = "is missing: which labels there are is not read from `y`"
            hint = (
                'list them, `target=["no", "yes"]`, or state that those in `y` are '
                'public: `target="public"`'
            )
            raise ConfigError([Problem("`target`", what, hint)])
        try:
            # Scorers of scikit-learn take the last of the sorted labels for positive.
            return np.sort(np.asarray(self.target))
        except TypeError as error:
            what, hint = "holds labels of different kinds", "list texts or numbers only"
            raise ConfigError([Problem("`target`", what, hint)]) from error


class PrivateRegressor(RegressorMixin, _PrivateEstimator):  # type: ignore[misc]
    """A regressor whose every fit is a private run with a claim.

    Args:
        target: the lowest and highest value of `y` that are public knowledge; values
            outside are clamped. Required. All others are those of `PrivateClassifier`.

    Attributes:
        run_: the result of the run, with its folder, for `lexfed.verify`.
    """

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sites: ArrayLike | int | None = None,
        person: ArrayLike | None = None,
    ) -> Self:
        """Train a private model; see `PrivateClassifier.fit`."""
        X, y = self._validated(X, y=y)
        if self.target is None:
            what = "is missing: the range of `y` is not read from it"
            hint = "state what is public knowledge, `target=(0, 100)`"
            raise ConfigError([Problem("`target`", what, hint)])
        values = column_or_1d(y, warn=True)
        type_of_target(values, input_name="y", raise_unknown=True)
        if values.dtype.kind not in "biuf":
            raise UnsuitableRows([Problem("`y`", "expected numbers")])
        target = {"kind": "number", "range": list(self.target), "missing": False}
        return self._fit(X, values.astype(float), target, sites, person)

    def predict(self, X: Any) -> Floats:
        """Return the predicted value of each row."""
        return self._scores(X)[:, 0]


def _is_frame(X: Any) -> bool:
    import narwhals as nw

    return nw.dependencies.is_into_dataframe(X)


def _joined(frame: Any, columns: Mapping[str, Any]) -> Any:
    """Return a frame with columns added; the one that was given stays as it is."""
    import narwhals as nw

    table = nw.from_native(frame, eager_only=True)
    backend = table.implementation
    return table.with_columns(
        *(
            nw.new_series(name, values, backend=backend)
            for name, values in columns.items()
        )
    ).to_native()


def _texts(values: ArrayLike, length: int, name: str) -> list[str]:
    """Return keys of rows as texts; a missing one is empty."""
    found = np.asarray(values, dtype=object)
    if found.shape != (length,):
        what = f"expected one value for each of {length} rows"
        raise UnsuitableRows([Problem(f"`{name}`", what)])
    return ["" if each is None or each != each else str(each) for each in found]


def _free(name: str, taken: set[str]) -> str:
    """Return a name that no column has."""
    while name in taken:
        name += "_"
    return name


def _add(settings: Settings, name: str, column: Any, tier: TierStatement) -> None:
    """State one more column, where columns and tiers are stated at all."""
    if "columns" in settings:
        settings["columns"] = {**settings["columns"], name: column}
    if "tiers" in settings:
        settings["tiers"] = {**settings["tiers"], name: tier}  # type: ignore[dict-item]


def _new_folder(folder: Path) -> str:
    """Make a folder of the next free number for a fit, and return its name."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        number = 1
        while True:
            try:
                (folder / f"fit-{number}").mkdir()
            except FileExistsError:
                number += 1
            else:
                return f"fit-{number}"
    except OSError as error:
        raise _not_writable(folder, error) from error


def _not_writable(folder: Path, error: OSError) -> RunFolderError:
    what = f"cannot write to `{folder}`: {system_reason(error)}"
    return RunFolderError(what, "choose another `folder`")
