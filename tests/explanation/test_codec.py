"""Strict JSON and back."""

import datetime as dt
import enum
import json
import math

import hypothesis.extra.numpy as hnp
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skinterp.explanation._base import _same
from skinterp.explanation._codec import decode, encode
from skinterp.explanation._meta import plain

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.dates()
    | st.datetimes()
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=8,
)
arrays = hnp.arrays(
    st.sampled_from(["f8", "f4", "f2", "i8", "u1", "?", "<U3", ">f8", "M8[D]"]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0),
)


def strictly(value):
    """Through JSON text that any reader takes."""
    text = json.dumps(encode(value), allow_nan=False)
    return decode(json.loads(text, parse_constant=pytest.fail))


@given(values)
def test_values_come_back_the_same(value):
    assert _same(strictly(value), value)


@given(arrays)
def test_arrays_come_back_with_dtype_and_shape(array):
    assert _same(strictly(array), array)


def test_object_arrays_keep_the_types_of_their_items():
    array = np.array([1, 1.0, True, "1", None, math.nan, np.float32(2)], dtype=object)
    assert _same(strictly(array), array)


@pytest.mark.parametrize("key", ["$float", "$array", "$dict"])
def test_a_key_that_looks_like_a_code_is_kept(key):
    assert strictly({key: 1}) == {key: 1}


def test_numpy_scalars_keep_their_dtype():
    for value in (np.float32(0.1), np.int8(3), np.str_("a"), np.bool_(True)):
        back = strictly(value)
        assert type(back) is type(value)
        assert back == value


def test_negative_zero_keeps_its_sign():
    assert math.copysign(1, strictly(-0.0)) == -1
    assert np.signbit(strictly(np.array([-0.0])))[0]


def test_what_has_no_code_is_refused():
    with pytest.raises(TypeError, match="cannot store"):
        encode(object())
    with pytest.raises(TypeError, match="keys are strings"):
        encode({1: 2})
    with pytest.raises(TypeError, match="complex"):
        encode(np.array([1j]))


def test_dates_are_not_taken_for_one_another():
    assert type(strictly(dt.date(2020, 1, 2))) is dt.date
    assert type(strictly(dt.datetime(2020, 1, 2))) is dt.datetime


STAMP = pd.Timestamp("2020-01-02 03:04:05.123456789")
STAMPS = [
    STAMP,
    STAMP.as_unit("s"),
    STAMP.tz_localize("UTC"),
    STAMP.tz_localize("Asia/Tokyo"),
    pd.Timestamp("2020-01-02T03:04:05+02:30"),
]


@pytest.mark.parametrize("stamp", STAMPS)
def test_moments_of_pandas_come_back_as_such(stamp):
    back = strictly(stamp)
    assert type(back) is pd.Timestamp
    assert (back, back.unit, str(back.tz)) == (stamp, stamp.unit, str(stamp.tz))


def test_missing_values_of_pandas_come_back():
    array = np.array([pd.NaT, pd.NA, None, "a"], dtype=object)
    back = strictly(array)
    assert back[0] is pd.NaT
    assert back[1] is pd.NA
    assert _same(back, array)


class Level(enum.IntEnum):
    low = 1


class Word(enum.StrEnum):
    low = "low"


@pytest.mark.parametrize(
    "value",
    [Level.low, Word.low, pd.Timedelta(1), pd.Interval(0, 1), np.longdouble(1)],
)
def test_what_would_come_back_as_something_else_is_refused(value):
    with pytest.raises(TypeError, match="cannot store"):
        encode(np.array([value, "a"], dtype=object))


def test_parameters_of_an_enumeration_are_recorded_by_value():
    assert [(type(x), x) for x in map(plain, (Level.low, Word.low))] == [
        (int, 1),
        (str, "low"),
    ]
