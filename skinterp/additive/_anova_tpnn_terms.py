"""Which terms an additive model has, and the grids on which they are trained."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Term = tuple[int, ...]

# Cells of the screening of pairs, and how far it goes into the main effects before.
_SCREEN_BINS = 16
_SWEEPS = 8
_SHRINK = 1.0


def make_grid(X: Float, weight: Float | None, n_points: int) -> dict[str, Float]:
    """Put each column into bins of about equal weight, all cells of one value in one.

    Returns the mean of each bin, its share of the weight, the borders between bins, and
    the range for thresholds, which leaves some data on both sides.
    """
    columns = [_bins_of(X[:, j], weight, n_points) for j in range(X.shape[1])]
    size = max(len(points) for points, _ in columns)
    points, weights = np.empty((len(columns), size)), np.zeros((len(columns), size))
    borders = np.full((len(columns), size - 1), np.inf)
    bounds = np.empty((len(columns), 2))
    for j, (centre, share) in enumerate(columns):
        n = len(centre)
        points[j], points[j, :n] = centre[-1], centre
        weights[j, :n] = share
        borders[j, : n - 1] = (centre[1:] + centre[:-1]) / 2
        above = np.cumsum(share[::-1])[::-1]
        below = np.cumsum(share)
        bounds[j, 0] = centre[below >= 0.005][0]
        bounds[j, 1] = centre[above >= 0.005][-1]
    return {
        "points": points,
        "weights": weights,
        "borders": borders,
        "lowest": bounds[:, :1],
        "highest": bounds[:, 1:],
    }


def _bins_of(x: Float, weight: Float | None, n_points: int) -> tuple[Float, Float]:
    values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    mass: Float = counts.astype(np.float64)
    if weight is not None:
        mass = np.bincount(inverse, weights=weight).astype(np.float64)
    mass = mass / mass.sum()
    if len(values) <= n_points:
        return values, mass
    middle = np.cumsum(mass) - mass / 2
    code = np.minimum((middle * n_points).astype(int), n_points - 1)
    share: Float = np.bincount(code, weights=mass).astype(np.float64)
    centre: Float = np.bincount(code, weights=mass * values).astype(np.float64)
    there = share > 0
    return centre[there] / share[there], share[there]


def constant_columns(X: Float, names: tuple[str, ...]) -> list[int]:
    """Find the columns without spread, and say that they get no term."""
    flat = np.flatnonzero(np.ptp(X, axis=0) == 0).tolist()
    if flat:
        said = ", ".join(repr(names[j]) for j in flat[:5])
        more = f" and {len(flat) - 5} more" if len(flat) > 5 else ""
        msg = f"constant columns get no term: {said}{more}"
        warnings.warn(msg, UserWarning, stacklevel=2)
    return flat


def check_terms(
    interactions: Any, order: int, n_features: int, monotone: dict[int, int]
) -> list[Term] | None:
    """Interactions as sorted tuples; None where they are chosen by the data."""
    if isinstance(interactions, str):
        return None
    made: list[Term] = []
    for term in interactions:
        features = _check_term(term, n_features)
        for j in features:
            if j in monotone:
                msg = (
                    f"interactions has {term!r}, but feature {j} is monotone: terms "
                    "of several features have to leave it out"
                )
                raise ValueError(msg)
        if tuple(sorted(features)) in {tuple(sorted(old)) for old in made}:
            msg = f"interactions names {term!r} twice"
            raise ValueError(msg)
        made.append(features)
    return made if order > 1 else []


def check_monotone(monotone: Any, names: tuple[str, ...]) -> dict[int, int]:
    """Signs by position of the feature."""
    signs: dict[int, int] = {}
    for feature, sign in dict(monotone or {}).items():
        if isinstance(feature, str) and feature in names:
            j = names.index(feature)
        elif isinstance(feature, int | np.integer) and 0 <= feature < len(names):
            j = int(feature)
        else:
            msg = (
                f"monotone names the feature {feature!r}; features are 0 to "
                f"{len(names) - 1}, or by name {list(names[:10])}"
            )
            raise ValueError(msg)
        if sign not in (-1, 1):
            msg = f"monotone has {sign!r} for {feature!r}; allowed are -1 and 1"
            raise ValueError(msg)
        signs[j] = int(sign)
    return signs


def _check_term(term: Any, n_features: int) -> Term:
    rule = (
        f"a term is a tuple of two to four different features, each from 0 to "
        f"{n_features - 1}"
    )
    if isinstance(term, str) or not isinstance(term, Iterable):
        msg = f"interactions has {term!r}; {rule}"
        raise ValueError(msg)
    features = tuple(term)
    right = 2 <= len(features) <= 4 and len(set(features)) == len(features)
    for j in features:
        whole = isinstance(j, int | np.integer) and not isinstance(j, bool)
        right = right and whole and 0 <= j < n_features
    if not right:
        msg = f"interactions has {term!r}; {rule}"
        raise ValueError(msg)
    return tuple(int(j) for j in features)


def rank_pairs(
    X: Float, target: NDArray[Any], weight: Float | None, n_classes: int, free: Any
) -> list[Term]:
    """Rank pairs by how much they explain of what main effects leave, best first.

    The main effects are step functions on 16 bins, fitted by Newton steps feature by
    feature. A pair's score is the gain of the best cut of both features into four
    quadrants plus that of all 16 x 16 cells less what noise would gain, per output.
    The cost is O(n d^2).
    """
    grid = make_grid(X, weight, _SCREEN_BINS)
    codes = np.column_stack(
        [np.searchsorted(grid["borders"][j], X[:, j]) for j in range(X.shape[1])]
    )
    weight = np.ones(len(X)) if weight is None else weight
    gradient, hessian = _main_effects(codes, target, weight, n_classes)
    pairs = list(combinations(free, 2))
    scores = [_score(codes[:, i], codes[:, j], gradient, hessian) for i, j in pairs]
    order = np.argsort(-np.array(scores), kind="stable")
    return [pairs[k] for k in order]


def _main_effects(
    codes: NDArray[np.int64], target: NDArray[Any], weight: Float, n_classes: int
) -> tuple[Float, Float]:
    """Gradients and curvatures of the loss that main effects leave, per output."""
    n = len(codes)
    if n_classes > 2:
        y = np.eye(n_classes)[target]
    else:
        y = np.asarray(target, dtype=float).reshape(n, -1)
    if n_classes == 0:
        y = (y - y.mean(0)) / np.maximum(y.std(0), 1e-300)
    score = np.zeros_like(y)
    gradient, hessian = _derivatives(y, score, weight, n_classes)
    for _ in range(_SWEEPS):
        for j in range(codes.shape[1]):
            for c in range(y.shape[1]):
                up = np.bincount(codes[:, j], gradient[:, c], _SCREEN_BINS)
                down = np.bincount(codes[:, j], hessian[:, c], _SCREEN_BINS)
                step = up / (down + _SHRINK)
                score[:, c] += (step - step @ down / down.sum())[codes[:, j]]
            gradient, hessian = _derivatives(y, score, weight, n_classes)
    return gradient, hessian


def _derivatives(
    y: Float, score: Float, weight: Float, n_classes: int
) -> tuple[Float, Float]:
    w = weight[:, None]
    if n_classes == 0:
        return w * (y - score), np.broadcast_to(w, y.shape)
    if n_classes == 2:
        p = 1 / (1 + np.exp(-score))
    else:
        p = np.exp(score - score.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
    return w * (y - p), w * np.maximum(p * (1 - p), 1e-6)


def _score(
    a: NDArray[np.int64], b: NDArray[np.int64], gradient: Float, hessian: Float
) -> float:
    code = a * _SCREEN_BINS + b
    total = 0.0
    for c in range(gradient.shape[1]):
        up: Float = _table(code, gradient[:, c])
        down: Float = _table(code, hessian[:, c])
        noise = gradient[:, c] @ gradient[:, c] / max(hessian[:, c].sum(), 1e-300)
        shrunk = down / (down + 10.0)
        gain = (shrunk * up**2 / np.maximum(down, 1e-12)).sum() - noise * shrunk.sum()
        total += gain + _quadrants(up, down)
    return total


def _table(code: NDArray[np.int64], weight: Float) -> Float:
    sums = np.bincount(code, weight, _SCREEN_BINS**2).astype(np.float64)
    return sums.reshape(_SCREEN_BINS, _SCREEN_BINS)


def _quadrants(up: Float, down: Float) -> float:
    """Gain of the best cut of both features."""
    sums, sizes = _corner_sums(up), _corner_sums(down)
    gain = (sums**2 / np.maximum(sizes, 1.0)).sum(axis=0).max()
    return float(gain)


def _corner_sums(cells: Float) -> Float:
    """Sums over the four quadrants of each cut, of shape (4, n_cuts, n_cuts)."""
    below = cells.cumsum(0).cumsum(1)
    both = below[:-1, :-1]
    first, second = below[:-1, -1:] - both, below[-1:, :-1] - both
    return np.stack([both, first, second, cells.sum() - both - first - second])
