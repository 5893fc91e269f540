"""Whether the model says of counterfactual rows what an explanation says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from skinterp.explanation._counterfactuals import Counterfactuals


def check_rows(explanation: Counterfactuals, estimator: Any, X: Any) -> None:
    """Raise AssertionError naming the first row of which something wrong is said."""
    n, d = explanation.rows.shape
    if not n:
        return
    names = explanation.target_names
    _expect(estimator, _as_given(explanation.rows, X), names[explanation.source], "row")
    paths = explanation.counterfactuals.reshape(-1, n, d)
    targets = explanation.target.reshape(-1, n)
    valid = explanation.valid.reshape(-1, n)
    for rows, target, known in zip(paths, targets, valid, strict=True):
        shown = _as_given(rows, X)
        wanted = np.where(known, target, explanation.source)
        _expect(estimator, shown, names[wanted], "counterfactual of row")
    _check_held(explanation)
    _check_distances(explanation)


def _expect(estimator: Any, rows: Any, said: NDArray[Any], what: str) -> None:
    got = np.asarray(estimator.predict(rows))
    wrong = np.flatnonzero(got != said)
    if len(wrong):
        i = int(wrong[0])
        labels = said.tolist()[i], got.tolist()[i]
        msg = f"{what} {i} is said to be {labels[0]!r}, the model says {labels[1]!r}"
        raise AssertionError(msg)


def _as_given(rows: NDArray[Any], X: Any) -> Any:
    """Rows in the form of X: a frame of the same columns, or an array."""
    if not hasattr(X, "columns"):
        return rows if rows.dtype == object else np.asarray(rows, dtype=np.float64)
    columns = {}
    for j, name in enumerate(X.columns):
        cells = rows[:, j]
        try:
            cells = cells.astype(np.float64)
        except (TypeError, ValueError):
            cells = cells.astype(object)
        columns[name] = cells
    if hasattr(X, "iloc"):
        frame = type(X)(columns, columns=X.columns)
        labels = [n for n in X.columns if str(X[n].dtype) == "category"]
        return frame.astype({name: X[name].dtype for name in labels})
    return type(X)({name: cells.tolist() for name, cells in columns.items()})


def _check_held(explanation: Counterfactuals) -> None:
    wrong = explanation.changed & explanation.held
    wrong |= _differ(explanation.counterfactuals, explanation.rows) & (
        ~explanation.changed
    )
    if wrong.any():
        *_, i, j = (int(at[0]) for at in np.nonzero(wrong))
        name = explanation.feature_names[j]
        msg = f"column {name!r} of row {i} is said to be held but changes"
        raise AssertionError(msg)


def _differ(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.bool_]:
    """Compare cells; a missing one equals a missing one."""
    differ = np.asarray(a != b, dtype=bool)
    missing = np.asarray(a != a, dtype=bool) & np.asarray(b != b, dtype=bool)
    out: NDArray[np.bool_] = differ & ~missing
    return out


def _check_distances(explanation: Counterfactuals) -> None:
    known = explanation.valid
    lam = np.asarray(explanation.lam)[..., None]
    endless = np.isinf(lam)
    finite = np.where(endless, 1.0, lam)
    total = np.where(endless, 0.0, explanation.distance_x)
    total = total + finite * explanation.distance_u
    sizes = {"objective": total}
    sizes["distance_u"] = np.linalg.norm(explanation.own_steps, axis=-1)
    for name, size in sizes.items():
        given = getattr(explanation, name)
        off = np.abs(given - size) > 1e-9 * (1.0 + np.abs(size))
        if (off & known).any():
            i = int(np.nonzero(off & known)[-1][0])
            msg = f"{name} of row {i} does not fit its steps"
            raise AssertionError(msg)
