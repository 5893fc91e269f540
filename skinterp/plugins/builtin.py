"""The table of built-in methods, registered through the same door as any plugin."""

from __future__ import annotations

from skinterp.plugins.hookspecs import hookimpl
from skinterp.plugins.spec import API_VERSION, MethodSpec

API = API_VERSION

METHODS = (
    MethodSpec(
        name="anova-tpnn",
        targets={
            "classifier": "skinterp.additive._anova_tpnn:ANOVATPNNClassifier",
            "regressor": "skinterp.additive._anova_tpnn:ANOVATPNNRegressor",
        },
        summary="Additive network of curves and surfaces that refits reproduce",
        explains={
            "global": ("shape-functions",),
            "local": ("shape-functions", "attribution"),
        },
        requires=("torch>=2.2", "skorch>=1.1"),
        reference="arXiv:2502.15215",
        search_space={"order": (1, 2), "n_bases": (8, 16, 32)},
        cost="moderate",
        exports=("skinterp.additive._anova_tpnn_explain:stability_score",),
    ),
    MethodSpec(
        name="boolean-tree",
        targets={
            "classifier": "skinterp.trees._boolean_tree:BooleanTreeClassifier",
        },
        summary="Decision tree read as Boolean rules; decides with missing cells",
        explains={"global": ("rules",), "local": ("rules",)},
        reference="arXiv:2506.14143",
        # No search space: what matters are the parameters of the tree inside, and the
        # default, None, has none that a grid could name.
        tier="stable",
        exports=("skinterp.trees._deduplicate:deduplicate_trees",),
        trusted_types=("sklearn.tree._tree.Tree",),
    ),
    MethodSpec(
        name="insta-shap",
        targets={
            "classifier": "skinterp.additive._insta_shap:InstaSHAPClassifier",
            "regressor": "skinterp.additive._insta_shap:InstaSHAPRegressor",
        },
        summary="Additive network that knows its own Shapley values, or a teacher's",
        explains={
            "global": ("shape-functions", "attribution"),
            "local": ("attribution", "shape-functions"),
        },
        requires=("torch>=2.2", "skorch>=1.1"),
        reference="arXiv:2502.14177",
        search_space={"order": (1, 2), "max_unmasked": (0.0, 0.5)},
        cost="moderate",
    ),
    MethodSpec(
        name="meta-kan",
        targets={
            "classifier": "skinterp.kan._meta_kan:MetaKANClassifier",
            "regressor": "skinterp.kan._meta_kan:MetaKANRegressor",
        },
        summary="Network of curves that are made from one number per edge",
        explains={
            "global": ("edge-curves", "attribution"),
            "local": ("attribution", "edge-curves"),
        },
        requires=("torch>=2.2", "skorch>=1.1"),
        reference="arXiv:2506.07549",
        search_space={"hidden_layer_sizes": ((8,), (16,)), "grid_size": (3, 5)},
        cost="moderate",
        exports=(
            "skinterp.kan._kan:KANClassifier",
            "skinterp.kan._kan:KANRegressor",
        ),
    ),
    MethodSpec(
        name="pan-selector",
        targets={"selector": "skinterp.symbolic._pan_selector:PANSelector"},
        summary="Screens wide tables by the split shares of Bayesian trees",
        explains={"global": ("selection",)},
        reference="arXiv:2410.13681",
        search_space={"rule": ("vip_rank", "g_se")},
        cost="moderate",
    ),
    MethodSpec(
        name="pan-symbolic-regressor",
        targets={
            "regressor": "skinterp.symbolic._pan_symbolic_regressor"
            ":PANSymbolicRegressor",
        },
        summary="Screens a wide table, then searches a formula on the columns left",
        explains={"global": ("expression",)},
        requires=("sympy>=1.12", "pyoperon>=0.6"),
        reference="arXiv:2410.13681",
        search_space={"scale": ("spread", "standard")},
        cost="expensive",
    ),
)

KINDS = {
    "attribution": "skinterp.explanation:Attribution",
    "edge-curves": "skinterp.explanation:EdgeCurves",
    "expression": "skinterp.explanation:Expression",
    "rules": "skinterp.explanation:RuleSet",
    "selection": "skinterp.explanation:Selection",
    "shape-functions": "skinterp.explanation:ShapeFunctions",
}


@hookimpl
def skinterp_methods() -> tuple[MethodSpec, ...]:
    """Register the built-in methods."""
    return METHODS


@hookimpl
def skinterp_kinds() -> dict[str, str]:
    """Register the built-in kinds of explanation."""
    return KINDS
