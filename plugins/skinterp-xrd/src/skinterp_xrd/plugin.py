"""What the entry point names: the hooks, and nothing that is slow to import."""

from __future__ import annotations

from skinterp.plugins import MethodSpec, hookimpl

# The plugin interface of skinterp that this was written for.
API = (1, 1)


@hookimpl
def skinterp_methods() -> list[MethodSpec]:
    """Register the methods."""
    return []
