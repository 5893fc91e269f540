"""Which rows to label: a budget shared among slices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def share_budget(
    inside: Any, share: NDArray[np.float64], budget: int, confidence: ArrayLike | None
) -> NDArray[np.intp]:
    """Rows of the slices, in proportion to a share, those of low confidence first."""
    n = inside.shape[0]
    whole = isinstance(budget, int | np.integer) and not isinstance(budget, bool)
    if not whole or budget < 1:
        msg = f"budget={budget!r} must be a whole number of at least 1"
        raise ValueError(msg)
    order = np.arange(n, dtype=np.float64)
    if confidence is not None:
        order = _read_confidence(confidence, n)
    columns = inside.tocsc()
    queues = []
    for s in range(columns.shape[1]):
        rows = columns.indices[columns.indptr[s] : columns.indptr[s + 1]]
        rows = np.sort(rows)
        queues.append(rows[np.argsort(order[rows], kind="stable")].tolist()[::-1])
    return _deal(queues, share, int(budget))


def _read_confidence(confidence: ArrayLike, n: int) -> NDArray[np.float64]:
    """One number per row, or a ValueError that says what is wrong."""
    msg = f"confidence needs a number for each of {n} rows"
    try:
        order = np.asarray(confidence, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{msg}: {error}") from error
    if order.shape != (n,):
        msg = f"{msg}, got shape {order.shape}"
        raise ValueError(msg)
    if np.isnan(order).any():
        msg = f"{msg}, row {int(np.isnan(order).argmax())} has none"
        raise ValueError(msg)
    return order


def _deal(
    queues: list[list[int]], share: NDArray[np.float64], budget: int
) -> NDArray[np.intp]:
    """Give rows to the slice that lags behind its share most, until none are left."""
    chosen: dict[int, None] = {}
    given = np.zeros(len(queues))
    weight = np.where(share > 0, share, 1e-12)
    while len(chosen) < budget:
        for queue in queues:
            while queue and queue[-1] in chosen:
                queue.pop()
        waiting = [s for s, queue in enumerate(queues) if queue]
        if not waiting:
            break
        s = min(waiting, key=lambda s: ((given[s] + 1) / weight[s], s))
        chosen[queues[s].pop()] = None
        given[s] += 1
    return np.array(list(chosen), dtype=np.intp)
