"""What of a pattern is background: the slow part under the peaks."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import uniform_filter1d

__all__ = ["background_of"]

Patterns = NDArray[np.float64]


def background_of(
    patterns: ArrayLike, step: float, half_width: float = 5.0, smooth: float = 0.4
) -> Patterns:
    """Estimate the background of patterns by clipping their peaks.

    Each point is lowered to the mean of its neighbours at a distance, if it is above
    it, for all distances from ``half_width`` down to one point [1]_. Before that the
    noise is averaged, so that the background runs through it and not below.

    Parameters
    ----------
    patterns : array-like of shape (n_patterns, n_points)
        Intensities on an even grid.
    step : float
        Distance of the points, in degrees.
    half_width : float, default=5.0
        Largest distance, in degrees: peaks have to be narrower than twice this, what
        is background wider.
    smooth : float, default=0.4
        Width of the running mean, in degrees.

    Returns
    -------
    ndarray of shape (n_patterns, n_points)
        The background, nowhere above the smoothed pattern. Zero for patterns of fewer
        than three points.

    Notes
    -----
    Multiplying a pattern multiplies its background. The cost is O(n_points *
    half_width / step) for each pattern.

    References
    ----------
    .. [1] C. G. Ryan et al., "SNIP, a statistics-sensitive background treatment",
       Nucl. Instrum. Methods B 34 (1988), doi:10.1016/0168-583X(88)90063-8.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp_xrd._background import background_of
    >>> x = np.arange(10, 80, 0.1)
    >>> peak = 100 * np.exp(-(((x - 40) / 0.5) ** 2))
    >>> background_of([peak + 5.0], step=0.1).round(1).max().item()
    5.0
    """
    rows = np.asarray(patterns, dtype=np.float64)
    n_points = rows.shape[1]
    if n_points < 3:
        return np.zeros(rows.shape)
    wide = min(max(1, round(half_width / step)), (n_points - 1) // 2)
    level = uniform_filter1d(rows, max(1, round(smooth / step)), axis=1, mode="nearest")
    # beyond the ends the pattern goes on level, so that a slope is no peak there
    padded = np.pad(level, ((0, 0), (wide, wide)), mode="edge")
    inner = padded[:, wide:-wide]
    # from far to near: the other way round leaves steps under wide peaks
    for distance in range(wide, 0, -1):
        left = padded[:, wide - distance : wide - distance + n_points]
        right = padded[:, wide + distance : wide + distance + n_points]
        inner[...] = np.minimum(inner, (left + right) / 2)
    return inner.copy()
