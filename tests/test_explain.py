"""Explanations of whole models, in the columns of the user's table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import RFE, SelectKBest, VarianceThreshold, f_classif
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression, RANSACRegressor
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
)
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.tree import DecisionTreeClassifier

import skinterp
from skinterp.base import ExplainableMixin, feature_names_of
from skinterp.compat import validate_data
from skinterp.explanation import Attribution, RuleSet
from skinterp.tabular import TableEncoder

ODD_NAMES = ["N", "pi", "my col", "a+b", "x<y", "<script>", "1", "größe", "π", ""]


class LeafRulesClassifier(ExplainableMixin, ClassifierMixin, BaseEstimator):
    """A tree that says its leaves as rules."""

    explains = {"global": ("rules",), "local": ("rules",)}

    def __init__(self, max_depth: int = 6) -> None:
        self.max_depth = max_depth

    def fit(self, X: Any, y: Any) -> LeafRulesClassifier:
        self.tree_ = DecisionTreeClassifier(max_depth=self.max_depth, random_state=0)
        validate_data(self, X, y)
        self.tree_.fit(np.asarray(X), y)
        self.classes_ = self.tree_.classes_
        return self

    def predict(self, X: Any) -> Any:
        return self.tree_.predict(validate_data(self, X, reset=False))

    def predict_proba(self, X: Any) -> Any:
        return self.tree_.predict_proba(validate_data(self, X, reset=False))

    @property
    def feature_importances_(self) -> Any:
        return self.tree_.feature_importances_

    def _explain(self, X: Any, *, kind: str, hint: str = "") -> RuleSet:
        tree = self.tree_.tree_
        lower, upper, leaves = [], [], []
        full = np.full(self.n_features_in_, np.inf)
        stack = [(0, -full, full)]
        while stack:
            node, low, high = stack.pop()
            if tree.children_left[node] < 0:
                lower.append(low)
                upper.append(high)
                leaves.append(node)
                continue
            j, t = tree.feature[node], tree.threshold[node]
            left, right = high.copy(), low.copy()
            left[j], right[j] = min(high[j], t), max(low[j], t)
            stack += [
                (tree.children_left[node], low, left),
                (tree.children_right[node], right, high),
            ]
        target = tree.value[leaves, 0].argmax(axis=1)
        common = {
            "feature_names": feature_names_of(self),
            "target_names": self.classes_,
        }
        if X is None:
            return RuleSet.from_boxes(
                np.array(lower), np.array(upper), target=target, **common
            )
        place = {leaf: i for i, leaf in enumerate(leaves)}
        rows = [place[leaf] for leaf in self.tree_.apply(X)]
        return RuleSet.from_boxes(
            np.array(lower)[rows],
            np.array(upper)[rows],
            target=target[rows],
            scope="local",
            complete=False,
            row_offsets=np.arange(len(X) + 1),
            prediction=target[rows],
            relevant_missing=np.isnan(X),
            **common,
        )


class SlopeRegressor(ExplainableMixin, RegressorMixin, BaseEstimator):
    """Predict by one slope per column."""

    explains = {"local": ("attribution",), "global": ("attribution",)}

    def fit(self, X: Any, y: Any) -> SlopeRegressor:
        X, y = validate_data(self, X, y)
        self.mean_ = y.mean()
        self.coef_ = np.linalg.lstsq(X, y - self.mean_, rcond=None)[0]
        return self

    def predict(self, X: Any) -> Any:
        return validate_data(self, X, reset=False) @ self.coef_ + self.mean_

    def _explain(self, X: Any, *, kind: str) -> Attribution:
        common = {
            "feature_names": feature_names_of(self),
            "target_names": np.array(["y"]),
        }
        if X is None:
            return Attribution(scope="global", values=np.abs(self.coef_), **common)
        return Attribution(
            scope="local",
            values=X * self.coef_,
            base_values=np.full(len(X), self.mean_),
            output="predict",
            **common,
        )


def make_people(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Table with columns of every kind and missing cells, and string labels."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.normal(40, 15, n).round(1),
            "dose mg": rng.lognormal(1, 1, n),
            "x<y": rng.integers(0, 5, n),
            "town": rng.choice(["Ulm", "Köln", "<Bonn>"], n),
            "size": pd.Categorical(
                rng.choice(["S", "M", "L"], n), categories=["S", "M", "L"], ordered=True
            ),
            "member": rng.random(n) < 0.4,
            "since": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.uniform(0, 900, n), unit="D"),
            "note": [" ".join(rng.choice(WORDS, 5)) for _ in range(n)],
            "flat": 1.0,
        }
    )
    X.loc[rng.random(n) < 0.1, "age"] = np.nan
    X.loc[rng.random(n) < 0.1, "town"] = np.nan
    score = (
        X["age"].fillna(20) / 15
        + np.log(X["dose mg"])
        + 2 * (X["town"] == "Ulm")
        - (X["size"] == "S")
        + X["member"]
        + (X["since"] > "2021-03-01")
        + rng.normal(0, 0.3, n)
    )
    y = np.where(score > score.median(), "high", "low")
    y[score > score.quantile(0.8)] = "top"
    return X, y


WORDS = ["red", "green", "blue", "tall", "small", "wide", "thin", "old", "new", "odd"]


def make_columns() -> ColumnTransformer:
    """Scaled, logged, encoded, imputed and passed-through columns."""
    towns = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="nowhere"),
        OneHotEncoder(handle_unknown="ignore"),
    )
    return ColumnTransformer(
        [
            ("age", make_pipeline(SimpleImputer(), StandardScaler()), ["age"]),
            (
                "dose",
                FunctionTransformer(np.log1p, feature_names_out="one-to-one"),
                ["dose mg"],
            ),
            ("town", towns, ["town"]),
            ("size", OrdinalEncoder(categories=[["S", "M", "L"]]), ["size"]),
            ("same", "passthrough", ["member", "x<y"]),
        ],
        remainder="drop",
    )


def check_rules(model: Any, X: Any, y: Any = None) -> RuleSet:
    """Check that the rules of a model, in the user's columns, are its predict."""
    rules = skinterp.explain(model)
    assert isinstance(rules, RuleSet)
    decided = rules.decide(X)
    assert (decided >= 0).all()
    np.testing.assert_array_equal(rules.target_names[decided], model.predict(X))
    assert (rules.covers(X).sum(axis=1) == 1).all()
    return rules


def test_every_step_of_a_table_is_brought_back() -> None:
    X, y = make_people()
    model = Pipeline(
        [
            ("columns", make_columns()),
            ("variance", VarianceThreshold()),
            ("best", SelectKBest(f_classif, k=6)),
            ("scale", MinMaxScaler()),
            ("tree", LeafRulesClassifier()),
        ]
    ).fit(X, y)
    rules = check_rules(model, X)
    assert rules.feature_names == tuple(X.columns)
    assert rules.meta["steps"] == (
        "columns: ColumnTransformer",
        "variance: VarianceThreshold",
        "best: SelectKBest",
        "scale: MinMaxScaler",
    )
    fresh, _ = make_people(2000, seed=1)
    check_rules(model, fresh)
    rules.check_faithful(model, fresh)
    used = {X.columns[j] for j in rules.used_features}
    assert {"age", "dose mg", "town"} <= used
    assert "flat" not in used


def test_local_rules_hold_for_their_row_and_name_the_class() -> None:
    X, y = make_people()
    model = make_pipeline(make_columns(), LeafRulesClassifier()).fit(X, y)
    told = skinterp.explain(model, X[:40])
    assert len(told) == 40
    told.check_faithful(model, X[:40])
    assert told.relevant_missing is not None
    assert told.relevant_missing.shape == (40, X.shape[1])
    assert told == skinterp.explain(model, X[:40])


def test_table_encoder_before_a_tree() -> None:
    X, y = make_people()
    encoder = TableEncoder(text="drop", add_indicator=True)
    model = make_pipeline(encoder, LeafRulesClassifier()).fit(X, y)
    check_rules(model, make_people(1000, seed=1)[0])
    text = skinterp.explain(model).to_text()
    assert "since > 2" in text or "since <= 2" in text


def test_words_of_a_text_column_keep_a_name_of_their_own() -> None:
    X, _ = make_people()
    y = X["note"].str.contains("green").to_numpy()
    model = make_pipeline(TableEncoder(), LeafRulesClassifier(max_depth=1)).fit(X, y)
    rules = skinterp.explain(model)
    assert all("note contains 'green'" in c for c in rules.conditions())
    with pytest.raises(ValueError, match=r"the rules use .note contains"):
        rules.covers(X)


def test_boolean_tree_with_missing_cells_in_every_kind_of_column() -> None:
    from skinterp.trees import BooleanTreeClassifier

    X, y = make_people()
    tree = BooleanTreeClassifier(DecisionTreeClassifier(max_depth=4, random_state=0))
    encoder = TableEncoder(missing="keep", text="drop")
    complete = X.dropna()
    model = make_pipeline(encoder, tree).fit(complete, y[X.notna().all(axis=1)])
    rng = np.random.default_rng(0)
    holes = make_people(300, seed=2)[0].astype({"member": object})
    holes = holes.mask(rng.random(holes.shape) < 0.3)
    rules = skinterp.explain(model)
    decided = rules.decide(holes)
    determined = model[-1].determined(model[:-1].transform(holes))
    assert determined.any()
    assert not determined.all()
    told = rules.target_names[decided[determined]]
    np.testing.assert_array_equal(told, model.predict(holes)[determined])
    assert (decided[~determined] == -1).all()
    local = skinterp.explain(model, holes)
    local.check_faithful(model, holes)
    assert not local.relevant_missing[holes.notna().to_numpy()].any()


def test_attributions_of_one_column_are_summed() -> None:
    X, _ = make_people()
    target = np.log1p(X["dose mg"]) + (X["town"] == "Ulm")
    model = make_pipeline(make_columns(), SlopeRegressor()).fit(X, target)
    told = skinterp.explain(model, X[:30])
    assert told.feature_names == tuple(X.columns)
    told.check_faithful(model, X[:30])
    inner = model[-1].explain(model[:-1].transform(X[:30]))
    names = list(model[:-1].get_feature_names_out())
    towns = [i for i, name in enumerate(names) if name.startswith("town__")]
    assert len(towns) == 4
    np.testing.assert_allclose(
        told.values[:, list(X.columns).index("town")],
        inner.values[:, towns].sum(axis=1),
    )
    assert (told.values[:, list(X.columns).index("flat")] == 0).all()
    assert told.data[3, 3] == X["town"][3]
    assert skinterp.explain(model).scope == "global"


def test_components_stand_after_the_columns() -> None:
    from sklearn.decomposition import PCA

    X = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 3)), columns=list("abc"))
    union = make_union(StandardScaler(), PCA(2))
    model = make_pipeline(union, SlopeRegressor()).fit(X, X.sum(axis=1))
    told = skinterp.explain(model, X[:5])
    assert told.feature_names == ("a", "b", "c", "pca0", "pca1")
    told.check_faithful(model, X[:5])
    np.testing.assert_allclose(
        told.data[:, 3:].astype(float), model[:-1].transform(X[:5])[:, 3:]
    )


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        MinMaxScaler((-3, 5), clip=True),
        RobustScaler(),
        QuantileTransformer(n_quantiles=40),
        QuantileTransformer(n_quantiles=25, output_distribution="normal"),
        PowerTransformer(),
        PowerTransformer("box-cox"),
        FunctionTransformer(np.sqrt),
        FunctionTransformer(np.negative),
        KBinsDiscretizer(5, encode="ordinal", strategy="uniform"),
        make_pipeline(FunctionTransformer(np.log), FunctionTransformer(np.negative)),
    ],
    ids=repr,
)
def test_monotone_steps_are_exact_at_the_thresholds(scaler: Any) -> None:
    rng = np.random.default_rng(1)
    X = rng.lognormal(0, 1, (200, 2)).round(2) + 0.01
    y = (X[:, 0] > 1).astype(int) + (X[:, 1] > 2)
    model = make_pipeline(scaler, LeafRulesClassifier()).fit(X, y)
    rules = check_rules(model, X)
    ends = np.concatenate([rules.lower, rules.upper])
    ends = ends[np.isfinite(ends)]
    near = np.concatenate([ends, np.nextafter(ends, np.inf), np.nextafter(ends, 0)])
    near = near[near > 0]
    check_rules(model, np.column_stack([near, rng.permutation(near)]))


def test_target_encoding_becomes_sets_of_categories() -> None:
    X, y = make_people()
    X["size"] = X["size"].astype(str)
    columns = ColumnTransformer([("t", TargetEncoder(), ["town", "size"])])
    model = make_pipeline(columns, StandardScaler(), LeafRulesClassifier()).fit(X, y)
    fresh = make_people(200, seed=3)[0]
    fresh["size"] = fresh["size"].astype(str)
    fresh.loc[::7, "town"] = "Rom"
    rules = check_rules(model, fresh)
    assert all(c is not None for c in rules.categories)


def test_neighbor_imputed_cells_are_left_open() -> None:
    """What KNNImputer puts in depends on the other columns: no rule may claim it."""
    X, y = make_people()
    numeric = X[["age", "dose mg"]]
    model = make_pipeline(KNNImputer(), LeafRulesClassifier()).fit(numeric, y)
    rules = skinterp.explain(model)
    decided = rules.decide(numeric)
    known = numeric.notna().all(axis=1).to_numpy()
    assert (decided[known] >= 0).all()
    assert (decided[~known] == -1).any()
    sure = decided >= 0
    np.testing.assert_array_equal(
        rules.target_names[decided[sure]], model.predict(numeric)[sure]
    )


def test_rules_of_a_row_hold_for_what_was_imputed() -> None:
    X, y = make_people()
    numeric = X[["age", "dose mg"]]
    model = make_pipeline(KNNImputer(), LeafRulesClassifier()).fit(numeric, y)
    rules = skinterp.explain(model, numeric)
    rules.check_faithful(model, numeric)
    lacking = numeric["age"].isna().to_numpy()
    said = [c for row in rules[lacking] for c in row.conditions() if "age" in c]
    assert said
    assert all("missing" in c for c in said)


def test_names_of_any_kind_appear_as_given() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, len(ODD_NAMES))), columns=ODD_NAMES)
    y = (X.to_numpy() > 0).sum(axis=1) > 5
    model = make_pipeline(StandardScaler(), LeafRulesClassifier()).fit(X, y)
    rules = check_rules(model, X)
    assert rules.feature_names == tuple(ODD_NAMES)
    assert "<script>" not in rules.to_html()


def test_integer_column_names_follow_scikit_learns_rule() -> None:
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=[7, 8, 9])
    model = make_pipeline(StandardScaler(), LeafRulesClassifier()).fit(X, X[7] > 0)
    assert check_rules(model, X).feature_names == ("x0", "x1", "x2")


def test_arrays_have_numbered_columns() -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = make_pipeline(StandardScaler(), LeafRulesClassifier()).fit(X, X[:, 1] > 0)
    assert check_rules(model, X).feature_names == ("x0", "x1", "x2")


def test_polars_frames() -> None:
    X, y = make_people()
    X = X[["age", "town", "member"]].astype(object)
    table = pl.DataFrame(X.where(X.notna(), None).to_dict(orient="list"))
    model = make_pipeline(TableEncoder(), LeafRulesClassifier()).fit(table, y)
    check_rules(model, table)
    told = skinterp.explain(model, table[:5])
    told.check_faithful(model, table[:5])


def test_pandas_output_inside() -> None:
    X, y = make_people()
    columns = make_columns()
    columns.set_params(town__onehotencoder__sparse_output=False)
    model = make_pipeline(columns, StandardScaler(), LeafRulesClassifier())
    model.set_output(transform="pandas")
    check_rules(model.fit(X, y), X)


WRAPPERS = {
    "alone": lambda m: m,
    "grid": lambda m: GridSearchCV(m, {}, cv=2),
    "random": lambda m: RandomizedSearchCV(m, {}, n_iter=1, cv=2),
    "nested": lambda m: Pipeline([("inner", m)]),
    "frozen": None,
    "rfe": lambda m: make_pipeline(
        m[:-1], RFE(LeafRulesClassifier(), n_features_to_select=3)
    ),
    "semi-supervised": lambda m: make_pipeline(
        m[:-1], SelfTrainingClassifier(LeafRulesClassifier())
    ),
    "union": lambda m: make_pipeline(
        FeatureUnion(
            [("one", m[:-1]), ("two", clone_of(m[:-1]))],
            transformer_weights={"two": -2.0},
        ),
        LeafRulesClassifier(),
    ),
}


def clone_of(model: Any) -> Any:
    from sklearn.base import clone

    return clone(model)


@pytest.mark.parametrize("wrap", WRAPPERS)
def test_whatever_holds_the_estimator(wrap: str) -> None:
    X, y = make_people()
    model = make_pipeline(make_columns(), LeafRulesClassifier(max_depth=3))
    if wrap == "frozen":
        outer = FrozenEstimator(model.fit(X, y))
    else:
        labels = y
        if wrap == "semi-supervised":
            labels = y.astype(object)
            labels[::3] = -1
        outer = WRAPPERS[wrap](model).fit(X, labels)
    assert check_rules(outer, X).feature_names == tuple(X.columns)
    skinterp.explain(outer, X[:5]).check_faithful(outer, X[:5])


def test_a_holder_without_steps_brings_names_back() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    model = RANSACRegressor(SlopeRegressor(), min_samples=9, random_state=0)
    model.fit(X, X["a"])
    told = skinterp.explain(model, X[:3])
    assert told.feature_names == ("a", "b")
    assert told.meta["steps"] == ("ransacregressor: RANSACRegressor",)
    told.check_faithful(model, X[:3])


def test_an_estimator_alone_explains_as_itself() -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = LeafRulesClassifier().fit(X, X[:, 0] > 0)
    assert skinterp.explain(model) == model.explain()
    assert skinterp.explain(model, X) == model.explain(X)


def test_unfitted_models_are_named() -> None:
    pipe = make_pipeline(make_columns(), LeafRulesClassifier())
    with pytest.raises(NotFittedError, match="LeafRulesClassifier"):
        skinterp.explain(LeafRulesClassifier())
    with pytest.raises(NotFittedError, match="Pipeline"):
        skinterp.explain(pipe)
    with pytest.raises(NotFittedError, match="GridSearchCV"):
        skinterp.explain(GridSearchCV(pipe, {}))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            TransformedTargetRegressor(
                SlopeRegressor(), func=np.exp, inverse_func=np.log
            ),
            "TransformedTargetRegressor, .* transforms back",
        ),
        (CalibratedClassifierCV(LeafRulesClassifier(), cv=2), "recalibrates"),
        (FixedThresholdClassifier(LeafRulesClassifier()), "moves the threshold"),
        (BaggingClassifier(LeafRulesClassifier()), "combines many models"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "'logisticregression'"),
        (make_pipeline(StandardScaler()), "StandardScaler"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_models_that_say_something_else_are_refused(model: Any, words: str) -> None:
    X = np.random.default_rng(0).uniform(1, 2, size=(40, 3))
    y = X[:, 0] if isinstance(model, TransformedTargetRegressor) else X[:, 0] > 1.5
    with pytest.raises(TypeError, match=words):
        skinterp.explain(model.fit(X, y))


@pytest.mark.parametrize("thing", [None, "tree", LeafRulesClassifier, 3])
def test_things_that_are_no_estimator(thing: Any) -> None:
    with pytest.raises(TypeError, match="must be a fitted estimator"):
        skinterp.explain(thing)


def test_search_without_refit() -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    search = GridSearchCV(LeafRulesClassifier(), {}, refit=False, cv=2)
    with pytest.raises(TypeError, match="refit=False"):
        skinterp.explain(search.fit(X, X[:, 0] > 0))


def test_columns_missing_extra_and_in_another_order() -> None:
    X, y = make_people()
    numeric = X[["dose mg", "x<y"]]
    model = make_pipeline(StandardScaler(), LeafRulesClassifier()).fit(numeric, y)
    with pytest.raises(ValueError, match="feature names should match"):
        skinterp.explain(model, numeric[["x<y", "dose mg"]])
    with pytest.raises(ValueError, match="seen at fit time, yet now missing"):
        skinterp.explain(model, numeric[["dose mg"]])
    with pytest.raises(ValueError, match="unseen at fit time"):
        skinterp.explain(model, X[["dose mg", "x<y", "flat"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        told = skinterp.explain(model, numeric.to_numpy(dtype=float)[:5])
    assert told.conditions() == skinterp.explain(model, numeric[:5]).conditions()


def test_wrong_kind_and_option_are_refused_before_the_steps_run() -> None:
    X, y = make_people()

    def fail(X: Any) -> Any:
        raise AssertionError

    step = FunctionTransformer()
    model = make_pipeline(step, LeafRulesClassifier()).fit(X[["dose mg"]], y)
    step.set_params(func=fail)
    with pytest.raises(ValueError, match="kind='curves'"):
        skinterp.explain(model, X[["dose mg"]], kind="curves")
    with pytest.raises(TypeError, match="no option 'depth'"):
        skinterp.explain(model, X[["dose mg"]], depth=3)


def test_texts_as_the_only_input() -> None:
    notes, y = make_people()[0]["note"].tolist(), np.arange(300) % 2
    model = make_pipeline(
        CountVectorizer(binary=True),
        FunctionTransformer(lambda X: X.toarray(), accept_sparse=True),
        LeafRulesClassifier(max_depth=1),
    )
    assert "functiontransformer" in skinterp.explain(model.fit(notes, y)).to_text()
    model.set_params(functiontransformer__feature_names_out="one-to-one")
    told = skinterp.explain(model)
    assert set(told.feature_names) == {f"text contains {w!r}" for w in WORDS}
    assert len(skinterp.explain(model, notes[:4])) == 4
