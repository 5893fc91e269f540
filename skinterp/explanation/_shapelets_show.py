"""Shapelets as text and as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from skinterp.explanation._shapelets import ShapeletSet

MAX_SHAPELETS = 20
MAX_ROWS = 20
MAX_NEAR = 4
MAX_GROUPS = 6


def frame_of(told: ShapeletSet) -> pd.DataFrame:
    """A line per shapelet, or per row and shapelet."""
    import pandas as pd

    number = np.arange(told.n_shapelets)
    channels = np.array(told.feature_names, dtype=object)[told.channel]
    table: dict[str, Any] = {"shapelet": number}
    if not told.numeric:
        table["class"] = told.target_names[told.target]
    table["channel"] = channels
    if told.distance is None or told.location is None:
        table |= {
            "case": told.case,
            "start": told.start,
            "length": told.lengths,
            "quality": told.quality,
            "threshold": told.threshold,
        }
        return pd.DataFrame({name: np.array(values) for name, values in table.items()})
    n = len(told)
    long = {name: np.tile(values, n) for name, values in table.items()}
    return pd.DataFrame(
        {
            "row": np.repeat(np.arange(n), told.n_shapelets),
            **long,
            "distance": told.distance.ravel(),
            "location": told.location.ravel(),
            "near": (told.distance <= told.threshold).ravel(),
        }
    )


def say_shapelets(told: ShapeletSet) -> str:
    """Two lines per shapelet, or some per row."""
    return _say_all(told) if told.distance is None else _say_rows(told)


def count(n: int, thing: str) -> str:
    """Number with its noun."""
    return f"{n} {thing}{'s' * (n != 1)}"


def label(told: ShapeletSet, k: int) -> str:
    """Class of a shapelet; nothing where the target is a number."""
    return "" if told.numeric else f"class {told.target_names[told.target[k]]}"


def _say_all(told: ShapeletSet) -> str:
    classes = np.unique(told.target)
    of = f" of {label(told, 0)}" if len(classes) == 1 and not told.numeric else ""
    head = count(told.n_shapelets, "shapelet") + of
    lines = [f"{head}, best first by {told.quality_name}"]
    for k in range(min(told.n_shapelets, MAX_SHAPELETS)):
        lines += _say_shapelet(told, k)
    if told.n_shapelets > MAX_SHAPELETS:
        lines.append(f"  ... {told.n_shapelets - MAX_SHAPELETS} more")
    return "\n".join(lines)


def _say_shapelet(told: ShapeletSet, k: int) -> list[str]:
    parts = [label(told, k), told.feature_names[told.channel[k]]]
    where = (
        f"{told.lengths[k]} points from time {told.start[k]} of training series "
        f"{told.case[k]}"
    )
    first = ", ".join([*filter(None, parts), where])
    rated = f"{told.quality_name} {told.quality[k]:.3g}"
    near = f"near up to distance {told.threshold[k]:.3g}"
    return [f"  s{k}: {first}", f"      {rated}; {near}; {_say_groups(told, k)}"]


def _say_groups(told: ShapeletSet, k: int) -> str:
    medians = told.spread[k, :, 2]
    if told.numeric:
        near, far = medians
        rest = "no series is far" if np.isnan(far) else f"{far:.3g} where far"
        return f"median {told.target_names[0]} {near:.3g} where near, {rest}"
    order = np.argsort(medians, kind="stable")
    shown = [f"{told.target_names[c]} {medians[c]:.3g}" for c in order[:MAX_GROUPS]]
    if len(order) > MAX_GROUPS:
        shown.append(f"{len(order) - MAX_GROUPS} more")
    return "median " + ", ".join(shown)


def _say_rows(told: ShapeletSet) -> str:
    lines = []
    for i in range(min(len(told), MAX_ROWS)):
        lines += _say_row(told, i)
    if len(told) > MAX_ROWS:
        lines.append(f"... {len(told) - MAX_ROWS} more rows")
    return "\n".join(lines) or "no rows"


def _say_row(told: ShapeletSet, i: int) -> list[str]:
    """Shapelets that a row has, nearest first, and one that it nearly has."""
    distance = np.asarray(told.distance)[i]
    near = distance <= told.threshold
    order = told.order_of(i)
    head = f"row {i} has {near.sum()} of {count(told.n_shapelets, 'shapelet')}"
    if not told.numeric and near.any():
        numbers = np.bincount(told.target[near], minlength=len(told.target_names))
        parts = [
            f"{numbers[c]} of {told.target_names[c]}"
            for c in np.argsort(-numbers, kind="stable")
            if numbers[c]
        ]
        head += f" ({', '.join(parts[:MAX_GROUPS])})"
    lines = [head]
    for k in order[: max(1, min(MAX_NEAR, int(near.sum())))]:
        lines.append(f"  {_say_match(told, i, int(k))}")
    if near.sum() > MAX_NEAR:
        lines.append(f"  ... {near.sum() - MAX_NEAR} more")
    return lines


def _say_match(told: ShapeletSet, i: int, k: int) -> str:
    distance = float(np.asarray(told.distance)[i, k])
    place, n = int(np.asarray(told.location)[i, k]), int(told.lengths[k])
    verb = "has" if distance <= told.threshold[k] else "comes nearest to"
    where = f"at times {place} to {place + n - 1}"
    if place < 0 or n > np.asarray(told.row_lengths)[i]:
        where = f"as a whole, {-place} points after its start"
    parts = [p for p in (label(told, k), told.feature_names[told.channel[k]]) if p]
    return (
        f"{verb} s{k} ({', '.join(parts)}) {where}: distance {distance:.3g}, near up "
        f"to {told.threshold[k]:.3g}"
    )
