"""What the entry point names: the hooks, and nothing that is slow to import."""

from __future__ import annotations

from skinterp.plugins import CommandSpec, MethodSpec, hookimpl

# The plugin interface of skinterp that this was written for.
API = (1, 1)


@hookimpl
def skinterp_methods() -> list[MethodSpec]:
    """Register the methods."""
    return [
        MethodSpec(
            name="xrd-simulator",
            targets={
                "transformer": "skinterp_xrd._simulator:PowderXRDSimulator",
            },
            summary="Powder patterns of crystals under random measuring conditions",
            explains={"local": ("peaks",)},
            input="structure",
            reference="arXiv:2406.15469",
        ),
        MethodSpec(
            name="xrd-symmetry",
            targets={
                "classifier": "skinterp_xrd._classifier:XRDSymmetryClassifier",
            },
            summary="Symmetry of a crystal from its powder pattern, by Bragg peaks",
            explains={"global": ("diffraction",), "local": ("diffraction",)},
            input="pattern",
            requires=("torch>=2.2", "skorch>=1.1"),
            reference="arXiv:2406.15469",
            search_space={
                "lr": (3e-4, 1e-3, 3e-3),
                "imbalance": ("logit_adjust", "balanced", "sampling"),
            },
            cost="expensive",
        ),
    ]


@hookimpl
def skinterp_kinds() -> dict[str, str]:
    """Register the kinds of explanation."""
    return {
        "diffraction": "skinterp_xrd._explanation:Diffraction",
        "peaks": "skinterp_xrd._peaks:PowderPeaks",
    }


@hookimpl
def skinterp_commands() -> list[CommandSpec]:
    """Register the command."""
    return [
        CommandSpec(
            name="xrd",
            target="skinterp_xrd._cli:app",
            summary="Simulate powder X-ray diffraction patterns of crystals",
        )
    ]
