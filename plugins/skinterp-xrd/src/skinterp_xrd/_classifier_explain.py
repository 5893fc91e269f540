"""From a fitted classifier to its explanation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skinterp.base import feature_names_of
from skinterp_xrd._bragg import PeakShares, peak_lists, share_out
from skinterp_xrd._explanation import Diffraction
from skinterp_xrd._symmetry import SYSTEMS, systems_of_labels

__all__ = ["explain_model", "explain_rows"]


def explain_model(model: Any) -> Diffraction:
    """Mean patterns, what is looked at, and what is taken for what."""
    names, confusion = gather_systems(model)
    return Diffraction(
        scope="global",
        values=model.usage_,
        patterns=model.mean_patterns_,
        targets=np.arange(len(model.classes_)),
        counts=model.class_counts_,
        confusion=confusion,
        confusion_names=names,
        accuracy=class_accuracy(model.confusion_),
        evaluated_on=model.confusion_rows_,
        **shared(model),
    )


def shared(model: Any) -> dict[str, Any]:
    """Fields that both scopes have."""
    return {
        "feature_names": feature_names_of(model),
        "target_names": model.classes_,
        "two_theta": model.two_theta_,
        "wavelength": model.wavelength_,
    }


def gather_systems(model: Any) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Sum the confusion of numbered space groups by crystal system."""
    systems = None
    if model.target == "space_group":
        systems = systems_of_labels(model.classes_)
    if systems is None:
        return tuple(str(label) for label in model.classes_), model.confusion_
    names = tuple(name for name in SYSTEMS if name in systems)
    member = np.array([[name == one for one in systems] for name in names], float)
    return names, member @ model.confusion_ @ member.T


def class_accuracy(confusion: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of each class that is told right, NaN where none was tried."""
    tried = confusion.sum(axis=1)
    empty = np.full(len(tried), np.nan)
    return np.divide(np.diag(confusion), tried, out=empty, where=tried > 0)


def explain_rows(
    model: Any,
    X: NDArray[Any],
    structure: Any,
    target: Any,
    zero_shift: float | None,
    window: float | None,
) -> Diffraction:
    """Attribute the logit of each pattern to its points, and to its peaks."""
    code = None if target is None else class_code(model, target)
    check_degrees(zero_shift, window)
    peaks = None
    if structure is not None:
        peaks = peak_lists(structure, len(X), model.two_theta_, model.wavelength_)
    values, base, classes, baseline = model._attributions(X, target=code)
    top = X.max(axis=1, keepdims=True)
    under = baseline * top  # the network saw patterns of maximum one
    shares = None
    if peaks is not None:
        shares = [
            share_out(
                values[i],
                X[i] - under[i],
                model.two_theta_,
                peaks[i],
                zero_shift=zero_shift,
                window=window,
            )
            for i in range(len(X))
        ]
    return Diffraction(
        scope="local",
        values=values,
        patterns=X,
        background=under,
        targets=classes,
        base_values=base,
        **shared(model),
        **({} if shares is None else peak_fields(shares)),
    )


def class_code(model: Any, target: Any) -> int:
    """Position of a label among the classes."""
    # numpy takes 1 for True, and compares no text with numbers
    for k, label in enumerate(model.classes_):
        if label == target and isinstance(target, str) == isinstance(label, str):
            return k
    msg = f"target={target!r} is none of the classes {model.classes_.tolist()}."
    raise ValueError(msg)


def check_degrees(zero_shift: Any, window: Any) -> None:
    """Refuse options that are no angles."""
    for name, value, low in (("zero_shift", zero_shift, -180), ("window", window, 0)):
        if value is None:
            continue
        number = isinstance(value, float | int | np.number) and np.isfinite(value)
        if isinstance(value, bool) or not number or value <= low:
            allowed = "a number of degrees" + (" above 0" if name == "window" else "")
            msg = f"{name} must be {allowed}, or None, got {value!r}."
            raise ValueError(msg)


def peak_fields(shares: list[PeakShares]) -> dict[str, Any]:
    """Put the peaks of all patterns one after the other."""
    sizes = [len(one.share) for one in shares]

    def joined(parts: list[NDArray[Any]]) -> NDArray[np.float64]:
        return np.concatenate([np.zeros(0), *parts])

    return {
        "peak_offsets": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        "peak_two_theta": joined([one.peaks.two_theta for one in shares]),
        "peak_d": joined([one.peaks.d for one in shares]),
        "peak_hkl": tuple(name for one in shares for name in one.peaks.hkl),
        "peak_share": joined([one.share for one in shares]),
        "peak_value": joined([one.value for one in shares]),
        "outside": np.array([one.outside for one in shares]),
        "coverage": np.array([one.coverage for one in shares]),
        "zero_shift": np.array([one.zero_shift for one in shares]),
    }
