"""The battery of the test kit, over every registered method."""

from skinterp.testing import parametrize_with_methods


@parametrize_with_methods()
def test_method(estimator, check):
    check(estimator)
