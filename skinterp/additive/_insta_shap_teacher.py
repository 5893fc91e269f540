"""Learning from a fitted model: its output in place of y, absent cells drawn anew."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import check_array, check_consistent_length, check_random_state

from skinterp.additive._insta_shap_masks import size_law
from skinterp.additive._insta_shap_players import make_players
from skinterp.compat import check_is_fitted

# Copies of each row with cells drawn from other rows.
_COPIES = 8


def refuse_without_teacher(model: Any, y: Any) -> None:
    """Say what needs a teacher."""
    name = type(model).__name__
    if model.background == "marginal":
        msg = (
            "background='marginal' needs a teacher, whose output for rows with cells "
            "of other rows is learnt; pass a fitted estimator as teacher."
        )
        raise ValueError(msg)
    if y is None:
        msg = (
            f"{name} requires y to be passed, but the target y is None; only with a "
            "teacher it may be."
        )
        raise ValueError(msg)


def follow_teacher(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, ...]:
    """Rows, the teacher's output for them, weights, and the teacher's classes."""
    teacher = model.teacher
    check_is_fitted(teacher)
    classes = None
    if is_classifier(model):
        classes = _classes_of(teacher, model)
    elif is_classifier(teacher):
        msg = (
            f"teacher={type(teacher).__name__} is a classifier; the probabilities of "
            "one are learnt by InstaSHAPClassifier."
        )
        raise ValueError(msg)
    # copies of rows would give errors of other lengths
    check_consistent_length(X, y, sample_weight)
    if model.background == "marginal":
        X, rows, sample_weight = _mixed_rows(model, X, sample_weight)
        return X, _ask(teacher, rows, classes), sample_weight, classes
    return X, _ask(teacher, X, classes), sample_weight, classes


def _classes_of(teacher: Any, model: Any) -> NDArray[Any]:
    classes = getattr(teacher, "classes_", None)
    if classes is None or not hasattr(teacher, "predict_proba"):
        msg = (
            f"teacher={type(teacher).__name__} has no classes_ and predict_proba, "
            f"which {type(model).__name__} learns from."
        )
        raise ValueError(msg)
    return np.asarray(classes)


def _ask(teacher: Any, X: Any, classes: Any) -> Any:
    if classes is None:
        return np.asarray(teacher.predict(X), dtype=np.float64)
    return np.asarray(teacher.predict_proba(X), dtype=np.float64)


def _mixed_rows(model: Any, X: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Copies of the rows: as the model sees them, and as the teacher does.

    In the first copy nothing is masked. In the others the masks follow the law; what
    is masked is missing for the model, and comes from another row for the teacher.
    """
    names = getattr(X, "columns", None)
    cells = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan")
    n = len(cells)
    labels = [f"x{j}" for j in range(cells.shape[1])] if names is None else list(names)
    for row, column in np.argwhere(np.isnan(cells))[:1]:
        msg = (
            f"X has no cell in column {labels[column]!r} (row {row}); "
            "background='marginal' fills absent cells from other rows, and needs whole "
            "rows in fit."
        )
        raise ValueError(msg)
    columns, _ = make_players(model.feature_groups, [str(name) for name in labels])
    draws = check_random_state(model.random_state)
    copies = _COPIES if model.masks_per_row == "auto" else int(model.masks_per_row)
    law = size_law(model.mask_distribution, len(columns), model.end_weight)
    absent = np.zeros((n * (copies + 1), cells.shape[1]), dtype=bool)
    sizes = draws.choice(len(law), p=law, size=n * copies)
    rank = draws.rand(n * copies, len(columns)).argsort(axis=1).argsort(axis=1)
    for player, own in enumerate(columns):
        absent[n:, own] = (rank[:, player] >= sizes)[:, None]
    seen = np.tile(cells, (copies + 1, 1))
    other = cells[draws.randint(n, size=len(seen))]
    asked = np.where(absent, other, seen)
    seen[absent] = np.nan
    if sample_weight is not None:
        sample_weight = np.tile(np.asarray(sample_weight), copies + 1)
    if names is not None:
        import pandas as pd

        frames = [pd.DataFrame(rows, columns=labels) for rows in (seen, asked)]
        return frames[0], frames[1], sample_weight
    return seen, asked, sample_weight
