"""Broken ways to take parameters, to fit, and to meet scikit-learn."""

import numpy as np

from broken._table import table
from skinterp.base import SkinterpTags
from skinterp.testing.mocks import (
    CenterTransformer,
    CentroidClassifier,
    LinearRegressor,
)

BROKEN_PROTOCOL, breaks = table()


@breaks("check_odd_legal_parameters")
class FitChangesParameter(LinearRegressor):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.alpha = float(self.alpha)
        return self


@breaks("check_wrong_parameters", "check_param_validation")
class TakesAnyParameter(CentroidClassifier):
    def fit(self, X, y, sample_weight=None):
        return CentroidClassifier.fit.__wrapped__(self, X, y, sample_weight)


@breaks("check_expected_failures_exist")
class ExcusesNothing(CenterTransformer):
    def __skinterp_tags__(self):
        return SkinterpTags(expected_failures={"check_no_such_thing": "a slip"})


@breaks("check_kind_of_estimator")
class ForgetsItsKind(CentroidClassifier):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = None
        return tags


@breaks("check_grid_search")
class ScoreIsNan(CentroidClassifier):
    def score(self, X, y, sample_weight=None):
        return float("nan")


@breaks("check_not_fitted")
class PredictTrustsFit(CentroidClassifier):
    def predict(self, X):
        return self.classes_[self._scores(np.asarray(X)).argmax(axis=1)]


@breaks("check_explain_before_fit")
class ExplainTrustsFit(CentroidClassifier):
    def explain(self, X=None, *, kind=None):
        self._shown = self.coef_
        return super().explain(X, kind=kind)


@breaks("check_refit")
class RemembersFirstFit(LinearRegressor):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.first_ = getattr(self, "first_", 0.0) or self.intercept_[0]
        self.intercept_ = self.intercept_ + 1e-3 * self.first_
        return self


@breaks("check_interrupt")
class LooksFittedTooEarly(CentroidClassifier):
    def fit(self, X, y, sample_weight=None):
        self.coef_ = None
        return super().fit(X, y, sample_weight)


@breaks("check_fit_is_cheap")
class WastesMemory(CenterTransformer):
    def fit(self, X, y=None):
        self._waste = np.empty(30_000_000).size
        return super().fit(X, y)


@breaks("check_docstring_example")
class WithoutExample(CenterTransformer):
    """Take the mean off each column."""


@breaks("check_estimators_fit_returns_self")
class FitReturnsNothing(CentroidClassifier):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)


@breaks("check_inplace_ensure_writeable")
class CentersInPlace(CenterTransformer):
    def fit(self, X, y=None):
        if isinstance(X, np.ndarray):
            X -= 0.0
        return super().fit(X, y)


@breaks("check_dataframe_column_names_consistency")
class ForgetsNames(CentroidClassifier):
    def fit(self, X, y, sample_weight=None):
        return super().fit(np.asarray(X), y, sample_weight)


@breaks("check_transformer_get_feature_names_out")
class TooManyNamesOut(CenterTransformer):
    def get_feature_names_out(self, input_features=None):
        names = super().get_feature_names_out(input_features)
        return np.append(names, "extra")


@breaks("check_transformer_get_feature_names_out_pandas")
class NamesOutOfItsOwn(CenterTransformer):
    def get_feature_names_out(self, input_features=None):
        return np.array([f"x{i}" for i in range(self.n_features_in_)], dtype=object)


@breaks("check_set_output_transform")
class OtherNumbersAfterSetOutput(CenterTransformer):
    def transform(self, X):
        return super().transform(X) + hasattr(self, "_sklearn_output_config")


@breaks(
    "check_set_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_global_output_transform_pandas",
    "check_global_set_output_transform_polars",
)
class IgnoresSetOutput(CenterTransformer, auto_wrap_output_keys=None):
    def set_output(self, *, transform=None):
        return self
