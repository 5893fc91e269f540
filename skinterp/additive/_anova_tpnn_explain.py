"""What an additive network says: its terms, its rows, and how steady they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skinterp.base import feature_names_of
from skinterp.explanation import Attribution, Explanation, ShapeFunctions

__all__ = ["stability_score"]


def explain_terms(model: Any) -> ShapeFunctions:
    """Curves and surfaces on grids of the user's units."""
    grids = tuple(
        tuple(model._points_[j][min(len(term), 3) - 1] for j in term)
        for term in model.terms_
    )
    return ShapeFunctions(
        scope="global",
        terms=tuple(model.terms_),
        grids=grids,
        values=tuple(
            model._on_grid(term, grid)
            for term, grid in zip(model.terms_, grids, strict=True)
        ),
        importance=model.term_importances_,
        density_at=tuple(at for at, _ in model._density_),
        density=tuple(share for _, share in model._density_),
        **_common(model),
    )


def explain_rows(model: Any, X: NDArray[np.float64], kind: str) -> Explanation:
    """What each term, or each feature, adds for each row."""
    parts = model._components(X)
    if kind == "shape-functions":
        terms = tuple(model.terms_)
        head = _common(model)
        return ShapeFunctions(scope="local", terms=terms, contributions=parts, **head)
    head = _common(model)
    intercept = head.pop("intercept")
    return Attribution(
        scope="local",
        values=shapley_values(parts, model.terms_, X.shape[1]),
        base_values=np.broadcast_to(intercept, (len(X), *np.shape(intercept))),
        data=X,
        **head,
    )


def shapley_values(
    parts: NDArray[np.float64], terms: Sequence[tuple[int, ...]], n_features: int
) -> NDArray[np.float64]:
    """Split each term equally among its features.

    As each term averages to zero over each of its features, these are the Shapley
    values of the game in which an absent feature is drawn from its own distribution,
    independently of the others.
    """
    values = np.zeros((len(parts), n_features, *parts.shape[2:]))
    for t, term in enumerate(terms):
        for j in term:
            values[:, j] += parts[:, t] / len(term)
    return values


def _common(model: Any) -> dict[str, Any]:
    classes = getattr(model, "classes_", None)
    names = classes
    if names is None:
        n = model.n_outputs_
        names = np.array(["y"] if n == 1 else [f"y{c}" for c in range(n)])
    return {
        "feature_names": feature_names_of(model),
        "target_names": names,
        "intercept": model.intercept_,
        "output": "predict" if classes is None else "decision_function",
    }


def stability_score(estimators: Sequence[Any], X: ArrayLike) -> float:
    """Measure how much the terms of refitted additive models differ.

    Parameters
    ----------
    estimators : sequence of fitted estimators
        At least two, with ``terms_``, ``components`` and the same columns: refits with
        other seeds or on other samples.
    X : array-like of shape (n_samples, n_features)
        The rows on which terms are compared.

    Returns
    -------
    float
        0 if all terms are identical, about 1 - 1/R for R unrelated models. For a term
        it is the mean over rows of the variance of its values among models, over the
        mean of their squares; terms are weighted by their mean variance over rows. A
        term that a model does not have is zero in it.

    Raises
    ------
    ValueError
        If there are fewer than two estimators.

    See Also
    --------
    ANOVATPNNRegressor : A model whose terms it compares.

    Notes
    -----
    Rows where all models agree on nearly nothing, that is where a term is close to
    zero in all of them, count as much as others, as in the paper of Park et al.,
    arXiv:2502.15215. The cost is that of ``components`` for each model.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skinterp.additive import ANOVATPNNRegressor, stability_score
    >>> X, y = load_diabetes(return_X_y=True)
    >>> cheap = {"order": 1}
    >>> fits = [ANOVATPNNRegressor(random_state=s, **cheap).fit(X, y) for s in (0, 1)]
    >>> stability_score(fits, X) < 0.2
    True
    """
    if len(estimators) < 2:
        msg = f"stability_score compares at least 2 estimators, got {len(estimators)}"
        raise ValueError(msg)
    scores, weights = term_stability(estimators, X)
    total = sum(weights.values())
    if total == 0:
        return 0.0
    return float(sum(scores[t] * weights[t] for t in scores) / total)


def term_stability(
    estimators: Sequence[Any], X: Any
) -> tuple[dict[tuple[int, ...], float], dict[tuple[int, ...], float]]:
    """Score and mean variance of each term that any of the models has."""
    known: dict[tuple[int, ...], list[NDArray[np.float64]]] = {}
    for model in estimators:
        parts = np.asarray(model.components(X))
        for t, term in enumerate(model.terms_):
            known.setdefault(tuple(sorted(term)), []).append(parts[:, t])
    scores, weights = {}, {}
    for term, values in known.items():
        absent = [np.zeros_like(values[0])] * (len(estimators) - len(values))
        stack = np.stack(values + absent)
        spread = ((stack - stack.mean(axis=0)) ** 2).sum(axis=0)
        square = (stack**2).sum(axis=0)
        share = np.divide(spread, square, out=np.zeros_like(square), where=square > 0)
        scores[term] = float(share.mean())
        weights[term] = float(stack.var(axis=1).mean())
    return scores, weights
