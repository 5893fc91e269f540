"""The way back from a model's features to the columns of the user's table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from skinterp.compat import check_is_fitted
from skinterp.explanation import FeatureMap
from skinterp.tabular._steps import trace_chain
from skinterp.tabular._trace import Trace, to_source

DTYPES = ("float32", "float64")


def feature_map(
    transformer: Any, columns: Sequence[str], *, dtype: str = "float64"
) -> FeatureMap:
    """Tell how the outputs of a fitted transformer come from its input columns.

    Parameters
    ----------
    transformer : transformer
        Fitted: one of scikit-learn's, a ``Pipeline``, ``ColumnTransformer`` or
        ``FeatureUnion`` of them, or any other. A transformer that has the method
        ``__skinterp_feature_map__(columns)`` speaks for itself; of a stranger
        without it only the names of its outputs are told.
    columns : sequence of str
        Names of its input columns.
    dtype : {"float32", "float64"}, default="float64"
        What the model behind the transformer compares in; scikit-learn's trees compare
        in float32. Thresholds are carried back as they are after that rounding.

    Returns
    -------
    FeatureMap
        With one source per output, in order.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the transformer is not fitted.
    TypeError
        If a transformer does not tell how many outputs it has.

    See Also
    --------
    skinterp.explain : Uses it for all steps before a model.
    skinterp.explanation.FeatureSource : What is told of one output.

    Notes
    -----
    ``invert`` of a source is exact: it asks the transformer itself, over the ordered
    float64 numbers, for the last cell whose output is at most the threshold. A search
    takes some eight calls of ``transform`` on a few hundred numbers.

    A cell for which a function has no value, such as the logarithm of -1, is a missing
    one to the model, which no interval of the column can say.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skinterp.tabular import feature_map
    >>> X = pd.DataFrame({"age": [20.0, 30.0, 40.0]})
    >>> told = feature_map(StandardScaler().fit(X), ["age"])
    >>> told.sources[0].invert(0.0)
    30.0
    """
    if dtype not in DTYPES:
        msg = f"dtype={dtype!r} is not one of {list(DTYPES)}"
        raise ValueError(msg)
    if not isinstance(transformer, str) and transformer is not None:
        check_is_fitted(transformer)
    return feature_map_of_steps([transformer], columns, dtypes=dtype)


def feature_map_of_steps(
    transformers: Sequence[Any],
    columns: Sequence[str],
    *,
    dtypes: str | Sequence[str],
) -> FeatureMap:
    """Tell how the outputs of a chain of transformers come from its input columns.

    ``dtypes`` says what the model behind compares in: one for all, or one per output.
    """
    names = tuple(str(name) for name in columns)
    width = None if isinstance(dtypes, str) else len(dtypes)
    traces = _distinct(trace_chain(transformers, start(names), width), names)
    if isinstance(dtypes, str):
        dtypes = [dtypes] * len(traces)
    if len(dtypes) != len(traces):
        msg = f"the steps describe {len(traces)} features, the model has {len(dtypes)}"
        raise TypeError(msg)
    sources = (to_source(t, d) for t, d in zip(traces, dtypes, strict=True))
    return FeatureMap(names, tuple(sources))


def start(names: Sequence[str]) -> list[Trace]:
    """Traces of the columns themselves."""
    return [Trace(name=name, column=i) for i, name in enumerate(names)]


def _distinct(traces: Sequence[Trace], columns: Sequence[str]) -> list[Trace]:
    """Number opaque features whose name is a column's or stands twice."""
    taken, out = Counter(columns), []
    for trace in traces:
        if trace.form == "opaque":
            name, n = trace.name, 1
            while taken[name]:
                n += 1
                name = f"{trace.name} ({n})"
            taken[name] += 1
            out.append(replace(trace, name=name))
        else:
            out.append(trace)
    return out
