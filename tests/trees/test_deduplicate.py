"""Groups of trees on real data and at the edges."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skinterp.trees import BooleanTreeClassifier, deduplicate_trees
from skinterp.trees import _deduplicate as module
from skinterp.trees._tables import tree_tables


def grouped_by_key(trees, X, y):
    keys = [
        BooleanTreeClassifier(FrozenEstimator(t)).fit(X, y).canonical_key_
        for t in trees
    ]
    first = {key: i for i, key in reversed(list(enumerate(keys)))}
    order = sorted(first, key=first.get)
    return [order.index(key) for key in keys]


def bootstrapped(X, y, n, **params):
    forest = RandomForestClassifier(n, random_state=0, max_features=None, **params)
    return forest.fit(X, y).estimators_


@pytest.mark.parametrize("n_probes", [512, 1])
def test_groups_are_those_of_the_canonical_keys(monkeypatch, n_probes):
    """With one probe, hardly any signature settles the matter."""
    monkeypatch.setattr(module, "N_PROBES", n_probes)
    X, y = load_breast_cancer(return_X_y=True)
    X = np.greater(X, np.median(X, axis=0)).astype(float)
    trees = bootstrapped(X, y, 120, max_depth=3)
    labels, counts = deduplicate_trees(trees)
    assert labels.tolist() == grouped_by_key(trees, X, y.astype(float))
    assert counts.max() > 1
    assert counts.sum() == 120


def test_numeric_columns_and_several_classes():
    X, y = load_iris(return_X_y=True)
    trees = bootstrapped(X, y, 60, max_leaf_nodes=3)
    labels, _ = deduplicate_trees(trees)
    assert labels.tolist() == grouped_by_key(trees, X, y.astype(float))


def test_thresholds_that_change_nothing_are_ignored(twins):
    plain = (0, 1.0, 0, 1)
    padded = (0, 0.5, 0, (1, 3.0, (0, 1.0, 0, 1), (0, 1.0, (0, 0.7, 0, 0), 1)))
    labels, counts = deduplicate_trees(
        [twins.fitted_tree(s, 2) for s in (plain, padded, (0, 0.5, 0, 1))]
    )
    assert labels.tolist() == [0, 0, 1]
    assert counts.tolist() == [2, 1]


def test_tests_that_cannot_go_both_ways_are_followed_one_way(twins):
    plain = (0, 1.0, 0, 1)
    above = (0, 1.0, 0, (0, 0.5, 1, (0, 0.7, 0, 1)))
    below = (0, 1.0, (0, 2.0, (0, 1.5, 0, 1), 1), 1)
    labels, _ = deduplicate_trees(
        [twins.fitted_tree(s, 1) for s in (plain, above, below)]
    )
    assert labels.tolist() == [0, 0, 0]
    trees = [twins.boolean_tree(s, 1) for s in (plain, above, below)]
    for tree in trees:
        assert tree.canonical_key_ == trees[0].canonical_key_
        assert all(tree.is_equivalent(other) for other in trees)


def test_thresholds_belong_to_their_columns(twins):
    """Grids of 3 x 2 and 2 x 3 cells with the same thresholds and labels in a row."""
    wide = (0, 1.0, (1, 3.0, 0, 1), (0, 2.0, (1, 3.0, 1, 0), (1, 3.0, 0, 1)))
    tall = (0, 1.0, (1, 2.0, 0, 1), (1, 3.0, 0, 1))
    labels, _ = deduplicate_trees([twins.fitted_tree(s, 2) for s in (wide, tall)])
    assert labels.tolist() == [0, 1]


def test_thresholds_in_one_gap_of_float32_are_equal(twins):
    below = 0.5 + 2.0**-30
    specs = [(0, 0.5, 0, 1), (0, below, 0, 1), (0, 0.5 + 2.0**-20, 0, 1)]
    labels, _ = deduplicate_trees([twins.fitted_tree(s, 1) for s in specs])
    assert labels.tolist() == [0, 0, 1]
    first, second, third = (twins.boolean_tree(s, 1) for s in specs)
    assert first.is_equivalent(second)
    assert first.canonical_key_ == second.canonical_key_
    assert not first.is_equivalent(third)


def test_wide_grids_are_told_apart(twins):
    """Conjunctions of 12 bits that differ in one cell of 4096."""

    def conjunction(width, last):
        return 1 if width == 12 else (width, 0.5, last, conjunction(width + 1, last))

    alike = [conjunction(0, 0), conjunction(0, 0), (0, 0.5, 0, conjunction(1, 0))]
    flipped = conjunction(0, 0)
    holes = (11, 0.5, 0, flipped)
    labels, _ = deduplicate_trees(
        [twins.fitted_tree(s, 12) for s in [*alike, holes, (0, 0.5, 1, flipped)]]
    )
    assert labels.tolist() == [0, 0, 0, 0, 1]


def test_equal_signatures_are_only_a_hint(twins):
    """Each is 1 in one cell of a million of the same grid, which no probe hits."""

    def only(bits, j=0):
        if j == len(bits):
            return 1
        rest = only(bits, j + 1)
        return (j, 0.5, 0, rest) if bits[j] else (j, 0.5, rest, 0)

    cells = [[1] * 20, [1, 0] * 10, [0] * 20, [1] * 20]
    trees = [twins.fitted_tree(only(bits), 20) for bits in cells]
    found = [module.signature(tree_tables(t), np.arange(2)) for t in trees]
    assert len({key for key, _ in found}) == 1
    assert not any(settled for _, settled in found)
    assert deduplicate_trees(trees)[0].tolist() == [0, 1, 2, 0]


def test_no_trees_at_all():
    labels, counts = deduplicate_trees([])
    assert labels.shape == counts.shape == (0,)


def test_what_is_not_a_tree_is_named():
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier().fit(X, y)
    with pytest.raises(TypeError, match=r"trees\[1\] must be .*DecisionTreeRegressor"):
        deduplicate_trees([tree, DecisionTreeRegressor().fit(X, y)])
    with pytest.raises(
        ValueError, match=r"trees\[1\] was fitted on 2 .* trees\[0\] has 4"
    ):
        deduplicate_trees([tree, DecisionTreeClassifier().fit(X[:, :2], y)])
    frame = load_iris(as_frame=True).data
    turned = DecisionTreeClassifier().fit(frame[frame.columns[::-1]], y)
    with pytest.raises(ValueError, match=r"trees\[1\] was fitted on the columns"):
        deduplicate_trees([DecisionTreeClassifier().fit(frame, y), turned])
