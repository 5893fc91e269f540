"""Concept lattices: counts that are known, a brute-force twin, properties, tables."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skinterp
from skinterp.lattice import ConceptLattice

LIVING = ["abg", "abgh", "abcgh", "acghi", "abdf", "abcdf", "acde", "acdf"]
WATER = np.array([[letter in row for letter in "abcdefghi"] for row in LIVING])
TABLES = arrays(bool, st.tuples(st.integers(1, 9), st.integers(1, 7)))


def fitted(table, **params):
    return ConceptLattice(**params).fit(np.asarray(table, dtype=bool))


def counts(table, **params):
    lattice = fitted(table, implications=True, stability=False, **params)
    return tuple(
        len(found)
        for found in (lattice.intents_, lattice.edges_, lattice.implications_)
    )


def random_table(n, m, p, seed):
    return np.random.default_rng(seed).random((n, m)) < p


def subsets(m):
    return np.array(list(itertools.product([False, True], repeat=m))).reshape(-1, m)


def closure(table, held):
    """B'' by its definition."""
    rows = (table | ~held).all(axis=1)
    return table[rows].all(axis=0)


def brute_intents(table):
    return {closure(table, held).tobytes() for held in subsets(table.shape[1])}


def brute_basis(table):
    """Pseudo-intents by their definition, by growing number of attributes."""
    found = []
    for held in sorted(subsets(table.shape[1]), key=lambda held: held.sum()):
        closed = closure(table, held)
        below = [(p, c) for p, c in found if (p <= held).all() and (p != held).any()]
        if (closed != held).any() and all((c <= held).all() for _, c in below):
            found.append((held, closed))
    return {(p.tobytes(), (c & ~p).tobytes()) for p, c in found}


# -- right answers ---------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 4, 5, 10])
def test_contranominal_scale(n):
    assert counts(~np.eye(n, dtype=bool)) == (2**n, n * 2 ** (n - 1), 0)


@pytest.mark.parametrize(
    ("n", "expected"),
    [(2, (4, 4, 0)), (3, (5, 6, 3)), (4, (6, 8, 6)), (5, (7, 10, 10))],
)
def test_nominal_scale(n, expected):
    assert counts(np.eye(n)) == expected


@pytest.mark.parametrize("n", [2, 3, 4, 9])
def test_ordinal_scale(n):
    assert counts(np.tril(np.ones((n, n)))) == (n, n - 1, n - 1)


def test_basis_of_the_ordinal_scale():
    pairs = fitted(np.tril(np.ones((3, 3))), implications=True).implications_
    assert [[np.flatnonzero(s).tolist() for s in pair] for pair in pairs] == [
        [[], [0]],
        [[0, 2], [1]],
    ]


def test_full_and_empty_tables():
    assert counts(np.zeros((3, 2))) == (2, 1, 2)
    assert counts(np.ones((3, 2))) == (1, 0, 1)
    lattice = fitted(np.ones((3, 2)))
    assert lattice.top_ == lattice.bottom_ == 0
    assert fitted(np.zeros((3, 2))).sizes_.tolist() == [3, 0]


def test_living_beings_and_water():
    assert counts(WATER) == (19, 32, 10)
    lattice = ConceptLattice(implications=True)
    lattice.fit(pd.DataFrame(WATER, columns=list("abcdefghi")))
    told = [text.replace(", ", "") for text in lattice.explain().implications()]
    assert told == [
        "always -> a",
        "ai -> cgh",
        "ah -> g",
        "af -> d",
        "ae -> cd",
        "adg -> bcefhi",
        "acg -> h",
        "acdef -> bghi",
        "abd -> f",
        "abcghi -> def",
    ]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ((10, 6, 0.5, 0), (17, 30, 9)),
        ((50, 20, 0.3, 0), (396, 1232, 453)),
        ((100, 25, 0.3, 1), (2334, 8989, 1926)),
    ],
)
def test_random_tables(table, expected):
    assert counts(random_table(*table)) == expected


def test_a_thousand_rows():
    table = random_table(1000, 30, 0.2, 0)
    assert table.sum() == 5967
    lattice = fitted(table)
    assert (len(lattice.intents_), len(lattice.edges_)) == (14976, 67631)


# -- a brute-force twin ----------------------------------------------------------------


@given(TABLES)
def test_intents_are_the_closed_sets(table):
    lattice = fitted(table)
    found = [row.tobytes() for row in lattice.intents_]
    assert len(set(found)) == len(found)
    assert set(found) == brute_intents(table)
    extents = lattice.extent(lattice.intents_)
    assert (extents.sum(axis=1) == lattice.sizes_).all()
    order = np.lexsort((np.arange(len(found)), -lattice.sizes_))
    assert (order == np.arange(len(found))).all()


@given(TABLES)
def test_edges_are_the_covers(table):
    intents = fitted(table).intents_
    below = (intents[:, None] >= intents[None]).all(axis=2)
    np.fill_diagonal(below, False)
    covers = below & ~(below.astype(int) @ below.astype(int)).astype(bool)
    expected = np.argwhere(covers)
    assert fitted(table).edges_.tolist() == expected.tolist()


@given(arrays(bool, st.tuples(st.integers(1, 8), st.integers(1, 10))))
def test_basis_is_that_of_the_definition(table):
    lattice = fitted(table, implications=True)
    assert lattice.basis_complete_
    found = {(p.tobytes(), c.tobytes()) for p, c in lattice.implications_}
    if table.shape[1] <= 7:
        assert found == brute_basis(table)
    # a set respects the basis exactly when it is an intent
    sets = subsets(table.shape[1])
    respects = np.ones(len(sets), dtype=bool)
    for premise, conclusion in lattice.implications_:
        applies = (premise <= sets).all(axis=1)
        respects &= ~applies | (conclusion <= sets).all(axis=1)
    intents = brute_intents(table)
    assert respects.tolist() == [held.tobytes() in intents for held in sets]


@given(TABLES)
def test_stability_counts_subsets(table):
    lattice = fitted(table)
    rows = subsets(len(table))
    for intent, told in zip(lattice.intents_, lattice.stability_, strict=True):
        extent = (table | ~intent).all(axis=1)
        inside = rows[~(rows & ~extent).any(axis=1)]
        same = [(table[pick].all(axis=0) == intent).all() for pick in inside]
        assert told == pytest.approx(np.mean(same))


def test_separation_is_the_share_of_the_crosses():
    lattice = fitted(WATER)
    for intent, told in zip(lattice.intents_, lattice.separation_, strict=True):
        extent = lattice.extent(intent)
        inside = extent.sum() * intent.sum()
        around = WATER[extent].sum() + WATER[:, intent].sum() - inside
        assert told == pytest.approx(inside / around if around else 0.0)


@given(TABLES, st.integers(0, 9))
def test_iceberg_is_the_tip_of_the_lattice(table, rows):
    share = min(1.0, rows / len(table))
    whole, tip = fitted(table), fitted(table, min_support=share)
    kept = whole.sizes_ >= math.ceil(round(share * len(table), 9))
    assert (tip.intents_ == whole.intents_[kept]).all()
    inside = kept[whole.edges_].all(axis=1)
    assert tip.edges_.tolist() == whole.edges_[inside].tolist()


def test_support_is_rounded_before_it_is_cut():
    """0.07 of 100 rows is 7.000000000000001 in floating point, and 7 rows."""
    table = np.zeros((100, 2), dtype=bool)
    table[:7, 0] = True
    assert 7 in fitted(table, min_support=0.07).sizes_


@given(TABLES, st.randoms(use_true_random=False))
def test_counts_do_not_depend_on_how_a_table_is_written(table, random):
    n, m = table.shape
    expected = counts(table)
    rows, columns = random.sample(range(n), n), random.sample(range(m), m)
    assert counts(table[rows][:, columns]) == expected
    assert counts(np.repeat(table, 3, axis=0)) == expected
    full = np.column_stack([table, np.ones(n, dtype=bool)])
    assert counts(full)[:2] == expected[:2]
    assert counts(table.T)[:2] == expected[:2]


@given(TABLES)
def test_closure_is_a_closure(table):
    lattice = fitted(table)
    sets = subsets(table.shape[1])
    closed = lattice.closure(sets)
    assert (closed >= sets).all()
    assert (lattice.closure(closed) == closed).all()
    assert (closed == [closure(table, held) for held in sets]).all()
    assert (lattice.predict(sets.astype(float)) == closed).all()


@pytest.mark.parametrize(("n", "m"), [(200, 70), (700, 12), (64, 64), (65, 130)])
def test_words_and_projections_agree_with_plain_sets(n, m):
    """Tables of several words per row and per column, against Close-by-One on ints."""
    table = random_table(n, m, 0.12 if m > 12 else 0.5, 3)
    table[:, 0] = True
    assert {row.tobytes() for row in fitted(table).intents_} == close_by_one(table)


def close_by_one(table):
    columns = [int("".join("01"[int(x)] for x in c), 2) for c in table.T]
    m, found = len(columns), set()

    def visit(extent, start):
        intent = [(extent & c) == extent for c in columns]
        found.add(np.array(intent).tobytes())
        for j in range(start, m):
            if not intent[j]:
                below = extent & columns[j]
                if all(intent[k] or (below & columns[k]) != below for k in range(j)):
                    visit(below, j + 1)

    visit((1 << len(table)) - 1, 0)
    return found


def test_equal_rows_weigh_in_icebergs():
    table = np.repeat(np.eye(3, dtype=bool), [5, 2, 1], axis=0)
    assert fitted(table, min_support=0.25).sizes_.tolist() == [8, 5, 2]


@pytest.mark.parametrize("params", [{}, {"min_support": 0.02}])
def test_threads_change_nothing(params):
    table = random_table(2000, 40, 0.12, 5)
    one, two = fitted(table, **params), fitted(table, n_jobs=2, **params)
    for name in ("intents_", "sizes_", "edges_"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


# -- limits ----------------------------------------------------------------------------


def test_too_many_concepts_are_refused_saying_what_to_do():
    table = ~np.eye(30, dtype=bool)
    with pytest.raises(
        ValueError, match=r"max_concepts=500 .*stopped after 50.*min_sup"
    ):
        fitted(table, max_concepts=500)


def test_overflow_cuts_to_the_largest_iceberg_that_fits():
    table = ~np.eye(12, dtype=bool)
    with pytest.warns(UserWarning, match="fewer than 10 of 12 rows are left out"):
        lattice = fitted(table, max_concepts=100, overflow="iceberg")
    assert len(lattice.intents_) == 1 + 12 + 66
    assert lattice.bottom_ == -1
    assert lattice.min_size_ == 10


def test_a_cut_basis_says_so_and_holds():
    table = random_table(50, 20, 0.3, 0)
    with pytest.warns(UserWarning, match="max_implications=20"):
        lattice = fitted(table, implications=True, max_implications=20)
    assert not lattice.basis_complete_
    assert len(lattice.implications_) == 20
    for premise, conclusion in lattice.implications_:
        assert (conclusion <= lattice.closure(premise)).all()


# -- tables of any columns -------------------------------------------------------------


@pytest.fixture
def mixed():
    return pd.DataFrame(
        {
            "color": ["red", "blue", None, "red"],
            "age": [10.0, 20.0, 30.0, np.nan],
            "member": [True, False, True, True],
            "size": pd.Categorical(["s", "l", "m", "s"], list("sml"), ordered=True),
            "day": pd.to_datetime(["2020-01-01", "2020-01-03", None, "2020-01-03"]),
        }
    )


def test_auto_scaling(mixed):
    lattice = ConceptLattice().fit(mixed)
    assert lattice.attribute_names_.tolist() == [
        "color is 'blue'",
        "color is 'red'",
        "age <= 15",
        "age <= 25",
        "age > 15",
        "age > 25",
        "member",
        "size is 's'",
        "size one of 's', 'm'",
        "size one of 'm', 'l'",
        "size is 'l'",
        "day <= 2020-01-02",
        "day > 2020-01-02",
    ]
    held = lattice.attributes(mixed)
    assert not held[2, :2].any()  # a missing cell has no attribute
    assert not held[3, 2:6].any()
    assert held[0].tolist() == [0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 0]
    lattice.explain().check_faithful(lattice, mixed)
    lattice.explain(mixed).check_faithful(lattice, mixed)


def test_chosen_scales(mixed):
    scaling = {"age": "ordinal", "size": "nominal", "member": "nominal"}
    lattice = ConceptLattice(scaling=scaling).fit(mixed[["age", "member", "size"]])
    assert lattice.attribute_names_.tolist() == [
        "age > 15",
        "age > 25",
        "member = 0",
        "member = 1",
        "size is 'l'",
        "size is 'm'",
        "size is 's'",
    ]


def test_thresholds_are_quantiles_between_values():
    lattice = ConceptLattice(n_thresholds=3, scaling="ordinal")
    lattice.fit(np.arange(100.0)[:, None])
    assert lattice.attribute_names_.tolist() == ["x0 > 24.5", "x0 > 49.5", "x0 > 74.5"]


@pytest.mark.parametrize(
    ("scaling", "message"),
    [
        ({"color": "ordinal"}, "'color' holds labels such as 'blue' without an order"),
        ({"age": "boolean"}, "'age' holds 10; with scaling='boolean'"),
        ({"weight": "auto"}, "names the column 'weight'"),
        ({"age": "ratio"}, "holds 'ratio'; a scale is one of"),
    ],
)
def test_wrong_scales_are_refused(mixed, scaling, message):
    with pytest.raises(ValueError, match=message):
        ConceptLattice(scaling=scaling).fit(mixed)


def test_labels_beside_numbers_are_refused():
    frame = pd.DataFrame({"a": ["x", 1, "y"]})
    with pytest.raises(ValueError, match="'a' holds 1, of type int"):
        ConceptLattice().fit(frame)


def test_unknown_labels_have_no_attribute(mixed):
    lattice = ConceptLattice().fit(mixed[["color"]])
    assert not lattice.attributes(pd.DataFrame({"color": ["green"]})).any()


def test_another_kind_of_cells_than_in_fit_is_refused(mixed):
    lattice = ConceptLattice().fit(mixed)
    for column, cells, told in (
        ("color", 1.0, "'color' holds numbers, but held labels"),
        ("age", "old", "'age' holds labels, but held numbers"),
        ("age", pd.Timestamp(0), "'age' holds dates, but held numbers"),
        ("day", 18262.0, "'day' holds numbers, but held dates"),
    ):
        with pytest.raises(ValueError, match=told):
            lattice.transform(mixed.assign(**{column: cells}))
        unknown = lattice.attributes(mixed.assign(**{column: None}))
        own = [name.startswith(column) for name in lattice.attribute_names_]
        assert not unknown[:, own].any()


@pytest.mark.parametrize("scaling", ["auto", "boolean", "ordinal", "interordinal"])
@pytest.mark.parametrize("dtype", [float, "string", "Int64", object])
def test_columns_without_a_known_cell_belong_to_no_row(scaling, dtype):
    frame = pd.DataFrame({"a": [1, 0, 1], "b": pd.Series([None] * 3, dtype=dtype)})
    lattice = ConceptLattice(scaling={"b": scaling}).fit(frame)
    assert lattice.attribute_names_.tolist() == ["a", "b"]
    assert not lattice.attributes(frame)[:, 1].any()


def test_names_are_all_different():
    frame = pd.DataFrame({"a": [1, 0, 1], "a = 1 (2)": [1, 1, 0]})
    frame["b"] = [1.0, 1.0 + 1e-9, 1.0 + 2e-9]
    lattice = ConceptLattice(scaling={"b": "nominal"}).fit(
        frame.rename(columns={"a = 1 (2)": "b = 1 (2)"})
    )
    assert lattice.attribute_names_.tolist() == [
        "a",
        "b = 1 (2)",
        "b = 1",
        "b = 1 (3)",
        "b = 1 (4)",
    ]
    odd = pd.DataFrame({"all": [1, 0], "a": [1, 1], "a & b": [1, 0], "b": [0, 1]})
    names = ConceptLattice().fit(odd).get_feature_names_out().tolist()
    assert len(set(names)) == len(names)


# -- the estimator ---------------------------------------------------------------------


def test_completion_of_a_row():
    lattice = ConceptLattice().fit(pd.DataFrame(WATER, columns=list("abcdefghi")))
    assert lattice.closure(["i"]) == ("a", "c", "g", "h", "i")
    assert lattice.closure([]) == ("a",)
    row = pd.DataFrame([[0, 0, 0, 0, 0, 0, 0, 0, 1]], columns=list("abcdefghi"))
    assert np.flatnonzero(lattice.predict(row)[0]).tolist() == [0, 2, 6, 7, 8]
    with pytest.raises(ValueError, match="names 'z'"):
        lattice.closure(["z"])
    assert lattice.closure(pd.Index(["i"])) == ("a", "c", "g", "h", "i")
    for wrong in (
        [True, False, True],
        [0.3] * 9,
        [np.nan] * 9,
        "abc",
        [["a", "b"]],
        {"a"},
    ):
        with pytest.raises(ValueError, match=r"a list of names, or truth values"):
            lattice.closure(wrong)


def test_names_of_rows_and_concepts():
    frame = pd.DataFrame(WATER, columns=list("abcdefghi"), index=LIVING)
    lattice = ConceptLattice().fit(frame)
    assert lattice.get_feature_names_out()[0] == "a"
    told = lattice.explain()
    own = dict(zip(told.object_names, told.object_concept, strict=True))
    assert told.intent(own["acde"]) == tuple("acde")
    assert told.own_size.sum() == len(frame)


def test_concepts_are_features_of_a_model():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    columns = ["mean radius", "mean texture", "mean smoothness", "worst concavity"]
    model = make_pipeline(
        ConceptLattice(min_support=0.1), LogisticRegression(C=0.1, max_iter=2000)
    )
    scores = cross_val_score(model, X[columns], y, cv=3)
    assert scores.mean() > 0.9


def test_explanation_through_a_pipeline_speaks_of_the_columns():
    X, _ = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X[["mean radius", "mean texture"]]
    pipeline = make_pipeline(StandardScaler(), ConceptLattice(n_thresholds=1)).fit(X)
    told = skinterp.explain(pipeline)
    plain = ConceptLattice(n_thresholds=1).fit(X).explain()
    assert told.attribute_names == plain.attribute_names
    assert (told.intents == plain.intents).all()
    told.check_faithful(pipeline, X)
    skinterp.explain(pipeline, X[:20]).check_faithful(pipeline, X[:20])


def test_rows_break_implications_that_held_in_training():
    lattice = ConceptLattice(implications=True)
    lattice.fit(pd.DataFrame(WATER, columns=list("abcdefghi")))
    row = pd.DataFrame([[1, 0, 0, 0, 0, 0, 0, 1, 0]], columns=list("abcdefghi"))
    told = lattice.explain(row)
    assert told.violated.sum() == 1
    assert "breaks a, h -> g" in told.to_text()


def test_verbose_shows_a_bar(capsys):
    fitted(random_table(50, 20, 0.3, 0), verbose=1)
    assert "ConceptLattice, concepts" in capsys.readouterr().err
