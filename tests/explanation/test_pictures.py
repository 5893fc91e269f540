"""Pictures and pages: what is drawn, that names are safe, and nothing is left open."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest

from skinterp.explanation import Attribution, RuleSet
from skinterp.explanation._drawing import own_figure

INF = np.inf
EVIL = "<script>alert('$1$')</script>"


def many_rules(n_rules, n_features, name="column"):
    low = np.full((n_rules, n_features), -INF)
    low[np.arange(n_rules), np.arange(n_rules) % n_features] = np.arange(n_rules)
    return RuleSet.from_boxes(
        low,
        np.full_like(low, INF),
        target=np.arange(n_rules) % 2,
        support=np.arange(n_rules),
        feature_names=[f"{name} {i}" for i in range(n_features)],
        target_names=["no", EVIL],
    )


def many_parts(n_features):
    return Attribution(
        scope="local",
        feature_names=[f"{EVIL} {i}" for i in range(n_features)],
        target_names=["y"],
        values=np.arange(2.0 * n_features).reshape(2, -1),
        base_values=np.zeros(2),
        output="predict",
    )


EXPLANATIONS = [
    many_rules(1, 1),
    many_rules(60, 40, EVIL),
    many_parts(1),
    many_parts(200),
    many_parts(3)[:0],
]


@pytest.mark.parametrize("explanation", EXPLANATIONS)
def test_drawing_on_own_axes_opens_nothing(explanation):
    figure, ax = plt.subplots()
    before, settings = plt.get_fignums(), dict(plt.rcParams)
    assert explanation.plot(ax) is ax
    figure.canvas.draw()
    explanation.to_html()
    assert plt.get_fignums() == before
    assert dict(plt.rcParams) == settings
    plt.close(figure)


def test_what_is_left_out_is_stated():
    assert many_rules(60, 40).plot().get_xlabel() == "36 more rules, 30 more columns"
    assert many_parts(200)[0].plot().get_xlabel().endswith("(185 more features)")
    plt.close("all")


@pytest.mark.parametrize("explanation", EXPLANATIONS[:4])
def test_picture_of_a_page_has_the_size_that_plot_chooses(explanation):
    """Wider ones would be shrunk by the page until the letters cannot be read."""
    page = own_figure(8.0, 4.0)
    explanation.plot(page.subplots())
    alone = explanation.plot().figure
    assert tuple(page.get_size_inches()) == tuple(alone.get_size_inches())
    plt.close("all")


def test_rows_without_an_answer_are_counted():
    rules = many_rules(2, 1)
    local = rules._with(scope="local", row_offsets=[0, 1, 1, 2], prediction=[0, -1, 1])
    assert local.plot().get_xlabel() == "1 row not determined"
    plt.close("all")


def test_tracks_show_the_ranges_that_rules_allow():
    rules = RuleSet.from_boxes(
        [[-INF], [1.0]],
        [[1.0], [INF]],
        target=[0, 1],
        feature_names=["x"],
        target_names=["a", "b"],
    )
    ax = rules.plot()
    spans = [tuple(line.get_xdata()) for line in ax.lines[1::2]]
    assert spans[0] == pytest.approx((0.06, 0.5))
    assert spans[1] == pytest.approx((0.5, 0.94))
    assert [t.get_text() for t in ax.texts] == ["<= 1", "> 1"]
    ax = rules._with(missing=[True, True]).plot()
    assert [t.get_text() for t in ax.texts] == ["<= 1 or missing", "> 1 or missing"]
    plt.close("all")


@pytest.mark.parametrize("explanation", EXPLANATIONS)
@pytest.mark.parametrize("standalone", [True, False])
def test_page_is_self_contained_and_escaped(explanation, standalone):
    page = explanation.to_html(standalone=standalone)
    assert page.lstrip().startswith("<!DOCTYPE html>") == standalone
    assert "<script" not in page
    assert not re.search(r"(src|href)\s*=\s*[\"'](?!data:)", page)
    assert "http" not in re.sub(r"base64,[^\"]*", "", page)
    if not standalone:
        assert explanation._repr_html_() == page


def test_page_says_how_it_was_made():
    meta = {"method": "a.b.Tree", "seed": 7, "steps": ("scale: Scaler", "pick: Best")}
    page = many_rules(2, 1)._with(meta=meta).to_html()
    assert "Tree: rules" in page
    assert "seed" in page
    assert "scale: Scaler, pick: Best" in page


@pytest.mark.parametrize("label", ["_private", "", "a\nb", "\ud800", "\x1b[31m", "$"])
def test_labels_of_any_kind_stand_in_the_legend(label):
    parts = Attribution(
        scope="local",
        feature_names=(label, "other"),
        target_names=[label, "b"],
        values=np.ones((2, 2, 2)),
        base_values=np.zeros((2, 2)),
        output="predict_proba",
    )
    figure, ax = plt.subplots()
    parts.plot(ax)
    figure.canvas.draw()
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    plt.close(figure)
    assert len(texts) == 2
    assert all(text.isprintable() for text in texts)
    if label.isprintable():
        assert texts[0].replace("\\", "") == label
