"""What a pattern is made of: the Bragg peaks of each crystal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from skinterp.explanation import Explanation
from skinterp_xrd._conditions import COLUMNS, FACTORS, IDEAL_CONDITIONS, PLACE
from skinterp_xrd._patterns import Beam, draws_of, finish, peaks_under, profile_of
from skinterp_xrd._sticks import Peaks
from skinterp_xrd._structures import Structure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from skinterp.explanation import FeatureMap

__all__ = ["PowderPeaks", "explain_peaks"]

PER_PEAK = ("two_theta", "d", "intensity", "hkl", "multiplicity")
# Crystals that a text tells of and a picture shows, and peaks of each.
MAX_SHOWN, MAX_PEAKS = 8, 6
# What a pattern may differ from its peaks by, as a share of its maximum.
TOLERANCE = 1e-5
# Chance plays no part in the patterns that are explained.
_CHANCE = ("orientation_low", "orientation_high", "background_ratio", "noise_ratio")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PowderPeaks(Explanation):
    """Which lattice planes make the peaks of each crystal's pattern.

    The peaks are those of the pattern without what is drawn by chance: factors that the
    simulator draws stand at their ideal values, those that it fixes are as they are.

    Parameters
    ----------
    scope : "local"
        Of each crystal.
    feature_names : tuple of str
        Names of the pattern's points.
    target_names : ndarray of shape (1,)
        ``["intensity"]``.
    labels : tuple of str of length n
        Names of the crystals.
    offsets : ndarray of int64 of shape (n + 1,)
        Where the peaks of each crystal begin and end.
    two_theta : ndarray of float64 of shape (n_peaks,)
        Where Bragg's law puts the peak, in degrees; the zero shift is not in it. Some
        lie just outside the range of the pattern, which their tails reach.
    d : ndarray of float64 of shape (n_peaks,)
        Distance of the planes in angstrom.
    intensity : ndarray of float64 of shape (n_peaks,)
        Area of the peak, raw.
    hkl : ndarray of int64 of shape (n_peaks, 3)
        Indices of one of its reflections.
    multiplicity : ndarray of int64 of shape (n_peaks,)
        Number of reflections that fall together.
    conditions : ndarray of float64 of shape (n_columns,)
        Conditions of the pattern.
    two_theta_range : ndarray of float64 of shape (2,)
        First and last angle of the pattern, in degrees.
    unit : str, default="structure"
        What one case is.
    meta : mapping, default={}
        How it was made.

    Attributes
    ----------
    complexity : int
        Largest number of peaks that hold 80 per cent of a crystal's intensity.

    See Also
    --------
    PowderXRDSimulator : Gives it.

    Examples
    --------
    >>> from skinterp_xrd import PowderXRDSimulator
    >>> cell = [[2.8665, 0, 0], [0, 2.8665, 0], [0, 0, 2.8665]]
    >>> iron = (cell, ["Fe", "Fe"], [[0, 0, 0], [0.5, 0.5, 0.5]])
    >>> told = PowderXRDSimulator(random_state=0).fit().explain([iron])
    >>> print(told.to_text())
    structure 0, Fe2: 2 peaks from 10 to 80 degrees
      44.71 deg (d 2.027): (1, 1, 0), 12 reflections, 87.2%
      65.08 deg (d 1.433): (2, 0, 0), 6 reflections, 12.8%
    """

    kind = "peaks"

    labels: tuple[str, ...]
    offsets: NDArray[np.int64]
    two_theta: NDArray[np.float64]
    d: NDArray[np.float64]
    intensity: NDArray[np.float64]
    hkl: NDArray[np.int64]
    multiplicity: NDArray[np.int64]
    conditions: NDArray[np.float64]
    two_theta_range: NDArray[np.float64]

    def _normalise(self) -> None:
        for name in ("two_theta", "d", "intensity", "conditions", "two_theta_range"):
            self._set(name, np.asarray(getattr(self, name), dtype=np.float64))
        for name in ("offsets", "hkl", "multiplicity"):
            self._set(name, np.asarray(getattr(self, name), dtype=np.int64))
        self._set("hkl", self.hkl.reshape(-1, 3))
        self._set("labels", tuple(str(one) for one in self.labels))

    def _check(self) -> None:
        if self.scope != "local":
            msg = f"peaks are those of crystals: scope={self.scope!r} is not 'local'"
            raise ValueError(msg)
        n, n_peaks = len(self.labels), len(self.two_theta)
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(PER_PEAK, (n_peaks,))
        shapes |= {"hkl": (n_peaks, 3), "offsets": (n + 1,)}
        shapes |= {"conditions": (len(COLUMNS),), "two_theta_range": (2,)}
        for name, expected in shapes.items():
            got = np.shape(getattr(self, name))
            if got != expected:
                msg = f"{name} has shape {got}, expected {expected}"
                raise ValueError(msg)
        ends = (self.offsets[0], self.offsets[-1])
        if ends != (0, n_peaks) or (np.diff(self.offsets) < 0).any():
            msg = f"offsets must rise from 0 to {n_peaks}, got {self.offsets}"
            raise ValueError(msg)

    def __len__(self) -> int:
        return len(self.labels)

    def _take(self, indices: NDArray[np.intp]) -> Self:
        parts = [np.arange(*self.offsets[i : i + 2]) for i in indices]
        at = np.concatenate([np.zeros(0, np.intp), *parts])
        counts = [len(part) for part in parts]
        return self._with(
            labels=tuple(self.labels[i] for i in indices),
            offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            **{name: getattr(self, name)[at] for name in PER_PEAK},
        )

    def top(self, k: int) -> Self:
        """Keep the crystals whose patterns have the most peaks.

        Parameters
        ----------
        k : int
            Number of crystals, at least 1.

        Returns
        -------
        PowderPeaks
            Of these, in their order if they are all.
        """
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
            msg = f"k={k!r} is not allowed: it must be an integer of at least 1"
            raise ValueError(msg)
        if k >= len(self):
            return self
        return self._take(np.argsort(-np.diff(self.offsets), kind="stable")[:k])

    @property
    def in_range(self) -> NDArray[np.bool_]:
        """Whether each peak, as shifted, lies within the pattern."""
        at = self.two_theta + self.conditions[PLACE["zero_shift"]]
        low, high = self.two_theta_range
        return np.asarray((at >= low) & (at <= high))

    @property
    def share(self) -> NDArray[np.float64]:
        """Share of each peak in the intensity of its crystal's peaks in the range."""
        inside = np.where(self.in_range, self.intensity, 0.0)
        share = np.zeros(len(inside))
        for i in range(len(self)):
            part = slice(*self.offsets[i : i + 2])
            total = inside[part].sum()
            share[part] = inside[part] / total if total > 0 else 0.0
        return share

    @property
    def complexity(self) -> int:
        """Largest number of peaks that hold 80 per cent of a crystal's intensity."""
        most, share = 0, self.share
        for i in range(len(self)):
            held = np.cumsum(np.sort(share[slice(*self.offsets[i : i + 2])])[::-1])
            if len(held) and held[-1] > 0:
                most = max(most, int(np.searchsorted(held, 0.8 - 1e-9)) + 1)
        return most

    def to_frame(self) -> pd.DataFrame:
        """Give the peaks as a table.

        Returns
        -------
        pandas.DataFrame
            A line per crystal and peak, by angle: ``structure``, ``label``,
            ``two_theta``, ``d``, ``hkl``, ``multiplicity``, ``intensity`` (raw),
            ``share``, ``in_range``.
        """
        import pandas as pd

        rows = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        return pd.DataFrame(
            {
                self.unit: rows,
                "label": [self.labels[i] for i in rows],
                "two_theta": self.two_theta.copy(),
                "d": self.d.copy(),
                "hkl": [tuple(one) for one in self.hkl.tolist()],
                "multiplicity": self.multiplicity.copy(),
                "intensity": self.intensity.copy(),
                "share": self.share,
                "in_range": self.in_range,
            }
        )

    def to_text(self) -> str:
        """Say which peaks each crystal's pattern has.

        Returns
        -------
        str
            The strongest ones of the first crystals.
        """
        lines: list[str] = []
        for i in range(min(len(self), MAX_SHOWN)):
            lines += self._say(i)
        if len(self) > MAX_SHOWN:
            lines.append(f"... {len(self) - MAX_SHOWN} more")
        return "\n".join(lines)

    def _say(self, i: int) -> list[str]:
        first, share = self.offsets[i], self.share
        inside = first + np.flatnonzero(self.in_range[first : self.offsets[i + 1]])
        low, high = self.two_theta_range
        head = (
            f"{self.unit} {i}, {self.labels[i]}: {len(inside)} peaks from {low:g} to "
            f"{high:g} degrees"
        )
        strongest = inside[np.argsort(-share[inside], kind="stable")[:MAX_PEAKS]]
        lines = [
            f"  {self.two_theta[p]:.2f} deg (d {self.d[p]:.4g}): "
            f"{tuple(self.hkl[p].tolist())}, {self.multiplicity[p]} reflections, "
            f"{share[p]:.1%}"
            for p in strongest
        ]
        return [head, *lines]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the peaks as sticks, one crystal above the other.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw. None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on: the first crystals, with the indices of their strongest
            peaks; each crystal's strongest peak is 1 high.
        """
        from skinterp_xrd._peaks_plot import draw

        return draw(self, ax)

    def check_faithful(self, estimator: Any, X: Any) -> None:
        """Draw the patterns of the peaks told, and hold them against the simulator's.

        Parameters
        ----------
        estimator : PowderXRDSimulator
            The simulator that was explained.
        X : iterable of structures
            The explained crystals.

        Raises
        ------
        AssertionError
            If a pattern without chance differs by more than 1e-5 of its maximum.
        """
        nominal = dict(zip(FACTORS, self.conditions.tolist(), strict=False))
        model = clone(estimator).set_params(conditions=nominal, verbose=0)
        patterns = model.transform(X)
        low, high = self.two_theta_range
        beam = Beam(
            float(model.wavelength),
            float(low),
            float(high),
            float(model.step),
            model.physics,
            model.normalise,
        )
        for i, pattern in enumerate(patterns):
            drawn = self._pattern(i, beam)
            worst = np.abs(drawn - pattern).max()
            assert worst <= TOLERANCE * max(pattern.max(), 1e-300), (
                f"the pattern of structure {i} ({self.labels[i]}) differs from its "
                f"peaks by {worst:g}, of a maximum of {pattern.max():g}"
            )

    def _pattern(self, i: int, beam: Beam) -> NDArray[np.float64]:
        part = slice(*self.offsets[i : i + 2])
        table = np.zeros((self.offsets[i + 1] - self.offsets[i], 7))
        table[:, 0], table[:, 2] = self.two_theta[part], self.intensity[part]
        draws = draws_of(self.conditions, beam.n_points)
        profile = profile_of(Peaks(table), self.conditions, beam)
        return finish(profile, self.conditions, beam, draws)

    def map_features(self, feature_map: FeatureMap) -> Self:
        """Return the same: a crystal has no columns.

        Parameters
        ----------
        feature_map : FeatureMap
            Not looked at.

        Returns
        -------
        PowderPeaks
            The explanation itself.
        """
        return self


def explain_peaks(
    structures: Sequence[Structure],
    beam: Beam,
    ranges: Mapping[str, tuple[float, float]],
) -> PowderPeaks:
    """Tell the peaks of crystals.

    Parameters
    ----------
    structures : sequence of Structure
        The crystals.
    beam : Beam
        What is measured.
    ranges : mapping of str to tuple
        Conditions, as of ``ranges_of``.

    Returns
    -------
    PowderPeaks
        Without what is drawn by chance.
    """
    row = nominal_row(ranges)
    rng = np.random.Generator(np.random.PCG64(0))  # nothing is drawn from it
    made = [peaks_under(one, row, beam, rng) for one in structures]
    table = np.concatenate([np.empty((0, 7)), *(one.table for one in made)])
    counts = [len(one) for one in made]
    return PowderPeaks(
        scope="local",
        feature_names=tuple(f"2theta={x:.10g}" for x in beam.grid()),
        target_names=np.array(["intensity"]),
        labels=tuple(one.label or one.formula for one in structures),
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        two_theta=table[:, 0],
        d=table[:, 1],
        intensity=table[:, 2],
        hkl=table[:, 3:6],
        multiplicity=table[:, 6],
        conditions=row,
        two_theta_range=np.array([beam.low, beam.high]),
    )


def nominal_row(ranges: Mapping[str, tuple[float, float]]) -> NDArray[np.float64]:
    """Conditions without chance: fixed factors as they are, drawn ones ideal.

    Parameters
    ----------
    ranges : mapping of str to tuple
        As of ``ranges_of``.

    Returns
    -------
    ndarray of float64 of shape (n_columns,)
        In the order of ``COLUMNS``.
    """
    row = np.zeros(len(COLUMNS))
    for name, (low, high) in ranges.items():
        fixed = low == high and name not in _CHANCE
        row[PLACE[name]] = low if fixed else IDEAL_CONDITIONS[name]
    return row
