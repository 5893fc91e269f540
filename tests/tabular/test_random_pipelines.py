"""Rules of pipelines drawn at random decide rows of the table as the pipeline does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier

import skinterp
from skinterp.explanation import RuleSet
from skinterp.trees import BooleanTreeClassifier

NUMBERS = st.lists(
    st.sampled_from(
        [
            StandardScaler(),
            MinMaxScaler((-3, 2), clip=True),
            MaxAbsScaler(),
            RobustScaler(),
            QuantileTransformer(n_quantiles=20),
            PowerTransformer(),
            FunctionTransformer(np.negative),
            FunctionTransformer(np.floor),
            SimpleImputer(),
            SimpleImputer(strategy="most_frequent", add_indicator=True),
            VarianceThreshold(),
            FeatureUnion(
                [("a", RobustScaler()), ("b", "passthrough")],
                transformer_weights={"a": -0.5},
            ),
        ]
    ),
    min_size=1,
    max_size=3,
)
LABELS = st.sampled_from(
    [
        OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=3),
        OneHotEncoder(handle_unknown="ignore", drop="if_binary"),
        OrdinalEncoder(
            handle_unknown="use_encoded_value",
            unknown_value=-1,
            encoded_missing_value=-2,
        ),
        TargetEncoder(),
    ]
)


def make_table(n: int, seed: int) -> pd.DataFrame:
    """Numbers and labels with missing cells."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.normal(0, 3, n).round(1),
            "b": rng.lognormal(0, 2, n),
            "town": rng.choice(list("uvwxyz"), n, p=[0.4, 0.3, 0.1, 0.1, 0.05, 0.05]),
        }
    )
    X.loc[rng.random(n) < 0.15, "a"] = np.nan
    X.loc[rng.random(n) < 0.1, "town"] = np.nan
    return X


def add_edges(X: pd.DataFrame, rules: RuleSet) -> pd.DataFrame:
    """Add rows with cells at the ends of the rules, and right beside."""
    ends = {"a": set(), "b": set()}
    for rule in range(rules.n_rules):
        for literal in rules.literals(rule):
            if literal.categories is None:
                name = rules.feature_names[literal.feature]
                ends[name] |= {literal.lower, literal.upper}
    tables = [X]
    for name, values in ends.items():
        cells = np.array([v for v in values if np.isfinite(v) and abs(v) < 1e100])
        cells = [cells, np.nextafter(cells, np.inf), np.nextafter(cells, -np.inf)]
        rows = X.sample(3 * len(cells[0]), replace=True, random_state=0)
        tables.append(rows.assign(**{name: np.concatenate(cells)}))
    return pd.concat(tables, ignore_index=True)


@pytest.mark.filterwarnings("ignore:Bins whose width", "ignore::RuntimeWarning")
@settings(max_examples=20)
@given(numbers=NUMBERS, labels=LABELS, seed=st.integers(0, 1000))
def test_rules_decide_as_the_pipeline(numbers: list, labels: Any, seed: int) -> None:
    X = make_table(120, seed)
    noise = np.random.default_rng(seed).normal(0, 2, len(X))
    y = np.where(X["a"].fillna(0) + 2 * (X["town"] == "u") + noise > 0, "p", "n")
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(*map(clone, numbers)), ["a", "b"]),
            ("labels", clone(labels), ["town"]),
            ("same", "passthrough", ["b"]),
        ],
        sparse_threshold=0,
    )
    tree = BooleanTreeClassifier(DecisionTreeClassifier(max_depth=4, random_state=0))
    model = make_pipeline(columns, tree).fit(X, y)
    rules = skinterp.explain(model)
    new = add_edges(make_table(200, seed + 1), rules)
    decided = rules.decide(new)
    determined = model[-1].determined(model[:-1].transform(new))
    np.testing.assert_array_equal(decided >= 0, determined)
    told = rules.target_names[decided[determined]]
    np.testing.assert_array_equal(told, model.predict(new)[determined])
    skinterp.explain(model, X[:20]).check_faithful(model, X[:20])
