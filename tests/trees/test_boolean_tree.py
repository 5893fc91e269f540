"""The estimator on data: agreement with the wrapped tree, options, refusals."""

import itertools

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
)

from skinterp.trees import BooleanTreeClassifier, _rules

NAN = np.nan


def deep(**params):
    return DecisionTreeClassifier(random_state=0, **params)


def lose(X, share, seed=0):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, NAN, X)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize(
    "base", [deep(min_samples_leaf=4), ExtraTreeClassifier(random_state=0)]
)
def test_complete_rows_get_the_trees_own_answers(load, base):
    X, y = load(return_X_y=True)
    weight = np.random.default_rng(0).random(len(X))[::2]
    tree = BooleanTreeClassifier(base).fit(X[::2], y[::2], weight)
    inner = tree.estimator_
    assert tree.determined(X).all()
    assert (tree.predict(X) == inner.predict(X)).all()
    assert (tree.predict_proba(X) == inner.predict_proba(X)).all()
    assert not tree.relevant_missing(X).any()


@pytest.mark.parametrize("base", [deep(), ExtraTreeClassifier(random_state=0)])
def test_missing_cells_fall_back_to_the_trees_own_way(base):
    X, y = load_wine(return_X_y=True)
    tree = BooleanTreeClassifier(base).fit(X, y)
    partly = lose(X, 0.3)
    assert (tree.predict(partly) == tree.estimator_.predict(partly)).all()


@given(seed=st.integers(0, 10_000))
def test_thresholds_are_compared_in_float32(seed):
    """Values at, just below and just above the thresholds, also in float64."""
    rng = np.random.default_rng(seed)
    X = rng.random((40, 2)).astype(np.float32).astype(float)
    y = (X.sum(axis=1) + 0.3 * rng.normal(size=40) > 1).astype(int)
    tree = BooleanTreeClassifier(deep()).fit(X, y)
    at = tree.estimator_.tree_.threshold[tree.estimator_.tree_.feature >= 0]
    edge = np.concatenate([at, np.nextafter(at, -1), np.nextafter(at, 2)])
    edge = np.concatenate([edge, np.nextafter(edge.astype(np.float32), np.float32(2))])
    rows = rng.choice(edge, size=(200, 2))
    assert (tree.predict(rows) == tree.estimator_.predict(rows)).all()
    rules = tree.explain()
    rules.check_faithful(tree, rows)
    assert (rules.target_names[rules.decide(rows)] == tree.predict(rows)).all()


def test_logarithms_of_probabilities():
    X, y = load_wine(return_X_y=True)
    tree = BooleanTreeClassifier(deep(max_depth=2)).fit(X, y)
    partly = lose(X, 0.3)
    logs = tree.predict_log_proba(partly)
    assert np.exp(logs) == pytest.approx(tree.predict_proba(partly))
    assert (np.isneginf(logs) == (tree.predict_proba(partly) == 0)).all()
    assert np.isneginf(logs).any()


def informative_gaps(seed=0):
    """That x1 is missing tells the class; x2 has gaps by chance."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + X[:, 2] > 0).astype(int)
    X[rng.random(300) < 0.2, 2] = NAN
    lost = rng.random(300) < 0.3
    X[lost, 1] = NAN
    y[lost & (rng.random(300) < 0.8)] = 1
    return X, y


@pytest.mark.parametrize("seed", range(4))
def test_trees_fitted_on_missing_values(seed):
    X, y = informative_gaps(seed)
    tree = BooleanTreeClassifier(deep(max_depth=5)).fit(X, y)
    inner = tree.estimator_
    assert np.isinf(inner.tree_.threshold).any()
    assert (tree.predict(X) == inner.predict(X)).all()
    known = tree.determined(X)
    rng = np.random.default_rng(seed)
    for _ in range(30):  # neither values nor absence change a determined row
        filled = np.where(
            np.isnan(X) & (rng.random(X.shape) < 0.7), rng.normal(size=X.shape), X
        )
        assert (inner.predict(filled)[known] == inner.predict(X)[known]).all()
    for rules in (tree.explain(), tree.explain(X)):
        rules.check_faithful(tree, X)
    decided = tree.explain().decide(X)
    assert ((decided >= 0) == known).all()
    reason = tree.sufficient_reasons(X)
    assert not reason[~known].any()
    kept = np.where(reason, X, NAN)
    assert (tree.predict_partial(kept)[known] == inner.predict(X)[known]).all()
    assert tree.relevant_missing(X).any(axis=1).tolist() == (~known).tolist()


def test_a_learned_gap_is_not_taken_for_any_value():
    X = np.array([[0.0], [1.0], [2.0], [NAN], [NAN]])
    tree = BooleanTreeClassifier(deep()).fit(X, ["there"] * 3 + ["lost"] * 2)
    assert tree.predict(X).tolist() == ["there"] * 3 + ["lost"] * 2
    assert tree.determined(X).tolist() == [True] * 3 + [False] * 2
    rules = tree.explain()
    assert rules.target_names[rules.target].tolist() == ["there"]
    assert rules.decide(X).tolist() == [1, 1, 1, -1, -1]


def test_undetermined_rows_can_get_the_majority():
    X, y = load_wine(return_X_y=True)
    tree = BooleanTreeClassifier(deep(), on_undetermined="majority").fit(X, y)
    partly = lose(X, 0.5)
    known = tree.determined(partly)
    assert (tree.predict(partly)[~known] == 1).all()
    assert (tree.predict(partly)[known] == tree.predict(X)[known]).all()


def test_undetermined_rows_can_be_masked():
    X, y = load_wine(return_X_y=True)
    tree = BooleanTreeClassifier(deep(), on_undetermined="abstain").fit(X, y)
    partly = lose(X, 0.5)
    answer = tree.predict(partly)
    assert np.ma.isMaskedArray(answer)
    assert (answer.mask == ~tree.determined(partly)).all()
    assert (answer.data == tree.estimator_.predict(partly)).all()
    assert tree.score(X, y) == 1.0


@pytest.mark.parametrize("rule", ["abstain", "estimator", "majority"])
def test_scores_of_rows_with_missing_cells(rule):
    X, y = load_wine(return_X_y=True)
    y = np.array(["a", "b", "c"])[y]
    partly, weight = lose(X, 0.3), np.arange(len(X)) % 4
    tree = BooleanTreeClassifier(deep(max_depth=2), on_undetermined=rule).fit(X, y)
    right = np.ma.filled(tree.predict(partly) == y, False)
    assert tree.score(partly, y) == pytest.approx(right.mean())
    weighted = tree.score(partly, y, sample_weight=weight)
    assert weighted == pytest.approx(np.average(right, weights=weight))
    assert np.isfinite(cross_val_score(tree, partly, y, cv=3)).all()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        tree.score(partly, y[1:])


def test_a_frozen_tree_is_kept():
    X, y = load_iris(return_X_y=True, as_frame=True)
    inner = deep(max_depth=3).fit(X, y)
    frozen = FrozenEstimator(inner)
    tree = BooleanTreeClassifier(frozen).fit(X.iloc[:100], y.iloc[:100])
    assert tree.estimator_ is frozen
    assert (tree.predict(X) == inner.predict(X)).all()
    assert tree.classes_.tolist() == [0, 1, 2]
    assert tree.training_weight_.sum() == 100


def test_weights_count_in_tree_and_support():
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = BooleanTreeClassifier(deep(max_depth=3)).fit(X, y, weight)
    repeated = BooleanTreeClassifier(deep(max_depth=3)).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    assert weighted.explain() == repeated.explain()
    assert weighted.expected_cost() == pytest.approx(repeated.expected_cost())


def test_weights_are_routed_on_request():
    X, y = load_iris(return_X_y=True)
    weight = np.arange(len(X)) % 3
    with sklearn.config_context(enable_metadata_routing=True):
        tree = BooleanTreeClassifier().set_fit_request(sample_weight=True)
        pipeline = make_pipeline(PCA(2), tree).fit(X, y, sample_weight=weight)
    assert pipeline[-1].training_weight_.sum() == weight.sum()


def test_support_lies_between_zero_and_all():
    X, y = load_wine(return_X_y=True)
    rules = BooleanTreeClassifier(deep()).fit(X, y).explain()
    assert (rules.support >= 0).all()
    for target in range(3):
        supports = rules.support[rules.target == target]
        assert (np.diff(supports) <= 0).all()
        assert supports[0] <= (y == target).sum()


def test_search_over_the_inner_tree():
    X, y = load_breast_cancer(return_X_y=True)
    search = GridSearchCV(
        BooleanTreeClassifier(deep()), {"estimator__max_depth": [1, 4]}, cv=3
    ).fit(X, y)
    assert search.best_params_ == {"estimator__max_depth": 4}
    assert search.best_score_ > 0.9


def test_costly_cells_are_left_out_of_reasons():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    for costs, reason in (([5, 1], [False, True]), ([1, 5], [True, False])):
        tree = BooleanTreeClassifier(feature_costs=costs).fit(X, [0, 0, 0, 1])
        assert tree.sufficient_reasons([[0, 0]])[0].tolist() == reason


def test_too_many_terms_are_refused_in_explain_alone():
    X, y = load_breast_cancer(return_X_y=True)
    tree = BooleanTreeClassifier(deep(), max_terms=5).fit(X, y)
    assert tree.determined(X).all()
    assert tree.is_equivalent(tree)
    assert tree.sufficient_reasons(X).any()
    for call in (tree.explain, lambda: tree.explain(X), lambda: tree.canonical_key_):
        with pytest.raises(ValueError, match="more than max_terms=5 prime"):
            call()


def test_reasons_alone_need_no_budget():
    X, y = load_breast_cancer(return_X_y=True)
    partly = lose(X, 0.2)
    rich = BooleanTreeClassifier(deep()).fit(X, y).explain(partly)
    poor = BooleanTreeClassifier(deep(), max_terms=1).fit(X, y)
    rules = poor.explain(partly, reasons_only=True)
    rules.check_faithful(poor, partly)
    assert (rules.prediction == rich.prediction).all()
    known = rules.prediction >= 0
    assert (np.diff(rules.row_offsets) == known).all()
    for i in np.flatnonzero(known):
        r, q = rules.row_offsets[i], rich.row_offsets[i]
        assert rules.literals(r) == rich.literals(q)
        assert rules.support[r] == rich.support[q]
    with pytest.raises(ValueError, match="reasons_only=True speaks about rows"):
        poor.explain(reasons_only=True)


@pytest.mark.parametrize("limit", [1, 100, 1000])
def test_rows_are_explained_in_blocks(monkeypatch, limit):
    X, y = load_breast_cancer(return_X_y=True)
    partly = lose(X[:40], 0.2)
    tree = BooleanTreeClassifier(deep(max_depth=4)).fit(X, y)
    whole = tree.explain(partly)
    assert len(tree.explain()) * len(partly) > 1000
    monkeypatch.setattr(_rules, "MAX_PAIRS", limit)
    assert tree.explain(partly) == whole


def test_exclusive_or_of_many_columns_needs_many_terms():
    """Parity has a term per row; the budget stops it early."""
    X = np.array(list(itertools.product([0, 1], repeat=9)))
    tree = BooleanTreeClassifier(deep(), max_terms=300).fit(X, X.sum(axis=1) % 2)
    rules = tree.explain()
    assert rules.n_rules == 512
    assert (np.diff(rules.offsets) == 9).all()


def test_drawing_shows_tree_and_rules():
    import matplotlib.pyplot as plt

    X, y = load_iris(return_X_y=True, as_frame=True)
    X.columns = ["$a", "b_{c}", "<d>", "ß"]
    tree = BooleanTreeClassifier().fit(X, y)
    left, right = tree.plot()
    assert left.texts
    assert right.has_data()
    left.figure.canvas.draw()
    before = plt.get_fignums()
    axes = tree.plot(ax=left.figure.axes)
    assert plt.get_fignums() == before
    assert axes[0] is left
    with pytest.raises(ValueError, match="ax must hold two Axes"):
        tree.plot(ax=left)


def test_parameters_changed_after_fit_are_checked_when_used():
    tree = BooleanTreeClassifier().fit(X4, Y4).set_params(max_terms="q")
    assert tree.predict(X4).tolist() == Y4.tolist()
    for call in (tree.explain, lambda: tree.explain(X4), lambda: tree.canonical_key_):
        with pytest.raises(ValueError, match=r"'max_terms' .* int .* Got 'q'"):
            call()
    assert tree.explain(X4, reasons_only=True).n_rules == 4
    tree.set_params(max_terms=9, on_undetermined="x")
    with pytest.raises(ValueError, match=r"'on_undetermined' .*'abstain'.* Got 'x'"):
        tree.predict(X4)


X4 = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
Y4 = np.array([0, 0, 0, 1])


@pytest.mark.parametrize(
    ("params", "error", "words"),
    [
        ({"estimator": DecisionTreeRegressor()}, TypeError, "DecisionTreeRegressor"),
        (
            {"estimator": FrozenEstimator(DecisionTreeRegressor().fit(X4, Y4))},
            TypeError,
            "DecisionTreeRegressor",
        ),
        ({"estimator": FrozenEstimator(deep())}, NotFittedError, "not fitted"),
        (
            {"estimator": FrozenEstimator(deep().fit(X4[:, :1], Y4))},
            ValueError,
            "fitted on 1 columns, X has 2",
        ),
        (
            {"estimator": FrozenEstimator(deep().fit(X4, np.c_[Y4, Y4]))},
            ValueError,
            "2 outputs",
        ),
        (
            {"estimator": DecisionTreeClassifier},
            TypeError,
            "got the class DecisionTreeClassifier instead of an instance",
        ),
        ({"estimator": "tree"}, ValueError, "'estimator' parameter"),
        ({"on_undetermined": "guess"}, ValueError, "'on_undetermined' parameter"),
        ({"max_terms": 0}, ValueError, "'max_terms' parameter"),
        ({"feature_costs": [1, -2]}, ValueError, r"feature_costs\[1\] is -2"),
        ({"feature_costs": [NAN, 1]}, ValueError, r"feature_costs\[0\] is nan"),
        ({"feature_costs": [1, 2, 3]}, ValueError, "one cost for each of 2 features"),
        ({"feature_costs": ["a", "b"]}, ValueError, "feature_costs"),
    ],
)
def test_bad_parameters_are_named(params, error, words):
    with pytest.raises(error, match=words):
        BooleanTreeClassifier(**params).fit(X4, Y4)


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (X4[:, 0], Y4, "1D array"),
        (np.where(X4 == 1, np.inf, X4), Y4, "infinity"),
        (X4, np.c_[Y4, Y4], "1d array"),
        (X4, Y4 + 0.5, "continuous"),
        (X4[:3], Y4, "inconsistent numbers"),
    ],
)
def test_bad_data_are_refused(X, y, words):
    with pytest.raises(ValueError, match=words):
        BooleanTreeClassifier().fit(X, y)


def test_a_refused_fit_leaves_nothing_of_an_older_one():
    tree = BooleanTreeClassifier().fit(X4, Y4)
    with pytest.raises(ValueError, match="one cost for each"):
        tree.set_params(feature_costs=[1]).fit(X4, Y4)
    with pytest.raises(NotFittedError):
        tree.predict(X4)


def test_ensembles_are_refused():
    forest = RandomForestClassifier(n_estimators=2)
    with pytest.raises(TypeError, match="got RandomForestClassifier"):
        BooleanTreeClassifier(forest).fit(X4, Y4)


def test_frozen_tree_of_other_columns_is_refused():
    X, y = load_iris(return_X_y=True, as_frame=True)
    frozen = FrozenEstimator(deep().fit(X, y))
    with pytest.raises(ValueError, match="fitted on the columns"):
        BooleanTreeClassifier(frozen).fit(X[X.columns[::-1]], y)


def test_other_trees_must_have_the_same_columns():
    tree = BooleanTreeClassifier().fit(X4, Y4)
    with pytest.raises(ValueError, match="fitted on 1 columns, this tree has 2"):
        tree.is_equivalent(deep().fit(X4[:, :1], Y4))
    with pytest.raises(TypeError, match="other must be a DecisionTreeClassifier"):
        tree.is_equivalent(DecisionTreeRegressor().fit(X4, Y4))
    for wrong in (None, "tree", BooleanTreeClassifier):
        with pytest.raises(TypeError, match="or a BooleanTreeClassifier, fitted"):
            tree.is_equivalent(wrong)
    for unfitted in (deep(), BooleanTreeClassifier(), FrozenEstimator(deep())):
        with pytest.raises(NotFittedError):
            tree.is_equivalent(unfitted)


def test_the_names_of_the_columns_must_be_the_same():
    first = pd.DataFrame(X4, columns=["a", "b"])
    tree = BooleanTreeClassifier().fit(first, Y4)
    turned = BooleanTreeClassifier().fit(first[["b", "a"]], Y4)
    assert tree.is_equivalent(deep().fit(first, Y4))
    assert tree.is_equivalent(BooleanTreeClassifier().fit(X4, Y4))
    for other in (turned, FrozenEstimator(turned), deep().fit(first[["b", "a"]], Y4)):
        with pytest.raises(ValueError, match=r"fitted on the columns \['b', 'a'\]"):
            tree.is_equivalent(other)


@pytest.mark.parametrize(
    "other",
    [
        RandomForestClassifier(2),
        SelectFromModel(deep()),
        FixedThresholdClassifier(deep(), threshold=0.9),
    ],
)
def test_what_only_holds_a_tree_is_not_taken_for_it(other):
    """Their attribute estimator_ decides on other columns, or otherwise."""
    tree = BooleanTreeClassifier().fit(X4, Y4)
    with pytest.raises(TypeError, match=f"other must .* got {type(other).__name__}"):
        tree.is_equivalent(other.fit(X4, Y4))


def test_labels_count_not_their_order():
    first = BooleanTreeClassifier().fit(X4, np.array(["a", "a", "a", "b"]))
    second = BooleanTreeClassifier().fit(X4, np.array(["b", "b", "b", "a"]))
    more = deep().fit(np.r_[X4, X4[:1]], np.array(["a", "a", "a", "b", "a"]))
    assert not first.is_equivalent(second)
    assert first.is_equivalent(more)
    assert first.canonical_key_ != second.canonical_key_
    shifted = BooleanTreeClassifier().fit(X4, np.array(["b", "b", "b", "c"]))
    assert not first.is_equivalent(shifted)
    assert first.canonical_key_ != shifted.canonical_key_
