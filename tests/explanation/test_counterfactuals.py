"""Counterfactuals as an object: checks, words, tables, pictures, other columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skinterp.explanation import Counterfactuals, FeatureMap, FeatureSource


def make(**changes: Any) -> Counterfactuals:
    """Two rows: the first one changes in both columns, the second is there already."""
    fields: dict[str, Any] = {
        "scope": "local",
        "feature_names": ("amount", "months"),
        "target_names": np.array(["bad", "good"]),
        "rows": np.array([[10.0, 48.0], [1.0, 6.0]]),
        "counterfactuals": np.array([[8.0, 44.0], [1.0, 6.0]]),
        "noise": np.array([[10.0, 38.0], [1.0, 5.0]]),
        "counterfactual_noise": np.array([[8.0, 36.0], [1.0, 5.0]]),
        "steps": np.array([[-1.0, -2.0], [0.0, 0.0]]),
        "own_steps": np.array([[-1.0, -1.0], [0.0, 0.0]]),
        "source": np.array([0, 1]),
        "target": np.array([1, 1]),
        "status": np.array(["found", "already"]),
        "certified": np.array([True, True]),
        "gap": np.zeros(2),
        "distance_x": np.array([3.0, 0.0]),
        "distance_u": np.array([np.sqrt(2.0), 0.0]),
        "objective": np.array([3.0 + np.sqrt(2.0), 0.0]),
        "lam": 1.0,
        "held": np.array([False, False]),
        "edges": np.array([[0, 1]]),
    }
    return Counterfactuals(**(fields | changes))


class Model:
    """Says "good" where the sum is below 53."""

    def predict(self, X: Any) -> np.ndarray:
        return np.where(np.asarray(X, dtype=float).sum(axis=1) < 53, "good", "bad")


def path_of(answer: Counterfactuals, n: int = 3) -> Counterfactuals:
    """The same answer for several weights."""
    names = (
        *("counterfactuals", "counterfactual_noise", "steps", "own_steps", "target"),
        *("status", "certified", "gap", "distance_x", "distance_u", "objective"),
    )
    stacked = {name: np.stack([getattr(answer, name)] * n) for name in names}
    lam = np.ones(n)
    return replace(answer, lam=lam, **stacked)


def test_words() -> None:
    assert make().to_text().splitlines() == [
        "row 0: bad becomes good by",
        "  - months: 48 -> 44 (-4: -2 by itself, -2 following amount)",
        "  - amount: 10 -> 8 (-2)",
        "  distance 3, of the noise 1.414; no row is nearer",
        "row 1: is good already",
        "2 of 2 answers; they change amount, months",
    ]


@pytest.mark.parametrize("status", ["unreachable", "not found"])
def test_words_where_there_is_no_answer(status: str) -> None:
    nothing = make(
        status=np.array([status] * 2),
        counterfactuals=make().rows,
        steps=np.zeros((2, 2)),
        own_steps=np.zeros((2, 2)),
        source=np.array([0, 0]),
        target=np.array([1, -1]),
    )
    text = nothing.to_text()
    assert "row 0: stays bad" in text
    assert "makes it good" in text
    assert "makes it another class" in text
    assert not nothing.valid.any()
    assert nothing.plot().has_data()


def test_many_rows_are_cut_in_words_alone() -> None:
    many = make()[np.zeros(30, dtype=int)]
    assert "... 10 more rows" in many.to_text()
    assert len(many.to_frame()) == 60


def test_table() -> None:
    frame = make().to_frame()
    assert frame["row"].tolist() == [0, 0, 1]
    assert frame["feature"].tolist() == ["months", "amount", ""]
    assert frame["to"].tolist()[:2] == [44.0, 8.0]
    assert frame["own_step"].tolist() == [-1.0, -1.0, 0.0]


def test_summary() -> None:
    summary = make().summary().set_index("feature")
    assert summary["share_changed"].tolist() == [1.0, 1.0]
    assert summary["mean_step"].tolist() == [1.0, 2.0]
    assert summary["mean_own_step"].tolist() == [1.0, 1.0]
    assert (summary["distance_x"] == 3.0).all()
    assert (path_of(make()).summary()["lam"] == 1.0).all()


def test_pictures() -> None:
    one, many, path = make()[0], make(), path_of(make()[0])
    texts = {t.get_text() for t in one.plot().texts}
    assert texts == {"48 → 44, following amount", "10 → 8"}
    assert [t.get_text() for t in many.plot().texts] == ["100% of rows"] * 2
    assert len(path.plot().get_legend().get_texts()) == 2


def test_path() -> None:
    path = path_of(make())
    assert path.at(1) == replace(make(), lam=np.float64(1.0))
    assert len(path) == 2
    assert len(path[1:]) == 1
    assert path[1:].counterfactuals.shape == (3, 1, 2)
    assert "row 0, lam 1: bad becomes good by" in path.to_text()
    path.check_faithful(Model(), path.rows)
    with pytest.raises(ValueError, match="no path"):
        make().at(0)


def test_nearest_come_first() -> None:
    assert_array_equal(make().top(1).rows, [[1.0, 6.0]])
    assert make().complexity == 2


# -- truth ---------------------------------------------------------------------------


def test_truth_is_accepted() -> None:
    make().check_faithful(Model(), make().rows)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"source": np.array([1, 1])}, "row 0 is said to be 'good'"),
        ({"target": np.array([0, 1])}, "counterfactual of row 0 is said to be 'bad'"),
        ({"held": np.array([True, False])}, "column 'amount' of row 0"),
        ({"counterfactuals": np.array([[8.0, 44.0], [2.0, 6.0]])}, "of row 1"),
        ({"objective": np.array([3.0, 0.0])}, "objective of row 0"),
        ({"distance_u": np.array([2.0, 0.0])}, "of row 0 does not fit"),
    ],
)
def test_untruth_is_found(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        make(**changes).check_faithful(Model(), make().rows)


# -- construction --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"scope": "global"}, "speak about rows"),
        ({"steps": np.zeros((2, 3))}, "steps has shape"),
        ({"status": np.array(["found", "perhaps"])}, "status"),
        ({"source": np.array([0, 2])}, "source must lie in"),
        ({"target": np.array([0, -2])}, "target must lie in"),
        ({"edges": np.array([[0, 2]])}, "edges must name columns"),
        ({"lam": np.ones((1, 1))}, "lam has shape"),
    ],
)
def test_what_does_not_fit(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make(**changes)


# -- other columns -------------------------------------------------------------------


def test_units_are_undone() -> None:
    """A scaled column comes back in its own unit, a step stays a step."""
    sources = (
        FeatureSource(form="value", column=1, invert=lambda t: 100.0 * t + 5.0),
        FeatureSource(form="value", column=0),
    )
    mapped = make().map_features(FeatureMap(("months", "amount"), sources))
    assert mapped.feature_names == ("months", "amount")
    assert_allclose(mapped.rows.astype(float), [[48.0, 1005.0], [6.0, 105.0]])
    assert_allclose(mapped.counterfactuals[0].astype(float), [44.0, 805.0])
    assert_array_equal(mapped.steps[0], [-2.0, -1.0])
    assert_array_equal(mapped.edges, [[1, 0]])
    assert "amount: 1005 -> 805 (-200)" in mapped.to_text()


def test_encoded_columns_become_labels() -> None:
    sources = (
        FeatureSource(form="category", column=0, categories=("rent",), unknown=0.0),
        FeatureSource(form="category", column=0, categories=("own",), unknown=0.0),
    )
    answer = make(
        rows=np.array([[1.0, 0.0], [0.0, 1.0]]),
        counterfactuals=np.array([[0.0, 1.0], [0.0, 1.0]]),
        edges=np.zeros((0, 2)),
    )
    mapped = answer.map_features(FeatureMap(("housing",), sources))
    assert mapped.rows.tolist() == [["rent"], ["own"]]
    assert mapped.counterfactuals.tolist() == [["own"], ["own"]]
    assert "housing: rent -> own" in mapped.to_text()
    assert np.isnan(mapped.noise).all()


def test_features_that_no_cell_has_are_refused() -> None:
    """Two labels at once are no row of the table."""
    sources = tuple(
        FeatureSource(form="category", column=0, categories=(label,), unknown=0.0)
        for label in ("rent", "own")
    )
    answer = make(
        rows=np.array([[1.0, 0.0], [0.0, 1.0]]),
        counterfactuals=np.array([[1.0, 1.0], [0.0, 1.0]]),
        steps=np.array([[0.0, 1.0], [0.0, 0.0]]),
        edges=np.zeros((0, 2)),
    )
    with pytest.raises(ValueError, match=r"column 'housing' change to \[1.0, 1.0\]"):
        answer.map_features(FeatureMap(("housing",), sources))


def test_mixed_columns_that_change_are_refused() -> None:
    sources = (
        FeatureSource(form="opaque", name="component 1"),
        FeatureSource(form="value", column=0),
    )
    feature_map = FeatureMap(("months",), sources)
    with pytest.raises(ValueError, match="'amount' changes, but comes from no single"):
        make().map_features(feature_map)
    held = make()[1]
    assert held.map_features(feature_map).feature_names == ("months", "component 1")


def test_own_cells_are_shown_where_nothing_changes() -> None:
    shown = make().with_rows(np.array([["10 k", 48], ["1 k", 6]], dtype=object))
    assert shown.rows.tolist() == [["10 k", 48], ["1 k", 6]]
    assert shown.counterfactuals.tolist() == [[8.0, 44.0], ["1 k", 6]]
