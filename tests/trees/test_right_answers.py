"""Cases whose answer is known by hand."""

import collections
import itertools

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from skinterp.trees import BooleanTreeClassifier, deduplicate_trees

NAN = np.nan
INF = np.inf
AND = (0, 0.5, 0, (1, 0.5, 0, 1))
AND_TURNED = (1, 0.5, 0, (0, 0.5, 0, 1))
XOR = (0, 0.5, (1, 0.5, 0, 1), (1, 0.5, 1, 0))
MULTIPLEXER = (0, 0.5, (1, 0.5, 0, 1), (2, 0.5, 0, 1))
# (x0 and x1) or (not x0 and x2) or x3
CONSENSUS = (3, 0.5, (0, 0.5, (2, 0.5, 0, 1), (1, 0.5, 0, 1)), 1)
# a and not b, or b and not c, or c and not a
CYCLE = (0, 0.5, (1, 0.5, (2, 0.5, 0, 1), 1), (1, 0.5, 1, (2, 0.5, 1, 0)))


def term(*literals):
    """term(0, ~1) is "x0 and not x1"."""
    return frozenset((j, 0.5, INF) if j >= 0 else (~j, -INF, 0.5) for j in literals)


def rows(n):
    return np.array(list(itertools.product([0.0, 1.0], repeat=n)))


@pytest.mark.parametrize("spec", [AND, AND_TURNED])
def test_and_has_one_reason_for_and_two_against(twins, spec):
    rules = twins.boolean_tree(spec, 2).explain()
    assert twins.terms_of(rules, 1) == {term(0, 1)}
    assert twins.terms_of(rules, 0) == {term(~0), term(~1)}


def test_the_order_of_tests_makes_no_difference(twins):
    first, second = (twins.boolean_tree(s, 2) for s in (AND, AND_TURNED))
    assert first.canonical_key_ == second.canonical_key_
    assert first.is_equivalent(second)
    assert second.is_equivalent(twins.fitted_tree(AND, 2))


def test_consensus_terms_are_found(twins):
    tree = twins.boolean_tree(CONSENSUS, 4)
    rules = tree.explain()
    assert twins.terms_of(rules, 1) == {
        term(3),
        term(0, 1),
        term(~0, 2),
        term(1, 2),
    }
    assert twins.terms_of(rules, 0) == {
        term(0, ~1, ~3),
        term(~0, ~2, ~3),
        term(~1, ~2, ~3),
    }


def test_consensus_decides_what_no_leaf_decides(twins):
    tree = twins.boolean_tree(CONSENSUS, 4)
    partly = [[NAN, 1, 1, NAN], [NAN, NAN, NAN, 1], [NAN, 1, NAN, NAN]]
    assert tree.predict_partial(partly).tolist() == [1, 1, None]


def test_xor_needs_both(twins):
    tree = twins.boolean_tree(XOR, 2)
    rules = tree.explain()
    assert twins.terms_of(rules, 1) == {term(0, ~1), term(~0, 1)}
    assert twins.terms_of(rules, 0) == {term(0, 1), term(~0, ~1)}
    partly = [[NAN, 0], [NAN, 1], [0, NAN], [1, NAN], [NAN, NAN]]
    assert not tree.determined(partly).any()
    assert tree.determined(rows(2)).all()


@pytest.mark.parametrize("label", [0, 1])
def test_a_constant_tree_always_decides(twins, label):
    tree = twins.boolean_tree((0, 0.5, label, (1, 0.5, label, label)), 2)
    rules = tree.explain()
    assert twins.terms_of(rules, label) == {frozenset()}
    assert twins.terms_of(rules, 1 - label) == set()
    assert tree.predict_partial([[NAN, NAN]]).tolist() == [label]
    assert tree.is_equivalent(twins.fitted_tree(label, 2))
    assert tree.canonical_key_ == ((label, ((),)),)


@pytest.mark.parametrize(
    ("spec", "n_features", "p", "exact", "path", "all_used"),
    [
        (AND, 2, 0.1, 0.9000, 0.8550, 0.8100),
        (AND, 2, 0.5, 0.5000, 0.3750, 0.2500),
        (MULTIPLEXER, 3, 0.1, 0.8505, 0.8100, 0.7290),
        (MULTIPLEXER, 3, 0.5, 0.3125, 0.2500, 0.1250),
    ],
)
def test_determined_share(twins, spec, n_features, p, exact, path, all_used):
    """Exact expectation over uniform bits and independent losses."""
    tree = twins.boolean_tree(spec, n_features)
    shares = np.zeros(3)
    for lost in itertools.product([False, True], repeat=n_features):
        chance = np.prod([p if gone else 1 - p for gone in lost])
        X = np.where(lost, NAN, rows(n_features))
        on_path = [follows_path(spec, row) for row in X]
        known = not any(lost)
        shares += chance * np.array(
            [tree.determined(X).mean(), np.mean(on_path), known]
        )
    assert shares == pytest.approx([exact, path, all_used], abs=1e-12)


def follows_path(spec, row):
    """Whether the path through the tree meets no missing cell."""
    while isinstance(spec, tuple):
        feature, threshold, below, above = spec
        if np.isnan(row[feature]):
            return False
        spec = below if row[feature] <= threshold else above
    return True


def labelled_trees(features):
    """All trees that test no feature twice on a path."""
    trees = [0, 1]
    for j in features:
        inner = labelled_trees([f for f in features if f != j])
        trees += [(j, 0.5, a, b) for a in inner for b in inner]
    return trees


def test_all_trees_over_two_bits(twins):
    specs = labelled_trees([0, 1])
    assert len(specs) == 74
    labels, counts = deduplicate_trees([twins.fitted_tree(s, 2) for s in specs])
    assert collections.Counter(counts.tolist()) == {9: 2, 5: 4, 2: 2, 4: 8}
    assert np.bincount(labels).tolist() == counts.tolist()
    tables = [tuple(twins.label_of(s, row) for row in rows(2)) for s in specs]
    assert len(set(zip(labels, tables, strict=True))) == 16


@pytest.mark.slow
def test_all_trees_over_three_bits(twins):
    specs = labelled_trees([0, 1, 2])
    assert len(specs) == 16430
    _, counts = deduplicate_trees([twins.fitted_tree(s, 3) for s in specs])
    assert len(counts) == 256
    assert sorted(counts)[:2] == [12, 12]
    assert sorted(counts)[-2:] == [244, 244]


def test_the_costly_feature_is_bought_last(twins):
    # x0 or (not x1 and not x2)
    spec = (0, 0.5, (1, 0.5, (2, 0.5, 1, 0), 0), 1)
    tree = twins.boolean_tree(spec, 3, rows(3), feature_costs=[100, 1, 1])
    assert tree.expected_cost() == pytest.approx(76.5)
    assert tree.next_feature([NAN, NAN, NAN]) in (1, 2)
    assert tree.expected_cost(order="tree") == pytest.approx(100.75)


def test_the_cheap_half_of_a_conjunction_comes_first(twins):
    tree = twins.boolean_tree(AND, 2, rows(2), feature_costs=[5, 1])
    assert tree.expected_cost() == pytest.approx(3.5)
    assert tree.next_feature([NAN, NAN]) == 1
    assert tree.next_feature([NAN, 0]) == -1
    assert tree.next_feature([NAN, 1]) == 0
    assert tree.expected_cost(order="tree") == pytest.approx(5.5)


def test_the_cyclic_core_has_six_terms(twins):
    """Its minimal DNF is not unique, so that no key may be made of one."""
    tree = twins.boolean_tree(CYCLE, 3)
    rules = tree.explain()
    assert twins.terms_of(rules, 1) == {
        term(0, ~1),
        term(1, ~2),
        term(2, ~0),
        term(~0, 1),
        term(~1, 2),
        term(~2, 0),
    }
    assert twins.terms_of(rules, 0) == {term(0, 1, 2), term(~0, ~1, ~2)}


def test_breast_cancer_with_lost_cells():
    """Shares measured by two independent implementations, scikit-learn 1.9.1."""
    X, y = load_breast_cancer(return_X_y=True)
    base = DecisionTreeClassifier(max_depth=4, random_state=0)
    tree = BooleanTreeClassifier(base).fit(X, y)
    complete = tree.predict(X)
    rs = np.random.RandomState(0)
    shares, wrong = [], []
    for p in (0.1, 0.3, 0.5):
        partly = np.where(rs.random_sample(X.shape) < p, NAN, X)
        known = tree.determined(partly)
        assert (tree.predict(partly)[known] == complete[known]).all()
        shares.append(known.mean())
        wrong.append((tree.estimator_.predict(partly) != complete).mean())
    assert shares == pytest.approx([0.796, 0.446, 0.183], abs=0.02)
    assert wrong == pytest.approx([0.019, 0.062, 0.130], abs=0.02)


def test_ways_of_missing_values_that_were_never_seen_mean_nothing(twins):
    """The tree is x1, whatever x0; only its ways for a missing x1 differ."""
    spec = (0, 0.5, (1, 0.5, 0, 1, True), (1, 0.5, 0, 1, False))
    tree = twins.boolean_tree(spec, 2)
    partly = [[NAN, NAN], [0.0, NAN], [NAN, 1.0]]
    assert tree.relevant_missing(partly).tolist() == [
        [False, True],
        [False, True],
        [False, False],
    ]


@pytest.mark.parametrize(
    ("spec", "row", "reason"),
    [
        (AND, [0, 0], [True, False]),
        (AND_TURNED, [0, 0], [False, True]),
        (MULTIPLEXER, [1, 1, 1], [True, False, True]),
        # the multiplexer again, with all three columns on the path
        ((1, 0.5, (0, 0.5, 0, (2, 0.5, 0, 1)), (0, 0.5, 1, (2, 0.5, 0, 1))), [1, 1, 1],
         [True, False, True]),
    ],
)  # fmt: skip
def test_reasons_prefer_the_path_then_early_columns(twins, spec, row, reason):
    tree = twins.boolean_tree(spec, len(row))
    assert tree.sufficient_reasons([row]).tolist() == [reason]


def tree_of(spec, twins, order, row):
    """The function of another tree, asking in a given order."""
    if not order:
        return twins.label_of(spec, row)
    children = [
        tree_of(spec, twins, order[1:], {**row, order[0]: bit}) for bit in (0.0, 1.0)
    ]
    return (order[0], 0.5, *children)


@pytest.mark.parametrize(("spec", "n"), [(CYCLE, 3), (CONSENSUS, 4)])
def test_keys_do_not_depend_on_the_order_of_tests(twins, spec, n):
    orders = list(itertools.permutations(range(n)))
    trees = [twins.boolean_tree(tree_of(spec, twins, o, {}), n) for o in orders]
    assert len({tree.canonical_key_ for tree in trees}) == 1
    assert len({str(tree.explain().to_dict()) for tree in trees}) == 1
    assert all(tree.is_equivalent(trees[0]) for tree in trees)
