"""Screening of wide tables by the ranks of BART's split shares."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state

from skinterp.base import ExplainableMixin, SkinterpTags, feature_names_of
from skinterp.compat import (
    Integral,
    Interval,
    Real,
    StrOptions,
    check_is_fitted,
    fit_context,
    validate_data,
)
from skinterp.explanation import Selection
from skinterp.symbolic import _bart as bart
from skinterp.symbolic import _pan_selector_rules as rules
from skinterp.symbolic._bart_diagnostics import effective_size, split_r_hat

PRESETS = {
    "default": {"n_chains": 10, "n_burn": 1000, "n_draws": 1000},
    "paper": {"n_chains": 20, "n_burn": 10_000, "n_draws": 10_000},
}
MIN_ROWS = 20
FEW_COLUMNS = 10
LOW_SNR = 2.0
CORRELATED = 0.9


class PANSelector(ExplainableMixin, SelectorMixin, BaseEstimator):
    """Keep the columns that Bayesian trees split on, out of hundreds or thousands.

    Runs several short chains of a BART model with few trees, so that the columns
    compete for splits, and ranks the columns of each chain by their share of the
    splits. The mean ranks are cut into two groups; the group of low ranks is kept.
    It is a screen in front of a symbolic regressor: it hardly loses a column that
    matters, and lets pass some that don't where the target is noisy.

    Parameters
    ----------
    preset : {"default", "paper"}, default="default"
        Where the numbers of chains, of burnt and of kept draws come from that are
        None: 10, 1000 and 1000, or as in the paper 20, 10000 and 10000 (which ran its
        rules by permutation with 10, 5000 and 5000).
    n_chains : int, default=None
        Number of chains; None takes the preset's.
    n_trees : int, default=20
        Number of trees of the model.
    n_burn : int, default=None
        Sweeps at the start of each chain that are not kept; None takes the preset's.
    n_draws : int, default=None
        Sweeps of each chain that are kept; None takes the preset's.
    rule : {"vip_rank", "local", "g_max", "g_se"}, default="vip_rank"
        How columns are chosen. "vip_rank": two clusters of the mean ranks. The others
        compare the mean share of a column with its shares on permuted targets: with
        its own quantile ("local"), the quantile of the largest share ("g_max"), or a
        number of standard deviations that covers all columns ("g_se").
    alpha_level : float, default=0.05
        Level of the rules by permutation.
    n_permutations : int, default=50
        Number of permuted targets, a chain for each; unused by "vip_rank".
    min_features : int, default=1
        Keep at least so many columns, those of the best mean ranks.
    max_features : int, default=None
        Keep at most so many columns.
    sigma_estimate : {"auto", "std"} or float, default="auto"
        Estimate of the noise's deviation, for the prior of sigma. "auto": from a
        linear model where there are fewer columns than rows, else as "std": the
        deviation of the target.
    n_jobs : int, default=None
        Number of chains that run at once, by joblib. The result does not depend on
        it, nor on the back end.
    random_state : int, RandomState instance or None, default=None
        Seed of the chains.
    verbose : int, default=0
        Above 0, show how many chains are done and the time left.

    Attributes
    ----------
    support_ : ndarray of shape (n_features_in_,), bool
        The columns that are kept.
    vip_ : ndarray of shape (n_chains, n_features_in_)
        Mean share of the splits of each column, per chain.
    rank_ : ndarray of shape (n_chains, n_features_in_)
        Rank of each column in each chain; 1 is the largest share.
    mean_rank_ : ndarray of shape (n_features_in_,)
        Mean of the ranks over chains.
    cluster_ : ndarray of shape (n_features_in_,)
        0 for the group of low mean ranks, 1 for the other one.
    gap_ : float
        Distance of the groups' mean ranks over the number of columns, at most 0.5.
        No measure of confidence: chains agree on noise as well.
    threshold_ : ndarray of shape (n_features_in_,)
        Share that a column had to exceed; with the rules by permutation only.
    correlated_ : dict of int to ndarray
        For each column that is kept the others that nearly stand for it: the
        correlation of their ranks is at least 0.9 in size. Without those that no other
        column follows.
    sigma_ : ndarray of shape (n_chains, n_draws)
        Draws of the noise's deviation, in units of the target.
    snr_ : float
        Ratio of signal to noise, from the variance of the target and these draws.
    r_hat_ : float
        Potential scale reduction of sigma over half chains.
    ess_ : float
        Effective sample size of sigma.
    acceptance_ : ndarray of shape (n_chains, 3)
        Share of the proposals GROW, PRUNE and CHANGE that were accepted.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where all of them are strings.

    See Also
    --------
    sklearn.feature_selection.SelectFromModel : Keeps columns by importance.

    Notes
    -----
    The sampler has the prior of [2]_ and the moves of the program bartMachine, with
    at least five rows per leaf. A tree update costs O(n_samples), whatever the number
    of columns, so that a fit costs O(n_chains n_trees (n_burn + n_draws) n_samples).

    The rule makes two groups whatever the data are. With up to ten columns, all of
    which may matter, set ``min_features``. Where the noise is as large as the signal,
    a fifth of the other columns is kept as well in the mean, and up to a half.
    Correlated columns share their splits, which worsens the ranks of all of them: see
    ``correlated_``.

    Cuts depend on the order of the values only: with ``sigma_estimate="std"``,
    increasing functions of columns change nothing.

    References
    ----------
    .. [1] Ye, S., Li, M. (2025). "Ab Initio Nonparametric Variable Selection for
       Scalable Symbolic Regression with Large p". ICML. arXiv:2410.13681.
    .. [2] Chipman, H., George, E., McCulloch, R. (2010). "BART: Bayesian additive
       regression trees". Annals of Applied Statistics 4, 266-298.
    .. [3] Bleich, J., Kapelner, A., George, E., Jensen, S. (2014). "Variable selection
       for BART". Annals of Applied Statistics 8, 1750-1781.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp.symbolic import PANSelector
    >>> X = np.random.default_rng(0).uniform(1, 5, size=(300, 30))
    >>> y = X[:, 3] * X[:, 7]
    >>> selector = PANSelector(n_burn=500, n_draws=500, random_state=0)
    >>> selector.fit_transform(X, y).shape
    (300, 2)
    >>> selector.get_feature_names_out()
    array(['x3', 'x7'], dtype=object)
    """

    explains: ClassVar = {"global": ("selection",)}

    _parameter_constraints: ClassVar[dict] = {
        "preset": [StrOptions(set(PRESETS))],
        "n_chains": [Interval(Integral, 1, None, closed="left"), None],
        "n_trees": [Interval(Integral, 1, None, closed="left")],
        "n_burn": [Interval(Integral, 0, None, closed="left"), None],
        "n_draws": [Interval(Integral, 1, None, closed="left"), None],
        "rule": [StrOptions({"vip_rank", "local", "g_max", "g_se"})],
        "alpha_level": [Interval(Real, 0, 1, closed="neither")],
        "n_permutations": [Interval(Integral, 2, None, closed="left")],
        "min_features": [Interval(Integral, 1, None, closed="left")],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "sigma_estimate": [
            StrOptions({"auto", "std"}),
            Interval(Real, 0, None, closed="neither"),
        ],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        preset: str = "default",
        n_chains: int | None = None,
        n_trees: int = 20,
        n_burn: int | None = None,
        n_draws: int | None = None,
        rule: str = "vip_rank",
        alpha_level: float = 0.05,
        n_permutations: int = 50,
        min_features: int = 1,
        max_features: int | None = None,
        sigma_estimate: str | float = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.preset = preset
        self.n_chains = n_chains
        self.n_trees = n_trees
        self.n_burn = n_burn
        self.n_draws = n_draws
        self.rule = rule
        self.alpha_level = alpha_level
        self.n_permutations = n_permutations
        self.min_features = min_features
        self.max_features = max_features
        self.sigma_estimate = sigma_estimate
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Run the chains and choose columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, at least 20, without missing values.
        y : array-like of shape (n_samples,)
            Target, a number.

        Returns
        -------
        PANSelector
            The fitted selector.
        """
        # An interrupted or refused fit leaves no half of an older one behind.
        for name in ("support_", "threshold_"):
            self.__dict__.pop(name, None)
        rows, target = validate_data(
            self, X, y, dtype=np.float64, order="C", y_numeric=True
        )
        target, width = _scaled_target(target.astype(np.float64), rows)
        self._check_limits()
        n_chains = self._setting("n_chains")
        table = bart.rank_table(rows)
        chains = self._run(table, rows, target, width, n_chains)
        self.vip_ = np.array([chain.shares for chain in chains[:n_chains]])
        self.rank_ = rules.share_ranks(self.vip_)
        self.mean_rank_ = self.rank_.mean(axis=0)
        self.cluster_ = rules.two_clusters(self.mean_rank_)
        self.gap_ = rules.rank_gap(self.mean_rank_, self.cluster_)
        self._note_chains(chains[:n_chains], target, width)
        null = np.array([chain.shares for chain in chains[n_chains:]])
        support = rules.limit_number(
            self._choose(null), self.mean_rank_, self.min_features, self.max_features
        )
        self.correlated_ = rules.correlated_columns(table.ranks, support, CORRELATED)
        self._warn(support)
        self.support_ = support
        return self

    @classmethod
    def _test_params(cls) -> list[dict[str, Any]]:
        cheap = {"n_chains": 2, "n_trees": 5, "n_burn": 30, "n_draws": 20}
        return [cheap, cheap | {"rule": "local", "n_permutations": 5}]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "support_")  # what fit sets last

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def __skinterp_tags__(self) -> SkinterpTags:
        few = f"fits fewer than the {MIN_ROWS} rows that chains of trees need"
        return SkinterpTags(
            stochastic=True,
            expected_failures={
                "check_n_features_in_after_fitting": few,
                "check_estimators_nan_inf": few,
            },
        )

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def _explain(self, X: None, *, kind: str) -> Selection:
        ddof = int(len(self.vip_) > 1)
        names = feature_names_of(self)
        return Selection(
            scope="global",
            feature_names=names,
            target_names=np.array(["y"]),
            selected=self.support_,
            rank=self.mean_rank_,
            rank_sd=self.rank_.std(axis=0, ddof=ddof),
            score=self.vip_.mean(axis=0),
            score_sd=self.vip_.std(axis=0, ddof=ddof),
            threshold=getattr(self, "threshold_", None),
            score_name="inclusion proportion",
            rule=self.rule,
            gap=self.gap_,
            meta={
                "correlated": {
                    names[j]: tuple(names[i] for i in others)
                    for j, others in self.correlated_.items()
                },
                "chains": {
                    "n_chains": len(self.vip_),
                    "r_hat of sigma": self.r_hat_,
                    "effective size of sigma": self.ess_,
                    "signal to noise": self.snr_,
                    "acceptance": tuple(self.acceptance_.mean(axis=0).tolist()),
                },
            },
        )

    def _setting(self, name: str) -> int:
        value = getattr(self, name)
        return int(PRESETS[self.preset][name] if value is None else value)

    def _check_limits(self) -> None:
        if self.max_features is not None and self.max_features < self.min_features:
            raise ValueError(
                f"max_features={self.max_features} is smaller than "
                f"min_features={self.min_features}."
            )

    def _run(
        self,
        table: bart.Table,
        X: NDArray[np.float64],
        y: NDArray[np.float64],
        width: float,
        n_chains: int,
    ) -> list[bart.ChainResult]:
        """Chains on the target, then those on permuted ones."""
        random_state = check_random_state(self.random_state)
        words = random_state.randint(0, 2**32, size=4, dtype=np.uint32)
        n_null = 0 if self.rule == "vip_rank" else self.n_permutations
        seeds = np.random.SeedSequence(words.tolist()).spawn(n_chains + n_null + 1)
        shuffle = np.random.default_rng(seeds.pop())
        targets = [y, *(shuffle.permutation(y) for _ in range(n_null))]
        sigma = self._estimate_sigma(X, np.column_stack(targets), width)
        settings = bart.BartSettings(
            n_trees=self.n_trees,
            n_burn=self._setting("n_burn"),
            n_draws=self._setting("n_draws"),
        )
        return bart.run_chains(
            table,
            [y] * n_chains + targets[1:],
            settings,
            np.append(np.repeat(sigma[0], n_chains), sigma[1:]),
            seeds,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            what=type(self).__name__,
        )

    def _estimate_sigma(
        self, X: NDArray[np.float64], targets: NDArray[np.float64], width: float
    ) -> NDArray[np.float64]:
        if self.sigma_estimate == "auto":
            return bart.sigma_estimates(X, targets)
        if self.sigma_estimate == "std":
            return np.asarray(targets.std(axis=0, ddof=1))
        return np.full(targets.shape[1], float(self.sigma_estimate) / width)

    def _note_chains(
        self, chains: list[bart.ChainResult], y: NDArray[np.float64], width: float
    ) -> None:
        sigma = np.array([chain.sigma for chain in chains])
        self.sigma_ = sigma * width
        self.snr_ = float(max(y.var() / (sigma**2).mean() - 1.0, 0.0))
        self.r_hat_ = split_r_hat(sigma)
        self.ess_ = effective_size(sigma)
        counts = np.array([chain.counts for chain in chains])
        self.acceptance_ = counts[:, :, 1] / np.maximum(counts[:, :, 0], 1)

    def _choose(self, null: NDArray[np.float64]) -> NDArray[np.bool_]:
        if self.rule == "vip_rank":
            return self.cluster_ == 0
        self.threshold_ = rules.permutation_threshold(self.rule, null, self.alpha_level)
        return self.vip_.mean(axis=0) > self.threshold_

    def _warn(self, support: NDArray[np.bool_]) -> None:
        """Warn where the selection is likely to mislead."""
        p, kept = len(support), int(support.sum())
        if (
            self.rule == "vip_rank"
            and p <= FEW_COLUMNS
            and max(self.min_features, kept) < p
        ):
            warnings.warn(
                f"{p - kept} of {p} columns are dropped: the rule 'vip_rank' makes two "
                "groups even where all columns matter. With few columns, say with "
                "min_features how many to keep, or use them all.",
                UserWarning,
                stacklevel=4,
            )
        elif self.rule == "vip_rank" and p > FEW_COLUMNS and kept > p / 2:
            warnings.warn(
                f"{kept} of {p} columns are kept: either most of them matter, or the "
                "two groups are a few columns of bad ranks and all others. More chains "
                "(n_chains) bring the ranks of columns that don't matter together; "
                "max_features keeps those of the best ranks.",
                UserWarning,
                stacklevel=4,
            )
        if self.snr_ < LOW_SNR and self.rule == "vip_rank":
            warnings.warn(
                f"The ratio of signal to noise is about {self.snr_:.2g}: at such a "
                "level up to half of the columns that don't matter are kept. "
                "rule='g_se' keeps fewer, and may lose columns that matter.",
                UserWarning,
                stacklevel=4,
            )


def _scaled_target(
    y: NDArray[np.float64], X: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Check the target, and bring it to the range from 0 to 1."""
    n, p = X.shape
    if n < MIN_ROWS:
        raise ValueError(
            f"Found array with n_samples={n}, n_features={p}, but PANSelector needs "
            f"at least {MIN_ROWS} samples."
        )
    low = float(y.min())
    width = float(y.max()) - low  # of Python's floats, which overflow in silence
    if width == 0.0:
        raise ValueError(
            f"y is constant ({low:g}): no column can matter for it. PANSelector needs "
            "a target that varies."
        )
    if not np.isfinite(width):
        raise ValueError("The range of y is too large for float64: scale the target.")
    return (y - low) / width, width
