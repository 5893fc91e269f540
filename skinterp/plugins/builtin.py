"""The table of built-in methods, registered through the same door as any plugin."""

from __future__ import annotations

from skinterp.plugins.hookspecs import hookimpl
from skinterp.plugins.spec import API_VERSION, CommandSpec, MethodSpec

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
        name="brace-explainer",
        targets={
            "explainer": "skinterp.counterfactual._brace_explainer:BraceExplainer",
        },
        summary="Nearest rows of another class, along a graph of causes",
        explains={"local": ("counterfactuals",)},
        reference="arXiv:2505.02435",
        # No search space: the model inside decides how well it predicts.
        trusted_types=(
            "skinterp.counterfactual._causal_model.CausalModel",
            "skinterp.counterfactual._causal_model.LinearMechanism",
            "skinterp.counterfactual._table.Table",
        ),
    ),
    MethodSpec(
        name="concept-lattice",
        targets={"transformer": "skinterp.lattice._concept_lattice:ConceptLattice"},
        summary="All concepts of a table, their order, and the implications that hold",
        explains={"global": ("lattice",), "local": ("lattice",)},
        reference="arXiv:2504.08778",
        search_space={"min_support": (0.01, 0.05, 0.2)},
        cost="moderate",
        exports=(
            "skinterp.lattice._burmeister:read_burmeister",
            "skinterp.lattice._burmeister:write_burmeister",
        ),
    ),
    MethodSpec(
        name="error-slice-finder",
        targets={
            "finder": "skinterp.slices._error_slice_finder:ErrorSliceFinder",
        },
        summary="Every conjunction of tags where a model errs, re-estimated on "
        "rows held out",
        explains={"global": ("slices",), "local": ("slices",)},
        reference="arXiv:2501.16751",
        search_space={"max_order": (1, 2, 3)},
        trusted_types=("skinterp.slices._tags.Column",),
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
        name="interpgn",
        targets={
            "classifier": "skinterp.series._interpgn:InterpGNClassifier",
            "regressor": "skinterp.series._interpgn_regressor:InterpGNRegressor",
            "transformer": "skinterp.series._interpgn_transformer"
            ":ShapeletPredicateTransformer",
        },
        summary="Learnt shapelets decide where they are sure, a deep network elsewhere",
        input="series",
        explains={"global": ("shapelet-rules",), "local": ("shapelet-rules",)},
        requires=("torch>=2.2", "skorch>=1.1"),
        reference="https://openreview.net/forum?id=n34taxF0TC",
        search_space={"n_shapelets": (5, 10), "lr": (5e-3, 2e-3)},
        cost="expensive",
        exports=("skinterp.series._interpgn:ShapeletBottleneckClassifier",),
        trusted_types=(
            "skinterp.series._interpgn_regressor.InterpGNRegressor",
            "skinterp.series._interpgn.ShapeletBottleneckClassifier",
            "skinterp.series._interpgn_params.small_fcn",
        ),
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
        name="mlm-context",
        targets={"transformer": "skinterp.lattice._mlm_context:MLMContext"},
        summary="Reads a table of objects and attributes out of a language model",
        input="text",
        explains={"global": ("lattice",), "local": ("lattice",)},
        reference="arXiv:2504.08778",
        search_space={"pooling": ("max", "mean"), "threshold": (0.3, 0.5, 0.7)},
        exports=(
            "skinterp.lattice._context_scores:context_scores",
            "skinterp.lattice._context_scores:ranking_scores",
        ),
        trusted_types=("skinterp.lattice._mlm_context.score_by_letters",),
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
    MethodSpec(
        name="selected-data",
        targets={
            "classifier": "skinterp.valuation._selected_data:SelectedDataClassifier",
            "regressor": "skinterp.valuation._selected_data:SelectedDataRegressor",
        },
        summary="A model trained on the rows that are worth it, by their data values",
        explains={"global": ("data-values",)},
        reference="https://openreview.net/forum?id=lOfuvmi2HT",
        cost="expensive",
    ),
    MethodSpec(
        name="shapelet-transform",
        targets={
            "transformer": "skinterp.series._shapelet_transformer:ShapeletTransformer",
        },
        summary="Distances of series to short pieces of them that tell classes apart",
        input="series",
        explains={"global": ("shapelets",), "local": ("shapelets",)},
        reference="doi:10.1007/978-3-662-55608-5_2",
        search_space={"n_candidates": (500, 2000), "max_length": (0.3, None)},
        cost="moderate",
    ),
    MethodSpec(
        name="softshape",
        targets={"classifier": "skinterp.series._softshape:SoftShapeClassifier"},
        summary="Network over scored windows of a series; weak ones are summed",
        input="series",
        explains={
            "global": ("token-scores", "attribution"),
            "local": ("token-scores", "attribution"),
        },
        requires=("torch>=2.2", "skorch>=1.1"),
        reference="arXiv:2505.06892",
        search_space={"shape_length": (0.05, 0.1, 0.2, 0.4, 0.8)},
        cost="expensive",
    ),
    MethodSpec(
        name="top-data-values",
        targets={"finder": "skinterp.valuation._top_data_values:TopDataValues"},
        summary="Finds the most or least valuable training rows in few trainings",
        explains={"global": ("data-values",)},
        reference="https://openreview.net/forum?id=lOfuvmi2HT",
        search_space={"m": (0.05, 0.1, 0.2), "lowest": (False, True)},
        cost="expensive",
        exports=(
            "skinterp.valuation._knn:KNNUtility",
            "skinterp.valuation._knn:knn_shapley",
        ),
    ),
)

KINDS = {
    "attribution": "skinterp.explanation:Attribution",
    "counterfactuals": "skinterp.explanation:Counterfactuals",
    "data-values": "skinterp.explanation:DataValues",
    "edge-curves": "skinterp.explanation:EdgeCurves",
    "expression": "skinterp.explanation:Expression",
    "lattice": "skinterp.explanation:Lattice",
    "rules": "skinterp.explanation:RuleSet",
    "selection": "skinterp.explanation:Selection",
    "shape-functions": "skinterp.explanation:ShapeFunctions",
    "shapelet-rules": "skinterp.explanation:ShapeletRules",
    "shapelets": "skinterp.explanation:ShapeletSet",
    "slices": "skinterp.explanation:SliceSet",
    "token-scores": "skinterp.explanation:TokenScores",
}

# What the command brings itself; no plugin gets these names.
COMMANDS = (
    CommandSpec(
        name="demo",
        target="skinterp.cli._app:app",
        summary="Explain a model of real data, as text and as an HTML page",
    ),
    CommandSpec(
        name="methods",
        target="skinterp.cli._app:app",
        summary="List the methods, those of plugins too",
    ),
    CommandSpec(
        name="plugins",
        target="skinterp.cli._plugins:app",
        summary="List the plugins, or show one: skinterp plugins info NAME",
    ),
)


@hookimpl
def skinterp_methods() -> tuple[MethodSpec, ...]:
    """Register the built-in methods."""
    return METHODS


@hookimpl
def skinterp_kinds() -> dict[str, str]:
    """Register the built-in kinds of explanation."""
    return KINDS


@hookimpl
def skinterp_commands() -> tuple[CommandSpec, ...]:
    """Register the built-in commands, so that their names are taken."""
    return COMMANDS
