"""All hooks of skinterp, in one place.

A plugin implements any of them, as a function of the same name under
``@skinterp.plugins.hookimpl``, in the module that its entry point in the group
``skinterp`` names. An implementation may leave out arguments that it does not
need. Importing this file costs pluggy alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from skinterp.plugins.spec import CommandSpec, MethodSpec

hookspec = pluggy.HookspecMarker("skinterp")
hookimpl = pluggy.HookimplMarker("skinterp")


# -------------------------------------------------------------------------
# Registration: called once per plugin, when the registry is built.
# -------------------------------------------------------------------------


@hookspec
def skinterp_methods() -> Iterable[MethodSpec]:
    """Register methods.

    Called once for each plugin when the registry is built: at the first
    ``skinterp.list_methods()`` or ``skinterp.get_method()``, and again by
    ``skinterp.plugins.refresh()``. It must be cheap: rows name their classes
    as text, and neither the classes nor scikit-learn should be imported here.

    Returns
    -------
    iterable of MethodSpec
        One row for each method.
    """
    raise NotImplementedError  # pragma: no cover


@hookspec
def skinterp_kinds() -> Mapping[str, str]:
    """Register kinds of explanation.

    Called once for each plugin when the registry is built. A kind is the word
    under which a saved explanation says what it is; ``skinterp.load`` finds the
    class by it. A plugin needs this hook only if it brings an explanation class
    of its own; the class derives from ``skinterp.explanation.Explanation``.

    Returns
    -------
    mapping of str to str
        Kind to class, as ``{"wheel": "my_package.wheel:Wheel"}``.
    """
    raise NotImplementedError  # pragma: no cover


@hookspec
def skinterp_commands() -> Iterable[CommandSpec]:
    """Register groups of sub-commands.

    Called once for each plugin when the registry is built. A row names a
    ``typer.Typer`` as text; it is imported when the command is used, not for
    ``skinterp --help``, which shows the row's summary.

    Returns
    -------
    iterable of CommandSpec
        One row for each group, ``skinterp <name> ...``.
    """
    raise NotImplementedError  # pragma: no cover
