"""Rules over shapelets as text and as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from skinterp.explanation._shapelet_rules import ShapeletRules

MAX_TARGETS = 12
MAX_ROWS = 20
PER_TARGET = 4
PER_ROW = 3


def rules_table(rules: ShapeletRules) -> pd.DataFrame:
    """A line per target, or row, and shapelet that is shown."""
    import pandas as pd

    assert rules.shown is not None
    shown = rules.shown
    n = len(rules.target_names) if rules.series is None else len(rules)
    columns: dict[str, Any] = {
        "shapelet": np.tile(shown, n),
        "channel": np.tile(np.array(rules.feature_names)[rules.channel[shown]], n),
    }
    if rules.series is None:
        table = {
            "target": np.repeat(rules.target_names, len(shown)),
            **columns,
            "length": np.tile(rules.lengths[shown], n),
            "weight": rules.weights[shown].T.ravel(),
            "mean_predicate": np.tile(rules.mean_predicate[shown], n),
        }
        return pd.DataFrame(table)
    _, predicates, starts, target = rules._rows()
    assert rules.share is not None
    table = {
        "row": np.repeat(np.arange(n), len(shown)),
        "target": np.repeat(rules.target_names[target], len(shown)),
        "share": np.repeat(rules.share, len(shown)),
        **columns,
        "start": starts[:, shown].ravel(),
        "end": (starts + rules.lengths)[:, shown].ravel(),
        "predicate": predicates[:, shown].ravel(),
        "weight": rules.weights.T[target][:, shown].ravel(),
        "contribution": rules.contributions()[:, shown].ravel(),
    }
    return pd.DataFrame(table)


def say_rules(rules: ShapeletRules) -> str:
    """The heaviest shapelets of each target, or what matched in each row."""
    return _say_model(rules) if rules.series is None else _say_rows(rules)


def _say_model(rules: ShapeletRules) -> str:
    lines = [_head(rules)]
    if rules.quality:
        lines.append(_say_quality(rules))
    names = rules.target_names[:MAX_TARGETS]
    for t, name in enumerate(names):
        start = f", {rules.base[t]:.3g} at first" if rules.base[t] else ""
        lines.append(f"{name}{start}:")
        order = rules.by_weight(t)
        lines += [_say_rule(rules, int(j), t) for j in order[:PER_TARGET]]
        if len(order) > PER_TARGET:
            lines.append(f"  ... {len(order) - PER_TARGET} more")
    if len(rules.target_names) > len(names):
        lines.append(f"... {len(rules.target_names) - len(names)} more targets")
    return "\n".join(lines)


def _head(rules: ShapeletRules) -> str:
    assert rules.shown is not None
    sizes = sorted({int(n) for n in rules.lengths[rules.shown]})
    points = ", ".join(map(str, sizes[:8])) + (", ..." if len(sizes) > 8 else "")
    count = f"{len(rules.shown)} shapelet{'s' * (len(rules.shown) != 1)}"
    rest = len(rules.lengths) - len(rules.shown)
    return f"{count} of {points} points" + (f" (of {rest} more)" if rest else "")


def _say_quality(rules: ShapeletRules) -> str:
    known = rules.quality
    parts = []
    if "mean_share" in known:
        parts.append(f"shapelets decide {100 * known['mean_share']:.0f} % on average")
    if np.isfinite(known.get("shapelet_error", np.nan)):
        parts.append(f"shapelet error {known['shapelet_error']:.3g}")
    if "weights_above_0.1" in known:
        share = 100 * known["weights_above_0.1"]
        parts.append(f"{share:.0f} % of the weights are above 0.1")
    return "; ".join(parts)


def _say_rule(rules: ShapeletRules, j: int, t: int) -> str:
    channel = rules.feature_names[rules.channel[j]]
    return (
        f"  {rules.weights[j, t]:+.3g} if like shapelet {j} of {channel} "
        f"({rules.lengths[j]} points, mean match {rules.mean_predicate[j]:.2g})"
    )


def _say_rows(rules: ShapeletRules) -> str:
    amounts = rules.contributions()
    assert rules.shown is not None
    lines = []
    for i in range(min(len(rules), MAX_ROWS)):
        lines.append(f"{rules.unit} {i}: {say_prediction(rules, i)}")
        size = np.abs(amounts[i, rules.shown])
        order = rules.shown[np.argsort(-size, kind="stable")][:PER_ROW]
        lines += [f"  {say_match(rules, i, int(j))}" for j in order]
    if len(rules) > MAX_ROWS:
        lines.append(f"... {len(rules) - MAX_ROWS} more")
    return "\n".join(lines)


def say_prediction(rules: ShapeletRules, i: int) -> str:
    """What is predicted, and the share of it that the shapelets decide."""
    assert rules.prediction is not None
    assert rules.share is not None
    _, _, _, target = rules._rows()
    value = rules.prediction[i, target[i]]
    name, scores = rules.target_names[target[i]], rules.scores()[i]
    share = rules.share[i]
    only = "only " if share < 0.5 else ""
    decide = (
        "decided by shapelets alone"
        if share >= 1
        else f"shapelets decide {only}{100 * share:.0f} % of it"
    )
    if len(scores) == 1:
        alone = "" if share >= 1 else f" (alone they say {scores[0]:.4g})"
        return f"{name} = {value:.4g}, {decide}{alone}"
    best = rules.target_names[scores.argmax()]
    alone = "" if scores.argmax() == target[i] else f" (alone they say {best})"
    return f"{name} (probability {value:.2f}), {decide}{alone}"


def say_match(rules: ShapeletRules, i: int, j: int) -> str:
    """What a shapelet adds, and where it is matched."""
    _, predicates, starts, target = rules._rows()
    first = starts[i, j]
    amount = rules.weights[j, target[i]] * predicates[i, j]
    channel = rules.feature_names[rules.channel[j]]
    return (
        f"{amount:+.2g}: shapelet {j} in {channel} at {first} to "
        f"{first + rules.lengths[j] - 1}, match {predicates[i, j]:.2f}"
    )
