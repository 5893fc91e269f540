"""How well symmetry is told: means over classes, and by how frequent they were."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "SymmetryReport",
    "by_frequency",
    "confusion_counts",
    "make_report",
    "thirds",
]

Counts = NDArray[np.float64]
_BINS = ("rare", "middle", "frequent")


@dataclass(frozen=True, eq=False)
class SymmetryReport:
    """Figures of a classifier on patterns whose labels are known.

    Means over classes ("macro") give each class that occurs the same say, as the
    patterns of one class are many times those of another.

    Parameters
    ----------
    accuracy : float
        Share of the patterns that are told right.
    macro_f1, macro_precision, macro_recall : float
        Means over the classes that occur in the labels; a class that was never
        predicted has precision 0.
    by_class : pandas.DataFrame
        Per class: "label", "training_rows", "patterns", "precision", "recall", "f1".
    by_frequency : pandas.DataFrame
        Per third of the classes, by their training rows: "frequency", "classes",
        "training_rows" (from to), "patterns", "accuracy", "macro_recall".

    See Also
    --------
    XRDSymmetryClassifier.report : Makes one.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp_xrd._report import make_report
    >>> report = make_report(np.array(["a", "b"]), [3, 1], [0, 0, 0, 1], [0, 0, 0, 0])
    >>> report.accuracy, round(report.macro_recall, 2)
    (0.75, 0.5)
    """

    accuracy: float
    macro_f1: float
    macro_precision: float
    macro_recall: float
    by_class: pd.DataFrame
    by_frequency: pd.DataFrame

    def __str__(self) -> str:
        """Write the figures and both tables."""
        head = (
            f"accuracy {self.accuracy:.3f}; means over classes: F1 {self.macro_f1:.3f}"
            f", precision {self.macro_precision:.3f}, recall {self.macro_recall:.3f}"
        )
        tables = (self.by_frequency, self.by_class)
        shown = [t.to_string(index=False, float_format="%.3f") for t in tables]
        return "\n\n".join([head, *shown])


def confusion_counts(
    truth: Any, predicted: Any, n_classes: int, weight: Any = None
) -> Counts:
    """Count patterns by class (rows) and what they were taken for (columns)."""
    pair = np.asarray(truth) * n_classes + np.asarray(predicted)
    counts = np.bincount(pair, weight, minlength=n_classes * n_classes)
    return counts.reshape(n_classes, n_classes).astype(np.float64)


def make_report(
    classes: NDArray[Any], training_rows: Any, truth: Any, predicted: Any
) -> SymmetryReport:
    """Make a report of class numbers."""
    import pandas as pd

    confusion = confusion_counts(truth, predicted, len(classes))
    right = np.diag(confusion)
    there, told = confusion.sum(axis=1), confusion.sum(axis=0)
    recall, precision = _ratio(right, there), _ratio(right, told)
    f1 = _ratio(2 * right, there + told)
    seen = there > 0  # a class without patterns has no recall
    table = pd.DataFrame(
        {
            "label": classes,
            "training_rows": np.asarray(training_rows, dtype=np.float64).round(1),
            "patterns": there.astype(int),
            "precision": precision,
            "recall": np.where(seen, recall, np.nan),
            "f1": f1,
        }
    )
    return SymmetryReport(
        accuracy=float(right.sum() / max(there.sum(), 1)),
        macro_f1=float(f1[seen].mean()),
        macro_precision=float(precision[seen].mean()),
        macro_recall=float(recall[seen].mean()),
        by_class=table,
        by_frequency=by_frequency(np.asarray(training_rows, dtype=float), confusion),
    )


def thirds(training_rows: Counts) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Gather classes in thirds by their training rows; equal ones stay together."""
    n = len(training_rows)
    # the rank of the first of equal ones, so that ties do not split
    rank = np.searchsorted(np.sort(training_rows), training_rows)
    third = rank * min(3, n) // n
    names = _BINS if n > 2 else (_BINS[0], _BINS[-1])
    for i in np.unique(third):
        yield names[i], third == i


def by_frequency(training_rows: Counts, confusion: Counts) -> pd.DataFrame:
    """Table of figures per third of the classes."""
    import pandas as pd

    lines = []
    for name, chosen in thirds(training_rows):
        there = confusion[chosen].sum(axis=1)
        right = np.diag(confusion)[chosen]
        rows, tried = training_rows[chosen], there > 0
        lines.append(
            {
                "frequency": name,
                "classes": int(chosen.sum()),
                "training_rows": f"{rows.min():.6g} to {rows.max():.6g}",
                "patterns": int(there.sum()),
                "accuracy": _mean(right.sum(), there.sum()),
                "macro_recall": _mean(_ratio(right, there).sum(), tried.sum()),
            }
        )
    return pd.DataFrame(lines)


def _ratio(a: Counts, b: Counts) -> Counts:
    return np.divide(a, b, out=np.zeros(len(a)), where=b > 0)


def _mean(total: float, n: float) -> float:
    return float(total / n) if n else float("nan")
