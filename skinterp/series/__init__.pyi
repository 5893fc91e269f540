# Written by `python -m skinterp._lazy` from the method table; do not edit.
from skinterp.series._interpgn import InterpGNClassifier as InterpGNClassifier
from skinterp.series._interpgn import ShapeletBottleneckClassifier as ShapeletBottleneckClassifier
from skinterp.series._interpgn_regressor import InterpGNRegressor as InterpGNRegressor
from skinterp.series._interpgn_transformer import ShapeletPredicateTransformer as ShapeletPredicateTransformer
from skinterp.series._shapelet_transformer import ShapeletTransformer as ShapeletTransformer
from skinterp.series._softshape import SoftShapeClassifier as SoftShapeClassifier

__all__ = [
    "InterpGNClassifier",
    "InterpGNRegressor",
    "ShapeletBottleneckClassifier",
    "ShapeletPredicateTransformer",
    "ShapeletTransformer",
    "SoftShapeClassifier",
]
