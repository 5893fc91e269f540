"""Rules: conjunctions of conditions that decide a class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skinterp.explanation._base import Explanation, check_k, check_shapes
from skinterp.explanation._literals import Literal, read_feature, read_table, say
from skinterp.explanation._ragged import offsets_of, ranges
from skinterp.explanation._rules_check import (
    check_arrays,
    check_ends,
    check_rows,
    check_rules,
    check_whole,
    read_labels,
)
from skinterp.explanation._rules_map import map_rules
from skinterp.explanation._rules_show import draw_rules, rule_table, say_rows, say_rules

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from skinterp.explanation._feature_map import FeatureMap


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RuleSet(Explanation):
    """Rules that decide a class, for a whole model or for single rows.

    A rule is a conjunction of literals. A literal is an interval of one column,
    (lower, upper] unless its ends say otherwise, or membership in a set of labels.

    Parameters
    ----------
    scope : {"global", "local"}
        Global: all rules of the model. Local: the rules that hold for each row.
    feature_names : tuple of str
        Names of the columns.
    target_names : ndarray of shape (n_classes,)
        Labels of the classes.
    offsets : ndarray of shape (n_rules + 1,), int64
        Rule r has the literals ``offsets[r]`` to ``offsets[r + 1]``.
    feature : ndarray of shape (n_literals,), int64
        Column of each literal.
    lower, upper : ndarray of shape (n_literals,), float64
        Ends of the intervals; infinite where there is none.
    lower_closed, upper_closed : ndarray of shape (n_literals,), bool
        Whether the ends belong to the interval.
    categories : tuple of length n_literals
        None for an interval, else the labels of the set.
    negated : ndarray of shape (n_literals,), bool
        Whether the cell is to be none of the labels.
    missing : ndarray of shape (n_literals,), bool
        Whether a missing cell satisfies the literal.
    target : ndarray of shape (n_rules,), int64
        Position in ``target_names`` of what the rule decides.
    support : ndarray of shape (n_rules,), float64
        Weight of the training rows that satisfy the rule; NaN where unknown.
    feature_dtypes : tuple of str
        How each column is read before it is compared: "float32", "float64", "date"
        (days since 1970-01-01), "category", or "derived" for a feature that is not a
        column of the table.
    complete : bool, default=True
        Whether a rule holds for every row without missing cells.
    row_offsets : ndarray of shape (n_rows + 1,), int64, default=None
        Local: row i has the rules ``row_offsets[i]`` to ``row_offsets[i + 1]``, the
        first being the reason given for it.
    prediction : ndarray of shape (n_rows,), int64, default=None
        Local: position in ``target_names`` of the decision, -1 where the known cells
        do not determine it.
    relevant_missing : ndarray of shape (n_rows, n_features), bool, default=None
        Local: missing cells whose value could still change the decision.
    unit : str, default="row"
        What one case is.
    meta : mapping, default={}
        How it was made.

    Attributes
    ----------
    complexity : int
        Number of rules plus number of literals.

    See Also
    --------
    Attribution : A number per feature instead of rules.

    Notes
    -----
    ``covers`` costs O(n_rows x n_literals).

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp.explanation import RuleSet
    >>> inf = np.inf
    >>> rules = RuleSet.from_boxes(
    ...     lower=[[-inf, -inf], [2.5, -inf]],
    ...     upper=[[2.5, inf], [inf, inf]],
    ...     target=[0, 1],
    ...     support=[30, 20],
    ...     feature_names=("size", "age"),
    ...     target_names=["small", "large"],
    ... )
    >>> print(rules.to_text())
    2 rules with 2 conditions on 1 of 2 columns
    small if
      - size <= 2.5  (support 30)
    large if
      - size > 2.5  (support 20)
    >>> rules.decide([[1.0, 7.0], [3.0, 7.0]])
    array([0, 1])
    """

    kind = "rules"

    offsets: NDArray[np.int64]
    feature: NDArray[np.int64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    lower_closed: NDArray[np.bool_]
    upper_closed: NDArray[np.bool_]
    categories: tuple[tuple[Any, ...] | None, ...]
    negated: NDArray[np.bool_]
    missing: NDArray[np.bool_]
    target: NDArray[np.int64]
    support: NDArray[np.float64]
    feature_dtypes: tuple[str, ...]
    complete: bool = True
    row_offsets: NDArray[np.int64] | None = None
    prediction: NDArray[np.int64] | None = None
    relevant_missing: NDArray[np.bool_] | None = None

    @classmethod
    def from_boxes(
        cls,
        lower: ArrayLike,
        upper: ArrayLike,
        *,
        target: ArrayLike,
        feature_names: Sequence[str],
        target_names: ArrayLike,
        support: ArrayLike | None = None,
        feature_dtype: str = "float32",
        scope: str = "global",
        complete: bool = True,
        **local: Any,
    ) -> RuleSet:
        """Make rules of axis-aligned boxes (lower, upper].

        Parameters
        ----------
        lower, upper : array-like of shape (n_rules, n_features)
            Corners of the boxes; infinite where a column is free.
        target : array-like of shape (n_rules,)
            Position in ``target_names`` of what each rule decides.
        feature_names : sequence of str
            Names of the columns.
        target_names : array-like of shape (n_classes,)
            Labels of the classes.
        support : array-like of shape (n_rules,), default=None
            Training weight that satisfies each rule; None says that it is unknown.
        feature_dtype : {"float32", "float64"}, default="float32"
            What the model compares in; scikit-learn's trees compare in float32.
        scope : {"global", "local"}, default="global"
            Scope of the explanation.
        complete : bool, default=True
            Whether every row without missing cells is covered.
        **local : Any
            ``row_offsets``, ``prediction`` and ``relevant_missing`` of a local one.

        Returns
        -------
        RuleSet
            With one rule per box, in order.

        Examples
        --------
        >>> rules = RuleSet.from_boxes(
        ...     [[0.0]],
        ...     [[1.0]],
        ...     target=[0],
        ...     feature_names=["x"],
        ...     target_names=["in"],
        ...     complete=False,
        ... )
        >>> rules.to_frame()["condition"][0]
        '0 < x <= 1'
        """
        low = np.asarray(lower, dtype=np.float64)
        high = np.asarray(upper, dtype=np.float64)
        n = len(feature_names)
        if low.ndim != 2:
            msg = f"lower has shape {low.shape}, expected (n_rules, {n})"
            raise ValueError(msg)
        check_shapes({"lower": (low, (len(low), n)), "upper": (high, (len(low), n))})
        check_ends(low, high)
        rule, feature = np.nonzero((low > -np.inf) | (high < np.inf))
        false = np.zeros(len(rule), dtype=bool)
        return cls(
            scope=scope,
            feature_names=tuple(feature_names),
            target_names=np.asarray(target_names),
            offsets=np.searchsorted(rule, np.arange(len(low) + 1)),
            feature=feature,
            lower=low[rule, feature],
            upper=high[rule, feature],
            lower_closed=false,
            upper_closed=~false,
            categories=(None,) * len(rule),
            negated=false,
            missing=false,
            target=np.asarray(target),
            support=np.full(len(low), np.nan)
            if support is None
            else np.asarray(support),
            feature_dtypes=(feature_dtype,) * n,
            complete=complete,
            **local,
        )

    def _normalise(self) -> None:
        for name in ("offsets", "feature", "target", "row_offsets", "prediction"):
            self._cast(name, np.int64)
        for name in ("lower", "upper", "support"):
            self._cast(name, np.float64)
        for name in ("lower_closed", "upper_closed", "negated", "missing"):
            self._cast(name, np.bool_)
        self._cast("relevant_missing", np.bool_)
        self._set("categories", tuple(map(read_labels, self.categories)))
        self._set("feature_dtypes", tuple(self.feature_dtypes))

    def _cast(self, name: str, dtype: type[np.generic]) -> None:
        value = getattr(self, name)
        if value is not None:
            if dtype is np.int64:
                check_whole(name, np.asarray(value))
            self._set(name, np.asarray(value, dtype=dtype))

    def _check(self) -> None:
        check_arrays(self)

    def __len__(self) -> int:
        return len(self.target if self.prediction is None else self.prediction)

    @property
    def n_rules(self) -> int:
        """Number of rules, those of all rows together."""
        return len(self.target)

    @property
    def complexity(self) -> int:
        """Number of rules plus number of literals."""
        return self.n_rules + len(self.feature)

    @property
    def used_features(self) -> tuple[int, ...]:
        """Columns that some rule speaks about, in their order."""
        return tuple(int(j) for j in np.unique(self.feature))

    def literals(self, rule: int) -> tuple[Literal, ...]:
        """Give the conditions of one rule.

        Parameters
        ----------
        rule : int
            Position of the rule.

        Returns
        -------
        tuple of Literal
            Each with ``feature``, ``lower``, ``upper``, ``categories``, ...
        """
        if not -self.n_rules <= rule < self.n_rules:
            msg = f"rule {rule} is out of range for {self.n_rules} rules"
            raise IndexError(msg)
        rule = rule % self.n_rules
        span = range(self.offsets[rule], self.offsets[rule + 1])
        return tuple(self._literal(i) for i in span)

    def _literal(self, i: int) -> Literal:
        return Literal(
            int(self.feature[i]),
            float(self.lower[i]),
            float(self.upper[i]),
            bool(self.lower_closed[i]),
            bool(self.upper_closed[i]),
            self.categories[i],
            bool(self.negated[i]),
            bool(self.missing[i]),
        )

    def covers(self, X: Any) -> NDArray[np.bool_]:
        """Say which rules hold for which rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)
            A frame's columns are found by name. A missing cell satisfies a literal
            only where the rule says so.

        Returns
        -------
        ndarray of shape (n_rows, n_rules), bool
            True where a rule holds.

        Raises
        ------
        ValueError
            If X is not a table of these columns, a column is lacking or holds what
            cannot be compared, or a rule uses a feature that is no column.
        """
        X = read_table(X, self.feature_names, self.feature_dtypes)
        held = np.ones((len(X), self.n_rules), dtype=bool)
        rules = np.repeat(np.arange(self.n_rules), np.diff(self.offsets))
        cells: dict[tuple[int, str], Any] = {}
        for i, rule in enumerate(rules):
            literal = self._literal(i)
            j = literal.feature
            dtype = self.feature_dtypes[j]
            if dtype == "derived":
                msg = (
                    f"the rules use {self.feature_names[j]!r}, which is no column of X "
                    "but made from it by the steps in front of the model"
                )
                raise ValueError(msg)
            dtype = dtype if literal.categories is None else "category"
            if (j, dtype) not in cells:
                cells[j, dtype] = read_feature(X, self.feature_names, j, dtype)
            held[:, rule] &= literal.mask(*cells[j, dtype])
        return held

    def decide(self, X: Any) -> NDArray[np.int64]:
        """Decide rows by the rules alone.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)
            As for ``covers``.

        Returns
        -------
        ndarray of shape (n_rows,), int64
            Position in ``target_names`` of what the first rule that holds decides, -1
            where none holds.
        """
        held = self.covers(X)
        if self.n_rules == 0:
            return np.full(len(held), -1, dtype=np.int64)
        return np.where(held.any(axis=1), self.target[held.argmax(axis=1)], -1)

    def top(self, k: int) -> Self:
        """Keep the k rules of largest support; of a local one, k rules per row.

        Parameters
        ----------
        k : int
            Number of rules, at least 1.

        Returns
        -------
        RuleSet
            With fewer rules; ``complete`` is False where rules were left out.
        """
        k = check_k(k)
        if self.row_offsets is None:
            order = np.argsort(-np.nan_to_num(self.support), kind="stable")[:k]
            return self._take(np.sort(order))
        counts = np.minimum(np.diff(self.row_offsets), k)
        keep = ranges(self.row_offsets[:-1], counts)
        return self._with(**self._rule_fields(keep), row_offsets=offsets_of(counts))

    def _take(self, indices: NDArray[np.intp]) -> Self:
        if self.row_offsets is None:
            complete = self.complete and len(np.unique(indices)) == self.n_rules
            return self._with(**self._rule_fields(indices), complete=complete)
        counts = np.diff(self.row_offsets)[indices]
        keep = ranges(self.row_offsets[:-1][indices], counts)
        missing = self.relevant_missing
        return self._with(
            **self._rule_fields(keep),
            row_offsets=offsets_of(counts),
            prediction=None if self.prediction is None else self.prediction[indices],
            relevant_missing=None if missing is None else missing[indices],
        )

    def _rule_fields(self, rules: NDArray[np.intp]) -> dict[str, Any]:
        """Fields of the given rules in the given order."""
        counts = np.diff(self.offsets)[rules]
        keep = ranges(self.offsets[:-1][rules], counts)
        names = ("feature", "lower", "upper", "lower_closed", "upper_closed")
        fields = {
            name: getattr(self, name)[keep] for name in (*names, "negated", "missing")
        }
        return fields | {
            "offsets": offsets_of(counts),
            "categories": tuple(self.categories[i] for i in keep),
            "target": self.target[rules],
            "support": self.support[rules],
        }

    def conditions(self) -> tuple[str, ...]:
        """Put each rule's conditions into words.

        Returns
        -------
        tuple of str
            One text per rule, such as ``"age > 60 and dose <= 2"``; ``"always"`` for
            a rule without conditions.
        """
        return tuple(self._say_rule(r) for r in range(self.n_rules))

    def _say_rule(self, rule: int) -> str:
        words = [
            say(x, self.feature_names[x.feature], self.feature_dtypes[x.feature])
            for x in self.literals(rule)
        ]
        return " and ".join(words) if words else "always"

    def labels(self) -> tuple[str, ...]:
        """Name what each rule decides.

        Returns
        -------
        tuple of str
            One label per rule.
        """
        return tuple(str(self.target_names[t]) for t in self.target)

    def row_of_rule(self) -> NDArray[np.int64]:
        """Row that each rule belongs to, of a local rule set.

        Returns
        -------
        ndarray of shape (n_rules,), int64
            Positions of rows; empty for a global rule set.
        """
        if self.row_offsets is None:
            return np.empty(0, dtype=np.int64)
        return np.repeat(np.arange(len(self)), np.diff(self.row_offsets))

    def to_frame(self) -> pd.DataFrame:
        """Give the rules as a table.

        Returns
        -------
        pandas.DataFrame
            One row per rule: ``target``, ``condition``, ``n_literals``, ``support``.
            A local one has ``row`` in front, counted within the explanation, and
            a line without target for each row that is not determined.
        """
        return rule_table(self)

    def to_text(self) -> str:
        """Say the rules in words.

        Returns
        -------
        str
            Global: the rules of each class. Local: the reason for each row, and what
            an undetermined row lacks.
        """
        return say_rules(self) if self.row_offsets is None else say_rows(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a line per rule, with the range that each column may take.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw. None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on.
        """
        return draw_rules(self, ax)

    def check_faithful(self, estimator: Any, X: Any) -> None:
        """Check that the rules say what the model predicts.

        Parameters
        ----------
        estimator : classifier
            The fitted model that was explained.
        X : array-like or frame
            Rows to try it on; for a local explanation, the explained ones.

        Raises
        ------
        AssertionError
            If rules that hold for a row name another class than ``predict``, or no
            rule holds for a row without missing cells though the set is complete.
        """
        check = check_rules if self.row_offsets is None else check_rows
        check(self, estimator, X)

    def map_features(self, feature_map: FeatureMap) -> Self:
        """Say the rules in the columns that the model's features come from.

        Parameters
        ----------
        feature_map : FeatureMap
            How each feature of the model is made from the user's columns.

        Returns
        -------
        RuleSet
            Literals on features of one column are merged; a global rule that no row
            can satisfy is left out.
        """
        return self._with(**map_rules(self, feature_map))
