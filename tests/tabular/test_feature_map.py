"""What is told of a transformer is what it does, cell by cell."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import (
    SelectPercentile,
    VarianceThreshold,
    r_regression,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import IterativeImputer, KNNImputer, MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

from skinterp.explanation import FeatureMap, FeatureSource
from skinterp.tabular import TableEncoder, feature_map
from skinterp.tabular._elementwise import bare
from skinterp.tabular._invert import CAST_FLOAT32, Stage, invert_chain, last_at_most
from skinterp.tabular._steps import resolve_columns

FINITE = st.floats(-1e6, 1e6, allow_nan=False)
CELLS = st.lists(
    st.floats(-1e3, 1e3).map(lambda x: round(x, 2)), min_size=3, max_size=8
)
EXACT = [
    StandardScaler(),
    MinMaxScaler(),
    MinMaxScaler((-2, 3), clip=True),
    MaxAbsScaler(),
    RobustScaler(),
    Binarizer(threshold=1.5),
    make_pipeline(StandardScaler(), MinMaxScaler(), RobustScaler()),
    FunctionTransformer(np.negative),
    make_pipeline(StandardScaler(), FunctionTransformer(np.negative)),
    FunctionTransformer(np.cbrt),
]
SMOOTH = [
    QuantileTransformer(n_quantiles=3),
    QuantileTransformer(n_quantiles=3, output_distribution="normal"),
    PowerTransformer(),
    FunctionTransformer(np.arctan),
    make_pipeline(StandardScaler(), PowerTransformer(standardize=False)),
]


def value_of(source: FeatureSource, cell: Any) -> float | None:
    """Value of a feature at a cell, by what a source of categories tells."""
    missing = cell is None or cell != cell
    if source.form == "missing":
        return float(missing)
    if missing:
        return source.fill
    lookup = dict(zip(source.categories, source.values(), strict=True))
    return lookup.get(cell, source.unknown)


def check_cells(transformer: Any, X: pd.DataFrame) -> None:
    """Check the sources of categories of a one-column table against transform."""
    out = transformer.transform(X)
    out = np.asarray(out.toarray() if hasattr(out, "toarray") else out, dtype=float)
    told = feature_map(transformer, list(X.columns))
    assert len(told.sources) == out.shape[1]
    for j, source in enumerate(told.sources):
        for cell, got in zip(X.iloc[:, source.column], out[:, j], strict=True):
            expected = value_of(source, cell)
            assert (expected is None and math.isnan(got)) or expected == got


def sides(transformer: Any, source: FeatureSource, t: float, cast: type) -> None:
    """Check that a threshold parts the cells as the transformer does."""
    edge = source.invert(t)
    cells = [edge]
    for direction in (-np.inf, np.inf):
        cell = edge
        for _ in range(3):
            cell = np.nextafter(cell, direction)
            cells.append(cell)
    cells = np.array([c for c in cells if np.isfinite(c) and abs(c) < 1e300])
    if not len(cells):
        return
    with np.errstate(all="ignore"):
        values = bare(transformer).transform(cells[:, None]).ravel()
        values = values.astype(cast).astype(np.float64)
    at_most = cells <= edge if source.increasing else cells >= edge
    np.testing.assert_array_equal(values <= t, at_most)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("transformer", EXACT, ids=repr)
@given(column=CELLS, t=FINITE)
def test_inverse_is_exact(
    transformer: Any, dtype: str, column: list[float], t: float
) -> None:
    X = np.array(column)[:, None]
    transformer.fit(X)
    source = feature_map(transformer, ["x"], dtype=dtype).sources[0]
    inside = float(transformer.transform(X[:1])[0, 0])
    for threshold in (t, inside, float(np.float32(inside))):
        sides(transformer, source, threshold, np.dtype(dtype).type)


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:Bins whose width")
@pytest.mark.parametrize("transformer", SMOOTH, ids=repr)
@given(column=CELLS, share=st.floats(0.05, 0.95))
def test_inverse_parts_cells_through_curves(
    transformer: Any, column: list[float], share: float
) -> None:
    """Curves are monotone but for the last bits, so cells near the edge are spared."""
    X = np.unique(column)[:, None]
    if len(X) < 3:
        return
    transformer.fit(X)
    out = transformer.transform(X).ravel()
    t = float(out[0] + share * (out[-1] - out[0]))
    edge = feature_map(transformer, ["x"]).sources[0].invert(t)
    gap = 1e-6 * (1 + abs(edge))
    below, above = transformer.transform([[edge - gap], [edge + gap]]).ravel()
    assert below <= t + 1e-9 * (1 + abs(t))
    assert above >= t - 1e-9 * (1 + abs(t))
    assert transformer.transform([[edge]])[0, 0] <= t
    assert transformer.transform([[np.nextafter(edge, np.inf)]])[0, 0] > t


@given(t=st.floats(width=64, allow_nan=False))
def test_search_finds_any_float(t: float) -> None:
    found = last_at_most(lambda x: x, t)
    assert found == t or math.isinf(found) or abs(t) == math.inf


def test_search_at_the_ends_and_on_flat_parts() -> None:
    def clip(x: Any) -> Any:
        return np.clip(x, 0, 1)

    assert last_at_most(clip, -0.5) == -math.inf
    assert last_at_most(clip, 1.0) == math.inf
    assert last_at_most(clip, 0.0) == 0.0
    assert last_at_most(np.log, 0.0) == 1.0
    assert last_at_most(np.floor, 3.0) == np.nextafter(4.0, 0)


@given(t=FINITE, u=FINITE)
def test_chains_of_falling_and_rising_stages(t: float, u: float) -> None:
    falling = Stage(forward=np.negative, increasing=False)
    rising = Stage(forward=lambda x: x * 3 + 1)
    for stages in (
        (falling, rising, CAST_FLOAT32),
        (rising, falling, falling),
        (falling, CAST_FLOAT32, rising, falling, falling),
    ):
        n_falling = sum(not s.increasing for s in stages)
        edge = invert_chain(stages, t)
        for cell in (u, edge, np.nextafter(edge, np.inf), np.nextafter(edge, -np.inf)):
            value = np.array([cell])
            for stage in stages:
                value = stage.forward(value)
            expected = cell >= edge if n_falling % 2 else cell <= edge
            assert (value[0] <= t) == expected


LABELS = st.sampled_from(["a", "b", "c", "d", "e", None])
NAN_LABELS = st.sampled_from(["a", "b", "c", "d", "e", np.nan])


@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize(
    "options",
    [
        {"handle_unknown": "ignore"},
        {"handle_unknown": "infrequent_if_exist", "max_categories": 2},
        {"handle_unknown": "infrequent_if_exist", "min_frequency": 3},
        {"handle_unknown": "ignore", "max_categories": 3, "drop": "first"},
        {"handle_unknown": "infrequent_if_exist", "drop": "first", "max_categories": 2},
        {"handle_unknown": "ignore", "drop": "if_binary"},
    ],
    ids=str,
)
@given(
    seen=st.lists(NAN_LABELS, min_size=3, max_size=12),
    new=st.lists(NAN_LABELS, min_size=1, max_size=8),
)
def test_one_hot(options: dict, seen: list, new: list) -> None:
    encoder = OneHotEncoder(**options).fit(pd.DataFrame({"c": seen}, dtype=object))
    check_cells(encoder, pd.DataFrame({"c": new}, dtype=object))
    union = make_union(encoder, MissingIndicator(features="all"))
    scaled = make_pipeline(union, MaxAbsScaler())
    scaled.fit(pd.DataFrame({"c": seen}, dtype=object))
    check_cells(scaled, pd.DataFrame({"c": new}, dtype=object))


@pytest.mark.parametrize(
    "options",
    [
        {"unknown_value": -1},
        {"unknown_value": np.nan},
        {"unknown_value": -5, "encoded_missing_value": -2},
        {"unknown_value": -1, "max_categories": 2},
        {"unknown_value": -1, "min_frequency": 3},
    ],
    ids=str,
)
@pytest.mark.parametrize("blank", [None, np.nan])
@given(
    seen=st.lists(LABELS, min_size=3, max_size=12),
    new=st.lists(LABELS, min_size=1, max_size=8),
)
def test_ordinal(options: dict, blank: Any, seen: list, new: list) -> None:
    seen = [blank if cell is None else cell for cell in seen]
    new = [blank if cell is None else cell for cell in new]
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", **options)
    encoder.fit(pd.DataFrame({"c": seen}, dtype=object))
    table = pd.DataFrame({"c": new}, dtype=object)
    told = feature_map(encoder, ["c"]).sources[0]
    for cell, code in zip(new, encoder.transform(table).ravel(), strict=True):
        expected = value_of(told, cell)
        missing = expected is None or math.isnan(expected)
        assert math.isnan(code) if missing else expected == code


@pytest.mark.parametrize("kind", ["binary", "multiclass", "continuous"])
@given(
    seen=st.lists(LABELS, min_size=12, max_size=20), new=st.lists(LABELS, min_size=1)
)
def test_target_encoder(kind: str, seen: list, new: list) -> None:
    y = {
        "binary": np.arange(len(seen)) % 2,
        "multiclass": np.arange(len(seen)) % 3,
        "continuous": np.arange(len(seen)) / 7,
    }[kind]
    encoder = TargetEncoder(target_type=kind)
    encoder.fit(pd.DataFrame({"c": seen}, dtype=object), y)
    check_cells(encoder, pd.DataFrame({"c": new}, dtype=object))


@pytest.mark.parametrize(
    "steps",
    [
        [SimpleImputer(strategy="constant", fill_value="zz"), OneHotEncoder()],
        [SimpleImputer(strategy="most_frequent"), OrdinalEncoder(), StandardScaler()],
        [OrdinalEncoder(), SimpleImputer(), StandardScaler()],
        [OrdinalEncoder(), SimpleImputer(add_indicator=True), MinMaxScaler((-1, 1))],
        [OrdinalEncoder(encoded_missing_value=-1), OneHotEncoder()],
        [OrdinalEncoder(), KBinsDiscretizer(2, encode="onehot-dense")],
        [OneHotEncoder(sparse_output=False), PolynomialFeatures(1)],
        [MissingIndicator(features="all")],
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_chains_of_categories(steps: list) -> None:
    missing = not isinstance(steps[-1], KBinsDiscretizer)
    cells = ["a", "b", "c", "b", np.nan if missing else "a"]
    X = pd.DataFrame({"c": cells}, dtype=object)
    chain = make_pipeline(*steps).fit(X)
    if isinstance(steps[-1], PolynomialFeatures):
        assert feature_map(chain, ["c"]).sources[0].form == "opaque"
        return
    check_cells(chain, X)


@pytest.mark.parametrize(
    ("imputer", "fills"),
    [
        (SimpleImputer(strategy="constant", fill_value="z"), [0.0, 1.0]),
        (SimpleImputer(strategy="most_frequent"), [math.nan, math.nan]),
    ],
    ids=str,
)
def test_an_imputer_of_nan_lets_none_pass(imputer: Any, fills: list) -> None:
    """To scikit-learn, None in a column of objects is not NaN."""
    X = pd.DataFrame({"c": pd.Series(["a", "a", None], dtype=object)})
    chain = make_pipeline(imputer, OneHotEncoder()).fit(X)
    told = feature_map(chain, ["c"]).sources
    found = [1.0 if s.form == "missing" else s.fill for s in told]
    np.testing.assert_array_equal(found, fills)


@pytest.mark.parametrize("drop_empty", [True, False])
def test_imputer_columns_and_indicators(drop_empty: bool) -> None:
    X = pd.DataFrame({"a": [1.0, np.nan, 4.0], "b": [np.nan] * 3, "c": [1.0, 2.0, 3.0]})
    imputer = SimpleImputer(add_indicator=True, keep_empty_features=not drop_empty)
    told = feature_map(imputer.fit(X), list("abc")).sources
    found = [(s.form, s.column, s.fill) for s in told]
    kept = [("value", 0, 2.5), ("value", 1, 0.0), ("value", 2, 2.0)]
    if drop_empty:
        del kept[1]
    assert found == [*kept, ("missing", 0, 1.0), ("missing", 1, 1.0)] or found == [
        *kept,
        ("missing", 0, None),
        ("missing", 1, None),
    ]


@pytest.mark.parametrize("imputer", [KNNImputer(), IterativeImputer(max_iter=2)])
def test_imputed_from_other_columns_is_not_told(imputer: Any) -> None:
    X = np.array([[1.0, 2.0], [np.nan, 4.0], [3.0, 5.0], [2.0, 2.5]])
    told = feature_map(make_pipeline(imputer, StandardScaler()).fit(X), ["a", "b"])
    assert all(math.isnan(s.fill) for s in told.sources)
    assert [s.form for s in told.sources] == ["value", "value"]


def test_marker_of_missing_cells_is_not_monotone() -> None:
    imputer = SimpleImputer(missing_values=-1, add_indicator=True)
    told = feature_map(imputer.fit([[1.0], [-1.0], [3.0]]), ["a"])
    assert told.names == ("a", "a (2)", "a is -1")


@pytest.mark.parametrize(
    ("transformer", "names"),
    [
        (PCA(2), ("pca0", "pca1")),
        (Normalizer(), ("a (2)", "b (2)")),
        (PolynomialFeatures(2), ("1", "a^2", "a b", "b^2")),
        (FunctionTransformer(np.square, feature_names_out="one-to-one"), None),
    ],
    ids=repr,
)
def test_mixtures_keep_names(transformer: Any, names: tuple | None) -> None:
    X = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [2.0, 1.0, 7.0]})
    told = feature_map(transformer.fit(X), ["a", "b"])
    assert told.names[2:] == (names or ("a (2)", "b (2)"))
    assert len(told.sources) == transformer.transform(X).shape[1]


def test_odd_powers_are_monotone() -> None:
    X = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [2.0, 1.0, 7.0]})
    told = feature_map(PolynomialFeatures(3).fit(X), ["a", "b"])
    cubes = [s for s in told.sources if s.form == "value" and s.invert is not None]
    assert [s.column for s in cubes] == [0, 1]
    assert cubes[0].invert(8.0) == pytest.approx(2.0)
    assert cubes[0].invert(8.0) >= 2.0


def test_bins_are_monotone_at_the_ends_only() -> None:
    X = np.arange(20.0)[:, None]
    binner = KBinsDiscretizer(4, strategy="uniform").fit(X)
    told = feature_map(binner, ["x"])
    assert told.names == ("x", "x in [4.75, 9.5)", "x in [9.5, 14.25)")
    first, last = told.sources[0], told.sources[3]
    assert (first.increasing, last.increasing) == (False, True)
    assert first.invert(0.5) == 4.75
    assert last.invert(0.5) == np.nextafter(14.25, 0)


@pytest.mark.parametrize(
    ("vectorizer", "name"),
    [
        (CountVectorizer(binary=True), "note contains 'word'"),
        (CountVectorizer(), "count of 'word' in note"),
        (TfidfVectorizer(), "weight of 'word' in note"),
    ],
    ids=repr,
)
def test_words(vectorizer: Any, name: str) -> None:
    X = pd.DataFrame({"n": [1.0, 2.0], "note": ["a word", "word more"]})
    columns = ColumnTransformer([("t", vectorizer, "note")], remainder="passthrough")
    told = feature_map(columns.fit(X), list(X.columns))
    assert told.names[2:] == (name.replace("word", "more"), name)
    assert told.sources[-1].column == 0


def test_column_transformer_finds_columns_however_they_are_named() -> None:
    X = pd.DataFrame({c: np.arange(4.0) + i for i, c in enumerate("abcdefg")})
    columns = ColumnTransformer(
        [
            ("name", StandardScaler(), ["g"]),
            ("position", StandardScaler(), [1]),
            ("mask", StandardScaler(), np.array([True] + [False] * 6)),
            ("slice", StandardScaler(), slice("c", "d")),
            ("nothing", StandardScaler(), []),
            ("gone", "drop", ["e"]),
            ("choose", StandardScaler(), make_column_selector(pattern="e")),
        ],
        remainder="passthrough",
    ).fit(X)
    told = feature_map(columns, list(X.columns))
    assert [s.column for s in told.sources] == [6, 1, 0, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (slice(None), [0, 1, 2]),
        (slice("b", None), [1, 2]),
        (slice(None, "b"), [0, 1]),
        (-1, [2]),
        ("c", [2]),
        (["c", "a"], [2, 0]),
        ([True, False, True], [0, 2]),
        ([-1, 0], [2, 0]),
        ([], []),
    ],
)
def test_resolve_columns(columns: Any, expected: list[int]) -> None:
    assert resolve_columns(columns, ["a", "b", "c"], 3) == expected


def test_selectors_unions_and_frozen_steps() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(30, 4)), columns=list("abcd"))
    X["b"] = 1.0
    union = FeatureUnion(
        [
            ("kept", VarianceThreshold()),
            ("gone", "drop"),
            ("same", "passthrough"),
            ("best", make_pipeline(FrozenEstimator(StandardScaler().fit(X)))),
        ],
        transformer_weights={"kept": -1.0},
    )
    select = SelectPercentile(r_regression, percentile=50)
    chain = make_pipeline(union, select).fit(X, X["a"] > 0)
    told = feature_map(chain, list(X.columns))
    kept = chain[-1].get_support(indices=True)
    inner = [0, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]
    assert [s.column for s in told.sources] == [inner[k] for k in kept]
    assert told.sources[0].increasing is bool(kept[0] >= 3)


@pytest.mark.parametrize("weight", [-2.0, 0.25, 0, None])
def test_weights_of_a_column_transformer(weight: float | None) -> None:
    X = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [0.0, 3.0, 5.0]})
    step = ColumnTransformer(
        [("a", "passthrough", ["a"])],
        remainder=StandardScaler(),
        transformer_weights={"a": weight, "remainder": weight},
    ).fit(X)
    told = feature_map(step, ["a", "b"]).sources
    out = step.transform(X)
    for j, name in enumerate(X.columns):
        increasing = weight is None or weight >= 0
        assert told[j].increasing is increasing
        for threshold in out[:, j]:
            # as FeatureSource has it: cells up to c when rising, from c on if falling
            end = threshold if told[j].invert is None else told[j].invert(threshold)
            cells = X[name] <= end if increasing else X[name] >= end
            assert (cells == (out[:, j] <= threshold)).all()


def test_outputs_that_are_not_told() -> None:
    step = FunctionTransformer(lambda X: X[:, :1]).fit(np.ones((3, 2)))
    with pytest.raises(
        TypeError, match="FunctionTransformer does not tell its outputs"
    ):
        feature_map(step, ["a", "b"])
    known = make_pipeline(step, StandardScaler()).fit(np.ones((3, 2)))
    assert feature_map(known, ["a", "b"]).names[2:] == ("functiontransformer0",)


def test_a_subclass_with_its_own_transform_is_not_trusted() -> None:
    class Squared(StandardScaler):
        def transform(self, X: Any, copy: bool | None = None) -> Any:
            return super().transform(X, copy) ** 2

    told = feature_map(Squared().fit([[1.0], [2.0]]), ["a"])
    assert told.sources[0].form == "opaque"


class Doubler(TransformerMixin, BaseEstimator):
    """A transformer that speaks for itself."""

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer

    def fit(self, X: Any, y: Any = None) -> Doubler:
        self.n_features_in_ = np.shape(X)[1]
        return self

    def transform(self, X: Any) -> Any:
        return 2 * np.nan_to_num(np.asarray(X), nan=3.0)

    def __skinterp_feature_map__(self, columns: Any) -> Any:
        if self.answer is not None:
            return self.answer
        halve = [
            FeatureSource(form="value", column=i, invert=lambda t: t / 2, fill=6.0)
            for i in range(len(columns))
        ]
        return FeatureMap(tuple(columns), tuple(halve))


def test_hook_is_asked_and_composed() -> None:
    X = np.array([[1.0], [2.0], [4.0]])
    chain = make_pipeline(MinMaxScaler((0, 3)), Doubler(), StandardScaler()).fit(X)
    source = feature_map(chain, ["a"]).sources[0]
    inner = float(chain.transform([[2.0]])[0, 0])
    assert source.invert(inner) == 2.0
    first = make_pipeline(Doubler(), MinMaxScaler((0, 4))).fit(X)
    assert feature_map(first, ["a"]).sources[0].fill == pytest.approx(8 / 3)
    after = make_pipeline(SimpleImputer(), Doubler()).fit(X)
    assert feature_map(after, ["a"]).sources[0].form == "opaque"


def test_hook_with_a_wrong_answer() -> None:
    with pytest.raises(
        TypeError, match=r"Doubler.__skinterp_feature_map__ returned list"
    ):
        feature_map(Doubler([1]).fit([[1.0]]), ["a"])


def test_unfitted_and_wrong_dtype() -> None:
    with pytest.raises(NotFittedError, match="StandardScaler"):
        feature_map(StandardScaler(), ["a"])
    with pytest.raises(ValueError, match="dtype='int8' is not one of"):
        feature_map(StandardScaler().fit([[1.0]]), ["a"], dtype="int8")


def test_encoder_inside_a_union_and_behind_a_step() -> None:
    X = pd.DataFrame({"a": [1.0, 2.0, 5.0], "c": ["u", "v", "u"]})
    union = make_union(
        TableEncoder(), ColumnTransformer([("a", MinMaxScaler(), ["a"])])
    )
    told = feature_map(union.fit(X), ["a", "c"])
    assert [(s.form, s.column) for s in told.sources] == [
        ("value", 0),
        ("category", 1),
        ("category", 1),
        ("value", 0),
    ]
    filled = make_pipeline(
        SimpleImputer(strategy="most_frequent").set_output(transform="pandas"),
        TableEncoder(),
    )
    X.loc[1, "c"] = None
    X["c"] = X["c"].astype(object).where(X["c"].notna(), np.nan)
    told = feature_map(filled.fit(X), ["a", "c"])
    assert [(s.form, s.fill) for s in told.sources] == [
        ("value", 1.0),
        ("category", 1.0),
    ]
