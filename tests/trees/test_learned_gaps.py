"""Trees that were fitted on missing values, against enumeration.

A missing cell may then have any value, or be missing for good, in which case the tree
sends it its own way.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

NAN = np.nan
INF = np.inf
SHAPES = [(2, (0.5, INF)), (3, (0.5, INF)), (2, (0.5, 1.5, INF))]


@pytest.fixture(scope="module")
def draw_case(twins):
    """A tree with ways for missing values, its estimator, axes and partial rows."""

    def draw_one(data):
        n, thresholds = data.draw(st.sampled_from(SHAPES))
        spec = data.draw(twins.specs(n, thresholds, (0, 1), 10, skips=True))
        tree = twins.boolean_tree(spec, n)
        axes = twins.axes_of(spec, n_features=n)
        rows = itertools.product(*([NAN, *axis] for axis in axes))
        return spec, tree, axes, np.array(list(rows))

    return draw_one


@given(data=st.data())
def test_determined_rows(twins, draw_case, data):
    spec, tree, axes, X = draw_case(data)
    found = [twins.answers(spec, row, axes, learned=True) for row in X]
    assert tree.determined(X).tolist() == [len(a) == 1 for a in found]
    assert tree.predict(X).tolist() == [twins.label_of(spec, row) for row in X]


@given(data=st.data())
def test_rules_cover_exactly_the_determined_rows(draw_case, data):
    _, tree, _, X = draw_case(data)
    rules = tree.explain()
    rules.check_faithful(tree, X)
    decided = rules.decide(X)
    known = tree.determined(X)
    assert ((decided >= 0) == known).all()
    assert (rules.target_names[decided[known]] == tree.predict(X)[known]).all()


@given(data=st.data())
def test_no_rule_lies_in_another(draw_case, data):
    """Dropping or moving any bound of a rule lets a row of another class in."""
    _, tree, _, X = draw_case(data)
    rules = tree.explain()
    held = rules.covers(X)
    for a, b in itertools.permutations(range(rules.n_rules), 2):
        if rules.target[a] == rules.target[b]:
            assert (held[:, a] & ~held[:, b]).any()


@given(data=st.data())
def test_reasons_and_first_rules(twins, draw_case, data):
    spec, tree, axes, X = draw_case(data)
    known = tree.determined(X)
    reasons = tree.sufficient_reasons(X)
    local = tree.explain(X)
    local.check_faithful(tree, X)
    for i in np.flatnonzero(known):
        kept = np.where(reasons[i], X[i], NAN)
        assert len(twins.answers(spec, kept, axes, learned=True)) == 1
        for j in np.flatnonzero(reasons[i]):
            less = np.where(np.arange(len(kept)) == j, NAN, kept)
            assert len(twins.answers(spec, less, axes, learned=True)) == 2
        first = local.literals(local.row_offsets[i])
        assert [x.feature for x in first] == np.flatnonzero(reasons[i]).tolist()
    assert not reasons[~known].any()


@given(data=st.data())
def test_relevant_missing_cells(twins, draw_case, data):
    """Absence is a possibility where it leads to a leaf that no value leads to."""
    spec, tree, axes, X = draw_case(data)
    alone = set()
    for part in pure_parts(spec, [[*axis, NAN] for axis in axes]):
        alone |= {j for j, cells in enumerate(part) if np.isnan(cells).all()}
    ways = [[*axis, NAN] if j in alone else axis for j, axis in enumerate(axes)]
    for row, relevant in zip(X, tree.relevant_missing(X), strict=True):
        for j in range(len(row)):
            others = [
                way if np.isnan(cell) and i != j else [cell]
                for i, (way, cell) in enumerate(zip(ways, row, strict=True))
            ]
            matters = np.isnan(row[j]) and any(
                len({twins.label_of(spec, fill(full, j, v)) for v in ways[j]}) > 1
                for full in itertools.product(*others)
            )
            assert relevant[j] == matters


def fill(row, j, value):
    return [value if i == j else cell for i, cell in enumerate(row)]


def pure_parts(spec, part):
    """Largest subtrees of one label, each as the cells per feature that lead there."""
    if len(labels_below(spec, part)) == 1:
        return [part]
    return [found for side in sides(spec, part) for found in pure_parts(*side)]


def labels_below(spec, part):
    if not isinstance(spec, tuple):
        return {spec}
    return set().union(*(labels_below(*side) for side in sides(spec, part)))


def sides(spec, part):
    """Both children with what of the part leads there, if anything does."""
    j, threshold, below, above, skips = spec
    lower = [v for v in part[j] if (skips if np.isnan(v) else v <= threshold)]
    upper = [v for v in part[j] if not (skips if np.isnan(v) else v <= threshold)]
    for child, cells in ((below, lower), (above, upper)):
        if cells:
            yield child, [cells if i == j else p for i, p in enumerate(part)]


@given(data=st.data())
def test_equivalence_speaks_about_complete_rows(twins, data):
    pick = twins.specs(2, (0.5, INF), (0, 1), 6, skips=True)
    specs = data.draw(st.lists(pick, min_size=2, max_size=2))
    first, second = (twins.boolean_tree(s, 2) for s in specs)
    grid = twins.grid_of(*specs, n_features=2)
    same = all(twins.label_of(specs[0], r) == twins.label_of(specs[1], r) for r in grid)
    assert first.is_equivalent(second) == same
    assert (first.canonical_key_ == second.canonical_key_) == same


def test_absence_can_make_another_cell_matter(twins):
    """Only where x1 is missing for good, x0 makes a difference."""
    tree = twins.boolean_tree((0, 0.5, (1, INF, 0, 1), 0), 2)
    partly = [[NAN, NAN], [NAN, 0.0], [0.0, NAN], [1.0, NAN]]
    assert tree.relevant_missing(partly).tolist() == [
        [True, True],
        [False, False],
        [False, True],
        [False, False],
    ]
