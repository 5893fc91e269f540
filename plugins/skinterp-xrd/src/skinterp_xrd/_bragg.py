"""Which points of a pattern belong to which Bragg peak, and what each peak's share is.

A peak list says where peaks would be in a perfect instrument; a measured pattern is
shifted and broadened, which is found from the pattern itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skinterp_xrd._structures import as_structure, is_one

__all__ = [
    "PeakList",
    "PeakShares",
    "find_zero_shift",
    "peak_lists",
    "peak_owners",
    "share_out",
    "typical_width",
]

Float = NDArray[np.float64]

# How far a pattern is taken to be shifted, at most, in degrees.
MAX_SHIFT = 2.0
# Of the highest point: what is lower is no peak to measure a width at.
_VISIBLE = 0.05
# Half the width of a peak's window, in widths of the peak at half its height.
WIDTHS = 2.0


@dataclass(frozen=True, eq=False)
class PeakList:
    """Bragg peaks of one crystal, by angle.

    Parameters
    ----------
    two_theta : ndarray of shape (n_peaks,)
        Angles in degrees, without any shift.
    d : ndarray of shape (n_peaks,)
        Distances of the lattice planes in angstrom.
    intensity : ndarray of shape (n_peaks,)
        Heights, on any scale.
    hkl : tuple of str
        Indices as text, "" where they are not known.
    """

    two_theta: Float
    d: Float
    intensity: Float
    hkl: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class PeakShares:
    """What the peaks of one pattern have of its attribution.

    Parameters
    ----------
    peaks : PeakList
        Peaks on the grid, their angles shifted as the pattern is.
    share : ndarray of shape (n_peaks,)
        Part of the sum of absolute attributions; with ``outside`` they sum to 1.
    value : ndarray of shape (n_peaks,)
        Sum of the attributions.
    outside : float
        Share of the points in no peak's window.
    coverage : float
        Share of the points in a window.
    zero_shift : float
        What was added to the angles, in degrees.
    """

    peaks: PeakList
    share: Float
    value: Float
    outside: float
    coverage: float
    zero_shift: float


def peak_lists(
    structure: Any, n_rows: int, two_theta: Float, wavelength: float
) -> list[PeakList]:
    """Give one peak list per pattern, from structures or lists of peaks.

    Parameters
    ----------
    structure : structure, `Peaks`, frame, array or list of them
        One for all patterns, or a list, an array or a column with one for each: what
        ``as_structure`` takes, what ``find_peaks`` gives, a frame with a column
        "two_theta", or angles.
    n_rows : int
        Number of patterns.
    two_theta : ndarray
        The grid, in degrees.
    wavelength : float
        In angstrom.

    Returns
    -------
    list of PeakList
        One per pattern.
    """
    structure = _unpacked(structure)
    if not _is_many(structure):
        return [_one_list(structure, two_theta, wavelength)] * n_rows
    if len(structure) != n_rows:
        msg = (
            f"structure is a list of {len(structure)} for {n_rows} patterns; give one "
            "for all, or one for each."
        )
        raise ValueError(msg)
    return [_one_list(one, two_theta, wavelength) for one in structure]


def _unpacked(structure: Any) -> Any:
    """Make a list of an array, a column or a tuple that holds several entries."""
    if hasattr(structure, "tolist") and not hasattr(structure, "columns"):
        return structure.tolist()
    if isinstance(structure, tuple) and not is_one(structure):
        return list(structure)
    return structure


def _is_many(structure: Any) -> bool:
    """Say whether there is one entry per pattern: a list that is not of angles."""
    if not isinstance(structure, list):
        return False
    return not all(np.isscalar(one) and not isinstance(one, str) for one in structure)


def _one_list(one: Any, two_theta: Float, wavelength: float) -> PeakList:
    one = _unpacked(one)
    if isinstance(one, list) and np.ndim(one) == 1:
        return _from_angles(one, wavelength)
    if hasattr(one, "columns"):
        return _from_frame(one, wavelength)
    from skinterp_xrd._sticks import Peaks

    if isinstance(one, Peaks):
        return _from_frame(one.to_frame(), wavelength)
    return _from_structure(one, two_theta, wavelength)


def _from_angles(angles: Any, wavelength: float) -> PeakList:
    at = np.sort(_finite("structure", angles))
    none = ("",) * len(at)
    return PeakList(at, _spacing(at, wavelength), np.ones(len(at)), none)


def _from_frame(frame: Any, wavelength: float) -> PeakList:
    if "two_theta" not in frame.columns:
        msg = (
            "a list of peaks needs a column 'two_theta', got "
            f"{[str(c) for c in frame.columns]}."
        )
        raise ValueError(msg)
    at = _finite("two_theta", frame["two_theta"])
    order = np.argsort(at, kind="stable")
    size = np.ones(len(at))
    if "intensity" in frame.columns:
        size = _finite("intensity", frame["intensity"])
    hkl = [""] * len(at)
    if "hkl" in frame.columns:
        hkl = [index_text(one) for one in frame["hkl"]]
    at = at[order]
    return PeakList(
        at, _spacing(at, wavelength), size[order], tuple(hkl[i] for i in order)
    )


def _from_structure(one: Any, two_theta: Float, wavelength: float) -> PeakList:
    from skinterp_xrd._simulator import PowderXRDSimulator

    low = max(two_theta[0] - MAX_SHIFT, 0.5)
    high = min(two_theta[-1] + MAX_SHIFT, 179.0)
    simulator = PowderXRDSimulator(wavelength=wavelength, two_theta=(low, high))
    try:
        crystal = as_structure(one)
    except TypeError as error:
        msg = (
            f"{error} A list of peaks may be given instead: angles, a frame with a "
            "column 'two_theta', or what find_peaks gives."
        )
        raise TypeError(msg) from error
    (frame,) = simulator.fit([crystal]).peaks([crystal])
    if not len(frame):
        msg = f"{crystal!r} has no Bragg peak from {low:.4g} to {high:.4g} degrees."
        raise ValueError(msg)
    return _from_frame(frame, wavelength)


def index_text(hkl: Any) -> str:
    """Write indices: "111", "-1 0 12"."""
    if isinstance(hkl, str):
        return hkl
    parts = [str(int(i)) for i in np.ravel(hkl)]
    return ("" if all(len(part) == 1 for part in parts) else " ").join(parts)


def _finite(name: str, values: Any) -> Float:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"{name} of a list of peaks must be numbers, got {values!r}."
        raise ValueError(msg) from error
    high = 180.0 if name != "intensity" else np.inf
    bad = ~((array >= 0) & (array < high))
    if bad.any() or not array.size:
        got = array[bad][0] if bad.any() else "nothing"
        msg = f"{name} of a list of peaks must be numbers from 0 to {high}, got {got}."
        raise ValueError(msg)
    return array


def _spacing(two_theta: Float, wavelength: float) -> Float:
    """Distance of the planes by Bragg's law, infinite at the angle zero."""
    with np.errstate(divide="ignore"):
        return wavelength / (2 * np.sin(np.radians(two_theta) / 2))


def find_zero_shift(net: ArrayLike, two_theta: Float, peaks: PeakList) -> float:
    """Find by how much a pattern is shifted against its peak list.

    Parameters
    ----------
    net : array-like of shape (n_points,)
        The pattern without its background.
    two_theta : ndarray of shape (n_points,)
        The grid, in degrees.
    peaks : PeakList
        Where the peaks would be.

    Returns
    -------
    float
        Of the shifts up to 2 degrees, in steps of 0.02, the one at which the peaks'
        places are highest, each weighed by the root of its intensity.
    """
    shifts = np.arange(-100, 101) * (MAX_SHIFT / 100)
    weight = np.sqrt(peaks.intensity / max(peaks.intensity.max(), 1e-300))
    places = peaks.two_theta[None] + shifts[:, None]
    heights = np.interp(places, two_theta, np.maximum(net, 0.0), left=0.0, right=0.0)
    score = heights @ weight
    # of equal ones the smallest: a pattern that says nothing is not shifted
    best = np.flatnonzero(score >= score.max() * (1 - 1e-9))
    return float(shifts[best[np.abs(shifts[best]).argmin()]])


def typical_width(net: Float, two_theta: Float, peaks: PeakList) -> float:
    """Measure how wide the peaks are at half their height.

    Parameters
    ----------
    net : ndarray of shape (n_points,)
        The pattern without its background.
    two_theta : ndarray of shape (n_points,)
        The grid, in degrees.
    peaks : PeakList
        Peaks, shifted as the pattern is.

    Returns
    -------
    float
        Median of the five strongest that are seen, times the cosine of half their
        angle, by which Scherrer's widths fall; in degrees, at least two points.
    """
    inside = (peaks.two_theta >= two_theta[0]) & (peaks.two_theta <= two_theta[-1])
    order = np.argsort(-np.where(inside, peaks.intensity, -1.0), kind="stable")
    widths = []
    for j in order[: min(5, int(inside.sum()))]:
        top = int(np.abs(two_theta - peaks.two_theta[j]).argmin())
        if net[top] < _VISIBLE * net.max() or net[top] <= 0:
            continue
        low = np.flatnonzero(net[: top + 1] < net[top] / 2)
        high = np.flatnonzero(net[top:] < net[top] / 2)
        left = two_theta[low[-1]] if len(low) else two_theta[0]
        right = two_theta[top + high[0]] if len(high) else two_theta[-1]
        cosine = np.cos(np.radians(peaks.two_theta[j]) / 2)
        widths.append((right - left) * cosine)
    least = 2 * float(np.median(np.diff(two_theta))) if len(two_theta) > 1 else 0.2
    return max(float(np.median(widths)), least) if widths else least


def peak_owners(
    two_theta: Float, peaks: PeakList, window: Float | float
) -> NDArray[np.intp]:
    """Give each point to the nearest peak whose window it is in.

    Parameters
    ----------
    two_theta : ndarray of shape (n_points,)
        The grid, in degrees.
    peaks : PeakList
        Peaks, shifted as the pattern is.
    window : float or ndarray of shape (n_peaks,)
        Half the width of the peaks' windows, in degrees.

    Returns
    -------
    ndarray of int of shape (n_points,)
        Number of the peak, -1 outside all windows.
    """
    half = np.broadcast_to(window, peaks.two_theta.shape)
    away = np.abs(two_theta[:, None] - peaks.two_theta[None])
    away = np.where(away <= half + 1e-9, away, np.inf)
    nearest = away.argmin(axis=1)
    covered = np.isfinite(away.min(axis=1))
    return np.where(covered, nearest, -1)


def share_out(
    values: Float,
    net: Float,
    two_theta: Float,
    peaks: PeakList,
    *,
    zero_shift: float | None = None,
    window: float | None = None,
) -> PeakShares:
    """Sum the attribution of one pattern within the windows of its peaks.

    Parameters
    ----------
    values : ndarray of shape (n_points,)
        The attribution.
    net : ndarray of shape (n_points,)
        The pattern without its background.
    two_theta : ndarray of shape (n_points,)
        The grid, in degrees.
    peaks : PeakList
        Where the peaks would be.
    zero_shift : float, default=None
        Shift of the pattern in degrees; None finds it.
    window : float, default=None
        Half the width of the windows in degrees; None takes twice the peaks' width.

    Returns
    -------
    PeakShares
        With the peaks whose window reaches the grid.
    """
    shift = find_zero_shift(net, two_theta, peaks) if zero_shift is None else zero_shift
    # d stays that of the unshifted angle: the zero of the instrument is no distance
    moved = PeakList(peaks.two_theta + shift, peaks.d, peaks.intensity, peaks.hkl)
    if window is None:
        cosine = np.cos(np.radians(moved.two_theta) / 2)
        width = WIDTHS * typical_width(net, two_theta, moved) / np.maximum(cosine, 0.1)
    else:
        width = np.full(len(moved.two_theta), float(window))
    owner = peak_owners(two_theta, moved, width)
    size = np.abs(values)
    total = size.sum() or 1.0
    inside = owner >= 0
    n_peaks = len(moved.two_theta)
    share = np.bincount(owner[inside], size[inside], n_peaks) / total
    value = np.bincount(owner[inside], values[inside], n_peaks).astype(np.float64)
    # peaks beyond the grid, whose windows hold no point, are left out
    seen = np.flatnonzero(np.bincount(owner[inside], minlength=n_peaks))
    return PeakShares(
        peaks=_keep(moved, seen),
        share=share[seen],
        value=value[seen],
        outside=float(size[~inside].sum() / total),
        coverage=float(inside.mean()),
        zero_shift=float(shift),
    )


def _keep(peaks: PeakList, chosen: Iterable[int]) -> PeakList:
    rows = np.asarray(list(chosen), dtype=np.intp)
    hkl = tuple(peaks.hkl[i] for i in rows)
    return PeakList(peaks.two_theta[rows], peaks.d[rows], peaks.intensity[rows], hkl)
