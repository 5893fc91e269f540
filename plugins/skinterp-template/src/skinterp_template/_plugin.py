"""What the entry point names: the hooks, and nothing that is slow to import."""

from skinterp.plugins import MethodSpec, hookimpl

# The plugin interface of skinterp that this was written for.
API = (1, 1)


@hookimpl
def skinterp_methods() -> list[MethodSpec]:
    """Register the method."""
    return [
        MethodSpec(
            name="shrunken-centroid",
            targets={"classifier": "skinterp_template._centroid:CentroidClassifier"},
            summary="Nearest class centre; features that do not help are left out",
            explains={"local": ("attribution",), "global": ("attribution",)},
            reference="doi:10.1073/pnas.082099299",
            search_space={"shrinkage": (0.0, 1.0, 2.0, 4.0)},
        )
    ]
