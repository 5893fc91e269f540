"""How an explanation was made: method, versions, parameters, seed."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import lru_cache
from importlib import metadata
from typing import Any, NoReturn

MAX_REPR = 300


class FrozenDict(dict[str, Any]):
    """A dictionary that refuses changes; lists inside become tuples."""

    def __init__(self, items: Mapping[str, Any] | None = None) -> None:
        if items is not None and not isinstance(items, Mapping):
            msg = f"the meta of an explanation must be a mapping, got {items!r}"
            raise TypeError(msg)
        super().__init__({key: _freeze(value) for key, value in (items or {}).items()})

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        msg = "the meta of an explanation cannot be changed"
        raise TypeError(msg)

    __setitem__ = __delitem__ = update = pop = popitem = clear = setdefault = _refuse

    def __ior__(self, other: object) -> NoReturn:  # type: ignore[misc]
        self._refuse()

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Any]]]:
        return FrozenDict, (dict(self),)


def _freeze(value: Any) -> Any:
    if isinstance(value, Mapping):
        return FrozenDict(value)
    if isinstance(value, list | tuple):
        return tuple(_freeze(item) for item in value)
    return value


@lru_cache(maxsize=64)
def version_of(distribution: str) -> str:
    """Installed version of a distribution, "unknown" where it has no metadata."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "unknown"


def describe_method(estimator: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Record of the estimator behind an explanation, in values that JSON can hold."""
    cls = type(estimator)
    package = cls.__module__.partition(".")[0]
    names = dict.fromkeys(("skinterp", "scikit-learn", "numpy", package))
    versions = {name: version_of(name.replace("_", "-")) for name in names}
    parameters = estimator.get_params(deep=False)
    return {
        "method": f"{cls.__module__}.{cls.__qualname__}",
        "versions": versions | {"python": platform.python_version()},
        "parameters": {name: plain(value) for name, value in parameters.items()},
        "options": {name: plain(value) for name, value in options.items()},
        "seed": plain(parameters.get("random_state")),
    }


def plain(value: Any) -> Any:
    """Turn a parameter into what JSON can hold: numbers, text, lists, else its repr."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return plain(value.item())
    for base in (int, float, str):
        if isinstance(value, base):
            # the value of an enumeration's member
            return base(getattr(value, "value", value))
    if isinstance(value, list | tuple):
        return tuple(plain(item) for item in value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    text = repr(value)
    return text if len(text) <= MAX_REPR else text[: MAX_REPR - 3] + "..."
