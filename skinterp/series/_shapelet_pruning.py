"""Giving up candidates early that cannot be among the best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from skinterp.series._shapelet_quality import GAP, entropies

if TYPE_CHECKING:
    from skinterp.series._shapelet_search import Found

Integers = NDArray[np.int64]
#: With a smaller share given up, measuring in two goes costs more than it saves.
WORTH = 0.2
#: Bounds closer to what has to be reached than this are no reason to give up.
MARGIN = 1e-9


class Pruning:
    """What a candidate has to reach, and which cannot.

    The candidates of the first part are measured on all series. Further ones are
    measured on every other series of each class; those whose information gain stays
    below that of the last one kept so far, wherever the other series were to lie, are
    given up. What is kept at the end is the same as without.

    Parameters
    ----------
    y : ndarray of shape (n_cases,), int64
        Codes of the classes.
    n_classes : int
        Number of classes.
    n_shapelets : int
        Number of shapelets that are kept of a class.
    """

    def __init__(self, y: Integers, n_classes: int, n_shapelets: int) -> None:
        self.y, self.n_classes, self.n_shapelets = y, n_classes, n_shapelets
        order = np.argsort(y, kind="stable")
        self.first, self.rest = np.sort(order[::2]), np.sort(order[1::2])
        self.least = np.zeros(n_classes)
        self.given_up = 1.0

    @property
    def is_worth_it(self) -> bool:
        """Whether there is anything to stay below, and enough did so last time."""
        return bool(self.least.max(initial=0.0) > 0.0) and self.given_up >= WORTH

    def learn(self, found: list[Found]) -> None:
        """Note what the last shapelet to be kept reaches at least, for each class.

        Of each series and channel the best one is kept whatever overlaps it. Equal ones
        of different series count once: of these one is kept.
        """
        best: dict[tuple[int, int], tuple[float, int, int]] = {}
        for one in found:
            for k in range(len(one.where)):
                source = int(one.where.case[k]), int(one.where.channel[k])
                rated = round(float(one.quality[k]), 9)
                told = (rated, -int(one.where.length[k]), int(one.own[k]))
                best[source] = max(best.get(source, told), told)
        for label in range(self.n_classes):
            distinct = {told for told in best.values() if told[2] == label}
            if len(distinct) >= self.n_shapelets:
                reached = sorted((told[0] for told in distinct), reverse=True)
                self.least[label] = reached[self.n_shapelets - 1]

    def hopeful(self, distance: NDArray[np.float64], own: Integers) -> NDArray[Any]:
        """Find the candidates to go on with.

        Parameters
        ----------
        distance : ndarray of shape (n_candidates, n_first)
            Distances to the series of ``first``.
        own : ndarray of shape (n_candidates,)
            Class of each candidate.

        Returns
        -------
        ndarray
            Their positions.
        """
        total = np.bincount(self.y, minlength=self.n_classes)
        bound = np.empty(len(own))
        order = np.argsort(distance, axis=1)
        _bound_gains(distance, order, self.y[self.first], own, total, bound)
        kept = np.flatnonzero(bound >= self.least[own] - MARGIN)
        self.given_up = 1.0 - len(kept) / max(len(own), 1)
        return kept


@njit(cache=True, nogil=True)
def _bound_gains(
    distance: Any, order: Any, y: Any, own: Any, total: Any, bound: Any
) -> None:
    """Largest information gain of one class against the rest that may still come out.

    At each split of the series seen so far, those to come may lie on either side. The
    gain is a convex function of how many of each class are near, so that it is largest
    where each class lies on one side as a whole.
    """
    n, seen = int(total.sum()), distance.shape[1]
    table = entropies(n)
    for k in range(len(distance)):
        p = total[own[k]]
        known = 0
        for i in range(seen):
            known += y[i] == own[k]
        more, others = p - known, (n - p) - (seen - known)
        whole = table[n] - table[p] - table[n - p]
        best, near = whole, 0
        for j in range(-1, seen):
            if j >= 0:
                near += y[order[k, j]] == own[k]
            if 0 <= j < seen - 1:
                gap = distance[k, order[k, j + 1]] - distance[k, order[k, j]]
                if gap <= GAP:
                    continue
            for side in range(4):
                a = near + (more if side % 2 else 0)
                b = j + 1 - near + (others if side // 2 else 0)
                left = table[a + b] - table[a] - table[b]
                right = table[n - a - b] - table[p - a] - table[n - p - b]
                best = min(best, left + right)
        bound[k] = (whole - best) / n
