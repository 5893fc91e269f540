"""Find methods by name."""

from __future__ import annotations

import importlib
from typing import Any

from skinterp.plugins.builtin import KINDS, METHODS
from skinterp.plugins.spec import MethodSpec


def get_registry() -> tuple[MethodSpec, ...]:
    """Return the registered rows."""
    return METHODS


def refresh() -> tuple[MethodSpec, ...]:
    """Build the registry again."""
    return METHODS


def list_methods() -> list[MethodSpec]:
    """List the registered rows."""
    return list(METHODS)


def get_method(name: str, task: str | None = None) -> Any:
    """Return the class of a method."""
    (row,) = (row for row in METHODS if row.name == name)
    target = row.targets[task] if task else next(iter(row.targets.values()))
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)


def explanation_kinds() -> dict[str, str]:
    """Map the kinds of explanation to their classes."""
    return KINDS
