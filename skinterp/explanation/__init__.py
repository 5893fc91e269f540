"""What ``explain`` returns: one class per kind of content."""

from __future__ import annotations

from skinterp.explanation._attribution import Attribution
from skinterp.explanation._base import Explanation
from skinterp.explanation._counterfactuals import Counterfactuals
from skinterp.explanation._data_values import DataValues
from skinterp.explanation._drawing import make_axes, shorten
from skinterp.explanation._edge_curves import EdgeCurves
from skinterp.explanation._expression import Expression
from skinterp.explanation._feature_map import FeatureMap, FeatureSource
from skinterp.explanation._kinds import kinds
from skinterp.explanation._lattice import Lattice
from skinterp.explanation._literals import Literal
from skinterp.explanation._rules import RuleSet
from skinterp.explanation._selection import Selection
from skinterp.explanation._shape_functions import ShapeFunctions
from skinterp.explanation._shapelet_rules import ShapeletRules
from skinterp.explanation._shapelets import ShapeletSet
from skinterp.explanation._slices import SliceSet
from skinterp.explanation._token_scores import TokenScores

load = Explanation.load

__all__ = [
    "Attribution",
    "Counterfactuals",
    "DataValues",
    "EdgeCurves",
    "Explanation",
    "Expression",
    "FeatureMap",
    "FeatureSource",
    "Lattice",
    "Literal",
    "RuleSet",
    "Selection",
    "ShapeFunctions",
    "ShapeletRules",
    "ShapeletSet",
    "SliceSet",
    "TokenScores",
    "kinds",
    "load",
    "make_axes",
    "shorten",
]
