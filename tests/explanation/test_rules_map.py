"""Rules in the user's columns hold exactly where they hold in the model's."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skinterp.explanation import FeatureMap, FeatureSource, RuleSet

INF = np.inf
CITIES = ("Bonn", "Köln", "Ulm")
COLUMNS = ("age", "city", "grade")
GRADES = ("low", "mid", "high")


def exact(function, increasing=True):
    """Inverse of a monotone function by bisection over all float64 numbers."""

    def invert(threshold):
        low, high = -1e6, 1e6
        for _ in range(200):
            middle = (low + high) / 2
            if (function(middle) <= threshold) == increasing:
                low = middle
            else:
                high = middle
        return low if increasing else high

    return invert


SOURCES = (
    FeatureSource(
        form="value", column=0, fill=0.25, invert=exact(lambda v: v / 10 - 3)
    ),
    FeatureSource(
        form="value",
        column=0,
        fill=-1.0,
        increasing=False,
        invert=exact(lambda v: -v / 7, increasing=False),
    ),
    FeatureSource(form="missing", column=0),
    *(
        FeatureSource(form="category", column=1, categories=(c,), fill=0.0, unknown=0.0)
        for c in CITIES
    ),
    FeatureSource(form="missing", column=1),
    FeatureSource(form="code", column=2, categories=GRADES, unknown=-1.0, fill=1.0),
)
MAP = FeatureMap(COLUMNS, SOURCES)


def to_features(frame):
    """What a preprocessor would make of the columns."""
    age = frame["age"].to_numpy(dtype=float)
    city = frame["city"].to_numpy(dtype=object)
    no_age, no_city = np.isnan(age), pd.isna(frame["city"]).to_numpy()
    grade = [
        1 if pd.isna(g) else GRADES.index(g) if g in GRADES else -1
        for g in frame["grade"]
    ]
    parts = [
        np.where(no_age, 0.25, age / 10 - 3),
        np.where(no_age, -1.0, -age / 7),
        no_age,
        *(city == c for c in CITIES),
        no_city,
        grade,
    ]
    return np.column_stack([np.asarray(part, dtype=float) for part in parts])


cells = st.fixed_dictionaries(
    {
        "age": st.floats(-100, 100)
        | st.sampled_from([0.0, 7.0, 30.0])
        | st.just(math.nan),
        "city": st.sampled_from([*CITIES, "Rom", None]),
        "grade": st.sampled_from([*GRADES, "none", None]),
    }
)
bound = st.sampled_from([-INF, -3.0, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5, 7.0, INF])


@st.composite
def boxes(draw):
    n = draw(st.integers(1, 5))
    pairs = draw(
        st.lists(
            st.lists(st.tuples(bound, bound), min_size=8, max_size=8),
            min_size=n,
            max_size=n,
        )
    )
    free = draw(st.lists(st.sets(st.integers(0, 7)), min_size=n, max_size=n))
    box = np.sort(np.array(pairs), axis=2)
    box[box[..., 0] == box[..., 1]] = [-INF, INF]
    for r, columns in enumerate(free):
        box[r, sorted(columns)] = [-INF, INF]
    return box


@settings(max_examples=200)
@given(boxes(), st.lists(cells, min_size=1, max_size=8))
def test_mapped_rules_hold_exactly_where_the_rules_do(box, rows):
    frame = pd.DataFrame(rows, columns=COLUMNS)
    rules = RuleSet.from_boxes(
        box[..., 0],
        box[..., 1],
        target=[0] * len(box),
        feature_names=[f"f{i}" for i in range(8)],
        target_names=["yes"],
        feature_dtype="float64",
        complete=False,
    )
    mapped = rules.map_features(MAP)
    inner = rules.covers(to_features(frame)).any(axis=1)
    assert (mapped.covers(frame).any(axis=1) == inner).all()


def one_rule(*, dtype="float32", scope_fields=None, **bounds):
    """Rule with the given bounds, by position of the feature, as f3=(0.5, inf)."""
    low, high = np.full(8, -INF), np.full(8, INF)
    for name, (lower, upper) in bounds.items():
        low[int(name[1:])], high[int(name[1:])] = lower, upper
    return RuleSet.from_boxes(
        [low],
        [high],
        target=[0],
        feature_names=[f"f{i}" for i in range(8)],
        target_names=["yes"],
        feature_dtype=dtype,
        complete=False,
        **(scope_fields or {}),
    )


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"f3": (0.5, INF)}, "city is 'Bonn'"),
        ({"f3": (-INF, 0.5)}, "(city is not 'Bonn' or missing)"),
        (
            {"f3": (-INF, 0.5), "f4": (-INF, 0.5)},
            "(city none of 'Bonn', 'Köln' or missing)",
        ),
        ({"f3": (-INF, 0.5), "f4": (0.5, INF)}, "city is 'Köln'"),
        ({"f3": (-INF, 0.5), "f6": (-INF, 0.5)}, "city is not 'Bonn'"),
        ({"f6": (0.5, INF)}, "city is missing"),
        ({"f2": (-INF, 0.5)}, "age is known"),
        ({"f7": (0.5, INF)}, "(grade one of 'mid', 'high' or missing)"),
        ({"f7": (-INF, 0.5)}, "grade none of 'mid', 'high'"),
        ({"f0": (-1.0, 0.0)}, "20 < age <= 30"),
        ({"f0": (-1.0, 0.25), "f2": (-INF, 0.5)}, "20 < age <= 32.5"),
        ({"f1": (-4.0, INF)}, "(age < 28 or missing)"),
    ],
)
def test_words_in_the_users_terms(bounds, words):
    assert one_rule(dtype="float64", **bounds).map_features(MAP).conditions() == (
        words,
    )


@pytest.mark.parametrize("label", [True, np.True_, False])
def test_truth_values_are_said_as_such(label):
    source = FeatureSource(form="category", column=0, categories=(label,), unknown=0.0)
    rules = RuleSet.from_boxes(
        [[-INF]], [[0.5]], target=[0], feature_names=["f"], target_names=["t"]
    ).map_features(FeatureMap(("smoker",), (source,)))
    assert rules.conditions() == (f"smoker is {not label}",)


def test_a_rule_that_no_row_can_satisfy_is_left_out():
    both = one_rule(f3=(0.5, INF), f4=(0.5, INF)).map_features(MAP)
    assert both.n_rules == 0


def test_opaque_features_keep_their_name_and_are_not_read():
    mapping = FeatureMap(
        ("age",),
        (
            FeatureSource(form="opaque", name="pca0"),
            FeatureSource(form="value", column=0),
        ),
    )
    rules = RuleSet.from_boxes(
        [[1, 2]], [[INF, INF]], target=[0], feature_names=["a", "b"], target_names=["t"]
    ).map_features(mapping)
    assert rules.conditions() == ("age > 2 and pca0 > 1",)
    with pytest.raises(ValueError, match=r"the rules use .pca0"):
        rules.covers(pd.DataFrame({"age": [1.0], "pca0": [2.0]}))


def test_a_column_taken_raw_and_scaled_is_compared_in_float64():
    scaled = FeatureSource(form="value", column=0, invert=exact(lambda v: v * 2))
    mapping = FeatureMap(("v",), (FeatureSource(form="value", column=0), scaled))
    rules = RuleSet.from_boxes(
        [[-INF, -INF]],
        [[0.1, 0.2]],
        target=[0],
        feature_names=["raw", "twice"],
        target_names=["t"],
    ).map_features(mapping)
    assert rules.feature_dtypes == ("float64",)
    # the float32 next to 0.1 lies above it, so a tree sends the cell 0.1 right
    assert float(np.float32(0.1)) > 0.1
    frame = pd.DataFrame({"v": [0.1, np.nextafter(np.float32(0.1), np.float32(0))]})
    assert rules.covers(frame).ravel().tolist() == [False, True]


def test_dates_are_said_as_dates():
    source = FeatureSource(form="value", column=0, invert=lambda t: t, dtype="date")
    rules = RuleSet.from_boxes(
        [[18262.0]], [[18263.5]], target=[0], feature_names=["d"], target_names=["t"]
    ).map_features(FeatureMap(("day",), (source,)))
    assert rules.conditions() == ("2020-01-01 < day <= 2020-01-02 12:00",)
    days = pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2020-01-02", None])})
    assert rules.covers(days).ravel().tolist() == [False, True, False]


def test_relevant_missing_is_gathered_per_column():
    local = one_rule(
        f3=(0.5, INF),
        scope_fields={
            "scope": "local",
            "row_offsets": [0, 1],
            "prediction": [0],
            "relevant_missing": [[0, 0, 0, 1, 1, 0, 0, 0]],
        },
    ).map_features(MAP)
    assert local.relevant_missing.tolist() == [[False, True, False]]
