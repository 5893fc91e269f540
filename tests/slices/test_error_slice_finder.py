"""The finder: models, held-out rows, evidence, what it predicts and proposes."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import skinterp
from skinterp.slices import ErrorSliceFinder
from skinterp.slices._evidence import adjust


def road(n=600, seed=0):
    rng = np.random.default_rng(seed)
    tags = pd.DataFrame(
        {
            "light": rng.choice(["day", "night"], n),
            "road": rng.choice(["dry", "wet", "snow"], n),
            "age": rng.normal(40, 10, n),
        }
    )
    bad = ((tags["light"] == "night") & (tags["road"] == "snow")).to_numpy()
    right = rng.random(n) < np.where(bad, 0.3, 0.9)
    tags.loc[::11, "road"] = None
    return tags, right, bad


def test_planted_slice_is_first_and_stays_on_rows_held_out():
    tags, right, _ = road(2000)
    finder = ErrorSliceFinder(random_state=0, min_size=60).fit_scores(tags, right)
    assert finder.get_feature_names_out()[0] == "light is 'night' and road is 'snow'"
    first = finder.slices_[0]
    assert first["held_gap"] > 0.3
    assert first["held_q_value"] < 1e-6
    assert first["size"] + first["held_size"] == pytest.approx(300, abs=40)


def test_rows_without_signal_give_no_gap_held_out():
    rng = np.random.default_rng(0)
    T, right = rng.integers(0, 4, (2000, 8)), rng.random(2000) < 0.8
    finder = ErrorSliceFinder(random_state=0, gap=0.15).fit_scores(T, right)
    found, held = finder.slices_["gap"], finder.slices_["held_gap"]
    assert np.median(found) > 0.15
    assert abs(np.nanmedian(held)) < 0.05
    assert (finder.slices_["q_value"] > 0.05).all()


def test_p_values_are_binomial_and_adjusted_for_all_tests(planted, make_finder):
    T, p = planted
    finder = make_finder(gap=0.1).fit_scores(T, p)
    s = finder.slices_
    right = np.round(s["size"] * s["performance"])
    expected = stats.binom.cdf(right, s["size"], p.mean())
    assert s["p_value"] == pytest.approx(expected)
    listed = np.r_[expected, np.ones(finder.n_tests_ - len(s))]
    everything = stats.false_discovery_control(listed)
    assert s["q_value"] == pytest.approx(everything[: len(s)])
    assert adjust(np.array([0.01, 0.04, 0.03]), 3).tolist() == pytest.approx(
        [0.03, 0.04, 0.04]
    )


def test_p_values_of_losses_are_students(make_finder):
    rng = np.random.default_rng(0)
    T, loss = rng.integers(0, 2, (100, 2)), rng.exponential(size=100)
    loss[T[:, 0] == 1] += 1
    finder = make_finder(metric="loss", gap=None, max_order=1).fit_scores(T, loss)
    assert finder.gap_ == pytest.approx(loss.mean() / 2)
    finder = make_finder(metric="loss", gap=0.3, max_order=1).fit_scores(T, loss)
    inside = T[:, 0] == 1
    assert finder.slices_["performance"].tolist() == [
        pytest.approx(loss[inside].mean())
    ]
    t = stats.ttest_1samp(loss[inside], loss.mean(), alternative="greater")
    assert finder.slices_["p_value"][0] == pytest.approx(t.pvalue, rel=1e-9)
    assert "higher loss" in finder.explain().to_text()


def test_weights_count_in_means_and_not_in_sizes(planted, make_finder, as_sets):
    T, p = planted
    plain = make_finder().fit_scores(T, p)
    heavy = make_finder().fit_scores(T, p, sample_weight=np.full(200, 7.0))
    assert as_sets(heavy) == as_sets(plain)
    weight = np.where(np.arange(200) < 50, 0.0, 1.0)
    dropped = make_finder().fit_scores(T[50:], p[50:])
    assert as_sets(make_finder().fit_scores(T, p, sample_weight=weight)) == as_sets(
        dropped
    )


def test_redundant_slices_are_dropped(planted, make_finder, as_sets):
    T, p = planted
    every = as_sets(make_finder().fit_scores(T, p))
    kept = as_sets(make_finder(redundancy=0.0).fit_scores(T, p))
    plant = frozenset({(0, 0), (1, 1)})
    assert plant in kept
    assert not any(plant < s for s in kept)
    for s in set(every) - set(kept):
        assert any(part < s and every[part][1] <= every[s][1] for part in every)


def test_max_slices_keeps_the_first(planted, make_finder, as_sets):
    T, p = planted
    every = list(as_sets(make_finder().fit_scores(T, p)))
    few = make_finder(max_slices=4).fit_scores(T, p)
    assert list(as_sets(few)) == every[:4]
    assert few.n_found_ == 13


def test_rare_slices_first(planted, make_finder):
    T, p = planted
    size = make_finder(order_by="size").fit_scores(T, p).slices_["size"]
    assert (np.diff(size) >= 0).all()
    assert size[0] < size[-1]


def test_cover_is_greedy(planted, make_finder):
    T, p = planted
    finder = make_finder(gap=0.1, coverage=1.0).fit_scores(T, p)
    inside, left = finder.transform(T), ~p
    for step, s in enumerate(finder.cover_):
        gains = (inside & left[:, None]).sum(axis=0)
        assert gains[s] == gains.max()
        left = left & ~inside[:, s]
        assert finder.cover_errors_[step] == pytest.approx(1 - left.sum() / (~p).sum())
    union = inside[:, finder.cover_].any(axis=1).mean()
    assert finder.cover_rows_[-1] == pytest.approx(union)
    assert not (inside & left[:, None]).any()


def test_predict_is_the_mean_of_the_slices_by_size(small, make_finder):
    T, p = small
    finder = make_finder(min_size=2).fit_scores(T, p)
    weights = np.array([1 / 2, 1 / 3, 1 / 3])
    expected = weights @ [0, 1 / 3, 1 / 3] / weights.sum()
    assert finder.predict([[0, 0], [0, 1], [1, 1], [5, 5]]) == pytest.approx(
        [expected, 1 / 3, 2 / 3, 2 / 3]
    )


def test_score_and_evaluate_on_new_rows():
    tags, right, _ = road()
    finder = ErrorSliceFinder(random_state=0).fit_scores(tags, right)
    new, new_right, _ = road(3000, seed=1)
    assert finder.score(new, new_right) > 0.2
    again = finder.evaluate(new, new_right)
    inside = finder.transform(new)[:, 0]
    assert again.held_size[0] == inside.sum()
    assert again.held_performance[0] == pytest.approx(new_right[inside].mean())
    assert again.held_overall == pytest.approx(new_right.mean())
    assert again.n_held == 3000
    assert again.to_text().startswith("On 3000 rows held out")


def test_suggest_takes_unsure_rows_of_bad_slices():
    tags, right, _ = road()
    finder = ErrorSliceFinder(random_state=0).fit_scores(tags, right)
    confidence = np.random.default_rng(0).random(600)
    chosen = finder.suggest(tags, 20, confidence)
    inside = finder.transform(tags)[:, finder.cover_]
    assert len(set(chosen.tolist())) == 20
    assert inside[chosen].any(axis=1).all()
    first = chosen[inside[chosen, 0]]
    unsure = confidence[inside[:, 0]].min()
    assert confidence[first].min() == unsure
    assert len(finder.suggest(tags, 10_000)) == inside.any(axis=1).sum()
    with pytest.raises(ValueError, match="budget=0"):
        finder.suggest(tags, 0)
    with pytest.raises(ValueError, match="confidence"):
        finder.suggest(tags, 3, [0.1])


def test_unseen_slices_are_neighbours_that_the_rows_lack(make_finder):
    T = np.array([[i, j] for i in range(3) for j in range(3) for _ in range(20)])
    T = T[~((T[:, 0] == 2) & (T[:, 1] == 2))]
    bad = (T[:, 0] >= 1) & (T[:, 1] >= 1)
    finder = make_finder(unseen="substitution", gap=0.3).fit_scores(T, ~bad)
    listed = finder.unseen_slices()
    assert listed["slice"].tolist() == ["x0 = 2 and x1 = 2"]
    assert listed["rows"].tolist() == [0]
    assert listed["similarity"].tolist() == [0.5]
    # the worst corner of all, by adding up
    assert listed["expected"][0] < 0.2
    far = make_finder(
        unseen="substitution",
        gap=0.3,
        tag_similarity={"x0": np.eye(3), "x1": np.eye(3)},
    )
    assert len(far.fit_scores(T, ~bad).unseen_slices()) == 0
    with pytest.raises(ValueError, match="unseen='none'"):
        make_finder().fit_scores(T, ~bad).unseen_slices()
    with pytest.raises(ValueError, match="tag_similarity"):
        far.set_params(tag_similarity={"x0": [[1.0]]}).fit_scores(T, ~bad)


def test_a_frozen_model_is_taken_as_it_is_and_another_out_of_fold():
    X, y = load_breast_cancer(return_X_y=True)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    finder = ErrorSliceFinder(FrozenEstimator(tree), holdout=0.0).fit(X, y)
    assert finder.overall_ == 1.0
    honest = ErrorSliceFinder(clone(tree), holdout=0.0, random_state=0).fit(X, y)
    assert 0.85 < honest.overall_ < 0.97
    assert honest.estimator_.score(X, y) == 1.0
    with pytest.raises(NotFittedError):
        ErrorSliceFinder(FrozenEstimator(clone(tree))).fit(X, y)


def test_real_rows_speak_in_the_users_units():
    data = load_breast_cancer(as_frame=True)
    X, y = data.data.iloc[:, :6], data.target
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    pipe = make_pipeline(
        StandardScaler(), ErrorSliceFinder(tree, gap=0.1, max_order=2, random_state=0)
    )
    found = skinterp.explain(pipe.fit(X, y))
    assert found.n_slices > 3
    found.check_faithful(pipe, X)
    cuts = found.upper[np.isfinite(found.upper)]
    assert cuts.min() > 0
    assert cuts.max() > 10
    assert np.nanmedian(found.held_gaps[found.cover]) > 0.03


def test_tags_beside_the_models_features():
    X, y = load_diabetes(return_X_y=True)
    tags = pd.DataFrame({"sex": np.where(X[:, 1] > 0, "a", "b"), "age": X[:, 0]})
    finder = ErrorSliceFinder(LinearRegression(), gap=3.0, random_state=0)
    finder.fit(X, y, tags=tags)
    assert finder.metric_ == "absolute_error"
    assert finder.feature_names_in_.tolist() == ["sex", "age"]
    assert finder.slices_["performance"].min() >= finder.overall_ + 3.0 - 1e-9
    assert len(finder.predict(tags)) == len(y)
    assert -1 <= finder.score(X, y, tags=tags) <= 1


@pytest.mark.parametrize("metric", ["log_loss", "brier", lambda y, p: 1.0 * (y != p)])
def test_other_metrics(metric):
    X, y = load_breast_cancer(return_X_y=True)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    finder = ErrorSliceFinder(tree, metric=metric, random_state=0).fit(X[:, :4], y)
    worse = finder.slices_["performance"] - finder.overall_
    assert worse == pytest.approx(finder.slices_["gap"])
    assert (worse >= finder.gap_ - 1e-9).all()


def test_squared_error_of_a_forest():
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(5, max_depth=3, random_state=0)
    finder = ErrorSliceFinder(forest, metric="squared_error", random_state=0)
    finder.fit(X, y)
    assert (finder.slices_["performance"] > 1.4 * finder.overall_).all()


@pytest.mark.parametrize("package", ["lightgbm", "xgboost"])
def test_boosted_trees_of_others(package):
    module = pytest.importorskip(package)
    cls = module.LGBMClassifier if package == "lightgbm" else module.XGBClassifier
    quiet = {"verbose": -1} if package == "lightgbm" else {}
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :5]
    model = cls(n_estimators=5, n_jobs=1, random_state=0, **quiet)
    for estimator in (model, FrozenEstimator(clone(model).fit(X[:300], y[:300]))):
        finder = ErrorSliceFinder(estimator, gap=0.1, cv=3, random_state=0)
        finder.fit(X[300:], y[300:])
        assert len(finder.slices_)
        finder.explain().check_faithful(finder, X)


def test_the_default_model_takes_texts():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.choice(["u", "v"], 200), "b": rng.normal(size=200)})
    y = np.where((X["a"] == "u") & (X["b"] > 0.5), rng.integers(0, 2, 200), 1)
    finder = ErrorSliceFinder(random_state=0).fit(X, y)
    assert "a is 'u'" in finder.get_feature_names_out()[0]
    regression = ErrorSliceFinder(random_state=0).fit(X, X["b"] + (X["a"] == "u"))
    assert regression.metric_ == "absolute_error"


def test_dates_ids_and_skewed_columns(make_finder):
    rng = np.random.default_rng(0)
    n = 400
    tags = pd.DataFrame(
        {
            "day": pd.date_range("2024-01-01", periods=n),
            "id": [f"row {i}" for i in range(n)],
            "mostly": np.where(rng.random(n) < 0.9, 100.0, rng.random(n)),
            "empty": np.full(n, np.nan),
            "flag": rng.random(n) < 0.5,
        }
    )
    right = np.arange(n) < 300
    finder = make_finder().fit_scores(tags, right)
    assert finder.get_feature_names_out()[0].startswith("day > 2024-10")
    assert {c.position for c in finder.columns_} == {0, 2, 4}
    assert finder.columns_[1].values[0] < 1.0
    finder.explain().check_faithful(finder, tags)


@pytest.mark.parametrize(
    ("params", "error", "match"),
    [
        ({"gap": 0.0}, ValueError, "gap"),
        ({"min_size": 1.5}, ValueError, "min_size"),
        ({"min_size": 500}, ValueError, "n_samples=200"),
        ({"multi_hot": ["nowhere"]}, ValueError, "multi_hot names 'nowhere'"),
        ({"holdout": 1.0}, ValueError, "holdout"),
    ],
)
def test_wrong_parameters(planted, params, error, match, make_finder):
    T, p = planted
    with pytest.raises(error, match=match):
        make_finder(**params).fit_scores(T, p)


def test_wrong_scores(planted, make_finder):
    T, p = planted
    with pytest.raises(ValueError, match=r"\[0, 1\], got 3.0; .* metric='loss'"):
        make_finder().fit_scores(T, p * 3.0)
    with pytest.raises(ValueError, match="NaN"):
        make_finder().fit_scores(T, np.where(p, np.nan, 0))
    with pytest.raises(ValueError, match="at least 0"):
        make_finder().fit_scores(T, p, sample_weight=-np.ones(200))
    with pytest.raises(ValueError, match="fit_scores"):
        make_finder(metric="loss").fit(T, p)
    linear = FrozenEstimator(LinearRegression().fit(T, p))
    with pytest.raises(ValueError, match="predict_proba"):
        make_finder(estimator=linear, metric="log_loss").fit(T, p)


def test_a_cell_that_is_no_tag(make_finder):
    tags = pd.DataFrame({"a": [{"b": 1}] * 20})
    with pytest.raises(TypeError, match="column 'a'"):
        make_finder().fit_scores(tags, np.ones(20))


def test_progress_is_shown_on_request(planted, capsys, make_finder):
    T, p = planted
    make_finder(verbose=1).fit_scores(T, p)
    assert "slices of 3 tags" in capsys.readouterr().err


# the range of double precision, and offsets that sums of squares lose
@pytest.mark.parametrize(("scale", "offset"), [(1e300, 0), (1e-14, 0), (1.0, 1e8)])
def test_losses_of_any_size(scale, offset, make_finder):
    rng = np.random.default_rng(0)
    T, loss = rng.integers(0, 3, (300, 3)), rng.exponential(size=300)
    loss[T[:, 0] == 1] += 1
    params = {"metric": "loss", "unseen": "substitution"}
    plain = make_finder(gap=0.3, **params).fit_scores(T, loss)
    other = make_finder(gap=0.3 * scale, **params)
    other.fit_scores(T, loss * scale + offset)
    assert np.array_equal(plain.tags_, other.tags_)
    assert other.slices_["gap"] / scale == pytest.approx(plain.slices_["gap"], rel=1e-5)
    assert other.slices_["p_value"] == pytest.approx(
        plain.slices_["p_value"], rel=1e-5, abs=1e-12
    )
    assert np.array_equal(plain.cover_, other.cover_)


@pytest.mark.parametrize("weight", [7.0, 1e-300, 1e300])
def test_weights_that_are_all_the_same_change_nothing(planted, weight, make_finder):
    T, p = planted
    plain = make_finder().fit_scores(T, p)
    heavy = make_finder().fit_scores(T, p, sample_weight=np.full(200, weight))
    assert heavy.slices_.tobytes() == plain.slices_.tobytes()
    some = np.random.default_rng(0).integers(1, 4, 200)
    one, other = (make_finder().fit_scores(T, p, some * w) for w in (1.0, weight))
    assert np.array_equal(one.tags_, other.tags_)
    assert one.slices_["p_value"] == pytest.approx(other.slices_["p_value"])


@pytest.mark.parametrize("gap", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("heavy", [False, True])
def test_the_bound_of_losses_loses_no_slice(gap, heavy, make_finder, brute_force):
    rng = np.random.default_rng(1)
    T = rng.integers(0, 3, (700, 5))
    loss = rng.exponential(1 + (T[:, 0] == 1))
    loss[:3] = 1e4 if heavy else 1.0
    every = brute_force(T, loss, 10, 3)
    expected = {s for s, (_, m) in every.items() if m >= loss.mean() + gap}
    finder = make_finder(metric="loss", gap=gap).fit_scores(T, loss)
    found = finder.explain()
    got = {
        frozenset((x.feature, int(x.lower)) for x in found.literals(s))
        for s in range(found.n_slices)
    }
    assert got == expected
    assert finder.n_large_.sum() == len(every)


def test_single_labels_beside_collections(make_finder):
    cells = ["a", ["b"], 3, None, ["a", None, float("nan")], []]
    tags = pd.DataFrame({"t": pd.Series(cells * 20, dtype=object)})
    right = np.array([0, 1, 1, 1, 0, 1] * 20)
    finder = make_finder().fit_scores(tags, right)
    assert finder.get_feature_names_out().tolist() == ["t has 'a'"]
    assert finder.columns_[0].values == (3, "a", "b")
    assert finder.transform(tags)[:6, 0].tolist() == [1, 0, 0, 0, 1, 0]
    finder.explain().check_faithful(finder, tags)


def test_too_many_tags_of_a_column(monkeypatch, make_finder):
    monkeypatch.setattr("skinterp.slices._tags.MAX_TAGS", 10)
    tags = pd.DataFrame({"name": [f"n{i}" for i in range(11)] * 2})
    with pytest.raises(ValueError, match="column 'name' has 11 tags of at least 2"):
        make_finder(min_size=2).fit_scores(tags, np.ones(22))
    make_finder(min_size=3).fit_scores(tags, np.ones(22))


def test_the_default_model_takes_any_column():
    rng = np.random.default_rng(0)
    n = 120
    X = pd.DataFrame(
        {
            "day": pd.date_range("2024", periods=n, tz="UTC"),
            "flag": pd.array(rng.choice([True, False, None], n), dtype="boolean"),
            "count": pd.array(rng.choice([1, 2, None], n), dtype="Int64"),
            "word": pd.array(rng.choice(["p", "q", None], n), dtype="string"),
            "kind": pd.Categorical(rng.choice(["u", "v"], n)),
            "mixed": rng.choice(np.array(["a", 1, None], dtype=object), n),
            "empty": np.full(n, np.nan),
        }
    )
    y = np.where(X["kind"] == "u", rng.integers(0, 2, n), 1)
    for table in (X, X[["word", "kind"]].to_numpy(object)):
        finder = ErrorSliceFinder(random_state=0, cv=2, gap=0.1).fit(table, y)
        assert finder.n_found_
        assert -1 <= finder.score(table[:7], y[:7]) <= 1


def test_what_is_amiss_with_single_tags():
    rng = np.random.default_rng(0)
    n = 300
    train = pd.DataFrame(
        {
            "light": rng.choice(["day", "night"], n, p=[0.9, 0.1]),
            "road": np.array(["dry", "wet"])[np.arange(n) % 2],
            "id": np.arange(n).astype(str),
        }
    )
    tags = train.assign(light=rng.choice(["day", "night"], n))
    tags.loc[0, "road"] = "ice"
    X = (tags[["light"]] == "night").to_numpy(float)
    y = np.where(X[:, 0] == 1, rng.random(n) < 0.7, rng.random(n) < 0.1).astype(int)
    tree = FrozenEstimator(DecisionTreeClassifier(max_depth=1).fit(X, y))
    finder = ErrorSliceFinder(tree, random_state=0).fit(X, y, tags=tags)
    report = finder.diagnose(X, y, tags, train).set_index("tag")
    assert report.index[0] == "light is 'night'"
    night, day, ice = (
        report.loc[t] for t in ("light is 'night'", "light is 'day'", "road is 'ice'")
    )
    inside = (tags["light"] == "night").to_numpy()
    assert night["share"] == pytest.approx(inside.mean())
    assert night["train_share"] == (train["light"] == "night").mean()
    assert night["performance"] == pytest.approx(y[inside].mean())
    assert night["gap"] == pytest.approx(tree.score(X, y) - y[inside].mean())
    assert night[["rare", "shift", "spurious", "low"]].all()
    assert (night["top_class"], night["top_share"]) == (1, 1.0)
    assert not day[["rare", "shift", "low"]].any()
    assert ice["rows"] == 1
    assert ice["rare"]
    assert not report.loc["road is 'dry'", "spurious"]
    assert "id" not in set(report["column"])
    alone = finder.diagnose(X, y, tags)
    assert "shift" not in alone
    assert not alone[alone["column"] == "light"]["rare"].any()


def test_single_tags_of_losses():
    tags = pd.DataFrame({"a": ["u", "v"] * 50, "same": "k"})
    loss = np.where(tags["a"] == "u", 2.0, 1.0)
    finder = ErrorSliceFinder(metric="loss", random_state=0).fit_scores(tags, loss)
    report = finder.diagnose(tags, loss).set_index("tag")
    assert report["low"].to_dict() == {
        "a is 'u'": True,
        "same is 'k'": False,
        "a is 'v'": False,
    }
    assert report.loc["a is 'u'", "gap"] == pytest.approx(0.5)
    assert "top_class" not in report


def test_rare_conjunctions_whatever_the_model_does(planted, make_finder, brute_force):
    T, p = planted
    finder = make_finder().fit_scores(T, p)
    listed = finder.rare_slices(T, 500)
    every = brute_force(T, p, 10, 3)
    assert listed["rows"].tolist() == sorted(n for n, _ in every.values())
    one = listed.set_index("slice").loc["x0 = 0 and x1 = 1"]
    assert one["rows"] == 24
    assert one["share"] == pytest.approx(0.12)
    assert one["expected_share"] == pytest.approx(
        (T[:, 0] == 0).mean() * (T[:, 1] == 1).mean()
    )
    assert len(finder.rare_slices(T, 3)) == 3
    with pytest.raises(ValueError, match="k"):
        finder.rare_slices(T, 0)


def test_messages_name_what_is_wrong(planted, make_finder):
    T, p = planted
    finder = make_finder().fit_scores(T, p)
    with pytest.raises(ValueError, match=r"confidence needs a number.*'a'"):
        finder.suggest(T, 3, ["a"] * 200)
    with pytest.raises(ValueError, match=r"confidence .* row 1 has none"):
        finder.suggest(T, 3, np.r_[1.0, np.nan, np.ones(198)])
    for wrong, text in (("abc", "abc"), (-np.eye(3), "-1.0"), (np.eye(2), "shape")):
        far = make_finder(tag_similarity={"x0": wrong})
        with pytest.raises(ValueError, match=f"'x0'.*{text}"):
            far.fit_scores(T, p)
    y = np.where(np.arange(200) == 3, np.nan, 1.0)
    with pytest.raises(ValueError, match="y holds NaN, first in row 3"):
        make_finder().fit(T, y)
    with pytest.raises(ValueError, match="scores have to be one number"):
        make_finder().fit_scores(T, ["a"] * 200)
    with pytest.raises(ValueError, match="the estimator is a regressor"):
        make_finder(estimator=LinearRegression(), metric="accuracy").fit(T, p)
    tree = DecisionTreeClassifier()
    with pytest.raises(ValueError, match="'absolute_error' needs targets"):
        make_finder(estimator=tree, metric="absolute_error", cv=2).fit(
            T, np.where(p, "a", "b")
        )
    with pytest.raises(ValueError, match="multi_hot names True"):
        make_finder(multi_hot=[True]).fit_scores(T, p)
    with pytest.raises(ValueError, match="at least 2 are needed"):
        make_finder(min_size=1, holdout=0.5).fit_scores(T[:3], p[:3])


def test_no_loss_at_all_is_no_negative_zero(make_finder):
    T = np.arange(40).reshape(-1, 1) % 4
    finder = make_finder(metric="loss").fit_scores(T, np.zeros(40))
    assert "overall loss 0 of" in finder.explain().to_text()


def test_the_cover_stops_at_the_coverage(planted, make_finder):
    T, p = planted
    short, full = (
        make_finder(gap=0.1, coverage=c).fit_scores(T, p) for c in (0.5, 1.0)
    )
    assert len(short.cover_) < len(full.cover_)
    assert short.cover_errors_[-1] >= 0.5
    assert (short.cover_errors_[:-1] < 0.5).all()


@pytest.mark.parametrize(("first", "second"), [(0.9, 0.2), (0.2, 0.9)])
def test_an_unseen_slice_is_as_near_as_the_nearest(first, second, make_finder):
    T = np.array([[i, j] for i in range(3) for j in range(3) for _ in range(20)])
    T = T[~((T[:, 0] == 2) & (T[:, 1] == 2))]
    bad = (T[:, 0] >= 1) & (T[:, 1] >= 1)
    near = {"x0": np.full((3, 3), first), "x1": np.full((3, 3), second)}
    finder = make_finder(unseen="substitution", gap=0.3, tag_similarity=near)
    listed = finder.fit_scores(T, ~bad).unseen_slices()
    assert listed["similarity"].tolist() == [0.9]
    tags = np.hstack([T[:, [j]] == np.arange(3) for j in range(2)])
    logit = LogisticRegression(max_iter=1000).fit(tags, ~bad)
    expected = logit.predict_proba([[0, 0, 1, 0, 0, 1]])[0, 1]
    assert listed["expected"][0] == pytest.approx(expected, rel=1e-6)


def test_a_budget_is_shared_by_errors():
    from scipy import sparse

    from skinterp.slices._suggest import share_budget

    inside = sparse.csr_matrix(np.repeat(np.eye(2, dtype=bool), 50, axis=0))
    chosen = share_budget(inside, np.array([0.75, 0.25]), 20, None)
    assert (chosen < 50).sum() == 15
    # what one cannot use goes to the other
    assert len(share_budget(inside, np.array([1.0, 0.0]), 70, None)) == 70


def test_the_brier_loss_sums_over_classes():
    from skinterp.slices._performance import per_row

    got = per_row("brier", np.array([0, 1]), [[0.8, 0.2], [0.5, 0.5]], [0, 1])
    assert got == pytest.approx([0.08, 0.5])
