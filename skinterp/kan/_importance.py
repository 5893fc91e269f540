"""How much each edge moves, and which inputs that comes from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def describe_nodes(
    parts: Iterable[tuple[Floats, ...]],
    edges: Sequence[Floats],
    weight: Floats | None,
    module: Any,
) -> tuple[list[Floats], list[Floats]]:
    """Range of each node that edges start from, and standard deviation of each edge.

    Edges are linear in the features of their node, so that the weighted moments of the
    features are enough: no table of all edges for all rows is made.

    Parameters
    ----------
    parts : iterable of tuple of ndarray
        Values of the nodes of all layers, some rows at a time.
    edges : sequence of ndarray of shape (n_out, n_in, n_coefficients)
        Coefficients of each layer.
    weight : ndarray of shape (n_rows,) or None
        Weights of the rows.
    module : KANModule
        Knows the grid and the base function.

    Returns
    -------
    list of ndarray of shape (n_in, 2)
        Lowest and highest value, per layer of edges.
    list of ndarray of shape (n_out, n_in)
        Standard deviations, per layer of edges; zero where the node does not move.
    """
    import torch

    from skinterp.kan._splines import features

    low = [np.full(e.shape[1], np.inf) for e in edges]
    high = [np.full(e.shape[1], -np.inf) for e in edges]
    first: list[Any] = [0.0] * len(edges)
    second: list[Any] = [0.0] * len(edges)
    done, total = 0, 0.0
    for nodes in parts:
        n_rows = len(nodes[0])
        share = np.ones(n_rows) if weight is None else weight[done : done + n_rows]
        done, total = done + n_rows, total + float(share.sum())
        factor = torch.as_tensor(share)
        for layer, values in enumerate(nodes[:-1]):
            low[layer] = np.minimum(low[layer], values.min(axis=0))
            high[layer] = np.maximum(high[layer], values.max(axis=0))
            x = torch.as_tensor(values.T.astype(np.float64))
            table = features(x, module.grid, module.base)
            weighed = table * factor
            first[layer] = first[layer] + weighed.sum(dim=2).numpy()
            second[layer] = second[layer] + (weighed @ table.transpose(1, 2)).numpy()
    sizes = []
    for layer, own in enumerate(edges):
        mean = first[layer] / total
        covariance = second[layer] / total - mean[:, :, None] * mean[:, None]
        turned = own.swapaxes(0, 1)
        variance = ((turned @ covariance) * turned).sum(axis=2).T
        # a node at rest has a variance of rounding errors
        moves = high[layer] > low[layer]
        sizes.append(np.where(moves, np.sqrt(variance.clip(min=0)), 0.0))
    ranges = [np.stack(pair, axis=1) for pair in zip(low, high, strict=True)]
    return ranges, sizes


def input_shares(sizes: Sequence[Floats]) -> list[Floats]:
    """Pass the importance of the outputs back along the edges, by their sizes.

    Outputs count the same. A node shares its importance among the edges that enter it,
    in proportion to their standard deviations; where none of them moves, it is lost.

    Returns
    -------
    list of ndarray of shape (n_nodes,)
        Importance of the nodes of each layer, inputs first; each sums to one, or less
        where some is lost.
    """
    n_outputs = len(sizes[-1])
    shares = [np.full(n_outputs, 1 / n_outputs)]
    for size in reversed(sizes):
        total = size.sum(axis=1, keepdims=True)
        part = np.divide(size, total, out=np.zeros_like(size), where=total > 0)
        shares.append(shares[-1] @ part)
    return shares[::-1]
