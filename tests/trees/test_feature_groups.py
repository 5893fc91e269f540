"""Columns that are measured together."""

import itertools
import string

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_wine
from sklearn.tree import DecisionTreeClassifier

from skinterp.trees import BooleanTreeClassifier
from skinterp.trees import _acquisition as acquisition

NAN = np.nan
# The class is 1 if the raw x is 2; the columns are x <= 1, x <= 2 and another one.
BINS = [[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
IN_THE_MIDDLE = (0, 0.5, (1, 0.5, 0, 1), 0)


@st.composite
def grouped(draw, twins):
    """A tree with groups of columns and their costs."""
    spec, n, X, costs = draw(twins.problems())
    groups = draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n))
    return spec, n, X, [costs[group] for group in groups], groups


@given(data=st.data())
def test_the_exact_policy_is_optimal(twins, data):
    spec, n, X, costs, groups = data.draw(grouped(twins))
    tree = twins.boolean_tree(spec, n, X=X, feature_costs=costs, feature_groups=groups)
    axes = twins.axes_of(spec, n_features=n)
    rows = [twins.cells(axes, row) for row in X]
    best = twins.least_cost(spec, axes, rows, costs, {}, groups)
    assert tree.expected_cost() == pytest.approx(best)
    assert twins.followed_cost(tree, np.array(X), costs, groups) == pytest.approx(best)


@given(data=st.data())
def test_the_rest_of_a_group_that_is_known_in_part_is_free(twins, data):
    spec, n, X, costs, groups = data.draw(grouped(twins))
    known = data.draw(st.sets(st.integers(0, n - 1), min_size=1))
    tree = twins.boolean_tree(spec, n, X=X, feature_costs=costs, feature_groups=groups)
    axes = twins.axes_of(spec, n_features=n)
    alike = [row for row in X if all(row[j] == X[0][j] for j in known)]
    rows = [twins.cells(axes, row) for row in alike]
    seen = {j: rows[0][j] for j in known}
    best = twins.least_cost(spec, axes, rows, costs, seen, groups)
    cost = twins.followed_cost(tree, np.array(alike), costs, groups, known)
    assert cost == pytest.approx(best)


@given(data=st.data())
def test_the_tree_order_pays_once_for_a_group(twins, data):
    spec, n, X, costs, groups = data.draw(grouped(twins))
    tree = twins.boolean_tree(spec, n, X=X, feature_costs=costs, feature_groups=groups)
    axes = twins.axes_of(spec, n_features=n)
    total = 0
    for row in X:
        known, node = np.full(n, NAN), spec
        while isinstance(node, tuple) and len(twins.answers(spec, known, axes)) > 1:
            j, threshold, below, above = node
            if np.isnan(known[j]) and len(twins.answers(node, known, axes)) > 1:
                together = np.array(groups) == groups[j]
                known[together] = np.array(row)[together]
                total += costs[j]
            node = below if row[j] <= threshold else above
    assert tree.expected_cost(order="tree") == pytest.approx(total / len(X))


@given(data=st.data())
def test_lookahead_lies_between_the_optimum_and_the_tree(twins, data):
    spec, n, X, costs, groups = data.draw(grouped(twins))
    tree = twins.boolean_tree(spec, n, X=X, feature_costs=costs, feature_groups=groups)
    best, plain = tree.expected_cost(), tree.expected_cost(order="tree")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(acquisition, "MAX_EXACT", 0)
        patch.setattr(acquisition, "MAX_STATES", 0)
        greedy = tree.expected_cost()
        followed = twins.followed_cost(tree, np.array(X), costs, groups)
        assert followed == pytest.approx(greedy)
    assert best - 1e-9 <= greedy <= plain + 1e-9


@pytest.mark.parametrize(("groups", "cost"), [(None, 20 / 3), (["x", "x", "z"], 4)])
def test_two_bins_of_one_column_cost_as_much_as_one(twins, groups, cost):
    tree = twins.boolean_tree(
        IN_THE_MIDDLE, 3, X=BINS, feature_costs=[4, 4, 1], feature_groups=groups
    )
    assert tree.expected_cost() == pytest.approx(cost)
    assert tree.expected_cost(order="tree") == pytest.approx(cost)
    assert tree.next_feature([NAN] * 3) == 0
    assert tree.next_feature([0, NAN, NAN]) == 1


def test_what_is_free_comes_before_what_is_cheap(twins):
    """Column 0 belongs to column 1 and is of no use to the tree."""
    xor = (1, 0.5, (2, 0.5, 0, 1), (2, 0.5, 1, 0))
    X = list(itertools.product([0.0, 1.0], repeat=3))
    tree = twins.boolean_tree(
        xor, 3, X=X, feature_costs=[9, 9, 1], feature_groups=[7, 7, 5]
    )
    assert tree.next_feature([NAN, NAN, NAN]) == 1
    assert tree.next_feature([1.0, NAN, NAN]) == 1
    assert tree.next_feature([[1.0, NAN, 0.0], [0.0, 1.0, 0.0]]).tolist() == [1, -1]
    # Rows that differ only in a column without use are told apart.
    either = (1, 0.5, (2, 0.5, 0, 1), 1)
    tree = twins.boolean_tree(
        either, 3, X=X, feature_costs=[9, 9, 1], feature_groups=[7, 7, 5]
    )
    assert tree.next_feature([[NAN] * 3, [1.0, NAN, NAN]]).tolist() == [2, 1]


@pytest.mark.parametrize("labels", [list(string.ascii_letters[:13]), np.arange(13)])
def test_labels_that_all_differ_change_nothing(labels):
    X, y = load_wine(return_X_y=True)
    costs = np.random.default_rng(0).integers(1, 9, 13)
    base = DecisionTreeClassifier(random_state=0)
    partly = np.where(np.random.default_rng(1).random(X.shape) < 0.6, NAN, X)
    plain, other = (
        BooleanTreeClassifier(base, feature_costs=costs, feature_groups=g).fit(X, y)
        for g in (None, labels)
    )
    assert other.feature_groups_.tolist() == plain.feature_groups_.tolist()
    assert plain.feature_groups_.tolist() == list(range(13))
    assert other.expected_cost() == plain.expected_cost()
    assert (other.next_feature(partly) == plain.next_feature(partly)).all()


def test_groups_count_towards_the_limit_of_the_exact_solution(twins, monkeypatch):
    spec = (0, 0.5, (1, 0.5, 0, 1), (2, 0.5, 0, (3, 0.5, 1, 0)))
    monkeypatch.setattr(acquisition, "MAX_EXACT", 2)
    monkeypatch.setattr(acquisition, "MAX_STATES", 0)

    def refused(*args):
        raise AssertionError("the exact solution was not taken")

    monkeypatch.setattr(acquisition.kernels, "lookahead_costs", refused)
    tree = twins.boolean_tree(spec, 4, feature_groups=[0, 1, 0, 1])
    assert tree.expected_cost() == pytest.approx(1.75)
    with pytest.raises(AssertionError, match="not taken"):
        twins.boolean_tree(spec, 4).expected_cost()


def test_labels_may_be_of_any_kind(twins):
    for labels in (pd.Series(["a", "b", "a"]), ["a", 1, "a"], (2.5, -1, 2.5)):
        tree = twins.boolean_tree(IN_THE_MIDDLE, 3, X=BINS, feature_groups=labels)
        assert tree.feature_groups_.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (["a", "b"], r"one label for each of 3 features; got the shape \(2,\)"),
        ([["a", "b", "c"]], r"got the shape \(1, 3\)"),
        (["a", "b", NAN], r"feature_groups\[2\] is nan"),
        (["a", None, "b"], r"feature_groups\[1\] is None"),
        (["a", "b", {}], r"feature_groups\[2\] is {}"),
        (["a", "b", pd.NA], r"feature_groups\[2\] is <NA>"),
        ("abc", "'feature_groups' parameter"),
        (["b", "a", "a"], r"group 'a' .* their feature_costs are \[1\.0, 2\.0\]"),
    ],
)
def test_bad_groups_are_refused(groups, words):
    tree = BooleanTreeClassifier(feature_costs=[1, 1, 2], feature_groups=groups)
    with pytest.raises(ValueError, match=words):
        tree.fit(BINS, [0, 1, 0])
