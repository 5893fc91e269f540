"""Crystals in, measured-looking powder patterns out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state

from skinterp.base import ExplainableMixin, SkinterpTags
from skinterp.compat import (
    Integral,
    Interval,
    Real,
    StrOptions,
    check_parameter,
    fit_context,
)
from skinterp_xrd._conditions import (
    draw_conditions,
    frame_of_conditions,
    is_random,
    ranges_of,
    rows_of_conditions,
)
from skinterp_xrd._patterns import Beam
from skinterp_xrd._rendering import Patterns, beam_of, positions_of, render
from skinterp_xrd._sticks import CU_K_ALPHA, find_peaks
from skinterp_xrd._structures import Structure, as_structures

if TYPE_CHECKING:
    import pandas as pd

    from skinterp.explanation import Explanation


class PowderXRDSimulator(ExplainableMixin, TransformerMixin, BaseEstimator):
    r"""Simulate powder X-ray diffraction patterns of crystals.

    Bragg peaks with the structure factors of pymatgen, drawn as a diffractometer would
    see them: broadened by grains, distortion, slit and axial divergence, shifted,
    weakened by thermal motion and texture, on a background and with noise. Each pattern
    draws its conditions from a seed of its own, which does not depend on ``n_jobs``.
    Nothing is learnt, so that all methods work before ``fit``, which fixes the seed.

    Parameters
    ----------
    wavelength : float, default=1.54184
        Of the X-rays, in angstrom; by default that of copper's K alpha.
    two_theta : tuple of float, default=(10, 80)
        First and last angle in degrees, within [0, 180); at most 90 in the paper's
        physics.
    step : float, default=0.02
        Distance of the angles in degrees.
    conditions : "random", None or mapping of str to float or pair, default="random"
        "random" draws from `RANDOM_CONDITIONS`, None takes `IDEAL_CONDITIONS`. A
        mapping sets a factor to a number, or to be drawn from a pair (low, high);
        factors that it lacks are ideal. To change single ones of the random ones:
        ``RANDOM_CONDITIONS | {"zero_shift": 0.0}``.
    physics : {"strict", "paper"}, default="strict"
        "strict" follows the physics; "paper" the numbers of the released generator
        (see Notes).
    normalise : {"max100", "area"} or None, default="max100"
        Whether patterns have the maximum 100, their profile (before background and
        noise) the area 1, or intensities are left in electrons squared.
    n_jobs : int, default=None
        Number of threads, as in joblib.
    random_state : int, RandomState or None, default=None
        Seed of the conditions.
    verbose : int, default=0
        Whether to show a bar.

    Attributes
    ----------
    grid_ : ndarray of float64 of shape (n_points,)
        The angles in degrees; known before ``fit``.
    seed_ : int
        Drawn in ``fit``; without it each call draws anew.

    See Also
    --------
    find_peaks : The peaks of one crystal.
    XRDSymmetryClassifier : Tells symmetry from patterns.

    Notes
    -----
    A peak at :math:`2\theta` has the intensity of `find_peaks` times
    :math:`e^{-2M}`, :math:`M = \frac{8}{3} \pi^2 u^2 \sin^2\theta / \lambda^2` for the
    displacement ``u``, times ``clip(N(1, 0.2), 1 - orientation_low, 1 +
    orientation_high)``. Its shape is a pseudo-Voigt function of Thompson, Cox and
    Hastings, of Lorentzian FWHM :math:`0.888 \lambda / (D \cos\theta)` for grains of
    size D and a Gaussian of variance ``residual_variance`` (degrees squared), under the
    axial divergence of van Laar and Yelon, averaged over the slit. It ends max(6, 20
    FWHM) degrees away. Heights differ from an exact Voigt function's by 0.2 % of the
    peak for grains from 2 to 20 nm, by 1 % at 100 nm. The polynomial of the background
    is one of the angles scaled to [-1, 1].

    With ``physics="paper"``, Scherrer's formula takes nm for angstrom and its radians
    for degrees, once in the Lorentzian and once more in the Gaussian, so that peaks are
    about 4 times narrower in all; axial divergence is that of a tenth of the radius,
    without its flat part; convolutions move peaks by up to three steps; there is no
    zero shift; texture has one bound; and the background is a polynomial of degrees,
    of which the highest power decides. ``patterns`` of the two differ: train and test
    on the same.

    In both, the label of a crystal's symmetry stays what it was, while stretch and
    shear break the symmetry slightly. They are applied to the cell as given; give the
    conventional one.

    The cost of a pattern is O(R m + P w) in time for R reflections, m atoms, P peaks
    and w points within a peak's reach, and O(n_points) in memory: reflections are taken
    in shells; where there are more than half a million, those that lie closer than a
    fiftieth of the step are drawn as one.

    References
    ----------
    .. [1] B. Cao, Y. Liu, Z. Zheng, R. Tan, J. Li, T.-Y. Zhang, "SimXRD-4M: Big
       Simulated X-ray Diffraction Data and Crystal Symmetry Classification Benchmark",
       ICLR 2025, arXiv:2406.15469.
    .. [2] B. van Laar, W. B. Yelon, "The peak in neutron powder diffraction", Journal
       of Applied Crystallography 17 (1984), doi:10.1107/S0021889884011006.
    .. [3] P. Thompson, D. E. Cox, J. B. Hastings, "Rietveld refinement of
       Debye-Scherrer synchrotron X-ray data from Al2O3", Journal of Applied
       Crystallography 20 (1987), doi:10.1107/S0021889887087090.

    Examples
    --------
    >>> from skinterp_xrd import PowderXRDSimulator
    >>> cell = [[2.8665, 0, 0], [0, 2.8665, 0], [0, 0, 2.8665]]
    >>> iron = (cell, ["Fe", "Fe"], [[0, 0, 0], [0.5, 0.5, 0.5]])
    >>> simulator = PowderXRDSimulator(random_state=0)
    >>> patterns, conditions, groups = simulator.simulate([iron], n_patterns=3)
    >>> patterns.shape, patterns.dtype, groups
    ((3, 3501), dtype('float32'), array([0, 0, 0]))
    >>> again = simulator.regenerate([iron], conditions[2:])
    >>> bool((again == patterns[2:]).all())
    True
    """

    explains: ClassVar = {"local": ("peaks",)}
    _parameter_constraints: ClassVar = {
        "wavelength": [Interval(Real, 0, None, closed="neither")],
        "two_theta": [tuple, list],
        "step": [Interval(Real, 0, None, closed="neither")],
        "conditions": [StrOptions({"random"}), dict, Mapping, None],
        "physics": [StrOptions({"strict", "paper"})],
        "normalise": [StrOptions({"max100", "area"}), None],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        wavelength: float = CU_K_ALPHA,
        two_theta: tuple[float, float] = (10, 80),
        step: float = 0.02,
        conditions: Any = "random",
        physics: str = "strict",
        normalise: str | None = "max100",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.wavelength = wavelength
        self.two_theta = two_theta
        self.step = step
        self.conditions = conditions
        self.physics = physics
        self.normalise = normalise
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Check the parameters, and fix the seed; nothing is learnt.

        Parameters
        ----------
        X : iterable of structures, default=None
            Not looked at.
        y : object, default=None
            Not looked at.

        Returns
        -------
        PowderXRDSimulator
            The simulator itself.
        """
        self._beam()
        ranges_of(self.conditions)
        self.seed_ = _seed_from(self.random_state)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "seed_")

    @property
    def grid_(self) -> NDArray[np.float64]:
        """Angles of the patterns in degrees."""
        return self._beam().grid()

    def transform(self, X: Any) -> Patterns:
        """Simulate one pattern of each crystal.

        Parameters
        ----------
        X : iterable of structures
            Crystals in any form that `as_structure` takes.

        Returns
        -------
        ndarray of float32 of shape (n_structures, n_points)
            The patterns. Zeros, and a warning, where no reflection is in the range.

        Raises
        ------
        ValueError
            If a structure or a parameter is wrong; the message says which.
        """
        structures = as_structures(X)
        rows = self._draw(len(structures), 1)
        return self._render(structures, np.arange(len(structures)), rows)

    def simulate(
        self, structures: Any, n_patterns: int = 1
    ) -> tuple[Patterns, pd.DataFrame, NDArray[np.int64]]:
        """Simulate several patterns of each crystal.

        Parameters
        ----------
        structures : iterable of structures
            Crystals in any form that `as_structure` takes.
        n_patterns : int, default=1
            Patterns of each, which follow each other. The first of each crystal is that
            of ``transform``, the conditions do not depend on how many there are.

        Returns
        -------
        patterns : ndarray of float32 of shape (n_structures * n_patterns, n_points)
            The patterns.
        conditions : pandas.DataFrame
            Their conditions, from which `regenerate` makes any of them again.
        groups : ndarray of int64 of shape (n_structures * n_patterns,)
            Position of each pattern's crystal, for ``GroupKFold``.
        """
        made = as_structures(structures)
        n_patterns = _at_least_one(n_patterns, "n_patterns")
        rows = self._draw(len(made), n_patterns)
        groups = np.repeat(np.arange(len(made)), n_patterns)
        return self._render(made, groups, rows), frame_of_conditions(rows), groups

    def regenerate(
        self, structures: Any, conditions: pd.DataFrame, groups: ArrayLike | None = None
    ) -> Patterns:
        """Simulate patterns under given conditions.

        Parameters
        ----------
        structures : iterable of structures
            Crystals in any form that `as_structure` takes.
        conditions : pandas.DataFrame
            A row for each pattern, as of ``simulate`` or ``sample_conditions``.
        groups : array-like of int of shape (n_conditions,), default=None
            Position of each row's crystal. None takes the crystals one by one, or one
            crystal for all rows.

        Returns
        -------
        ndarray of float32 of shape (n_conditions, n_points)
            The patterns: the same as before, bit for bit.

        Raises
        ------
        ValueError
            If the table is not one of conditions, or does not fit the crystals.
        """
        made = as_structures(structures)
        rows = rows_of_conditions(conditions)
        which = positions_of(groups, len(rows), len(made))
        return self._render(made, which, rows)

    def sample_conditions(self, n: int) -> pd.DataFrame:
        """Draw conditions without simulating anything.

        Parameters
        ----------
        n : int
            How many, at least 1.

        Returns
        -------
        pandas.DataFrame
            A row for each: those of ``transform`` on n crystals.
        """
        return frame_of_conditions(self._draw(_at_least_one(n, "n"), 1))

    def peaks(self, structures: Any) -> list[pd.DataFrame]:
        """Compute the Bragg peaks of each crystal, without any conditions.

        Parameters
        ----------
        structures : iterable of structures
            Crystals in any form that `as_structure` takes.

        Returns
        -------
        list of pandas.DataFrame
            For each, a line per peak within the range: ``two_theta`` in degrees, ``d``
            in angstrom, ``intensity`` with the strongest at 100, ``hkl`` and
            ``multiplicity``.
        """
        beam = self._beam()
        return [
            find_peaks(one, beam.wavelength, (beam.low, beam.high)).to_frame()
            for one in as_structures(structures)
        ]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Name the points of a pattern.

        Parameters
        ----------
        input_features : object, default=None
            Not looked at.

        Returns
        -------
        ndarray of str of shape (n_points,)
            ``"2theta=10.02"`` and so on.
        """
        return np.array([f"2theta={x:.10g}" for x in self.grid_], dtype=object)

    def _explain(self, X: Sequence[Structure], *, kind: str) -> Explanation:
        from skinterp_xrd._peaks import explain_peaks

        return explain_peaks(X, self._beam(), ranges_of(self.conditions))

    def _validate_X(self, X: Any) -> Any:
        return as_structures(X)

    def _beam(self) -> Beam:
        for name in ("wavelength", "two_theta", "step", "physics", "normalise"):
            check_parameter(self, name)
        return beam_of(
            self.wavelength, self.two_theta, self.step, self.physics, self.normalise
        )

    def _draw(self, n_structures: int, n_patterns: int) -> NDArray[np.float64]:
        """Draw a row of conditions for each pattern of each crystal."""
        check_parameter(self, "conditions")
        ranges = ranges_of(self.conditions)
        seed = getattr(self, "seed_", None)
        if seed is None:
            check_parameter(self, "random_state")
            seed = _seed_from(self.random_state)
        seeds = (
            np.random.SeedSequence(seed, spawn_key=(i, j))
            for i in range(n_structures)
            for j in range(n_patterns)
        )
        return draw_conditions(ranges, seeds)

    def _render(
        self,
        structures: Sequence[Structure],
        groups: NDArray[np.int64],
        rows: NDArray[np.float64],
    ) -> Patterns:
        for name in ("n_jobs", "verbose"):
            check_parameter(self, name)
        if self.n_jobs == 0:
            raise ValueError("n_jobs must be None or an integer other than 0, got 0.")
        return render(structures, groups, rows, self._beam(), self.n_jobs, self.verbose)

    @classmethod
    def _test_params(cls) -> list[dict[str, Any]]:
        # coarse angles: quick, and all that the checks ask is there
        return [
            {"step": 0.5},
            {"step": 0.5, "physics": "paper", "normalise": "area"},
            {"step": 0.5, "conditions": {"grain_size_nm": 5.0}, "normalise": None},
        ]

    def __skinterp_tags__(self) -> SkinterpTags:
        return SkinterpTags(
            input="structure",
            unit="structure",
            stochastic=is_random(self.conditions),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.no_validation = True
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def _seed_from(random_state: Any) -> int:
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _at_least_one(n: Any, name: str) -> int:
    if isinstance(n, bool) or not isinstance(n, Integral) or n < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {n!r}.")
    return int(n)
