"""Explain whatever holds an explainable estimator, in the user's own columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.feature_selection import RFE
from sklearn.linear_model import RANSACRegressor
from sklearn.pipeline import Pipeline
from sklearn.semi_supervised import SelfTrainingClassifier

from skinterp.base import ExplainableMixin, SkinterpTags
from skinterp.compat import FrozenEstimator, check_is_fitted, validate_data
from skinterp.explanation import Attribution, Counterfactuals, FeatureMap, RuleSet
from skinterp.tabular._feature_map import feature_map_of_steps
from skinterp.tabular._frames import cells_of, column_names, split_columns

if TYPE_CHECKING:
    from skinterp.explanation import Explanation

__all__ = ["explain"]

# Their predict is that of the model they hold, on the rows as they are.
_HOLDERS = (RFE, SelfTrainingClassifier, RANSACRegressor)

# Their predict is not that of a model they hold, and why.
_NOT_THE_SAME = {
    "TransformedTargetRegressor": "it transforms back what its model predicts",
    "CalibratedClassifierCV": "it recalibrates what its models predict",
    "FixedThresholdClassifier": "it moves the threshold of its model",
    "TunedThresholdClassifierCV": "it moves the threshold of its model",
    "BaggingClassifier": "it combines many models",
    "BaggingRegressor": "it combines many models",
    "VotingClassifier": "it combines many models",
    "VotingRegressor": "it combines many models",
    "StackingClassifier": "it combines many models",
    "StackingRegressor": "it combines many models",
    "OneVsRestClassifier": "it combines many models",
    "OneVsOneClassifier": "it combines many models",
    "MultiOutputClassifier": "it holds one model per output",
    "MultiOutputRegressor": "it holds one model per output",
}


@dataclass(frozen=True)
class _Opened:
    """A model taken apart: the steps before, by name, and the estimator explained."""

    steps: tuple[tuple[str, Any], ...]
    estimator: Any


class _AsArray:
    """What a meta-estimator does to X before the model it holds sees it: drop names."""

    def __init__(self, holder: Any) -> None:
        self.holder = holder

    def transform(self, X: Any) -> Any:
        return validate_data(self.holder, X, reset=False, ensure_all_finite=False)

    def __skinterp_feature_map__(self, columns: Sequence[str]) -> FeatureMap:
        return FeatureMap.identity(tuple(columns))


def explain(
    model: Any, X: Any = None, *, kind: str | None = None, **options: Any
) -> Explanation:
    """Explain a fitted model in the columns of the user's own table.

    The rows go through the steps in front of the estimator, and what it says about its
    features is said about the columns they come from: thresholds in the column's own
    units, one-hot columns as categories, parts of one column summed.

    Parameters
    ----------
    model : estimator
        A fitted estimator with ``explain``, alone or inside ``Pipeline``,
        ``GridSearchCV`` and the other searches, ``FrozenEstimator``, ``RFE``,
        ``RFECV``, ``SelfTrainingClassifier`` or ``RANSACRegressor``.
    X : array-like or frame of shape (n_rows, n_columns), default=None
        The rows to explain, as ``model.predict`` takes them. None explains the whole
        model.
    kind : str, default=None
        Kind of explanation; None takes the first one that the estimator gives.
    **options : Any
        Options of the estimator's own ``explain``.

    Returns
    -------
    Explanation
        In the user's columns; ``meta["steps"]`` names the steps in front. A feature
        that mixes columns keeps a name of its own and stands after the columns.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    TypeError
        If no estimator with ``explain`` is found where its ``predict`` is the
        model's own.
    ValueError
        If X is not what the model takes, or the estimator does not give this scope or
        kind.

    See Also
    --------
    skinterp.tabular.feature_map : How columns become features.
    skinterp.tabular.TableEncoder : Makes numbers of a table, with the way back.

    Examples
    --------
    >>> import pandas as pd
    >>> import skinterp
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skinterp.trees import BooleanTreeClassifier
    >>> X = pd.DataFrame({"age": [20, 30, 50, 60]})
    >>> pipe = make_pipeline(StandardScaler(), BooleanTreeClassifier())
    >>> rules = skinterp.explain(pipe.fit(X, ["young", "young", "old", "old"]))
    >>> rules.conditions()
    ('age > 40', 'age <= 40')
    """
    opened = _open(model, "model")
    _refuse_early(opened.estimator, "global" if X is None else "local", kind, options)
    inner = _run_steps(opened, X)
    explanation: Explanation = opened.estimator.explain(inner, kind=kind, **options)
    if not opened.steps:
        return explanation
    if _reads_series(opened.estimator):  # channels stay, and shapes have no unit
        return explanation._with(meta=_meta_with_steps(explanation, opened))
    columns = _columns_of(model, opened, X)
    if X is not None and _reads_series(opened.steps[0][1]):
        columns, X = (), np.empty((len(inner), 0))
    return _bring_back(explanation, opened, columns, X, inner)


def _reads_series(estimator: Any) -> bool:
    """Say whether a case of it is a time series, which has no columns to name."""
    tags = getattr(estimator, "__skinterp_tags__", SkinterpTags)
    return bool(tags().input == "series")


def _meta_with_steps(explanation: Explanation, opened: _Opened) -> dict[str, Any]:
    steps = [
        f"{name}: {type(getattr(step, 'holder', step)).__name__}"
        for name, step in opened.steps
    ]
    return dict(explanation.meta) | {"steps": steps}


def _refuse_early(estimator: Any, scope: str, kind: str | None, options: Any) -> None:
    """Refuse an unknown kind or option before the steps in front do any work."""
    if isinstance(estimator, ExplainableMixin):
        estimator._choose_kind(scope, kind)
        estimator._check_options(options)


def _run_steps(opened: _Opened, X: Any) -> Any:
    if X is not None:
        for _, step in opened.steps:
            X = step.transform(X)
    return X


def _bring_back(
    explanation: Explanation,
    opened: _Opened,
    columns: tuple[str, ...],
    X: Any,
    inner: Any,
) -> Explanation:
    transformers = [step for _, step in opened.steps]
    # rules say what they compare in; other kinds compare nothing
    dtypes = getattr(explanation, "feature_dtypes", None)
    if dtypes is None:
        width = len(explanation.feature_names)
        if getattr(explanation, "members", ()):  # groups of features
            width = opened.estimator.n_features_in_
        dtypes = ("float64",) * width
    told = feature_map_of_steps(transformers, columns, dtypes=dtypes)
    mapped = explanation.map_features(told)
    meta = _meta_with_steps(explanation, opened)
    if X is not None and isinstance(mapped, RuleSet):
        mapped = _admit_imputed(mapped, X, len(told.columns))
    if X is not None and isinstance(mapped, Attribution):
        data = _group_cells(_data(told, X, inner), mapped.members)
        return mapped._with(meta=meta, data=data)
    if X is not None and isinstance(mapped, Counterfactuals):
        mapped = mapped.with_rows(_data(told, X, inner))
    return mapped._with(meta=meta)


def _admit_imputed(rules: RuleSet, X: Any, n_columns: int) -> RuleSet:
    """Say of a row's missing cell that it satisfies the conditions that it was put to.

    What an imputer puts in may depend on the other cells of a row, so that the map of
    features cannot tell it. The rules given for a row hold for what was put in there.
    """
    missing = np.zeros((len(rules), len(rules.feature_names)), dtype=bool)
    for j, column in enumerate(split_columns(X)[:n_columns]):
        missing[:, j] = column.isna()
    rule = np.repeat(np.arange(rules.n_rules), np.diff(rules.offsets))
    imputed = missing[rules.row_of_rule()[rule], rules.feature]
    return rules._with(missing=rules.missing | imputed)


def _data(told: FeatureMap, X: Any, inner: Any) -> np.ndarray[Any, Any]:
    """Cells to show: the user's own, then those of features that mix columns."""
    cells = cells_of(X, len(told.columns))
    mixed = inner.toarray() if hasattr(inner, "toarray") else np.asarray(inner)
    return np.hstack([cells, mixed[:, list(told.opaque)].astype(object)])


def _group_cells(
    cells: np.ndarray[Any, Any], members: tuple[tuple[int, ...], ...]
) -> np.ndarray[Any, Any]:
    """Cells of groups of columns: those of one column are its own, others have none."""
    if not members:
        return cells
    shown = np.full((len(cells), len(members)), None, dtype=object)
    for group, columns in enumerate(members):
        if len(columns) == 1:
            shown[:, group] = cells[:, columns[0]]
    return shown


def _columns_of(model: Any, opened: _Opened, X: Any) -> tuple[str, ...]:
    """Names of the columns that the model was fitted on."""
    for holder in (model, *(step for _, step in opened.steps[:1])):
        names = column_names(holder)
        if names is not None:
            return names
    # a first step that takes texts knows no columns
    return () if X is None else tuple(map(str, getattr(X, "columns", ())))


# -- taking models apart ---------------------------------------------------------------


def _open(model: Any, name: str) -> _Opened:
    """Find the estimator to explain, and the steps in front of it."""
    if isinstance(model, type) or not hasattr(model, "fit"):
        msg = f"{name} must be a fitted estimator, got {model!r}"
        raise TypeError(msg)
    if isinstance(model, FrozenEstimator):
        return _open(model.estimator, name)
    if callable(getattr(model, "explain", None)):
        return _Opened((), model)
    if isinstance(model, Pipeline):
        return _open_pipeline(model)
    check_is_fitted(model)
    if hasattr(model, "best_estimator_") or hasattr(model, "cv_results_"):
        return _open_search(model)
    if isinstance(model, _HOLDERS):
        inside = _open(model.estimator_, f"{name}.estimator_")
        step = model if isinstance(model, RFE) else _AsArray(model)
        front = ((type(model).__name__.lower(), step),)
        return _Opened(front + inside.steps, inside.estimator)
    raise TypeError(_refusal(model, name))


def _open_pipeline(pipeline: Any) -> _Opened:
    last = pipeline.steps[-1][1] if pipeline.steps else None
    if last is None or isinstance(last, str):
        msg = f"the pipeline ends in {last!r}, not in an estimator with explain"
        raise TypeError(msg)
    inside = _open(last, f"step {pipeline.steps[-1][0]!r}")
    check_is_fitted(pipeline)
    front = tuple(
        (name, step)
        for name, step in pipeline.steps[:-1]
        if step is not None and step != "passthrough" and _has_transform(step)
    )
    return _Opened(front + inside.steps, inside.estimator)


def _has_transform(step: Any) -> bool:
    # samplers, such as those of imbalanced-learn, only work in fit
    return hasattr(step, "transform") or not hasattr(step, "fit_resample")


def _open_search(search: Any) -> _Opened:
    if not hasattr(search, "best_estimator_"):
        msg = (
            f"{type(search).__name__} was fitted with refit={search.refit!r}, so it "
            "holds no fitted model: fit it with refit=True"
        )
        raise TypeError(msg)
    return _open(search.best_estimator_, "best_estimator_")


def _refusal(model: Any, name: str) -> str:
    cls = type(model).__name__
    why = next(
        (
            _NOT_THE_SAME[c.__name__]
            for c in type(model).__mro__
            if c.__name__ in _NOT_THE_SAME
        ),
        "it has no method explain",
    )
    return (
        f"{name} is a {cls}, which cannot be explained: {why}. Allowed are an "
        "estimator with explain, or a Pipeline, GridSearchCV (or another search), "
        "FrozenEstimator, RFE, RFECV, SelfTrainingClassifier or RANSACRegressor that "
        "holds one."
    )
