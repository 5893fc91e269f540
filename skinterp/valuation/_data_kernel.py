"""How alike two training rows are, by their features and their labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, pdist

Floats = NDArray[np.float64]

SMOOTH = 0.9  # share of the variance that features explain; the rest is the row's own
JITTER = 1e-8
MEDIAN_ROWS = 2000  # more rows do not move the median distance


def column_scales(features: Floats, groups: NDArray[np.intp]) -> Floats:
    """Deviations, by which the features of each group count as one together."""
    spread = np.sqrt(np.bincount(groups, features.var(axis=0)))[groups]
    return np.where(spread > 1e-12, spread, 1.0)


class DataKernel:
    """Correlation of the values of data, with the features of the rows inside.

    Rows of the same contents have the same value. Near rows have like values if their
    labels agree, and with ``signed`` opposite ones if they do not: of two neighbours
    with different labels at most one is right.
    """

    def __init__(
        self,
        features: Floats,
        y: NDArray[Any],
        n_classes: int,
        kind: str,
        groups: NDArray[np.intp] | None = None,
    ) -> None:
        self.center = features.mean(axis=0)
        own = np.arange(features.shape[1]) if groups is None else groups
        self.scale = column_scales(features, own)
        self.n_classes, self.kind = n_classes, kind
        if n_classes == 0:  # a number is one more feature
            spread = float(y.std())
            self.target = float(y.mean()), spread if spread > 0 else 1.0
        self.y = y
        self.z = self._encode(features, y)
        some = self.z[:: max(1, len(self.z) // MEDIAN_ROWS)]
        median = float(np.median(pdist(some))) if len(some) > 1 else 0.0
        self.length = median if median > 0 else 1.0

    def _encode(self, features: Floats, y: NDArray[Any]) -> Floats:
        z = (features - self.center) / self.scale
        if self.n_classes == 0:
            mean, spread = self.target
            z = np.column_stack([z, (y - mean) / spread])
        return np.ascontiguousarray(z) + 0.0  # there is one zero only

    def matrix(self) -> Floats:
        """Correlations of all rows, with a jitter that keeps them invertible."""
        K = self._between(self.z, self.y)
        K.flat[:: len(K) + 1] += JITTER
        return K

    def rows(self, at: NDArray[np.intp]) -> Floats:
        """Some rows of ``matrix``, without making the others."""
        K = self._between(self.z[at], self.y[at])
        K[np.arange(len(at)), at] += JITTER
        return K

    def cross(self, features: Floats, y: NDArray[Any]) -> tuple[Floats, Floats]:
        """Correlations of other rows with the rows held, and with themselves."""
        return self._between(self._encode(features, y), y), np.ones(len(y))

    def _between(self, z: Floats, y: NDArray[Any]) -> Floats:
        distance = cdist(z, self.z, "sqeuclidean")
        K = np.exp(distance / (-2.0 * self.length**2), out=distance)
        K *= SMOOTH
        if self.n_classes:
            same = y[:, None] == self.y[None, :]
            signed = self.kind == "rbf-signed-label"
            K *= np.where(same, 1.0, -1.0 / (self.n_classes - 1) if signed else 0.0)
        ids = _contents(self.z, self.y)
        place = {key: i for i, key in enumerate(dict.fromkeys(ids))}
        own = np.array([place[key] for key in ids])
        theirs = np.array([place.get(key, -1) for key in _contents(z, y)], dtype=int)
        for i, group in enumerate(theirs):
            if group >= 0:
                K[i, own == group] += 1.0 - SMOOTH
        return K


def _contents(z: Floats, y: NDArray[Any]) -> list[tuple[bytes, Any]]:
    return list(zip((row.tobytes() for row in z), y.tolist(), strict=True))


class CallableKernel:
    """A user's own kernel, ``function(X, y)``, which gives a square matrix."""

    length = float("nan")

    def __init__(
        self, function: Callable[..., Any], X: Floats, labels: NDArray[Any]
    ) -> None:
        self.function, self.X, self.labels = function, X, labels
        self.K = self._call(X, labels)

    def _call(self, X: Floats, labels: NDArray[Any]) -> Floats:
        K = np.array(self.function(X, labels), dtype=np.float64)
        n = len(X)
        if (
            K.shape != (n, n)
            or not np.isfinite(K).all()
            or np.abs(K - K.T).max() > 1e-8
        ):
            msg = (
                f"kernel(X, y) must give a finite symmetric matrix of shape {(n, n)}, "
                f"got an array of shape {K.shape}."
            )
            raise ValueError(msg)
        if (np.diag(K) <= 0).any():
            msg = "kernel(X, y) must have a positive diagonal, got a number up to 0."
            raise ValueError(msg)
        _check_definite(K)
        return (K + K.T) / 2

    def matrix(self) -> Floats:
        """Correlations of all rows, with a jitter that keeps them invertible."""
        K = self.K.copy()
        K.flat[:: len(K) + 1] += JITTER
        return K

    def rows(self, at: NDArray[np.intp]) -> Floats:
        """Some rows of ``matrix``."""
        K = self.K[at]
        K[np.arange(len(at)), at] += JITTER
        return K

    def cross(self, X: Floats, labels: NDArray[Any]) -> tuple[Floats, Floats]:
        """Correlations of other rows with the rows held, and with themselves."""
        n = len(self.X)
        both = np.vstack([self.X, X]), np.concatenate([self.labels, labels])
        K = self._call(*both)
        return K[n:, :n], np.diag(K)[n:]


def _check_definite(K: Floats) -> None:
    try:
        np.linalg.cholesky(K + 1e-6 * float(np.diag(K).max()) * np.eye(len(K)))
    except np.linalg.LinAlgError as error:
        msg = (
            "kernel(X, y) must be positive semidefinite, got a matrix with an "
            f"eigenvalue of {np.linalg.eigvalsh(K).min():.3g}."
        )
        raise ValueError(msg) from error
