"""One form for the many containers that time series come in.

Taken are arrays ``(n_cases, n_channels, n_timepoints)``, arrays and frames of one
series per row, lists of arrays of unequal lengths, and frames with one series per cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
PADS = ("edge", "zero")
FORMS = (
    "an array of shape (n_cases, n_channels, n_timepoints) or (n_cases, n_timepoints), "
    "a list of arrays of shape (n_channels, n_timepoints) or (n_timepoints,), or a "
    "frame of one series per row or per cell"
)


@dataclass(frozen=True)
class SeriesSet:
    """Time series of one number of channels, of equal or unequal lengths.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        All values: case by case, within a case channel by channel.
    lengths : ndarray of shape (n_cases,), int64
        Number of time points of each case.
    channel_names : tuple of str
        Names of the channels.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp.series._containers import as_series
    >>> series = as_series([np.arange(3.0), np.arange(5.0)])
    >>> len(series), series.n_channels, series.lengths.tolist()
    (2, 1, [3, 5])
    >>> series.to_array(pad="edge")[0, 0].tolist()
    [0.0, 1.0, 2.0, 2.0, 2.0]
    """

    values: Floats
    lengths: NDArray[np.int64]
    channel_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> Floats:
        """View of one case, of shape (n_channels, n_timepoints)."""
        a, b = self.offsets[index : index + 2]
        return self.values[a:b].reshape(self.n_channels, -1)

    def __iter__(self) -> Iterator[Floats]:
        return (self[i] for i in range(len(self)))

    @property
    def n_channels(self) -> int:
        """Number of channels."""
        return len(self.channel_names)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Where each case begins in ``values``, and the end of the last."""
        sizes = self.lengths * self.n_channels
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @property
    def is_rectangular(self) -> bool:
        """Whether all series have one length."""
        return bool((self.lengths == self.lengths[:1]).all())

    def to_array(self, n_timepoints: int | None = None, pad: str | None = None) -> Any:
        """Give the series as one array.

        Parameters
        ----------
        n_timepoints : int, default=None
            Length to pad to; None takes the longest series.
        pad : {"edge", "zero"}, default=None
            What stands behind the end of a shorter series: its last value, or 0. None
            refuses series of other lengths.

        Returns
        -------
        ndarray of shape (n_cases, n_channels, n_timepoints)
            The values.

        Raises
        ------
        ValueError
            If a series is longer than ``n_timepoints``, or shorter without ``pad``.
        """
        if pad is not None and pad not in PADS:
            msg = f"pad={pad!r} is not one of {[None, *PADS]}"
            raise ValueError(msg)
        longest = int(self.lengths.max(initial=0))
        size = longest if n_timepoints is None else int(n_timepoints)
        wrong = self.lengths > size if pad else self.lengths != size
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            allowed = f"at most {size}" if pad else f"{size}; pad='edge' or 'zero' pads"
            msg = f"case {i} has the length {self.lengths[i]}, allowed is {allowed}"
            raise ValueError(msg)
        if (self.lengths == size).all():
            return self.values.reshape(len(self), self.n_channels, size)
        out = np.zeros((len(self), self.n_channels, size))
        for i, case in enumerate(self):
            out[i, :, : case.shape[1]] = case
            if pad == "edge":
                out[i, :, case.shape[1] :] = case[:, -1:]
        return out


def as_series(
    X: Any, *, min_length: int = 1, name: str = "X", allow_nan: bool = False
) -> SeriesSet:
    """Read time series from any of the usual containers.

    Parameters
    ----------
    X : array-like, list or frame
        An array of shape (n_cases, n_channels, n_timepoints), which is what loaders of
        aeon give; an array of shape (n_cases, n_timepoints), for one channel; a list of
        arrays of shape (n_channels, n_timepoints) or (n_timepoints,); a frame of
        numbers with one series per row; or a frame with one series per cell, whose
        columns are the channels.
    min_length : int, default=1
        Least number of time points.
    name : str, default="X"
        Name for messages.
    allow_nan : bool, default=False
        Whether values may be missing.

    Returns
    -------
    SeriesSet
        The series as float64. A set that is one already is given back.

    Raises
    ------
    ValueError
        If X is none of these, a series is too short, cases differ in their channels, or
        a value is infinite or, unless allowed, NaN. The message names case, channel and
        time point.
    TypeError
        If a value is no number.

    Examples
    --------
    >>> import pandas as pd
    >>> from skinterp.series._containers import as_series
    >>> as_series(pd.DataFrame({"t0": [1.0, 2.0], "t1": [3.0, 4.0]})).lengths.tolist()
    [2, 2]
    >>> cells = pd.DataFrame({"heart": [[1, 2, 3]], "breath": [[4, 5, 6]]})
    >>> as_series(cells).channel_names
    ('heart', 'breath')
    """
    if isinstance(X, SeriesSet):
        series = X
    else:
        _refuse_strange(X, name)
        series = _from_frame(X, name) if hasattr(X, "columns") else _from_rest(X, name)
        _check_finite(series, name, allow_nan)
    _check_lengths(series, min_length, name)
    return series


def check_channels(series: SeriesSet, n_channels: int) -> None:
    """Refuse another number of channels than in fit."""
    if series.n_channels != n_channels:
        msg = (
            f"X has series of {series.n_channels} channels, but fit has seen "
            f"{n_channels} channels"
        )
        raise ValueError(msg)


def _refuse_strange(X: Any, name: str) -> None:
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        msg = f"{name} is a sparse matrix, which series cannot come in; give {FORMS}"
        raise TypeError(msg)
    if isinstance(X, str | bytes | dict) or not (
        hasattr(X, "__len__") or hasattr(X, "__array__")
    ):
        msg = f"{name} must be {FORMS}, got {type(X).__name__}"
        raise TypeError(msg)


def _from_rest(X: Any, name: str) -> SeriesSet:
    if hasattr(X, "__array__") and not hasattr(X, "shape"):
        X = np.asarray(X)
    if hasattr(X, "shape"):
        array = np.asarray(X)
        if array.ndim > 1 or array.dtype != object:
            return _from_array(_numbers(array, name), name)
        X = list(array)
    return _from_list(X, name)


def _from_array(array: Floats, name: str) -> SeriesSet:
    if array.ndim == 2:
        array = array[:, None, :]
    if array.ndim != 3 or 0 in array.shape[1:]:
        msg = (
            f"{name} has the shape {array.shape}, which is not that of time series: "
            f"give {FORMS}; reshape a single series to (1, 1, n_timepoints)"
        )
        raise ValueError(msg)
    n, channels, length = array.shape
    lengths = np.full(n, length, dtype=np.int64)
    return SeriesSet(np.ascontiguousarray(array).ravel(), lengths, _names(channels))


def _from_list(X: Sequence[Any], name: str) -> SeriesSet:
    if not len(X):
        msg = f"{name} holds no case: at least one series is needed"
        raise ValueError(msg)
    # elsewhere named case by case; a list of numbers is one series, which is refused
    cases = [_case(item, f"case {i} of {name}") for i, item in enumerate(X)]
    channels = len(cases[0])
    for i, case in enumerate(cases):
        if len(case) != channels:
            msg = (
                f"case {i} of {name} has {len(case)} channels, but case 0 has "
                f"{channels} channels"
            )
            raise ValueError(msg)
    return _from_cases(cases, _names(channels))


def _from_cases(cases: list[Floats], names: tuple[str, ...]) -> SeriesSet:
    lengths = np.array([case.shape[1] for case in cases], dtype=np.int64)
    values = np.concatenate([case.ravel() for case in cases])
    return SeriesSet(values, lengths, names)


def _case(item: Any, what: str) -> Floats:
    """One case of a list, as (n_channels, n_timepoints)."""
    try:
        array = np.asarray(item)
    except ValueError as error:
        msg = f"{what} has channels of unequal lengths, which no method here takes"
        raise ValueError(msg) from error
    if array.ndim == 1 and array.dtype == object and len(array) and _has_len(array[0]):
        array = _stack([_channel(c, f"channel {j}") for j, c in enumerate(array)], what)
    # a single number would become an array of one
    array = _numbers(array, what) if array.ndim else array
    if array.ndim == 1:
        array = array[None, :]
    if array.ndim != 2 or 0 in array.shape:
        msg = (
            f"{what} has the shape {np.shape(item)}, expected (n_channels, "
            f"n_timepoints) or (n_timepoints,): {FORMS.split(', or')[0]}; reshape a "
            "single series to (1, 1, n_timepoints)"
        )
        raise ValueError(msg)
    return array


def _has_len(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str)


def _channel(item: Any, what: str) -> Floats:
    return _numbers(np.asarray(item), what).ravel()


def _stack(channels: list[Floats], what: str) -> Floats:
    sizes = [len(channel) for channel in channels]
    if len(set(sizes)) > 1:
        msg = f"{what} has channels of unequal lengths {sizes}, which is not supported"
        raise ValueError(msg)
    return np.stack(channels)


def _numbers(array: NDArray[Any], what: str) -> Floats:
    """Convert to float64; numbers are what numpy reads as such, text is not."""
    if array.dtype.kind == "c":
        msg = f"{what} holds complex data, which is not supported; give real numbers"
        raise ValueError(msg)
    if array.dtype.kind in "USMmV":
        msg = f"{what} holds {array.dtype} data, expected numbers"
        raise TypeError(msg)
    if array.dtype == object:
        for place, value in np.ndenumerate(array):
            if isinstance(value, str | bytes) or _has_len(value):
                msg = f"{what} holds {value!r} at {place}, expected a number"
                raise TypeError(msg)
    try:
        return np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"{what} holds what is no number: {error}"
        raise TypeError(msg) from error


def _from_frame(frame: Any, name: str) -> SeriesSet:
    """Rows of numbers, or cells of series, whose columns are the channels."""
    columns = [frame[column] for column in frame.columns] if len(frame.columns) else []
    if frame.columns.has_duplicates if hasattr(frame.columns, "has_duplicates") else 0:
        columns = [frame.iloc[:, j] for j in range(len(frame.columns))]
    if not columns:
        msg = f"{name} has no columns: give {FORMS}"
        raise ValueError(msg)
    if not len(frame):
        msg = f"{name} has no rows: at least one case is needed"
        raise ValueError(msg)
    nested = [_has_len(column.to_list()[0]) for column in columns]
    if not any(nested):
        plain = [
            _column(c, f"column {n!r} of {name}") for c, n in _named(frame, columns)
        ]
        return _from_array(np.column_stack(plain), name)
    lists = [column.to_list() for column in columns]
    names = tuple(str(column) for column in frame.columns)
    cases = []
    for i in range(len(frame)):
        parts = []
        for j, label in enumerate(names):
            what = f"case {i}, channel {label!r} of {name}"
            if not _has_len(lists[j][i]):
                msg = f"{what} is {lists[j][i]!r}, expected a series"
                raise TypeError(msg)
            parts.append(_channel(lists[j][i], what))
        stacked = _stack(parts, f"case {i} of {name}")
        if not stacked.size:
            msg = f"case {i} of {name} has no time points"
            raise ValueError(msg)
        cases.append(stacked)
    return _from_cases(cases, names)


def _named(frame: Any, columns: list[Any]) -> Iterator[tuple[Any, Any]]:
    return zip(columns, frame.columns, strict=True)


def _column(column: Any, what: str) -> Floats:
    """Numbers of one time point; NA of nullable columns becomes NaN."""
    if str(getattr(column, "dtype", "")) == "category":
        msg = f"{what} is categorical, expected numbers"
        raise TypeError(msg)
    try:
        array = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except TypeError:
        array = column.to_numpy()
    except ValueError as error:
        msg = f"{what} holds what is no number: {error}"
        raise TypeError(msg) from error
    return _numbers(np.asarray(array), what)


def _names(n_channels: int) -> tuple[str, ...]:
    return tuple(f"channel {c}" for c in range(n_channels))


def _check_finite(series: SeriesSet, name: str, allow_nan: bool) -> None:
    wrong = np.isinf(series.values)
    bad = np.flatnonzero(wrong if allow_nan else wrong | np.isnan(series.values))
    if not len(bad):
        return
    at = int(bad[0])
    i = int(np.searchsorted(series.offsets, at, side="right")) - 1
    channel, point = divmod(at - int(series.offsets[i]), int(series.lengths[i]))
    value = series.values[at]
    kind = "NaN (missing)" if np.isnan(value) else f"infinity ({value})"
    msg = (
        f"{name} holds {kind} in case {i}, {series.channel_names[channel]}, time point "
        f"{point}; fill missing values first"
    )
    raise ValueError(msg)


def _check_lengths(series: SeriesSet, min_length: int, name: str) -> None:
    short = np.flatnonzero(series.lengths < min_length)
    if len(short):
        i = int(short[0])
        msg = (
            f"case {i} of {name} has the length {series.lengths[i]}; at least "
            f"{min_length} time points are needed"
        )
        raise ValueError(msg)
