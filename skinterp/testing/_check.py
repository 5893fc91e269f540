"""What a check is, and the list of them."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest import SkipTest

if TYPE_CHECKING:
    from skinterp.testing._case import Case

__all__ = ["CHECKS", "Check", "CheckRecord", "check"]

#: Every check of the kit's own, by name, in the order in which they run.
CHECKS: dict[str, Check] = {}


@dataclass(frozen=True)
class Check:
    """One behaviour that every method it applies to must have.

    Parameters
    ----------
    name : str
        Name of the function, ``check_<what>``.
    function : callable
        Takes a case and raises where the behaviour is missing.
    applies : callable
        Says of a case, by its tags alone and without fitting, whether it is checked.
    topic : str
        Heading under which the documentation lists it.
    """

    name: str
    function: Callable[[Case], None]
    applies: Callable[[Case], bool]
    topic: str

    @property
    def summary(self) -> str:
        """First sentence of the docstring, on one line."""
        text = (self.function.__doc__ or "").strip().split("\n\n")[0]
        return " ".join(text.split())


@dataclass(frozen=True)
class CheckRecord:
    """What became of one check on one estimator.

    Parameters
    ----------
    estimator : str
        The estimator as printed.
    name : str
        Name of the check.
    status : str
        "passed", "failed", "skipped", "xfailed" (failed with an excuse in
        ``expected_failures``) or "xpassed" (passed in spite of such an excuse).
    reason : str, default=""
        The message of the failure, or why it was skipped or excused.
    exception : Exception, default=None
        The failure itself.

    Examples
    --------
    >>> CheckRecord("Tree()", "check_pickle", "passed").ok
    True
    """

    estimator: str
    name: str
    status: str
    reason: str = ""
    exception: BaseException | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing has to be done about it."""
        return self.status not in ("failed", "xpassed")

    def __str__(self) -> str:
        line = f"{self.status:8}{self.name}"
        return f"{line}: {self.reason}" if self.reason else line


def always(case: Case) -> bool:
    """Apply to every estimator."""
    return True


def check(
    applies: Callable[[Case], bool] = always,
) -> Callable[[Callable[[Case], None]], Callable[[Case], None]]:
    """Enter a function into the list of checks, under the topic of its module."""

    def enter(function: Callable[[Case], None]) -> Callable[[Case], None]:
        name = function.__name__
        topic = function.__module__.rpartition("_checks_")[2]
        CHECKS[name] = Check(name, function, applies, topic)
        return function

    return enter


def describe(error: Exception) -> str:
    """Type and message of an error; a bare assertion is quoted."""
    text = str(error)
    if not text:
        frames = traceback.extract_tb(error.__traceback__)
        text = str(frames[-1].line) if frames else "without a message"
    return f"{type(error).__name__}: {text}"


def run(
    name: str, estimator: str, work: Callable[[], Any], excuse: str | None
) -> CheckRecord:
    """Carry out one check and say what became of it."""
    try:
        work()
    except SkipTest as skip:
        return CheckRecord(estimator, name, "skipped", str(skip))
    except Exception as error:
        if excuse is not None:
            return CheckRecord(estimator, name, "xfailed", excuse, error)
        return CheckRecord(estimator, name, "failed", describe(error), error)
    if excuse is not None:
        reason = f"passes now; delete its entry in expected_failures ({excuse})"
        return CheckRecord(estimator, name, "xpassed", reason)
    return CheckRecord(estimator, name, "passed")
