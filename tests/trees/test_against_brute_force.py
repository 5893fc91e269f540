"""Every answer against plain enumeration of the cells of the grid."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skinterp.trees import deduplicate_trees

NAN = np.nan
# number of features, thresholds: bits, bits, numbers with an order of their own
SHAPES = [(2, (0.5,)), (4, (0.5,)), (2, (0.1, 0.5, 2.5)), (3, (-1.0, 0.25))]


@st.composite
def cases(draw, twins, labels=(0, 1)):
    """A tree and its number of features."""
    n_features, thresholds = draw(st.sampled_from(SHAPES))
    skips = draw(st.booleans())
    spec = draw(twins.specs(n_features, thresholds, labels, 10, skips=skips))
    if skips:  # as in a fitted tree: a way for missing values that means nothing
        spec = without_idle_tests(spec, [-np.inf] * n_features, [np.inf] * n_features)
    return spec, n_features


def without_idle_tests(spec, lower, upper):
    """Drop tests that send all values one way."""
    if not isinstance(spec, tuple):
        return spec
    j, threshold, below, above, *skips = spec
    if threshold >= upper[j]:
        return without_idle_tests(below, lower, upper)
    if threshold <= lower[j]:
        return without_idle_tests(above, lower, upper)
    to, since = list(upper), list(lower)
    to[j] = since[j] = threshold
    below = without_idle_tests(below, lower, to)
    return (j, threshold, below, without_idle_tests(above, since, upper), *skips)


def partial_rows(axes):
    """All rows of representatives with any cells missing."""
    return np.array(list(itertools.product(*([NAN, *axis] for axis in axes))))


def float32_axes(twins, spec, n_features):
    """Representatives in float32, so that 0.1 is the threshold itself."""
    return [
        [float(np.nextafter(np.float32(v), np.float32(-np.inf))) for v in axis]
        for axis in twins.axes_of(spec, n_features=n_features)
    ]


@given(data=st.data())
def test_determined_rows(twins, data):
    spec, n = data.draw(cases(twins, labels=(0, 1, 2)))
    tree = twins.boolean_tree(spec, n, classes=("a", "b", "c"))
    axes = float32_axes(twins, spec, n)
    X = partial_rows(axes)
    expected = [twins.answers(spec, row, axes) for row in X]
    assert tree.determined(X).tolist() == [len(a) == 1 for a in expected]
    for got, want in zip(tree.predict_partial(X), expected, strict=True):
        assert got is np.ma.masked or got == "abc"[next(iter(want))]


@given(data=st.data())
def test_a_further_value_never_unsettles(twins, data):
    spec, n = data.draw(cases(twins))
    tree = twins.boolean_tree(spec, n)
    X = partial_rows(float32_axes(twins, spec, n))
    settled = dict(zip(map(repr, X.tolist()), tree.determined(X), strict=True))
    for row in X.tolist():
        for j in range(n):
            less = [NAN if i == j else cell for i, cell in enumerate(row)]
            assert settled[repr(row)] >= settled[repr(less)]


@given(data=st.data())
def test_rules_are_all_maximal_boxes(twins, data):
    spec, n = data.draw(cases(twins, labels=(0, 1, 2)))
    rules = twins.boolean_tree(spec, n, classes=(0, 1, 2)).explain()
    axes = twins.axes_of(spec, n_features=n)
    for label in (0, 1, 2):
        # thresholds are shown as the float32 that they amount to
        expected = {
            frozenset(
                (j, down(lower), down(upper))
                for j, (lower, upper) in enumerate(box)
                if (lower, upper) != (-np.inf, np.inf)
            )
            for box in twins.maximal_boxes(spec, label, axes)
        }
        assert twins.terms_of(rules, label) == expected


def down(value):
    rounded = np.float32(value)
    if float(rounded) > value:  # else numpy compares in float32
        rounded = np.nextafter(rounded, np.float32(-np.inf))
    return float(rounded)


@given(data=st.data())
def test_rules_cover_exactly_the_determined_rows(twins, data):
    spec, n = data.draw(cases(twins))
    tree = twins.boolean_tree(spec, n)
    X = partial_rows(float32_axes(twins, spec, n))
    tree.explain().check_faithful(tree, X)
    tree.explain(X).check_faithful(tree, X)
    decided = tree.explain().decide(X)
    assert (decided >= 0).tolist() == tree.determined(X).tolist()


@given(data=st.data())
def test_reasons_suffice_and_are_minimal(twins, data):
    spec, n = data.draw(cases(twins))
    costs = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    tree = twins.boolean_tree(spec, n, feature_costs=costs)
    axes = float32_axes(twins, spec, n)
    X = partial_rows(axes)
    for row, reason in zip(X, tree.sufficient_reasons(X), strict=True):
        if len(twins.answers(spec, row, axes)) > 1:
            assert not reason.any()
            continue
        assert not np.isnan(row[reason]).any()
        kept = np.where(reason, row, NAN)
        assert len(twins.answers(spec, kept, axes)) == 1
        for j in np.flatnonzero(reason):
            less = kept.copy()
            less[j] = NAN
            assert len(twins.answers(spec, less, axes)) > 1


@given(data=st.data())
def test_the_first_rule_of_a_row_grows_from_its_reason(twins, data):
    spec, n = data.draw(cases(twins))
    tree = twins.boolean_tree(spec, n)
    X = partial_rows(float32_axes(twins, spec, n))
    rules = tree.explain(X)
    for i, reason in enumerate(tree.sufficient_reasons(X)):
        if rules.prediction[i] < 0:
            assert rules.row_offsets[i] == rules.row_offsets[i + 1]
            continue
        first = rules.literals(rules.row_offsets[i])
        assert [x.feature for x in first] == np.flatnonzero(reason).tolist()


@given(data=st.data())
def test_rules_of_a_row_are_all_that_hold(twins, data):
    spec, n = data.draw(cases(twins))
    tree = twins.boolean_tree(spec, n)
    X = partial_rows(float32_axes(twins, spec, n))
    local = tree.explain(X)
    assert np.diff(local.row_offsets).tolist() == (
        tree.explain().covers(X).sum(axis=1).tolist()
    )


@given(data=st.data())
def test_relevant_missing_cells(twins, data):
    spec, n = data.draw(cases(twins))
    tree = twins.boolean_tree(spec, n)
    axes = float32_axes(twins, spec, n)
    X = partial_rows(axes)
    for row, relevant in zip(X, tree.relevant_missing(X), strict=True):
        assert relevant.tolist() == [
            matters(twins, spec, row, axes, j) for j in range(n)
        ]


def matters(twins, spec, row, axes, j):
    """Whether some completion of the others leaves the answer to cell j."""
    if not np.isnan(row[j]):
        return False
    others = [
        axis if np.isnan(cell) and i != j else [cell]
        for i, (axis, cell) in enumerate(zip(axes, row, strict=True))
    ]
    return any(
        len(twins.answers(spec, full, axes)) > 1 for full in itertools.product(*others)
    )


@given(data=st.data())
def test_equivalence_keys_and_groups(twins, data):
    n, thresholds = data.draw(st.sampled_from(SHAPES))
    pick = twins.specs(n, thresholds, (0, 1), 6)
    specs = data.draw(st.lists(pick, min_size=2, max_size=5))
    # a twin with a test that changes nothing, and one with turned labels
    specs += [(n - 1, 0.75, specs[0], specs[0]), (0, thresholds[0], 1, specs[0])]
    trees = [twins.boolean_tree(s, n) for s in specs]
    grid = twins.grid_of(*specs, n_features=n)
    tables = [tuple(twins.label_of(s, row) for row in grid) for s in specs]
    labels, counts = deduplicate_trees(trees)
    for i, j in itertools.combinations(range(len(specs)), 2):
        same = tables[i] == tables[j]
        assert trees[i].is_equivalent(trees[j]) == same
        assert (trees[i].canonical_key_ == trees[j].canonical_key_) == same
        assert (labels[i] == labels[j]) == same
    assert counts.sum() == len(specs)


@given(data=st.data())
def test_support_is_the_training_weight_of_the_box(twins, data):
    spec, n = data.draw(cases(twins))
    grid = np.array(twins.grid_of(spec, n_features=n))
    picks = data.draw(st.lists(st.integers(0, len(grid) - 1), min_size=2, max_size=30))
    tree = twins.boolean_tree(spec, n, X=grid[picks])
    rules = tree.explain()
    assert rules.support.tolist() == rules.covers(grid[picks]).sum(axis=0).tolist()


@given(data=st.data())
def test_probabilities_average_the_reachable_leaves(twins, data):
    spec, n = data.draw(cases(twins))
    weights = itertools.cycle([1.0, 2.0, 5.0])
    frozen = twins.fitted_tree(spec, n, weights=weights)
    tree = twins.boolean_tree(spec, n)
    tree.estimator_ = frozen
    axes = float32_axes(twins, spec, n)
    X = partial_rows(axes)
    for row, proba in zip(X, tree.predict_proba(X), strict=True):
        choices = [
            axis if np.isnan(cell) else [cell]
            for axis, cell in zip(axes, row, strict=True)
        ]
        full = np.array(list(itertools.product(*choices)))
        leaves = np.unique(frozen.apply(full))
        weight = frozen.tree_.weighted_n_node_samples[leaves]
        value = frozen.tree_.value[leaves, 0]
        assert proba == pytest.approx(np.average(value, axis=0, weights=weight))
