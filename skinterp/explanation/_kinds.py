"""Which kinds of explanation there are, plugins' included."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skinterp.explanation._base import Explanation


def kinds() -> dict[str, str]:
    """List the kinds of explanation that are known.

    Returns
    -------
    dict of str to str
        From the id of a kind to where its class lies, as "package.module:Class".

    Examples
    --------
    >>> from skinterp.explanation import kinds
    >>> kinds()["rules"]
    'skinterp.explanation:RuleSet'
    """
    from skinterp.plugins import explanation_kinds

    return dict(explanation_kinds())


def get_kind(name: object) -> type[Explanation]:
    """Class of a kind of explanation, by its id."""
    known = kinds()
    if not isinstance(name, str) or name not in known:
        msg = (
            f"kind={name!r} is not a known kind of explanation: {sorted(known)}. "
            "A plugin's kind is known where the plugin is installed."
        )
        raise ValueError(msg)
    module, _, attribute = known[name].partition(":")
    target: type[Explanation] = getattr(importlib.import_module(module), attribute)
    return target
