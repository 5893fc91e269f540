"""Decision trees read as Boolean functions: the estimator.

`_tables` reads a fitted tree as arrays, `_boolean_tree_kernels` walks them. `_boxes`
sees the tree as a set of boxes and finds the maximal ones, with `_box_kernels`. On
these rest `_prediction`, `_rules` (explanations), `_equivalence` and `_deduplicate`
(comparison) and `_acquisition` (what to measure next).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.tree import DecisionTreeClassifier

from skinterp.base import ExplainableMixin, feature_names_of
from skinterp.compat import (
    HasMethods,
    Integral,
    Interval,
    StrOptions,
    check_is_fitted,
    check_parameter,
    check_sample_weight,
    fit_context,
    is_frozen,
    validate_data,
)
from skinterp.trees import _boolean_tree_kernels as kernels
from skinterp.trees import _boxes as boxes
from skinterp.trees._acquisition import AcquisitionMixin, training_cells
from skinterp.trees._equivalence import EquivalenceMixin
from skinterp.trees._prediction import PredictionMixin
from skinterp.trees._rules import Rows, draw, global_rules, local_rules, reason_rules
from skinterp.trees._tables import (
    TreeTables,
    cell_codes,
    check_columns,
    check_costs,
    check_groups,
    check_tree,
    tree_tables,
    unwrap,
)

if TYPE_CHECKING:
    from skinterp.explanation import RuleSet


class BooleanTreeClassifier(
    ExplainableMixin,
    PredictionMixin,
    AcquisitionMixin,
    EquivalenceMixin,
    ClassifierMixin,
    MetaEstimatorMixin,
    BaseEstimator,
):
    """A decision tree that decides with missing cells whenever it provably can.

    Wraps a tree of scikit-learn and reads it as a Boolean function. A row is
    determined if no value of its missing cells could change the class: then the
    answer is certain, whatever imputation would have said. ``explain`` gives all
    prime implicants, the minimal conditions that suffice for a class. They depend on
    the decision function alone, not on the order of the tests, so that two trees
    that decide alike have the same rules, the same ``canonical_key_`` and are
    equivalent.

    Parameters
    ----------
    estimator : DecisionTreeClassifier, ExtraTreeClassifier or FrozenEstimator, \
            default=None
        The tree to fit; a clone is fitted. A fitted tree inside a
        ``sklearn.frozen.FrozenEstimator`` is kept as it is. None means
        ``DecisionTreeClassifier(max_depth=3, random_state=0)``.
    on_undetermined : {"estimator", "abstain", "majority"}, default="estimator"
        What ``predict`` answers where the known cells don't determine the class.
        "estimator": the wrapped tree's answer, which sends a missing value to one
        side of each test. "abstain": a masked array, whose mask marks these rows and
        whose data are those of "estimator" (``cross_val_predict`` and
        ``confusion_matrix`` drop the mask, so that these rows look certain).
        "majority": the class of the largest
        training weight.
    feature_costs : array-like of shape (n_features,), default=None
        Cost of measuring each feature, not negative, for ``next_feature``,
        ``expected_cost`` and ``sufficient_reasons``. None means 1 for each.
    feature_groups : array-like of shape (n_features,), default=None
        Label of the group of each column, for ``next_feature`` and
        ``expected_cost``. Columns with one label are measured together, at the cost
        of one of them, which must be the same for all: the binary columns made of
        one raw column, say. None means that each column is measured by itself.
    max_terms : int, default=10000
        Largest number of prime implicants per class, also of those held on the way,
        in ``explain`` and ``canonical_key_``. Nothing else computes them, and
        ``explain(X, reasons_only=True)`` doesn't either: it gives one rule per row.

    Attributes
    ----------
    estimator_ : DecisionTreeClassifier or FrozenEstimator
        The fitted tree.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where all of them are strings.
    used_features_ : ndarray of shape (n_used,)
        Columns that the tree tests.
    feature_costs_ : ndarray of shape (n_features_in_,)
        Cost of each column.
    feature_groups_ : ndarray of shape (n_features_in_,)
        Group of each column, numbered by first appearance.
    training_cells_ : ndarray of shape (n_distinct, n_used)
        The training rows on the grid of the tree's thresholds, each once: number of
        thresholds below the value, -2 where it is missing.
    training_weight_ : ndarray of shape (n_distinct,)
        Their weights.

    See Also
    --------
    deduplicate_trees : Groups of trees that decide alike.
    sklearn.tree.DecisionTreeClassifier : The tree inside.

    Notes
    -----
    A missing cell stands for an unknown value. The walk of a row takes both branches
    of a test on a missing cell, as far as the tests before left room for a value,
    and is determined if all leaves agree: linear in the nodes reached. A tree that
    was fitted on missing values may also have learned that a missing value itself
    means something; its own way for missing values then counts as one more
    possibility, so that a determined row is one that neither a value nor the absence
    of it could change.

    Values are compared in float32 with thresholds in float64, as scikit-learn does.
    "Determined" says that the tree would give the same answer on the complete row.
    It doesn't say that this answer is right, nor that the row is like the training
    rows.

    Options of ``explain`` : ``reasons_only`` (bool, default False, with ``X`` only)
    gives each determined row one rule, the prime implicant around its minimal
    sufficient reason, in place of all prime implicants that hold for it. That takes
    time polynomial in the size of the tree, and ``max_terms`` doesn't matter.

    References
    ----------
    .. [1] McTavish, H., Boner, Z., Donnelly, J., Seltzer, M., Rudin, C. (2025).
       "Leveraging Predictive Equivalence in Decision Trees". ICML. arXiv:2506.14143.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp.trees import BooleanTreeClassifier
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> tree = BooleanTreeClassifier().fit(X, ["no", "no", "no", "yes"])
    >>> partly = [[np.nan, 0], [np.nan, 1]]
    >>> tree.determined(partly)
    array([ True, False])
    >>> print(tree.explain().to_text())
    3 rules with 4 conditions on 2 of 2 columns
    no if
      - x0 <= 0.5  (support 2)
      - x1 <= 0.5  (support 2)
    yes if
      - x0 > 0.5 and x1 > 0.5  (support 1)
    """

    explains: ClassVar = {"global": ("rules",), "local": ("rules",)}

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "on_undetermined": [StrOptions({"estimator", "abstain", "majority"})],
        "feature_costs": ["array-like", None],
        "feature_groups": ["array-like", None],
        "max_terms": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        on_undetermined: str = "estimator",
        feature_costs: ArrayLike | None = None,
        feature_groups: ArrayLike | None = None,
        max_terms: int = 10_000,
    ) -> None:
        self.estimator = estimator
        self.on_undetermined = on_undetermined
        self.feature_costs = feature_costs
        self.feature_groups = feature_groups
        self.max_terms = max_terms

    # The inner estimator is checked by check_tree, and by its own fit.
    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the tree, or take the frozen one, and note the training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows. Missing values are allowed where the tree allows them.
        y : array-like of shape (n_samples,)
            Class labels. A frozen tree has no use for them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        BooleanTreeClassifier
            The fitted estimator.
        """
        # An interrupted or refused fit leaves no half of an older one behind.
        self.__dict__.pop("training_weight_", None)
        base = self.estimator
        if base is None:
            base = DecisionTreeClassifier(max_depth=3, random_state=0)
        check_tree(base, "estimator", fitted=is_frozen(base))
        rows, y = validate_data(
            self, X, y, dtype=np.float32, order="C", ensure_all_finite="allow-nan"
        )
        self.feature_costs_ = check_costs(self.feature_costs, self.n_features_in_)
        self.feature_groups_ = check_groups(self.feature_groups, self.feature_costs_)
        weight = check_sample_weight(
            sample_weight, rows, dtype=np.float64, ensure_non_negative=True
        )
        if is_frozen(base):
            tree = check_tree(base, "estimator", fitted=True)
            check_columns(tree, self, "The frozen estimator", "X")
            self.estimator_ = base
        else:
            given = None if sample_weight is None else weight
            self.estimator_ = clone(base).fit(rows, y, sample_weight=given)
        tree = unwrap(self.estimator_)
        tables = tree_tables(tree)
        self.classes_ = tree.classes_
        self.used_features_ = tables.used
        cells, weights = training_cells(cell_codes(tables, rows), weight)
        self.training_cells_ = cells
        self.training_weight_ = weights
        return self

    def relevant_missing(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Tell which missing cells could still change the class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN marks missing cells.

        Returns
        -------
        ndarray of shape (n_samples, n_features), bool
            True for a missing cell if some values of the other missing cells make
            the class depend on it. All False in a determined row. Where absence leads
            to a leaf that no value leads to, it counts as one more value.
        """
        tables = self._tables()
        codes = cell_codes(tables, self._validate_X(X))
        return self._on_columns(tables, _relevant(tables, codes))

    def sufficient_reasons(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Give for each row a minimal set of cells that alone determine its class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN marks missing cells.

        Returns
        -------
        ndarray of shape (n_samples, n_features), bool
            True for the cells of the reason, none of which can be left out. All False
            in a row that isn't determined (and in one that needs no reason).

        Notes
        -----
        Cells are given up one after the other, the costliest first; at equal cost
        those off the row's path through the tree first, then later columns.
        """
        tables = self._tables()
        codes = cell_codes(tables, self._validate_X(X))
        return self._on_columns(tables, self._reasons(tables, codes))

    def plot(self, ax: Any = None) -> NDArray:
        """Draw the tree and, below it, the rules it stands for.

        Parameters
        ----------
        ax : sequence of two matplotlib Axes, default=None
            Where to draw the tree and the rules. None makes a new figure.

        Returns
        -------
        ndarray of two Axes
            What was drawn on.
        """
        return draw(self, ax)

    @classmethod
    def _test_params(cls) -> list[dict[str, Any]]:
        tree = DecisionTreeClassifier(max_depth=4, random_state=0)
        return [{}, {"estimator": tree, "on_undetermined": "majority"}]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "training_weight_")  # what fit sets last

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _explain(
        self, X: NDArray | None, *, kind: str, reasons_only: bool = False
    ) -> RuleSet:
        if X is None and reasons_only:
            raise ValueError("reasons_only=True speaks about rows; pass X.")
        tables = self._tables()
        cells = self.training_cells_, self.training_weight_
        about: dict[str, Any] = {
            "feature_names": feature_names_of(self),
            "target_names": self.classes_,
        }
        if X is not None:
            codes = cell_codes(tables, X)
            labels = kernels.decide_codes(codes, tables.nodes)
            relevant = _relevant(tables, codes)
            about |= {
                "rows": Rows(codes, labels, self._reasons(tables, codes)),
                "relevant_missing": self._on_columns(tables, relevant),
            }
            if reasons_only:
                return reason_rules(tables, *cells, **about)
        check_parameter(self, "max_terms")
        terms = boxes.prime_terms(tables, self.max_terms)
        make = global_rules if X is None else local_rules
        return make(tables, terms, *cells, **about)

    def _validate_X(self, X: ArrayLike) -> NDArray[np.float32]:
        return validate_data(
            self,
            X,
            reset=False,
            dtype=np.float32,
            order="C",
            ensure_all_finite="allow-nan",
        )

    def _tables(self) -> TreeTables:
        check_is_fitted(self)
        return tree_tables(unwrap(self.estimator_))

    def _reasons(
        self, tables: TreeTables, codes: NDArray[np.int32]
    ) -> NDArray[np.bool_]:
        costs = self.feature_costs_[tables.used]
        tier = np.unique(costs, return_inverse=True)[1].astype(np.int64)
        return kernels.minimal_reasons(codes, tables.nodes, tier)

    def _on_columns(
        self, tables: TreeTables, mask: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Spread a mask over the used features to all columns."""
        wide = np.zeros((len(mask), self.n_features_in_), bool)
        wide[:, tables.used] = mask
        return wide


def _relevant(tables: TreeTables, codes: NDArray[np.int32]) -> NDArray[np.bool_]:
    empty = tables.empty & boxes.meaningful_gaps(tables)
    return kernels.relevant_cells(codes, tables.nodes, tables.low, tables.high, empty)
