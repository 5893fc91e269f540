"""Kernels against plain numpy, on random and degenerate input."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from skinterp.trees import _boolean_tree_kernels as walks
from skinterp.trees import _box_kernels as kernels
from skinterp.trees._boxes import full_boxes, value_boxes
from skinterp.trees._tables import cell_codes, floor_float32, tree_tables

SIDES = [(1,), (5,), (3, 4), (2, 2, 2), (3, 2, 3)]


@st.composite
def holes_in_a_grid(draw):
    shape = np.array(draw(st.sampled_from(SIDES)))
    n = draw(st.integers(0, 5))
    ends = draw(arrays.arrays(np.int32, (n, len(shape), 2), elements=st.integers(0, 4)))
    ends = np.sort(np.minimum(ends, shape[:, None] - 1), axis=2).astype(np.int32)
    return shape, ends[..., 0].copy(), ends[..., 1].copy()


@given(holes_in_a_grid())
def test_maximal_boxes_of_any_region(case):
    shape, hole_low, hole_high = case
    free = np.ones(shape, bool)
    for low, high in zip(hole_low, hole_high, strict=True):
        free[tuple(slice(a, b + 1) for a, b in zip(low, high, strict=True))] = False
    sides = [itertools.combinations_with_replacement(range(n), 2) for n in shape]
    good = {
        box
        for box in itertools.product(*sides)
        if free[tuple(slice(a, b + 1) for a, b in box)].all()
    }

    def holds(outer, inner):
        return all(
            a[0] <= b[0] and b[1] <= a[1] for a, b in zip(outer, inner, strict=True)
        )

    expected = {b for b in good if not any(o != b and holds(o, b) for o in good)}
    top = (shape - 1).astype(np.int32)
    low, high, complete = kernels.maximal_boxes(top, hole_low, hole_high, 10_000)
    found = [tuple(zip(a, b, strict=True)) for a, b in zip(low, high, strict=True)]
    assert complete
    assert len(found) == len(set(found))
    assert set(found) == expected


@given(holes_in_a_grid())
def test_maximal_boxes_are_the_fixed_point_of_consensus(case):
    """Cutting the others out gives what uniting the own boxes gives."""
    shape, hole_low, hole_high = case
    own = {
        tuple((c, c) for c in cell)
        for cell in itertools.product(*map(range, shape))
        if not any(
            ((low <= cell) & (cell <= high)).all()
            for low, high in zip(hole_low, hole_high, strict=True)
        )
    }
    top = (shape - 1).astype(np.int32)
    low, high, _ = kernels.maximal_boxes(top, hole_low, hole_high, 10_000)
    found = {tuple(zip(a, b, strict=True)) for a, b in zip(low, high, strict=True)}
    assert found == consensus(own)


def consensus(boxes):
    """Unite along one feature, intersect along the others; keep what is maximal."""
    while True:
        more = set(boxes)
        for a, b in itertools.combinations(boxes, 2):
            for j in range(len(a)):
                both = [
                    (max(p[0], q[0]), min(p[1], q[1]))
                    for p, q in zip(a, b, strict=True)
                ]
                if max(a[j][0], b[j][0]) > min(a[j][1], b[j][1]) + 1:
                    continue
                both[j] = (min(a[j][0], b[j][0]), max(a[j][1], b[j][1]))
                if all(p <= q for p, q in both):
                    more.add(tuple(both))
        more = {
            b
            for b in more
            if not any(
                o != b
                and all(
                    x[0] <= y[0] and y[1] <= x[1] for x, y in zip(o, b, strict=True)
                )
                for o in more
            )
        }
        if more == boxes:
            return boxes
        boxes = more


def test_the_budget_of_boxes():
    points = np.array([[0], [2], [4]], np.int32)
    top = np.array([5], np.int32)
    assert kernels.maximal_boxes(top, points, points, 3)[2]
    low, high, complete = kernels.maximal_boxes(top, points, points, 2)
    assert not complete
    assert low.shape == high.shape == (0, 1)


def test_the_budget_ends_the_work_on_one_hole():
    """500 lines along the first axis, each cut in two by the hole."""
    low = np.stack([np.zeros(500), np.arange(500)], axis=1).astype(np.int32)
    high = np.stack([np.full(500, 4), np.arange(500)], axis=1).astype(np.int32)
    hole = np.array([2, 0], np.int32), np.array([2, 499], np.int32)
    sizes = [
        kernels.subtract_box(low.copy(), high.copy(), 500, *hole, n)[2]
        for n in (1000, 100)
    ]
    assert sizes[0] == 1000
    assert 100 < sizes[1] <= 102


@given(
    arrays.arrays(
        np.float64, 20, elements=st.floats(allow_nan=False, allow_infinity=True)
    )
)
def test_floor_float32(values):
    floors = floor_float32(values)
    assert floors.dtype == np.float32
    assert (floors.astype(float) <= values).all()
    with np.errstate(over="ignore"):
        above = np.nextafter(floors, np.float32(np.inf)).astype(float)
    assert ((above > values) | (floors == np.inf)).all()


def grown_tree(seed, **params):
    X, y = make_classification(300, 6, n_informative=4, n_classes=3, random_state=seed)
    tree = DecisionTreeClassifier(random_state=seed, **params).fit(X, y)
    return tree, tree_tables(tree), X.astype(np.float32)


@pytest.mark.parametrize("seed", range(3))
def test_boxes_of_pure_nodes_partition_the_grid(seed):
    _, tables, X = grown_tree(seed)
    boxes = value_boxes(tables)
    codes = cell_codes(tables, X)
    inside = (boxes.low <= codes[:, None]) & (codes[:, None] <= boxes.high)
    held = inside.all(axis=2)
    assert (held.sum(axis=1) == 1).all()
    labels = walks.decide_codes(codes, tables.nodes)
    assert (boxes.label[held.argmax(axis=1)] == labels).all()
    everything, top = full_boxes(tables)
    assert (top == tables.n_cuts).all()
    assert all(np.array_equal(a, b) for a, b in zip(boxes, everything, strict=True))


@pytest.mark.parametrize("params", [{}, {"max_depth": 1}, {"max_leaf_nodes": 9}])
def test_rows_and_codes_agree(params):
    tree, tables, X = grown_tree(0, **params)
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    labels, determined = walks.decide_rows(X, tables.nodes, tables.threshold)
    by_code = walks.decide_codes(cell_codes(tables, X), tables.nodes)
    assert (determined == (by_code >= 0)).all()
    assert (labels[determined] == by_code[determined]).all()
    assert (tree.classes_[labels] == tree.predict(X)).all()


@pytest.mark.parametrize("seed", range(3))
def test_weight_of_boxes(seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(-2, 4, (50, 3)).astype(np.int32)
    weight = rng.random(50)
    low = rng.integers(0, 3, (20, 3)).astype(np.int32)
    high = (low + rng.integers(0, 3, (20, 3))).astype(np.int32)
    bound = rng.random((20, 3)) < 0.6
    within = (low[:, None] <= codes) & (codes <= high[:, None])
    held = (within | ~bound[:, None]).all(axis=2)
    found = kernels.box_weight(low, high, bound, codes, weight)
    assert found == pytest.approx(held @ weight)


def test_empty_input():
    _, tables, X = grown_tree(0)
    labels, determined = walks.decide_rows(X[:0], tables.nodes, tables.threshold)
    assert labels.shape == determined.shape == (0,)
    stump = tree_tables(DecisionTreeClassifier().fit(X, np.zeros(len(X))))
    assert cell_codes(stump, X).shape == (len(X), 0)
    assert (walks.decide_codes(cell_codes(stump, X), stump.nodes) == 0).all()
    low, high, _ = kernels.maximal_boxes(
        stump.n_cuts, np.empty((0, 0), np.int32), np.empty((0, 0), np.int32), 1
    )
    assert low.shape == high.shape == (1, 0)
