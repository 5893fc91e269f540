"""Networks of curves: computed, drawn and said from their coefficients alone."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from skinterp.explanation import EdgeCurves, FeatureMap, FeatureSource
from skinterp.explanation._edge_curves_math import features
from skinterp.explanation._edge_curves_plot import MAX_EDGES, _lay_out

RNG = np.random.default_rng(0)


def curves(widths: tuple[int, ...] = (2, 3, 1), **changes: Any) -> EdgeCurves:
    """Draw a network."""
    n_edges = sum(a * b for a, b in itertools.pairwise(widths))
    n_in, n_out = widths[0], widths[-1]
    rng = np.random.default_rng(1)
    fields: dict[str, Any] = {
        "scope": "global",
        "feature_names": tuple(f"x{i}" for i in range(n_in)),
        "target_names": np.array([f"y{i}" for i in range(n_out)]),
        "widths": np.array(widths),
        "coefficients": rng.normal(size=(n_edges, 7)),
        "sizes": rng.uniform(0.1, 1, n_edges),
        "ranges": np.tile([-1.0, 1.0], (sum(widths[:-1]), 1)),
        "grid_size": 3,
        "spline_order": 3,
        "grid_range": np.array([-1.0, 1.0]),
        "clip": np.array([-1.2, 1.2]),
        "base": "silu",
        "squash": False,
        "input_scale": np.full(n_in, 0.5),
        "input_offset": np.full(n_in, -1.0),
        "output_scale": np.full(n_out, 2.0),
        "output_offset": np.full(n_out, 3.0),
        "output": "predict",
    }
    return EdgeCurves(**{**fields, **changes})


def local(network: EdgeCurves, X: Any) -> EdgeCurves:
    """Explain rows of a network that was drawn."""
    nodes = np.clip(X * network.input_scale + network.input_offset, *network.clip)
    return network._with(scope="local", activations=np.hstack(network.run(nodes)))


def model_of(network: EdgeCurves) -> Any:
    """The model that a network says it is."""

    def predict(X: Any) -> Any:
        nodes = np.clip(
            np.asarray(X) * network.input_scale + network.input_offset, *network.clip
        )
        outputs = network.run(nodes)[-1] * network.output_scale + network.output_offset
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    return SimpleNamespace(predict=predict)


X = RNG.uniform(0, 4, (12, 2))


def test_curves_are_sums_of_splines() -> None:
    network = curves()
    grid, values = network.curves(1)
    assert (grid.shape, values.shape) == ((3, 101), (1, 3, 101))
    own = network.coefficients[6:].reshape(1, 3, 7)
    for i in range(3):
        table = features(grid[i], 3, 3, -1.0, 1.0, "silu")
        np.testing.assert_allclose(values[0, i], table @ own[0, i], atol=1e-12)


def test_inputs_are_drawn_in_their_own_units() -> None:
    grid, _ = curves().curves(0, n_points=5)
    np.testing.assert_allclose(grid[0], [0, 1, 2, 3, 4])


def test_slopes_are_derivatives() -> None:
    network = curves()
    nodes = RNG.uniform(-1.4, 1.4, (30, 2))
    step = 1e-6
    rise = network.edge_values(0, nodes + step) - network.edge_values(0, nodes - step)
    np.testing.assert_allclose(network.edge_slopes(0, nodes), rise / 2e-6, atol=1e-6)


def test_nodes_are_sums_of_edges() -> None:
    network = local(curves(), X)
    added = network.contributions(0).sum(axis=2)
    np.testing.assert_allclose(added, network.activations[:, 2:5], atol=1e-12)
    with pytest.raises(ValueError, match="no rows"):
        curves().contributions()
    with pytest.raises(ValueError, match="layer=2"):
        network.contributions(2)


@pytest.mark.parametrize("squash", [False, True])
def test_faithful_to_what_it_says(squash: bool) -> None:
    network = curves(squash=squash)
    model = model_of(network)
    network.check_faithful(model, X)
    local(network, X).check_faithful(model, X)


def test_a_wrong_network_is_found_out() -> None:
    model = model_of(curves())
    wrong = curves(coefficients=np.zeros((9, 7)))
    with pytest.raises(AssertionError, match="the curves add up to 3"):
        wrong.check_faithful(model, X)
    rows = local(curves(), X)
    bent = rows.activations.copy()
    bent[4, 3] += 0.1
    with pytest.raises(AssertionError, match="row 4: node 3"):
        rows._with(activations=bent).check_faithful(model, X)


def test_importance_is_passed_back_along_the_edges() -> None:
    network = curves((2, 2, 1), sizes=np.array([1.0, 3.0, 0.0, 0.0, 3.0, 1.0]))
    inputs, hidden, outputs = network.node_importances()
    assert hidden.tolist() == [0.75, 0.25]
    assert inputs.tolist() == [0.1875, 0.5625]
    assert outputs.tolist() == [1.0]
    expected = [0.1875, 0.5625, 0, 0, 0.75, 0.25]
    assert network.edge_importances().tolist() == expected


def test_edges_are_numbered_by_layer_target_and_source() -> None:
    network = curves()
    assert [network.ends_of(e) for e in (0, 1, 2, 6, 8)] == [
        (0, 0, 0),
        (0, 1, 0),
        (0, 0, 1),
        (1, 0, 0),
        (1, 2, 0),
    ]


def test_fewer_edges_are_the_same_network() -> None:
    network = curves()
    best = network.top(2)
    importance = network.edge_importances()
    assert set(best.shown) == set(np.argsort(-importance)[:2])
    best.check_faithful(model_of(network), X)
    assert (len(best), best.complexity, len(best.to_frame())) == (2, 2, 2)
    assert len(network[3]) == 1
    rows = local(network, X)
    assert len(rows[2:5]) == 3
    assert rows.top(2).complexity == 2
    assert len(rows.top(2)) == len(X)


def test_tables() -> None:
    table = curves(codes=np.arange(9.0)[:, None]).to_frame()
    assert table["source"].tolist()[:2] == ["x0", "x1"]
    assert table["target"].tolist()[-1] == "y0"
    assert table["code"].tolist() == list(range(9))
    rows = local(curves(), X).to_frame()
    assert len(rows) == len(X) * 6
    np.testing.assert_allclose(rows["value"].to_numpy()[:2], X[0], atol=1e-12)


def test_words() -> None:
    text = curves().to_text()
    assert text.startswith("network of 2-3-1 nodes, 9 edges\ninputs by importance:")
    assert "h0 -> y0" in text
    flat = curves((1, 1), coefficients=np.zeros((1, 7)), sizes=np.zeros(1))
    assert "always 0" in flat.to_text()
    wide = curves((30, 1)).to_text()
    assert wide.count("... 15 more") == 2
    many = local(curves(), np.tile(X, (3, 1))).to_text()
    assert many.endswith("... 16 more")


def test_binary_output_speaks_for_the_second_class() -> None:
    network = curves(target_names=np.array(["no", "yes"]), output="decision_function")
    assert "-> yes" in network.to_text()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"widths": np.array([2])}, "widths"),
        ({"widths": np.array([2, 0, 1])}, "widths"),
        ({"coefficients": np.zeros((9, 6))}, "coefficients"),
        ({"sizes": np.zeros(8)}, "sizes"),
        ({"base": "relu"}, "base='relu'"),
        ({"output": "transform"}, "output='transform'"),
        ({"grid_size": 0}, "grid_size=0"),
        ({"grid_range": np.array([1.0, 1.0])}, "grid_range"),
        ({"target_names": np.array(["a", "b", "c"])}, "3 target_names"),
        ({"scope": "local"}, "activations"),
        ({"scope": "local", "activations": np.zeros((2, 5))}, "activations"),
        ({"codes": np.zeros((8, 1))}, "codes"),
        ({"shown": np.array([9])}, "shown"),
        ({"shown": np.array([[0]])}, "shown"),
        ({"feature_names": ("a",)}, "feature_names"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        curves(**changes)


def test_features_become_columns() -> None:
    """Lines are undone; what is no line keeps a name of its own."""
    sources = (
        FeatureSource(form="value", column=1, invert=lambda t: 10 * t + 5),
        FeatureSource(form="category", column=0, categories=("red",)),
    )
    network = curves().map_features(FeatureMap(("color", "mass"), sources))
    assert network.feature_names == ("mass", "[color is red]")
    plain, mapped = curves().curves(0)[0], network.curves(0)[0]
    np.testing.assert_allclose(mapped[0], 10 * plain[0] + 5)
    np.testing.assert_allclose(mapped[1], plain[1])


def written(explanation: EdgeCurves) -> tuple[str, Any]:
    figure = Figure()
    FigureCanvasAgg(figure)
    ax = explanation.plot(figure.add_subplot())
    figure.canvas.draw()
    return " ".join(t.get_text() for t in figure.findobj(Text)), ax


def test_picture_has_a_box_per_edge_and_a_dot_per_node() -> None:
    text, ax = written(curves())
    assert len(ax.patches) == 9
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    assert len(dots) == 6
    assert "9 edges" in text
    _, marked = written(local(curves(), X))
    dots = [line for line in marked.lines if line.get_marker() == "o"]
    assert len(dots) == 6 + 9


def test_crowded_pictures_say_what_is_left_out() -> None:
    text, ax = written(curves((40, 30, 12)))
    assert len(ax.patches) <= 36
    for word in ("30 more", "20 more", "2 more", "more are not drawn"):
        assert word in text


def test_darker_edges_matter_more() -> None:
    _, ax = written(curves((2, 1), sizes=np.array([1.0, 0.01])))
    shades = [line.get_alpha() for line in ax.lines if line.get_alpha() is not None]
    assert max(shades) > 0.95
    assert min(shades) < 0.3


def test_drawn_nodes_have_edges() -> None:
    """Also where a layer has more edges than are drawn."""
    network = curves((64, 32, 10))
    layout = _lay_out(network, network.edge_importances())
    for layer, drawn in enumerate(layout.edges):
        ends = [network.ends_of(edge) for edge in drawn]
        assert len(ends) == MAX_EDGES
        assert {target for _, _, target in ends} == set(layout.nodes[layer + 1])
    below = {source for _, source, _ in map(network.ends_of, layout.edges[0])}
    assert below == set(layout.nodes[0])
    first = network.top(3)
    layout = _lay_out(first, first.edge_importances())
    assert sum(map(len, layout.edges)) == 3
