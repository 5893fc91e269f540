"""Names and parameters of the callbacks in a constructor's list; knows no torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

__all__ = ["callback_params", "named_callbacks", "set_callback_params"]

_PREFIX = "callbacks__"


def named_callbacks(callbacks: Any) -> list[tuple[str, Any]]:
    """Name each callback: as given, or by its class, numbered where that is not unique.

    These are skorch's own rules, so that a list may be moved from one to the other.
    """
    pairs = [_pair(item) for item in callbacks or ()]
    counts = Counter(name for name, _, _ in pairs)
    for name, _, given in pairs:
        if given and counts[name] > 1:
            msg = f"callbacks has the name {name!r} twice; names must be unique."
            raise ValueError(msg)
    seen: Counter[str] = Counter()
    named = []
    for name, callback, _ in pairs:
        seen[name] += 1
        unique = name if counts[name] == 1 else f"{name}_{seen[name]}"
        named.append((unique, callback))
    return named


def _pair(item: Any) -> tuple[str, Any, bool]:
    if isinstance(item, (tuple, list)):
        if len(item) != 2 or not isinstance(item[0], str):
            msg = f"callbacks holds {item!r}; allowed: a callback, or (name, callback)."
            raise ValueError(msg)
        name, callback, given = item[0], item[1], True
        if "__" in name or name.startswith("_"):
            msg = (
                f"callbacks holds the name {name!r}; a name must not begin with _ nor "
                "contain __."
            )
            raise ValueError(msg)
    else:
        kind = item if isinstance(item, type) else type(item)
        name, callback, given = kind.__name__, item, False
    if callback is not None and not hasattr(callback, "on_epoch_end"):
        msg = f"callbacks holds {callback!r}, which is no skorch callback."
        raise ValueError(msg)
    return name, callback, given


def callback_params(callbacks: Any) -> Iterator[tuple[str, Any]]:
    """Yield what ``get_params`` shows of callbacks: each, and each one's parameters."""
    try:
        named = named_callbacks(callbacks)
    except (ValueError, TypeError):
        return  # ``fit`` says what is wrong; setting and showing are always possible
    for name, callback in named:
        yield f"{_PREFIX}{name}", callback
        if callback is not None and not isinstance(callback, type):
            for key, value in callback.get_params(deep=True).items():
                yield f"{_PREFIX}{name}__{key}", value


def set_callback_params(callbacks: Any, params: dict[str, Any]) -> list[Any]:
    """Give the list with some callbacks replaced, or with other parameters."""
    named = dict(named_callbacks(callbacks))
    # A callback is replaced before its parameters are set, whatever the order.
    for key in sorted(params, key=lambda key: key.count("__")):
        name, _, parameter = key.removeprefix(_PREFIX).partition("__")
        if name not in named:
            msg = (
                f"Invalid parameter {key!r}: there is no callback {name!r}; the names "
                f"are {sorted(named)}."
            )
            raise ValueError(msg)
        if parameter and (named[name] is None or isinstance(named[name], type)):
            msg = f"{key!r} cannot be set: callback {name!r} is {named[name]!r}."
            raise ValueError(msg)
        if parameter:
            named[name].set_params(**{parameter: params[key]})
        else:
            named[name] = params[key]
    return list(named.items())
