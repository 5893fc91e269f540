"""Slices as text and as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._literals import Literal, say

if TYPE_CHECKING:
    import pandas as pd

    from skinterp.explanation._slices import SliceSet

MAX_COVER = 12
MAX_WORST = 5
MAX_ROWS = 50


def say_condition(literal: Literal, name: str, dtype: str) -> str:
    """Put a condition into words; a cell of many labels has one of them."""
    if dtype != "tags":
        return say(literal, name, dtype)
    labels = " or ".join(repr(label) for label in literal.categories or ())
    return f"{name} has {labels}"


def say_slice(slices: SliceSet, s: int) -> str:
    """All conditions of a slice."""
    names, dtypes = slices.feature_names, slices.feature_dtypes
    parts = [
        say_condition(x, names[x.feature], dtypes[x.feature])
        for x in slices.literals(s)
    ]
    return " and ".join(parts) if parts else "all rows"


def say_slices(slices: SliceSet) -> str:
    """What is left on rows held out, then the cover, then the worst."""
    metric = str(slices.target_names[0])
    if not slices.n_slices:
        return (
            f"No slice of {slices.n_tests} tested has {_say_gap(slices, slices.gap)} "
            f"than the overall {metric} {slices.overall:.3g} of {slices.n_rows} rows"
        )
    lines = [*_say_held(slices), _say_found(slices)]
    cover = slices.cover
    if len(cover):
        lines.append(_say_cover(slices))
        lines += [f"  - {_say_figures(slices, s)}" for s in cover[:MAX_COVER]]
        lines += _more(len(cover) - MAX_COVER)
    rest = np.flatnonzero(slices.cover_step < 0)
    if len(rest):
        lines.append("first of the others")
        lines += [f"  - {_say_figures(slices, s)}" for s in rest[:MAX_WORST]]
        lines += _more(len(rest) - MAX_WORST)
    return "\n".join(lines)


def _say_held(slices: SliceSet) -> list[str]:
    """The gap that remains: what a reader should believe."""
    if slices.held_gaps is None:
        return ["Not estimated on other rows: the gaps below look larger than they are"]
    medians = _median_gaps(slices)
    if medians is None:
        return [f"None of the {slices.n_held} rows held out lies in a slice"]
    found, held = medians
    return [
        f"On {slices.n_held} rows held out the median slice "
        f"{'of the cover ' if len(slices.cover) else ''}has "
        f"{_say_gap(slices, held)} than overall ({slices.held_overall:.3g}); where it "
        f"was found {_say_gap(slices, found)} (optimism {found - held:.2g})"
    ]


def _median_gaps(slices: SliceSet) -> tuple[float, float] | None:
    """Gap of the median slice of the cover, as found and held out."""
    left = slices.held_gaps
    if left is None or slices.held_size is None:
        return None
    chosen = slices.cover if len(slices.cover) else np.arange(slices.n_slices)
    known = chosen[slices.held_size[chosen] > 0]
    if not len(known):
        return None
    return float(np.median(slices.gaps[known])), float(np.median(left[known]))


def say_shrinkage(slices: SliceSet) -> str:
    """What remains of the gap, in the few words of a title."""
    medians = _median_gaps(slices)
    if medians is None:
        return "not estimated on rows held out"
    found, held = medians
    return f"median gap of the cover: {held:.2g} held out, {found:.2g} as found"


def _say_found(slices: SliceSet) -> str:
    shown = ""
    if slices.n_slices != slices.n_found:
        shown = f", {slices.n_slices} of them kept"
    return (
        f"{slices.n_found} of {slices.n_tests} slices found with at least "
        f"{_say_gap(slices, slices.gap)} than {slices.overall:.3g} in "
        f"{slices.n_rows} rows{shown}"
    )


def _say_cover(slices: SliceSet) -> str:
    n = len(slices.cover)
    last = int(slices.cover_step.max())
    return (
        f"{n} {'slice holds' if n == 1 else 'slices hold'} "
        f"{slices.cover_errors[last]:.0%} of the errors in "
        f"{slices.cover_rows[last]:.0%} of the rows"
    )


def _say_gap(slices: SliceSet, gap: float) -> str:
    metric = str(slices.target_names[0])
    worse = "higher" if slices.loss == (gap >= 0) else "lower"
    return f"{abs(gap):.2g} {worse} {metric}"


def _say_figures(slices: SliceSet, s: int) -> str:
    found = (
        f"{slices.performance[s]:.3g} of {slices.size[s]} rows, "
        f"q = {slices.q_value[s]:.2g}"
    )
    condition = say_slice(slices, s)
    if slices.held_size is None or slices.held_performance is None:
        return f"{condition}: {found}"
    if not slices.held_size[s]:
        return f"{condition}: no row held out; found {found}"
    return (
        f"{condition}: held out {slices.held_performance[s]:.3g} of "
        f"{slices.held_size[s]} rows{_p(slices.held_p_value, s)}; found {found}"
    )


def _p(values: NDArray[np.float64] | None, s: int) -> str:
    return "" if values is None else f", p = {values[s]:.2g}"


def _more(n: int) -> list[str]:
    return [f"  ... {n} more"] if n > 0 else []


def say_rows(slices: SliceSet) -> str:
    """Slices of each row, the worst in words."""
    assert slices.row_offsets is not None
    lines = [_say_row(slices, i) for i in range(min(len(slices), MAX_ROWS))]
    if len(slices) > MAX_ROWS:
        lines.append(f"... {len(slices) - MAX_ROWS} more")
    return "\n".join(lines)


def _say_row(slices: SliceSet, i: int) -> str:
    assert slices.row_offsets is not None
    assert slices.row_slices is not None
    own = slices.row_slices[slices.row_offsets[i] : slices.row_offsets[i + 1]]
    head = f"{slices.unit} {i}"
    if slices.expected is not None:
        metric = slices.target_names[0]
        head += f", {metric} {slices.expected[i]:.3g} expected"
    if not len(own):
        return f"{head}: in no slice"
    more = f" (and {len(own) - 1} more)" if len(own) > 1 else ""
    return f"{head}: {_say_figures(slices, int(own[0]))}{more}"


def frame_of_slices(slices: SliceSet) -> pd.DataFrame:
    """A line per slice; of a local one, per row and slice."""
    import pandas as pd

    table: dict[str, Any] = {"slice": list(slices.conditions())}
    if slices.held_size is not None:
        table |= {
            "held_size": slices.held_size,
            "held_performance": slices.held_performance,
            "held_gap": slices.held_gaps,
            "held_p_value": slices.held_p_value,
            "held_q_value": slices.held_q_value,
        }
    table |= {
        "size": slices.size,
        "performance": slices.performance,
        "gap": slices.gaps,
        "p_value": slices.p_value,
        "q_value": slices.q_value,
        "error_share": slices.error_share,
        "cover_step": slices.cover_step,
    }
    frame = pd.DataFrame(table)
    if slices.row_offsets is None or slices.row_slices is None:
        return frame
    rows = np.repeat(np.arange(len(slices)), np.diff(slices.row_offsets))
    chosen = frame.iloc[slices.row_slices].reset_index(drop=True)
    chosen.insert(0, slices.unit, rows)
    return chosen
