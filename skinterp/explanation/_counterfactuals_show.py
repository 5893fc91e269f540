"""Counterfactuals as text, table and picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._drawing import make_axes, shorten

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from skinterp.explanation._counterfactuals import Counterfactuals

MAX_ROWS, MAX_COLUMNS = 20, 15
OWN, FOLLOWS = "C0", "C1"
NOTHING = {
    "already": "is {target} already",
    "unreachable": "stays {source}: no allowed change makes it {target}",
    "not found": "stays {source}: no change was found that makes it {target}",
}


# -- words ---------------------------------------------------------------------------


def say(explanation: Counterfactuals) -> str:
    """What to change in each row; of a path, for each weight."""
    lines: list[str] = []
    n = len(explanation)
    path = np.ndim(explanation.lam) > 0
    weights = np.atleast_1d(explanation.lam)
    for i in range(min(n, MAX_ROWS)):
        for k, lam in enumerate(weights):
            one = explanation.at(k) if path else explanation
            head = f"row {i}" + (f", lam {lam:g}" if path else "")
            lines += _say_row(one, i, head)
    if n > MAX_ROWS:
        lines.append(f"... {n - MAX_ROWS} more rows")
    if len(weights) * n != 1:
        lines.append(_say_all(explanation))
    return "\n".join(lines)


def _say_all(explanation: Counterfactuals) -> str:
    valid = explanation.valid
    known = int(valid.sum())
    text = f"{known} of {valid.size} answers"
    changed = explanation.changed[valid].any(axis=0) if known else np.zeros(0, bool)
    names = [explanation.feature_names[j] for j in np.flatnonzero(changed)]
    shown = ", ".join(names[:MAX_COLUMNS])
    more = f", {len(names) - MAX_COLUMNS} more" if len(names) > MAX_COLUMNS else ""
    columns = ", ".join(explanation.feature_names[:MAX_COLUMNS])
    return text + (f"; they change {shown}{more}" if names else f" in {columns}")


def _say_row(explanation: Counterfactuals, i: int, head: str) -> list[str]:
    names = explanation.target_names
    source = names[explanation.source[i]]
    goal = int(explanation.target[i])
    target = names[goal] if goal >= 0 else "another class"
    status = str(explanation.status[i])
    if status != "found":
        text = NOTHING[status].format(source=source, target=target)
        return [f"{head}: {text}"]
    lines = [f"{head}: {source} becomes {target} by"]
    lines += [f"  - {_say_change(explanation, i, j)}" for j in _moves(explanation, i)]
    sure = "; no row is nearer" if explanation.certified[i] else ""
    distance = f"{explanation.distance_x[i]:.4g}"
    noise = f"{explanation.distance_u[i]:.4g}"
    return [*lines, f"  distance {distance}, of the noise {noise}{sure}"]


def _moves(explanation: Counterfactuals, i: int) -> NDArray[np.intp]:
    """Columns that change, the largest step first."""
    size = np.abs(explanation.steps[i])
    order: NDArray[np.intp] = np.argsort(-size, kind="stable")
    moves: NDArray[np.intp] = order[size[order] > 0]
    return moves


def _say_change(explanation: Counterfactuals, i: int, j: int) -> str:
    before, after = explanation.rows[i, j], explanation.counterfactuals[i, j]
    text = f"{explanation.feature_names[j]}: {_show(before)} -> {_show(after)}"
    if not (_is_number(before) and _is_number(after)):
        return text
    change = float(after) - float(before)
    follows = change * _share_that_follows(explanation, i, j)
    if abs(follows) < 5e-4 * abs(change):
        return f"{text} ({change:+.3g})"
    causes = _moved_causes(explanation, i, j)
    own = f"{change - follows:+.3g} by itself"
    return f"{text} ({change:+.3g}: {own}, {follows:+.3g} following {causes})"


def _share_that_follows(explanation: Counterfactuals, i: int, j: int) -> float:
    step, own = explanation.steps[i, j], explanation.own_steps[i, j]
    return float((step - own) / step) if step else 0.0


def _moved_causes(explanation: Counterfactuals, i: int, j: int) -> str:
    causes = explanation.edges[explanation.edges[:, 1] == j, 0]
    moved = [c for c in causes if explanation.steps[i, c]]
    return " and ".join(explanation.feature_names[c] for c in moved) or "causes"


def _is_number(cell: Any) -> bool:
    return isinstance(cell, int | float | np.number) and not isinstance(cell, bool)


def _show(cell: Any) -> str:
    return f"{float(cell):.5g}" if _is_number(cell) else str(cell)


# -- tables --------------------------------------------------------------------------


def tabulate(explanation: Counterfactuals) -> pd.DataFrame:
    """A line per change."""
    import pandas as pd

    path = np.ndim(explanation.lam) > 0
    lines: list[dict[str, Any]] = []
    for i in range(len(explanation)):
        for k, lam in enumerate(np.atleast_1d(explanation.lam)):
            one = explanation[i]
            lines += _lines(one.at(k) if path else one, i, float(lam))
    return pd.DataFrame(lines, columns=list(_lines_columns()))


def _lines_columns() -> tuple[str, ...]:
    head = ("row", "lam", "source", "target", "status", "certified")
    cost = ("distance_x", "distance_u")
    return (*head, *cost, "feature", "from", "to", "step", "own_step")


def _lines(one: Counterfactuals, i: int, lam: float) -> list[dict[str, Any]]:
    names = one.target_names
    goal = int(one.target[0])
    head = {
        "row": i,
        "lam": lam,
        "source": names[one.source[0]],
        "target": names[goal] if goal >= 0 else None,
        "status": str(one.status[0]),
        "certified": bool(one.certified[0]),
        "distance_x": float(one.distance_x[0]),
        "distance_u": float(one.distance_u[0]),
    }
    columns = _moves(one, 0)
    if not len(columns):
        return [head | {"feature": "", "step": 0.0, "own_step": 0.0}]
    return [
        head
        | {
            "feature": one.feature_names[j],
            "from": one.rows[0, j],
            "to": one.counterfactuals[0, j],
            "step": float(one.steps[0, j]),
            "own_step": float(one.own_steps[0, j]),
        }
        for j in columns
    ]


def summarise(explanation: Counterfactuals) -> pd.DataFrame:
    """A line per column, and per weight of a path."""
    import pandas as pd

    path = np.ndim(explanation.lam) > 0
    frames = []
    for k, lam in enumerate(np.atleast_1d(explanation.lam)):
        one = explanation.at(k) if path else explanation
        valid = one.status == "found"
        n = max(int(valid.sum()), 1)
        table: dict[str, Any] = {"lam": float(lam)} if path else {}
        table |= {
            "feature": list(one.feature_names),
            "share_changed": one.changed[valid].sum(axis=0) / n,
            "mean_step": np.abs(one.steps[valid]).sum(axis=0) / n,
            "mean_own_step": np.abs(one.own_steps[valid]).sum(axis=0) / n,
            "valid": float(one.valid.mean()) if len(one) else 1.0,
            "distance_x": _median(one.distance_x[valid]),
            "distance_u": _median(one.distance_u[valid]),
        }
        frames.append(pd.DataFrame(table))
    return pd.concat(frames, ignore_index=True)


def _median(values: NDArray[np.float64]) -> float:
    return float(np.median(values)) if len(values) else float("nan")


# -- pictures ------------------------------------------------------------------------


def draw(explanation: Counterfactuals, ax: Axes | None) -> Axes:
    """Bars for one row, lines for its path, points for several rows."""
    path = np.ndim(explanation.lam) > 0
    if path and len(explanation) == 1 and np.size(explanation.lam) > 1:
        return _draw_path(explanation, ax)
    one = explanation.at(0) if path else explanation
    return _draw_row(one, ax) if len(one) == 1 else _draw_rows(one, ax)


def _columns_to_draw(sizes: NDArray[np.float64]) -> tuple[NDArray[np.intp], int]:
    """Columns that change, the largest first, and how many are left out."""
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > 0]
    return order[:MAX_COLUMNS], max(len(order) - MAX_COLUMNS, 0)


def _draw_row(explanation: Counterfactuals, ax: Axes | None) -> Axes:
    columns, left_out = _columns_to_draw(np.abs(explanation.steps).reshape(-1))
    ax = make_axes(ax, 7.0, 1.6 + 0.5 * max(len(columns), 1))
    place = np.arange(len(columns))[::-1]
    step, own = explanation.steps[0, columns], explanation.own_steps[0, columns]
    follows = step - own
    ax.barh(place, own, 0.55, color=OWN, label="its own change")
    if (np.abs(follows) > 5e-4 * np.abs(step)).any():
        # beside the own part where both go one way, else from zero the other way
        start = np.where(np.sign(own) == np.sign(follows), own, 0.0)
        ax.barh(place, follows, 0.55, left=start, color=FOLLOWS)
        ax.containers[-1].set_label("follows from its causes")
        ax.plot(step, place, "k|", ms=16, label="in all")
    for y, j in zip(place, columns, strict=True):
        ax.annotate(
            shorten(_from_to(explanation, int(j)), 50),
            (1.01, y),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize="small",
        )
    _name_columns(explanation, columns, place, ax)
    ax.set_title(shorten(_title(explanation), 80), loc="left", fontsize="medium")
    _finish(ax, left_out, bool(len(columns)))
    return ax


def _from_to(explanation: Counterfactuals, j: int) -> str:
    before, after = explanation.rows[0, j], explanation.counterfactuals[0, j]
    text = f"{_show(before)} → {_show(after)}"
    if abs(_share_that_follows(explanation, 0, j)) < 5e-4:
        return text
    return f"{text}, following {_moved_causes(explanation, 0, j)}"


def _title(explanation: Counterfactuals) -> str:
    head = _say_row(explanation, 0, "row")[0].removeprefix("row: ")
    return head.removesuffix(" by")


def _name_columns(
    explanation: Counterfactuals,
    columns: NDArray[np.intp],
    place: NDArray[np.intp],
    ax: Axes,
) -> None:
    names = [shorten(explanation.feature_names[j], 30) for j in columns]
    ax.set_yticks(place, names)
    ax.set_ylim(-0.6, max(len(columns) - 0.4, 0.6))
    if len(columns):
        ax.axvline(0.0, color="0.7", lw=1, zorder=0)
    else:
        ax.plot([0.0], [0.0], "o", color="0.7")
        ax.annotate("nothing changes", (0.0, 0.0), (8, 4), textcoords="offset points")


def _finish(ax: Axes, left_out: int, legend: bool) -> None:
    more = f" ({left_out} more columns change)" if left_out else ""
    ax.set_xlabel(f"change, in units of each column{more}")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    handles, labels = ax.get_legend_handles_labels()
    if legend and len(labels) > 1:
        ax.legend(handles, labels, frameon=False, fontsize="small")


def _draw_rows(explanation: Counterfactuals, ax: Axes | None) -> Axes:
    """A point per row and column, and the share of rows that change the column."""
    found = explanation.status == "found"
    steps = explanation.steps[found]
    n = len(steps)
    columns, left_out = _columns_to_draw((steps != 0).sum(axis=0).astype(float))
    ax = make_axes(ax, 7.0, 1.6 + 0.4 * max(len(columns), 1))
    place = np.arange(len(columns))[::-1]
    spread = 0.5 * (np.arange(n) / max(n - 1, 1) - 0.5)
    for y, j in zip(place, columns, strict=True):
        moved = steps[:, j] != 0
        ax.plot(steps[moved, j], y + spread[moved], "o", ms=3.5, color=OWN, alpha=0.5)
        ax.annotate(
            f"{moved.mean():.0%} of rows",
            (1.01, y),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize="small",
        )
    _name_columns(explanation, columns, place, ax)
    known = int(explanation.valid.sum())
    title = f"{known} of {len(explanation)} rows have an answer"
    ax.set_title(title, loc="left", fontsize="medium")
    _finish(ax, left_out, False)
    return ax


def _draw_path(explanation: Counterfactuals, ax: Axes | None) -> Axes:
    """Steps of one row over the weight of the noise."""
    ax = make_axes(ax, 7.0, 4.0)
    steps = explanation.steps[:, 0]
    columns, left_out = _columns_to_draw(np.abs(steps).max(axis=0))
    place = np.arange(len(steps))
    for j in columns:
        name = shorten(explanation.feature_names[j], 30)
        ax.plot(place, steps[:, j], "o-", ms=4, label=name)
    if not len(columns):
        ax.plot(place, np.zeros(len(place)), "o-", color="0.7", label="no change")
    ax.axhline(0.0, color="0.7", lw=1, zorder=0)
    labels = ["∞" if np.isinf(w) else f"{w:g}" for w in np.ravel(explanation.lam)]
    ax.set_xticks(place, labels)
    more = f" ({left_out} more columns change)" if left_out else ""
    ax.set_xlabel(f"weight of the noise, lam{more}")
    ax.set_ylabel("change, in units of each column")
    title = _title(explanation.at(0))
    ax.set_title(shorten(title, 80), loc="left", fontsize="medium")
    ax.legend(frameon=False, fontsize="small")
    return ax
