"""Parts of a prediction per input that add up, through any number of layers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._edge_curves import EdgeCurves

Floats = NDArray[np.float64]

AT_ONCE = 2**23  # numbers of one block


def attribute(
    curves: EdgeCurves, nodes: Sequence[Floats], baselines: Sequence[Floats]
) -> tuple[Floats, Floats]:
    """Difference of each row's output to that of baselines, as a part per input.

    A node is a sum of edges, so that its difference to the baseline is the sum of the
    differences of its edges: exactly. What comes out of an edge is passed back to the
    node where it starts in proportion ``(e(a) - e(b)) / (a - b)``, the slope of the
    edge between baseline and row, until the inputs are reached (the rescale rule of
    DeepLIFT). So the parts sum to the difference of the outputs whatever the number of
    layers. In a network of one layer they are the curves themselves, less their mean
    over the baselines.

    Returns
    -------
    ndarray of shape (n_rows, n_inputs, n_outputs)
        Mean over the baselines.
    ndarray of shape (n_rows, n_outputs)
        Mean output of the baselines.
    """
    n_rows = len(nodes[0])
    base = np.tile(baselines[-1].mean(axis=0), (n_rows, 1))
    n_edges = int((curves.widths[:-1] * curves.widths[1:]).max())
    step = max(1, AT_ONCE // (n_edges * max(1, len(baselines[0]))))
    parts = [
        _parts(curves, [n[start : start + step] for n in nodes], baselines)
        for start in range(0, n_rows, step)
    ]
    empty = np.zeros((0, int(curves.widths[0]), int(curves.widths[-1])))
    return np.concatenate([*parts, empty]), base


def _parts(
    curves: EdgeCurves, nodes: Sequence[Floats], baselines: Sequence[Floats]
) -> Floats:
    last = curves.n_layers - 1
    passed: Floats | None = None  # (row, baseline, output, node): slope to the output
    for layer in range(last, 0, -1):
        slopes = _slopes(curves, layer, nodes[layer], baselines[layer])
        if passed is None:
            passed = slopes
        else:
            passed = np.einsum("nrqo,nroi->nrqi", passed, slopes)
        if curves.squash:
            passed = (
                passed * _squash_slopes(curves, layer, nodes, baselines)[:, :, None]
            )
    moved = curves.edge_values(0, nodes[0])  # (row, hidden, input)
    still = curves.edge_values(0, baselines[0])
    if passed is None:
        return np.asarray((moved - still.mean(axis=0)).swapaxes(1, 2))
    n_baselines = len(still)
    # Sums that do not depend on which rows are explained together, so no BLAS. Both
    # are linear in the edges, so that no table per pair of rows is made
    ours = np.einsum("nqh,nhj->njq", passed.sum(axis=1), moved)
    theirs = np.einsum("nrqh,rhj->njq", passed, still)
    return np.asarray((ours - theirs) / n_baselines)


def _slopes(curves: EdgeCurves, layer: int, a: Floats, b: Floats) -> Floats:
    """Slope of each edge between a row and a baseline: (row, baseline, out, in)."""
    gap = a[:, None] - b[None]
    rise = curves.edge_values(layer, a)[:, None] - curves.edge_values(layer, b)[None]
    near = np.abs(gap) < 1e-9
    safe = np.where(near, 1.0, gap)
    result = rise / safe[:, :, None]
    if near.any():  # the limit of the slope
        row, other, node = np.nonzero(near)
        result[row, other, :, node] = curves.edge_slopes(layer, a)[row, :, node]
    return np.asarray(result)


def _squash_slopes(
    curves: EdgeCurves, layer: int, nodes: Sequence[Floats], baselines: Sequence[Floats]
) -> Floats:
    """Slope of tanh between what a row and a baseline put into a node."""
    before = curves.edge_values(layer - 1, nodes[layer - 1]).sum(axis=2)
    other = curves.edge_values(layer - 1, baselines[layer - 1]).sum(axis=2)
    gap = before[:, None] - other[None]
    rise = nodes[layer][:, None] - baselines[layer][None]
    near = np.abs(gap) < 1e-9
    limit = np.broadcast_to((1 - nodes[layer] ** 2)[:, None], gap.shape)
    return np.where(near, limit, rise / np.where(near, 1.0, gap))
