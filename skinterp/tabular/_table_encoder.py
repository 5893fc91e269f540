"""From a table with columns of any kind to numbers.

Made of scikit-learn's own parts (``OneHotEncoder``, ``CountVectorizer``) rather than
of skrub's ``TableVectorizer``: that would be a new dependency, and the encodings in
which it excels (string similarity, latent topics, periodic features of dates) have no
exact way back to "the cell is ..." or "the cell is at most ...", which is what an
explanation in the user's own columns needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from skinterp.compat import (
    Integral,
    Interval,
    RealNotInt,
    StrOptions,
    check_is_fitted,
    fit_context,
    validate_data,
)
from skinterp.explanation import FeatureMap
from skinterp.tabular._column_kinds import choose_part
from skinterp.tabular._frames import column_names, is_frame, split_columns
from skinterp.tabular._label_parts import TextPart
from skinterp.tabular._table_parts import Part


class TableEncoder(TransformerMixin, BaseEstimator):
    """Make numbers of a table with columns of any kind, with the way back.

    Each column is taken for what it holds: numbers stay as they are, truth values
    become 0 and 1, dates become days since 1970-01-01, labels one feature each, free
    text one feature per frequent word. Missing cells are filled or left missing. What
    an estimator behind it says about its features, ``skinterp.explain`` says about the
    columns.

    Parameters
    ----------
    missing : {"impute", "keep"}, default="impute"
        - "impute": the median of numbers and dates, the more frequent truth value; a
          missing label is a label of its own, a missing text contains no word;
        - "keep": NaN in every feature of the column, for estimators that take NaN.
    add_indicator : bool, default=False
        Whether a column with missing cells in ``fit`` gets a feature more that tells
        them.
    max_categories : int, default=20
        Most features that a column of labels becomes; the rarest labels share one.
        None sets no limit. A column with more labels than this, most of them of three
        words or more, is free text.
    min_frequency : int or float, default=None
        Labels of fewer rows, or of a smaller share of rows, share a feature.
    handle_unknown : {"infrequent_if_exist", "ignore", "error"}, \
default="infrequent_if_exist"
        What becomes of a label that was not there in ``fit``: it joins the rare labels
        where there are such, or is none of the labels, or is refused.
    text : {"tokens", "drop"}, default="tokens"
        Whether free text is encoded by its words or left out.
    max_tokens : int, default=30
        Most words per column of free text, by frequency.

    Attributes
    ----------
    kinds_ : dict of str to str
        For each column what it was taken for: "number", "bool", "date", "category",
        "ordered", "text" or "dropped".
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where all are strings.

    See Also
    --------
    skinterp.explain : Brings explanations back to the columns.
    skinterp.tabular.feature_map : What is known about the way back.

    Notes
    -----
    A string column is a column of dates where every cell is an ISO date such as
    2026-03-01 or 2026-03-01 14:30. A pandas ``category`` column always holds labels; an
    ordered one becomes one feature, the position of the label in the order, in which a
    missing or unknown label takes the median's position, or NaN where missing cells are
    kept.

    Examples
    --------
    >>> import pandas as pd
    >>> from skinterp.tabular import TableEncoder
    >>> X = pd.DataFrame(
    ...     {"dose": [1.0, None, 3.0, 8.0], "town": ["Ulm", "Bonn", "Ulm", "Ulm"]}
    ... )
    >>> encoder = TableEncoder().set_output(transform="pandas")
    >>> encoder.fit_transform(X)
       dose  town_Bonn  town_Ulm
    0   1.0        0.0       1.0
    1   3.0        1.0       0.0
    2   3.0        0.0       1.0
    3   8.0        0.0       1.0
    >>> encoder.kinds_
    {'dose': 'number', 'town': 'category'}
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "missing": [StrOptions({"impute", "keep"})],
        "add_indicator": ["boolean"],
        "max_categories": [Interval(Integral, 1, None, closed="left"), None],
        "min_frequency": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            None,
        ],
        "handle_unknown": [StrOptions({"infrequent_if_exist", "ignore", "error"})],
        "text": [StrOptions({"tokens", "drop"})],
        "max_tokens": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        missing: str = "impute",
        add_indicator: bool = False,
        max_categories: int | None = 20,
        min_frequency: float | None = None,
        handle_unknown: str = "infrequent_if_exist",
        text: str = "tokens",
        max_tokens: int = 30,
    ) -> None:
        self.missing = missing
        self.add_indicator = add_indicator
        self.max_categories = max_categories
        self.min_frequency = min_frequency
        self.handle_unknown = handle_unknown
        self.text = text
        self.max_tokens = max_tokens

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what each column holds.

        Parameters
        ----------
        X : frame of pandas or polars, or array-like of shape (n_rows, n_columns)
            The table.
        y : Ignored
            Present for scikit-learn's sake.

        Returns
        -------
        TableEncoder
            Itself.
        """
        columns = self._columns(X, reset=True)
        names = column_names(self) or ()
        self._parts = [
            self._fit_part(name, column)
            for name, column in zip(names, columns, strict=True)
        ]
        self.kinds_ = {
            name: "dropped" if part is None else _kind(part)
            for name, part in zip(names, self._parts, strict=True)
        }
        return self

    def _fit_part(self, name: str, column: Any) -> Part | None:
        part_class = choose_part(name, column, self)
        if part_class is TextPart and self.text == "drop":
            return None
        part = part_class(name, self, column)
        part.learn(*part.read(column))
        return part

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Make numbers of a table.

        Parameters
        ----------
        X : frame of pandas or polars, or array-like of shape (n_rows, n_columns)
            A table with the columns of ``fit``.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            The features.
        """
        check_is_fitted(self)
        columns = self._columns(X, reset=False)
        blocks = [
            part.transform(column)
            for part, column in zip(self._parts, columns, strict=True)
            if part is not None
        ]
        if not blocks:
            return np.empty((len(columns[0]), 0))
        return np.hstack(blocks)

    def get_feature_names_out(
        self, input_features: ArrayLike | None = None
    ) -> NDArray[Any]:
        """Name the features.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns, for a table without names; those of ``fit``
            otherwise.

        Returns
        -------
        ndarray of str
            The column's name, followed by the label or word where there is one.
        """
        check_is_fitted(self)
        names = self._names_in(input_features)
        out: list[str] = []
        for name, part in zip(names, self._parts, strict=True):
            if part is None:
                continue
            for own in part.names():
                out.append(name + own[len(part.name) :])
        return np.array(_distinct(out), dtype=object)

    def _names_in(self, input_features: ArrayLike | None) -> list[str]:
        own = list(column_names(self) or ())
        if input_features is None:
            return own
        given = [str(name) for name in np.asarray(input_features, dtype=object)]
        if hasattr(self, "feature_names_in_") and given != own:
            raise ValueError("input_features is not equal to feature_names_in_")
        if len(given) != len(own):
            msg = (
                "input_features should have length equal to number of features "
                f"({len(own)}), got {len(given)}"
            )
            raise ValueError(msg)
        return given

    def __skinterp_feature_map__(self, columns: Sequence[str]) -> FeatureMap:
        """Tell where each feature comes from."""
        check_is_fitted(self)
        sources = [
            source
            for j, part in enumerate(self._parts)
            if part is not None
            for source in part.all_sources(columns[j], j)
        ]
        return FeatureMap(tuple(columns), tuple(sources))

    def _columns(self, X: Any, *, reset: bool) -> list[Any]:
        """Check a table and split it into columns."""
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if 0 in X.shape:
                msg = f"Found a table of shape {X.shape}; at least one row and column "
                raise ValueError(msg + "are required.")
            return split_columns(X)
        if isinstance(X, list | tuple) and np.asarray(X).dtype.kind == "U":
            # numpy would make texts of the numbers beside texts
            X = np.array(X, dtype=object)
        array = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)
        return split_columns(array)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def _distinct(labels: Sequence[str]) -> list[str]:
    """Number labels that stand twice, past those that carry such a number already."""
    seen: Counter[str] = Counter()
    given, out = set(labels), []
    for label in labels:
        seen[label] += 1
        name = label
        while seen[label] > 1 and name in given:
            name = f"{label}_{seen[label]}"
            seen[label] += name in given
        given.add(name)
        out.append(name)
    return out


def _kind(part: Part) -> str:
    return type(part).__name__.removesuffix("Part").lower()
