"""The table of built-in methods, registered through the same door as any plugin."""

from __future__ import annotations

from skinterp.plugins.hookspecs import hookimpl
from skinterp.plugins.spec import API_VERSION, MethodSpec

API = API_VERSION

METHODS = (
    MethodSpec(
        name="boolean-tree",
        targets={
            "classifier": "skinterp.trees._boolean_tree:BooleanTreeClassifier",
        },
        summary="Decision tree read as Boolean rules; decides with missing cells",
        explains={"global": ("rules",), "local": ("rules",)},
        reference="arXiv:2506.14143",
        exports=("skinterp.trees._deduplicate:deduplicate_trees",),
        trusted_types=("sklearn.tree._tree.Tree",),
    ),
)

KINDS = {
    "attribution": "skinterp.explanation:Attribution",
    "rules": "skinterp.explanation:RuleSet",
}


@hookimpl
def skinterp_methods() -> tuple[MethodSpec, ...]:
    """Register the built-in methods."""
    return METHODS


@hookimpl
def skinterp_kinds() -> dict[str, str]:
    """Register the built-in kinds of explanation."""
    return KINDS
