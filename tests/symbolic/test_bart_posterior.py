"""The sampler visits trees as often as the exact posterior says.

On a tiny table all trees can be listed, with their prior and likelihood.
"""

from itertools import product

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid
from scipy.special import logsumexp
from scipy.stats import chi2, invgamma, kstest

from skinterp.symbolic import _bart as bart
from skinterp.symbolic import _bart_kernels as kernels
from skinterp.symbolic import _bart_moves as moves
from skinterp.symbolic._bart import BartSettings

RNG = np.random.default_rng(0)


def all_trees(X, settings, rows=None, depth=0):
    """Yield each tree as (tests, leaves, log prior); tests is a nested tuple or ()."""
    rows = np.arange(len(X)) if rows is None else rows
    split = settings.alpha * (1 + depth) ** -settings.beta
    yield (), (tuple(rows),), np.log1p(-split)
    values = [np.unique(column) for column in X[rows].T]
    valid = [j for j, v in enumerate(values) if len(v) > 1]
    for j in valid:
        rule = np.log(split) - np.log(len(valid)) - np.log(len(values[j]) - 1)
        for cut in values[j][:-1]:
            left, right = rows[X[rows, j] <= cut], rows[X[rows, j] > cut]
            if min(len(left), len(right)) < settings.min_leaf:
                continue
            below = [list(all_trees(X, settings, r, depth + 1)) for r in (left, right)]
            for (t0, l0, p0), (t1, l1, p1) in product(*below):
                yield (j, int(cut), t0, t1), l0 + l1, rule + p0 + p1


def membership(leaves, n):
    """Matrix of shape (n, n): 1 where two rows share a leaf."""
    shared = np.zeros((n, n))
    for rows in leaves:
        shared[np.ix_(rows, rows)] = 1.0
    return shared


def log_likelihood(y, forests, settings, sigma2):
    """Density of the target given trees, leaf values integrated out."""
    n = len(y)
    shared = sum(membership(leaves, n) for leaves in forests)
    size, axes = np.linalg.eigh(settings.leaf_variance * shared)
    variance = np.add.outer(np.atleast_1d(sigma2), size)
    return -0.5 * (np.log(2 * np.pi * variance) + (axes.T @ y) ** 2 / variance).sum(-1)


def posterior(X, y, settings, n_trees=1):
    """Exact probability of each tuple of trees, with sigma fixed."""
    trees = list(all_trees(X, settings))
    keys, logs = [], []
    for several in product(trees, repeat=n_trees):
        keys.append(tuple(tests for tests, _, _ in several))
        likelihood = log_likelihood(
            y, [leaves for _, leaves, _ in several], settings, settings.sigma**2
        )
        logs.append(sum(prior for _, _, prior in several) + likelihood[0])
    logs = np.array(logs)
    return dict(zip(keys, np.exp(logs - logsumexp(logs)), strict=True))


def read_tests(nodes, s=0):
    """Tests of a tree in a forest, as a nested tuple."""
    if nodes[s, kernels.COLUMN] < 0:
        return ()
    left = nodes[s, kernels.LEFT]
    return (
        int(nodes[s, kernels.COLUMN]),
        int(nodes[s, kernels.CUT]),
        read_tests(nodes, left),
        read_tests(nodes, left + 1),
    )


def start(X, y, settings, seed=0, sigma_hat=0.3):
    """Return everything that the kernels take, and the forest."""
    forest = bart.start_forest(y, settings, settings.sigma or sigma_hat)
    return (
        bart.rank_table(np.asarray(X, float)),
        forest,
        bart.make_scratch(forest),
        bart.make_prior(settings, sigma_hat, len(y)),
        bart.seeded_state(np.random.SeedSequence(seed)),
    )


def visits(args, n, thin):
    """Count how often each tuple of trees is visited."""
    forest, found, sigma2 = args[1], {}, np.empty(n)
    moves.run_sweeps(*args, 2000)
    for k in range(n):
        moves.run_sweeps(*args, thin)
        key = tuple(read_tests(nodes) for nodes in forest.nodes)
        found[key] = found.get(key, 0) + 1
        sigma2[k] = forest.sigma2[0]
    return found, sigma2


def chi_square_p(found, expected):
    """P-value of the visits against exact probabilities; rare trees are pooled."""
    assert set(found) <= set(expected)
    n = sum(found.values())
    seen = np.array([found.get(key, 0) for key in expected], float)
    mean = n * np.array(list(expected.values()))
    rare = mean < 10
    seen = np.append(seen[~rare], seen[rare].sum())
    mean = np.append(mean[~rare], mean[rare].sum())
    seen, mean = seen[mean > 0], mean[mean > 0]
    return chi2.sf(((seen - mean) ** 2 / mean).sum(), len(mean) - 1)


def tiny(n, levels, seed=0):
    """Columns of whole numbers with ties, and a target that follows the first."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.permutation(np.arange(n) % k) for k in levels])
    y = 0.3 * (X[:, 0] > X[:, 0].mean()) + rng.normal(scale=0.2, size=n)
    return X, y - y.mean()


def check(X, y, settings, *, n_trees=1, n=20_000, thin=30, seed=1):
    expected = posterior(X, y, settings, n_trees)
    found, _ = visits(start(X, y, settings, seed), n, thin)
    assert chi_square_p(found, expected) > 0.001
    return expected


@pytest.mark.parametrize(
    ("levels", "min_leaf", "sigma"),
    [((4, 3), 2, 0.3), ((12, 2, 3), 3, 0.2), ((2, 2, 2), 1, 0.4)],
)
def test_one_tree_on_fixed_sigma(levels, min_leaf, sigma):
    X, y = tiny(12, levels)
    settings = BartSettings(n_trees=1, sigma=sigma, min_leaf=min_leaf, k=1.0)
    expected = check(X, y, settings)
    assert len(expected) > 15
    assert max(expected.values()) < 0.6


def test_two_trees_share_the_target():
    """Backfitting: the joint posterior of pairs, leaf values integrated out."""
    X, y = tiny(8, (4,))
    settings = BartSettings(n_trees=2, sigma=0.15, min_leaf=2, k=0.7)
    expected = check(X, y, settings, n_trees=2)
    assert len(expected) > 20


def test_columns_without_a_cut_take_no_part():
    X, y = tiny(10, (4, 1, 2))
    settings = BartSettings(n_trees=1, sigma=0.3, min_leaf=2, k=1.0)
    expected = check(X, y, settings)
    assert {tests[0] for (tests,) in expected if tests} == {0, 2}


def test_prior_is_recovered_without_likelihood():
    """With an endless sigma every tree explains the target alike."""
    X, y = tiny(12, (4, 3))
    settings = BartSettings(n_trees=1, sigma=1e8, min_leaf=2)
    trees = list(all_trees(X, settings))
    logs = np.array([prior for _, _, prior in trees])
    prior = np.exp(logs - logsumexp(logs))
    expected = {(tests,): p for (tests, _, _), p in zip(trees, prior, strict=True)}
    found, _ = visits(start(X, y, settings, 2), 20_000, 30)
    assert chi_square_p(found, expected) > 0.001


def test_depths_follow_the_prior_on_many_rows():
    """The split probabilities 0.95, 0.2375, 0.10556 at depths 0, 1 and 2."""
    X, y = RNG.uniform(size=(3000, 3)), RNG.normal(size=3000)
    settings = BartSettings(n_trees=1, sigma=1e9)
    args = start(X, y, settings, 3)
    nodes = args[1].nodes[0]
    splits, present = np.zeros(3), np.zeros(3)
    for _ in range(8000):
        moves.run_sweeps(*args, 10)
        used = nodes[: args[1].top[0]]
        used = used[used[:, kernels.COLUMN] != kernels.FREE]
        for depth in range(3):
            at = used[used[:, kernels.DEPTH] == depth]
            present[depth] += len(at)
            splits[depth] += (at[:, kernels.COLUMN] >= 0).sum()
    # trees with too small a leaf have no prior weight: about 10 rows in 3000
    assert np.allclose(splits / present, [0.95, 0.2375, 0.10556], atol=0.012)


def test_trees_and_sigma_drawn_together():
    """Posterior of trees with sigma integrated out, and of sigma over the trees."""
    X, y = tiny(10, (5, 2))
    settings = BartSettings(n_trees=1, min_leaf=2, k=1.0)
    args = start(X, y, settings, 4)
    prior = args[3]
    grid = np.geomspace(2e-3, 2.0, 1500)
    law = invgamma(prior.freedom / 2, scale=prior.freedom * prior.scale / 2)
    trees = list(all_trees(X, settings))
    logs = np.array(
        [log + log_likelihood(y, [leaves], settings, grid) for _, leaves, log in trees]
    )
    logs += law.logpdf(grid) + np.log(np.gradient(grid))
    joint = np.exp(logs - logsumexp(logs))
    expected = {
        (tests,): p for (tests, _, _), p in zip(trees, joint.sum(axis=1), strict=True)
    }
    # trees stay long while sigma is small: closer draws are not independent
    found, sigma2 = visits(args, 4000, 400)
    assert chi_square_p(found, expected) > 0.001
    density = joint.sum(axis=0) / np.gradient(grid)
    cdf = cumulative_trapezoid(density, grid, initial=0)
    assert kstest(sigma2, lambda x: np.interp(x, grid, cdf)).pvalue > 0.001


def test_a_wrong_posterior_is_noticed():
    """The test has power: another prior of the depth is refused."""
    X, y = tiny(12, (4, 3))
    settings = BartSettings(n_trees=1, sigma=0.3, min_leaf=2, k=1.0)
    other = BartSettings(n_trees=1, sigma=0.3, min_leaf=2, k=1.0, beta=1.8)
    found, _ = visits(start(X, y, settings, 1), 20_000, 30)
    assert chi_square_p(found, posterior(X, y, other)) < 1e-6
