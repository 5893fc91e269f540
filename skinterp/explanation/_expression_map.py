"""Bring formulas back from a model's features to the user's columns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from skinterp.explanation._feature_map import FeatureMap, FeatureSource
from skinterp.explanation._formula import Formula, affine, columns_of, fold, substitute

if TYPE_CHECKING:
    from skinterp.explanation._expression import Expression

# Where the inverse of a source is asked; an affine one answers on a line.
_PROBES = (0.0, 1.0, -1.0, 0.3, 7.0, -40.0)


def map_formulas(expression: Expression, feature_map: FeatureMap) -> dict[str, Any]:
    """Fields of an expression that says the same in the user's columns."""
    feature_map.check_size(len(expression.feature_names))
    used = {j for formula in expression.formulas for j in columns_of(formula)}
    names = list(feature_map.names)
    columns: list[Formula] = []
    for j, source in enumerate(feature_map.sources):
        known = _known(source, feature_map.targets[j])
        if known is None:
            known = ("column", len(names))
            if j in used:
                names.append(_derived_name(source, feature_map.columns))
        columns.append(known)
    return {
        "feature_names": tuple(names),
        "formulas": tuple(fold(substitute(f, columns)) for f in expression.formulas),
    }


def _known(source: FeatureSource, target: int) -> Formula | None:
    """Formula of a feature in the user's columns; None if it is not known."""
    if source.form == "opaque":
        return ("column", target)
    if source.form != "value":
        return None
    if source.invert is None:
        return ("column", target)
    line = _line(source)
    return None if line is None else affine(("column", target), *line)


def _line(source: FeatureSource) -> tuple[float, float] | None:
    """Slope and intercept of a feature over its column; None if it is no line."""
    assert source.invert is not None
    cells = [source.invert(t) for t in _PROBES]
    if not all(map(math.isfinite, cells)):
        return None
    start, step = cells[0], cells[1] - cells[0]
    size, spread = max(map(abs, cells)), max(cells) - min(cells)
    off = max(abs(start + step * t - x) for t, x in zip(_PROBES, cells, strict=True))
    # of the spread, as a column far from zero has a large size whatever its form
    if step == 0 or off > 1e-9 * spread + 1e-14 * size:
        return None
    # over the widest pair, so that rounding weighs least
    low, high = _PROBES.index(min(_PROBES)), _PROBES.index(max(_PROBES))
    slope = (_PROBES[high] - _PROBES[low]) / (cells[high] - cells[low])
    return slope, -start * slope


def _derived_name(source: FeatureSource, columns: tuple[str, ...]) -> str:
    name = columns[source.column]
    if source.form == "category":
        labels = " or ".join(map(str, source.categories))
        return f"[{name} is {labels}]"
    words = {"code": "code of", "missing": "missing", "value": "transformed"}
    return f"[{words[source.form]} {name}]"
