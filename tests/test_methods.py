"""The battery of the test kit, over every registered method."""

import pytest

import skinterp
from skinterp.testing import parametrize_with_methods
from skinterp.testing._check import CHECKS
from skinterp.testing._fresh_session import FRESH

# Pictures and behaviour in other processes are what the classes of a row share.
SHARED = ("displays", "processes")


def is_sibling(estimator) -> bool:
    """Say whether another class of the same row stands for this one."""
    name = f":{type(estimator).__name__}"
    rows = [list(row.targets.values()) for row in skinterp.list_methods()]
    return any(target.endswith(name) for row in rows for target in row[1:])


@pytest.fixture(scope="module", autouse=True)
def one_class_per_row(request):
    """Spare the fresh process what is skipped below."""
    if not request.config.option.runslow:
        FRESH.withdraw(lambda case: is_sibling(case.estimator))


@parametrize_with_methods()
def test_method(estimator, check, request):
    shared = check.name in CHECKS and CHECKS[check.name].topic in SHARED
    if shared and not request.config.option.runslow and is_sibling(estimator):
        pytest.skip("as for the first class of its row; all with --runslow")
    check(estimator)
