"""Conditions of a measurement: what is drawn, and the table that it is kept in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

Range = float | tuple[float, float]

_STRETCH = tuple(f"stretch_{axis}" for axis in "abc")
_SHEAR = ("shear_ab", "shear_ac", "shear_ba", "shear_bc", "shear_ca", "shear_cb")


class Factors(Mapping[str, Range]):
    """Conditions that cannot be changed, and can be copied and stored.

    Parameters
    ----------
    values : mapping of str to float or pair
        A number or a range for each factor.

    Examples
    --------
    >>> from skinterp_xrd import RANDOM_CONDITIONS
    >>> RANDOM_CONDITIONS["zero_shift"]
    (-1.5, 1.5)
    >>> (RANDOM_CONDITIONS | {"zero_shift": 0.0})["zero_shift"]
    0.0
    """

    # not types.MappingProxyType: clone copies parameters, which that one refuses
    def __init__(self, values: Mapping[str, Range]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> Range:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return self._values | dict(other)

    def __ror__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return dict(other) | self._values

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._values!r})"


#: A sample and an instrument without flaws: no factor is drawn.
IDEAL_CONDITIONS: Factors = Factors(
    {
        **dict.fromkeys(_STRETCH, 1.0),
        **dict.fromkeys(_SHEAR, 0.0),
        "grain_size_nm": 20.0,
        "orientation_low": 0.0,
        "orientation_high": 0.0,
        "displacement": 0.0,
        "zero_shift": 0.0,
        "goniometer_radius_mm": 500.0,
        "slit_height_mm": 10.0,
        "sample_height_mm": 5.0,
        "slit_width": 0.1,
        "residual_variance": 0.001,
        "background_degree": 6.0,
        "background_ratio": 0.0,
        "noise_ratio": 0.0,
    }
)

#: What the benchmark's generator draws: a pair is the range of a uniform draw.
RANDOM_CONDITIONS: Factors = Factors(
    {
        **IDEAL_CONDITIONS,
        **dict.fromkeys(_STRETCH, (0.99, 1.01)),
        **dict.fromkeys(_SHEAR, (0.0, 0.01)),
        "grain_size_nm": (2.0, 20.0),
        "orientation_low": (0.0, 0.4),
        "orientation_high": (0.0, 0.4),
        "displacement": (0.0, 0.5),
        "zero_shift": (-1.5, 1.5),
        "background_ratio": 0.05,
        "noise_ratio": 0.02,
    }
)

#: Columns of a table of conditions, the seed of a row's own draws last.
FACTORS: tuple[str, ...] = tuple(IDEAL_CONDITIONS)
COLUMNS = (*FACTORS, "seed")
PLACE = {name: i for i, name in enumerate(COLUMNS)}

# Factors that count something.
_WHOLE = ("background_degree",)
# Smallest and largest value, and whether they are allowed themselves.
_ALLOWED: dict[str, tuple[float, float, bool]] = {
    **dict.fromkeys(_STRETCH, (0.0, 2.0, False)),
    **dict.fromkeys(_SHEAR, (-0.3, 0.3, True)),
    "grain_size_nm": (0.0, np.inf, False),
    "orientation_low": (0.0, 1.0, True),
    "orientation_high": (0.0, np.inf, True),
    "displacement": (0.0, np.inf, True),
    "zero_shift": (-90.0, 90.0, True),
    "goniometer_radius_mm": (0.0, np.inf, False),
    "slit_height_mm": (0.0, np.inf, True),
    "sample_height_mm": (0.0, np.inf, True),
    "slit_width": (0.0, 10.0, True),
    "residual_variance": (0.0, 100.0, True),
    "background_degree": (0.0, 30.0, True),
    "background_ratio": (0.0, np.inf, True),
    "noise_ratio": (0.0, np.inf, True),
}


def ranges_of(conditions: Any) -> dict[str, tuple[float, float]]:
    """Turn the parameter ``conditions`` into a range for each factor.

    Parameters
    ----------
    conditions : "random", None or mapping of str to float or pair
        "random" takes `RANDOM_CONDITIONS`; None, `IDEAL_CONDITIONS`; a mapping sets a
        factor to a number or to be drawn from a pair, and leaves the others ideal.

    Returns
    -------
    dict of str to tuple
        Lowest and highest value of each factor, equal where nothing is drawn.

    Raises
    ------
    ValueError
        If a factor is unknown, or a value is not allowed.

    Examples
    --------
    >>> from skinterp_xrd._conditions import ranges_of
    >>> ranges_of({"zero_shift": (-0.1, 0.1)})["zero_shift"]
    (-0.1, 0.1)
    """
    if conditions is None:
        given: Mapping[str, Any] = {}
    elif isinstance(conditions, str) and conditions == "random":
        given = RANDOM_CONDITIONS
    elif isinstance(conditions, Mapping):
        given = conditions
    else:
        raise ValueError(
            "conditions must be 'random', None or a mapping from factors to values, "
            f"got {conditions!r}."
        )
    for name in given:
        if name not in PLACE or name == "seed":
            raise ValueError(
                f"conditions has no factor {name!r}; the factors are {list(FACTORS)}."
            )
    return {n: _range(n, given.get(n, IDEAL_CONDITIONS[n])) for n in FACTORS}


def _range(name: str, value: Any) -> tuple[float, float]:
    pair = tuple(value) if isinstance(value, tuple | list) else (value, value)
    sound = len(pair) == 2 and all(
        isinstance(v, Real) and not isinstance(v, bool) for v in pair
    )
    if not sound or not pair[0] <= pair[1]:
        raise ValueError(
            f"conditions[{name!r}] must be a number or a pair (low, high), got "
            f"{value!r}."
        )
    low, high = float(pair[0]), float(pair[1])
    if name in _WHOLE and not (low.is_integer() and high.is_integer()):
        raise ValueError(f"conditions[{name!r}] must be whole, got {value!r}.")
    _refuse(name, np.array([low, high]), f"conditions[{name!r}]")
    return low, high


def _refuse(name: str, values: NDArray[np.float64], what: str) -> None:
    low, high, closed = _ALLOWED[name]
    inside = (values >= low) & (values <= high)
    if not closed:
        inside &= (values > low) & (values < high)
    inside &= np.isfinite(values)
    if inside.all():
        return
    start, end = ("from", "to") if closed else ("above", "below")
    limits = f"{start} {low:g}" + ("" if high == np.inf else f" {end} {high:g}")
    raise ValueError(f"{what} must be {limits}, got {values[~inside][0]:g}.")


def is_random(conditions: Any) -> bool:
    """Say whether a seed matters under conditions.

    Parameters
    ----------
    conditions : object
        As of `ranges_of`; for wrong ones, which are refused elsewhere, it does not.

    Returns
    -------
    bool
        True if a factor is drawn, or a peak or point is by one.

    Examples
    --------
    >>> from skinterp_xrd._conditions import is_random
    >>> is_random({"noise_ratio": 0.01}), is_random({"grain_size_nm": 5.0})
    (True, False)
    """
    try:
        ranges = ranges_of(conditions)
    except ValueError:
        return False
    drawn = any(low < high for low, high in ranges.values())
    own = ("orientation_low", "orientation_high", "background_ratio", "noise_ratio")
    return drawn or any(ranges[name][1] > 0 for name in own)


def draw_conditions(
    ranges: Mapping[str, tuple[float, float]], seeds: Iterable[np.random.SeedSequence]
) -> NDArray[np.float64]:
    """Draw the conditions of some patterns, each from a seed of its own.

    Parameters
    ----------
    ranges : mapping of str to tuple
        As of `ranges_of`.
    seeds : iterable of SeedSequence
        One for each pattern.

    Returns
    -------
    ndarray of float64 of shape (n, n_columns)
        A row for each, in the order of ``COLUMNS``.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp_xrd._conditions import draw_conditions, ranges_of
    >>> seeds = np.random.SeedSequence(0).spawn(2)
    >>> draw_conditions(ranges_of("random"), seeds).shape
    (2, 23)
    """
    low, high = np.array([ranges[name] for name in FACTORS]).T
    whole = np.isin(FACTORS, _WHOLE)
    high = high + np.where(whole, 1.0, 0.0)  # the last one is drawn as well
    rows = []
    for seed in seeds:
        rng = np.random.Generator(np.random.PCG64(seed))
        values = low + (high - low) * rng.random(len(FACTORS))
        values[whole] = np.floor(values[whole])
        # a float holds integers up to here exactly
        rows.append([*values, float(rng.integers(2**53))])
    return np.array(rows, dtype=np.float64).reshape(-1, len(COLUMNS))


def frame_of_conditions(rows: NDArray[np.float64]) -> pd.DataFrame:
    """Give conditions as a table with a column for each factor.

    Parameters
    ----------
    rows : ndarray of float64 of shape (n, n_columns)
        As of `draw_conditions`.

    Returns
    -------
    pandas.DataFrame
        Columns ``COLUMNS``; the seed is an integer.
    """
    import pandas as pd

    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype({"seed": np.int64, "background_degree": np.int64})


def rows_of_conditions(frame: Any) -> NDArray[np.float64]:
    """Read a table of conditions back, and check it.

    Parameters
    ----------
    frame : pandas.DataFrame
        With the columns ``COLUMNS``, in any order.

    Returns
    -------
    ndarray of float64 of shape (n, n_columns)
        In the order of ``COLUMNS``.

    Raises
    ------
    ValueError
        If a column is missing or unknown, or a value is not allowed.
    """
    names = [str(c) for c in getattr(frame, "columns", ())]
    if sorted(names) != sorted(COLUMNS):
        missing = [c for c in COLUMNS if c not in names]
        unknown = [c for c in names if c not in COLUMNS]
        raise ValueError(
            "conditions must be a table as sample_conditions returns; missing columns "
            f"{missing}, unknown {unknown}."
        )
    try:
        rows = np.asarray(frame[list(COLUMNS)], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"conditions must be numbers: {error}.") from error
    for name in FACTORS:
        _refuse(name, rows[:, PLACE[name]], f"column {name!r} of conditions")
        if name in _WHOLE and (rows[:, PLACE[name]] % 1).any():
            raise ValueError(f"column {name!r} of conditions must be whole numbers.")
    seeds = rows[:, -1]
    wrong = ~((seeds >= 0) & (seeds < 2**53) & (seeds == np.floor(seeds)))
    if wrong.any():
        raise ValueError(
            "column 'seed' of conditions must be integers from 0 to 2**53 - 1, got "
            f"{seeds[wrong][0]:g}."
        )
    return rows
