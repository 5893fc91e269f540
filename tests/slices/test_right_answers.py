"""Slices that can be counted by hand, and counts of the search that are known."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skinterp.slices._search import Rows, pack, search


def run(T, p, *, gap=0.2, bound=False, n_jobs=None, **params):
    bits, owner = [], []
    for j in range(T.shape[1]):
        for value in np.unique(T[:, j]):
            bits.append(pack(T[:, j] == value))
            owner.append(j)
    rows = Rows(np.array(bits), np.asarray(p, float), np.ones(len(T)))
    several = np.zeros(len(owner), bool)
    params = {"max_order": 3, "min_size": 10} | params
    owners = np.array(owner)
    return search(rows, owners, several, gap=gap, bound=bound, n_jobs=n_jobs, **params)


def test_six_rows(small, make_finder, as_sets):
    T, p = small
    every = as_sets(make_finder(min_size=2, gap=1e-9).fit_scores(T, p))
    assert every == {
        frozenset({(0, 0), (1, 0)}): (2, 0.0),
        frozenset({(0, 0)}): (3, pytest.approx(1 / 3)),
        frozenset({(1, 0)}): (3, pytest.approx(1 / 3)),
    }
    finder = make_finder(min_size=2).fit_scores(T, p)
    assert finder.overall_ == pytest.approx(2 / 3)
    assert list(as_sets(finder)) == [
        {(0, 0), (1, 0)},
        {(0, 0)},  # ties: the order of the tags
        {(1, 0)},
    ]
    assert finder.n_large_.tolist() == [4, 2]


def test_one_slice_covers_all_errors(small, make_finder):
    T, p = small
    finder = make_finder(min_size=2).fit_scores(T, p)
    assert len(finder.cover_) == 1
    assert finder.cover_errors_.tolist() == [1.0]


@pytest.mark.parametrize(("gap", "n"), [(0.1, 35), (0.2, 13), (0.3, 5)])
def test_planted_slices(planted, gap, n, make_finder):
    T, p = planted
    finder = make_finder(gap=gap).fit_scores(T, p)
    assert len(finder.slices_) == n == finder.n_found_
    assert finder.n_candidates_.tolist() == [15, 90, 270]
    assert finder.n_large_.tolist() == [15, 90, 58]
    assert finder.n_evaluated_ == 375


def test_order_of_planted_slices(planted, make_finder, as_sets):
    T, p = planted
    found = list(as_sets(make_finder().fit_scores(T, p)).items())
    plant = {(0, 0), (1, 1)}
    assert found[0] == (plant, (24, 0.0))
    assert found[1] == (plant | {(2, 2)}, (11, 0.0))
    assert found[2] == (plant | {(3, 0)}, (10, 0.0))
    assert found[3] == ({(1, 1), (4, 0)}, (18, pytest.approx(1 / 3)))
    assert found[-1] == ({(0, 0), (2, 1)}, (15, pytest.approx(7 / 15)))


@pytest.mark.parametrize("gap", [0.1, 0.2, 0.3])
@pytest.mark.parametrize("bound", [False, True])
def test_equal_to_scanning_the_rows(
    planted, gap, bound, make_finder, as_sets, brute_force
):
    T, p = planted
    every = brute_force(T, p, 10, 3)
    assert len(every) == 163
    bad = {s: v for s, v in every.items() if v[1] <= p.mean() - gap}
    finder = make_finder(gap=gap, bound=bound).fit_scores(T, p)
    assert as_sets(finder) == {s: (n, pytest.approx(m)) for s, (n, m) in bad.items()}


def test_the_bound_needs_so_many_errors(planted, make_finder):
    T, p = planted
    from skinterp.slices._search import _errors_needed

    rows = Rows(np.zeros((0, 4), np.uint64), p.astype(float), np.ones(200))
    assert [_errors_needed(rows, gap, 10) for gap in (0.1, 0.2, 0.3)] == [5, 6, 7]
    finder = make_finder(bound=True).fit_scores(T, p)
    assert finder.n_pruned_by_bound_ > 0
    assert finder.n_evaluated_ < 375
    # what was not looked at counts among the tests: 15 + 90 + 270
    assert finder.n_tests_ == 375


def test_known_counts_of_the_search():
    rng = np.random.default_rng(1)
    T0 = rng.integers(0, 4, (5000, 12))
    T = rng.choice(4, (5000, 12), p=(0.7, 0.2, 0.07, 0.03))
    p = rng.random(5000) < 0.8
    found = run(T, p, max_order=4)
    assert found.n_large.tolist() == [48, 945, 7321, 29036]
    assert found.n_evaluated.tolist() == [48, 1056, 10643, 35109]
    assert found.n_evaluated.sum() == 46_856
    found = run(T0, p)
    assert found.n_large.tolist() == [48, 1056, 14080]
    assert found.n_evaluated.sum() == 15_184


def test_without_a_record_of_a_level_the_same_is_found(monkeypatch):
    rng = np.random.default_rng(1)
    rng.integers(0, 4, (5000, 12))
    T = rng.choice(4, (5000, 12), p=(0.7, 0.2, 0.07, 0.03))[:1000, :8]
    p = rng.random(1000) < 0.7
    expected = run(T, p, max_order=4)
    for room in (1000, 0):
        monkeypatch.setattr("skinterp.slices._search.MAX_RECORD", room)
        got = run(T, p, max_order=4)
        assert np.array_equal(got.tags, expected.tags)
        assert np.array_equal(got.n_large, expected.n_large)
        assert (got.n_evaluated >= expected.n_evaluated).all()


def test_parts_are_larger(planted, make_finder, as_sets, brute_force):
    T, p = planted
    every = brute_force(T, p, 1, 3)
    found = as_sets(make_finder(gap=1e-9, min_size=1).fit_scores(T, p))
    for items, (size, mean) in found.items():
        for item in items if len(items) > 1 else ():
            part = every[items - {item}]
            assert part[0] >= size
            assert part[0] * (1 - part[1]) >= size * (1 - mean) - 1e-9


def test_one_tag_is_a_group_by(planted, make_finder, as_sets):
    T, p = planted
    finder = make_finder(gap=1e-9, max_order=1, min_size=1).fit_scores(T, p)
    frame = pd.DataFrame(T).assign(p=p.astype(float))
    groups = {
        frozenset({(j, int(value))}): (len(group), pytest.approx(group.mean()))
        for j in range(5)
        for value, group in frame.groupby(j)["p"]
        if group.mean() < p.mean()
    }
    assert as_sets(finder) == groups


def test_more_tags_than_columns(small, make_finder, as_sets):
    T, p = small
    two, nine = (make_finder(min_size=1, max_order=k).fit_scores(T, p) for k in (2, 9))
    assert as_sets(two) == as_sets(nine)


def test_slices_of_all_columns_are_the_distinct_rows():
    T = np.random.default_rng(4).integers(0, 3, (60, 4))
    found = run(T, np.arange(60) % 2, min_size=1, max_order=4)
    assert found.n_large[-1] == len(np.unique(T, axis=0)) == 40


def test_order_of_rows_and_columns_does_not_matter(planted, make_finder, as_sets):
    T, p = planted
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(200), rng.permutation(5)
    turned = as_sets(make_finder().fit_scores(T[rows][:, columns], p[rows]))
    back = {frozenset((int(columns[j]), v) for j, v in s): x for s, x in turned.items()}
    assert back == as_sets(make_finder().fit_scores(T, p))


def test_doubled_rows_with_doubled_size(planted, make_finder, as_sets):
    T, p = planted
    double = make_finder(min_size=20).fit_scores(np.r_[T, T], np.r_[p, p])
    once = as_sets(make_finder().fit_scores(T, p))
    assert as_sets(double) == {s: (2 * n, mean) for s, (n, mean) in once.items()}


def test_no_slice_where_none_can_be(planted, make_finder):
    T, p = planted
    assert len(make_finder(gap=0.9).fit_scores(T, p).slices_) == 0
    assert len(make_finder(gap=1e-9).fit_scores(T, np.ones(200)).slices_) == 0


def test_several_tags_of_one_column(make_finder):
    cells = [["a", "b"], ["a", "b"], ["a"], ["b"], [], ["c"], None, ["c"]]
    tags = pd.DataFrame({"things": cells, "kind": list("xxxxyyyy")})
    p = np.array([0, 0, 1, 1, 1, 1, 1, 1])
    finder = make_finder(min_size=2).fit_scores(tags, p)
    words = finder.get_feature_names_out().tolist()
    assert words[0] == "things has 'a' and things has 'b'"
    assert not any("kind is 'x' and kind is 'y'" in w for w in words)
    inside = finder.transform(tags)[:, 0]
    assert inside.tolist() == [True, True] + [False] * 6
    finder.explain().check_faithful(finder, tags)


def test_indicator_columns_tell_of_presence_only(make_finder):
    tags = pd.DataFrame({"snow": [1, 1, 1, 0, 0, 0], "fog": [1, 1, 0, 0, 0, 1]})
    p = [0, 0, 1, 1, 1, 1]
    words = make_finder(min_size=2).fit_scores(tags, p).get_feature_names_out()
    assert "snow = 0" not in " ".join(words)
    finder = make_finder(min_size=2, multi_hot=["snow", "fog"]).fit_scores(tags, p)
    assert finder.get_feature_names_out()[0] == "snow > 0 and fog > 0"
    tallied = finder.n_large_.tolist()
    assert tallied == [2, 1]


def test_a_slice_on_the_threshold_counts(make_finder):
    # 0.7 - 0.2 is a little less than 0.5 in floating point
    T = np.array([[0]] * 10 + [[1]] * 10)
    p = np.array([1] * 5 + [0] * 5 + [1] * 9 + [0])
    finder = make_finder().fit_scores(T, p)
    assert finder.overall_ == pytest.approx(0.7)
    assert finder.slices_["performance"].tolist() == [0.5]


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(12, 150),
    a=st.integers(1, 4),
    order=st.integers(1, 4),
    min_size=st.integers(1, 12),
    binary=st.booleans(),
)
def test_always_equal_to_scanning_the_rows(
    seed, n, a, order, min_size, binary, make_finder, as_sets, brute_force
):
    rng = np.random.default_rng(seed)
    T = rng.integers(0, 3, (n, a))
    p = (rng.random(n) < 0.6).astype(float) if binary else rng.random(n)
    every = brute_force(T, p, min_size, order)
    bad = {s: v for s, v in every.items() if v[1] <= p.mean() - 0.05 + 1e-12}
    bad = {s: v for s, v in bad.items() if v[0] < n}
    params = {"gap": 0.05, "min_size": min_size, "max_order": order}
    for bound in (False, True):
        finder = make_finder(bound=bound, **params).fit_scores(T, p)
        got = as_sets(finder)
        # a tag that all rows carry says nothing, and is left out
        always = {(j, int(T[0, j])) for j in range(a) if (T[:, j] == T[0, j]).all()}
        expected = {s: v for s, v in bad.items() if not s & always}
        assert {s: v[0] for s, v in got.items()} == {
            s: v[0] for s, v in expected.items()
        }
        assert all(got[s][1] == pytest.approx(expected[s][1]) for s in got)


def test_any_number_of_threads_gives_the_same(planted, make_finder):
    T, p = planted
    values = np.random.default_rng(0).random(200)
    for score, metric in ((p, "auto"), (values, "loss")):
        one, two = (
            make_finder(metric=metric, gap=0.05, n_jobs=n).fit_scores(T, score)
            for n in (1, 3)
        )
        assert one.slices_.tobytes() == two.slices_.tobytes()
        assert np.array_equal(one.tags_, two.tags_)


def test_kernels_against_numpy():
    from skinterp.slices import _error_slice_finder_kernels as kernels
    from skinterp.slices._search import unpack

    rng = np.random.default_rng(0)
    mask = rng.random((3, 130)) < 0.5
    bits = pack(mask)
    assert np.array_equal(unpack(bits, 130), mask)
    words = rng.integers(0, 2**64, 50, dtype=np.uint64)
    assert [kernels.popcount(w) for w in words] == [int(w).bit_count() for w in words]
    assert kernels.count_two(bits[0], bits[1], bits[2]) == (
        (mask[0] & mask[2]).sum(),
        (mask[1] & mask[2]).sum(),
    )
    w, v = rng.random(130), rng.random(130)
    both = mask[0] & mask[1]
    got = kernels.slice_sums(bits, np.array([0, 2]), np.array([0, 1]), w, v)[0]
    expected = [both.sum(), w[both].sum(), (w[both] ** 2).sum()]
    expected += [(w * v)[both].sum(), (w * v * v)[both].sum()]
    assert got == pytest.approx(expected)
    everything = np.full(3, ~np.uint64(0))
    assert kernels.gain_of(bits, np.array([0, 1]), everything, w) == pytest.approx(
        w[both].sum()
    )
