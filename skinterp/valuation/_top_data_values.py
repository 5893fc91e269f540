"""The most, or the least, valuable rows of a training set, in few trainings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import check_random_state

from skinterp.base import ExplainableMixin, SkinterpTags
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
from skinterp.explanation import DataValues
from skinterp.valuation._explain_values import sources_of, values_of
from skinterp.valuation._rows import (
    candidate_rows,
    kept_rows,
    number_of_rows,
    take_rows,
    validation_rows,
)
from skinterp.valuation._search import (
    MISFIT,
    Outcome,
    exact_values,
    search_values,
    seed_of,
)
from skinterp.valuation._tables import read_table, read_target
from skinterp.valuation._task import (
    MIN_ROWS,
    check_labels,
    find_classes,
    make_utility,
    note_rows,
    read_validation,
    task_of,
)

ROLES = 0  # what a seed is for


class TopDataValues(ExplainableMixin, MetaEstimatorMixin, BaseEstimator):
    """Find the m most (or least) valuable training rows without valuing all of them.

    The value of a row is what it adds, on average, to the score of a model trained on
    a random set of other rows (its Shapley value). Each draw costs two trainings, so
    valuing all rows well costs far too many. This search spends them where they
    decide: the values share a Gaussian process over features and labels, so that a
    draw informs about like rows, and the next row to draw is the one that tells most
    about the border between the top m and the rest. It stops when the rows found are
    within ``epsilon`` of the true ones with probability ``1 - delta``, or when the
    budget of trainings is spent.

    Parameters
    ----------
    estimator : estimator, default=None
        Model whose training data are valued. None takes logistic regression, or ridge
        regression for a continuous target, on scaled columns and one column for each
        label of a frame. A model that wants labels from 0 on is given such.
    m : int or float, default=0.1
        How many rows to find: a number, or a share of the rows that are valued.
    lowest : bool, default=False
        Find the least valuable rows instead, which is where wrong labels are.
    utility : "knn", callable or None, default=None
        What a set of rows is worth. None: the score of ``estimator`` trained on it.
        "knn": the vote of the ``n_neighbors`` nearest rows, whose Shapley values are
        known exactly, so that nothing is trained. Callable: ``utility(indices)`` gives
        a number for an array of positions of rows; there is no validation set then.
    n_neighbors : int, default=5
        Number of neighbours of ``utility="knn"``.
    scoring : str, callable or None, default=None
        Score on the validation rows, as in scikit-learn. None takes the accuracy, or
        R2 (at least -1) for a continuous target.
    validation_fraction : float, default=0.2
        Share of the rows that is set aside to score on, if ``fit`` gets no
        validation rows.
    epsilon : float, default=0.0
        Loss in value that is accepted for each row found.
    delta : float, default=0.05
        Probability with which that may be missed.
    beta : "bayes" or float, default="bayes"
        Width of the bounds in deviations. "bayes" is wide enough for ``delta`` if the
        prior is right; a number such as 1.0 finds more in a small budget, and
        certifies nothing.
    max_evaluations : int, default=2000
        Budget of trainings, two for each draw. The initial draws count.
    max_coalition : int or None, default=None
        Largest number of other rows in a draw. None draws all sizes, for the Shapley
        value; a small number makes trainings cheap, and values another average of
        the same contributions.
    kernel : "rbf-signed-label", "rbf-label" or callable, default="rbf-signed-label"
        Likeness of values. "rbf-signed-label": near rows have like values if their
        labels agree, opposite ones if not. "rbf-label": rows of different labels say
        nothing about each other. With a continuous target both take it as one more
        feature. Callable: ``kernel(features, y)`` gives the square matrix.
    features : transformer or None, default=None
        Makes the features that the kernel compares, such as an embedding; fitted on
        the rows that are valued. None takes the columns; one of labels counts as one
        of numbers, and a missing number is the mean.
    prior_mean : "auto" or float, default="auto"
        Value expected of a row that nothing is known of. "auto": 0 for the lowest;
        else the mean value, which is known from one training.
    signal_variance : float or None, default=None
        Variance of the values. None estimates it from the initial draws.
    noise_variance : float or None, default=None
        Variance of one draw. None estimates it from the initial draws. If both are
        given, there are no initial draws. If none is, a draw 6 deviations off has
        both estimated anew, by the marginal likelihood.
    reestimate_every : int or None, default=None
        Estimate both anew after so many draws, by the marginal likelihood. None
        leaves them.
    pull_rule : {"greedy", "variance"}, default="greedy"
        Which row to draw: the one that tells most about the doubtful pair, or the
        less certain one of the pair.
    paired : bool, default=True
        Use the deviation of the difference of two values. False adds the deviations
        of both, which stops far later; for comparison.
    batch_size : int, default=1
        Number of draws that are planned together, and made in parallel.
    max_rows : int, default=5000
        Value at most so many rows, drawn at random: memory grows with its square. The
        values of the rest are predicted.
    store_covariance : bool, default=False
        Keep ``value_cov_``.
    n_jobs : int or None, default=None
        Number of draws made at once, by joblib: of the initial ones, and of a batch.
        The result does not depend on it, nor on the back end.
    random_state : int, RandomState instance or None, default=None
        Seed of the validation rows and of the draws.
    verbose : int, default=0
        Above 0, show how many draws are made and the time left.

    Attributes
    ----------
    top_indices_ : ndarray of shape (m,)
        Positions of the rows found, the most extreme first.
    support_ : ndarray of shape (n_samples,), bool
        The rows found.
    kept_ : ndarray of shape (n_samples,), bool
        What ``fit_resample`` keeps: the rows found, or with ``lowest`` all others.
        A class that would be lost keeps its most valuable row.
    sample_indices_ : ndarray of int
        Positions of the rows that are kept.
    value_mean_ : ndarray of shape (n_samples,)
        Value of each row; predicted for rows that were not candidates.
    value_std_ : ndarray of shape (n_samples,)
        Its standard deviation; 0 where values are exact.
    value_cov_ : ndarray of shape (n_candidates, n_candidates)
        Covariance of the values; with ``store_covariance`` only.
    probability_ : ndarray of shape (n_samples,)
        Probability of being among the m, by joint draws of all values; NaN for rows
        that were not candidates.
    pulls_ : ndarray of shape (n_samples,)
        Number of draws of each row.
    candidates_ : ndarray of shape (n_samples,), bool
        Rows that were valued: not set aside for validation, nor beyond ``max_rows``.
    n_evaluations_ : int
        Number of trainings that were paid for.
    n_refused_ : int
        Coalitions of which the estimator refused to learn, such as neighbours of
        fewer rows: they are scored as a constant. After the first of them, one
        training beyond the budget makes sure that all rows can be learnt from.
    gap_bound_ : float
        Bound on what each row found may lose against the m-th best; at least 0.
    certified_ : bool
        Whether values are exact, or it stopped by its rule with ``beta="bayes"`` and
        a ``calibration_`` of at most 3.
    trace_ : ndarray of shape (n_pulls,)
        Draw by draw ``row``, ``reward`` and, from the search on, the ``gap`` before.
    calibration_ : float
        Root mean square of the draws' z-scores, each row left out once: about 1 where
        the kernel fits. Far above 1, intervals are too short. NaN without draws.
    signal_variance_, noise_variance_ : float
        Variances in use.
    length_scale_ : float
        Median distance of the features; NaN for a kernel of one's own.
    classes_ : ndarray of shape (n_classes,)
        Labels; with a continuous target there are none.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where all of them are strings.

    See Also
    --------
    SelectedDataClassifier : A model trained on the rows that this keeps.
    knn_shapley : Exact values for nearest neighbours.

    Notes
    -----
    With the m largest posterior means as members J, a challenger i outside is bounded
    by ``B(i, j) = mu_i - mu_j + beta sqrt(C_ii + C_jj - 2 C_ij)``. The most doubtful
    member b and its challenger c have the largest B; the search stops when it is at
    most epsilon, and else draws the row a of largest
    ``(C_ab - C_ac)^2 / (noise + C_aa)``. The exact index constants of the paper were
    not available to us: bounds and rule are those of gap-index bandits [2]_, with a
    Gaussian process in place of their linear model, and the signed kernel is our own.

    Values are relative to the validation rows: judge the model on others.

    A draw costs two trainings and O(n^2) for the n candidates; memory is O(n^2).

    References
    ----------
    .. [1] Lin, X., Xu, X., Ng, S.-K., Low, B. K. H. (2025). "(Efficient) Top-m data
       values identification". ICLR. https://openreview.net/forum?id=lOfuvmi2HT
    .. [2] Reda, C., Kaufmann, E., Delahaye-Duriez, A. (2021). "Top-m identification
       for linear bandits". AISTATS. arXiv:2103.10070.
    .. [3] Ghorbani, A., Zou, J. (2019). "Data Shapley". ICML. arXiv:1904.02868.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skinterp.valuation import TopDataValues
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> y[:5] = 1 - y[:5]  # wrong labels
    >>> search = TopDataValues(
    ...     GaussianNB(), m=5, lowest=True, max_evaluations=200, random_state=0
    ... )
    >>> found = search.fit(X, y).top_indices_
    >>> len(found), search.n_evaluations_
    (5, 200)
    """

    explains: ClassVar = {"global": ("data-values",)}

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "m": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
        ],
        "lowest": ["boolean"],
        "utility": [StrOptions({"knn"}), callable, None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "scoring": [str, callable, None],
        "validation_fraction": [Interval(RealNotInt, 0, 1, closed="neither")],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "beta": [StrOptions({"bayes"}), Interval(Real, 0, None, closed="left")],
        "max_evaluations": [Interval(Integral, 16, None, closed="left")],
        "max_coalition": [Interval(Integral, 1, None, closed="left"), None],
        "kernel": [StrOptions({"rbf-signed-label", "rbf-label"}), callable],
        "features": [HasMethods(["fit", "transform"]), None],
        "prior_mean": [
            StrOptions({"auto"}),
            Interval(Real, None, None, closed="neither"),
        ],
        "signal_variance": [Interval(Real, 0, None, closed="neither"), None],
        "noise_variance": [Interval(Real, 0, None, closed="neither"), None],
        "reestimate_every": [Interval(Integral, 1, None, closed="left"), None],
        "pull_rule": [StrOptions({"greedy", "variance"})],
        "paired": ["boolean"],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "max_rows": [Interval(Integral, MIN_ROWS, None, closed="left")],
        "store_covariance": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        m: float = 0.1,
        lowest: bool = False,
        utility: Any = None,
        n_neighbors: int = 5,
        scoring: Any = None,
        validation_fraction: float = 0.2,
        epsilon: float = 0.0,
        delta: float = 0.05,
        beta: str | float = "bayes",
        max_evaluations: int = 2000,
        max_coalition: int | None = None,
        kernel: str | Callable[..., Any] = "rbf-signed-label",
        features: Any = None,
        prior_mean: str | float = "auto",
        signal_variance: float | None = None,
        noise_variance: float | None = None,
        reestimate_every: int | None = None,
        pull_rule: str = "greedy",
        paired: bool = True,
        batch_size: int = 1,
        max_rows: int = 5000,
        store_covariance: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.m = m
        self.lowest = lowest
        self.utility = utility
        self.n_neighbors = n_neighbors
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.epsilon = epsilon
        self.delta = delta
        self.beta = beta
        self.max_evaluations = max_evaluations
        self.max_coalition = max_coalition
        self.kernel = kernel
        self.features = features
        self.prior_mean = prior_mean
        self.signal_variance = signal_variance
        self.noise_variance = noise_variance
        self.reestimate_every = reestimate_every
        self.pull_rule = pull_rule
        self.paired = paired
        self.batch_size = batch_size
        self.max_rows = max_rows
        self.store_covariance = store_covariance
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # estimator and features check their own parameters in their fit
    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        X_val: Any = None,
        y_val: Any = None,
    ) -> Self:
        """Search the rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Training rows, at least 20. A frame is handed to the estimator as it is, and
            may then hold texts and missing cells; an array may not.
        y : array-like of shape (n_samples,)
            Labels, or a number for each row.
        X_val : array-like or frame of shape (n_val, n_features), default=None
            Rows to score on. None sets some of the training rows aside.
        y_val : array-like of shape (n_val,), default=None
            Their labels.

        Returns
        -------
        TopDataValues
            The fitted search.

        Raises
        ------
        ValueError
            If there are fewer than 20 rows or only one class, m is not less than the
            number of candidates, or a utility is not finite.
        """
        # an interrupted or refused fit leaves no half of an older one behind
        for name in ("support_", "classes_", "value_cov_", "features_"):
            self.__dict__.pop(name, None)
        effective_n_jobs(self.n_jobs)  # refuses 0 before any work
        table = read_table(self, X, reset=True)
        target = read_target(table, y)
        classes = find_classes(table, target, self.estimator, type(self).__name__)
        if classes is None:
            target = target.astype(np.float64)
        else:
            self.classes_ = classes
        random_state = check_random_state(self.random_state)
        words = random_state.randint(0, 2**32, size=4, dtype=np.uint32).tolist()
        validation = read_validation(self, X_val, y_val, classes)
        rng = np.random.default_rng(seed_of(words, ROLES))
        held_out = np.zeros(len(table), dtype=bool)
        if validation is None and not callable(self.utility):
            share = self.validation_fraction
            held_out = validation_rows(target, share, rng, classes is not None)
            validation = take_rows(table, np.flatnonzero(held_out)), target[held_out]
        at = candidate_rows(~held_out, self.max_rows, rng)
        m = number_of_rows(self.m, len(at))
        self._fit_y, self._candidates = target, at
        note_rows(self, table)
        utility = make_utility(self, table, at, validation)
        outcome = self._value(m, utility, words)
        self._note_search(outcome, at)
        support = self._note_values(outcome, table, m, words)
        labels = None if classes is None else target
        self.kept_ = kept_rows(support, self.lowest, self.value_mean_, labels)
        self.sample_indices_ = np.flatnonzero(self.kept_)
        self.support_ = support
        return self

    def _value(self, m: int, utility: Any, words: list[int]) -> Outcome:
        """Exact values where there are such, else those of a search."""
        kernel, n = task_of(self).make_kernel(), len(self._candidates)
        if self.utility == "knn" and self.max_coalition is None:
            return exact_values(self, utility, kernel)
        return search_values(self, utility, kernel, n, m, words)

    def _note_search(self, outcome: Outcome, at: NDArray) -> None:
        """Keep what was drawn, in positions of all rows."""
        n, found = len(self._fit_y), outcome.regression
        self.candidates_ = np.zeros(n, dtype=bool)
        self.candidates_[at] = True
        self.pulls_ = np.zeros(n, dtype=np.int64)
        if outcome.posterior is not None:
            self.pulls_[at] = found.pulls.count
        self._counts, self._totals = found.pulls.count, found.pulls.total
        self._prior = found.prior
        self.signal_variance_ = found.variances.signal
        self.noise_variance_ = found.variances.noise
        self.length_scale_ = found.kernel.length
        self.n_evaluations_ = outcome.n_evaluations
        self.gap_bound_ = max(outcome.gap, 0.0)
        exact = outcome.posterior is None
        self.n_refused_ = outcome.n_refused
        self.calibration_ = float("nan")
        if not exact and len(found.pulls.pulled):
            self.calibration_ = found.calibration()
        by_rule = outcome.stopped and self.beta == "bayes"
        self.certified_ = exact or (by_rule and not self.calibration_ > MISFIT)
        self.trace_ = outcome.trace.copy()
        self.trace_["row"] = at[self.trace_["row"]]

    def _note_values(
        self, outcome: Outcome, table: Any, m: int, words: list[int]
    ) -> NDArray[np.bool_]:
        """Keep the values of all rows; returns which are found."""
        n, at = len(self._fit_y), self._candidates
        mean, std = np.empty(n), np.empty(n)
        rest = np.flatnonzero(~self.candidates_)
        mean[at], std[at] = outcome.values()
        mean[rest], std[rest] = task_of(self).predict(
            outcome.regression, take_rows(table, rest), self._fit_y[rest]
        )
        sign = -1.0 if self.lowest else 1.0
        self.value_mean_, self.value_std_ = mean, std
        self.top_indices_ = at[np.argsort(-sign * mean[at], kind="stable")[:m]]
        support = np.zeros(n, dtype=bool)
        support[self.top_indices_] = True
        self.probability_ = np.full(n, np.nan)
        self.probability_[at] = outcome.probability(m, support[at], words)
        if self.store_covariance:
            self.value_cov_ = outcome.covariance()
        return support

    def fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Search, and give the rows that are worth keeping.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Their labels or targets.

        Returns
        -------
        X_kept : array or frame of shape (n_kept, n_features)
            The rows found, or with ``lowest`` all others; in their order.
        y_kept : array or series of shape (n_kept,)
            Their labels or targets.
        """
        at = self.fit(X, y).sample_indices_
        return take_rows(X, at), take_rows(y, at)

    def predict_value(
        self, X: ArrayLike, y: ArrayLike, *, return_std: bool = False
    ) -> Any:
        """Predict the value of rows that nothing was drawn of.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows, new or of the training set.
        y : array-like of shape (n_rows,)
            Their labels or targets.
        return_std : bool, default=False
            Give the deviations as well.

        Returns
        -------
        mean : ndarray of shape (n_rows,)
            Values, as if the row were one of the training set.
        std : ndarray of shape (n_rows,)
            Deviations; with ``return_std`` only.
        """
        check_is_fitted(self)
        table, task = read_table(self, X, reset=False), task_of(self)
        target = check_labels(read_target(table, y), task.classes, "y")
        mean, std = task.predict(task.regression(self), table, target)
        return (mean, std) if return_std else mean

    def _explain(
        self,
        X: None,
        *,
        kind: str,
        row: int | None = None,
        marked: ArrayLike | None = None,
        level: float = 0.95,
    ) -> DataValues:
        values = values_of(self, marked, level)
        return values if row is None else sources_of(self, values, row)

    @classmethod
    def _test_params(cls) -> list[dict[str, Any]]:
        from sklearn.naive_bayes import GaussianNB

        cheap = {"m": 3, "max_evaluations": 16, "beta": 1.0}
        return [cheap | {"estimator": GaussianNB()}, {"utility": "knn", "lowest": True}]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "support_")  # what fit sets last

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def __skinterp_tags__(self) -> SkinterpTags:
        few = f"fits fewer than the {MIN_ROWS} rows that values need"
        return SkinterpTags(
            unit="training row",
            stochastic=True,
            expected_failures={
                "check_n_features_in_after_fitting": few,
                "check_estimators_nan_inf": few,
            },
        )
