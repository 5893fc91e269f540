# Written by `python -m skinterp._lazy` from the method table; do not edit.
from skinterp.additive._anova_tpnn import ANOVATPNNClassifier as ANOVATPNNClassifier
from skinterp.additive._anova_tpnn import ANOVATPNNRegressor as ANOVATPNNRegressor
from skinterp.additive._anova_tpnn_explain import stability_score as stability_score

__all__ = [
    "ANOVATPNNClassifier",
    "ANOVATPNNRegressor",
    "stability_score",
]
