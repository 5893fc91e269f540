"""How well scores of objects and attributes agree with a known context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import average_precision_score, f1_score


def ranking_scores(
    scores: ArrayLike, truth: ArrayLike, *, hits: Sequence[int] = (1, 5, 10)
) -> dict[str, float]:
    """Rank the attributes of each object, and see where the true ones stand.

    Parameters
    ----------
    scores : array-like of shape (n_objects, n_attributes)
        The larger, the more likely.
    truth : array-like of shape (n_objects, n_attributes), bool
        The known context.
    hits : sequence of int, default=(1, 5, 10)
        Numbers k of "hit@k".

    Returns
    -------
    dict of str to float
        "mrr", the mean over all true pairs of 1/rank; "hit@k", the share of true
        pairs among the first k. Equal scores share their mean rank.

    Raises
    ------
    ValueError
        If the shapes differ, scores hold NaN, or no pair is true.

    See Also
    --------
    context_scores : Agreement after a cut.

    Examples
    --------
    >>> from skinterp.lattice import ranking_scores
    >>> found = ranking_scores([[0.9, 0.8, 0.1]], [[0, 1, 1]], hits=[2])
    >>> round(found["mrr"], 6), found["hit@2"]
    (0.416667, 0.5)
    """
    from scipy.stats import rankdata

    numbers, known = _pair(scores, truth)
    ranks = rankdata(-numbers, axis=1)[known]
    out = {"mrr": float((1.0 / ranks).mean())}
    return out | {f"hit@{k}": float((ranks <= k).mean()) for k in hits}


def context_scores(
    scores: ArrayLike, truth: ArrayLike, *, thresholds: ArrayLike = (0.5,)
) -> dict[str, Any]:
    """Compare a table, cut at thresholds, with a known context.

    Parameters
    ----------
    scores : array-like of shape (n_objects, n_attributes)
        As of ``MLMContext.score_attributes``.
    truth : array-like of shape (n_objects, n_attributes), bool
        The known context.
    thresholds : array-like of shape (n_thresholds,), default=(0.5,)
        Where to cut; a pair holds if its score is above.

    Returns
    -------
    dict of str to ndarray
        "f1", of shape (n_thresholds,): F1 per attribute, weighted by the number of
        true objects; "map": mean average precision over attributes; "f1_all" and
        "map_all": the same of the table in which everything holds, the baseline.

    Raises
    ------
    ValueError
        If the shapes differ, scores hold NaN, or no pair is true.

    See Also
    --------
    ranking_scores : Agreement of the order, without a cut.

    Examples
    --------
    >>> from skinterp.lattice import context_scores
    >>> found = context_scores([[0.9, 0.2], [0.4, 0.8]], [[1, 0], [0, 1]])
    >>> found["f1"].tolist(), round(float(found["f1_all"]), 3)
    ([1.0], 0.667)
    """
    numbers, known = _pair(scores, truth)
    cuts = np.atleast_1d(np.asarray(thresholds, dtype=np.float64))
    whole = np.ones_like(known)
    return {
        "f1": np.array([_f1(known, numbers > cut) for cut in cuts]),
        "map": _mean_precision(known, numbers),
        "f1_all": np.float64(_f1(known, whole)),
        "map_all": _mean_precision(known, whole.astype(np.float64)),
    }


def _pair(
    scores: ArrayLike, truth: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    numbers, given = np.asarray(scores, dtype=np.float64), np.asarray(truth)
    if np.isnan(numbers).any():
        msg = "scores holds NaN; allowed are numbers"
        raise ValueError(msg)
    if given.dtype.kind not in "biuf" or not ((given == 0) | (given == 1)).all():
        msg = "truth must hold truth values, or 0 and 1, and nothing else"
        raise ValueError(msg)
    known = given.astype(bool)
    if numbers.shape != known.shape or numbers.ndim != 2:
        msg = (
            "scores and truth must have one shape (n_objects, n_attributes), got "
            f"{numbers.shape} and {known.shape}"
        )
        raise ValueError(msg)
    if not known.any():
        msg = "truth holds no true pair, so that there is nothing to find"
        raise ValueError(msg)
    return numbers, known


def _f1(known: NDArray[np.bool_], told: NDArray[np.bool_]) -> float:
    f1 = [f1_score(k, t, zero_division=0) for k, t in zip(known.T, told.T, strict=True)]
    return float(np.average(f1, weights=known.sum(axis=0)))


def _mean_precision(
    known: NDArray[np.bool_], scores: NDArray[np.float64]
) -> np.float64:
    """Mean over the attributes that some object has."""
    used = known.any(axis=0)
    pairs = zip(known.T[used], scores.T[used], strict=True)
    return np.float64(np.mean([average_precision_score(k, s) for k, s in pairs]))
