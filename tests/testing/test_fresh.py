"""The fresh process: one for all, and one culprit does not take the rest along."""

import pytest
from broken.working import (
    EndsFreshProcess,
    HangsInFreshProcess,
    HoldsLambda,
    WritesFile,
)

from skinterp.testing import _fresh_session
from skinterp.testing._case import Case
from skinterp.testing._fresh_session import FreshSession
from skinterp.testing._fresh_work import STAGES
from skinterp.testing.mocks import CenterTransformer

FITTING = [stage for stage in STAGES if stage not in ("import", "load")]


@pytest.fixture
def in_process_only(monkeypatch):
    """Leave out the stages that start further processes."""
    monkeypatch.setattr(
        _fresh_session, "usable", lambda stage: stage in ("import", "load", "fit")
    )


def test_one_process_serves_all(in_process_only, monkeypatch):
    started = []
    start = FreshSession._start
    monkeypatch.setattr(
        FreshSession, "_start", lambda self, *a: started.append(1) or start(self, *a)
    )
    session = FreshSession()
    cases = [Case(CenterTransformer()) for _ in range(3)]
    for case in cases:
        session.announce(case)
    assert [session.error("fit", case) for case in cases] == [None] * 3
    assert [session.error("load", case) for case in cases] == [None] * 3
    assert len(started) == 1


def test_withdrawn_cases_are_left_out_until_asked_for(in_process_only, monkeypatch):
    done = []
    work = FreshSession._run
    monkeypatch.setattr(
        FreshSession,
        "_run",
        lambda self, cases: done.append(cases) or work(self, cases),
    )
    session = FreshSession()
    wanted, unwanted = Case(CenterTransformer()), Case(CenterTransformer())
    for case in (wanted, unwanted):
        session.announce(case)
    session.withdraw(lambda case: case is unwanted)
    assert session.error("fit", wanted) is None
    assert done == [[wanted]]
    assert session.error("fit", unwanted) is None
    assert done == [[wanted], [unwanted]]


@pytest.mark.parametrize(
    ("culprit", "says"),
    [
        (HangsInFreshProcess, "does not finish within 4 s"),
        (EndsFreshProcess, "ends the process with code 7"),
    ],
)
def test_culprit_is_named_and_the_rest_goes_on(in_process_only, culprit, says):
    session = FreshSession(seconds=4)
    bad, good = Case(culprit()), Case(CenterTransformer())
    session.announce(bad)
    session.announce(good)
    assert session.error("fit", bad) == says
    assert session.error("fit", good) is None


def test_what_cannot_be_pickled_is_told_in_every_stage():
    session = FreshSession()
    case = Case(HoldsLambda())
    assert session.error("import", case) is None
    for stage in set(STAGES) - {"import"}:
        assert "cannot be handed to another process" in session.error(stage, case)


def test_file_in_the_working_folder_is_found(monkeypatch):
    monkeypatch.setattr(_fresh_session, "usable", lambda stage: stage == "silent")
    error = FreshSession().error("silent", Case(WritesFile()))
    assert error == "AssertionError: writes the file cache.txt"
