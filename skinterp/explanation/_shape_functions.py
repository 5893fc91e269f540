"""Shape functions: the curves and surfaces that an additive model adds up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._attribution import Attribution
from skinterp.explanation._base import Explanation, check_k
from skinterp.explanation._shape_functions_check import check_content, check_curves
from skinterp.explanation._shape_functions_map import map_terms

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from skinterp.explanation._feature_map import FeatureMap

_NESTED = ("grids", "values", "density_at", "density")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ShapeFunctions(Explanation):
    """Terms of an additive model: an intercept plus functions of few features each.

    Parameters
    ----------
    scope : {"global", "local"}
        Global: the terms as functions, on grids. Local: what each term adds for each
        row.
    feature_names : tuple of str
        Names of the columns.
    target_names : ndarray of shape (n_outputs,)
        Labels of the classes, or one name for a regressor.
    terms : tuple of tuple of int
        Positions of the features of each term. An empty term stands for several that
        were gathered.
    intercept : ndarray of shape () or (n_outputs,)
        What the terms are added to.
    output : {"predict", "decision_function", "predict_proba", "predict_log_proba"}
        Method of the estimator whose output intercept and terms sum to.
    grids : tuple of tuple of ndarray, default=()
        Global: per term and feature the points, rising numbers or labels of
        categories. Points of a feature should be among those of its other terms.
    values : tuple of ndarray, default=()
        Global: each term on its grid, of shape (n_points, ...) with one axis per
        feature, and a last one for outputs where there are several.
    importance : ndarray of shape (n_terms,) or (n_terms, n_outputs), default=None
        Global: standard deviation of each term over the training data.
    contributions : ndarray of shape (n_rows, n_terms) or \
(n_rows, n_terms, n_outputs), default=None
        Local: what each term adds.
    density_at : tuple of ndarray, default=()
        Global: per feature where the training data lie: borders of intervals, one
        more than ``density``, or single values or labels, as many. Empty arrays where
        it is not known; an empty tuple if of no feature.
    density : tuple of ndarray, default=()
        Global: per feature the shares of the training data, which sum to 1.
    complete : bool, default=True
        Global: whether all terms of the model are there.
    unit : str, default="row"
        What one case is.
    meta : mapping, default={}
        How it was made.

    Attributes
    ----------
    complexity : int
        Number of terms that are not zero everywhere.

    See Also
    --------
    Attribution : Numbers per feature instead of terms.

    Notes
    -----
    A binary classifier has one output, positive in favour of the second class.
    Between its points a term is not told; pictures join them by straight lines.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp.explanation import ShapeFunctions
    >>> age = np.array([20.0, 40.0, 60.0])
    >>> shapes = ShapeFunctions(
    ...     scope="global",
    ...     feature_names=("age", "dose"),
    ...     target_names=np.array(["y"]),
    ...     terms=((0,),),
    ...     intercept=3.0,
    ...     output="predict",
    ...     grids=((age,),),
    ...     values=(np.array([-1.0, 0.0, 1.0]),),
    ...     importance=np.array([0.8]),
    ... )
    >>> print(shapes.to_text())
    predict = 3 + 1 term
      - age: spread 0.8 (100 %), from -1 at 20 to 1 at 60
    """

    kind = "shape-functions"

    terms: tuple[tuple[int, ...], ...]
    intercept: NDArray[np.float64]
    output: str
    grids: tuple[tuple[NDArray[Any], ...], ...] = ()
    values: tuple[NDArray[np.float64], ...] = ()
    importance: NDArray[np.float64] | None = None
    contributions: NDArray[np.float64] | None = None
    density_at: tuple[NDArray[Any], ...] = ()
    density: tuple[NDArray[np.float64], ...] = ()
    complete: bool = True

    def _normalise(self) -> None:
        self._set("terms", tuple(tuple(int(j) for j in term) for term in self.terms))
        self._set("intercept", np.asarray(self.intercept, dtype=np.float64))
        self._set(
            "grids", tuple(tuple(_points(axis) for axis in grid) for grid in self.grids)
        )
        self._set("density_at", tuple(_points(at) for at in self.density_at))
        for name in ("values", "density"):
            arrays = getattr(self, name)
            self._set(name, tuple(np.asarray(a, dtype=np.float64) for a in arrays))
        for name in ("importance", "contributions"):
            value = getattr(self, name)
            if value is not None:
                self._set(name, np.asarray(value, dtype=np.float64))
        self._set("complete", bool(self.complete))

    def _freeze_arrays(self) -> None:
        super()._freeze_arrays()
        for name in _NESTED:
            self._set(name, _freeze(getattr(self, name)))

    def _check(self) -> None:
        check_content(self)

    def __len__(self) -> int:
        if self.contributions is not None:
            return len(self.contributions)
        return len(self.terms)

    @property
    def complexity(self) -> int:
        """Number of terms that are not zero everywhere."""
        return int(np.count_nonzero(self.sizes()))

    @property
    def term_names(self) -> tuple[str, ...]:
        """Names of the terms: those of their features, joined by a cross."""
        named = [" × ".join(self.feature_names[j] for j in term) for term in self.terms]
        return tuple(name or "others" for name in named)

    def sizes(self) -> NDArray[np.float64]:
        """Give one number per term for how much it matters.

        Returns
        -------
        ndarray of shape (n_terms,)
            Global: the importance, as root mean square over outputs. Local: the mean
            absolute contribution.
        """
        if self.contributions is not None:
            size = np.abs(np.moveaxis(self.contributions, 1, 0))
            flat = (
                size.reshape(len(size), -1) if size.size else np.zeros((len(size), 1))
            )
            return np.asarray(flat.mean(axis=1))
        assert self.importance is not None
        square = self.importance.reshape(len(self.terms), self.intercept.size) ** 2
        return np.asarray(np.sqrt(square.mean(axis=1)))

    def shares(self) -> NDArray[np.float64]:
        """Give each term's share of the sum of the terms' variances.

        Returns
        -------
        ndarray of shape (n_terms,)
            Sums to 1; for independent features these are the Sobol indices. From
            ``sizes``, squared.
        """
        square = self.sizes() ** 2
        total = square.sum()
        return np.asarray(square / total if total > 0 else square)

    def curve(self, index: int) -> pd.DataFrame:
        """Give one term as a table.

        Parameters
        ----------
        index : int
            Position of the term.

        Returns
        -------
        pandas.DataFrame
            A line per point: a column per feature and ``value``, or one column per
            target where there are several outputs.

        Raises
        ------
        ValueError
            For local shape functions, which have no curves.
        """
        import pandas as pd

        if self.scope == "local":
            msg = "local shape functions have no curves; explain the whole model"
            raise ValueError(msg)
        grid, values = self.grids[index], self.values[index]
        mesh = np.meshgrid(*grid, indexing="ij")
        names = [self.feature_names[j] for j in self.terms[index]]
        flat = values.reshape(-1, max(self.intercept.size, 1))
        labels = list(self.target_names) if self.intercept.ndim else ["value"]
        columns = [axis.ravel() for axis in mesh] + list(flat.T)
        table = pd.DataFrame(dict(enumerate(columns)))
        table.columns = pd.Index([*names, *labels])
        return table

    def as_attribution(self) -> Attribution:
        """Read the terms as if each was a feature.

        Returns
        -------
        Attribution
            Of the same scope, with the names of the terms.
        """
        local = self.contributions is not None
        base = np.broadcast_to(self.intercept, (len(self), *self.intercept.shape))
        return Attribution(
            scope=self.scope,
            feature_names=self.term_names,
            target_names=self.target_names,
            values=self.contributions if local else self.importance,  # type: ignore[arg-type]
            base_values=base if local else None,
            output=self.output if local else "",
            unit=self.unit,
            meta=self.meta,
        )

    def top(self, k: int) -> Self:
        """Keep the k terms that matter most.

        Parameters
        ----------
        k : int
            Number of terms, at least 1.

        Returns
        -------
        ShapeFunctions
            The rest of a local one is gathered in an empty term, so that it still
            adds up; a global one is not ``complete`` any more.
        """
        k = check_k(k)
        if k >= len(self.terms):
            return self
        order = np.argsort(-self.sizes(), kind="stable")
        if self.contributions is None:
            return self._take(order[:k])
        kept, rest = self.contributions[:, order[:k]], self.contributions[:, order[k:]]
        others = rest.sum(axis=1, keepdims=True)
        return self._with(
            terms=(*(self.terms[t] for t in order[:k]), ()),
            contributions=np.concatenate([kept, others], axis=1),
        )

    def _take(self, indices: NDArray[np.intp]) -> Self:
        if self.contributions is not None:
            return self._with(contributions=self.contributions[indices])
        assert self.importance is not None
        everything = len(set(indices.tolist())) == len(self.terms)
        return self._with(
            terms=tuple(self.terms[t] for t in indices),
            grids=tuple(self.grids[t] for t in indices),
            values=tuple(self.values[t] for t in indices),
            importance=self.importance[indices],
            complete=self.complete and everything,
        )

    def to_frame(self) -> pd.DataFrame:
        """Give the terms as a table.

        Returns
        -------
        pandas.DataFrame
            Global: a line per term with ``term``, ``importance``, ``share``,
            ``lowest`` and ``highest``; see ``curve`` for the points. Local: a line per
            row, output and term with ``term``, ``value`` and ``base``.
        """
        import pandas as pd

        if self.scope == "local":
            return self.as_attribution().to_frame().rename(columns={"feature": "term"})
        return pd.DataFrame(
            {
                "term": list(self.term_names),
                "importance": self.sizes(),
                "share": self.shares(),
                "lowest": [v.min() if v.size else np.nan for v in self.values],
                "highest": [v.max() if v.size else np.nan for v in self.values],
            }
        )

    def to_text(self) -> str:
        """Say the terms in words.

        Returns
        -------
        str
            Global: the terms by importance, with where they are lowest and highest.
            Local: the sum of each row and output.
        """
        from skinterp.explanation._shape_functions_show import say_terms

        return say_terms(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the terms.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw, as many terms as there is room for. None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            Global: axes that hold a panel per term, the most important first: curves
            over where the data lie, bars for categories, heat maps on one scale for
            pairs. Local: bars per term.
        """
        from skinterp.explanation._shape_functions_show import draw_terms

        return draw_terms(self, ax)

    def check_faithful(self, estimator: Any, X: Any) -> None:
        """Check that intercept and terms sum to the model's output.

        Parameters
        ----------
        estimator : estimator
            The fitted model that was explained.
        X : array-like or frame
            Local: the explained rows. Global: rows whose cells are replaced by
            points of the grids, so that the sum of the terms can be looked up. Terms
            of derived features, and of single terms, cannot be tried.

        Raises
        ------
        AssertionError
            If a sum differs from the output by more than 1e-6 of its size.
        """
        if self.scope == "local":
            self.as_attribution().check_faithful(estimator, X)
        else:
            check_curves(self, estimator, X)

    def map_features(self, feature_map: FeatureMap) -> Self:
        """Say the same of the columns that the model's features come from.

        Parameters
        ----------
        feature_map : FeatureMap
            How each feature of the model is made from the user's columns.

        Returns
        -------
        ShapeFunctions
            With grids in the units of the columns. The indicators of one column become
            one term over its categories; what several terms say about the same columns
            on the same points is summed, and the importance of such a sum is exact
            where the density is known, and otherwise as for independent parts.
        """
        return self._with(**map_terms(self, feature_map))


def _points(axis: Any) -> NDArray[Any]:
    """Points of a grid: numbers as float64, anything else as labels."""
    array = np.asarray(axis)
    return array.astype(np.float64) if array.dtype.kind in "fiu" else array


def _freeze(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_freeze, value))
    frozen = value.copy()
    frozen.flags.writeable = False
    return frozen
