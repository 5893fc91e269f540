# Written by `python -m skinterp._lazy` from the method table; do not edit.
from skinterp.valuation._knn import KNNUtility as KNNUtility
from skinterp.valuation._knn import knn_shapley as knn_shapley
from skinterp.valuation._selected_data import SelectedDataClassifier as SelectedDataClassifier
from skinterp.valuation._selected_data import SelectedDataRegressor as SelectedDataRegressor
from skinterp.valuation._top_data_values import TopDataValues as TopDataValues

__all__ = [
    "KNNUtility",
    "SelectedDataClassifier",
    "SelectedDataRegressor",
    "TopDataValues",
    "knn_shapley",
]
