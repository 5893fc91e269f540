"""The nearest-neighbour utility, whose Shapley values have a closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.validation import check_consistent_length

from skinterp.valuation._knn_kernels import add_shapley_values, coalition_utility

BLOCK = 256  # queries whose distances are held at a time


class KNNUtility:
    """What a set of training rows is worth to a vote of the nearest neighbours.

    For each validation row, the share of right labels among the ``n_neighbors``
    nearest rows of the set (a set that has fewer loses the rest), averaged over the
    validation rows. It is a utility for `TopDataValues`, and its Shapley values are
    known in closed form.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Training rows. Distances are Euclidean, so scale the columns before.
    y : array-like of shape (n_samples,)
        Their labels.
    X_val : array-like of shape (n_val, n_features)
        Validation rows.
    y_val : array-like of shape (n_val,)
        Their labels.
    n_neighbors : int, default=5
        Number of neighbours that vote.

    Attributes
    ----------
    n_samples : int
        Number of training rows.
    n_neighbors : int
        Number of neighbours that vote.

    See Also
    --------
    knn_shapley : The exact values, in one call.

    Notes
    -----
    Making it costs O(n_val n_samples (n_features + log n_samples)) and holds two
    tables of n_val by n_samples; a coalition of s rows then costs about
    O(n_val n_neighbors n_samples / s). Of rows at equal distance the first ones count
    as nearer.

    Examples
    --------
    >>> from skinterp.valuation import KNNUtility
    >>> utility = KNNUtility([[0.], [1.], [2.]], [1, 1, 0], [[0.]], [1], n_neighbors=1)
    >>> utility([2]), utility([0, 2])
    (0.0, 1.0)
    >>> utility.shapley_values()
    array([0.5, 0.5, 0. ])
    """

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        X_val: ArrayLike,
        y_val: ArrayLike,
        n_neighbors: int = 5,
    ) -> None:
        rows = check_array(X, dtype=np.float64)
        queries = check_array(X_val, dtype=np.float64)
        labels, wanted = column_or_1d(y), column_or_1d(y_val)
        check_consistent_length(rows, labels)
        check_consistent_length(queries, wanted)
        if rows.shape[1] != queries.shape[1]:
            msg = (
                f"X_val has {queries.shape[1]} features, but X has {rows.shape[1]}: "
                "both must have the same columns."
            )
            raise ValueError(msg)
        whole = isinstance(n_neighbors, int | np.integer)
        if not whole or isinstance(n_neighbors, bool) or n_neighbors < 1:
            msg = f"n_neighbors={n_neighbors!r} must be an integer of at least 1."
            raise ValueError(msg)
        if (labels.dtype.kind == "U") != (wanted.dtype.kind == "U"):
            texts = {type(np.asarray(v[:1]).item()) for v in (labels, wanted)}
            if len(texts) > 1:
                msg = f"y holds {labels[0]!r}, but y_val {wanted[0]!r}: no such labels."
                raise ValueError(msg)
        self.n_samples, self.n_neighbors = len(rows), int(n_neighbors)
        self._order = np.empty((len(queries), len(rows)), dtype=np.int32)
        for start in range(0, len(queries), BLOCK):
            part = slice(start, start + BLOCK)
            distance = cdist(queries[part], rows, "sqeuclidean")
            self._order[part] = np.argsort(distance, axis=1, kind="stable")
        self._match = np.asarray(labels[self._order] == wanted[:, None], dtype=np.uint8)

    def __call__(self, indices: ArrayLike) -> float:
        """Utility of a set of training rows.

        Parameters
        ----------
        indices : array-like of int
            Positions of the rows in ``X``, each at most once.

        Returns
        -------
        float
            From 0 to 1; 0 for no rows.
        """
        chosen, n = np.asarray(indices), self.n_samples
        member = np.zeros(n, dtype=np.bool_)
        if chosen.size:
            whole = chosen.ndim == 1 and chosen.dtype.kind in "iu"
            if not whole or chosen.min() < 0 or chosen.max() >= n:
                msg = f"indices must be positions from 0 to {n - 1}, got {indices!r}."
                raise ValueError(msg)
            member[chosen] = True
        size = int(member.sum())
        order, match = self._order, self._match
        return float(coalition_utility(order, match, member, size, self.n_neighbors))

    def shapley_values(self) -> NDArray[np.float64]:
        """Exact Shapley values of all training rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            They sum to the utility of all rows.
        """
        values = np.zeros(self.n_samples)
        add_shapley_values(self._order, self._match, self.n_neighbors, values)
        return values / len(self._order)


def knn_shapley(
    X: ArrayLike,
    y: ArrayLike,
    X_val: ArrayLike,
    y_val: ArrayLike,
    *,
    n_neighbors: int = 5,
) -> NDArray[np.float64]:
    """Exact Shapley values of training rows for a vote of the nearest neighbours.

    No model is trained and nothing is sampled: the values come from one pass over the
    sorted distances.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Training rows. Distances are Euclidean, so scale the columns before.
    y : array-like of shape (n_samples,)
        Their labels.
    X_val : array-like of shape (n_val, n_features)
        Validation rows.
    y_val : array-like of shape (n_val,)
        Their labels.
    n_neighbors : int, default=5
        Number of neighbours that vote.

    Returns
    -------
    ndarray of shape (n_samples,)
        Values, which sum to the utility of all rows.

    See Also
    --------
    TopDataValues : The most valuable rows for any model.

    Notes
    -----
    Costs O(n_val n_samples (n_features + log n_samples)). The validation rows are
    taken in blocks, so that memory grows with n_samples alone.

    References
    ----------
    .. [1] Jia, R. et al. (2019). "Efficient task-specific data valuation for nearest
       neighbor algorithms". PVLDB 12. arXiv:1908.08619.

    Examples
    --------
    >>> from skinterp.valuation import knn_shapley
    >>> knn_shapley([[0.], [1.], [2.]], [1, 1, 0], [[0.]], [1], n_neighbors=1)
    array([0.5, 0.5, 0. ])
    """
    queries: Any = check_array(X_val, dtype=np.float64)
    wanted = column_or_1d(y_val)
    check_consistent_length(queries, wanted)
    total = np.zeros(len(check_array(X, dtype=np.float64)))
    for start in range(0, len(queries), BLOCK):
        part = slice(start, start + BLOCK)
        utility = KNNUtility(X, y, queries[part], wanted[part], n_neighbors)
        total += utility.shapley_values() * len(queries[part])
    return total / len(queries)
