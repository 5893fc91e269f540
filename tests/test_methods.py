"""The battery of the test kit, over every registered method."""

import pytest

import skinterp
from skinterp.testing import parametrize_with_methods
from skinterp.testing._check import CHECKS


def shows_as_its_sibling(estimator, check) -> bool:
    """Say whether a check of pictures is run on another class of the same row."""
    if check.name not in CHECKS or CHECKS[check.name].topic != "displays":
        return False
    name = f":{type(estimator).__name__}"
    rows = [list(row.targets.values()) for row in skinterp.list_methods()]
    return any(target.endswith(name) for row in rows for target in row[1:])


@parametrize_with_methods()
def test_method(estimator, check, request):
    if shows_as_its_sibling(estimator, check) and not request.config.option.runslow:
        pytest.skip("pictures are those of the classifier; all with --runslow")
    check(estimator)
