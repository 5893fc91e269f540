"""Checks in a fresh process, which is started once for all estimators together."""

from __future__ import annotations

from unittest import SkipTest

from skinterp.testing._case import Case
from skinterp.testing._check import check
from skinterp.testing._fresh_session import FRESH, usable


def _look_up(stage: str, case: Case) -> None:
    if not usable(stage):
        msg = f"this system has no {stage}"
        raise SkipTest(msg)
    error = FRESH.error(stage, case)
    assert error is None, f"{case.name} {error}"


@check()
def check_light_import(case: Case) -> None:
    """Importing the method loads no torch, matplotlib or the like."""
    _look_up("import", case)


@check()
def check_fresh_process_load(case: Case) -> None:
    """A pickle loads in a fresh process, and answers bit-equal."""
    _look_up("load", case)


@check()
def check_fresh_process_fit(case: Case) -> None:
    """A fit in a fresh process, with another hash seed, answers bit-equal."""
    _look_up("fit", case)


@check()
def check_silent(case: Case) -> None:
    """Nothing is printed, also by compiled code; no file in the folder or home."""
    _look_up("silent", case)


@check()
def check_fork(case: Case) -> None:
    """A fit in a forked child, after one in the parent, ends and answers the same."""
    _look_up("fork", case)


@check()
def check_spawn(case: Case) -> None:
    """A fit in a spawned child ends and answers the same."""
    _look_up("spawn", case)


@check()
def check_process_pool(case: Case) -> None:
    """A fit inside ``joblib.Parallel`` with processes ends and answers the same."""
    _look_up("pool", case)
