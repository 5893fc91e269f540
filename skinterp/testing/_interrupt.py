"""Interrupting a piece of work at a given Python call, the same each time."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import sklearn

from skinterp.testing._case import quiet

# An interrupt inside these would leave settings of Python or scikit-learn changed,
# which is no fault of the work.
_SPARED = ("contextlib.py", "warnings.py", "_config.py", "importlib", "weakref.py")


def count_calls(work: Callable[[], Any]) -> int:
    """Number of Python calls that a piece of work makes."""
    profile = _Profile(limit=None)
    profile.run(work)
    return profile.count


def interrupts(work: Callable[[], Any], limit: int) -> bool:
    """Raise KeyboardInterrupt at a call of the work; say whether it came out."""
    try:
        _Profile(limit).run(work)
    except KeyboardInterrupt:
        return True
    return False


def _is_spared(code: CodeType) -> bool:
    # what is raised while a generator is closed or an object deleted goes nowhere
    cleanup = code.co_flags & inspect.CO_GENERATOR or code.co_name == "__del__"
    return bool(cleanup) or any(name in code.co_filename for name in _SPARED)


class _Profile:
    def __init__(self, limit: int | None) -> None:
        self.limit, self.count = limit, 0

    def run(self, work: Callable[[], Any]) -> None:
        before, config = sys.getprofile(), sklearn.get_config()
        with quiet():
            sys.setprofile(self)
            try:
                work()
            finally:
                sys.setprofile(before)
                sklearn.set_config(**config)

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        if event != "call" or _is_spared(frame.f_code):
            return
        self.count += 1
        if self.count == self.limit:
            sys.setprofile(None)
            raise KeyboardInterrupt
