"""Broken ways to take labels, weights, frames, odd shapes, layouts and series."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator

from broken._table import table
from skinterp.testing.mocks import (
    CentroidClassifier,
    LinearRegressor,
    SeriesCentroidClassifier,
)

BROKEN_DATA, breaks = table()


class PassesOn(BaseEstimator):
    """Fit what ``_seen`` makes of X, y and the weights."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(*self._seen(X, y, sample_weight))


class Classifier(PassesOn, CentroidClassifier):
    pass


class Regressor(PassesOn, LinearRegressor):
    pass


class Series(PassesOn, SeriesCentroidClassifier):
    pass


# -- labels ------------------------------------------------------------------------


@breaks("check_label_types")
class PredictsObjects(CentroidClassifier):
    def predict(self, X):
        return super().predict(X).astype(object)


@breaks("check_categorical_labels")
class KeepsUnusedLevels(CentroidClassifier):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        if hasattr(y, "cat"):
            self.classes_ = np.array(y.cat.categories)
        return self


@breaks("check_predict_proba_columns")
class ColumnsReversed(CentroidClassifier):
    def predict_proba(self, X):
        return super().predict_proba(X)[:, ::-1]


@breaks("check_one_class")
class NeedsTwoClasses(Classifier):
    def _seen(self, X, y, weight):
        np.unique(y)[1]
        return X, y, weight


@breaks("check_rare_class")
class SpreadOfOneMember(CentroidClassifier):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        if np.unique(y, return_counts=True)[1].min() == 1:
            self.intercept_ = self.intercept_ * np.nan
        return self


@breaks("check_continuous_labels")
class CutsContinuousLabels(Classifier):
    def _seen(self, X, y, weight):
        y = np.asarray(y)
        return X, y > 0 if y.dtype.kind == "f" else y, weight


@breaks("check_binary_only")
class BinaryInName(CentroidClassifier):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@breaks("check_target_shapes")
class RavelsInSilence(Classifier):
    def _seen(self, X, y, weight):
        return X, np.ravel(y), weight


@breaks("check_two_targets")
class TakesFirstTarget(Regressor):
    def _seen(self, X, y, weight):
        y = np.asarray(y)
        return X, y[:, 0] if y.ndim == 2 else y, weight


@breaks("check_integer_target")
class DividesIntegers(Regressor):
    def _seen(self, X, y, weight):
        y = np.asarray(y)
        return X, y // 2 if y.dtype.kind == "i" else y, weight


# -- weights -----------------------------------------------------------------------


@breaks("check_zero_weights", "check_scaled_weights", "check_repeated_rows")
class AddsToWeights(Regressor):
    def _seen(self, X, y, weight):
        rng = np.random.default_rng(0)
        y = np.asarray(y) + rng.normal(size=np.shape(y))
        return X, y, None if weight is None else np.asarray(weight) + 0.5


@breaks("check_weight_length")
class ResizesWeights(Regressor):
    def _seen(self, X, y, weight):
        return X, y, None if weight is None else np.resize(weight, len(y))


@breaks("check_weights_are_used")
class ForgetsWeights(Regressor):
    def _seen(self, X, y, weight):
        return X, y, None


# -- frames ------------------------------------------------------------------------


@breaks("check_odd_column_names")
class ForgetsColumns(Classifier):
    def _seen(self, X, y, weight):
        return np.asarray(X), y, weight


@breaks("check_names_in_explanation")
class NamesOfItsOwn(CentroidClassifier):
    def _names(self):
        return tuple(f"f{i}" for i in range(len(self.coef_)))


@breaks("check_array_after_frame")
class SilencesWarnings(CentroidClassifier):
    def _validate_X(self, X):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return super()._validate_X(X)


@breaks("check_polars_frame")
class KnowsPandasOnly(Classifier):
    def _seen(self, X, y, weight):
        return X.iloc[:] if hasattr(X, "columns") else X, y, weight


@breaks("check_explain_columns")
class TakesAnyColumns(CentroidClassifier):
    def _validate_X(self, X):
        return np.asarray(X, dtype=float)


@breaks("check_numeric_columns")
class LosesNullableColumns(Classifier):
    def _seen(self, X, y, weight):
        if hasattr(X, "dtypes") and (X.dtypes.astype(str) == "Int64").any():
            X = X * 0.0
        return X, y, weight


@breaks("check_text_columns")
class LooksUpText(Classifier):
    def _seen(self, X, y, weight):
        if hasattr(X, "columns") and "color" in X.columns:
            {}[X["color"][0]]
        return X, y, weight


@breaks("check_unseen_category")
class CategoryLookup(CentroidClassifier):
    """Codes categories by a dictionary, which lacks what it has not seen."""

    def fit(self, X, y, sample_weight=None):
        if hasattr(X, "columns"):
            words = [v for c in X.columns for v in X[c] if isinstance(v, str)]
            self.codes_ = {word: i for i, word in enumerate(sorted(set(words)))}
            X = self._coded(X)
        return super().fit(X, y, sample_weight)

    def _coded(self, X):
        coded = X.copy()
        for name in X.columns:
            if X[name].dtype.name == "category":
                coded[name] = [float(self.codes_[word]) for word in X[name]]
        return coded

    def _validate_X(self, X):
        return super()._validate_X(self._coded(X) if hasattr(X, "columns") else X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


@breaks("check_constant_columns")
class WeighsConstants(CentroidClassifier):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.scale_ = np.ones_like(self.scale_)
        self.coef_ = self.coef_ + 1e-3
        return self


@breaks("check_missing_and_infinite")
class HandsNanOn(LinearRegressor):
    def _validate_X(self, X):
        return np.asarray(X, dtype=float)


@breaks("check_kinds_of_missing")
class KnowsNanOnly(Classifier):
    def _seen(self, X, y, weight):
        return self._filled(X), y, weight

    def _validate_X(self, X):
        return super()._validate_X(self._filled(X))

    def _filled(self, X):
        return np.nan_to_num(np.asarray(X, dtype=float))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


# -- edges -------------------------------------------------------------------------


@breaks("check_few_rows")
class NeedsFourRows(Classifier):
    def _seen(self, X, y, weight):
        y[3]
        return X, y, weight


@breaks("check_one_column")
class NeedsTwoColumns(Classifier):
    def _seen(self, X, y, weight):
        np.asarray(X)[:, 1]
        return X, y, weight


@breaks("check_no_rows")
class ScalesByLargestRow(LinearRegressor):
    def _validate_X(self, X):
        X = np.asarray(X, dtype=float)
        return X + 0.0 * X.max()


@breaks("check_one_row")
class CentersTheBatch(LinearRegressor):
    def _validate_X(self, X):
        X = super()._validate_X(X)
        return X - X.mean(axis=0)


@breaks("check_explain_one_row")
class ExplainsBySpreadOfBatch(LinearRegressor):
    def _explain(self, X, *, kind):
        return super()._explain(X if X is None else X + len(X), kind=kind)


@breaks("check_one_dimensional_row")
class GuessesShape(LinearRegressor):
    def _validate_X(self, X):
        return super()._validate_X(np.atleast_2d(X))


@breaks("check_binary_table")
class ExplodesWithColumns(Classifier):
    def _seen(self, X, y, weight):
        if np.shape(X)[1] > 20:
            msg = "2 ** 24 subsets"
            raise MemoryError(msg)
        return X, y, weight


# -- memory layout -----------------------------------------------------------------


@breaks("check_read_only_input")
class WritesToInput(Classifier):
    def _seen(self, X, y, weight):
        X = np.asarray(X)
        X[:] = X
        return X, y, weight


@breaks("check_input_unchanged")
class ChangesInput(Classifier):
    def _seen(self, X, y, weight):
        X = np.asarray(X)
        if X.flags.writeable:
            X[0, 0] += 1.0
        return X, y, weight


@breaks("check_memory_layouts")
class NeedsAnArray(Classifier):
    def _seen(self, X, y, weight):
        X.ndim  # noqa: B018
        return X, y, weight


@breaks("check_small_dtypes")
class OverflowsSmallIntegers(Regressor):
    def _seen(self, X, y, weight):
        return np.asarray(X) * np.asarray(X).dtype.type(100), y, weight

    def _validate_X(self, X):
        X = np.asarray(X)
        return super()._validate_X(X * X.dtype.type(100))


@breaks("check_float32_faithful")
class PredictsInHalf(LinearRegressor):
    def predict(self, X):
        predicted = super().predict(X)
        if np.asarray(X).dtype == np.float32:
            return np.round(predicted, -4)
        return predicted


# -- series ------------------------------------------------------------------------


@breaks("check_one_channel")
class NeedsThreeDimensions(SeriesCentroidClassifier):
    def _series(self, X):
        if np.ndim(X) == 2:
            msg = "X must have three dimensions"
            raise ValueError(msg)
        return super()._series(X)


@breaks("check_series_attributes")
class ForgetsChannels(SeriesCentroidClassifier):
    @property
    def n_channels_(self):
        return None


@breaks("check_unequal_lengths")
class StacksAnything(SeriesCentroidClassifier):
    def _series(self, X):
        return super()._series(np.asarray(X, dtype=float))


@breaks("check_other_length")
class ReadsBeyondTheEnd(SeriesCentroidClassifier):
    def _validate_X(self, X):
        np.asarray(X)[..., self._shape[1] - 1]
        return super()._validate_X(X)


@breaks("check_other_channels")
class LooksAtOneChannel(SeriesCentroidClassifier):
    def _validate_X(self, X):
        return super()._validate_X(X[:, :1] if np.ndim(X) == 3 else X)


@breaks("check_flat_and_shifted_series")
class DividesBySpread(SeriesCentroidClassifier):
    def _flatten(self, X):
        return super()._flatten(X / X.std(axis=2, keepdims=True))


@breaks("check_missing_time_points")
class PassesGapsOn(SeriesCentroidClassifier):
    def _series(self, X):
        gaps = np.isnan(np.asarray(X, dtype=float))
        data = super()._series(np.nan_to_num(X))
        data[gaps.reshape(data.shape)] = np.nan
        return data


@breaks("check_infinite_time_points")
class PassesInfinityOn(SeriesCentroidClassifier):
    def _series(self, X):
        data = np.asarray(X, dtype=float)
        if data.ndim > 1 and np.isinf(data).any():
            return np.where(np.isinf(data), np.nan, data).reshape(len(data), 1, -1)
        return super()._series(X)


@breaks("check_containers")
class ReadsFramesBackwards(SeriesCentroidClassifier):
    def _series(self, X):
        if hasattr(X, "columns") and X.shape[1] > 1:
            X = X.to_numpy()[:, ::-1]
        return super()._series(X)


@breaks("check_channel_names")
class ForgetsNamesOfChannels(SeriesCentroidClassifier):
    def _series(self, X):
        if hasattr(X, "columns") and X.shape[1] == 2:
            X = np.stack([np.stack(X.iloc[:, j].to_list()) for j in range(2)], axis=1)
        return super()._series(X)


@breaks("check_series_in_pipeline")
class CannotBeCrossValidated(Series):
    def _seen(self, X, y, sample_weight):
        if len(X) == 10:
            return X, np.where(np.arange(10) == 0, np.nan, 0.0), sample_weight
        return X, y, sample_weight
