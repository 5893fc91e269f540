"""The one place that knows scikit-learn's private or version-dependent names.

Estimators, here and in plugins, import their validation tools from this module and
from nowhere else, so that a new release of scikit-learn is met in one file. Everything
listed in ``__all__`` is public.
"""

from __future__ import annotations

import importlib
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import sklearn
from sklearn.base import _fit_context as fit_context
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    Options,
    RealNotInt,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import (
    _check_sample_weight as check_sample_weight,
)
from sklearn.utils.validation import (
    check_is_fitted,
    validate_data,
)

if TYPE_CHECKING:
    from types import ModuleType

__all__ = [
    "FrozenEstimator",
    "HasMethods",
    "Integral",
    "Interval",
    "InvalidParameterError",
    "Options",
    "Real",
    "RealNotInt",
    "StrOptions",
    "check_is_fitted",
    "check_parameter",
    "check_sample_weight",
    "fit_context",
    "get_tags",
    "is_frozen",
    "optional_import",
    "sklearn_version",
    "validate_data",
]


def check_parameter(estimator: Any, name: str) -> None:
    """Check one parameter as ``fit`` does: ``set_params`` may have changed it since.

    Parameters
    ----------
    estimator : estimator
        An estimator with ``_parameter_constraints``.
    name : str
        Name of the parameter.

    Raises
    ------
    sklearn.utils._param_validation.InvalidParameterError
        If the value is not allowed; it names parameter, value and what is allowed.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skinterp.compat import check_parameter
    >>> check_parameter(Ridge(), "alpha")
    >>> check_parameter(Ridge(solver="best"), "alpha")
    """
    validate_parameter_constraints(
        {name: estimator._parameter_constraints[name]},
        {name: getattr(estimator, name)},
        caller_name=type(estimator).__name__,
    )


def is_frozen(estimator: object) -> bool:
    """Say whether an estimator is wrapped in ``sklearn.frozen.FrozenEstimator``.

    Parameters
    ----------
    estimator : object
        Any object.

    Returns
    -------
    bool
        True for a ``FrozenEstimator``.

    Examples
    --------
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    >>> is_frozen(tree), is_frozen(FrozenEstimator(tree))
    (False, True)
    """
    return isinstance(estimator, FrozenEstimator)


def optional_import(
    name: str, *, extra: str, who: str, distribution: str = "skinterp"
) -> ModuleType:
    """Import an optional dependency, or say what to install.

    Call it in ``fit``, never at import or in a constructor: without the optional
    package, everything but the work itself has to go on.

    Parameters
    ----------
    name : str
        Dotted name of the module.
    extra : str
        The extra of the distribution that brings it, such as ``"torch"``.
    who : str
        What needs it, usually ``type(self).__name__``.
    distribution : str, default="skinterp"
        The distribution that has the extra; a plugin gives its own.

    Returns
    -------
    module
        The imported module.

    Raises
    ------
    ImportError
        If the module is not installed. The message holds the command to install it.

    Examples
    --------
    >>> optional_import("json", extra="torch", who="Example").__name__
    'json'
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        msg = (
            f"{who} needs the package {name.partition('.')[0]!r}, which is not "
            f"installed. Install it with: pip install '{distribution}[{extra}]'"
        )
        raise ImportError(msg) from error


def sklearn_version() -> tuple[int, int]:
    """Major and minor version of the scikit-learn in use.

    Returns
    -------
    tuple of int
        Such as ``(1, 9)``.

    Examples
    --------
    >>> sklearn_version() >= (1, 6)
    True
    """
    major, minor = sklearn.__version__.split(".")[:2]
    return int(major), int(minor)
