"""What a `SoftShapeClassifier` says: windows, and time points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation import Attribution, TokenScores
from skinterp.explanation._token_scores import spread

if TYPE_CHECKING:
    from skinterp.series._softshape import Floats, SoftShapeClassifier

__all__ = ["summarise", "time_points", "windows"]

# Training windows to show per class.
N_EXAMPLES = 10


def windows(model: SoftShapeClassifier, X: Floats | None) -> TokenScores:
    """Scores of the windows by class and place, or those of each series."""
    told: dict[str, Any] = {
        "feature_names": model.channel_names_,
        "timepoint_names": model.timepoint_names_,
        "target_names": model.classes_,
        "starts": model.token_starts_,
        "length": model.shape_length_,
    }
    if X is None:
        told |= model._summary_
        told.pop("time_importances")
        return TokenScores(scope="global", **told)
    scores, kept, parts = model._trace(X)
    values = parts[..., 0] if parts.shape[2] == 1 else parts
    outputs = values.sum(axis=1)
    two = values.ndim == 2
    prediction = (outputs > 0).astype(int) if two else outputs.argmax(axis=1)
    return TokenScores(
        scope="local",
        **told,
        scores=scores,
        kept=kept,
        values=values,
        prediction=prediction,
        series=X,
    )


def time_points(model: SoftShapeClassifier, X: Floats | None) -> Attribution:
    """What windows add, in equal parts to the time points in them."""
    names = joint_names(model)
    if X is None:
        return Attribution(
            scope="global",
            feature_names=names,
            target_names=model.classes_,
            values=model._summary_["time_importances"],
        )
    _, _, parts = model._trace(X)
    values = np.stack([_per_point(model, p) for p in np.moveaxis(parts, 2, 0)], axis=2)
    one = values.shape[2] == 1
    base = np.zeros((len(X), values.shape[2]))
    return Attribution(
        scope="local",
        feature_names=names,
        target_names=model.classes_,
        values=values[..., 0] if one else values,
        base_values=base[:, 0] if one else base,
        output="decision_function",
        data=X[:, 0] if model.n_channels_ == 1 else None,
    )


def _per_point(model: SoftShapeClassifier, parts: Floats) -> Floats:
    length = model.shape_length_
    return spread(parts / length, model.token_starts_, length, model.n_timepoints_in_)


def joint_names(model: SoftShapeClassifier) -> tuple[str, ...]:
    """Name time points, with the channels where the user has named several."""
    channels = model.channel_names_
    plain = tuple(f"channel {i}" for i in range(len(channels)))
    if channels == plain:
        return model.timepoint_names_
    return tuple(f"{' + '.join(channels)}, {t}" for t in model.timepoint_names_)


def summarise(
    model: SoftShapeClassifier, X: Floats, y: Any, weight: Floats | None
) -> dict[str, NDArray[Any]]:
    """Gather what is said of the whole model from the training series."""
    scores, kept, parts = model._trace(X, model._rows_at_once())
    weight = np.ones(len(X)) if weight is None else weight
    own = (np.asarray(y).ravel()[:, None] == model.classes_) * weight[:, None]
    share = own / np.maximum(own.sum(axis=0), 1e-300)
    values = parts if parts.shape[2] > 1 else np.concatenate([-parts, parts], axis=2)
    chosen = values.sum(axis=1).argmax(axis=1)
    added = _per_point(model, values[np.arange(len(X)), :, chosen])
    return {
        # rounding may lead out of the range
        "mean_scores": np.clip(np.einsum("nc,nm->cm", share, scores), 0.0, 1.0),
        "kept_share": np.clip(np.einsum("nc,nm->cm", share, kept), 0.0, 1.0),
        "time_importances": np.average(np.abs(added), axis=0, weights=weight),
        **examples(model, X, own > 0, scores),
    }


def examples(
    model: SoftShapeClassifier, X: Floats, own: NDArray[np.bool_], scores: Floats
) -> dict[str, NDArray[Any]]:
    """Find the windows of highest score of each class, one of a series at most."""
    best = scores.argmax(axis=1)
    height = scores[np.arange(len(X)), best]
    order = np.argsort(-height, kind="stable")
    ranked = own[order]
    first = ranked & (np.cumsum(ranked, axis=0) <= N_EXAMPLES)
    target, place = np.nonzero(first.T)
    source = order[place]
    start = model.token_starts_[best[source]]
    points = start[:, None] + np.arange(model.shape_length_)
    return {
        "example_values": X[source[:, None], :, points].transpose(0, 2, 1),
        "example_target": target,
        "example_source": source,
        "example_start": start,
        "example_score": height[source],
    }
