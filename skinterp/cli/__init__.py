"""The ``skinterp`` command."""

from __future__ import annotations

from skinterp.cli._app import main

__all__ = ["main"]
