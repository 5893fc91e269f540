# Written by `python -m skinterp._lazy` from the method table; do not edit.
from skinterp.counterfactual._brace_explainer import BraceExplainer as BraceExplainer

__all__ = [
    "BraceExplainer",
]
