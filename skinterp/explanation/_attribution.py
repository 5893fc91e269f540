"""Attributions: a number per feature."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._base import Explanation, check_k, check_shapes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from skinterp.explanation._feature_map import FeatureMap

OUTPUTS = ("predict", "decision_function", "predict_proba", "predict_log_proba")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Attribution(Explanation):
    """A number per feature: what each adds to the output, or how much it matters.

    Parameters
    ----------
    scope : {"global", "local"}
        Local: additive parts of the output for each row. Global: importances, which
        need not add up to anything.
    feature_names : tuple of str
        Names of the columns.
    target_names : ndarray of shape (n_outputs,)
        Labels of the classes, or one name for a regressor.
    values : ndarray of shape (n_rows, n_features) or (n_rows, n_features, n_outputs)
        The parts. Global: without the first axis.
    base_values : ndarray of shape (n_rows,) or (n_rows, n_outputs), default=None
        Local: what the output is before any part is added.
    output : str, default=""
        Local: the method of the estimator whose output base and parts sum to.
    data : ndarray of shape (n_rows, n_features), default=None
        Local: the cells, shown beside the parts.
    members : tuple of tuple of int, default=()
        Positions of the columns that each feature stands for, where it may be a group
        of them, or none; empty where each feature is the column of its own position.
    unit : str, default="row"
        What one case is.
    meta : mapping, default={}
        How it was made.

    Attributes
    ----------
    complexity : int
        Number of features with a value other than zero.

    See Also
    --------
    RuleSet : Conditions instead of numbers.

    Notes
    -----
    A binary classifier with a one-dimensional decision function has two-dimensional
    values, positive in favour of the second class, as in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp.explanation import Attribution
    >>> parts = Attribution(
    ...     scope="local",
    ...     feature_names=("age", "dose"),
    ...     target_names=np.array(["y"]),
    ...     values=np.array([[1.0, -0.5]]),
    ...     base_values=np.array([2.0]),
    ...     output="predict",
    ... )
    >>> print(parts.to_text())
    row 0: 2.5 = 2 (base) + 1 (age) - 0.5 (dose)
    """

    kind = "attribution"

    values: NDArray[np.float64]
    base_values: NDArray[np.float64] | None = None
    output: str = ""
    data: NDArray[Any] | None = None
    members: tuple[tuple[int, ...], ...] = ()

    def _normalise(self) -> None:
        self._set("values", np.asarray(self.values, dtype=np.float64))
        if self.base_values is not None:
            self._set("base_values", np.asarray(self.base_values, dtype=np.float64))
        if self.data is not None:
            self._set("data", np.asarray(self.data))
        self._set("members", tuple(tuple(map(int, m)) for m in self.members))

    def _check(self) -> None:
        lead = () if self.scope == "global" else self.values.shape[:1]
        ndim, n = len(lead) + 1, len(self.feature_names)
        outputs = self.values.shape[ndim:]
        if len(self.members) not in (0, n):
            msg = f"members has {len(self.members)} entries for {n} features"
            raise ValueError(msg)
        if len(outputs) > 1 or self.values.shape[: len(lead) + 1] != (*lead, n):
            rows = "" if self.scope == "global" else "n_rows, "
            msg = (
                f"values has shape {self.values.shape}, expected ({rows}{n}) or "
                f"({rows}{n}, n_outputs)"
            )
            raise ValueError(msg)
        if outputs and outputs[0] != len(self.target_names):
            msg = f"{outputs[0]} outputs for {len(self.target_names)} target_names"
            raise ValueError(msg)
        if self.scope == "global":
            self._check_global()
            return
        if not outputs and len(self.target_names) not in (1, 2):
            msg = (
                f"values has shape {self.values.shape}, which is one output, for "
                f"{len(self.target_names)} target_names; expected one, or two classes"
            )
            raise ValueError(msg)
        if self.base_values is None or self.output not in OUTPUTS:
            msg = (
                "a local attribution needs base_values and an output of "
                f"{list(OUTPUTS)}, got output={self.output!r}"
            )
            raise ValueError(msg)
        check_shapes(
            {
                "base_values": (self.base_values, (*lead, *outputs)),
                "data": (self.data, (*lead, n)),
            }
        )

    def _check_global(self) -> None:
        for name in ("base_values", "data"):
            if getattr(self, name) is not None:
                msg = f"a global attribution has no {name}; only scope='local' has"
                raise ValueError(msg)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def complexity(self) -> int:
        """Number of features with a value other than zero."""
        return int(np.count_nonzero(self.importances()))

    def importances(self) -> NDArray[np.float64]:
        """Size of each feature's values.

        Returns
        -------
        ndarray of shape (n_features,)
            Mean absolute value over rows and outputs.
        """
        axis = 0 if self.scope == "global" else 1
        size = np.abs(np.moveaxis(self.values, axis, 0))
        flat = size.reshape(len(size), math.prod(size.shape[1:]))
        return flat.mean(axis=1) if flat.shape[1] else np.zeros(len(flat))

    def total(self) -> NDArray[np.float64]:
        """Sum of base and parts, which is the model's output.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            On the scale of the estimator's method named by ``output``.

        Raises
        ------
        ValueError
            For a global attribution, whose parts do not add up.
        """
        if self.base_values is None:
            msg = "a global attribution has no total; explain rows for parts that add"
            raise ValueError(msg)
        return np.asarray(self.base_values + self.values.sum(axis=1))

    def top(self, k: int) -> Self:
        """Keep the k features of largest importance.

        Parameters
        ----------
        k : int
            Number of features, at least 1.

        Returns
        -------
        Attribution
            The rest of a local one is gathered in a feature named "k others", so
            that it still adds up.
        """
        k = check_k(k)
        n = len(self.feature_names)
        if k >= n:
            return self
        order = np.argsort(-self.importances(), kind="stable")
        keep, rest = order[:k], order[k:]
        names = tuple(self.feature_names[j] for j in keep)
        if self.scope == "global":
            members = tuple(self.members[j] for j in keep if self.members)
            return self._with(
                feature_names=names, values=self.values[keep], members=members
            )
        others = self.values[:, rest].sum(axis=1, keepdims=True)
        data = self.data
        if data is not None:
            blank = np.full((len(data), 1), None, dtype=object)
            data = np.concatenate([data[:, keep].astype(object), blank], axis=1)
        members = self.members
        if members:
            gathered = tuple(sorted({c for j in rest for c in members[j]}))
            members = (*(members[j] for j in keep), gathered)
        return self._with(
            feature_names=(*names, f"{n - k} others"),
            members=members,
            values=np.concatenate([self.values[:, keep], others], axis=1),
            data=data,
        )

    def _take(self, indices: NDArray[np.intp]) -> Self:
        if self.scope == "global":
            names = tuple(self.feature_names[i] for i in indices)
            members = tuple(self.members[i] for i in indices if self.members)
            return self._with(
                feature_names=names, values=self.values[indices], members=members
            )
        return self._with(
            values=self.values[indices],
            base_values=None if self.base_values is None else self.base_values[indices],
            data=None if self.data is None else self.data[indices],
        )

    def to_frame(self) -> pd.DataFrame:
        """Give the values as a table.

        Returns
        -------
        pandas.DataFrame
            A line per row, output and feature: ``feature``, ``value``, where there
            are several outputs ``target``, where there are rows ``row`` and ``base``.
        """
        import pandas as pd

        local, several = self.scope == "local", self._n_outputs is not None
        values = self.values if local else self.values[None]
        values = values if several else values[..., None]
        n_rows, _, n_outputs = values.shape
        rows, features, outputs = np.indices(values.shape).reshape(3, -1)
        table: dict[str, Any] = {self.unit: rows} if local else {}
        if several:
            table["target"] = self.target_names[outputs]
        table["feature"] = [self.feature_names[j] for j in features]
        if self.data is not None:
            table["cell"] = self.data[rows, features]
        table["value"] = values.ravel()
        if self.base_values is not None:
            base = self.base_values.reshape(n_rows, n_outputs)
            table["base"] = base[rows, outputs]
        return pd.DataFrame(table)

    @property
    def _n_outputs(self) -> int | None:
        ndim = 1 if self.scope == "global" else 2
        return self.values.shape[ndim] if self.values.ndim > ndim else None

    def to_text(self) -> str:
        """Say the values in words.

        Returns
        -------
        str
            Local: the sum of each row and output. Global: features by importance.
        """
        from skinterp.explanation._attribution_show import say_global, say_rows

        return say_global(self) if self.scope == "global" else say_rows(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw bars per feature, the largest on top.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw. None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on.
        """
        from skinterp.explanation._attribution_show import draw_bars

        return draw_bars(self, ax)

    def to_shap(self) -> Any:
        """Convert for the plots of the package shap.

        Returns
        -------
        shap.Explanation
            With values, base values, cells and names.

        Raises
        ------
        ImportError
            If shap is not installed.
        ValueError
            For a global attribution.
        """
        from skinterp.compat import optional_import

        if self.scope == "global":
            msg = "only a local attribution converts to shap.Explanation"
            raise ValueError(msg)
        try:
            shap = optional_import("shap", extra="all", who="Attribution.to_shap")
        except ImportError as error:
            msg = "Attribution.to_shap needs the package shap: pip install shap"
            raise ImportError(msg) from error
        names = None if self._n_outputs is None else list(map(str, self.target_names))
        return shap.Explanation(
            values=np.array(self.values),
            base_values=np.array(self.base_values),
            data=None if self.data is None else np.array(self.data),
            feature_names=list(self.feature_names),
            output_names=names,
        )

    def check_faithful(self, estimator: Any, X: Any) -> None:
        """Check that base and parts sum to the model's output.

        Parameters
        ----------
        estimator : estimator
            The fitted model that was explained.
        X : array-like or frame
            The explained rows.

        Raises
        ------
        AssertionError
            If a sum differs from the output by more than 1e-6 of its size.
        """
        if self.scope == "global":
            return
        expected = np.asarray(getattr(estimator, self.output)(X), dtype=np.float64)
        got = self.total()
        if got.shape != expected.shape:
            msg = f"{self.output} gives shape {expected.shape}, the parts {got.shape}"
            raise AssertionError(msg)
        scale = 1 + np.abs(self.values).sum(axis=1) + np.abs(expected)
        wrong = np.abs(got - expected) > 1e-6 * scale
        if wrong.any():
            i = tuple(int(j) for j in np.argwhere(wrong)[0])
            msg = (
                f"row {i[0]}: base and parts sum to {got[i]}, the model: {expected[i]}"
            )
            raise AssertionError(msg)

    def map_features(self, feature_map: FeatureMap) -> Self:
        """Sum the parts per column that the model's features come from.

        Parameters
        ----------
        feature_map : FeatureMap
            How each feature of the model is made from the user's columns.

        Returns
        -------
        Attribution
            Without cells, which are those of the model's features. Importances of one
            column are summed too, by their size, so that none cancel.
        """
        if self.members:
            names, targets, members = self._map_groups(feature_map)
        else:
            feature_map.check_size(len(self.feature_names))
            names, members = feature_map.names, ()
            targets = np.array(feature_map.targets, dtype=int)
        axis = 0 if self.scope == "global" else 1
        shape = list(self.values.shape)
        shape[axis] = len(names)
        values = np.zeros(shape)
        into = values if axis == 0 else values.swapaxes(0, 1)
        parts = self.values if axis == 0 else self.values.swapaxes(0, 1)
        if self.scope == "global":
            shared = np.bincount(targets, minlength=len(values))[targets] > 1
            parts = np.where(
                shared.reshape(-1, *[1] * (parts.ndim - 1)), abs(parts), parts
            )
        np.add.at(into, targets, parts)
        return type(self)(
            scope=self.scope,
            feature_names=names,
            target_names=self.target_names,
            unit=self.unit,
            meta=self.meta,
            values=values,
            base_values=self.base_values,
            output=self.output,
            members=members,
        )

    def _map_groups(
        self, feature_map: FeatureMap
    ) -> tuple[tuple[str, ...], NDArray[np.intp], tuple[tuple[int, ...], ...]]:
        """Names of the groups of columns, the group of each feature, and its columns.

        A group that comes from one column is named like it; one that comes from several
        keeps its name, unless a column has it. Groups of the same columns are one.
        """
        told = feature_map.names
        groups: dict[tuple[int, ...], str] = {}
        into = []
        for name, own in zip(self.feature_names, self.members, strict=True):
            columns = tuple(sorted({feature_map.targets[j] for j in own}))
            label = told[columns[0]] if len(columns) == 1 else name
            if len(columns) > 1 and name in told:
                label = " + ".join(told[c] for c in columns)
            groups.setdefault(columns, label)
            into.append(list(groups).index(columns))
        return tuple(groups.values()), np.array(into, dtype=int), tuple(groups)
