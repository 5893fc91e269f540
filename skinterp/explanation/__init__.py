"""What ``explain`` returns: one class per kind of content."""

from __future__ import annotations

from skinterp.explanation._attribution import Attribution
from skinterp.explanation._base import Explanation
from skinterp.explanation._feature_map import FeatureMap, FeatureSource
from skinterp.explanation._kinds import kinds
from skinterp.explanation._literals import Literal
from skinterp.explanation._rules import RuleSet

load = Explanation.load

__all__ = [
    "Attribution",
    "Explanation",
    "FeatureMap",
    "FeatureSource",
    "Literal",
    "RuleSet",
    "kinds",
    "load",
]
