"""Whether rules over shapelets say what a model does: everything matched by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import softmax

from skinterp.explanation import _shapelet_rules_math as by_hand

if TYPE_CHECKING:
    from skinterp.explanation._shapelet_rules import Floats, ShapeletRules

TOLERANCE = 1e-6


def check_rules(rules: ShapeletRules, estimator: Any, X: Any) -> None:
    """Raise AssertionError naming the first row of which something wrong is said."""
    if hasattr(estimator, "steps"):  # a pipeline: what is said is said of its last step
        front, estimator = estimator[:-1], estimator[-1]
        X = front.transform(X) if len(front) else X
    series = rules.series
    if series is None:
        series = np.asarray(X, dtype=np.float64)
        series = series[:, None, :] if series.ndim == 2 else series
    predicates, misses = _match(rules, series)
    sums = predicates @ rules.weights + rules.base
    _same("the weighted sum", sums, estimator.interpretable_function(X))
    if rules.series is None:
        return
    assert misses is not None
    _same("a predicate", predicates, rules.predicates)
    _same("the distance of a window that is said to be the best", misses, 0 * misses)
    if hasattr(estimator, "transform"):  # the predicates are all that it gives
        _same("a column", rules.predicates, estimator.transform(X))
        return
    _same("the share", rules.share, estimator.gate(X))
    _check_prediction(rules, estimator, X)


def _match(rules: ShapeletRules, series: Floats) -> tuple[Floats, Floats | None]:
    """Predicates, and how much nearer than the window said another one is."""
    z = by_hand.normalised(series)
    least = np.empty((len(z), len(rules.lengths)))
    misses = None if rules.starts is None else np.empty_like(least)
    for j, (c, stride) in enumerate(zip(rules.channel, rules.stride, strict=True)):
        d = by_hand.distances(z[:, c], rules.shapelet(j), int(stride), rules.distance)
        least[:, j] = d.min(axis=1)
        if misses is not None:
            assert rules.starts is not None
            said = d[np.arange(len(d)), rules.starts[:, j] // stride]
            misses[:, j] = said - least[:, j]
    return np.exp(-((rules.epsilon * least) ** 2)), misses


def _check_prediction(rules: ShapeletRules, estimator: Any, X: Any) -> None:
    assert rules.prediction is not None
    assert rules.share is not None
    if len(rules.target_names) == 1:
        whole = np.asarray(estimator.predict(X)).reshape(len(rules), 1)
        _same("the prediction", rules.prediction, whole)
        alone = rules.scores()
    else:
        _same("the probabilities", rules.prediction, estimator.predict_proba(X))
        alone = softmax(rules.scores(), axis=1)
    decided = rules.share >= 1
    _same(
        "what is said to be decided by shapelets alone",
        alone[decided],
        rules.prediction[decided],
    )


def _same(what: str, said: Any, does: Any) -> None:
    said, does = np.asarray(said), np.asarray(does)
    assert said.shape == does.shape, f"{what} has shape {said.shape}, not {does.shape}"
    wrong = np.argwhere(~np.isclose(said, does, rtol=TOLERANCE, atol=TOLERANCE))
    if len(wrong):
        at = tuple(wrong[0])
        msg = f"row {at[0]}: {what} is {said[at]:.6g}, the model's is {does[at]:.6g}"
        raise AssertionError(msg)
