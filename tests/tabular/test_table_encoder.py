"""TableEncoder: columns of any kind to numbers, and back."""

from __future__ import annotations

import datetime as dt
import decimal
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.utils.estimator_checks as checks
import skops.io
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import skinterp
from skinterp.plugins import trusted_types
from skinterp.tabular import TableEncoder
from skinterp.trees import BooleanTreeClassifier

CHECKS = [
    "check_param_validation",
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_global_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_global_set_output_transform_polars",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
    "check_dataframe_column_names_consistency",
    "check_inplace_ensure_writeable",
]


def make_table() -> pd.DataFrame:
    """One column of each kind, each with a missing cell but the first."""
    return pd.DataFrame(
        {
            "int": [1, 2, 3, 4],
            "float": [0.5, np.nan, 2.5, 9.0],
            "Int64": pd.array([1, None, 3, 7], dtype="Int64"),
            "bool": pd.array([True, None, False, True], dtype="boolean"),
            "str": pd.array(["b", None, "a", "b"], dtype="string[pyarrow]"),
            "object": ["u", "v", None, "u"],
            "category": pd.Categorical([3, 1, None, 3], categories=[3, 2, 1]),
            "date": pd.to_datetime(["2020-01-01", None, "2020-01-05", "2020-01-03"]),
            "iso": ["1970-01-02", "1970-01-01 12:00", None, "1970-01-04"],
        }
    )


@parametrize_with_checks(
    [TableEncoder(), TableEncoder(missing="keep", add_indicator=True)]
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names")
@pytest.mark.parametrize("name", CHECKS)
def test_scikit_learns_further_checks(name: str) -> None:
    getattr(checks, name)("TableEncoder", TableEncoder())


def test_each_kind_of_column() -> None:
    encoder = TableEncoder().set_output(transform="pandas")
    out = encoder.fit_transform(make_table())
    assert encoder.kinds_ == {
        "int": "number",
        "float": "number",
        "Int64": "number",
        "bool": "bool",
        "str": "category",
        "object": "category",
        "category": "category",
        "date": "date",
        "iso": "date",
    }
    assert out["float"].tolist() == [0.5, 2.5, 2.5, 9.0]
    assert out["Int64"].tolist() == [1, 3, 3, 7]
    assert out["bool"].tolist() == [1, 1, 0, 1]
    assert list(out.filter(like="str_")) == ["str_a", "str_b", "str_nan"]
    assert out["str_nan"].tolist() == [0, 1, 0, 0]
    assert list(out.filter(like="category_")) == [
        "category_1",
        "category_3",
        "category_nan",
    ]
    assert out["date"].tolist() == [18262, 18264, 18266, 18264]
    assert out["iso"].tolist() == [1, 0.5, 1, 3]


def test_missing_cells_kept_and_flagged() -> None:
    X = make_table()
    encoder = TableEncoder(missing="keep", add_indicator=True)
    out = encoder.set_output(transform="pandas").fit_transform(X)
    for name in X.columns:
        block = out[[c for c in out if c == name or c.startswith(f"{name}_")]]
        flags = [c for c in block if c.endswith("_missing")]
        told = block.drop(columns=flags)
        assert len(flags) == X[name].isna().any()
        np.testing.assert_array_equal(
            told.isna().to_numpy(),
            np.repeat(X[[name]].isna().to_numpy(), told.shape[1], 1),
        )
        if flags:
            assert out[flags[0]].tolist() == X[name].isna().astype(float).tolist()


def test_free_text_becomes_words() -> None:
    texts = [f"case {i} went very well" for i in range(25)]
    texts += ["nothing went well", "all is well", None]
    X = pd.DataFrame({"note": texts, "n": range(28)})
    encoder = TableEncoder(max_tokens=2).fit(X)
    assert encoder.kinds_["note"] == "text"
    assert list(encoder.get_feature_names_out()) == ["note_well", "note_went", "n"]
    new = pd.DataFrame({"note": ["very WELL", None], "n": [0, 0]})
    assert encoder.transform(new).tolist() == [[1, 0, 0], [0, 0, 0]]
    dropped = TableEncoder(text="drop").fit(X)
    assert dropped.kinds_["note"] == "dropped"
    assert list(dropped.get_feature_names_out()) == ["n"]
    with pytest.raises(ValueError, match="column 'note', row 0: 3 is not a text"):
        encoder.transform(
            pd.DataFrame({"note": pd.Series([3], dtype=object), "n": [0]})
        )


def test_rare_and_unknown_labels() -> None:
    X = pd.DataFrame({"c": list("aaabbbcdef")})
    encoder = TableEncoder(max_categories=3).fit(X)
    names = list(encoder.get_feature_names_out())
    assert names == ["c_a", "c_b", "c_infrequent_sklearn"]
    new = pd.DataFrame({"c": ["a", "d", "new"]})
    assert encoder.transform(new).tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1]]
    ignoring = TableEncoder(max_categories=3, handle_unknown="ignore").fit(X)
    assert ignoring.transform(new)[2].tolist() == [0, 0, 0]
    refusing = TableEncoder(handle_unknown="error").fit(X)
    with pytest.raises(ValueError, match=r"column 'c', row 2: 'new' is not a category"):
        refusing.transform(new)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ([1, "x", 2, 3], r"column 'c' holds 1 beside 'x'"),
        ([[1], [2], [3], [4]], r"column 'c' holds \[1\] of type list"),
        (pd.to_timedelta([1, 2, 3, 4], unit="D"), "dtype timedelta64"),
        ([1.0, np.inf, 2, 3], "column 'c', row 1: .*inf.* is not a finite number"),
        ([1 + 2j, 0, 0, 0], "complex"),
        (pd.Categorical([1, "a", 1, "a"]), "column 'c' mixes labels"),
    ],
    ids=str,
)
def test_columns_that_are_refused(column: Any, words: str) -> None:
    X = pd.DataFrame({"n": range(4), "c": pd.Series(column)})
    with pytest.raises(ValueError, match=words):
        TableEncoder().fit(X)


@pytest.mark.parametrize(
    ("name", "cell", "words"),
    [
        ("int", "three", "column 'int', row 2: 'three' is not a finite number"),
        ("float", np.inf, "column 'float', row 2: .*inf"),
        ("bool", "yes", "column 'bool', row 2: 'yes' is not True or False"),
        ("bool", 2, "column 'bool', row 2: 2 is not True or False"),
        ("date", "soon", "column 'date', row 2: 'soon' is not a date"),
        ("int", dt.date(2020, 1, 1), "column 'int', row 2: datetime.date"),
    ],
)
def test_cells_that_are_refused_at_transform(name: str, cell: Any, words: str) -> None:
    encoder = TableEncoder().fit(make_table())
    new = make_table().astype({name: object})
    new[name] = [*new[name][:2], cell, new[name][3]]
    with pytest.raises(ValueError, match=words):
        encoder.transform(new)


def test_objects_that_hold_one_kind() -> None:
    X = pd.DataFrame(
        {
            "number": pd.Series([1, 2.5, None, decimal.Decimal("3.5")], dtype=object),
            "bool": pd.Series([True, False, None, np.True_], dtype=object),
            "date": pd.Series([dt.date(1970, 1, 2), None] * 2, dtype=object),
            "none": pd.Series([None] * 4, dtype=object),
        }
    )
    encoder = TableEncoder().fit(X)
    assert list(encoder.kinds_.values()) == ["number", "bool", "date", "number"]
    assert encoder.transform(X).tolist() == [
        [1, 1, 1, 0],
        [2.5, 0, 1, 0],
        [2.5, 1, 1, 0],
        [3.5, 1, 1, 0],
    ]


def test_time_zones_count_in_utc() -> None:
    X = pd.DataFrame({"t": pd.to_datetime(["1970-01-02T01:00+01:00"] * 2, utc=True)})
    X["u"] = X["t"].dt.tz_convert("Asia/Tokyo")
    assert TableEncoder().fit_transform(X).tolist() == [[1.0, 1.0]] * 2


def test_constant_columns_and_columns_without_labels() -> None:
    X = pd.DataFrame(
        {
            "one": 1.0,
            "label": ["a"] * 3,
            "empty": pd.Categorical([None] * 3),
            "flag": True,
        }
    )
    assert TableEncoder().fit_transform(X).tolist() == [[1, 1, 1, 1]] * 3
    kept = TableEncoder(missing="keep").fit(X)
    assert list(kept.get_feature_names_out()) == ["one", "label_a", "flag"]


def test_arrays_and_lists() -> None:
    rows = [[1, "a", True], [2, "b", False]]
    expected = [[1, 1, 0, 1], [2, 0, 1, 0]]
    assert TableEncoder().fit_transform(rows).tolist() == expected
    array = np.array(rows, dtype=object)
    encoder = TableEncoder().fit(array)
    assert encoder.transform(array).tolist() == expected
    assert list(encoder.get_feature_names_out()) == ["x0", "x1_a", "x1_b", "x2"]
    assert list(encoder.get_feature_names_out(["n", "c", "f"]))[:2] == ["n", "c_a"]


def test_polars_gives_what_pandas_gives() -> None:
    X = make_table().drop(columns=["category", "iso"]).astype(object)
    cells = X.where(X.notna(), None).to_dict(orient="list")
    cells["date"] = [None if c is None else c.to_pydatetime() for c in cells["date"]]
    table = pl.DataFrame(cells).with_columns(
        pl.col("object").cast(pl.Categorical).alias("category")
    )
    X = make_table().drop(columns=["category", "iso"])
    X["category"] = pd.Categorical(X["object"])
    encoder = TableEncoder().fit(table)
    np.testing.assert_array_equal(
        encoder.transform(table), TableEncoder().fit_transform(X)
    )
    assert list(encoder.feature_names_in_) == list(X.columns)


def test_equal_feature_names_are_numbered() -> None:
    X = pd.DataFrame({"a": ["b", "c"], "a_b": [1, 2]})
    names = TableEncoder().fit(X).get_feature_names_out()
    assert list(names) == ["a_b", "a_c", "a_b_2"]


def test_columns_are_checked_at_transform() -> None:
    X = make_table()
    encoder = TableEncoder().fit(X)
    with pytest.raises(ValueError, match="feature names should match"):
        encoder.transform(X[X.columns[::-1]])
    with pytest.raises(ValueError, match="now missing"):
        encoder.transform(X.drop(columns="int"))
    with pytest.raises(NotFittedError, match="TableEncoder"):
        TableEncoder().transform(X)
    with pytest.raises(ValueError, match="at least one row"):
        TableEncoder().fit(X[:0])


def test_refit_owes_nothing_and_pickle_keeps_all() -> None:
    X = make_table()
    encoder = TableEncoder().fit(X[["int", "str"]]).fit(X)
    again = pickle.loads(pickle.dumps(encoder))
    np.testing.assert_array_equal(again.transform(X), TableEncoder().fit_transform(X))
    assert again.kinds_ == encoder.kinds_


def test_skops_needs_the_librarys_own_types_only() -> None:
    X = make_table().assign(note=[f"some text number {i}" for i in range(4)])
    encoder = TableEncoder(max_categories=3).fit(X)
    assert set(encoder.kinds_.values()) == {
        "number",
        "bool",
        "category",
        "date",
        "text",
    }
    data = skops.io.dumps(encoder)
    again = skops.io.loads(data, trusted=list(trusted_types()))
    np.testing.assert_array_equal(again.transform(X), encoder.transform(X))


def test_input_is_left_as_it_was() -> None:
    X = make_table()
    before = X.copy(deep=True)
    TableEncoder(add_indicator=True).fit_transform(X)
    pd.testing.assert_frame_equal(X, before)
    array = X[["int", "float"]].to_numpy()
    array.flags.writeable = False
    TableEncoder().fit_transform(array)


TABLES = st.fixed_dictionaries(
    {
        "number": st.lists(
            st.one_of(st.none(), st.floats(-5, 5)), min_size=12, max_size=12
        ),
        "label": st.lists(st.sampled_from(["a", "b", None]), min_size=12, max_size=12),
        "flag": st.lists(st.booleans(), min_size=12, max_size=12),
        "day": st.lists(
            st.one_of(
                st.none(),
                st.datetimes(dt.datetime(1990, 1, 1), dt.datetime(2030, 1, 1)),
            ),
            min_size=12,
            max_size=12,
        ),
    }
)


def to_frame(cells: dict) -> pd.DataFrame:
    """Frame of drawn cells."""
    return pd.DataFrame(
        {
            "number": np.array(cells["number"], dtype=float),
            "label": pd.Series(cells["label"], dtype="str"),
            "flag": cells["flag"],
            "day": pd.to_datetime(pd.Series(cells["day"], dtype="datetime64[us]")),
        }
    )


@pytest.mark.parametrize("options", [{}, {"add_indicator": True}], ids=str)
@given(seen=TABLES, new=TABLES, y=st.lists(st.booleans(), min_size=12, max_size=12))
def test_rules_in_the_users_columns_are_what_the_model_does(
    options: dict, seen: dict, new: dict, y: list
) -> None:
    y = np.array(y)
    y[:2] = False, True
    tree = DecisionTreeClassifier(max_depth=5, random_state=0)
    model = make_pipeline(TableEncoder(**options), BooleanTreeClassifier(tree))
    rules = skinterp.explain(model.fit(to_frame(seen), y))
    for table in (to_frame(seen), to_frame(new)):
        decided = rules.decide(table)
        np.testing.assert_array_equal(rules.target_names[decided], model.predict(table))
        assert (decided >= 0).all()


MOMENTS = pd.to_datetime(["2020-01-01", "2021-01-01"])
DRIFTED = [
    ([1.0, 2.0], pd.Series(["3.5", None], dtype="str"), "'3.5' is not a finite number"),
    ([1.0, 2.0], pd.Categorical(["3", "4"]), "'3' is not a finite number"),
    ([1.0, 2.0], MOMENTS, "is not a finite number"),
    ([1.0, 2.0], pd.to_timedelta([1, 2], unit="D"), "is not a finite number"),
    ([1.0, 2.0], [1j, 2.0], "is not a finite number"),
    ([1.0, 2.0], pd.Series([1, 10**400], dtype=object), "1000"),
    (MOMENTS, [20200101, 20210101], "20200101 is not a date"),
    (MOMENTS, [2020.0, np.nan], "2020.0 is not a date"),
    (MOMENTS, ["2020", "2020-05"], "'2020' is not a date"),
    (MOMENTS, [True, False], "True is not a date"),
]


@pytest.mark.parametrize(("fitted", "given", "words"), DRIFTED)
def test_a_column_that_became_another_kind_is_refused(
    fitted: Any, given: Any, words: str
) -> None:
    encoder = TableEncoder().fit(pd.DataFrame({"when": fitted}))
    with pytest.raises(ValueError, match=rf"column 'when', row \d: .*{words}"):
        encoder.transform(pd.DataFrame({"when": given}))


@pytest.mark.parametrize("fitted", [[1.0, 2.0], MOMENTS])
@pytest.mark.parametrize("dtype", ["object", "str", "float", "datetime64[ns]"])
def test_a_column_that_lacks_every_cell_is_taken(fitted: Any, dtype: str) -> None:
    encoder = TableEncoder(missing="keep").fit(pd.DataFrame({"a": fitted}))
    lacking = pd.DataFrame({"a": pd.Series([None, None], dtype=dtype)})
    assert np.isnan(encoder.transform(lacking)).all()


@pytest.mark.parametrize(
    "columns", [["a_x", "a", "a_x_2"], ["a", "a_x_2", "a_x"], ["a_x", "a_x_2", "a"]]
)
def test_names_of_features_stay_distinct(columns: list[str]) -> None:
    X = pd.DataFrame({n: ["x", "y"] if n == "a" else [1, 2] for n in columns})
    names = TableEncoder().fit(X).get_feature_names_out()
    assert len(set(names)) == len(names) == 4
    assert {"a_x", "a_x_2"} <= set(names)


def ordered_table(n: int = 60) -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
    """Ordered labels with missing cells, of which the upper two decide."""
    codes = np.random.default_rng(0).integers(-1, 4, n)
    order = ["none", "low", "high", "extreme"]
    grade = pd.Categorical.from_codes(codes, order, ordered=True)
    return pd.DataFrame({"grade": grade}), codes >= 2


def test_ordered_labels_keep_their_order() -> None:
    X, _ = ordered_table()
    encoder = TableEncoder(missing="keep").fit(X)
    assert encoder.kinds_ == {"grade": "ordered"}
    codes = X["grade"].cat.codes.to_numpy(dtype=float)
    expected = np.where(codes < 0, np.nan, codes)
    np.testing.assert_array_equal(encoder.transform(X)[:, 0], expected)
    filled = TableEncoder().fit_transform(X)[:, 0]
    assert set(filled[codes < 0]) == {np.sort(codes[codes >= 0])[sum(codes >= 0) // 2]}


@pytest.mark.parametrize("missing", ["impute", "keep"])
def test_rules_on_ordered_labels_are_sets_of_labels(missing: str) -> None:
    X, y = ordered_table()
    encoder = TableEncoder(missing=missing)
    model = make_pipeline(encoder, BooleanTreeClassifier()).fit(X, y)
    rules = skinterp.explain(model)
    fresh = pd.DataFrame({"grade": ["none", "extreme", "high", "low", "never", None]})
    decided = rules.decide(fresh)
    sure = decided >= 0
    assert sure[:4].all()
    np.testing.assert_array_equal(
        rules.target_names[decided[sure]], model.predict(fresh)[sure]
    )
    assert all(c is not None for c in rules.categories)
    if missing == "keep":
        assert any("one of 'high', 'extreme'" in c for c in rules.conditions())


def test_unknown_ordered_label_is_missing_or_refused() -> None:
    X, _ = ordered_table()
    fresh = pd.DataFrame({"grade": ["low", "never"]})
    kept = TableEncoder(missing="keep").fit(X).transform(fresh)[:, 0]
    np.testing.assert_array_equal(kept, [1.0, np.nan])
    strict = TableEncoder(handle_unknown="error").fit(X)
    with pytest.raises(ValueError, match=r"'grade', row 1: 'never'.*'extreme'"):
        strict.transform(fresh)


def test_ordered_labels_load_with_the_librarys_own_trusted_types() -> None:
    X, y = ordered_table()
    model = make_pipeline(TableEncoder(), BooleanTreeClassifier()).fit(X, y)
    again = skops.io.loads(skops.io.dumps(model), trusted=list(trusted_types()))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
