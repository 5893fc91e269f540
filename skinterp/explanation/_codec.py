"""Strict JSON for the values of explanations, and back without loss.

NaN, infinities, dtypes and labels have codes of their own, so that any JSON reader
takes the file, and a value read back equals the one written.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_CODES = (
    "$float",
    "$array",
    "$scalar",
    "$date",
    "$datetime",
    "$timestamp",
    "$missing",
    "$dict",
)


def encode(value: Any) -> Any:
    """Turn a value into what strict JSON can hold.

    Lists and tuples both become lists and come back as tuples.

    Raises
    ------
    TypeError
        If the value, or one inside it, has no code.
    """
    # subclasses, such as members of an enumeration, would come back as something else
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"$float": _name_special(value)}
    if isinstance(value, np.ndarray):
        return {"$array": _encode_array(value)}
    if isinstance(value, np.generic):
        return {"$scalar": _encode_array(np.asarray(value))}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return _encode_mapping(value)
    if type(value) is dt.datetime:
        return {"$datetime": value.isoformat()}
    if type(value) is dt.date:
        return {"$date": value.isoformat()}
    if type(value).__module__.partition(".")[0] == "pandas":
        return _encode_pandas(value)
    msg = f"an explanation cannot store {value!r} of type {type(value).__name__}"
    raise TypeError(msg)


def decode(value: Any) -> Any:
    """Turn back what ``encode`` made."""
    if isinstance(value, list):
        return tuple(decode(item) for item in value)
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((code, content),) = value.items()
        if code in _CODES:
            return _decode_code(code, content)
    return {key: decode(item) for key, item in value.items()}


def _encode_pandas(value: Any) -> dict[str, Any]:
    import pandas as pd

    if value is pd.NaT or value is pd.NA:
        return {"$missing": "NaT" if value is pd.NaT else "NA"}
    if type(value) is not pd.Timestamp:
        msg = f"an explanation cannot store {value!r} of type {type(value).__name__}"
        raise TypeError(msg)
    zone = None if value.tz is None else str(value.tz)
    return {"$timestamp": [encode(value.asm8), zone]}


def _name_special(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _encode_mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    for key in value:
        if not isinstance(key, str):
            msg = f"an explanation cannot store the key {key!r}: keys are strings"
            raise TypeError(msg)
    content = {key: encode(item) for key, item in value.items()}
    if len(content) == 1 and next(iter(content)) in _CODES:
        return {"$dict": content}
    return content


def _encode_array(array: np.ndarray) -> dict[str, Any]:
    head = {"dtype": array.dtype.str, "shape": list(array.shape)}
    flat = array.ravel()
    if array.dtype.kind == "O":
        return head | {"data": [encode(item) for item in flat]}
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        return head | {"data": [_encode_float(item) for item in flat.tolist()]}
    if array.dtype.kind in "mM":
        return head | {"data": flat.astype(np.int64).tolist()}
    if array.dtype.kind in "biuU":
        return head | {"data": flat.tolist()}
    msg = f"an explanation cannot store an array of dtype {array.dtype}"
    raise TypeError(msg)


def _encode_float(value: float) -> float | str:
    return value if math.isfinite(value) else _name_special(value)


def _decode_code(code: str, content: Any) -> Any:
    if code == "$float":
        return _SPECIAL[content]
    if code == "$array":
        return _decode_array(content)
    if code == "$scalar":
        return _decode_array(content)[()]
    if code == "$datetime":
        return dt.datetime.fromisoformat(content)
    if code == "$date":
        return dt.date.fromisoformat(content)
    if code in ("$timestamp", "$missing"):
        return _decode_pandas(code, content)
    return {key: decode(item) for key, item in content.items()}


def _decode_pandas(code: str, content: Any) -> Any:
    import pandas as pd

    if code == "$missing":
        return {"NaT": pd.NaT, "NA": pd.NA}[content]
    moment, zone = content
    stamp = pd.Timestamp(decode(moment))
    return stamp if zone is None else stamp.tz_localize("UTC").tz_convert(zone)


def _decode_array(content: Mapping[str, Any]) -> np.ndarray:
    dtype, shape = np.dtype(content["dtype"]), tuple(content["shape"])
    data = content["data"]
    if dtype.kind == "O":
        array = np.empty(len(data), dtype=object)
        for i, item in enumerate(data):
            array[i] = decode(item)
        return array.reshape(shape)
    if dtype.kind == "f":
        data = [_SPECIAL[x] if isinstance(x, str) else x for x in data]
    if dtype.kind in "mM":
        return np.array(data, dtype=np.int64).astype(dtype).reshape(shape)
    return np.array(data, dtype=dtype).reshape(shape)
