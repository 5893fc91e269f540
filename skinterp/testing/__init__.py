"""The test kit: what every method must do, and tools to test methods with.

For the author of a method, here or in a plugin::

    from skinterp.testing import check_plugin, parametrize_with_methods

    @parametrize_with_methods([MyClassifier])
    def test_my_classifier(estimator, check):
        check(estimator)

    def test_plugin():
        check_plugin("my-distribution")

pytest is imported by ``parametrize_with_methods``, hypothesis by the strategies
``tables``, ``labels``, ``trees`` and ``series``; the rest needs neither.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skinterp.testing._check import CheckRecord as CheckRecord
    from skinterp.testing._compare import assert_same as assert_same
    from skinterp.testing._compare import assert_soft_failure as assert_soft_failure
    from skinterp.testing._compare import softly as softly
    from skinterp.testing._data import make_data as make_data
    from skinterp.testing._data import register_data as register_data
    from skinterp.testing._plugins import check_plugin as check_plugin
    from skinterp.testing._plugins import isolated_registry as isolated_registry
    from skinterp.testing._runner import MethodCheckError as MethodCheckError
    from skinterp.testing._runner import check_method as check_method
    from skinterp.testing._runner import method_checks as method_checks
    from skinterp.testing._runner import (
        parametrize_with_methods as parametrize_with_methods,
    )
    from skinterp.testing._strategies import labels as labels
    from skinterp.testing._strategies import series as series
    from skinterp.testing._strategies import tables as tables
    from skinterp.testing._strategies import trees as trees

_MODULES = {
    "CheckRecord": "_check",
    "MethodCheckError": "_runner",
    "assert_same": "_compare",
    "assert_soft_failure": "_compare",
    "check_method": "_runner",
    "check_plugin": "_plugins",
    "isolated_registry": "_plugins",
    "labels": "_strategies",
    "make_data": "_data",
    "method_checks": "_runner",
    "parametrize_with_methods": "_runner",
    "register_data": "_data",
    "series": "_strategies",
    "softly": "_compare",
    "tables": "_strategies",
    "trees": "_strategies",
}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    module = importlib.import_module(f"{__name__}.{_MODULES[name]}")
    return getattr(module, name)


def __dir__() -> list[str]:
    return __all__
