"""Costs of measuring, against a recursion over all orders."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from skinterp.trees import BooleanTreeClassifier
from skinterp.trees import _acquisition as acquisition

NAN = np.nan


@given(data=st.data())
def test_the_exact_policy_is_optimal(twins, data):
    spec, n, X, costs = data.draw(twins.problems())
    tree = twins.boolean_tree(spec, n, X=X, feature_costs=costs)
    axes = twins.axes_of(spec, n_features=n)
    best = twins.least_cost(
        spec, axes, [twins.cells(axes, row) for row in X], costs, {}
    )
    assert tree.expected_cost() == pytest.approx(best)
    assert twins.followed_cost(tree, np.array(X), costs) == pytest.approx(best)


@given(data=st.data())
def test_the_tree_order_buys_what_the_path_meets(twins, data):
    spec, n, X, costs = data.draw(twins.problems())
    tree = twins.boolean_tree(spec, n, X=X, feature_costs=costs)
    axes = twins.axes_of(spec, n_features=n)
    total = 0
    for row in X:
        known, node = np.full(n, NAN), spec
        while isinstance(node, tuple) and len(twins.answers(spec, known, axes)) > 1:
            j, threshold, below, above = node
            settled = len(twins.answers(node, known, axes)) == 1
            if np.isnan(known[j]) and not settled:
                known[j] = row[j]
                total += costs[j]
            node = below if row[j] <= threshold else above
    assert tree.expected_cost(order="tree") == pytest.approx(total / len(X))


@given(data=st.data())
def test_lookahead_lies_between_the_optimum_and_the_tree(twins, data):
    spec, n, X, costs = data.draw(twins.problems())
    tree = twins.boolean_tree(spec, n, X=X, feature_costs=costs)
    best, plain = tree.expected_cost(), tree.expected_cost(order="tree")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(acquisition, "MAX_EXACT", 0)
        patch.setattr(acquisition, "MAX_STATES", 0)
        greedy = tree.expected_cost()
        assert twins.followed_cost(tree, np.array(X), costs) == pytest.approx(greedy)
    assert best - 1e-9 <= greedy <= plain + 1e-9


def test_many_features_are_bought_one_step_ahead(twins):
    X, y = load_breast_cancer(return_X_y=True)
    costs = np.random.default_rng(0).integers(1, 10, X.shape[1])
    base = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
    X, y = X[::6], y[::6]
    tree = BooleanTreeClassifier(FrozenEstimator(base), feature_costs=costs).fit(X, y)
    rows, n_used = tree.training_cells_.shape
    assert not acquisition.is_small(n_used, rows)
    cost = tree.expected_cost()
    assert cost < 0.9 * tree.expected_cost(order="tree")
    assert twins.followed_cost(tree, X, costs) == pytest.approx(cost)


@pytest.mark.parametrize(
    ("n_unknown", "n_rows", "small"),
    [(10, 10**6, True), (12, 256, True), (12, 257, False), (13, 1, False)],
)
def test_what_is_solved_exactly(n_unknown, n_rows, small):
    assert acquisition.is_small(n_unknown, n_rows) == small


def test_a_state_that_no_training_row_shares_follows_the_tree(twins):
    spec = (0, 0.5, (1, 0.5, 0, 1), (2, 0.5, 0, 1))
    X = [[0.0, 0.0, 0.0], [0.0, 1.0, 1.0]]
    tree = twins.boolean_tree(spec, 3, X=X)
    assert tree.next_feature([1.0, NAN, NAN]) == 2
    assert tree.next_feature([NAN, NAN, 1.0]) == 1  # as all rows have x0 = 0


def test_missing_training_cells_count_as_measured_and_missing():
    X = np.array([[0.0, 0.0], [1.0, NAN], [0.0, 1.0], [1.0, 1.0]])
    tree = BooleanTreeClassifier(DecisionTreeClassifier(random_state=0))
    tree.fit(X, [0, 1, 0, 1])
    assert tree.expected_cost() == pytest.approx(1.0)


def test_a_cell_found_missing_goes_the_trees_own_way(twins):
    spec = (0, 0.5, (1, 0.5, 0, 1), 1, False)
    X = [[NAN, 0.0], [NAN, 1.0], [0.0, 0.0], [1.0, 0.0]]
    tree = twins.boolean_tree(spec, 2, X=X)
    assert tree.expected_cost() == tree.expected_cost(order="tree") == 1.25


def test_one_call_answers_for_many_rows():
    X, y = load_wine(return_X_y=True)
    tree = BooleanTreeClassifier().fit(X, y)
    lost = np.random.default_rng(0).random(X.shape) < 0.6
    partly = np.where(lost, NAN, X)
    together = tree.next_feature(partly)
    assert together.tolist() == [tree.next_feature(row) for row in partly]
    assert ((together < 0) == tree.determined(partly)).all()
    chosen = np.flatnonzero(together >= 0)
    assert np.isnan(partly[chosen, together[chosen]]).all()


def test_a_row_of_a_frame_is_taken_as_it_is():
    X, y = load_wine(return_X_y=True, as_frame=True)
    tree = BooleanTreeClassifier().fit(X, y)
    row = X.iloc[3].copy()
    assert tree.next_feature(row) == -1
    row[:] = NAN
    assert tree.next_feature(row) == tree.next_feature(X[:1] * NAN)[0] >= 0
    with pytest.raises(ValueError, match="feature names should match"):
        tree.next_feature(row[::-1])


def test_rows_are_told_apart_by_any_number_of_columns():
    """More cells in all than an int64 counts."""
    codes = np.zeros((4, 80), np.int32)
    codes[1, 0] = 1
    codes[2] = codes[3] = 1
    cells, weight = acquisition.training_cells(codes, np.ones(4))
    assert sorted(weight) == [1, 1, 2]
    assert len(np.unique(cells, axis=0)) == 3


def test_order_is_checked():
    tree = BooleanTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match=r"order must be 'best' or 'tree'; got 'x'"):
        tree.expected_cost(order="x")


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_the_unit_of_costs_makes_no_difference(twins, unit):
    spec = (0, 0.5, 0, (1, 0.5, 0, 1))
    X = list(itertools.product([0.0, 1.0], repeat=2))
    tree = twins.boolean_tree(spec, 2, X=X, feature_costs=np.array([5, 1]) * unit)
    assert tree.next_feature([NAN, NAN]) == 1
    assert tree.expected_cost() == pytest.approx(3.5 * unit, rel=1e-9)


def test_costs_equal_up_to_rounding_are_a_tie(twins):
    X = list(itertools.product([0.0, 1.0], repeat=2))
    spec = (0, 0.5, 0, (1, 0.5, 0, 1))
    tree = twins.boolean_tree(spec, 2, X=X, feature_costs=[0.1 + 0.2, 0.3])
    assert tree.next_feature([NAN, NAN]) == 0


def test_costs_of_known_cells_do_not_count(twins):
    spec = (0, 0.5, (1, 0.5, 0, 1), (1, 0.5, 1, 0))
    X = list(itertools.product([0.0, 1.0], repeat=2))
    tree = twins.boolean_tree(spec, 2, X=X, feature_costs=[7, 3])
    assert tree.expected_cost() == pytest.approx(10)
    assert tree.next_feature([1.0, NAN]) == 1
