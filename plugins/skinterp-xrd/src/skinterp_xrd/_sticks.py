"""Stick patterns: where a powder of a crystal reflects, and how strongly."""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skinterp_xrd._elements import form_factor_coefficients, symbols
from skinterp_xrd._sticks_kernels import (
    SHELL,
    TOLERANCE,
    cell_volume,
    stick_pattern,
)
from skinterp_xrd._structures import Structure, as_structure

if TYPE_CHECKING:
    import pandas as pd

# Copper's K alpha, the mean of the doublet, in angstrom.
CU_K_ALPHA = 1.54184

# More reflections than this take hours, longer edges gigabytes for tables of phases:
# lengths in another unit, most likely.
MOST_REFLECTIONS, LARGEST_INDEX = 1e9, 100_000

# Coefficients of every element: the kernels look a number up by themselves.
FORM_FACTORS = form_factor_coefficients(np.arange(1, len(symbols()) + 1))


class Peaks:
    """The peaks of one crystal's powder pattern, ordered by angle.

    Parameters
    ----------
    table : ndarray of float64 of shape (n, 7)
        A peak's two-theta, d, intensity, h, k, l and multiplicity in each row.

    Attributes
    ----------
    two_theta : ndarray of float64 of shape (n,)
        Position in degrees.
    d : ndarray of float64 of shape (n,)
        Distance of the lattice planes in angstrom.
    intensity : ndarray of float64 of shape (n,)
        Structure factors squared, in electrons, with Lorentz and polarisation factor,
        summed over all reflections of the peak: the raw one, for the cell as given.
    hkl : ndarray of int64 of shape (n, 3)
        Indices of one of its reflections: that with the fewest signs, then the largest.
    multiplicity : ndarray of int64 of shape (n,)
        How many reflections fall together, -h counted with h.

    See Also
    --------
    find_peaks : Compute them.

    Examples
    --------
    >>> from skinterp_xrd import find_peaks
    >>> cell = [[2.8665, 0, 0], [0, 2.8665, 0], [0, 0, 2.8665]]
    >>> iron = (cell, ["Fe", "Fe"], [[0, 0, 0], [0.5, 0.5, 0.5]])
    >>> peaks = find_peaks(iron)
    >>> peaks.two_theta.round(4), peaks.multiplicity
    (array([44.7095, 65.0792]), array([12,  6]))
    """

    __slots__ = ("table",)

    def __init__(self, table: NDArray[np.float64]) -> None:
        self.table = table

    def __len__(self) -> int:
        """Return the number of peaks."""
        return len(self.table)

    def __repr__(self) -> str:
        """Say how many there are, and where."""
        if not len(self):
            return "Peaks(none)"
        first, last = self.two_theta[[0, -1]]
        return f"Peaks({len(self)} from {first:.4f} to {last:.4f} degrees)"

    @property
    def two_theta(self) -> NDArray[np.float64]:
        """Positions in degrees."""
        return self.table[:, 0]

    @property
    def d(self) -> NDArray[np.float64]:
        """Distances of the lattice planes in angstrom."""
        return self.table[:, 1]

    @property
    def intensity(self) -> NDArray[np.float64]:
        """Raw intensities."""
        return self.table[:, 2]

    @property
    def scaled(self) -> NDArray[np.float64]:
        """Intensities with the strongest at 100."""
        raw = self.intensity
        return 100.0 * raw / raw.max() if len(raw) else raw.copy()

    @property
    def hkl(self) -> NDArray[np.int64]:
        """Indices of one reflection of each peak."""
        return self.table[:, 3:6].astype(np.int64)

    @property
    def multiplicity(self) -> NDArray[np.int64]:
        """Number of reflections of each peak."""
        return self.table[:, 6].astype(np.int64)

    def to_frame(self) -> pd.DataFrame:
        """Give the peaks as a table, the strongest at 100.

        Returns
        -------
        pandas.DataFrame
            Columns ``two_theta``, ``d``, ``intensity``, ``hkl`` (tuples) and
            ``multiplicity``.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "two_theta": self.two_theta.copy(),
                "d": self.d.copy(),
                "intensity": self.scaled,
                "hkl": [tuple(row) for row in self.hkl.tolist()],
                "multiplicity": self.multiplicity,
            }
        )


def find_peaks(
    structure: Any,
    wavelength: float = CU_K_ALPHA,
    two_theta_range: tuple[float, float] = (10.0, 80.0),
    *,
    shell: int = SHELL,
) -> Peaks:
    r"""Compute the stick pattern of a crystal's powder.

    Parameters
    ----------
    structure : object
        A crystal in any form that `as_structure` takes.
    wavelength : float, default=1.54184
        Of the X-rays, in angstrom.
    two_theta_range : tuple of float, default=(10.0, 80.0)
        Lowest and highest angle in degrees, within [0, 180).
    shell : int, default=131072
        About how many reflections are held at once; the peaks do not depend on it.

    Returns
    -------
    Peaks
        Ordered by two-theta. Peaks weaker than 1e-5 of the strongest are left out.

    Raises
    ------
    ValueError
        If the structure, the wavelength or the range is wrong, or there are more than
        1e9 reflections.

    Notes
    -----
    Of each reciprocal vector of length ``g``, with :math:`s = \sin\theta / \lambda
    = g / 2`,

    .. math:: F = \sum_j o_j f_j(s) e^{-B_j s^2} e^{2 \pi i h \cdot x_j}, \qquad
       I = |F|^2 \frac{1 + \cos^2 2\theta}{\sin^2\theta \cos\theta}.

    Intensities of reflections whose two-theta agree when rounded to 1e-5 degree are
    added, so that multiplicities and absences need no table. Anomalous dispersion is
    left out, and with it any difference between h and -h. The cost is O(R m) in time
    for R reflections (proportional to the cell's volume over the wavelength cubed) and
    m atoms; in memory, O(shell + peaks).

    References
    ----------
    .. [1] S. P. Ong et al., "Python Materials Genomics (pymatgen)", Computational
       Materials Science 68 (2013), doi:10.1016/j.commatsci.2012.10.028: the form
       factors, and the rules of merging and leaving out.

    Examples
    --------
    >>> from skinterp_xrd import find_peaks
    >>> a = 4.209
    >>> cell = [[a, 0, 0], [0, a, 0], [0, 0, a]]
    >>> salt = (cell, ["Cs", "Cl"], [[0, 0, 0], [0.5, 0.5, 0.5]])
    >>> find_peaks(salt).to_frame().head(2).round(4)
       two_theta       d  intensity        hkl  multiplicity
    0    21.1077  4.2090    36.4832  (1, 0, 0)             6
    1    30.0247  2.9762   100.0000  (1, 1, 0)            12
    """
    made = structure if isinstance(structure, Structure) else as_structure(structure)
    check_beam(wavelength, two_theta_range)
    low, high = two_theta_range
    check_size(made.lattice, float(wavelength), float(high))
    return Peaks(
        stick_pattern(
            made.lattice,
            made.numbers,
            made.coords,
            made.occupancies,
            made.b_iso,
            FORM_FACTORS,
            float(wavelength),
            float(low),
            float(high),
            shell,
            TOLERANCE,
        )
    )


def check_beam(wavelength: Any, two_theta_range: Any) -> None:
    """Refuse a wavelength or a range of angles that there cannot be.

    Parameters
    ----------
    wavelength : float
        In angstrom.
    two_theta_range : tuple of float
        Lowest and highest angle in degrees.

    Raises
    ------
    ValueError
        Naming the parameter, the value and what is allowed.

    Examples
    --------
    >>> from skinterp_xrd._sticks import check_beam
    >>> check_beam(1.54184, (10, 190))
    Traceback (most recent call last):
        ...
    ValueError: two_theta must be two angles, 0 <= low < high < 180, got (10, 190).
    """
    if not (isinstance(wavelength, Real) and 0 < float(wavelength) < np.inf):
        raise ValueError(
            f"wavelength must be a finite number above 0 angstrom, got {wavelength!r}."
        )
    try:
        low, high = two_theta_range
        sound = bool(0 <= low < high < 180)
    except (TypeError, ValueError):
        sound = False
    if not sound:
        raise ValueError(
            "two_theta must be two angles, 0 <= low < high < 180, got "
            f"{two_theta_range!r}."
        )


def check_size(
    lattice: NDArray[np.float64], wavelength: float, two_theta: float
) -> float:
    """Estimate how many reflections a cell has, and refuse what would take days.

    Parameters
    ----------
    lattice : ndarray of float64 of shape (3, 3)
        Edges as rows, in angstrom.
    wavelength : float
        In angstrom.
    two_theta : float
        Highest angle in degrees.

    Returns
    -------
    float
        The number up to that angle, h and -h counted once.

    Raises
    ------
    ValueError
        If there are more than 1e9 of them, or an index is above 100,000.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp_xrd._sticks import check_size
    >>> round(check_size(5.64 * np.eye(3), 1.54184, 80.0))
    218
    """
    g_max = 2.0 * math.sin(math.radians(two_theta / 2)) / wavelength
    number = 2.0 * math.pi / 3.0 * float(cell_volume(lattice)) * g_max**3
    edges = np.sqrt((lattice * lattice).sum(axis=1))
    if number <= MOST_REFLECTIONS and edges.max() * g_max <= LARGEST_INDEX:
        return number
    a, b, c = edges
    raise ValueError(
        f"A cell with the edges {a:.4g}, {b:.4g} and {c:.4g} angstrom has about "
        f"{number:.2g} reflections up to {two_theta:g} degrees at the wavelength "
        f"{wavelength:g} angstrom, with indices up to {edges.max() * g_max:.2g}; at "
        f"most {MOST_REFLECTIONS:.0e}, with indices up to {LARGEST_INDEX:,}, are "
        "computed. Are all lengths in angstrom?"
    )
