"""Slice sets: words, tables, pictures, maps, and that they tell the truth."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from skinterp.explanation import FeatureMap, FeatureSource, SliceSet, load

INF = np.inf
TABLE = pd.DataFrame(
    {
        "light": ["night", "night", "day", None],
        "age": [20.0, 40.0, 50.0, np.nan],
        "things": [["car"], ["car", "dog"], [], None],
    }
)


def slices(**changes):
    """Light is night and age > 30; things has car; age <= 45."""
    fields = {
        "scope": "global",
        "feature_names": ("light", "age", "things"),
        "target_names": np.array(["accuracy"]),
        "offsets": [0, 2, 3, 4],
        "feature": [0, 1, 2, 1],
        "lower": [-INF, 30, -INF, -INF],
        "upper": [INF, INF, INF, 45],
        "lower_closed": [False] * 4,
        "upper_closed": [True] * 4,
        "categories": (("night",), None, ("car",), None),
        "negated": [False] * 4,
        "missing": [False] * 4,
        "feature_dtypes": ("category", "float64", "tags"),
        "size": [20, 30, 40],
        "performance": [0.3, 0.5, 0.55],
        "p_value": [0.001, 0.01, 0.02],
        "q_value": [0.01, 0.05, 0.06],
        "error_share": [0.5, 0.3, 0.4],
        "cover_step": [0, -1, 1],
        "cover_errors": [0.5, 0.8],
        "cover_rows": [0.1, 0.3],
        "overall": 0.8,
        "gap": 0.2,
        "n_rows": 200,
        "n_found": 3,
        "n_tests": 50,
    }
    return SliceSet(**(fields | changes))


def held(**changes):
    figures = {
        "held_size": [18, 0, 44],
        "held_performance": [0.5, np.nan, 0.7],
        "held_p_value": [0.01, 1.0, 0.2],
        "held_q_value": [0.03, 1.0, 0.3],
        "held_overall": 0.75,
        "n_held": 190,
    }
    return slices(**(figures | changes))


def local(**changes):
    rows = {
        "scope": "local",
        "row_offsets": [0, 2, 5, 5],
        "row_slices": [1, 2, 0, 1, 2],
        "expected": [0.6, 0.4, 0.8],
    }
    return held(**(rows | changes))


class Finder:
    """Says of rows what it is told to."""

    def __init__(self, inside, expected=None):
        self.inside, self.expected = inside, expected

    def transform(self, X):
        return self.inside

    def predict(self, X):
        return self.expected


def test_words_say_first_what_is_left():
    lines = held().to_text().splitlines()
    assert lines[0] == (
        "On 190 rows held out the median slice of the cover has 0.15 lower accuracy "
        "than overall (0.75); where it was found 0.38 lower accuracy (optimism 0.22)"
    )
    assert lines[1] == (
        "3 of 50 slices found with at least 0.2 lower accuracy than 0.8 in 200 rows"
    )
    assert lines[2] == "2 slices hold 80% of the errors in 30% of the rows"
    assert lines[3] == (
        "  - light is 'night' and age > 30: held out 0.5 of 18 rows, p = 0.01; found "
        "0.3 of 20 rows, q = 0.01"
    )
    assert lines[5:] == [
        "first of the others",
        "  - things has 'car': no row held out; found 0.5 of 30 rows, q = 0.05",
    ]


def test_words_warn_where_nothing_was_held_out():
    assert slices().to_text().startswith("Not estimated on other rows")


def test_words_of_losses_and_of_a_gap_that_turned():
    loss = held(loss=True, overall=0.2, held_overall=0.6, target_names=["loss"])
    first = loss.to_text().splitlines()[0]
    assert "0 " not in first.split("rows")[0].replace("190 ", "")
    assert "lower loss than overall" not in held(loss=True, overall=0.2).to_text()
    turned = held(held_overall=0.3).to_text().splitlines()[0]
    assert "0.3 higher accuracy than overall" in turned


def test_words_where_nothing_is_found():
    none = slices(
        offsets=[0],
        categories=(),
        cover_errors=[],
        cover_rows=[],
        n_found=0,
        **{
            name: []
            for name in (
                *("feature", "lower", "upper", "lower_closed", "upper_closed"),
                *("negated", "missing", "size", "performance", "p_value", "q_value"),
                *("error_share", "cover_step"),
            )
        },
    )
    assert none.to_text().startswith("No slice of 50 tested")
    assert len(none.to_frame()) == len(none) == 0
    plt.close(none.plot().figure)


def test_words_of_rows():
    assert local().to_text().splitlines() == [
        "row 0, accuracy 0.6 expected: things has 'car': no row held out; found 0.5 "
        "of 30 rows, q = 0.05 (and 1 more)",
        "row 1, accuracy 0.4 expected: light is 'night' and age > 30: held out 0.5 of "
        "18 rows, p = 0.01; found 0.3 of 20 rows, q = 0.01 (and 2 more)",
        "row 2, accuracy 0.8 expected: in no slice",
    ]


def test_membership_by_conditions_alone():
    got = slices().covers(TABLE)
    assert got.tolist() == [
        [False, True, True],
        [True, True, True],
        [False, False, False],
        [False, False, False],
    ]


def test_frame_tells_held_out_figures_first():
    frame = held().to_frame()
    assert list(frame)[:4] == ["slice", "held_size", "held_performance", "held_gap"]
    assert frame["gap"].tolist() == pytest.approx([0.5, 0.3, 0.25])
    assert frame["held_gap"][0] == pytest.approx(0.25)
    assert "held_size" not in slices().to_frame()
    rows = local().to_frame()
    assert rows["row"].tolist() == [0, 0, 1, 1, 1]
    assert rows["slice"][2] == "light is 'night' and age > 30"


def test_parts_and_top():
    assert held().top(2).conditions() == held().conditions()[:2]
    assert held()[1].conditions() == ("things has 'car'",)
    assert held().cover.tolist() == [0, 2]
    assert held().complexity == 7
    best = local().top(1)
    assert best.row_slices.tolist() == [1, 0]
    assert best.n_slices == 2
    assert len(best) == 3
    one = local()[2]
    assert len(one) == 1
    assert one.n_slices == 0
    assert local()[[1, 0]].expected.tolist() == [0.4, 0.6]


def test_stored_and_read(tmp_path):
    for one in (slices(), held(), local()):
        one.save(tmp_path / "one.json")
        assert load(tmp_path / "one.json") == one


def test_truth_is_counted_again():
    inside = slices().covers(TABLE)
    slices().check_faithful(Finder(inside), TABLE)
    wrong = inside.copy()
    wrong[1, 0] = False
    with pytest.raises(AssertionError, match="row 1 is said to be out of slice 0"):
        slices().check_faithful(Finder(wrong), TABLE)
    with pytest.raises(AssertionError, match="3 slices are said, the finder has 2"):
        slices().check_faithful(Finder(inside[:, :2]), TABLE)


def test_truth_of_rows():
    inside, rows = slices().covers(TABLE[:3]), TABLE[:3]
    local().check_faithful(Finder(inside, [0.6, 0.4, 0.8]), rows)
    with pytest.raises(AssertionError, match=r"row 2: 0\.8 is said"):
        local().check_faithful(Finder(inside, [0.6, 0.4, 0.1]), rows)
    lying = local(row_offsets=[0, 2, 5, 6], row_slices=[1, 2, 0, 1, 2, 0])
    with pytest.raises(AssertionError, match="row 2 is said to be in slice 0"):
        lying.check_faithful(Finder(inside, [0.6, 0.4, 0.8]), rows)


def test_map_to_the_users_columns():
    feature_map = FeatureMap(
        ("years", "light", "things"),
        (
            FeatureSource(form="code", column=1, categories=("day", "night")),
            FeatureSource(form="value", column=0, invert=lambda t: 2 * t + 10),
            FeatureSource(form="value", column=2),
        ),
    )
    coded = slices(
        feature_dtypes=("float64", "float64", "tags"),
        categories=(None, None, ("car",), None),
        lower=[1, 30, -INF, -INF],
        upper=[1, INF, INF, 45],
        lower_closed=[True, False, False, False],
    )
    mapped = coded.map_features(feature_map)
    assert mapped.conditions() == (
        "years > 70 and light is 'night'",
        "things has 'car'",
        "years <= 100",
    )
    assert mapped.size.tolist() == [20, 30, 40]


def test_a_slice_that_no_cell_can_satisfy_stays_empty():
    source = FeatureSource(form="category", column=0, categories=("a",))
    other = FeatureSource(form="category", column=0, categories=("b",))
    both = slices(
        feature_names=("is_a", "is_b"),
        feature_dtypes=("float64", "float64"),
        offsets=[0, 2, 3, 4],
        feature=[0, 1, 0, 1],
        lower=[0.5] * 4,
        upper=[INF] * 4,
        categories=(None,) * 4,
    )
    mapped = both.map_features(FeatureMap(("letter",), (source, other)))
    frame = pd.DataFrame({"letter": ["a", "b", "c"]})
    assert mapped.covers(frame).T.tolist() == [
        [False, False, False],
        [True, False, False],
        [False, True, False],
    ]


def test_what_is_no_column_cannot_be_counted():
    derived = slices(feature_dtypes=("derived", "float64", "tags"))
    with pytest.raises(ValueError, match="'light', which is no column"):
        derived.covers(TABLE)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"performance": [1, 2]}, "performance has shape"),
        ({"offsets": [0, 2, 1, 4]}, "offsets must rise"),
        ({"feature": [0, 1, 2, 3]}, "feature must lie in"),
        ({"categories": (None,)}, "categories has length 1"),
        ({"cover_step": [0, 1, 2]}, "cover_step must lie in"),
        ({"feature_dtypes": ("category", "what", "tags")}, "feature_dtypes"),
        ({"row_offsets": [0], "row_slices": []}, "only such a one"),
        ({"scope": "local"}, "only such a one"),
        ({"lower": [np.nan, 1, 1, 1]}, "NaN"),
    ],
)
def test_what_does_not_fit_together_is_refused(changes, match):
    with pytest.raises(ValueError, match=match):
        slices(**changes)
    with pytest.raises(IndexError, match="slice 3"):
        slices().literals(3)


@pytest.mark.parametrize("make", [slices, held, local])
def test_pictures(make):
    _, ax = plt.subplots()
    before = plt.get_fignums()
    assert make().plot(ax) is ax
    assert plt.get_fignums() == before
    texts = " ".join(t.get_text() for t in ax.get_legend().get_texts())
    assert "overall" in texts
    if make is held:
        assert "the same, held out" in texts
        assert "80% of errors so far" in ax.get_xlabel()
    plt.close("all")
