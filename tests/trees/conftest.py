"""Twins in plain Python: trees as nested tuples, everything by enumeration."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import strategies as st
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from skinterp.trees import BooleanTreeClassifier

# A spec is a label, or (feature, threshold, below, above); a fifth item says that
# missing values go below. The threshold inf asks whether a value is there.


def label_of(spec, row):
    while isinstance(spec, tuple):
        feature, threshold, below, above, *skips = spec
        cell = row[feature]
        goes_below = any(skips) if np.isnan(cell) else cell <= threshold
        spec = below if goes_below else above
    return spec


def thresholds_of(spec):
    if not isinstance(spec, tuple):
        return set()
    own = {(spec[0], spec[1])} if np.isfinite(spec[1]) else set()
    return own | thresholds_of(spec[2]) | thresholds_of(spec[3])


def axes_of(*specs, n_features):
    """Per feature one value of each cell of the grid of all thresholds."""
    axes = []
    for feature in range(n_features):
        cuts = sorted({t for s in specs for f, t in thresholds_of(s) if f == feature})
        axes.append([*cuts, cuts[-1] + 1.0] if cuts else [0.0])
    return axes


def grid_of(*specs, n_features):
    return list(itertools.product(*axes_of(*specs, n_features=n_features)))


def answers(spec, row, axes, *, learned=False):
    """Labels of all completions of a row with NaN.

    With `learned`, staying missing is one of the possibilities.
    """
    more = [np.nan] if learned else []
    choices = [
        [*axis, *more] if np.isnan(cell) else [cell]
        for axis, cell in zip(axes, row, strict=True)
    ]
    return {label_of(spec, full) for full in itertools.product(*choices)}


def maximal_boxes(spec, label, axes):
    """All maximal boxes of a label as ((lower, upper), ...) by trying every box."""
    intervals = []
    for axis in axes:
        ends = [-np.inf, *axis[:-1], np.inf]
        intervals.append(list(itertools.combinations(range(len(ends)), 2)))
    good = [
        box
        for box in itertools.product(*intervals)
        if all(
            label_of(spec, row) == label
            for row in itertools.product(
                *(axis[i:j] for axis, (i, j) in zip(axes, box, strict=True))
            )
        )
    ]

    def holds(outer, inner):
        pairs = zip(outer, inner, strict=True)
        return all(a[0] <= b[0] and b[1] <= a[1] for a, b in pairs)

    best = [box for box in good if not any(o != box and holds(o, box) for o in good)]
    ends = [[-np.inf, *axis[:-1], np.inf] for axis in axes]
    return {
        tuple((e[i], e[j]) for e, (i, j) in zip(ends, box, strict=True)) for box in best
    }


def fitted_tree(spec, n_features, classes=(0, 1), *, weights=None):
    """A scikit-learn tree of the given shape; each leaf has weight 1 or the next."""
    classes = np.array(classes)
    lines, values = [], []
    supply = iter(weights) if weights is not None else itertools.repeat(1.0)

    def add(node):
        place = len(lines)
        lines.append(None)
        values.append(None)
        if isinstance(node, tuple):
            left, n_left, total_left = add(node[2])
            right, n_right, total_right = add(node[3])
            count, total = n_left + n_right, total_left + total_right
            skips = int(any(node[4:]))
            lines[place] = (left, right, node[0], node[1], 0.5, 2, count, skips)
        else:
            count = next(supply)
            total = count * (np.arange(len(classes)) == node)
            lines[place] = (-1, -1, -2, -2.0, 0.0, 1, count, 0)
        values[place] = total / count
        return place, count, total

    add(spec)
    tree = DecisionTreeClassifier().fit(
        np.resize([[0.0], [1.0]], (2 * len(classes), n_features)),
        np.repeat(classes, 2),
    )
    template = tree.tree_.__getstate__()["nodes"].dtype
    inner = type(tree.tree_)(n_features, np.array([len(classes)], dtype=np.intp), 1)
    inner.__setstate__(
        {
            "max_depth": 50,
            "node_count": len(lines),
            "nodes": np.array(lines, dtype=template),
            "values": np.array(values)[:, None, :],
        }
    )
    tree.tree_ = inner
    return tree


def boolean_tree(spec, n_features, X=None, classes=(0, 1), **params):
    """A BooleanTreeClassifier around a spec, with training rows if they matter."""
    if X is None:
        X = grid_of(spec, n_features=n_features)
    y = np.resize(np.array(classes), len(X))
    frozen = FrozenEstimator(fitted_tree(spec, n_features, classes))
    return BooleanTreeClassifier(frozen, **params).fit(X, y)


@st.composite
def specs(
    draw, n_features, thresholds=(0.5,), labels=(0, 1), max_leaves=8, *, skips=False
):
    """Random trees of all sizes, some with repeated tests on a path."""

    def grow(n_leaves):
        if n_leaves == 1:
            return draw(st.sampled_from(labels))
        n_below = draw(st.integers(1, n_leaves - 1))
        return (
            draw(st.integers(0, n_features - 1)),
            draw(st.sampled_from(thresholds)),
            grow(n_below),
            grow(n_leaves - n_below),
            *([draw(st.booleans())] if skips else []),
        )

    return grow(draw(st.integers(1, max_leaves)))


def cells(axes, row):
    """Which cell each value of a row falls in."""
    return tuple(
        sum(value > t for t in axis[:-1]) for axis, value in zip(axes, row, strict=True)
    )


def least_cost(spec, axes, data, costs, known, groups=None):
    """Minimum over all features to buy next, averaged over matching rows.

    Features of one group are bought together, for nothing if one is known.
    """
    groups = range(len(axes)) if groups is None else groups
    row = [axis[known[j]] if j in known else np.nan for j, axis in enumerate(axes)]
    if len(answers(spec, np.array(row), axes)) == 1:
        return 0.0
    options = []
    for group in set(groups):
        bought = [j for j in range(len(axes)) if groups[j] == group]
        if all(j in known for j in bought):
            continue
        begun = any(j in known for j in bought)
        total = 0 if begun else costs[bought[0]] * len(data)
        for seen in {tuple(d[j] for j in bought) for d in data}:
            rest = [d for d in data if tuple(d[j] for j in bought) == seen]
            now = {**known, **dict(zip(bought, seen, strict=True))}
            after = least_cost(spec, axes, rest, costs, now, groups)
            total += len(rest) * after
        options.append(total / len(data))
    return min(options)


@st.composite
def problems(draw):
    """A tree, its number of columns, training rows and costs."""
    n, thresholds = draw(st.sampled_from([(2, (0.5, 1.5)), (3, (0.5,)), (4, (0.5,))]))
    spec = draw(specs(n, thresholds, (0, 1), 8))
    grid = grid_of(spec, n_features=n)
    X = draw(st.lists(st.sampled_from(grid), min_size=2, max_size=12))
    costs = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    return spec, n, X, costs


def followed_cost(tree, X, costs, groups=None, known=()):
    """Mean cost of doing what next_feature says, until it says -1."""
    groups = np.arange(X.shape[1]) if groups is None else np.array(groups)
    now = np.full(X.shape, np.nan)
    now[:, list(known)] = X[:, list(known)]
    total = np.zeros(len(X))
    for _ in range(X.shape[1] + 1):
        for row, choice in enumerate(tree.next_feature(now)):
            if choice >= 0:
                bought = groups == groups[choice]
                if np.isnan(now[row, bought]).all():
                    total[row] += costs[choice]
                now[row, bought] = X[row, bought]
    assert tree.determined(now).all()
    return total.mean()


def terms_of(rules, label):
    """Global rules of one label as frozensets of (feature, lower, upper)."""
    return {
        frozenset((x.feature, x.lower, x.upper) for x in rules.literals(r))
        for r in range(rules.n_rules)
        if rules.target_names[rules.target[r]] == label
    }


@pytest.fixture(scope="session")
def twins():
    return SimpleNamespace(
        answers=answers,
        axes_of=axes_of,
        boolean_tree=boolean_tree,
        cells=cells,
        fitted_tree=fitted_tree,
        followed_cost=followed_cost,
        grid_of=grid_of,
        label_of=label_of,
        least_cost=least_cost,
        maximal_boxes=maximal_boxes,
        problems=problems,
        specs=specs,
        terms_of=terms_of,
        thresholds_of=thresholds_of,
    )
