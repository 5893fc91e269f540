"""Rules as text and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from skinterp.explanation._drawing import make_axes, shorten
from skinterp.explanation._literals import Literal, say_short

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from skinterp.explanation._rules import RuleSet

MAX_RULES = 24
MAX_COLUMNS = 10
MAX_ROWS = 50
NOT_DETERMINED = "not determined"
TRACK = "#9993"


def say_rules(rules: RuleSet) -> str:
    """Rules of a whole model, class by class."""
    n_used = len(rules.used_features)
    lines = [
        f"{_count(rules.n_rules, 'rule')} with "
        f"{_count(len(rules.feature), 'condition')} on {n_used} of "
        f"{_count(len(rules.feature_names), 'column')}"
    ]
    conditions = rules.conditions()
    for target, label in enumerate(rules.target_names):
        members = np.flatnonzero(rules.target == target)
        if len(members):
            lines.append(f"{label} if")
        lines += [
            f"  - {conditions[r]}{_say_support(rules.support[r])}" for r in members
        ]
    return "\n".join(lines)


def say_rows(rules: RuleSet) -> str:
    """Reason of each row, and what an undetermined one lacks."""
    conditions = rules.conditions()
    lines = [_say_row(rules, i, conditions) for i in range(min(len(rules), MAX_ROWS))]
    if len(rules) > MAX_ROWS:
        lines.append(f"... {len(rules) - MAX_ROWS} more")
    return "\n".join(lines)


def _say_row(rules: RuleSet, i: int, conditions: tuple[str, ...]) -> str:
    assert rules.prediction is not None
    assert rules.row_offsets is not None
    start, stop = rules.row_offsets[i], rules.row_offsets[i + 1]
    if rules.prediction[i] < 0:
        return f"{rules.unit} {i}: {NOT_DETERMINED}{_say_lacking(rules, i)}"
    label = rules.target_names[rules.prediction[i]]
    if start == stop:
        return f"{rules.unit} {i}: {label}"
    more = stop - start - 1
    also = f" (and by {_count(more, 'further rule')})" if more else ""
    return f"{rules.unit} {i}: {label}, because {conditions[start]}{also}"


def _say_lacking(rules: RuleSet, i: int) -> str:
    if rules.relevant_missing is None:
        return ""
    names = [rules.feature_names[j] for j in np.flatnonzero(rules.relevant_missing[i])]
    return f": it hangs on the missing {', '.join(names)}" if names else ""


def _say_support(support: float) -> str:
    return "" if np.isnan(support) else f"  (support {support:.6g})"


def _count(n: int, thing: str) -> str:
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"


def rule_table(rules: RuleSet) -> pd.DataFrame:
    """Line per rule, and per row that no rule decides."""
    import pandas as pd

    table = pd.DataFrame(
        {
            "target": rules.target_names[rules.target],
            "condition": list(rules.conditions()),
            "n_literals": np.diff(rules.offsets),
            "support": rules.support,
        }
    )
    if rules.prediction is None:
        return table
    table.insert(0, rules.unit, rules.row_of_rule())
    undetermined = np.flatnonzero(rules.prediction < 0)
    if not len(undetermined):
        return table
    lines = pd.DataFrame({rules.unit: undetermined})
    lines = lines.assign(target=None, condition=NOT_DETERMINED, n_literals=0)
    lines["support"] = np.nan
    table = table.astype({"target": object})
    both = pd.concat([table, lines.astype({"target": object})], ignore_index=True)
    return both.sort_values(rules.unit, kind="stable", ignore_index=True)


# -- picture ---------------------------------------------------------------------------


def draw_rules(rules: RuleSet, ax: Axes | None) -> Axes:
    """Grid of rules by columns; the coloured part of a track is what a rule allows."""
    shown = _rules_to_draw(rules)
    columns = _columns_to_draw(rules, shown)
    ax = make_axes(ax, 2.4 + 1.9 * max(len(columns), 1), 1.3 + 0.42 * len(shown))
    for y, rule in enumerate(shown):
        for literal in rules.literals(rule):
            if literal.feature in columns:
                _draw_literal(
                    ax, rules, rule, literal, columns.index(literal.feature), y
                )
    _label_axes(ax, rules, shown, columns)
    return ax


def _rules_to_draw(rules: RuleSet) -> list[int]:
    """Rules drawn: the largest of each class, or the reason of each row."""
    if rules.row_offsets is None or len(rules) == 1:
        order = np.lexsort((-np.nan_to_num(rules.support), rules.target))
        return [int(r) for r in order[:MAX_RULES]]
    starts, stops = rules.row_offsets[:-1], rules.row_offsets[1:]
    return [int(r) for r in starts[starts < stops][:MAX_RULES]]


def _columns_to_draw(rules: RuleSet, shown: list[int]) -> list[int]:
    """Columns drawn: those that most of the rules speak about."""
    used = [x.feature for rule in shown for x in rules.literals(rule)]
    features, counts = np.unique(np.array(used, dtype=int), return_counts=True)
    order = np.argsort(-counts, kind="stable")[:MAX_COLUMNS]
    return [int(features[i]) for i in order]


def _draw_literal(
    ax: Axes, rules: RuleSet, rule: int, literal: Literal, x: int, y: int
) -> None:
    color = f"C{rules.target[rule] % 10}"
    left, right = x + 0.06, x + 0.94
    ax.plot([left, right], [y, y], color=TRACK, lw=9, solid_capstyle="butt", zorder=1)
    if literal.categories is None:
        low, high = _scale(rules, literal)
        start, stop = left + low * (right - left), left + high * (right - left)
    else:
        start, stop = left, right
    ax.plot([start, stop], [y, y], color=color, lw=9, solid_capstyle="butt", zorder=2)
    words = say_short(literal, rules.feature_dtypes[literal.feature])
    if words.startswith("(") and words.endswith(" or missing)"):
        words = words[1:-1]  # stands alone here, and room is short
    ax.text(x + 0.5, y + 0.42, shorten(words, 24), ha="center", va="center", fontsize=7)


def _scale(rules: RuleSet, literal: Literal) -> tuple[float, float]:
    """Where an interval lies on a track from 0 to 1 that holds all thresholds."""
    mine = rules.feature == literal.feature
    ends = np.concatenate([rules.lower[mine], rules.upper[mine]])
    ends = np.unique(ends[np.isfinite(ends)])
    # by rank: thresholds of very different size stay apart, as in a tree
    low = 0.0 if np.isinf(literal.lower) else _rank(ends, literal.lower)
    high = 1.0 if np.isinf(literal.upper) else _rank(ends, literal.upper)
    return low, max(high, low)


def _rank(ends: np.ndarray, value: float) -> float:
    return float((np.searchsorted(ends, value) + 1) / (len(ends) + 1))


def _label_axes(ax: Axes, rules: RuleSet, shown: list[int], columns: list[int]) -> None:
    ax.set_xlim(0, max(len(columns), 1))
    ax.set_ylim(max(len(shown), 1) - 0.3, -0.7)
    ax.set_xticks(np.arange(len(columns)) + 0.5)
    ax.set_xticklabels(
        [shorten(rules.feature_names[j], 22) for j in columns], fontsize=9
    )
    ax.xaxis.tick_top()
    ax.set_yticks(range(len(shown)))
    ax.set_yticklabels([_rule_label(rules, rule) for rule in shown], fontsize=9)
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    left_out = _left_out(rules, shown, columns)
    if left_out:
        ax.set_xlabel(left_out, fontsize=8)


def _rule_label(rules: RuleSet, rule: int) -> str:
    label = shorten(str(rules.target_names[rules.target[rule]]), 18)
    if rules.row_offsets is not None and len(rules) > 1:
        return f"{rules.unit} {rules.row_of_rule()[rule]}: {label}"
    support = rules.support[rule]
    return label if np.isnan(support) else f"{label} ({support:.4g})"


def _left_out(rules: RuleSet, shown: list[int], columns: list[int]) -> str:
    used = len(np.unique(rules.feature))
    several = rules.row_offsets is not None and len(rules) > 1
    open_rows = int((rules.prediction < 0).sum()) if rules.prediction is not None else 0
    total = len(rules) - open_rows if several else rules.n_rules
    parts = []
    if several and open_rows:
        parts.append(f"{open_rows} {rules.unit}{'s' * (open_rows > 1)} not determined")
    if total > len(shown):
        what = f"{rules.unit}s" if several else "rules"
        parts.append(f"{total - len(shown)} more {what}")
    if used > len(columns):
        parts.append(f"{used - len(columns)} more columns")
    return ", ".join(parts)
