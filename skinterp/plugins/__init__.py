"""The plugin layer: how methods are registered, found and loaded.

Methods come from the table in ``skinterp.plugins.builtin`` and from installed
distributions with an entry point in the group ``skinterp``; both go through the
same door. A plugin that fails is reported and left out, the rest works.

Loading a plugin runs its code: install only what you trust.
"""

from __future__ import annotations

from skinterp.plugins._errors import (
    MethodLookupError,
    PluginError,
    SkinterpPluginWarning,
)
from skinterp.plugins._record import MethodRow, PluginRecord
from skinterp.plugins._registry import Registry
from skinterp.plugins._table import MethodTable
from skinterp.plugins.hookspecs import hookimpl
from skinterp.plugins.manager import (
    explanation_kinds,
    get_method,
    get_registry,
    list_methods,
    prefer,
    refresh,
    trusted_types,
)
from skinterp.plugins.spec import API_VERSION, CommandSpec, MethodSpec

__all__ = [
    "API_VERSION",
    "CommandSpec",
    "MethodLookupError",
    "MethodRow",
    "MethodSpec",
    "MethodTable",
    "PluginError",
    "PluginRecord",
    "Registry",
    "SkinterpPluginWarning",
    "explanation_kinds",
    "get_method",
    "get_registry",
    "hookimpl",
    "list_methods",
    "prefer",
    "refresh",
    "trusted_types",
]
