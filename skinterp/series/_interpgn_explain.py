"""What the estimators with learnt shapelets say of themselves and of their series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from skinterp.explanation import ShapeletRules

if TYPE_CHECKING:
    from skinterp.series._interpgn_core import Floats, ShapeletNetwork

__all__ = ["explain_model", "explain_rows"]


def explain_model(model: ShapeletNetwork) -> ShapeletRules:
    """The rules, and how far they can be read."""
    return ShapeletRules(scope="global", quality=model.quality_, **_rules(model))


def explain_rows(model: ShapeletNetwork, X: Floats) -> ShapeletRules:
    """How the rules apply to each series."""
    said = model._answer(X)
    prediction, target = model._predictions(said)
    return ShapeletRules(
        scope="local",
        series=X,
        predicates=said.predicates,
        starts=said.starts,
        share=said.eta,
        target=target,
        prediction=prediction,
        **_rules(model),
    )


def _rules(model: Any) -> dict[str, Any]:
    config, shapelets = model.module_config_, model.shapelets_
    strides = dict(zip(config["lengths"], config["strides"], strict=True))
    lengths = np.array([shape["length"] for shape in shapelets])
    return {
        "feature_names": model.channel_names_,
        "target_names": getattr(model, "classes_", np.array(["y"])),
        "values": np.concatenate([shape["values"] for shape in shapelets]),
        "lengths": lengths,
        "channel": np.array([shape["channel"] for shape in shapelets]),
        "stride": np.array([strides[int(n)] for n in lengths]),
        "weights": model.rules_.T,
        "base": model.base_,
        "mean_predicate": model.mean_predicates_,
        "epsilon": config["epsilon"],
        "distance": config["distance"],
    }
