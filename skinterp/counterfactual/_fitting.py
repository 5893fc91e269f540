"""What the explainer learns besides model and mechanisms: units, limits, solver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skinterp.compat import check_sample_weight
from skinterp.counterfactual._affine import affine_scores
from skinterp.counterfactual._setting import Labels, Setting
from skinterp.counterfactual._table import Floats, Table
from skinterp.counterfactual._weights import weighted_quantile, weighted_std

if TYPE_CHECKING:
    from skinterp.counterfactual._brace_explainer import BraceExplainer

N_TRIAL = 200
N_REFERENCE = 500


def check_inner(estimator: Any, n_features: int) -> None:
    """Refuse a model of other columns, or one without classes."""
    if not hasattr(estimator, "classes_"):
        msg = (
            f"estimator must be a classifier, got {estimator!r}, which has no classes_ "
            "after fit"
        )
        raise ValueError(msg)
    width = getattr(estimator, "n_features_in_", n_features)
    if width != n_features:
        msg = f"the frozen estimator was fitted on {width} features, X has {n_features}"
        raise ValueError(msg)


def weighted_rows(
    Z: Floats, y: NDArray[Any], sample_weight: Any
) -> tuple[Floats, NDArray[Any], Floats | None]:
    """Rows that have a weight, and what it is; None where all weigh the same."""
    if sample_weight is None:
        return Z, y, None
    weight = check_sample_weight(
        sample_weight, Z, dtype=np.float64, ensure_non_negative=True
    )
    kept = weight > 0
    if not kept.any():
        msg = f"sample_weight must be positive in some row, got {sample_weight!r}"
        raise ValueError(msg)
    return Z[kept], y[kept], weight[kept]


def scale_of(table: Table, Z: Floats, scale: Any, weight: Floats | None) -> Floats:
    """Unit of each column; 0 where it is constant."""
    d = len(table.names)
    if not isinstance(scale, str):
        try:
            given = np.asarray(scale, dtype=np.float64)
        except (TypeError, ValueError):
            given = np.zeros(0)
        if given.shape != (d,) or not (np.isfinite(given) & (given > 0)).all():
            msg = f"scale must be 'std' or {d} positive numbers, got {scale!r}"
            raise ValueError(msg)
        return given
    out = weighted_std(Z, weight)
    out[out <= 1e-12 * np.abs(Z).max(axis=0, initial=0.0)] = 0.0
    for j, labels in table.texts.items():
        codes = Z[:, j].astype(int)
        share = np.bincount(codes, weight, minlength=len(labels))
        share = share / share.sum()
        # of two labels, the deviation of either's indicator
        out[j] = np.sqrt(max(1.0 - float((share**2).sum()), 0.0) / 2.0)
    return out


def fit_limits(explainer: BraceExplainer, Z: Floats) -> None:
    """Set which columns move freely, among listed values, and how far."""
    table, d = explainer._table, Z.shape[1]
    named = {table.position(c, "immutable") for c in explainer.immutable}
    choices = _choices(table, explainer.categories, Z)
    both = sorted(named & set(choices))
    if both:
        msg = f"column {table.names[both[0]]!r} is in immutable and in categories"
        raise ValueError(msg)
    low, high = _bounds(table, explainer.bounds, Z)
    held = np.zeros(d, bool)
    for j in range(d):
        still = j in named or explainer.scale_[j] == 0 or low[j] == high[j]
        held[j] = still or (j not in choices and _is_category(table, Z, j))
    explainer.held_ = held
    explainer._choices = {j: v for j, v in choices.items() if not held[j]}
    free = [j for j in range(d) if not held[j] and j not in choices]
    explainer._free = np.array(free, dtype=np.intp)
    explainer._low, explainer._high = low, high


def _is_category(table: Table, Z: Floats, j: int) -> bool:
    """Texts, flags, and two values that both repeat."""
    if j in table.texts:
        return True
    values, counts = np.unique(Z[:, j], return_counts=True)
    flag = np.isin(values, (0.0, 1.0)).all()  # of a rare label, just one is set
    return bool(flag) or (len(values) <= 2 and int(counts.min()) > 1)


def _choices(table: Table, categories: Any, Z: Floats) -> dict[int, Floats]:
    pairs = (
        categories.items()
        if isinstance(categories, Mapping)
        else ((c, "observed") for c in categories)
    )
    out = {}
    for column, values in pairs:
        j = table.position(column, "categories")
        if isinstance(values, str) and values == "observed":
            out[j] = np.unique(Z[:, j])
        else:
            if isinstance(values, str) or not isinstance(values, Iterable):
                values = [values]
            codes = [table.code(j, value, "categories") for value in values]
            if not codes:
                msg = f"categories lists no value for column {table.names[j]!r}"
                raise ValueError(msg)
            out[j] = np.unique(np.array(codes, dtype=np.float64))
    return out


def _bounds(table: Table, bounds: Any, Z: Floats) -> tuple[Floats, Floats]:
    d = Z.shape[1]
    if isinstance(bounds, str):
        return Z.min(axis=0), Z.max(axis=0)
    low, high = np.full(d, -np.inf), np.full(d, np.inf)
    for column, pair in (bounds or {}).items():
        j = table.position(column, "bounds")
        try:
            start, end = pair
            low[j] = -np.inf if start is None else float(start)
            high[j] = np.inf if end is None else float(end)
        except (TypeError, ValueError):
            low[j] = np.nan
        if not low[j] <= high[j]:
            msg = (
                f"bounds of column {column!r} must be a lowest and a highest number, "
                f"or None for no bound, got {pair!r}"
            )
            raise ValueError(msg)
    return low, high


def noise_range(
    quantiles: Any, explainer: BraceExplainer, weight: Floats | None
) -> tuple[Floats, Floats] | None:
    """Least and largest noise that a counterfactual may have."""
    if quantiles is None:
        return None
    try:
        start, end = (float(share) for share in quantiles)
    except (TypeError, ValueError):
        start, end = 1.0, 0.0
    if not 0.0 <= start < end <= 1.0:
        msg = (
            "noise_quantiles must be two shares from 0 to 1, the smaller one first, "
            f"got {quantiles!r}"
        )
        raise ValueError(msg)
    noise = explainer.noise_
    # noise that is nothing but rounding needs some room to move
    room = 1e-6 * explainer.scale_
    low, high = (weighted_quantile(noise, share, weight) for share in (start, end))
    return low - room, high + room


# -- what is asked of the model ------------------------------------------------------


def label_function(explainer: BraceExplainer) -> Callable[[Floats], Labels]:
    """Give the position of the predicted class of rows of numbers."""
    order = np.argsort(explainer.classes_)  # strangers may not have sorted them
    classes = explainer.classes_[order]
    model, table = explainer.estimator_, explainer._table

    def label(Z: Floats) -> Labels:
        if not len(Z):
            return np.zeros(0, dtype=np.intp)
        said = np.asarray(model.predict(table.for_estimator(Z)))
        return order[np.searchsorted(classes, said.astype(classes.dtype, copy=False))]

    return label


def score_function(explainer: BraceExplainer) -> Callable[[Floats], Floats] | None:
    """Give a score per class, the largest of which decides; None without one."""
    model, table = explainer.estimator_, explainer._table
    n_classes = len(explainer.classes_)
    if n_classes < 2:
        return None
    if hasattr(model, "decision_function"):

        def decisions(Z: Floats) -> Floats:
            values = np.asarray(model.decision_function(table.for_estimator(Z)))
            if values.ndim == 1 or values.shape[1] == 1:
                half = np.ravel(values) / 2.0
                return np.column_stack([-half, half])
            return values.astype(np.float64)

        return decisions
    if hasattr(model, "predict_proba"):

        def logs(Z: Floats) -> Floats:
            share = np.asarray(model.predict_proba(table.for_estimator(Z)))
            return np.log(np.maximum(share.astype(np.float64), 1e-12))

        return logs
    return None


def fit_solver(explainer: BraceExplainer, Z: Floats) -> str:
    """Choose the solver, and note what it needs; give its name."""
    at = _spread(len(Z), N_TRIAL)
    trial = Z[at]
    label, scores = label_function(explainer), score_function(explainer)
    n_classes = len(explainer.classes_)
    explainer.score_coef_ = np.zeros((n_classes, 0))
    agreed = 0.0 if scores is None else _agreement(scores, label, trial, n_classes)
    scores = scores if agreed > 0.98 else None
    explainer._scored = scores is not None
    explainer._slopes = explainer._causal.slopes(trial)
    _note_reference(explainer, Z, label)
    coef = None
    # one row that scores do not decide is enough to take all proofs away
    if scores is not None and agreed == 1.0 and explainer._slopes is not None:
        coef = affine_scores(
            explainer.estimator_, scores, trial, explainer._free, explainer.scale_
        )
    if coef is not None:
        explainer.score_coef_ = coef
    wish = explainer.solver
    smooth = scores is not None and _is_smooth(explainer, scores, trial)
    if wish == "exact" and coef is None:
        msg = (
            "solver='exact' needs a score that is linear in columns that may change, "
            "and linear mechanisms; allowed here are 'auto', 'gradient' and 'black-box'"
        )
        raise ValueError(msg)
    if wish == "gradient" and scores is None:
        msg = (
            "solver='gradient' needs a model with decision_function or predict_proba; "
            "allowed here are 'auto' and 'black-box'"
        )
        raise ValueError(msg)
    if wish != "auto":
        return str(wish)
    if coef is not None:
        return "exact"
    return "gradient" if smooth else "black-box"


def _spread(n: int, k: int) -> NDArray[np.intp]:
    """At most k positions among n, evenly spread."""
    return np.unique(np.linspace(0, n - 1, min(n, k)).astype(np.intp))


def _agreement(
    scores: Callable[[Floats], Floats],
    label: Callable[[Floats], Labels],
    rows: Floats,
    n_classes: int,
) -> float:
    """Share of rows in which the predicted class has the largest score."""
    values = scores(rows)
    if values.shape != (len(rows), n_classes) or not np.isfinite(values).all():
        return 0.0
    most = values.max(axis=1)
    said = values[np.arange(len(rows)), label(rows)]
    return float((said >= most - 1e-9 * (1.0 + np.abs(most))).mean())


def _is_smooth(
    explainer: BraceExplainer, scores: Callable[[Floats], Floats], rows: Floats
) -> bool:
    """Whether small moves change the scores, unlike those of trees."""
    free = explainer._free
    if not len(free):
        return False
    rows = rows[:20]
    moved = rows.copy()
    moved[:, free] += 1e-4 * explainer.scale_[free]
    return bool((scores(rows) != scores(moved)).any(axis=1).mean() > 0.8)


def _note_reference(
    explainer: BraceExplainer, Z: Floats, label: Callable[[Floats], Labels]
) -> None:
    """Keep training rows of every predicted class to start from."""
    labels = label(Z)
    found = np.unique(labels)
    share = max(N_REFERENCE // max(len(found), 1), 1)
    chosen = [
        np.flatnonzero(labels == c)[_spread(int((labels == c).sum()), share)]
        for c in found
    ]
    at = np.sort(np.concatenate(chosen))
    explainer._reference, explainer._reference_labels = Z[at], labels[at]


def setting_of(explainer: BraceExplainer) -> Setting:
    """Gather the fitted state for the searches."""
    return Setting(
        table=explainer._table,
        causal=explainer._causal,
        slopes=explainer._slopes,
        scale=explainer.scale_,
        free=explainer._free,
        choices=explainer._choices,
        low=explainer._low,
        high=explainer._high,
        noise_range=explainer._noise_range,
        norm=explainer.distance,
        margin=float(explainer.margin),
        label=label_function(explainer),
        scores=score_function(explainer) if explainer._scored else None,
    )
