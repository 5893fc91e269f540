"""Maps from a model's features to the user's columns."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skinterp.explanation import FeatureMap, FeatureSource
from skinterp.explanation._feature_map import widen_float32

reasonable = st.floats(allow_nan=False, width=32) | st.floats(-1e30, 1e30)


@given(reasonable, st.integers(-2, 2))
def test_widened_threshold_decides_as_float32_does(threshold, steps):
    wide = widen_float32(threshold)
    for start in (wide, threshold):
        cell = start
        for _ in range(abs(steps)):
            cell = float(np.nextafter(cell, math.copysign(math.inf, steps)))
        with np.errstate(over="ignore"):
            rounded = float(np.float32(cell))
        assert (cell <= wide) == (rounded <= threshold)


def test_identity_map():
    mapping = FeatureMap.identity(("a", "b"))
    assert mapping.targets == (0, 1)
    assert mapping.opaque == ()


def test_opaque_features_stand_after_the_columns():
    sources = (
        FeatureSource(form="opaque", name="pca0"),
        FeatureSource(form="value", column=1),
        FeatureSource(form="opaque", name="pca1"),
    )
    mapping = FeatureMap(("a", "b"), sources)
    assert mapping.names == ("a", "b", "pca0", "pca1")
    assert mapping.targets == (2, 1, 3)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"form": "scaled", "column": 0}, "form='scaled'"),
        ({"form": "opaque", "column": 0}, "column=0"),
        ({"form": "value"}, "column=-1"),
        ({"form": "code", "column": 0, "codes": (1.0,)}, "1 codes for 0"),
    ],
)
def test_wrong_source_is_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        FeatureSource(**fields)


def test_map_refuses_a_column_that_is_not_there():
    with pytest.raises(ValueError, match="source 0 names column 1"):
        FeatureMap(("a",), (FeatureSource(form="value", column=1),))
    with pytest.raises(ValueError, match="1 sources for 2 features"):
        FeatureMap.identity(("a",)).check_size(2)
