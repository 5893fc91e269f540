"""scikit-learn's own checks, and those that it runs on its own estimators only."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from skinterp.testing._case import Case, quiet

# What check_estimator leaves out; names that a version lacks are passed over.
_EXTRA = (
    "check_param_validation",
    "check_inplace_ensure_writeable",
    "check_dataframe_column_names_consistency",
)
_EXTRA_TRANSFORMER = (
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_global_output_transform_pandas",
    "check_global_set_output_transform_polars",
)
# These need no table, so that they hold for series, graphs and texts as well.
_WITHOUT_DATA = (
    "check_estimator_cloneable",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_mixin_order",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
)


def sklearn_checks(case: Case) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield scikit-learn's checks of an estimator, by name."""
    from sklearn.utils import estimator_checks

    if case.is_tabular:
        generated = estimator_checks.estimator_checks_generator(case.estimator)
        seen = set()  # some versions yield a check twice
        for estimator, function in generated:
            if name_of(function) in seen:
                continue
            seen.add(name_of(function))
            yield name_of(function), partial(_quietly, function, estimator)
    names: tuple[str, ...] = _EXTRA if case.is_tabular else _WITHOUT_DATA
    if case.is_tabular and case.has_method("transform"):
        names += _EXTRA_TRANSFORMER
    for name in names:
        function = getattr(estimator_checks, name, None)
        if function is not None:
            yield name, partial(_quietly, partial(function, case.name), case.estimator)


def name_of(function: Any) -> str:
    """Name of a check with the options bound to it, as scikit-learn prints it."""
    if not isinstance(function, partial):
        return str(function.__name__)
    options = ",".join(f"{k}={v}" for k, v in function.keywords.items())
    return function.func.__name__ + (f"({options})" if options else "")


def _quietly(function: Callable[[Any], None], estimator: Any) -> None:
    """Run a check of scikit-learn, whose odd data warn without meaning."""
    with quiet():
        # polars and pandas output need this filter inside scikit-learn's own tests
        warnings.simplefilter("ignore")
        function(estimator)
