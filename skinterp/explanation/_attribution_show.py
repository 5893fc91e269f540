"""Attributions as text and as a picture."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._drawing import make_axes, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skinterp.explanation._attribution import Attribution

MAX_FEATURES = 15
MAX_ROWS = 50
POSITIVE, NEGATIVE = "C3", "C0"


def say_global(attribution: Attribution) -> str:
    """Features by importance."""
    sizes = attribution.importances()
    order = np.argsort(-sizes, kind="stable")
    lines = [f"{attribution.feature_names[j]}: {sizes[j]:.4g}" for j in order]
    rest = len(lines) - MAX_ROWS
    return "\n".join(lines[:MAX_ROWS] + ([f"... {rest} more"] if rest > 0 else []))


def say_rows(attribution: Attribution) -> str:
    """Sum of each row and output."""
    lines = [
        line
        for i in range(min(len(attribution), MAX_ROWS))
        for line in _say_row(attribution, i)
    ]
    rest = len(attribution) - MAX_ROWS
    return "\n".join(lines + ([f"... {rest} more"] if rest > 0 else []))


def _say_row(attribution: Attribution, i: int) -> list[str]:
    assert attribution.base_values is not None
    values, base = attribution.values[i], attribution.base_values[i]
    head = f"{attribution.unit} {i}"
    if values.ndim == 1:
        return [f"{head}: {_say_sum(attribution, values, float(base))}"]
    return [
        f"{head}, {label}: {_say_sum(attribution, values[:, c], float(base[c]))}"
        for c, label in enumerate(attribution.target_names)
    ]


def _say_sum(attribution: Attribution, values: NDArray[np.float64], base: float) -> str:
    order = np.argsort(-np.abs(values), kind="stable")
    order = order[values[order] != 0]
    parts = [
        f" {'-' if values[j] < 0 else '+'} {abs(values[j]):.4g} "
        f"({attribution.feature_names[j]})"
        for j in order[:MAX_FEATURES]
    ]
    rest = order[MAX_FEATURES:]
    if len(rest):
        total = values[rest].sum()
        sign = "-" if total < 0 else "+"
        parts.append(f" {sign} {abs(total):.4g} ({len(rest)} more)")
    return f"{base + values.sum():.4g} = {base:.4g} (base){''.join(parts)}"


def draw_bars(attribution: Attribution, ax: Axes | None) -> Axes:
    """Bars per feature: signed for one row, mean sizes otherwise."""
    signed = attribution.scope == "local" and len(attribution) == 1
    values = _bar_values(attribution, signed)
    order = np.argsort(-np.abs(values).sum(axis=1), kind="stable")
    shown, rest = order[:MAX_FEATURES], order[MAX_FEATURES:]
    height = 0.8 / values.shape[1]
    ax = make_axes(ax, 7.0, 1.2 + 0.32 * max(len(shown), 3))
    for c in range(values.shape[1]):
        color = [f"C{c}"] * len(shown)
        if values.shape[1] == 1 and signed:
            color = [NEGATIVE if v < 0 else POSITIVE for v in values[shown, 0]]
        y = np.arange(len(shown)) + (c - (values.shape[1] - 1) / 2) * height
        ax.barh(y, values[shown, c], height=height, color=color)
    ax.set_yticks(range(len(shown)))
    ax.set_yticklabels([_bar_label(attribution, int(j), signed) for j in shown])
    ax.set_ylim(max(len(shown), 1) - 0.4, -0.6)
    ax.axvline(0, color="#8888", lw=0.8)
    ax.set_xlabel(_bar_title(attribution, signed, len(rest)))
    if values.shape[1] > 1:
        # matplotlib leaves out empty labels and those that begin with "_"
        legend = ax.legend(
            ax.containers[-values.shape[1] :],
            [f"output {c}" for c in range(values.shape[1])],
            frameon=False,
        )
        for c, text in enumerate(legend.get_texts()):
            text.set_text(_output_label(attribution, c))
    return ax


def _bar_values(attribution: Attribution, signed: bool) -> NDArray[np.float64]:
    """Length of the bars, of shape (n_features, n_outputs)."""
    n = len(attribution.feature_names)
    values = attribution.values
    if attribution.scope == "local":
        empty = np.zeros(values.shape[1:])
        values = (
            values[0]
            if signed
            else np.abs(values).mean(axis=0)
            if len(values)
            else empty
        )
    return values.reshape(n, math.prod(values.shape[1:]))


def _bar_label(attribution: Attribution, j: int, signed: bool) -> str:
    name = shorten(attribution.feature_names[j], 32)
    if not signed or attribution.data is None or attribution.data[0, j] is None:
        return name
    cell = attribution.data[0, j]
    text = f"{cell:.4g}" if isinstance(cell, float | np.floating) else str(cell)
    return f"{name} = {shorten(text, 16)}"


def _output_label(attribution: Attribution, c: int) -> str:
    return shorten(str(attribution.target_names[c]), 24)


def _bar_title(attribution: Attribution, signed: bool, rest: int) -> str:
    more = f" ({rest} more features)" if rest else ""
    if attribution.scope == "global":
        return f"importance{more}"
    what = "part of" if signed else "mean absolute part of"
    binary = len(attribution.target_names) == 2 and attribution.values.ndim == 2
    towards = f", towards {_output_label(attribution, 1)}" if binary else ""
    return f"{what} {attribution.output}{towards}{more}"
