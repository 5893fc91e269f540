# Written by `python -m skinterp._lazy` from the method table; do not edit.
from skinterp.additive._anova_tpnn import ANOVATPNNClassifier as ANOVATPNNClassifier
from skinterp.additive._anova_tpnn import ANOVATPNNRegressor as ANOVATPNNRegressor
from skinterp.additive._anova_tpnn_explain import stability_score as stability_score
from skinterp.additive._insta_shap import InstaSHAPClassifier as InstaSHAPClassifier
from skinterp.additive._insta_shap import InstaSHAPRegressor as InstaSHAPRegressor

__all__ = [
    "ANOVATPNNClassifier",
    "ANOVATPNNRegressor",
    "InstaSHAPClassifier",
    "InstaSHAPRegressor",
    "stability_score",
]
