"""Right answers, twins and properties of the search for the most valuable rows."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.datasets import load_breast_cancer, make_regression
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from skinterp.valuation import KNNUtility, TopDataValues, knn_shapley
from skinterp.valuation._bandit import Rules, Search
from skinterp.valuation._bandit_kernels import gap_index, most_telling, shrink
from skinterp.valuation._data_kernel import DataKernel
from skinterp.valuation._posterior import (
    Posterior,
    Pulls,
    Regression,
    Variances,
)
from skinterp.valuation._search import Draws

SEEDS = st.integers(0, 2**32 - 1)


class Additive:
    """Each row adds its weight; what was asked is noted."""

    def __init__(self, weights):
        self.weights = np.asarray(weights)
        self.calls = []

    def __call__(self, indices):
        self.calls.append(tuple(int(i) for i in indices))
        return float(self.weights[np.asarray(indices, dtype=int)].sum())


def rows(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + 0.3 * rng.normal(size=n) > 0).astype(int)


def flipped(draw, n, n_flips):
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(draw)
    order = rng.permutation(len(y))
    train, validation = order[:n], order[n : n + 100]
    scaler = StandardScaler().fit(X[train])
    wrong = rng.permutation(n)[:n_flips]
    labels = y[train].copy()
    labels[wrong] = 1 - labels[wrong]
    clean = scaler.transform(X[validation]), y[validation]
    return scaler.transform(X[train]), labels, *clean, wrong


def recall(found, wrong):
    return len(set(found.tolist()) & set(wrong.tolist())) / len(wrong)


# -- the posterior -----------------------------------------------------------------


def test_sequential_updates():
    K = np.array([[1, 0.5, 0.2], [0.5, 1, 0.3], [0.2, 0.3, 1]])
    posterior = Posterior(np.zeros(3), K, 0.5)
    for arm, reward in ((0, 1.0), (2, -1.0), (0, 0.5)):
        posterior.pull(arm, reward)
    assert_allclose(posterior.mean, [0.569482, 0.132153, -0.618529], atol=1e-6)
    expected = [
        [0.198910, 0.094005, 0.013624],
        [0.094005, 0.767030, 0.074932],
        [0.013624, 0.074932, 0.329700],
    ]
    assert_allclose(posterior.cov, expected, atol=1e-6)


def process(seed, n=9, n_pulls=25):
    """Kernel of few rows, and pulls of some of them."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 2)), rng.integers(2, size=n)
    kernel = DataKernel(X, y, 2, "rbf-signed-label")
    arms, rewards = rng.integers(n - 2, size=n_pulls), rng.normal(size=n_pulls)
    pulls = Pulls.none(n)
    for arm, reward in zip(arms.tolist(), rewards.tolist(), strict=True):
        pulls.add(arm, reward)
    return kernel, arms, rewards, pulls


@given(SEEDS)
def test_updates_equal_a_regression_on_all_rewards(seed):
    """Pull by pull, from arm means, and by weights: all are the one posterior."""
    kernel, arms, rewards, pulls = process(seed)
    variances, prior = Variances(0.8, 0.3), 0.4
    K = 0.8 * kernel.matrix()
    solved = np.linalg.solve(
        K[np.ix_(arms, arms)] + 0.3 * np.eye(len(arms)),
        np.column_stack([rewards - prior, K[arms]]),
    )
    mean, cov = prior + K[:, arms] @ solved[:, 0], K - K[:, arms] @ solved[:, 1:]
    step = Posterior(np.full(9, prior), K.copy(), 0.3)
    for arm, reward in zip(arms, rewards, strict=True):
        step.pull(arm, reward)
    whole = Posterior.given(kernel, variances, prior, pulls)
    regression = Regression(kernel, variances, prior, pulls)
    for got in (step, whole):
        assert_allclose(got.mean, mean, atol=1e-9)
        assert_allclose(got.cov, cov, atol=1e-9)
        assert_array_equal(got.cov, got.cov.T)
    got_mean, got_std = regression.of_arms(np.arange(9))
    assert_allclose(got_mean, mean, atol=1e-9)
    assert_allclose(got_std**2, np.diag(cov), atol=1e-9)
    at, weight = regression.weights(3)
    assert_allclose(prior + weight @ (pulls.means() - prior), mean[3], atol=1e-9)
    assert_array_equal(at, np.unique(arms))


def test_calibration_is_that_of_rows_left_out():
    kernel, _, _, pulls = process(3)
    variances, at = Variances(0.8, 0.3), pulls.pulled
    z = []
    for arm in at:
        rest = Pulls(pulls.count.copy(), pulls.total.copy(), pulls.square.copy())
        rest.count[arm] = 0
        mean, std = Regression(kernel, variances, 0.1, rest).of_arms(np.array([arm]))
        own = pulls.total[arm] / pulls.count[arm]
        spread = std[0] ** 2 + 0.3 / pulls.count[arm]
        z.append((own - mean[0]) / math.sqrt(spread))
    got = Regression(kernel, variances, 0.1, pulls).calibration()
    assert_allclose(got, np.sqrt(np.mean(np.square(z))), rtol=1e-6)


def test_variances_of_a_design():
    pulls = Pulls.none(4)
    for arm, reward in ((0, 1.0), (0, 3.0), (2, 9.0), (2, 7.0)):
        pulls.add(arm, reward)
    found = Variances.of_design(pulls)
    assert found.noise == pytest.approx(2.0)  # of 1, 3 and of 9, 7
    assert found.signal == pytest.approx(18.0 - 1.0)  # of means 2 and 8, less 2 / 2


def test_variances_without_noise_or_signal_stay_positive():
    pulls = Pulls.none(2)
    for arm in (0, 1, 0, 1):
        pulls.add(arm, 0.0)
    found = Variances.of_design(pulls)
    assert found.noise > 0
    assert found.signal > 0


def test_likelihood_is_largest_where_the_variances_are_found():
    """Against the density of all rewards, at variances around."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(25, 2)), rng.integers(2, size=25)
    K = DataKernel(X, y, 2, "rbf-signed-label").matrix()
    truth = np.linalg.cholesky(4.0 * K) @ rng.normal(size=25)
    arms = np.repeat(np.arange(25), 1 + np.arange(25) % 3)
    rewards = truth[arms] + rng.normal(size=len(arms))
    pulls = Pulls.none(25)
    for arm, reward in zip(arms.tolist(), rewards.tolist(), strict=True):
        pulls.add(arm, reward)
    found = Variances.of_likelihood(pulls, K, 0.5)

    def density(signal, noise):
        cov = signal * K[np.ix_(arms, arms)] + noise * np.eye(len(arms))
        return multivariate_normal(np.full(len(arms), 0.5), cov).logpdf(rewards)

    best = density(found.signal, found.noise)
    for a, b in itertools.product((0.8, 1.0, 1.25), repeat=2):
        if (a, b) != (1.0, 1.0):
            assert density(a * found.signal, b * found.noise) < best


# -- the kernel of data ------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("kind", ["rbf-signed-label", "rbf-label"])
def test_kernel_is_a_correlation(n_classes, kind):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 2))
    y = rng.integers(n_classes, size=30) if n_classes else rng.normal(size=30)
    kernel = DataKernel(X, y, n_classes, kind)
    K = kernel.matrix()
    assert_allclose(np.diag(K), 1.0, atol=1e-7)
    assert np.linalg.eigvalsh(K).min() > 0
    assert_allclose(kernel.rows(np.array([4, 7])), K[[4, 7]], atol=1e-15)
    cross, own = kernel.cross(X[:5], y[:5])
    assert_allclose(cross, K[:5], atol=1e-7)
    assert_array_equal(own, np.ones(5))


def test_kernel_of_two_rows_by_hand():
    X, y = np.array([[0.0], [0.0], [2.0]]), np.array([0, 1, 0])
    z = 2.0 / np.std([0.0, 0.0, 2.0])
    kernel = DataKernel(X, y, 2, "rbf-signed-label")
    assert kernel.length == pytest.approx(z)  # the median of 0, z, z
    K = kernel.matrix()
    assert K[0, 1] == pytest.approx(-0.9)  # one place, two labels
    assert K[0, 2] == pytest.approx(0.9 * math.exp(-0.5))


def test_rows_of_equal_contents_have_one_value():
    X, y = rows(24)
    X[5], y[5] = X[2], y[2]
    kernel = DataKernel(X, y, 2, "rbf-signed-label")
    pulls = Pulls.none(24)
    for arm in (2, 2, 9):
        pulls.add(arm, 1.0)
    got = Posterior.given(kernel, Variances(1.0, 0.5), 0.0, pulls)
    assert got.mean[5] == pytest.approx(got.mean[2], rel=1e-6)
    assert got.std()[5] == pytest.approx(got.std()[2], rel=1e-6)
    assert got.mean[2] > 0.5


# -- index, choice, stop -----------------------------------------------------------


def test_index_by_hand():
    mean, cov = np.array([3.0, 2.0, 1.0, 0.0]), np.diag([1.0, 1.0, 0.25, 4.0])
    posterior = Posterior(mean, cov, 1.0)
    for epsilon, stops in ((0.0, False), (0.2360, False), (0.2361, True)):
        rules = Rules(m=2, epsilon=epsilon, beta=1.0)
        search = Search(posterior, Pulls.none(4), rules, rewards=lambda arms: [])
        list(search.run(0))
        assert search.stopped is stops
        assert search.gap == pytest.approx(math.sqrt(5.0) - 2.0)
        assert search.index(1)[:2] == (1, 3)
        assert_array_equal(search.members(), [True, True, False, False])


@given(SEEDS, st.booleans())
def test_kernels_equal_plain_loops(seed, paired):
    rng = np.random.default_rng(seed)
    n, m, noise, beta = 8, 3, 0.7, 1.3
    root = rng.normal(size=(n, n))
    cov, mean = root @ root.T, rng.normal(size=n)
    member = np.zeros(n, dtype=bool)
    member[np.argsort(-mean)[:m]] = True
    best = max(
        (mean[i] - mean[j] + beta * width(cov, i, j, paired), j, i)
        for i, j in itertools.product(range(n), repeat=2)
        if member[j] and not member[i]
    )
    got = gap_index(mean, cov, member, beta, paired)
    assert got[:2] == best[1:]
    assert got[2] == pytest.approx(best[0])
    gains = (cov[:, 0] - cov[:, 1]) ** 2 / (noise + np.diag(cov))
    assert most_telling(cov, noise, 0, 1) == int(np.argmax(gains))
    shrunk, gain = cov.copy(), np.empty(n)
    shrink(shrunk, 2, noise, gain)
    assert_allclose(gain, cov[2] / (noise + cov[2, 2]))
    assert_allclose(shrunk, cov - np.outer(gain, cov[2]), atol=1e-10)


def width(cov, i, j, paired):
    if paired:
        return math.sqrt(cov[i, i] + cov[j, j] - 2 * cov[i, j])
    return math.sqrt(cov[i, i]) + math.sqrt(cov[j, j])


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("pull_rule", ["greedy", "variance"])
def test_additive_game_needs_at_most_one_draw_of_each(seed, pull_rule):
    n, m = 12, 4
    w = np.random.default_rng(seed).uniform(-1, 1, size=n)
    posterior = Posterior(np.zeros(n), np.eye(n), 1e-10)
    rules = Rules(m=m, beta=1.0, pull_rule=pull_rule)
    search = Search(posterior, Pulls.none(n), rules, lambda arms: [w[a] for a in arms])
    list(search.run(10 * n))
    assert search.stopped
    assert len(search.trace) <= n
    assert set(np.flatnonzero(search.members())) == set(np.argsort(-w)[:m])
    off_diagonal = posterior.cov - np.diag(np.diag(posterior.cov))
    assert not off_diagonal.any()  # independent arms stay so


def test_large_epsilon_stops_at_once():
    X, y = rows()
    w = np.random.default_rng(0).uniform(-1, 1, size=40)
    given = {"signal_variance": 1.0, "noise_variance": 0.1, "prior_mean": 0.0}
    beta = Rules(m=4).width(40, 1)
    search = TopDataValues(utility=Additive(w), epsilon=2.01 * beta, **given)
    search.fit(X, y)
    assert search.n_evaluations_ == 0
    assert search.certified_


def test_theory_widths():
    assert Rules(m=1, beta=1.0).width(50, 3) == 1.0
    expected = math.sqrt(2 * math.log(50**2 * math.pi**2 * 9 / (6 * 0.05)))
    assert Rules(m=1, delta=0.05).width(50, 3) == pytest.approx(expected)


def test_paired_widths_stop_sooner():
    """Neighbours are known to be alike before either is known."""
    X, y = rows()
    w = X[:, 0] / np.abs(X[:, 0]).max()
    smooth = {
        "kernel": lambda X, y: np.exp(-0.5 * (X[:, :1] - X[:, :1].T) ** 2),
        "signal_variance": 1.0,
        "noise_variance": 0.5,
        "prior_mean": 0.0,
    }
    counts = [
        TopDataValues(utility=Additive(w), paired=paired, epsilon=0.3, m=4, **smooth)
        .fit(X, y)
        .n_evaluations_
        for paired in (True, False)
    ]
    assert 0 < counts[0] < 0.8 * counts[1]


# -- draws -------------------------------------------------------------------------


def sequential(tasks):
    return [function(*args) for function, args, _ in tasks]


def test_a_draw_adds_one_row_to_others():
    game = Additive(np.arange(20.0))
    draws = Draws(game, 20, None, [1, 2, 3, 4], sequential)
    assert draws([7, 0, 7]) == [7.0, 0.0, 7.0]
    for joined, coalition, arm in zip(
        game.calls[::2], game.calls[1::2], (7, 0, 7), strict=True
    ):
        assert arm not in coalition
        assert set(joined) == {*coalition, arm}
        assert list(joined) == sorted(set(joined))


@pytest.mark.parametrize(("largest", "expected"), [(None, 20), (4, 5)])
def test_all_sizes_are_equally_likely(largest, expected):
    draws = Draws(Additive(np.zeros(20)), 20, largest, [5, 6, 7, 8], sequential)
    sizes = []
    for _ in range(200):
        sizes += [draws._size(arm) for arm in range(20)]
        draws.count += 1
    counts = np.bincount(sizes)
    assert len(counts) == expected
    assert_allclose(counts, len(sizes) / expected, rtol=0.05)


def test_draws_are_unbiased_for_the_shapley_value():
    X, y, X_val, y_val, _ = flipped(0, 60, 9)
    utility = KNNUtility(X, y, X_val, y_val)
    draws = Draws(utility, 60, None, [1, 1, 2, 3], sequential)
    arm = int(np.argmax(utility.shapley_values()))
    rewards = draws([arm] * 4000)
    error = np.std(rewards) / math.sqrt(4000)
    assert abs(np.mean(rewards) - utility.shapley_values()[arm]) < 3 * error


# -- nearest neighbours ------------------------------------------------------------


def shapley_by_permutations(utility, n):
    values = np.zeros(n)
    for order in itertools.permutations(range(n)):
        for k, i in enumerate(order):
            values[i] += utility(list(order[: k + 1])) - utility(list(order[:k]))
    return values / math.factorial(n)


def test_neighbour_values_by_hand():
    got = knn_shapley([[0.0], [1.0], [2.0]], [1, 1, 0], [[0.0]], [1], n_neighbors=1)
    assert_array_equal(got, [0.5, 0.5, 0.0])


@pytest.mark.parametrize(
    ("n", "k"), [(1, 1), (1, 3), (2, 7), (5, 2), (5, 7), (6, 1), (6, 5)]
)
def test_neighbour_values_equal_all_permutations(n, k):
    rng = np.random.default_rng(n + 10 * k)
    X, y = rng.normal(size=(n, 2)), rng.integers(2, size=n)
    X_val, y_val = rng.normal(size=(4, 2)), rng.integers(2, size=4)
    utility = KNNUtility(X, y, X_val, y_val, k)
    expected = shapley_by_permutations(utility, n)
    assert_allclose(utility.shapley_values(), expected, atol=1e-12)
    got = knn_shapley(X, y, X_val, y_val, n_neighbors=k)
    assert_allclose(got, expected, atol=1e-12)


@given(SEEDS)
def test_neighbour_utility_equals_a_plain_one(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(15, 2)), rng.integers(3, size=15)
    X_val, y_val = rng.normal(size=(6, 2)), rng.integers(3, size=6)
    k, members = int(rng.integers(1, 8)), rng.permutation(15)[: rng.integers(16)]
    total = 0.0
    for query, label in zip(X_val, y_val, strict=True):
        gap = ((X[members] - query) ** 2).sum(axis=1)
        near = members[np.argsort(gap)[:k]]
        total += (y[near] == label).sum() / k
    utility = KNNUtility(X, y, X_val, y_val, k)
    assert utility(members) == pytest.approx(total / 6)


def test_neighbour_values_sum_to_the_utility_of_all():
    X, y, X_val, y_val, wrong = flipped(0, 60, 9)
    values = knn_shapley(X, y, X_val, y_val)
    utility = KNNUtility(X, y, X_val, y_val)
    assert values.sum() == pytest.approx(0.774, abs=1e-12)
    assert utility(np.arange(60)) == pytest.approx(0.774)
    assert recall(np.argsort(values, kind="stable")[:9], wrong) == pytest.approx(8 / 9)


def test_closed_form_is_used_where_there_is_one():
    X, y, X_val, y_val, _ = flipped(0, 60, 9)
    exact = TopDataValues(utility="knn", m=9, lowest=True).fit(X, y, X_val, y_val)
    assert_allclose(exact.value_mean_, knn_shapley(X, y, X_val, y_val), atol=1e-15)
    assert exact.n_evaluations_ == 0
    assert exact.certified_
    assert not exact.value_std_.any()
    assert set(np.unique(exact.probability_)) == {0.0, 1.0}
    near = exact.predict_value(X, y)
    assert np.corrcoef(near, exact.value_mean_)[0, 1] > 0.99
    small = TopDataValues(utility="knn", max_coalition=5, max_evaluations=100)
    assert small.fit(X, y, X_val, y_val).n_evaluations_ == 100


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"X_val": [[1.0, 2.0]]}, "features"),
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"n_neighbors": 1.5}, "n_neighbors"),
        ({"y": [1]}, "inconsistent"),
    ],
)
def test_neighbour_utility_refuses(change, word):
    given = {"X": [[0.0], [1.0]], "y": [0, 1], "X_val": [[0.0]], "y_val": [1]}
    with pytest.raises(ValueError, match=word):
        KNNUtility(**(given | change))


# -- the estimator -----------------------------------------------------------------


def found(X, y, **params):
    return TopDataValues(**({"random_state": 0, "max_evaluations": 120} | params)).fit(
        X, y
    )


def test_lowest_is_the_top_of_the_negated_game():
    X, y = rows()
    w = np.random.default_rng(2).normal(size=40)
    low = found(X, y, utility=Additive(w), lowest=True, prior_mean=0.0, beta=1.0)
    top = found(X, y, utility=Additive(-w), prior_mean=0.0, beta=1.0)
    assert_array_equal(low.top_indices_, top.top_indices_)
    assert_array_equal(low.value_mean_, -top.value_mean_)
    assert_array_equal(low.trace_["row"], top.trace_["row"])
    assert_array_equal(low.trace_["reward"], -top.trace_["reward"])
    assert_array_equal(low.probability_, top.probability_)
    assert low.gap_bound_ == top.gap_bound_


def test_budget_counts_trainings():
    X, y = rows()
    game = Additive(np.random.default_rng(0).normal(size=40))
    search = found(X, y, utility=game, max_evaluations=61)
    assert search.n_evaluations_ == len(game.calls) == 60
    assert search.pulls_.sum() == len(search.trace_) == 29  # two tell the mean value
    assert not search.certified_
    assert search.gap_bound_ > 0


def test_draws_gather_at_the_border():
    """Rows far from rank m are settled by few draws."""
    X, y = rows(60)
    w = np.linspace(-1, 1, 60)
    rng = np.random.default_rng(0)

    class Noisy(Additive):
        def __call__(self, indices):
            return super().__call__(indices) + 0.2 * math.sin(1e3 * sum(indices))

    order = rng.permutation(60)
    independent = {"kernel": lambda X, y: np.eye(len(X)), "prior_mean": 0.0}
    search = found(
        X, y, utility=Noisy(w[order]), m=15, max_evaluations=1200, **independent
    )
    rank = np.empty(60, dtype=int)
    rank[np.argsort(-w[order])] = np.arange(60)
    near = np.abs(rank - 14.5) < 8
    assert search.pulls_[near].mean() > 1.5 * search.pulls_[~near].mean()


def test_results_do_not_depend_on_workers():
    X, y = rows()
    first = found(X, y, batch_size=4, estimator=GaussianNB())
    for n_jobs, backend in ((2, "threading"), (2, "loky")):
        with parallel_config(backend=backend):
            other = found(X, y, batch_size=4, estimator=GaussianNB(), n_jobs=n_jobs)
        assert_array_equal(other.value_mean_, first.value_mean_)
        for name in first.trace_.dtype.names:
            assert_array_equal(other.trace_[name], first.trace_[name])


def test_batches_spread_over_rows():
    """A pick shrinks the covariance, so that the next one goes elsewhere."""
    X, y = rows()
    w = np.random.default_rng(4).normal(size=40)
    search = found(X, y, utility=Additive(w), batch_size=8, beta=1.0)
    searched = search.trace_[np.isfinite(search.trace_["gap"])]
    assert len(set(searched["row"][:8])) > 3
    assert len(set(searched["gap"][:8])) == 1


def test_validation_rows_are_no_candidates():
    X, y = rows(50)
    search = found(X, y, estimator=GaussianNB(), store_covariance=True)
    assert (~search.candidates_).sum() == 10
    assert not search.pulls_[~search.candidates_].any()
    assert np.isnan(search.probability_[~search.candidates_]).all()
    assert search.probability_.sum(where=search.candidates_) == pytest.approx(4)
    assert search.value_cov_.shape == (40, 40)
    held = np.flatnonzero(~search.candidates_)
    mean, std = search.predict_value(X[held], y[held], return_std=True)
    assert_allclose(mean, search.value_mean_[held])
    assert_allclose(std, search.value_std_[held])


def test_own_validation_rows_leave_all_as_candidates():
    X, y = rows(60)
    search = TopDataValues(GaussianNB(), max_evaluations=60, random_state=0)
    search.fit(X[:40], y[:40], X[40:], y[40:])
    assert search.candidates_.all()


def test_more_rows_than_fit_are_drawn():
    X, y = rows(60)
    search = found(X, y, utility="knn", max_rows=20, m=3)
    assert search.candidates_.sum() == 20
    assert search.candidates_[search.top_indices_].all()
    game = Additive(np.random.default_rng(0).normal(size=60))
    search = found(X, y, utility=game, max_rows=20, m=3)
    at = np.flatnonzero(search.pulls_)
    assert_allclose(search.value_mean_[at], game.weights[at], atol=1e-3)


def test_a_class_that_would_be_lost_keeps_its_best_row():
    X, y = rows(40)
    w = np.where(y == 1, 1.0, -1.0) + 0.01 * np.arange(40)
    search = found(X, y, utility=Additive(w), m=6, max_evaluations=400)
    assert set(y[search.top_indices_]) == {1}
    assert search.kept_.sum() == 7
    spared = np.flatnonzero(search.kept_ & ~search.support_)
    assert spared == np.argmax(np.where(y == 0, search.value_mean_, -np.inf))


@pytest.mark.parametrize("lowest", [True, False])
def test_fit_resample_keeps_frames(lowest):
    X, y = rows(40)
    frame, labels = pd.DataFrame(X, columns=list("abc")), pd.Series(y, name="y")
    search = TopDataValues(utility="knn", m=12, lowest=lowest, random_state=0)
    kept_X, kept_y = search.fit_resample(frame, labels)
    assert list(kept_X.columns) == ["a", "b", "c"]
    assert_array_equal(kept_X.index, search.sample_indices_)
    assert_array_equal(kept_y, y[search.kept_])
    assert search.kept_.sum() == (28 if lowest else 12)


def test_continuous_targets_are_scored_by_r2():
    X, y = make_regression(60, 3, noise=1.0, random_state=0)
    y[:4] += 500.0
    search = found(X, y, m=4, lowest=True, beta=1.0, max_evaluations=400)
    assert not hasattr(search, "classes_")
    candidates = np.flatnonzero(search.candidates_[:4])
    assert len(set(search.top_indices_) & set(candidates)) >= len(candidates) - 1


def test_features_and_kernel_of_ones_own():
    X, y = rows(40)
    w = np.random.default_rng(0).uniform(-1, 1, size=40)
    embedded = found(X, y, utility=Additive(w), features=PCA(2))
    assert embedded.features_.n_components_ == 2
    seen = []

    def kernel(features, labels):
        seen.append((features.shape, labels.dtype.kind))
        return np.exp(-np.abs(features[:, :1] - features[:, :1].T))

    own = found(X, np.where(y, "yes", "no"), utility=Additive(w), kernel=kernel)
    assert math.isnan(own.length_scale_)
    assert seen[0] == ((40, 3), "U")
    mean = own.predict_value(X[:3], np.array(["no", "yes", "no"]))
    assert np.isfinite(mean).all()


def test_a_wrong_kernel_shows_in_the_calibration():
    X, y = rows(40)
    w = np.random.default_rng(0).normal(size=40)
    given = {"signal_variance": 1e-4, "noise_variance": 1e-4, "beta": 1.0}
    wrong = found(X, y, utility=Additive(w), **given)
    right = found(X, y, utility=Additive(w), kernel=lambda X, y: np.eye(len(X)))
    assert wrong.calibration_ > 10 > 3 > right.calibration_ > 0.3


def test_reestimated_variances():
    X, y, X_val, y_val, _ = flipped(0, 60, 9)
    utility = KNNUtility(X, y, X_val, y_val)
    once = found(X, y, utility=utility, lowest=True, beta=1.0)
    again = found(X, y, utility=utility, lowest=True, beta=1.0, reestimate_every=10)
    assert once.noise_variance_ != again.noise_variance_
    assert again.noise_variance_ == pytest.approx(1e-3, rel=0.6)


def test_sources_of_a_value_add_up():
    X, y = rows(40)
    search = found(X, y, estimator=GaussianNB())
    row = int(search.top_indices_[0])
    sources = search.explain(row=row)
    prior = search._prior
    assert prior + sources.part.sum() == pytest.approx(search.value_mean_[row])
    assert sources.of == row
    assert_array_equal(np.sort(sources.row), np.flatnonzero(search.pulls_))


def test_a_coalition_of_one_class_is_a_constant():
    X, y = rows(40)
    search = found(X, y, estimator=LogisticRegression(), max_coalition=1)
    assert np.isfinite(search.value_mean_).all()


@pytest.mark.parametrize("scoring", ["neg_log_loss", "roc_auc", "balanced_accuracy"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_of_sets_without_every_class(scoring, n_classes):
    X, y = rows(60)
    y = np.array(["a", "b", "c"])[y + (X[:, 1] > 0) * (n_classes - 2)]
    if scoring == "roc_auc" and n_classes == 3:
        scoring = "roc_auc_ovr"
    search = found(X, y, estimator=GaussianNB(), scoring=scoring, max_coalition=3)
    assert np.isfinite(search.value_mean_).all()


class Infinite:
    def __call__(self, indices):
        return math.inf if len(indices) > 5 else 0.0


@pytest.mark.parametrize(
    ("params", "word"),
    [
        ({"m": 40}, "m=40"),
        ({"utility": Infinite(), "prior_mean": 0.0}, "not finite"),
        ({"kernel": lambda X, y: np.eye(3)}, "kernel"),
        ({"kernel": lambda X, y: 0 * np.eye(len(X))}, "diagonal"),
    ],
)
def test_refused(params, word):
    X, y = rows(40)
    with pytest.raises(ValueError, match=word):
        found(X, y, **({"estimator": GaussianNB()} | params))


def test_refused_rows():
    X, y = rows(40)
    search = TopDataValues(GaussianNB(), max_evaluations=20)
    with pytest.raises(ValueError, match="at least 20 samples"):
        search.fit(X[:19], y[:19])
    with pytest.raises(ValueError, match="only one class"):
        search.fit(X, np.ones(40))
    with pytest.raises(ValueError, match="continuous"):
        search.fit(X, X[:, 0])
    with pytest.raises(ValueError, match="together"):
        search.fit(X, y, X_val=X)
    with pytest.raises(ValueError, match="y_val holds 7"):
        search.fit(X, y, X, np.where(y, 7, 0))
    with pytest.raises(ValueError, match="drop it"):
        TopDataValues(utility=Additive(y)).fit(X, y, X, y)
    with pytest.raises(ValueError, match="needs labels"):
        TopDataValues(utility="knn").fit(X, X[:, 0])
    search.fit(X, y)
    with pytest.raises(ValueError, match="y holds 5"):
        search.predict_value(X, y + 5)
    with pytest.raises(ValueError, match="row=-1"):
        search.explain(row=-1)
    with pytest.raises(ValueError, match="marked"):
        search.explain(marked=[77])


def test_flipped_labels_are_found():
    """Five draws of the data; the benchmark has twenty, and more seeds."""
    hits = []
    for draw in range(5):
        X, y, X_val, y_val, wrong = flipped(draw, 60, 9)
        search = TopDataValues(
            utility=KNNUtility(X, y, X_val, y_val),
            m=9,
            lowest=True,
            beta=1.0,
            max_evaluations=480,
            random_state=draw,
        )
        hits.append(recall(search.fit(X, y).top_indices_, wrong))
    assert np.mean(hits) >= 0.7
