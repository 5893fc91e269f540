"""Kernels of the sampler against references in numpy, and laws of their draws."""

import math

import numpy as np
import pytest
from scipy import stats

from skinterp.symbolic import _bart as bart
from skinterp.symbolic import _bart_kernels as kernels
from skinterp.symbolic import _bart_moves as moves
from skinterp.symbolic import _bart_random as random
from skinterp.symbolic._bart import BartSettings

RNG = np.random.default_rng(0)
MASK = 2**64 - 1


@pytest.fixture
def state():
    return random.seeded_state(np.random.SeedSequence(5))


def start(X, y, settings, seed=0):
    forest = bart.start_forest(y, settings, settings.sigma or 0.3)
    return (
        bart.rank_table(X),
        forest,
        bart.make_scratch(forest),
        bart.make_prior(settings, 0.3, len(y)),
        random.seeded_state(np.random.SeedSequence(seed)),
    )


def sampled(n=203, p=7, seed=0, sweeps=60, **settings):
    """A forest after some sweeps, with columns that have ties and without."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X[:, 1] = np.round(X[:, 1])
    X[:, 2] = X[:, 2] > 0
    y = np.tanh(X[:, 0]) / 4 + X[:, 2] / 4 + rng.normal(scale=0.05, size=n) - 0.1
    args = start(X, y, BartSettings(n_trees=6, **settings), seed)
    moves.run_sweeps(*args, sweeps)
    return X, y, args


# -- random numbers ---------------------------------------------------------------
def test_generator_is_xoshiro256_plus_plus(state):
    def rotated(x, k):
        return ((x << k) | (x >> (64 - k))) & MASK

    s = [int(word) for word in state]
    for _ in range(100):
        expected = (rotated((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotated(s[3], 45)
        assert int(random.next_word(state)) == expected
    assert [int(word) for word in state] == s


def test_first_words_of_a_known_state():
    """The first outputs of the authors' code for the state 1, 2, 3, 4."""
    state = np.array([1, 2, 3, 4], np.uint64)
    words = [int(random.next_word(state)) for _ in range(4)]
    assert words == [41943041, 58720359, 3588806011781223, 3591011842654386]


@pytest.mark.parametrize(
    ("draw", "law"),
    [
        (random.uniform, stats.uniform()),
        (random.normal, stats.norm()),
        (lambda s: random.chi_square(s, 3.0), stats.chi2(3)),
        (lambda s: random.chi_square(s, 503.0), stats.chi2(503)),
    ],
)
def test_draws_follow_their_law(draw, law, state):
    sample = [draw(state) for _ in range(20_000)]
    assert stats.kstest(sample, law.cdf).pvalue > 0.001


def test_integers_are_even(state):
    counts = np.bincount([random.integer_below(state, 7) for _ in range(14_000)])
    assert stats.chisquare(counts).pvalue > 0.001
    assert len(counts) == 7


def test_states_of_spawned_seeds_differ():
    seeds = np.random.SeedSequence(0).spawn(50)
    assert len({bytes(random.seeded_state(seed)) for seed in seeds}) == 50


# -- parts of a move --------------------------------------------------------------
def test_right_answer_of_a_leaf():
    """Four rows that sum to 2, both variances 1."""
    got = kernels.log_marginal(4, 2.0, 1.0, 1.0)
    assert got == pytest.approx(-0.404719, abs=1e-6)
    assert got == pytest.approx(-0.5 * math.log(5) + 0.4)


@pytest.mark.parametrize("seed", range(5))
def test_left_sum_and_partition(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 60))
    ranks = rng.integers(0, 9, 100).astype(np.uint16)
    rows = rng.permutation(100)[:n].astype(np.uint32)
    residual, cut = rng.normal(size=100), int(rng.integers(0, 9))
    goes_left = ranks[rows] <= cut
    count, total = kernels.sum_left(ranks, cut, rows, residual)
    assert count == goes_left.sum()
    assert total == pytest.approx(residual[rows[goes_left]].sum())
    moved, leaf_of = rows.copy(), np.zeros(100, np.uint16)
    spare = np.empty(100, np.uint32)
    kernels.partition(ranks, cut, moved, spare, leaf_of, 5)
    assert moved.tolist() == [*rows[goes_left], *rows[~goes_left]]
    assert (leaf_of[rows] == np.where(goes_left, 5, 6)).all()
    assert not np.delete(leaf_of, rows).any()


def test_cuts_are_even_over_the_distinct_values_of_a_node(state):
    X = np.column_stack([RNG.permutation(40), np.repeat(np.arange(4), [20, 15, 4, 1])])
    args = start(X.astype(float), np.zeros(40), BartSettings(n_trees=1))
    table, scratch = args[0], args[2]
    for j, rows in ((0, np.arange(3, 30)), (1, np.arange(40))):
        rows = rows.astype(np.uint32)
        allowed = np.unique(table.ranks[j, rows])[:-1]
        tied = table.n_distinct[j] < 40
        draws = [
            kernels.draw_cut(table.ranks[j], tied, rows, scratch, state)
            for _ in range(4000)
        ]
        values, counts = np.unique(draws, return_counts=True)
        assert values.tolist() == allowed.tolist()
        assert stats.chisquare(counts).pvalue > 0.001
        assert not scratch.seen.any()


@pytest.mark.parametrize("n_constant", [3, 4000])
def test_columns_are_even_over_those_with_a_cut(n_constant, state):
    """By rejection, and by counting where nearly all columns are refused."""
    X = np.zeros((30, n_constant + 3))
    X[-1] = 1.0  # varies, but not in the node
    X[:, :3] = RNG.normal(size=(30, 3))
    table = bart.rank_table(X)
    rows = np.arange(20, dtype=np.uint32)
    draws = [kernels.draw_column(table, rows, state) for _ in range(1200)]
    counts = np.bincount(draws)
    assert len(counts) == 3
    assert stats.chisquare(counts).pvalue > 0.001
    assert kernels.draw_column(table, rows[:1], state) == -1


@pytest.mark.parametrize("n", [5, 8, 203])
def test_one_pass_gives_and_sums(n):
    residual, shift = RNG.normal(size=n), RNG.normal(size=4)
    given, leaf_of = RNG.integers(0, 4, (2, n)).astype(np.uint16)
    expected = residual + shift[given]
    sums = np.zeros((4, kernels.LANES))
    kernels.shift_and_sum(residual, given, shift, leaf_of, sums)
    assert np.array_equal(residual, expected)
    assert np.allclose(sums.sum(1), np.bincount(leaf_of, expected, 4))
    squares = kernels.shift_last(residual, given, shift)
    assert squares == pytest.approx(((expected + shift[given]) ** 2).sum())


# -- a whole forest ---------------------------------------------------------------
def leaf_by_tests(table, nodes):
    """Leaf of each training row, found by walking down."""
    found = []
    for i in range(table.ranks.shape[1]):
        s = 0
        while nodes[s, kernels.COLUMN] >= 0:
            right = table.ranks[nodes[s, kernels.COLUMN], i] > nodes[s, kernels.CUT]
            s = nodes[s, kernels.LEFT] + int(right)
        found.append(s)
    return np.array(found)


@pytest.mark.parametrize("seed", range(4))
def test_bookkeeping_of_a_forest(seed):
    """After many moves, rows, leaves, slots and residuals are what the tests say."""
    _, y, (table, forest, _, _, _) = sampled(seed=seed, sweeps=400)
    fitted = np.zeros(len(y))
    for t, nodes in enumerate(forest.nodes):
        leaf = leaf_by_tests(table, nodes)
        assert np.array_equal(leaf, forest.leaf_of[t])
        assert np.array_equal(np.sort(forest.order[t]), np.arange(len(y)))
        fitted += forest.values[t, leaf]
        for s in np.unique(leaf):
            rows = forest.order[t, nodes[s, kernels.START] : nodes[s, kernels.STOP]]
            assert sorted(rows) == np.flatnonzero(leaf == s).tolist()
            assert len(rows) >= 5
            assert nodes[s, kernels.COLUMN] == kernels.LEAF
        used = nodes[:, kernels.COLUMN] != kernels.FREE
        assert used.sum() == 2 * len(np.unique(leaf)) - 1
        assert not used[forest.top[t] :].any()
    assert np.allclose(y - fitted, forest.residual, atol=1e-12)
    assert (forest.counts[:, 1] <= forest.counts[:, 0]).all()
    assert (forest.counts[:, 1] > 0).all()
    assert forest.counts[:, 0].sum() == 6 * 400


def test_predictions_of_training_rows_are_the_fit():
    X, y, (_, forest, _, _, _) = sampled()
    said = np.zeros(len(X))
    ranks = bart.rank_rows(X, X)
    kernels.add_predictions(ranks, forest.nodes, forest.values, said)
    assert np.allclose(said, y - forest.residual, atol=1e-12)


def test_shares_sum_to_one_and_count_splits():
    _, _, (table, forest, _, _, _) = sampled()
    shares = np.zeros(len(table.ranks))
    kernels.add_shares(forest.nodes, forest.top, shares)
    columns = forest.nodes[:, :, kernels.COLUMN]
    expected = np.bincount(columns[columns >= 0], minlength=len(shares))
    assert np.allclose(shares, expected / expected.sum())
    none = np.zeros(3)
    empty = bart.start_forest(np.zeros(20), BartSettings(n_trees=2), 1.0)
    kernels.add_shares(empty.nodes, empty.top, none)
    assert not none.any()


def test_leaf_values_follow_their_conditional_law():
    """Four rows that sum to 2, both variances 1: mean 0.4, variance 0.2."""
    settings = BartSettings(n_trees=1, sigma=1.0, k=0.5)
    assert settings.leaf_variance == 1.0
    y = np.array([0.5, 1.0, -0.5, 1.0])
    args = start(np.zeros((4, 1)), y, settings)
    _, forest, _, _, _ = args
    values = np.empty(20_000)
    for k in range(len(values)):
        moves.run_sweeps(*args, 1)
        values[k] = forest.values[0, 0]
    law = stats.norm(0.4, math.sqrt(0.2))
    assert stats.kstest(values, law.cdf).pvalue > 0.001
    assert np.allclose(forest.residual, y - values[-1])


def test_sigma_follows_its_conditional_law():
    """No column to split on and nothing to shrink: sigma given the residuals."""
    n = 30
    settings = BartSettings(n_trees=1, k=1e9)  # leaves that stay at zero
    y = RNG.normal(scale=0.2, size=n)
    args = start(np.zeros((n, 1)), y, settings)
    prior, forest = args[3], args[1]
    draws = np.empty(20_000)
    for k in range(len(draws)):
        moves.run_sweeps(*args, 1)
        draws[k] = forest.sigma2[0]
    squares = prior.freedom * prior.scale + (y**2).sum()
    law = stats.chi2(prior.freedom + n)
    assert stats.kstest(squares / draws, law.cdf).pvalue > 0.001


def test_copies_of_a_column_are_drawn_as_one():
    """The same moves on the same rows, however many columns there are to draw from."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 1))
    y = 0.3 * np.tanh(x[:, 0]) + rng.normal(scale=0.1, size=200)
    runs = []
    for p in (1, 50):
        args = start(np.tile(x, (1, p)), y, BartSettings(n_trees=5), 3)
        moves.run_sweeps(*args, 100)
        runs.append((args[1].residual.copy(), args[1].counts.copy()))
    assert np.array_equal(runs[0][0], runs[1][0])
    assert np.array_equal(runs[0][1], runs[1][1])
