"""Whether an explanation of patterns says what the model does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from skinterp_xrd._explanation import Diffraction

__all__ = ["check_shares", "check_sums"]


def check_sums(told: Diffraction, estimator: Any, X: Any, tolerance: float) -> None:
    """Hold background plus parts against the decision function."""
    decision = np.asarray(estimator.decision_function(X), dtype=np.float64)
    if decision.ndim == 1:
        expected = decision * (2 * told.targets - 1)
    else:
        rows = np.arange(len(told))
        expected = decision[rows, told.targets] - decision.mean(axis=1)
    got, base = told.total(), np.asarray(told.base_values)
    wrong = np.abs(got - expected) > tolerance * (1 + np.abs(expected - base))
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        label = told.target_names[told.targets[i]]
        msg = (
            f"pattern {i}: background and parts sum to {got[i]:.6g} for {label!r}, the "
            f"model says {expected[i]:.6g}"
        )
        raise AssertionError(msg)


def check_shares(told: Diffraction) -> None:
    """Hold shares against one."""
    if told.scope == "global":
        total, what = told.values.sum(axis=1), "the shares of the points"
    elif told.peak_offsets is not None:
        ends = np.concatenate([[0.0], np.cumsum(np.asarray(told.peak_share))])[
            told.peak_offsets
        ]
        total = np.diff(ends) + np.asarray(told.outside)
        what = "the shares of the peaks and outside"
    else:
        return
    # without any attribution there are no shares
    wrong = (np.abs(total - 1) > 1e-6) & (np.abs(told.values).sum(axis=1) > 0)
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        msg = f"case {i}: {what} sum to {total[i]:.6g}, not to 1"
        raise AssertionError(msg)
