"""Explanations of patterns as tables and as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from skinterp_xrd._report import thirds

if TYPE_CHECKING:
    import pandas as pd

    from skinterp_xrd._explanation import Diffraction

__all__ = ["peak_table", "range_table", "say_classes", "say_patterns"]

MAX_ROWS = 20
MAX_ITEMS = 6
MAX_CLASSES = 30


def range_table(told: Diffraction) -> pd.DataFrame:
    """Attribution in ranges of the axis, a line per case and range."""
    import pandas as pd

    number = told.range_of_points()
    # ranges that hold no point, of a coarse grid, are left out
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    ends = np.append(starts[1:], len(number)) - 1
    value = np.add.reduceat(told.values, starts, axis=1)
    size = np.add.reduceat(np.abs(told.values), starts, axis=1)
    total = size.sum(axis=1, keepdims=True)
    share = np.divide(size, total, out=np.zeros(size.shape), where=total > 0)
    rows, columns = np.indices(value.shape).reshape(2, -1)
    names = np.array(told.feature_names, dtype=object)
    return pd.DataFrame(
        {
            told.unit if told.scope == "local" else "class": rows,
            "target": told.target_names[told.targets[rows]],
            "first": names[starts[columns]],
            "last": names[ends[columns]],
            "two_theta_low": told.two_theta[starts[columns]],
            "two_theta_high": told.two_theta[ends[columns]],
            "d_high": told.d[starts[columns]],
            "d_low": told.d[ends[columns]],
            "share": share.ravel(),
            "value": value.ravel(),
        }
    )


def peak_table(told: Diffraction) -> pd.DataFrame:
    """Share of each Bragg peak, a line per pattern and peak."""
    import pandas as pd

    if told.peak_offsets is None:
        msg = "there are no peaks: pass structure= to explain, with the patterns"
        raise ValueError(msg)
    rows = np.repeat(np.arange(len(told)), np.diff(told.peak_offsets))
    return pd.DataFrame(
        {
            told.unit: rows,
            "target": told.target_names[told.targets[rows]],
            "hkl": list(told.peak_hkl),
            "d": np.array(told.peak_d),
            "two_theta": np.array(told.peak_two_theta),
            "share": np.array(told.peak_share),
            "value": np.array(told.peak_value),
        }
    )


def say_patterns(told: Diffraction) -> str:
    """Sum, strongest peaks or ranges, and what falls outside, for each pattern."""
    shown = range(min(len(told), MAX_ROWS))
    lines = [line for i in shown for line in _say_pattern(told, i)]
    rest = len(told) - MAX_ROWS
    return "\n".join(lines + ([f"... {rest} more"] if rest > 0 else []))


def _say_pattern(told: Diffraction, i: int) -> list[str]:
    base = 0.0 if told.base_values is None else float(told.base_values[i])
    added = float(told.values[i].sum())
    label = told.target_names[told.targets[i]]
    head = (
        f"{told.unit} {i}: {label} by {base + added:.4g} = {base:.4g} (background "
        f"alone) {_signed(added)} (the rest)"
    )
    if told.peak_offsets is None:
        return [head, *_say_ranges(told[i])]
    return [head, *_say_peaks(told, i), *_say_outside(told, i)]


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'} {abs(value):.4g}"


def _say_value(value: Any) -> str:
    return f"{'against' if value < 0 else 'in favour'} by {abs(value):.3g}"


def _say_ranges(told: Diffraction) -> list[str]:
    table = range_table(told)
    table = table[table["share"] > 0].sort_values("share", ascending=False)
    lines = [
        f"  {_say_range(row)}: {row.share:.1%}, {_say_value(row.value)}"
        for row in table.head(MAX_ITEMS).itertuples()
    ]
    return lines + _say_rest(table["share"].to_numpy(), "ranges")


def _say_range(row: Any) -> str:
    if row.first == row.last:
        return f"{row.two_theta_low:.4g} deg (d {row.d_low:.4g})"
    return (
        f"{row.two_theta_low:.4g} to {row.two_theta_high:.4g} deg "
        f"(d {row.d_low:.4g} to {row.d_high:.4g})"
    )


def _say_rest(shares: Any, what: str) -> list[str]:
    rest = shares[MAX_ITEMS:]
    return [f"  {len(rest)} more {what}: {rest.sum():.1%}"] if len(rest) else []


def _say_peaks(told: Diffraction, i: int) -> list[str]:
    table = peak_table(told[i]).sort_values("share", ascending=False, kind="stable")
    lines = [
        f"  {str(row.hkl) or 'peak'} at {row.two_theta:.2f} deg (d {row.d:.3f}): "
        f"{row.share:.1%}, {_say_value(row.value)}"
        for row in table.head(MAX_ITEMS).itertuples()
    ]
    return lines + _say_rest(table["share"].to_numpy(), "peaks")


def _say_outside(told: Diffraction, i: int) -> list[str]:
    from skinterp_xrd._explanation import ALARM

    assert told.outside is not None
    assert told.coverage is not None
    assert told.zero_shift is not None
    outside, covered = told.outside[i], told.coverage[i]
    shift = round(float(told.zero_shift[i]), 2) + 0.0  # no "-0.00"
    lines = [
        f"  outside any peak: {outside:.1%} (windows hold {covered:.0%} of the points; "
        f"shifted by {shift:+.2f} deg)"
    ]
    if outside > ALARM:
        lines.append("  ALARM: much of it rests on what no peak of this crystal is")
    return lines


def say_classes(told: Diffraction) -> str:
    """Per class its rows, accuracy and ranges; accuracy by frequency; confusion."""
    shown = range(min(len(told), MAX_CLASSES))
    lines = [line for i in shown for line in _say_class(told, i)]
    rest = len(told) - MAX_CLASSES
    lines += [f"... {rest} more classes"] if rest > 0 else []
    return "\n".join([*lines, *_say_frequency(told), *_say_confusion(told)])


def _say_class(told: Diffraction, i: int) -> list[str]:
    assert told.counts is not None
    assert told.accuracy is not None
    k = told.targets[i]
    right = told.accuracy[k]
    judged = "none" if np.isnan(right) else f"{right:.1%}"
    table = range_table(told[i]).sort_values("share", ascending=False, kind="stable")
    table = table[table["share"] > 0].head(3)
    ranges = [f"{_say_range(row)}: {row.share:.1%}" for row in table.itertuples()]
    return [
        f"{told.target_names[k]}: {told.counts[k]:.6g} training patterns; "
        f"{judged} of the {told.evaluated_on} patterns told right",
        *(["  looks at " + "; ".join(ranges)] if ranges else []),
    ]


def _say_frequency(told: Diffraction) -> list[str]:
    assert told.counts is not None
    assert told.accuracy is not None
    lines = []
    for name, chosen in thirds(told.counts):
        right, rows = told.accuracy[chosen], told.counts[chosen]
        right = right[~np.isnan(right)]
        if len(right):
            lines.append(
                f"  {name} classes ({chosen.sum()}, {rows.min():.6g} to "
                f"{rows.max():.6g} training patterns): {right.mean():.1%}"
            )
    return ["mean accuracy by how frequent classes are:", *lines] if lines else []


def _say_confusion(told: Diffraction) -> list[str]:
    assert told.confusion is not None
    wrong = told.confusion * (1 - np.eye(len(told.confusion)))
    order = np.argsort(-wrong, axis=None, kind="stable")[:MAX_ITEMS]
    names, tried = told.confusion_names, told.confusion.sum(axis=1)
    parts = [
        f"{names[a]} for {names[b]} ({wrong[a, b]:.6g} of {tried[a]:.6g})"
        for a, b in (divmod(int(at), len(names)) for at in order)
        if wrong[a, b] > 0
    ]
    return ["taken for another: " + "; ".join(parts)] if parts else []
