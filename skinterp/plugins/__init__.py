"""The plugin layer: how methods are registered, found and loaded."""

from __future__ import annotations

from skinterp.plugins.hookspecs import hookimpl
from skinterp.plugins.manager import (
    explanation_kinds,
    get_method,
    get_registry,
    list_methods,
    refresh,
)
from skinterp.plugins.spec import API_VERSION, MethodSpec

__all__ = [
    "API_VERSION",
    "MethodSpec",
    "explanation_kinds",
    "get_method",
    "get_registry",
    "hookimpl",
    "list_methods",
    "refresh",
]
