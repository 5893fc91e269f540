"""Every check is seen to find what it is there for, and to pass what is right."""

import traceback

import pytest
from broken import BROKEN, BROKEN_PROCESSES
from broken.showing import HidesColumns
from broken_heavy import HeavyImport

from skinterp.testing import _sklearn, mocks
from skinterp.testing._case import Case
from skinterp.testing._check import CHECKS
from skinterp.testing._fresh_session import FRESH
from skinterp.testing._runner import checks_of, parametrize_with_methods

RIGHT = [getattr(mocks, name) for name in mocks.__all__]
BROKEN = {**BROKEN, "check_light_import": HeavyImport}
CASES = {name: Case(cls()) for name, cls in BROKEN.items()}


@pytest.fixture(scope="module")
def announced():
    """Announce what has to run in a fresh process, so that one is enough."""
    for name in (*BROKEN_PROCESSES, "check_light_import"):
        FRESH.announce(CASES[name])


def test_every_check_has_a_broken_estimator():
    extra = {*_sklearn._EXTRA, *_sklearn._EXTRA_TRANSFORMER}
    assert (set(CHECKS) | extra) - set(BROKEN) == set()
    assert set(BROKEN) - set(CHECKS) - extra == {"check_estimators_fit_returns_self"}


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_check_finds_a_broken_estimator(name, announced):
    checks = dict(checks_of(CASES[name]))
    assert name in checks, f"{name} does not apply to {BROKEN[name].__name__}"
    with pytest.raises(Exception) as caught:  # noqa: PT011
        checks[name]()
    # a crash of the check itself would be no finding
    where = traceback.extract_tb(caught.tb)[-1].filename
    assert isinstance(caught.value, AssertionError) or "_checks_" not in where
    # scikit-learn's own assertions may come without a message
    assert str(caught.value) or name not in CHECKS


@parametrize_with_methods(RIGHT)
def test_right_estimator_passes(estimator, check):
    check(estimator)


def test_columns_left_out_of_a_picture_must_be_told():
    checks = dict(checks_of(Case(HidesColumns())))
    with pytest.raises(AssertionError, match=r"the picture hides \d+ columns"):
        checks["check_plot_widths"]()


def test_heavy_import_is_named(announced):
    checks = dict(checks_of(CASES["check_light_import"]))
    with pytest.raises(AssertionError, match=r"importing .* imports matplotlib"):
        checks["check_light_import"]()
