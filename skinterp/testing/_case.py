"""An estimator under test, with its data and what is known of it before any fit."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from skinterp.base import SkinterpTags
from skinterp.compat import get_tags
from skinterp.testing._data import has_data, make_data

__all__ = ["OUTPUTS", "Case"]

#: Methods of an estimator that answer for each row.
OUTPUTS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "transform",
    "score_samples",
)


@contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings of what is not looked at here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Case:
    """One estimator to check.

    Parameters
    ----------
    estimator : estimator
        An unfitted estimator; the kit works on clones of it only.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self.name = type(estimator).__name__
        self.sklearn_tags = get_tags(estimator)
        own = getattr(estimator, "__skinterp_tags__", SkinterpTags)
        self.tags: SkinterpTags = own()
        self.explains = dict(getattr(estimator, "explains", {}))

    def __repr__(self) -> str:
        return " ".join(repr(self.estimator).split())

    # -- what is known by tags alone --------------------------------------------------
    @property
    def is_tabular(self) -> bool:
        """Whether a case is a row of a table."""
        return self.tags.input == "tabular"

    @property
    def is_series(self) -> bool:
        """Whether a case is a time series."""
        return self.tags.input == "series"

    @property
    def has_data(self) -> bool:
        """Whether there is a builder for its input."""
        return has_data(self.tags.input)

    @property
    def is_classifier(self) -> bool:
        """Whether it learns labels."""
        return bool(self.sklearn_tags.estimator_type == "classifier")

    @property
    def is_regressor(self) -> bool:
        """Whether it learns a number."""
        return bool(self.sklearn_tags.estimator_type == "regressor")

    @property
    def task(self) -> str:
        """Task of the data it is fitted on."""
        return "regression" if self.is_regressor else "classification"

    @property
    def multi_class(self) -> bool:
        """Whether more than two classes are taken."""
        tags = self.sklearn_tags.classifier_tags
        return tags is None or bool(tags.multi_class)

    @property
    def allows_nan(self) -> bool:
        """Whether missing cells are taken."""
        return bool(self.sklearn_tags.input_tags.allow_nan)

    @property
    def takes_weights(self) -> bool:
        """Whether ``fit`` takes ``sample_weight``."""
        return bool(has_fit_parameter(self.estimator, "sample_weight"))

    def has_parameter(self, name: str) -> bool:
        """Whether the constructor takes a parameter."""
        return name in self.estimator.get_params(deep=False)

    def has_method(self, name: str) -> bool:
        """Whether the class offers a method."""
        return hasattr(self.estimator, name) or hasattr(type(self.estimator), name)

    @property
    def is_predictor(self) -> bool:
        """Whether it predicts."""
        return self.has_method("predict")

    # -- work -------------------------------------------------------------------------
    def new(self, **params: Any) -> Any:
        """Return an unfitted clone with a fixed seed."""
        estimator = clone(self.estimator)
        seeds = [
            name
            for name in estimator.get_params(deep=True)
            if name.rpartition("__")[2] == "random_state"
        ]
        fixed: dict[str, Any] = dict.fromkeys(seeds, 0)
        return estimator.set_params(**(fixed | params))

    def data(
        self, *, n_rows: int | None = None, n_classes: int | None = None, seed: int = 0
    ) -> tuple[Any, NDArray[Any]]:
        """Make a tiny data set that suits the estimator."""
        if n_classes is None:
            n_classes = 3 if self.multi_class else 2
        X, y = make_data(
            self.tags.input, self.task, n_rows=n_rows, n_classes=n_classes, seed=seed
        )
        return self.suit(X), y

    def suit(self, X: Any) -> Any:
        """Make numbers positive where only such are taken."""
        positive = self.sklearn_tags.input_tags.positive_only
        return np.abs(X) if positive else X

    @cached_property
    def Xy(self) -> tuple[Any, NDArray[Any]]:
        """The data of ``fitted``; not to be written to."""
        return self.data()

    def fit(self, estimator: Any, X: Any, y: Any, **fit_params: Any) -> Any:
        """Fit, silently."""
        with quiet():
            return estimator.fit(X, y, **fit_params)

    @cached_property
    def fitted(self) -> Any:
        """One fitted estimator for all checks that only read."""
        return self.fit(self.new(), *self.data())

    def outputs(self, estimator: Any, X: Any) -> dict[str, Any]:
        """Everything that a fitted estimator says of rows, explanations left out."""
        names = [name for name in OUTPUTS if hasattr(estimator, name)]
        with quiet():
            return {name: as_array(getattr(estimator, name)(X)) for name in names}

    def scopes(self) -> list[tuple[str, str]]:
        """Every declared pair of scope and kind."""
        return [(s, kind) for s, kinds in self.explains.items() for kind in kinds]

    def explanations(self, estimator: Any, X: Any) -> dict[tuple[str, str], Any]:
        """Every explanation that is declared."""
        with quiet():
            return {
                (scope, kind): estimator.explain(
                    None if scope == "global" else X, kind=kind
                )
                for scope, kind in self.scopes()
            }

    def answers(self, estimator: Any, X: Any) -> dict[str, Any]:
        """Outputs and explanations, in a form that compares and pickles."""
        answers = self.outputs(estimator, X)
        for (scope, kind), explanation in self.explanations(estimator, X).items():
            answers[f"{scope} {kind}"] = content(explanation)
        return answers


def content(explanation: Any) -> dict[str, Any]:
    """Content of an explanation as plain data, without how it was made."""
    data: dict[str, Any] = dict(explanation.to_dict())
    data.pop("meta", None)
    return data


def as_array(output: Any) -> NDArray[Any]:
    """Turn what an estimator returns for rows into a dense array."""
    if hasattr(output, "toarray"):
        output = output.toarray()
    return np.asarray(output)
