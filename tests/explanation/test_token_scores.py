"""Windows with scores: sums over time, tables, words, pictures, what is refused."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skinterp.explanation import FeatureMap, TokenScores, load
from skinterp.explanation._token_scores import spread


def rows(n_rows=3, n_targets=3, seed=0, **changes):
    rng = np.random.default_rng(seed)
    shape = (n_rows, 4) if n_targets == 2 else (n_rows, 4, n_targets)
    values = rng.normal(size=shape)
    total = values.sum(axis=1)
    best = (total > 0).astype(int) if n_targets == 2 else total.argmax(axis=1)
    told = {
        "scope": "local",
        "feature_names": ("heart",),
        "timepoint_names": tuple(f"t{i}" for i in range(11)),
        "target_names": np.array(list("abcdefghijklmnop")[:n_targets]),
        "starts": np.arange(0, 8, 2),
        "length": 4,
        "scores": rng.uniform(size=(n_rows, 4)),
        "kept": np.tile([True, False, True, False], (n_rows, 1)),
        "values": values,
        "prediction": best,
        "series": rng.normal(size=(n_rows, 1, 11)),
    }
    return TokenScores(**(told | changes))


def whole(n_targets=3, **changes):
    rng = np.random.default_rng(0)
    told = {
        "scope": "global",
        "feature_names": ("heart",),
        "timepoint_names": tuple(f"t{i}" for i in range(11)),
        "target_names": np.array(list("abcdefghijklmnop")[:n_targets]),
        "starts": np.arange(0, 8, 2),
        "length": 4,
        "mean_scores": rng.uniform(size=(n_targets, 4)),
        "kept_share": rng.uniform(size=(n_targets, 4)),
        "example_values": rng.normal(size=(2, 1, 4)),
        "example_target": np.array([0, 1]),
        "example_source": np.array([5, 2]),
        "example_start": np.array([6, 0]),
        "example_score": np.array([0.9, 0.8]),
    }
    return TokenScores(**(told | changes))


@given(
    n_tokens=st.integers(1, 6),
    length=st.integers(1, 6),
    stride=st.integers(1, 4),
    more=st.integers(0, 3),
    seed=st.integers(0, 1000),
)
def test_spread_against_a_loop(n_tokens, length, stride, more, seed):
    starts = stride * np.arange(n_tokens)
    n_points = int(starts[-1]) + length + more
    amounts = np.random.default_rng(seed).normal(size=(2, n_tokens))
    expected = np.zeros((2, n_points))
    covered = np.zeros(n_points, dtype=bool)
    for j, start in enumerate(starts):
        expected[:, start : start + length] += amounts[:, j, None]
        covered[start : start + length] = True
    got = spread(amounts, starts, length, n_points)
    np.testing.assert_allclose(got, expected, atol=1e-12)
    assert not got[:, ~covered].any()


@pytest.mark.parametrize("n_targets", [2, 3])
def test_contributions_are_those_to_the_class_predicted(n_targets):
    tokens = rows(n_targets=n_targets)
    total = tokens.contributions().sum(axis=1)
    sums = tokens.values.sum(axis=1)
    expected = np.abs(sums) if n_targets == 2 else sums.max(axis=1)
    np.testing.assert_allclose(total, expected)


def test_saliency_is_a_mean_over_windows():
    tokens = rows(1)
    a, b, c, d = tokens.contributions()[0]
    expected = [a, a, (a + b) / 2, (a + b) / 2, (b + c) / 2, (b + c) / 2]
    expected += [(c + d) / 2, (c + d) / 2, d, d, 0]
    np.testing.assert_allclose(tokens.saliency()[0], expected)


def test_tables():
    frame = rows().to_frame()
    assert len(frame) == 12
    assert frame["end"].tolist()[:4] == [4, 6, 8, 10]
    told = whole()
    assert len(told.to_frame()) == 12
    examples = told.examples_to_frame()
    assert examples.to_numpy().tolist() == [["a", 5, 6, 10, 0.9], ["b", 2, 0, 4, 0.8]]
    for call in (rows().examples_to_frame, rows().plot_examples):
        with pytest.raises(ValueError, match="no examples"):
            call()
    for call in (told.contributions, told.saliency):
        with pytest.raises(ValueError, match="no rows"):
            call()


def test_top_keeps_the_sum():
    tokens = rows()
    best = tokens.top(2)
    assert best.complexity == len(best.shown) == 2
    assert len(best.to_frame()) == 6
    np.testing.assert_array_equal(best.contributions(), tokens.contributions())
    size = np.abs(tokens.contributions()).sum(axis=0)
    assert set(best.shown) == set(np.argsort(-size)[:2])
    assert "(2 more)" in best[0].to_text()
    assert tokens.top(9) is tokens
    told = whole()
    assert told.top(1).shown.tolist() == [int(told.mean_scores.max(axis=0).argmax())]
    assert len(told[1:3]) == 2


def test_words():
    text = whole().to_text()
    assert text.startswith("4 windows of 4 time points, by mean score:\n  a: t")
    assert "the highest is 0.9, in training series 5 at t6 to t9" in text
    assert "... 4 more classes" in whole(16).to_text()
    assert "... 5 more rows" in rows(25).to_text()
    assert "2 of 4 windows kept on their own" in rows().to_text()


@pytest.mark.parametrize(
    "told", [rows(), rows(n_targets=2), rows(0), whole(), whole(16)]
)
def test_pictures_and_storage(told, tmp_path):
    ax = told.plot()
    ax.figure.canvas.draw()
    assert ax.get_xlabel()
    told.save(tmp_path / "told.json")
    assert load(tmp_path / "told.json") == told
    plt.close("all")


def test_pictures_say_what_is_left_out():
    assert whole(16).plot().get_xlabel().endswith("(6 more classes)")
    assert whole(16).plot_examples().get_xlabel().endswith("(6 more classes)")
    many = rows(feature_names=tuple("abcdef"), series=np.zeros((3, 6, 11)))
    assert many.plot().get_xlabel() == "time (2 more channels)"
    assert many.plot().get_title("left").endswith("first of 3")
    plt.close("all")


def test_a_class_without_training_windows_is_drawn_empty():
    told = whole(example_target=np.array([1, 1]))
    assert len(told.plot_examples().lines) == 2
    assert "a: t" in told.to_text()
    plt.close("all")


def test_channels_are_named_by_the_columns():
    assert rows().map_features(FeatureMap.identity(("ECG",))).feature_names == ("ECG",)
    two = rows(feature_names=("a", "b"), series=np.zeros((3, 2, 11)))
    sources = FeatureMap.identity(("ECG",)).sources * 2
    told = two.map_features(FeatureMap(("ECG",), sources))
    assert told.feature_names == ("ECG, channel 0", "ECG, channel 1")


class Model:
    """Says what it is told to."""

    def __init__(self, tokens, shift=0.0, other=False):
        self.tokens, self.shift, self.other = tokens, shift, other

    def decision_function(self, X):
        return self.tokens.values.sum(axis=1) + self.shift

    def predict(self, X):
        labels = self.tokens.target_names[self.tokens.prediction]
        return labels[::-1] if self.other else labels


def test_unfaithful_ones_are_found():
    tokens = rows(5)
    X = tokens.series
    tokens.check_faithful(Model(tokens), X)
    with pytest.raises(AssertionError, match="row 0: windows sum to"):
        tokens.check_faithful(Model(tokens, shift=1e-3), X)
    with pytest.raises(AssertionError, match="another class"):
        tokens.check_faithful(Model(tokens, other=True), X)
    kept = tokens.kept.copy()
    kept[0] = True
    with pytest.raises(AssertionError, match="different numbers"):
        tokens._with(kept=kept).check_faithful(Model(tokens), X)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"length": 0}, "length=0"),
        ({"length": 6}, "starts holds 0 to 6, allowed is 0 to 5"),
        ({"scores": np.zeros((3, 5))}, "scores has shape"),
        ({"scores": np.full((3, 4), 1.5)}, "beyond 0 and 1"),
        ({"kept": None}, "got not \\['kept'\\]"),
        ({"mean_scores": np.zeros((3, 4))}, "but \\['mean_scores'\\]"),
        ({"prediction": np.array([0, 1, 3])}, "prediction holds 0 to 3"),
        ({"values": np.zeros((3, 4))}, "two classes only"),
        ({"shown": np.array([4])}, "shown holds 4"),
        ({"shown": np.zeros((1, 1))}, "list of windows"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        rows(**changes)


def test_what_does_not_fit_the_whole_model_is_refused():
    with pytest.raises(ValueError, match="example_start holds 0 to 8"):
        whole(example_start=np.array([8, 0]))
    with pytest.raises(ValueError, match="example_values has shape"):
        whole(example_values=np.zeros((2, 1, 5)))
