"""Slices that the rows do not show, and how a model would do on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge

from skinterp.slices import _error_slice_finder_kernels as kernels
from skinterp.slices._search import Found, Rows, unpack
from skinterp.slices._tags import Column


def propose(
    found: Found,
    rows: Rows,
    columns: tuple[Column, ...],
    owner: NDArray[np.int64],
    similarity: Mapping[int, NDArray[np.float64]],
    *,
    min_size: int,
) -> list[tuple[tuple[int, ...], int, float, float]]:
    """Slices with one tag replaced by another of its column that too few rows show.

    Each comes with the number of its rows, how close the two tags are, and the
    performance by a model that adds up the effects of the tags; worst first.
    """
    best: dict[tuple[int, ...], float] = {}
    for s in range(len(found.size)):
        tags = found.of(s)
        for tag in tags:
            for other in np.flatnonzero(owner == owner[tag]):
                if other in tags:
                    continue
                new = tuple(sorted({*tags.tolist(), int(other)} - {int(tag)}))
                near = _nearness(columns, owner, similarity, int(tag), int(other))
                best[new] = max(best.get(new, 0.0), near)
    rare = []
    for slice_, near in best.items():
        inside = kernels.row_set(rows.bits, np.array(slice_, dtype=np.int64))
        n = int(unpack(inside, rows.n_rows).sum())
        if n < min_size and near > 0:
            rare.append((slice_, n, near))
    expected = _additive(rows, owner, [slice_ for slice_, _, _ in rare])
    listed = [
        (t, n, near, float(e)) for (t, n, near), e in zip(rare, expected, strict=True)
    ]
    return sorted(listed, key=lambda x: (round(x[3], 12), -x[2], x[0]))


def _nearness(
    columns: tuple[Column, ...],
    owner: NDArray[np.int64],
    similarity: Mapping[int, NDArray[np.float64]],
    tag: int,
    other: int,
) -> float:
    """Similarity of two tags: as given, by their distance where they have an order."""
    column = columns[owner[tag]]
    first = int(np.flatnonzero(owner == owner[tag])[0])
    a, b = column.kept[tag - first], column.kept[other - first]
    if column.position in similarity:
        return float(similarity[column.position][a, b])
    return 1.0 / (1.0 + abs(a - b)) if column.ordinal else 1.0


def _additive(
    rows: Rows, owner: NDArray[np.int64], slices: list[tuple[int, ...]]
) -> NDArray[np.float64]:
    """Performance of slices by a model whose tags add up, on the scale of logits."""
    if not slices:
        return np.empty(0)
    tags = sparse.csr_matrix(unpack(rows.bits, rows.n_rows).T, dtype=np.float64)
    # a row of the mean tags, but for the columns that the slice speaks about
    asked = np.tile(np.asarray(tags.mean(axis=0)).ravel(), (len(slices), 1))
    for s, chosen in enumerate(slices):
        asked[s, np.isin(owner, owner[list(chosen)])] = 0.0
        asked[s, list(chosen)] = 1.0
    if rows.binary and 0 < rows.value.sum() < rows.n_rows:
        logit = LogisticRegression(max_iter=1000).fit(tags, rows.value)
        return np.asarray(logit.predict_proba(asked)[:, 1])
    value, scale, centre = rows.centred()
    model = Ridge(solver="lsqr").fit(tags, value, rows.weight)
    return np.asarray(model.predict(asked)) * scale + centre


def read_similarity(
    given: Mapping[Any, Any] | None, columns: tuple[Column, ...], names: tuple[str, ...]
) -> dict[int, NDArray[np.float64]]:
    """Similarities by the place of the column; each square, in the order of the tags.

    Raises
    ------
    ValueError
        If a column is unknown, or its matrix is not one number per pair of tags.
    """
    out: dict[int, NDArray[np.float64]] = {}
    by_place = {column.position: column for column in columns}
    for name, matrix in (given or {}).items():
        if name not in names:
            msg = f"tag_similarity names {name!r}, which is no column; it has {names}"
            raise ValueError(msg)
        place = names.index(name)
        column = by_place.get(place)
        if column is not None:
            out[place] = _read_matrix(matrix, name, column)
    return out


def _read_matrix(matrix: Any, name: Any, column: Column) -> NDArray[np.float64]:
    n = len(column.values) + (column.form == "bins")
    msg = f"tag_similarity[{name!r}] needs a number from 0 to 1 per pair of {n} tags"
    try:
        array = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{msg}: {error}") from error
    if array.shape != (n, n):
        msg = f"{msg}, got shape {array.shape}"
        raise ValueError(msg)
    outside = array[~((array >= 0) & (array <= 1))]
    if len(outside):
        msg = f"{msg}, got {outside[0]}"
        raise ValueError(msg)
    return array
