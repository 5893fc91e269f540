"""What is amiss with single tags, and which conjunctions are rare."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skinterp.base import feature_names_of
from skinterp.slices import _error_slice_finder_kernels as kernels
from skinterp.slices._report import say_tags
from skinterp.slices._search import Rows, pack, search
from skinterp.slices._tags import Column, count_tags, learn_column, merge_labels

# Of a column with k tags, one with less than this part of 1 / k of the rows is rare.
RARE = 0.5
SHIFT = 0.3
SPURIOUS = 0.8
LOW = 0.03


def diagnose(
    finder: Any, table: Any, rows: Rows, predicted: Any, train: Any
) -> pd.DataFrame:
    """One line per tag: shares, performance, and what is amiss."""
    names = feature_names_of(finder)
    columns = _all_columns(finder, table if train is None else train, table)
    lines = []
    for column in columns:
        counts = count_tags(column, table, names)
        seen = counts if train is None else count_tags(column, train, names)
        if max(counts.max(initial=0), seen.max(initial=0)) < finder.min_rows_:
            continue  # such as identifiers
        kept = np.flatnonzero(np.maximum(counts, seen))
        column = replace(column, kept=tuple(kept.tolist()))
        frame = pd.DataFrame({"column": names[column.position]}, index=kept)
        frame["tag"] = [say_tags((column,), [t], names) for t in range(len(kept))]
        frame["rows"] = counts[kept]
        frame["share"] = counts[kept] / len(table)
        if train is not None:
            frame["train_share"] = seen[kept] / len(train)
        base = frame["share"] if train is None else frame["train_share"]
        frame["rare"] = base < RARE / len(kept)
        if train is not None:
            frame["shift"] = (frame["share"] - frame["train_share"]) > SHIFT
        bits = column.masks(table, names)
        _add_performance(frame, finder, bits, rows)
        _add_predictions(frame, bits, predicted, len(table))
        lines.append(frame)
    if not lines:
        return pd.DataFrame({"column": [], "tag": [], "rows": [], "share": []})
    report = pd.concat(lines, ignore_index=True)
    flags = [n for n in ("rare", "shift", "spurious", "low") if n in report]
    amiss = report[flags].sum(axis=1)
    order = np.lexsort((np.arange(len(report)), -report["gap"].fillna(0), -amiss))
    return report.iloc[order].reset_index(drop=True)


def _all_columns(finder: Any, first: Any, second: Any) -> list[Column]:
    """Columns with the tags of fit and of both tables, however few rows have them."""
    names = feature_names_of(finder)
    fitted = {column.position: column for column in finder.columns_}
    columns = []
    for j in range(len(names)):
        base = fitted.get(j)
        if base is None:
            base = learn_column(first, names, j, finder.n_bins, j in finder.present_)
        columns.append(merge_labels(base, (first, second), names))
    return columns


def _add_performance(
    frame: pd.DataFrame, finder: Any, bits: NDArray[np.uint64], rows: Rows
) -> None:
    n = len(bits)
    ends, tags = np.arange(n + 1), np.arange(n)
    value, scale, centre = rows.centred()
    sums = kernels.slice_sums(bits, ends, tags, rows.weight, value)
    with np.errstate(invalid="ignore"):
        mean = sums[:, 3] / sums[:, 1] * scale + centre
    frame["performance"] = finder._units(mean)
    frame["gap"] = rows.overall - mean
    unit = abs(rows.overall) if finder._loss else 1.0
    frame["low"] = frame["gap"] > LOW * unit


def _add_predictions(
    frame: pd.DataFrame, bits: NDArray[np.uint64], predicted: Any, n_rows: int
) -> None:
    """Which class is predicted most inside of each tag, and whether nearly always."""
    if predicted is None:
        return
    classes, codes = np.unique(predicted, return_inverse=True)
    masks = pack(codes.reshape(-1) == np.arange(len(classes))[:, None])
    counts = np.array([[kernels.count_one(b, m) for m in masks] for b in bits])
    total = counts.sum(axis=1)
    frame["top_class"] = classes[counts.argmax(axis=1)]
    with np.errstate(invalid="ignore"):
        frame["top_share"] = counts.max(axis=1) / total
    # a class that is predicted as often everywhere says nothing of the tag
    frame["spurious"] = (frame["top_share"] > SPURIOUS) & (total < n_rows)


def rare_slices(finder: Any, table: Any, k: int) -> pd.DataFrame:
    """Conjunctions with fewest rows among those with enough of them."""
    bits, owner = finder._bits(table), finder._owner()
    several = np.array([finder.columns_[c].several for c in owner], dtype=bool)
    n = len(table)
    rows = Rows(bits, np.ones(n), np.ones(n))
    found = search(
        rows,
        owner,
        several,
        max_order=finder.max_order,
        min_size=finder.min_rows_,
        gap=-np.inf,
        bound=False,
        n_jobs=finder.n_jobs,
        verbose=finder.verbose,
    )
    order = np.argsort(found.size, kind="stable")[:k]
    share = np.array([kernels.count_one(b, b) for b in bits]) / n
    said = [found.of(s) for s in order]
    frame = pd.DataFrame({"slice": [finder._say(tags) for tags in said]})
    frame["rows"] = found.size[order]
    frame["share"] = found.size[order] / n
    frame["expected_share"] = [float(share[tags].prod()) for tags in said]
    return frame
