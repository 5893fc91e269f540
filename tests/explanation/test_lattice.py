"""Lattices: order after cuts, words, pictures, exports, maps, and the truth."""

from __future__ import annotations

import dataclasses
import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skinterp.explanation import FeatureMap, FeatureSource, Lattice, load
from skinterp.explanation._lattice_draw import crossings, lay_out
from skinterp.lattice import ConceptLattice

BIRDS = pd.DataFrame(
    {"flies": [1, 1, 0, 0], "eggs": [1, 0, 1, 1], "swims": [0, 0, 1, 0]},
    index=["wren", "bat", "carp", "gecko"],
)


@pytest.fixture(scope="module")
def model():
    return ConceptLattice(implications=True).fit(BIRDS)


@pytest.fixture(scope="module")
def told(model):
    return model.explain()


def random_lattice(n, m, p=0.4, **params):
    table = np.random.default_rng(1).random((n, m)) < p
    return ConceptLattice(**params).fit(table).explain()


def test_words(told):
    assert told.to_text().splitlines()[:3] == [
        "6 concepts of 4 rows and 3 attributes, 7 covers",
        "  0: 4 rows: (no attribute), stability 0.38",
        "  1: 3 rows: eggs, stability 0.62",
    ]
    assert told.to_text().splitlines()[-2:] == ["1 implication", "  swims -> eggs"]


def test_words_of_many_concepts_are_cut():
    many = random_lattice(30, 10)
    assert f"... {len(many) - 25} more concepts" in many.to_text()


def test_table(told):
    frame = told.to_frame()
    assert frame["intent"].tolist()[-2:] == ["eggs, swims", "flies, eggs, swims"]
    assert frame["new"].tolist() == ["", "eggs", "flies", "", "swims", ""]
    assert frame["upper_covers"].tolist() == ["", "0", "0", "1 2", "1", "3 4"]


def test_reduced_labels_stand_once(told):
    assert told.own_attributes().sum(axis=0).tolist() == [1, 1, 1]
    assert told.object_concept.tolist() == [3, 2, 4, 1]


@given(
    arrays(bool, st.tuples(st.integers(1, 6), st.integers(1, 6))),
    st.data(),
)
def test_order_of_a_part_is_that_of_its_intents(table, data):
    whole = ConceptLattice().fit(table).explain()
    n = len(whole)
    kept = data.draw(st.lists(st.integers(0, n - 1), unique=True, min_size=1))
    part = whole[np.array(kept)]
    below = (part.intents[:, None] >= part.intents[None]).all(axis=2)
    np.fill_diagonal(below, False)
    covers = below & ~(below.astype(int) @ below.astype(int)).astype(bool)
    assert sorted(part.edges.tolist()) == np.argwhere(covers).tolist()


def test_top_is_an_iceberg(told):
    tip = told.top(3)
    assert tip.concept.tolist() == [0, 1, 2]
    assert tip.edges.tolist() == [[1, 0], [2, 0]]
    assert tip.object_concept.tolist() == [-1, 2, -1, 1]
    assert "3 of 6 concepts" in tip.to_text()


def test_cases(model):
    local = model.explain(BIRDS.iloc[[2, 1]])
    assert local.concept[local.row_concept].tolist() == [4, 2]
    assert local.concept[local.way_up(0)].tolist() == [4, 1, 0]
    assert local[1].concept.tolist() == [0, 2]
    assert local[[1, 0]] == model.explain(BIRDS.iloc[[1, 2]])
    assert "way up 4 < 1 < 0" in local.to_text()
    with pytest.raises(ValueError, match="no cases"):
        model.explain().way_up(0)


def test_stored_and_read(told, tmp_path):
    told.save(tmp_path / "a.json")
    assert load(tmp_path / "a.json") == told


# -- exports ---------------------------------------------------------------------------


def test_graphviz(told):
    lines = told.to_graphviz().splitlines()
    assert lines[0] == "digraph lattice {"
    assert '  4 [label="swims\\ncarp"];' in lines
    assert "  4 -> 1 [arrowhead=none];" in lines
    evil = told._with(attribute_names=('a"b\\', "c\nd", "e"))
    assert 'label="a\\"b\\\\\\nbat"' in evil.to_graphviz()


def test_networkx(told):
    nx = pytest.importorskip("networkx")
    graph = told.to_networkx()
    assert nx.is_directed_acyclic_graph(graph)
    assert nx.transitive_reduction(graph).edges == graph.edges
    assert graph.nodes[4]["intent"] == ("eggs", "swims")
    assert graph.nodes[4]["new"] == ("swims",)


def test_networkx_is_asked_for_when_needed(told, monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match="networkx"):
        told.to_networkx()


# -- pictures --------------------------------------------------------------------------


def written(ax):
    return [text.get_text() for text in ax.texts]


def test_picture_of_a_small_lattice(told):
    ax = told.plot()
    assert set(written(ax)) == {*BIRDS.columns, *BIRDS.index}
    assert len(ax.lines) == 7
    assert len(ax.collections[0].get_offsets()) == 6
    plt.close("all")


def test_larger_ones_are_cut_to_the_tip():
    many = random_lattice(40, 12)
    ax = many.plot()
    assert len(ax.collections[0].get_offsets()) == 60
    assert (
        ax.get_title(loc="left") == f"60 concepts; {len(many) - 60} more of fewer rows"
    )
    plt.close("all")


def test_labels_keep_apart():
    """Up to 60 concepts no two circles lie upon each other."""
    for n, m in ((8, 6), (20, 6), (12, 9)):
        shown = random_lattice(n, m).top(60)
        layout = lay_out(shown.edges, len(shown.concept))
        for level in np.unique(layout.level):
            here = np.flatnonzero(layout.level == level)
            here = np.sort(layout.x[here[here < len(shown.concept)]])
            assert (np.diff(here) >= 0.99).all()


@pytest.mark.parametrize(("n", "m"), [(60, 14), (20, 8), (4, 3)])
def test_labels_do_not_lie_upon_each_other(n, m):
    table = np.random.default_rng(3).random((n, m)) < 0.4
    names = [f"attribute {j}" for j in range(m)]
    model = ConceptLattice().fit(pd.DataFrame(table, columns=names))
    for told in (model.explain(), model.explain(pd.DataFrame(table, columns=names))):
        ax = told.plot()
        ax.figure.canvas.draw()
        boxes = [text.get_window_extent() for text in ax.texts]
        for i, box in enumerate(boxes):
            for other in boxes[i + 1 :]:
                across = min(box.x1, other.x1) - max(box.x0, other.x0)
                assert across <= 1 or min(box.y1, other.y1) <= max(box.y0, other.y0) + 1
        ends = [point for line in ax.lines for point in line.get_xdata()]
        low, high = ax.get_xlim()
        assert not ends or (min(ends) - low < 0.7 and high - max(ends) < 0.7)
        plt.close("all")


def test_every_edge_goes_down():
    shown = random_lattice(20, 6)
    layout = lay_out(shown.edges, len(shown.concept))
    assert (layout.level[shown.edges[:, 0]] > layout.level[shown.edges[:, 1]]).all()


def test_sweeps_untangle_what_can_be():
    edges = np.array([[2, 1], [3, 0], [4, 2], [4, 3]])
    layout = lay_out(edges, 5)
    down = [[3], [2], [4], [4], []]
    assert crossings(layout.layers, down, 5) == 0


def test_a_picture_without_rows(model):
    local = model.explain(BIRDS)[:0]
    assert local.plot().has_data
    assert local.to_text() == "no rows"
    plt.close("all")


# -- maps and truth --------------------------------------------------------------------


def test_map_of_one_hot_columns(told):
    sources = (
        FeatureSource(form="category", column=0, categories=("yes",)),
        FeatureSource(form="value", column=1),
        FeatureSource(form="opaque", name="swims"),
    )
    mapped = told.map_features(FeatureMap(("wings", "eggs"), sources))
    assert mapped.attribute_names == ("wings is 'yes'", "eggs", "swims")
    assert mapped.feature_names == ("wings", "eggs", "swims")
    assert (mapped.intents == told.intents).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"edges": np.array([[1, 0], [2, 0], [3, 1], [4, 1], [5, 3], [5, 4]])},
            "covers",
        ),
        ({"premises": np.eye(3, dtype=bool)[:1]}, "implication"),
        ({"lower": np.array([0.5, 1.5, 0.5])}, "disagree"),
    ],
)
def test_what_is_not_true_is_found(model, told, changes, message):
    told.check_faithful(model, BIRDS)
    with pytest.raises(AssertionError, match=message):
        told._with(**changes).check_faithful(model, BIRDS)


def test_a_wrong_place_of_a_row_is_found(model):
    local = model.explain(BIRDS)
    local.check_faithful(model, BIRDS)
    with pytest.raises(AssertionError):
        local.check_faithful(model, BIRDS.iloc[::-1])
    with pytest.raises(AssertionError, match="implications"):
        local._with(violated=~local.violated).check_faithful(model, BIRDS)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"edges": np.array([[0, 1]])}, "fewer attributes"),
        ({"size": np.array([9, 3, 2, 1, 1, 0])}, "size"),
        ({"intents": np.ones((2, 3), bool)}, "intents"),
        ({"premises": None}, "come together"),
        ({"row_concept": np.array([0])}, "global lattice"),
        ({"lower": np.zeros(2)}, "lower has length 2"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(told, changes, message):
    names = [field.name for field in dataclasses.fields(told)]
    fields = {name: getattr(told, name) for name in names}
    with pytest.raises(ValueError, match=message):
        Lattice(**(fields | changes))
