# Written by `python -m skinterp._lazy` from the method table; do not edit.
from skinterp.symbolic._pan_selector import PANSelector as PANSelector
from skinterp.symbolic._pan_symbolic_regressor import PANSymbolicRegressor as PANSymbolicRegressor

__all__ = [
    "PANSelector",
    "PANSymbolicRegressor",
]
