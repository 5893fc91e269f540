# Written by `python -m skinterp._lazy` from the method table; do not edit.
from skinterp.kan._kan import KANClassifier as KANClassifier
from skinterp.kan._kan import KANRegressor as KANRegressor
from skinterp.kan._meta_kan import MetaKANClassifier as MetaKANClassifier
from skinterp.kan._meta_kan import MetaKANRegressor as MetaKANRegressor

__all__ = [
    "KANClassifier",
    "KANRegressor",
    "MetaKANClassifier",
    "MetaKANRegressor",
]
