"""PANSelector: right answers, rules, warnings, and that no leak is possible."""

import warnings

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skinterp
from skinterp.symbolic import PANSelector
from skinterp.symbolic import _bart as bart
from skinterp.symbolic import _pan_selector_rules as rules
from skinterp.symbolic._bart_diagnostics import effective_size, split_r_hat

CHEAP = {"n_chains": 4, "n_burn": 150, "n_draws": 150, "random_state": 0}


def product_of_two(n=400, p=40, seed=0, noise=0.0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(1, 5, size=(n, p))
    y = X[:, 0] * X[:, 1]
    return X, y + noise * y.std() * rng.normal(size=n)


def friedman(n, p, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, p))
    truth = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    truth += 10 * X[:, 3] + 5 * X[:, 4]
    return X, truth, truth + rng.normal(size=n)


@pytest.fixture(scope="module")
def fitted():
    X, y = product_of_two()
    return PANSelector(**CHEAP).fit(X, y), X, y


# -- ranks and clusters -----------------------------------------------------------
@pytest.mark.parametrize(
    ("ranks", "kept"),
    [
        ([1.2, 1.8, 50, 48, 55, 60, 52, 47], [0, 1]),
        ([1, 10], [0]),
        ([10, 1], [1]),
        ([3.0], [0]),
        ([2.0, 2.0, 2.0], [0, 1, 2]),
    ],
)
def test_right_answers_of_the_clusters(ranks, kept):
    cluster = rules.two_clusters(np.array(ranks, float))
    assert np.flatnonzero(cluster == 0).tolist() == kept


@pytest.mark.parametrize("seed", range(30))
def test_clusters_are_those_of_average_linkage(seed):
    rng = np.random.default_rng(seed)
    values = rng.uniform(size=rng.integers(3, 40)) ** rng.integers(1, 4)
    tree = linkage(values[:, None], "average")
    groups = cut_tree(tree, 2).ravel()
    expected = groups != groups[values.argmin()]
    assert np.array_equal(rules.two_clusters(values) == 1, expected)


def test_many_columns_are_clustered_in_no_time():
    values = np.random.default_rng(0).uniform(size=20_000)
    values[:7] -= 9
    assert np.flatnonzero(rules.two_clusters(values) == 0).tolist() == list(range(7))


def test_right_answer_of_the_ranks():
    shares = np.array([[0.5, 0.3, 0.1, 0.1], [0.4, 0.4, 0.15, 0.05]])
    ranks = rules.share_ranks(shares)
    assert ranks.tolist() == [[1, 2, 3.5, 3.5], [1.5, 1.5, 3, 4]]
    mean = ranks.mean(axis=0)
    assert mean.tolist() == [1.25, 1.75, 3.25, 3.75]
    assert rules.two_clusters(mean).tolist() == [0, 0, 1, 1]


def test_gap_is_a_half_where_all_chains_agree():
    mean = np.array([1.5, 1.5, 4.5, 4.5, 4.5, 4.5])
    assert rules.rank_gap(mean, np.array([0, 0, 1, 1, 1, 1])) == 0.5
    assert rules.rank_gap(np.ones(1), np.zeros(1, int)) == 0.0


def test_thresholds_by_permutation():
    null = np.array([[0.1, 0.2], [0.3, 0.0], [0.2, 0.1], [0.0, 0.5]])
    local = rules.permutation_threshold("local", null, 0.25)
    assert local == pytest.approx(np.quantile(null, 0.75, axis=0))
    largest = rules.permutation_threshold("g_max", null, 0.25)
    assert largest == pytest.approx([np.quantile([0.2, 0.3, 0.2, 0.5], 0.75)] * 2)
    together = rules.permutation_threshold("g_se", null, 0.25)
    covered = (null <= together + 1e-12).all(axis=1).mean()
    assert covered >= 0.75
    nearer = null.mean(0) + 0.99 * (together - null.mean(0))
    assert (null <= nearer).all(axis=1).mean() < 0.75


@pytest.mark.parametrize("alpha", [0.05, 0.25, 0.3])
def test_standard_errors_cover_as_many_permutations_as_asked(alpha):
    null = np.random.default_rng(0).gamma(2.0, size=(10, 6))
    threshold = rules.permutation_threshold("g_se", null, alpha)
    mean = null.mean(axis=0)
    covered = (null <= threshold + 1e-12).all(axis=1).mean()
    nearer = (null <= mean + 0.999 * (threshold - mean)).all(axis=1).mean()
    assert nearer < 1.0 - alpha <= covered


def test_limits_keep_the_best_ranks():
    support, ranks = np.array([True, False, True, False]), np.array([2.0, 3, 1, 4])
    limit = rules.limit_number
    assert limit(support, ranks, 1, None).tolist() == [True, False, True, False]
    assert limit(support, ranks, 3, None).tolist() == [True, True, True, False]
    assert limit(support, ranks, 1, 1).tolist() == [False, False, True, False]
    assert limit(support, ranks, 9, None).all()
    # a rule by permutation need not keep the best ranks: those kept come first
    support = np.array([False, True, False, True])
    assert limit(support, np.arange(4.0), 1, 1).tolist() == [False, True, False, False]
    assert limit(support, np.arange(4.0), 3, None).tolist() == [True, True, False, True]


@pytest.mark.parametrize("rule", ["local", "g_max", "g_se"])
def test_a_column_without_a_split_is_not_kept(rule):
    X = np.random.default_rng(0).uniform(size=(60, 4))
    X[:, 2] = 1.0
    selector = PANSelector(
        n_chains=2, n_burn=30, n_draws=20, rule=rule, n_permutations=5, random_state=0
    ).fit(X, 5 * X[:, 0])
    assert selector.vip_[:, 2].max() == 0
    assert not selector.support_[2]


# -- diagnostics ------------------------------------------------------------------
def test_independent_draws_are_worth_their_number():
    draws = np.random.default_rng(0).normal(size=(4, 1000))
    assert split_r_hat(draws) == pytest.approx(1.0, abs=0.01)
    assert effective_size(draws) == pytest.approx(4000, rel=0.15)


@pytest.mark.parametrize("rho", [0.5, 0.9])
def test_effective_size_of_an_autoregression(rho):
    """Known to be n (1 - rho) / (1 + rho)."""
    rng = np.random.default_rng(1)
    draws = np.zeros((4, 5000))
    steps = rng.normal(size=draws.shape)
    for k in range(1, 5000):
        draws[:, k] = rho * draws[:, k - 1] + steps[:, k]
    expected = 20_000 * (1 - rho) / (1 + rho)
    assert effective_size(draws) == pytest.approx(expected, rel=0.2)


def test_chains_apart_are_noticed():
    rng = np.random.default_rng(2)
    draws = rng.normal(size=(3, 500)) + np.array([[0], [0], [5]])
    assert split_r_hat(draws) > 2
    assert effective_size(draws) < 20
    drifting = rng.normal(size=(1, 500)) + np.linspace(0, 9, 500)
    assert split_r_hat(drifting) > 1.5


def test_diagnostics_of_few_draws():
    assert np.isnan(split_r_hat(np.zeros((2, 3))))
    assert np.isnan(effective_size(np.zeros((2, 7))))
    assert split_r_hat(np.ones((2, 8))) == 1.0


# -- the sampler's answers --------------------------------------------------------
def test_prior_splits_with_the_stated_probabilities():
    settings = bart.BartSettings()
    split = settings.alpha * (1 + np.arange(3.0)) ** -settings.beta
    assert split == pytest.approx([0.95, 0.2375, 0.10556], abs=1e-5)
    expected = np.log(split[:2] * (1 - split[1:]) ** 2 / (1 - split[:2]))
    assert bart.log_grow_ratios(settings, 2) == pytest.approx(expected)


def test_sigma_prior_has_its_quantile_at_the_estimate():
    prior = bart.make_prior(bart.BartSettings(), 0.2, 100)
    chi = np.random.default_rng(0).chisquare(3, 200_000)
    below = np.sqrt(prior.freedom * prior.scale / chi) < 0.2
    assert below.mean() == pytest.approx(0.9, abs=0.005)


def test_sigma_estimate_is_that_of_a_linear_model():
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(50, 4))
    plain[:, 3] = 7.0  # adds nothing to the rank
    y = plain @ [1, 1, 1, 0] + rng.normal(size=50)
    rest = y - LinearRegression().fit(plain, y).predict(plain)
    X = plain * [1, 1e6, 1e-6, 1]  # scales do not matter
    expected = np.sqrt((rest**2).sum() / (50 - 4))
    both = np.column_stack([y, 2 * y])
    assert bart.sigma_estimates(X, both) == pytest.approx([expected, 2 * expected])
    assert bart.sigma_estimates(X[:5], both[:5]) == pytest.approx(
        both[:5].std(axis=0, ddof=1)
    )
    exact = X @ [1, 1e-6, 1e6, 0]
    assert bart.sigma_estimates(X, exact[:, None]) == pytest.approx(
        1e-3 * exact.std(ddof=1)
    )


def test_ranks_of_a_table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 600))
    X[:, 300:] = np.round(X[:, 300:])
    table = bart.rank_table(X)
    expected = rankdata(X, method="dense", axis=0).T - 1
    assert np.array_equal(table.ranks, expected)
    assert table.ranks.dtype == np.uint16
    X[:, 5] = 1.0
    assert 5 not in bart.rank_table(X).usable
    assert np.array_equal(bart.rank_rows(X, X), bart.rank_table(X).ranks)


@pytest.mark.parametrize("seed", range(3))
def test_sane_on_friedman(seed):
    X, truth, y = friedman(500, 10, seed)
    X_new, truth_new, _ = friedman(500, 10, seed + 100)
    table, sigma = bart.rank_table(X), bart.sigma_estimates(X, y[:, None])[0]
    chain = bart.run_chain(
        table,
        y,
        bart.BartSettings(),
        sigma,
        np.random.SeedSequence(seed),
        new_ranks=bart.rank_rows(X_new, X),
    )
    assert np.sqrt(np.mean((chain.fitted - truth) ** 2)) < 1.0
    assert np.sqrt(np.mean((chain.predictions - truth_new) ** 2)) < 1.6
    assert set(np.argsort(-chain.shares)[:5]) == {0, 1, 2, 3, 4}
    assert 0.7 < chain.sigma.mean() < 1.5


# -- the selector -----------------------------------------------------------------
def test_sums_of_ranks_and_shares(fitted):
    selector, X, _ = fitted
    p = X.shape[1]
    assert np.allclose(selector.rank_.sum(axis=1), p * (p + 1) / 2)
    assert np.allclose(selector.vip_.sum(axis=1), 1.0)
    assert np.array_equal(selector.mean_rank_, selector.rank_.mean(axis=0))


def test_draws_without_a_split_have_no_share():
    X = np.random.default_rng(0).normal(size=(24, 12))
    y = np.random.default_rng(1).normal(size=24)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selector = PANSelector(n_chains=3, n_trees=1, n_burn=0, n_draws=60).fit(X, y)
    sums = selector.vip_.sum(axis=1)
    assert (sums <= 1.0 + 1e-12).all()
    assert np.allclose(sums * 60, np.round(sums * 60))
    assert (sums < 1.0).any()


def test_product_of_two_columns(fitted):
    selector, X, _ = fitted
    assert selector.get_support(indices=True).tolist() == [0, 1]
    assert selector.gap_ == pytest.approx(0.5)
    assert np.array_equal(selector.transform(X), X[:, :2])
    assert selector.snr_ > 10
    assert selector.acceptance_.shape == (4, 3)
    assert ((selector.acceptance_ > 0) & (selector.acceptance_ < 1)).all()


def test_product_among_a_hundred_columns_by_default():
    X, y = product_of_two(1000, 102)
    selector = PANSelector(random_state=0, n_jobs=2).fit(X, y)
    assert selector.get_support(indices=True).tolist() == [0, 1]
    assert selector.gap_ == pytest.approx(0.5)


def test_product_without_effects_of_its_columns_by_default():
    """Centered columns: neither helps before the other is split on."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(1000, 102))
    selector = PANSelector(random_state=0, n_jobs=2).fit(X, X[:, 0] * X[:, 1])
    assert selector.support_[:2].all()
    assert selector.support_.sum() <= 20


def test_symmetric_columns_share_alike():
    X, y = product_of_two(1000, 102, seed=12345)
    selector = PANSelector(n_chains=10, n_burn=400, n_draws=400, random_state=1)
    difference = np.subtract(*selector.fit(X, y).vip_[:, :2].T)
    assert abs(difference.mean()) < 3 * difference.std(ddof=1)


def test_increasing_functions_of_columns_change_nothing():
    """Bit for bit, where the estimate of the noise does not look at the columns."""
    X, y = product_of_two(300, 20, noise=0.2)
    bent = X.copy()
    bent[:, 0], bent[:, 5], bent[:, 9] = np.exp(X[:, 0]), X[:, 5] ** 3, 7 * X[:, 9] - 2
    for sigma in ("std", 0.7):
        vips = [
            PANSelector(**CHEAP, sigma_estimate=sigma).fit(data, y).vip_
            for data in (X, bent)
        ]
        assert np.array_equal(*vips)


def test_order_of_columns_permutes_the_selection():
    X, y = product_of_two(400, 30)
    order = np.random.default_rng(3).permutation(30)
    kept = PANSelector(**CHEAP).fit(X[:, order], y).get_support(indices=True)
    assert {0, 1} <= set(order[kept])
    assert len(kept) <= 4


def test_pure_noise_selects_something_and_warns():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(1000, 100)), rng.normal(size=1000)
    with pytest.warns(UserWarning, match="signal to noise is about"):
        selector = PANSelector(n_burn=300, n_draws=300, random_state=0).fit(X, y)
    assert 5 <= selector.support_.sum() <= 60
    assert selector.gap_ < 0.5


@pytest.mark.parametrize("rule", ["local", "g_max", "g_se"])
def test_rules_by_permutation_find_a_strong_pair(rule):
    X, y = product_of_two(300, 30, noise=0.3)
    selector = PANSelector(**CHEAP, rule=rule, n_permutations=20).fit(X, y)
    kept = set(selector.get_support(indices=True))
    assert {0, 1} <= kept
    assert len(kept) <= (6 if rule == "local" else 3)
    passed = selector.vip_.mean(axis=0) > selector.threshold_
    assert np.array_equal(selector.support_, passed)


def test_weak_rules_keep_at_least_min_features():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(100, 20)), rng.normal(size=100)
    params = CHEAP | {"rule": "g_max", "n_permutations": 10, "alpha_level": 0.01}
    selector = PANSelector(**params, min_features=3).fit(X, y)
    assert selector.support_.sum() == 3
    best = np.argsort(selector.mean_rank_, kind="stable")[:3]
    assert selector.support_[best].all()


def test_few_columns_are_warned_about():
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 2, size=(100, 4))
    y = X.prod(axis=1)
    with pytest.warns(UserWarning, match=r"of 4 columns are dropped.*min_features"):
        PANSelector(**CHEAP).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert PANSelector(**CHEAP, min_features=4).fit(X, y).support_.all()


def test_a_screen_that_keeps_nearly_everything_is_warned_about():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 12))
    y = X[:, :11].sum(axis=1)
    with pytest.warns(UserWarning, match=r"11 of 12 columns are kept.*n_chains"):
        PANSelector(**CHEAP).fit(X, y)


def test_one_column_is_kept():
    X = np.linspace(0, 1, 30)[:, None]
    selector = PANSelector(**CHEAP).fit(X, X[:, 0] ** 2)
    assert selector.support_.tolist() == [True]
    assert selector.gap_ == 0.0


def test_columns_that_stand_for_each_other_are_told():
    X, y = product_of_two(300, 600)
    X[:, 500] = np.exp(-X[:, 0])
    X[:, 7] = X[:, 1] + np.random.default_rng(1).normal(scale=0.05, size=300)
    X[:, 8] = 1.0
    selector = PANSelector(**CHEAP).fit(X, y)
    assert selector.support_[[0, 500]].any()
    for j, others in ((0, [500]), (500, [0]), (1, [7]), (7, [1])):
        if selector.support_[j]:
            assert selector.correlated_[j].tolist() == others
    assert set(selector.correlated_) <= {0, 1, 7, 500}
    told = selector.explain().meta["correlated"]
    assert {"x0": ("x500",), "x500": ("x0",)}.items() & told.items()


def test_constant_columns_are_never_kept():
    X, y = product_of_two(200, 12)
    X[:, 4] = 3.0
    selector = PANSelector(**CHEAP).fit(X, y)
    assert selector.vip_[:, 4].tolist() == [0.0] * 4
    assert not selector.support_[4]


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e150, 1e300])
def test_scales_do_not_matter(scale):
    X, y = product_of_two(100, 12)
    expected = PANSelector(**CHEAP).fit(X, y)
    for selector in (
        PANSelector(**CHEAP).fit(X * scale, y),
        PANSelector(**CHEAP).fit(X, y * scale),
    ):
        assert selector.support_[:2].all()
        assert selector.snr_ == pytest.approx(expected.snr_, rel=0.5)
    assert selector.sigma_.mean() == pytest.approx(
        expected.sigma_.mean() * scale, rel=0.2
    )


@pytest.mark.slow
@pytest.mark.parametrize("estimate", [1e-200, 1e200])
def test_any_estimate_of_sigma_can_be_used(estimate):
    X = np.random.default_rng(0).uniform(size=(60, 12))
    selector = PANSelector(
        n_chains=2, n_burn=50, n_draws=50, sigma_estimate=estimate, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        selector.fit(X, 5 * X[:, 3] - 4 * X[:, 7])
    assert np.isfinite(selector.sigma_).all()
    assert selector.support_[[3, 7]].all() or estimate > 1


def test_more_rows_than_small_ranks_hold():
    X = np.random.default_rng(0).normal(size=(2**16 + 10, 11))
    X[:, 10] = np.arange(len(X))
    params = {"n_chains": 1, "n_burn": 20, "n_draws": 10, "random_state": 0}
    selector = PANSelector(**params).fit(X, X[:, 10] > 2**16 / 3)
    assert selector.support_[10]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X[:19], y[:19]), "n_samples=19.*at least 20"),
        (lambda X, y: (X, np.full(len(y), 2.5)), r"y is constant \(2.5\)"),
        (lambda X, y: (np.where(X > 4.9, np.nan, X), y), "NaN"),
        (lambda X, y: (np.where(X > 4.9, np.inf, X), y), "infinity"),
        (lambda X, y: (X, np.where(y > 20, np.nan, y)), "NaN"),
        (lambda X, y: (X, np.where(y > 20, 1.7e308, -1.7e308)), "range of y"),
        (lambda X, y: (X, np.array(["a", "b"])[(y > 5).astype(int)]), "."),
    ],
)
def test_what_cannot_be_screened_is_refused(change, message):
    X, y = product_of_two(100, 12)
    with pytest.raises(ValueError, match=message):
        PANSelector(**CHEAP).fit(*change(X, y))


def test_contradicting_limits_are_refused():
    X, y = product_of_two(100, 12)
    with pytest.raises(ValueError, match="max_features=1 is smaller"):
        PANSelector(min_features=2, max_features=1).fit(X, y)


def test_presets_and_explicit_numbers():
    X, y = product_of_two(60, 12)
    paper = PANSelector(preset="paper", n_burn=5, n_draws=7, random_state=0).fit(X, y)
    assert paper.vip_.shape == (20, 12)
    assert paper.sigma_.shape == (20, 7)
    assert PANSelector(preset="paper")._setting("n_burn") == 10_000
    assert PANSelector()._setting("n_draws") == 1000


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_backends_give_equal_bits(backend, fitted):
    selector, X, y = fitted
    with parallel_config(backend=backend, n_jobs=2):
        again = clone(selector).fit(X, y)
    assert np.array_equal(again.vip_, selector.vip_)
    assert np.array_equal(again.sigma_, selector.sigma_)


def test_progress_is_shown(capsys):
    X, y = product_of_two(60, 12)
    PANSelector(n_chains=3, n_burn=5, n_draws=5, random_state=0, verbose=1).fit(X, y)
    shown = capsys.readouterr().err
    assert "PANSelector: 100%" in shown
    assert "3/3" in shown


def test_interrupt_stops_the_other_chains(monkeypatch):
    """A chain that is interrupted raises the flag that the others look at."""
    X, y = product_of_two(60, 12)
    flags, run = [], bart.run_chain

    def interrupted(*args, stop, **kwargs):
        flags.append(stop)
        if len(flags) == 2:
            raise KeyboardInterrupt
        return run(*args, stop=stop, **kwargs)

    monkeypatch.setattr(bart, "run_chain", interrupted)
    selector = PANSelector(n_chains=3, n_burn=5, n_draws=5, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        selector.fit(X, y)
    assert not hasattr(selector, "support_")
    with pytest.raises(KeyboardInterrupt):
        flags[0].check()
    with pytest.raises(KeyboardInterrupt):
        run(bart.rank_table(X), y, bart.BartSettings(), 1.0, None, stop=flags[0])


# -- in pipelines -----------------------------------------------------------------
class Recorder(PANSelector):
    """Notes the rows of every fit."""

    rows: list = []

    def fit(self, X, y):
        type(self).rows.append(np.sort(np.asarray(X)[:, 0]))
        return super().fit(X, y)


def test_grid_search_screens_every_fold_by_itself():
    """No leak: each fold's selector sees the rows of its training part alone."""
    X, y = product_of_two(90, 15)
    X[:, 0] += np.arange(90) * 1e-9  # every row is told apart
    pipeline = make_pipeline(Recorder(**CHEAP), LinearRegression())
    Recorder.rows = []
    search = GridSearchCV(pipeline, {"recorder__max_features": [1, 2]}, cv=3)
    search.fit(X, y)
    held_out = np.array_split(np.arange(90), 3)
    expected = [np.sort(np.delete(X[:, 0], test)) for test in held_out] * 2
    assert len(Recorder.rows) == 7
    for got, rows in zip(Recorder.rows, [*expected, np.sort(X[:, 0])], strict=True):
        assert np.array_equal(got, rows)


def test_selection_on_all_rows_would_leak():
    """The mistake that the pipeline avoids: noise looks predictable."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 300)), rng.normal(size=60)
    quick = {"n_chains": 3, "n_burn": 80, "n_draws": 80, "random_state": 0}
    selector = PANSelector(**quick, max_features=8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        honest = cross_val_score(make_pipeline(selector, LinearRegression()), X, y)
        leaking = cross_val_score(
            LinearRegression(), clone(selector).fit_transform(X, y), y
        )
    assert honest.mean() + 0.3 < leaking.mean()


def test_selection_in_the_columns_of_a_pipeline():
    X, y = product_of_two(200, 15)
    frame = pd.DataFrame(X, columns=[f"col {j}" for j in range(15)])
    pipeline = make_pipeline(StandardScaler(), PANSelector(**CHEAP)).fit(frame, y)
    selection = skinterp.explain(pipeline)
    assert selection.kind == "selection"
    assert selection.selected_names == ("col 0", "col 1")
    selection.check_faithful(pipeline, frame)


def test_explanation_says_what_was_found(fitted):
    selector, X, _ = fitted
    selection = selector.explain()
    selection.check_faithful(selector, X)
    assert np.array_equal(selection.selected, selector.support_)
    assert selection.score_sd == pytest.approx(selector.vip_.std(axis=0, ddof=1))
    assert selection.meta["chains"]["n_chains"] == 4
    assert selection.threshold is None
    assert selection.rule == "vip_rank"
