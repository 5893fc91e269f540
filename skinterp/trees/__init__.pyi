# Written by `python -m skinterp._lazy` from the method table; do not edit.
from skinterp.trees._boolean_tree import BooleanTreeClassifier as BooleanTreeClassifier
from skinterp.trees._deduplicate import deduplicate_trees as deduplicate_trees

__all__ = [
    "BooleanTreeClassifier",
    "deduplicate_trees",
]
