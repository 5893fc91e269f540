"""Slices of a table on which a model does clearly worse than on all of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import TransformerMixin, is_classifier
from sklearn.utils import check_consistent_length, check_random_state

from skinterp.base import ExplainableMixin, SkinterpTags, feature_names_of
from skinterp.compat import (
    HasMethods,
    Integral,
    Interval,
    Real,
    RealNotInt,
    StrOptions,
    check_is_fitted,
    fit_context,
)
from skinterp.explanation import SliceSet
from skinterp.explanation._base import check_k
from skinterp.slices import _evidence as evidence
from skinterp.slices import _performance as performance
from skinterp.slices._diagnosis import diagnose, rare_slices
from skinterp.slices._finding import Finding, rows_of
from skinterp.slices._report import say_tags, slice_set
from skinterp.slices._suggest import share_budget

if TYPE_CHECKING:
    import pandas as pd


class ErrorSliceFinder(ExplainableMixin, TransformerMixin, Finding):
    """Find the conjunctions of tags on which a model errs, and re-estimate them.

    A slice is a conjunction such as "sex is 'F' and age > 51" of at least
    ``min_size`` rows. All slices whose mean performance lies a ``gap`` below that of
    all rows are found, without exception, on one part of the rows, and estimated
    again on the part that was held out: what was picked for being bad looks worse
    than it is.

    Parameters
    ----------
    estimator : estimator, default=None
        Model to look into. It is cloned, and measured out of fold; wrapped in
        ``sklearn.frozen.FrozenEstimator``, a fitted one is taken as it is, and the
        rows of ``fit`` should be ones that it has not seen. None takes
        histogram-based boosted trees.
    metric : str or callable, default="auto"
        "accuracy" or a loss per row: "log_loss", "brier", "absolute_error",
        "squared_error", or a function of the targets and of what ``predict`` gives.
        "auto" is "absolute_error" for regressors, else "accuracy". "loss" names the
        numbers of ``fit_scores`` as losses.
    gap : float, default=None
        How much worse than overall a slice has to be, above 0 and in the units of the
        metric. None takes 0.2 for accuracies, half of the overall mean for losses.
    max_order : int, default=3
        Largest number of tags in a slice.
    min_size : int or float, default=10
        Fewest rows of a slice, among those searched; as a float below 1, their share.
    n_bins : int, default=4
        Number of quantile bins of a column of numbers; one that holds at most so many
        distinct numbers keeps them as tags.
    multi_hot : collection of str or int, default=None
        Columns that say by a number above 0 that a row has a tag. Their absence is no
        tag.
    holdout : float, default=0.5
        Share of the rows that is not searched but held out, from 0 (no re-estimate)
        to below 1.
    cv : int or splitter, default=5
        Folds for a model that is not frozen.
    max_slices : int, default=1000
        Most slices to keep, in their order; None keeps all.
    redundancy : float, default=None
        Drop a slice if some of its tags alone do as badly, up to this much. 0 drops
        those that are not worse than a part of them; None keeps all.
    coverage : float, default=0.9
        Share of the errors at which the greedy cover stops.
    order_by : {"performance", "size"}, default="performance"
        Order of the slices: the worst first, or the rare ones first.
    bound : bool, default=False
        Leave slices aside with too few errors for any part to be bad enough. The
        same slices are found, and p-values are adjusted for all conceivable ones.
        Without effect on losses and with weights.
    unseen : {"none", "substitution"}, default="none"
        Whether to propose slices with one tag replaced that too few rows show.
    tag_similarity : mapping of str to array-like, default=None
        For columns, how close each pair of its tags is, from 0 to 1.
    sparse_output : bool, default=False
        Whether ``transform`` gives a sparse matrix.
    n_jobs : int, default=None
        Number of threads. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the rows held out and of the folds.
    verbose : int, default=0
        Above 0, show how much of each level is done.

    Attributes
    ----------
    slices_ : ndarray of shape (n_slices,)
        Records ``size``, ``performance``, ``gap``, ``p_value``, ``q_value``,
        ``error_share`` and ``order`` (number of tags), as found, and ``held_size``,
        ``held_performance``, ``held_gap``, ``held_p_value``, ``held_q_value``, on the
        rows held out (NaN without). Performances are in the units of the metric,
        gaps positive where a slice is worse.
    columns_ : tuple
        What tags each column has.
    offsets_ : ndarray of shape (n_slices + 1,)
        Where in ``tags_`` each slice begins.
    tags_ : ndarray of int
        Numbers of the tags of each slice, rising.
    cover_ : ndarray of int
        Positions of the slices that hold most errors, greedily.
    cover_errors_, cover_rows_ : ndarray of float
        Shares of the errors and rows that the cover holds after each step.
    overall_ : float
        Mean performance of the rows searched.
    held_overall_ : float
        Mean performance of the rows held out; NaN without.
    n_found_ : int
        Number of slices that are bad enough, before any were dropped.
    n_candidates_ : ndarray of int
        Number of conjunctions of 1, 2, ... tags that were evaluated.
    n_evaluated_ : int
        Sum of these.
    n_large_ : ndarray of int
        Number of these that have enough rows.
    n_pruned_by_bound_ : int
        Number of these that the bound left aside.
    gap_ : float
        Gap that was asked for.
    metric_ : str
        Name of the metric.
    estimator_ : estimator
        Fitted model; None after ``fit_scores``.
    n_features_in_ : int
        Number of columns of tags.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of these, where all of them are strings.

    See Also
    --------
    skinterp.explanation.SliceSet : What ``explain`` gives.

    Notes
    -----
    Slice ``S`` is bad if ``mean(S) <= overall - gap``; for right and wrong it is
    compared in whole numbers. Row sets are packed bits. Two slices that differ in
    their last tag are joined by AND and a count; a candidate is evaluated only if all
    its parts are large enough, which loses nothing. Level by level, each is walked
    depth-first from its first tags, in parallel, with one byte left per slice, so
    that no row sets of a level are held. The time is linear in the rows: O(n / 64)
    per candidate, of which there are at most C(n_tags, max_order).

    Missing cells carry no tag. Tags of fewer than ``min_size`` rows are left out.
    Weights count in means, not in sizes.

    References
    ----------
    .. [1] Chen, M., Zhao, C., Xu, Q. (2025). "HiBug2: Efficient and Interpretable
       Error Slice Discovery for Comprehensive Model Debugging". ICLR.
       arXiv:2501.16751.
    .. [2] Benjamini, Y., Hochberg, Y. (1995). "Controlling the false discovery rate".
       JRSS B 57, 289-300.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skinterp.slices import ErrorSliceFinder
    >>> rng = np.random.default_rng(0)
    >>> tags = pd.DataFrame({
    ...     "light": rng.choice(["day", "night"], 400),
    ...     "road": rng.choice(["dry", "wet", "snow"], 400),
    ... })
    >>> bad = (tags["light"] == "night") & (tags["road"] == "snow")
    >>> right = rng.random(400) < np.where(bad, 0.3, 0.9)
    >>> finder = ErrorSliceFinder(random_state=0).fit_scores(tags, right)
    >>> finder.get_feature_names_out()[0]
    "light is 'night' and road is 'snow'"
    """

    explains: ClassVar = {"global": ("slices",), "local": ("slices",)}

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "metric": [StrOptions({"auto", "loss", *performance.METRICS}), callable],
        "gap": [Interval(Real, 0, None, closed="neither"), None],
        "max_order": [Interval(Integral, 1, None, closed="left")],
        "min_size": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
        ],
        "n_bins": [Interval(Integral, 2, None, closed="left")],
        "multi_hot": ["array-like", set, frozenset, None],
        "holdout": [Interval(Real, 0, 1, closed="left")],
        "cv": ["cv_object"],
        "max_slices": [Interval(Integral, 1, None, closed="left"), None],
        "redundancy": [Interval(Real, 0, None, closed="left"), None],
        "coverage": [Interval(Real, 0, 1, closed="right")],
        "order_by": [StrOptions({"performance", "size"})],
        "bound": ["boolean"],
        "unseen": [StrOptions({"none", "substitution"})],
        "tag_similarity": [dict, None],
        "sparse_output": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        metric: str | Callable[[Any, Any], Any] = "auto",
        gap: float | None = None,
        max_order: int = 3,
        min_size: int | float = 10,
        n_bins: int = 4,
        multi_hot: Collection[Any] | None = None,
        holdout: float = 0.5,
        cv: Any = 5,
        max_slices: int | None = 1000,
        redundancy: float | None = None,
        coverage: float = 0.9,
        order_by: str = "performance",
        bound: bool = False,
        unseen: str = "none",
        tag_similarity: Mapping[str, Any] | None = None,
        sparse_output: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.metric = metric
        self.gap = gap
        self.max_order = max_order
        self.min_size = min_size
        self.n_bins = n_bins
        self.multi_hot = multi_hot
        self.holdout = holdout
        self.cv = cv
        self.max_slices = max_slices
        self.redundancy = redundancy
        self.coverage = coverage
        self.order_by = order_by
        self.bound = bound
        self.unseen = unseen
        self.tag_similarity = tag_similarity
        self.sparse_output = sparse_output
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        tags: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Measure the model on each row, and find the slices where it errs.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            What the model takes.
        y : array-like of shape (n_samples,)
            Targets.
        tags : array-like or frame of shape (n_samples, n_tag_columns), default=None
            Columns that the slices are made of, and that ``predict``, ``transform``
            and ``explain`` take afterwards. A cell may be a number, a label, a
            collection of labels, or missing. None takes X.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the means. A row of weight 0 is left out.

        Returns
        -------
        ErrorSliceFinder
            The fitted finder.

        Raises
        ------
        ValueError
            If there are fewer rows than a slice needs, or the metric is none of the
            model's.
        """
        self.__dict__.pop("slices_", None)
        if self.metric == "loss":
            msg = "metric='loss' speaks of the numbers of fit_scores; name a loss"
            raise ValueError(msg)
        table = self._read(X if tags is None else tags, reset=True)
        data = table if tags is None else X
        target = self._read_target(y)
        check_consistent_length(table, data, target)
        weight = self._read_weight(sample_weight, table)
        keep = np.flatnonzero(weight > 0)
        if len(keep) < len(weight):
            table, data = rows_of(table, keep), rows_of(data, keep)
            target, weight = target[keep], weight[keep]
        self._check_rows(len(target))
        rng = check_random_state(self.random_state)
        seed, split = rng.randint(np.iinfo(np.int32).max), rng.randint(2**31 - 1)
        model = self.estimator
        if model is None:
            model = performance.default_estimator(data, target, seed)
        metric = performance.choose_metric(self.metric, model)
        self.estimator_, scores = performance.fit_and_measure(
            model, data, target, metric, self.cv, seed
        )
        return self._find(table, scores, weight, metric, split)

    @fit_context(prefer_skip_nested_validation=True)
    def fit_scores(
        self, tags: Any, scores: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Find slices where numbers that are known already are bad.

        Parameters
        ----------
        tags : array-like or frame of shape (n_samples, n_tag_columns)
            Columns that the slices are made of.
        scores : array-like of shape (n_samples,)
            Performance of each row from 0 to 1, such as whether it was predicted
            rightly. With ``metric="loss"``, or any name of a loss: losses.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the means. A row of weight 0 is left out.

        Returns
        -------
        ErrorSliceFinder
            The fitted finder; the estimator is not used.

        Raises
        ------
        ValueError
            If a performance lies outside of [0, 1].
        """
        self.__dict__.pop("slices_", None)
        table = self._read(tags, reset=True)
        values = self._read_scores(scores, table)
        weight = self._read_weight(sample_weight, table)
        keep = np.flatnonzero(weight > 0)
        if len(keep) < len(weight):
            table = rows_of(table, keep)
            values, weight = values[keep], weight[keep]
        self._check_rows(len(values))
        metric = "accuracy" if self.metric == "auto" else self.metric
        self.estimator_ = None
        split = check_random_state(self.random_state).randint(2**31 - 1)
        return self._find(table, values, weight, metric, split)

    def transform(self, tags: Any) -> Any:
        """Say which rows lie in which slices.

        Parameters
        ----------
        tags : array-like or frame of shape (n_rows, n_tag_columns)
            Columns that the slices are made of. Tags that were not seen in ``fit``
            match nothing.

        Returns
        -------
        ndarray or csr_matrix of shape (n_rows, n_slices), bool
            True where a row lies in a slice.
        """
        check_is_fitted(self)
        inside = self._membership(self._read(tags, reset=False))
        return inside if self.sparse_output else inside.toarray()

    def predict(self, tags: Any) -> NDArray[np.float64]:
        """Give the performance to expect on each row.

        Parameters
        ----------
        tags : array-like or frame of shape (n_rows, n_tag_columns)
            Columns that the slices are made of.

        Returns
        -------
        ndarray of shape (n_rows,)
            Mean performance of the slices that a row lies in, weighted by one over
            their size; the overall performance where it lies in none. Of the rows
            held out, where there are such; in the units of the metric.
        """
        check_is_fitted(self)
        return self._expected(self._membership(self._read(tags, reset=False)))

    def _expected(self, members: sparse.csr_matrix) -> NDArray[np.float64]:
        inside = members.astype(np.float64)
        s = self.slices_
        expected = np.where(s["held_size"] > 0, s["held_performance"], s["performance"])
        share = 1.0 / s["size"]
        total = inside @ share
        overall = self.overall_ if np.isnan(self.held_overall_) else self.held_overall_
        mean = (inside @ (expected * share)) / np.where(total > 0, total, 1.0)
        return np.where(total > 0, mean, overall)

    def score(self, X: Any, y: ArrayLike, tags: Any = None) -> float:
        """Give the share of the errors in the cover less the share of rows in it.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)
            What the model takes; the tags after ``fit_scores``.
        y : array-like of shape (n_rows,)
            Targets; scores after ``fit_scores``.
        tags : array-like or frame of shape (n_rows, n_tag_columns), default=None
            Columns that the slices are made of; None takes X.

        Returns
        -------
        float
            Above 0 if errors gather in the slices; 0 if nothing errs.
        """
        table, rows = self._measure(X, y, tags)
        chosen = self._membership(table)[:, self.cover_]
        inside = np.asarray(chosen.sum(axis=1)).ravel() > 0
        error = evidence.error_of(rows, loss=self._loss)
        return float(error[inside].sum() / (error.sum() or 1.0) - inside.mean())

    def evaluate(self, X: Any, y: ArrayLike, tags: Any = None) -> SliceSet:
        """Estimate the slices again on other rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)
            Rows that ``fit`` has not seen, in the form that the model takes; the tags
            after ``fit_scores``.
        y : array-like of shape (n_rows,)
            Targets; scores after ``fit_scores``.
        tags : array-like or frame of shape (n_rows, n_tag_columns), default=None
            Columns that the slices are made of; None takes X.

        Returns
        -------
        SliceSet
            As ``explain`` gives it, with these rows in place of those held out.
        """
        _, rows = self._measure(X, y, tags)
        slices = self.slices_.copy()
        self._estimate_again(slices, rows)
        overall = self._units(rows.overall)
        return slice_set(self, slices, overall, rows.n_rows)

    def suggest(
        self, tags: Any, budget: int, confidence: ArrayLike | None = None
    ) -> NDArray[np.intp]:
        """Choose rows to label, so that a model trained on them errs less.

        The budget is shared among the slices of the cover in proportion to their
        errors; what a slice cannot use goes to the others.

        Parameters
        ----------
        tags : array-like or frame of shape (n_rows, n_tag_columns)
            Columns of the rows to choose from.
        budget : int
            Largest number of rows, at least 1.
        confidence : array-like of shape (n_rows,), default=None
            Confidence of the model; lower comes first. None takes rows in order.

        Returns
        -------
        ndarray of int
            Positions, each once, fewer than the budget if fewer rows match.

        Raises
        ------
        ValueError
            If the budget is no number of rows, or confidences are missing.
        """
        check_is_fitted(self)
        inside = self._membership(self._read(tags, reset=False))[:, self.cover_]
        share = self.slices_["error_share"][self.cover_]
        return share_budget(inside, share, budget, confidence)

    def unseen_slices(self) -> pd.DataFrame:
        """List slices that too few rows show, and how the model may do there.

        Returns
        -------
        pandas.DataFrame
            Columns ``slice``, ``rows`` (seen in the search), ``similarity`` to a slice
            that was found, ``expected`` performance, worst first.

        Raises
        ------
        ValueError
            If ``unseen`` was "none" in ``fit``.
        """
        import pandas as pd

        check_is_fitted(self)
        if self.unseen_ is None:
            msg = "unseen='none' looks for none; fit with unseen='substitution'"
            raise ValueError(msg)
        names = [self._say(tags) for tags, *_ in self.unseen_]
        rest = [row[1:] for row in self.unseen_]
        frame = pd.DataFrame(rest, columns=["rows", "similarity", "expected"])
        frame.insert(0, "slice", names)
        return frame

    def diagnose(
        self, X: Any, y: ArrayLike, tags: Any = None, train_tags: Any = None
    ) -> pd.DataFrame:
        """Tell for each single tag, however few rows have it, what is amiss.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)
            Rows that the model has not seen, in the form that it takes; the tags after
            ``fit_scores``.
        y : array-like of shape (n_rows,)
            Targets; scores after ``fit_scores``.
        tags : array-like or frame of shape (n_rows, n_tag_columns), default=None
            Columns that the slices are made of; None takes X.
        train_tags : array-like or frame, default=None
            The same columns of the rows that the model was trained on. None judges
            rarity by the rows given, and no shift.

        Returns
        -------
        pandas.DataFrame
            A line per tag: ``column``, ``tag``, ``rows``, ``share``, ``train_share``,
            ``performance``, ``gap``, ``top_class`` and ``top_share`` (the class
            predicted most, of classifiers), and whether it is ``rare`` (share in
            training below half of an equal one), ``shift`` (share larger by 0.3 than
            in training), ``spurious`` (one class is more than 0.8 of the predictions)
            or ``low`` (worse than overall by 0.03, or for losses by 3 %). Those with
            most amiss first. Columns without a tag of ``min_size`` rows are left out.
        """
        table, rows = self._measure(X, y, tags)
        train = None if train_tags is None else self._read(train_tags, reset=False)
        predicted = None
        if self.estimator_ is not None and is_classifier(self.estimator_):
            predicted = np.asarray(self.estimator_.predict(X)).reshape(-1)
        return diagnose(self, table, rows, predicted, train)

    def rare_slices(self, tags: Any, k: int = 20) -> pd.DataFrame:
        """List the conjunctions of fewest rows, whatever the model does on them.

        Parameters
        ----------
        tags : array-like or frame of shape (n_rows, n_tag_columns)
            Columns that the slices are made of, such as those of the training rows.
        k : int, default=20
            Most slices to list, at least 1.

        Returns
        -------
        pandas.DataFrame
            ``slice``, ``rows`` (``min_size`` at least), ``share``, and
            ``expected_share`` if its tags had nothing to do with each other; rarest
            first.
        """
        check_is_fitted(self)
        return rare_slices(self, self._read(tags, reset=False), check_k(k))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Give the slices in words.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns, which have to be those of ``fit`` if these had any.

        Returns
        -------
        ndarray of shape (n_slices,), object
            Such as "sex is 'F' and age > 51".
        """
        check_is_fitted(self)
        names = feature_names_of(self)
        if input_features is not None:
            given = tuple(str(name) for name in input_features)
            if len(given) != self.n_features_in_:
                msg = (
                    "input_features should have length equal to number of features "
                    f"({self.n_features_in_}), got {len(given)}"
                )
                raise ValueError(msg)
            if hasattr(self, "feature_names_in_") and given != names:
                msg = "input_features is not equal to feature_names_in_"
                raise ValueError(msg)
            names = given
        words = [
            say_tags(self.columns_, self._tags_of(s), names)
            for s in range(len(self.slices_))
        ]
        return np.array([*words, None], dtype=object)[:-1]

    def _explain(self, X: Any, *, kind: str) -> SliceSet:
        found = slice_set(self, self.slices_, self.held_overall_, self.n_held_)
        if X is None:
            return found
        inside = self._membership(X)
        return found._with(
            scope="local",
            row_offsets=inside.indptr.astype(np.int64),
            row_slices=inside.indices.astype(np.int64),
            expected=self._expected(inside),
        )

    @classmethod
    def _test_params(cls) -> list[dict[str, Any]]:
        from sklearn.tree import DecisionTreeClassifier

        tree = DecisionTreeClassifier(max_depth=2, random_state=0)

        cheap = {"estimator": tree, "cv": 2, "min_size": 4, "max_order": 2}
        return [cheap | {"gap": 0.05, "max_slices": 4}]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "slices_")  # what fit sets last

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []  # memberships are bool
        return tags

    def __skinterp_tags__(self) -> SkinterpTags:
        sizes = "weights count in means, while min_size and the folds count rows"
        return SkinterpTags(
            stochastic=True,
            expected_failures={"check_sample_weight_equivalence_on_dense_data": sizes},
        )

    def _validate_X(self, X: Any) -> Any:
        return self._read(X, reset=False)
