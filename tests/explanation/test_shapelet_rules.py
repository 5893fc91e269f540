"""Rules over shapelets: checked, told, drawn, and mapped to the user's channels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.text import Text

from skinterp.explanation import FeatureMap, FeatureSource, ShapeletRules
from skinterp.explanation._shapelet_rules_math import (
    distances,
    mean_and_scale,
    normalised,
    spread_over,
)


def rules(**changes: Any) -> ShapeletRules:
    """Three shapelets in two channels for three classes."""
    fields: dict[str, Any] = {
        "scope": "global",
        "feature_names": ("heart", "breath"),
        "target_names": np.array(["a", "b", "c"]),
        "values": np.arange(12.0) % 5 - 2,
        "lengths": [3, 4, 5],
        "channel": [0, 1, 1],
        "stride": [1, 1, 1],
        "weights": [[1.0, -2.0, 0.0], [0.5, 0.0, 3.0], [-0.1, 0.2, 0.3]],
        "base": np.zeros(3),
        "mean_predicate": [0.1, 0.5, 0.9],
        "epsilon": 1.0,
        "distance": "l1",
    }
    return ShapeletRules(**{**fields, **changes})


def local(**changes: Any) -> ShapeletRules:
    """Two series of ten points."""
    rng = np.random.default_rng(0)
    rows: dict[str, Any] = {
        "scope": "local",
        "series": rng.normal(size=(2, 2, 10)),
        "predicates": [[0.5, 1.0, 0.2], [1.0, 0.1, 0.1]],
        "starts": [[0, 6, 2], [7, 0, 5]],
        "share": [0.25, 1.0],
        "target": [2, 0],
        "prediction": [[0.1, 0.2, 0.7], [0.8, 0.1, 0.1]],
    }
    return rules(**{**rows, **changes})


def written(explanation: ShapeletRules) -> tuple[Any, str]:
    """Draw, and return the axes and all that is written."""
    figure = Figure()
    FigureCanvasAgg(figure)
    ax = explanation.plot(figure.add_subplot())
    figure.canvas.draw()
    return ax, " ".join(text.get_text() for text in figure.findobj(Text))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"distance": "dtw"}, "distance='dtw'"),
        ({"lengths": [3, 4, 6]}, "values has shape"),
        ({"channel": [0, 1, 2]}, "channel must lie in"),
        ({"weights": np.zeros((3, 2))}, "weights has shape"),
        ({"stride": [1, 0, 1]}, "at least 1"),
        ({"shown": [0, 3]}, "shown must lie in"),
        ({"share": [1.0]}, "a global one none"),
    ],
)
def test_what_does_not_fit_together_is_refused(changes, told):
    with pytest.raises(ValueError, match=told):
        rules(**changes)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"share": None}, "a local explanation has"),
        ({"series": np.zeros((2, 10))}, "three dimensions"),
        ({"series": np.zeros((2, 1, 10))}, "series has shape"),
        ({"starts": [[0, 6, 2], [7, 0, 6]]}, r"starts \+ lengths must lie in"),
        ({"target": [2, 3]}, "target must lie in"),
        ({"prediction": np.zeros((2, 1))}, "prediction has shape"),
    ],
)
def test_rows_that_do_not_fit_are_refused(changes, told):
    with pytest.raises(ValueError, match=told):
        local(**changes)


def test_contributions_by_hand():
    said = local()
    expected = [[0.0, 3.0, 0.06], [1.0, 0.05, -0.01]]
    np.testing.assert_allclose(said.contributions(), expected)
    np.testing.assert_allclose(said.scores()[1], [1.04, -1.98, 0.33])
    evidence = said.evidence()
    np.testing.assert_allclose(evidence[0, 1, 6:10], 0.75 + np.array([0.012, 0, 0, 0]))
    np.testing.assert_allclose(evidence[1, 0], [0] * 7 + [1 / 3] * 3, atol=1e-15)
    for call in (rules().contributions, rules().evidence, rules().scores):
        with pytest.raises(ValueError, match="no rows"):
            call()


def test_evidence_equals_its_plain_twin():
    rng = np.random.default_rng(1)
    lengths, channel = rng.integers(1, 6, 20), rng.integers(0, 3, 20)
    amounts, starts = rng.normal(size=(4, 20)), rng.integers(0, 7, (4, 20))
    expected = np.zeros((4, 3, 12))
    for i, j in np.ndindex(4, 20):
        a, n = starts[i, j], lengths[j]
        expected[i, channel[j], a : a + n] += amounts[i, j] / n
    found = spread_over(amounts, starts, lengths, channel, (3, 12))
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_series_of_any_size_are_normalised(scale):
    z = np.array([[[1.0, 2.0, 4.0, 5.0], [3.0, 3.0, 3.0, 3.0]]])
    found = normalised(z * scale)
    np.testing.assert_allclose(found[0, 0].mean(), 0, atol=1e-15)
    np.testing.assert_allclose(found[0, 0].std(ddof=1), 1)
    assert not found[0, 1].any()
    mean, sd = mean_and_scale(z * scale)
    np.testing.assert_allclose(mean, [[3 * scale, 3 * scale]])
    np.testing.assert_allclose(found[0, 0] * sd[0, 0] + mean[0, 0], z[0, 0] * scale)


def test_distances_by_hand():
    x, w = np.array([[0.0, 1.0, 3.0, 0.0]]), np.array([0.0, 2.0])
    np.testing.assert_allclose(distances(x, w, 1, "l1"), [[0.5, 1.0, 2.5]])
    np.testing.assert_allclose(distances(x, w, 1, "l2"), [[0.5, 1.0, 6.5]])
    np.testing.assert_allclose(distances(x, w, 2, "l1"), [[0.5, 2.5]])
    angle = [[0, 1 - 3 / np.sqrt(10), 1]]
    np.testing.assert_allclose(distances(x, w, 1, "cosine"), angle, atol=1e-12)
    np.testing.assert_allclose(distances(x, w, 1, "pearson"), [[0, 0, 2]], atol=1e-12)


def test_top_shows_the_heaviest():
    assert rules().top(1).shown.tolist() == [1]
    assert rules().top(2).shown.tolist() == [1, 0]
    assert local().top(1).shown.tolist() == [1]
    assert len(local().top(1)) == 2
    assert local().top(1).complexity == 1
    np.testing.assert_array_equal(local().top(1).scores(), local().scores())


def test_the_table_has_a_line_per_match():
    frame = local().to_frame()
    assert len(frame) == 6
    line = frame.iloc[1]
    assert line[["row", "target", "channel"]].tolist() == [0, "c", "breath"]
    assert line[["start", "end"]].tolist() == [6, 10]
    assert line["contribution"] == 3.0
    assert len(rules().to_frame()) == 9


def test_the_sentence():
    assert local().to_text().splitlines() == [
        "row 0: c (probability 0.70), shapelets decide only 25 % of it",
        "  +3: shapelet 1 in breath at 6 to 9, match 1.00",
        "  +0.06: shapelet 2 in breath at 2 to 6, match 0.20",
        "  +0: shapelet 0 in heart at 0 to 2, match 0.50",
        "row 1: a (probability 0.80), decided by shapelets alone",
        "  +1: shapelet 0 in heart at 7 to 9, match 1.00",
        "  +0.05: shapelet 1 in breath at 0 to 3, match 0.10",
        "  -0.01: shapelet 2 in breath at 5 to 9, match 0.10",
    ]
    other = local(target=[1, 0])
    assert "(alone they say c)" in other.to_text().splitlines()[0]


def test_the_sentence_of_a_number():
    given = {"target_names": ["y"], "weights": [[1.0], [2.0], [0.0]], "base": [10.0]}
    rows = {"target": [0, 0], "prediction": [[11.0], [12.0]]}
    said = local(**given, **rows).to_text().splitlines()
    assert (
        said[0]
        == "row 0: y = 11, shapelets decide only 25 % of it (alone they say 12.5)"
    )
    assert "10 at first" in rules(**given).to_text()


def test_what_is_left_out_is_told():
    many = local()[np.zeros(30, dtype=int)]
    assert "10 more" in many.to_text()
    names = np.array([f"class {i}" for i in range(20)])
    wide = {"weights": np.ones((3, 20)), "base": np.zeros(20), "target_names": names}
    assert "8 more targets" in rules(**wide).to_text()
    assert "14 more targets" in written(rules(**wide))[1]
    assert "(29 more rows)" in written(many)[1]


def test_measures_are_said():
    quality = {"mean_share": 0.71, "shapelet_error": 0.06, "weights_above_0.1": 0.3}
    text = rules(quality=quality).to_text()
    assert "shapelets decide 71 % on average; shapelet error 0.06; 30 %" in text


def test_the_picture_of_a_series():
    said = local()
    ax, text = written(said)
    lines = [line for box in ax.child_axes for line in box.findobj(LineCollection)]
    evidence = said.evidence()[0]
    for line, own in zip(lines, evidence, strict=False):
        np.testing.assert_allclose(line.get_array(), (own[1:] + own[:-1]) / 2)
    assert "+3, match 1.00" in text
    assert "heart" in text
    assert "breath" in text


def test_the_picture_with_nothing_in_it():
    assert "no rows" in written(local()[:0])[1]
    flat = local(series=np.ones((2, 2, 10)), weights=np.zeros((3, 3)))
    assert "shapelets decide" in written(flat)[1]


def test_the_picture_of_the_rules():
    _, text = written(rules())
    for part in ("+1  heart, 3 points", "-2  heart, 3 points", "+3  breath, 4 points"):
        assert part in text


def test_channels_get_the_names_of_their_columns():
    two = FeatureMap(("pulse",), (FeatureSource(form="value", column=0),) * 2)
    assert local().map_features(two).feature_names == (
        "pulse, channel 0",
        "pulse, channel 1",
    )
    swapped = [FeatureSource(form="value", column=i) for i in (1, 0)]
    named = rules().map_features(FeatureMap(("x", "y"), tuple(swapped)))
    assert named.feature_names == ("y", "x")
    with pytest.raises(ValueError, match="1 sources for 2"):
        rules().map_features(FeatureMap.identity(("x",)))
