"""Comparing answers, and telling a refusal from an accident."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["assert_same", "assert_soft_failure", "softly"]

# Messages by which numpy, scipy and Python report that somebody forgot to check.
_ACCIDENTS = re.compile(
    r"could not be broadcast|broadcast together|setting an array element|empty sequence"
    r"|zero-size array|truth value of|to unpack|cannot reshape|matmul: |not aligned"
    r"|must be broadcastable|NoneType|unhashable|unsupported operand|not subscriptable"
    r"|not iterable|object is not callable|positional argument|Singular matrix",
)


def assert_soft_failure(
    work: Callable[[], Any], what: str, mentions: Sequence[str] = ()
) -> Exception:
    """Assert that a call is refused with an error that a user can act upon.

    A soft failure is a ValueError or TypeError (or a subclass, such as
    ``NotFittedError``) that the library raised on purpose: its message names the
    thing that is wrong.

    Parameters
    ----------
    work : callable
        The call, without arguments.
    what : str
        What the call does, for the message of the assertion.
    mentions : sequence of str, default=()
        Words of which the message must hold at least one, in any case.

    Returns
    -------
    Exception
        The error that was raised.

    Raises
    ------
    AssertionError
        If the call goes through, or fails in any other way.

    Examples
    --------
    >>> from sklearn.utils import check_array
    >>> error = assert_soft_failure(
    ...     lambda: check_array([[float("nan")]]), "checking a NaN", mentions=["nan"]
    ... )
    >>> type(error).__name__
    'ValueError'
    """
    try:
        work()
    except Exception as error:
        _assert_soft(error, what, mentions)
        return error
    words = f", naming {' or '.join(map(repr, mentions))}" if mentions else ""
    msg = f"{what} should be refused with a ValueError or TypeError{words}"
    raise AssertionError(msg)


# what optional_import says of a package that is not there
INSTALL = "pip install"


def softly(
    work: Callable[[], Any], what: str, mentions: Sequence[str] = ()
) -> tuple[bool, Any]:
    """Make a call that may be refused, but only softly.

    A package that is not installed may also be the reason, if the error says how to
    install it, as ``skinterp.compat.optional_import`` does.

    Parameters
    ----------
    work : callable
        The call, without arguments.
    what : str
        What the call does, for the message of the assertion.
    mentions : sequence of str, default=()
        Words of which the message of a refusal must hold at least one.

    Returns
    -------
    done : bool
        Whether the call went through.
    result : object
        What it returned, or the error with which it was refused.

    Raises
    ------
    AssertionError
        If the call fails in any other way.

    Examples
    --------
    >>> softly(lambda: 1 + 1, "adding")
    (True, 2)
    """
    try:
        return True, work()
    except ImportError as error:
        if INSTALL not in str(error):
            _assert_soft(error, what, mentions)
        return False, error
    except Exception as error:
        _assert_soft(error, what, mentions)
        return False, error


def _assert_soft(error: Exception, what: str, mentions: Sequence[str]) -> None:
    text, kind = str(error), type(error).__name__
    soft = isinstance(error, ValueError | TypeError)
    if not soft or kind == "LinAlgError" or _ACCIDENTS.search(text):
        msg = f"{what} fails hard, with {kind}: {text}"
        raise AssertionError(msg) from error
    if mentions and not any(word.lower() in text.lower() for word in mentions):
        words = " or ".join(map(repr, mentions))
        msg = f"{what} is refused without naming {words}: {kind}: {text}"
        raise AssertionError(msg) from error


def assert_same(got: Any, expected: Any, what: str, *, atol: float = 0.0) -> None:
    """Assert that two answers are equal: type by type, NaN equal to NaN.

    Parameters
    ----------
    got, expected : object
        Arrays, frames, explanations, numbers, or mappings and sequences of them.
    what : str
        What they are, for the message of the assertion.
    atol : float, default=0.0
        Absolute tolerance for floating-point numbers.

    Raises
    ------
    AssertionError
        If they differ; the message says where.

    Examples
    --------
    >>> import numpy as np
    >>> assert_same({"a": np.array([1.0, np.nan])}, {"a": np.array([1.0, np.nan])}, "x")
    """
    if isinstance(expected, Mapping):
        same = isinstance(got, Mapping) and list(got) == list(expected)
        assert same, f"{what}: got {got!r} instead of {expected!r}"
        for key, value in expected.items():
            assert_same(got[key], value, f"{what}, {key}", atol=atol)
    elif isinstance(expected, list | tuple):
        assert len(got) == len(expected), f"{what}: {len(got)} for {len(expected)}"
        plain = bool(expected) and isinstance(expected[0], int | float | str)
        if plain and got == expected:  # the usual case, and fast
            return
        for i, value in enumerate(expected):
            assert_same(got[i], value, f"{what}[{i}]", atol=atol)
    elif isinstance(expected, np.ndarray | float | np.generic):
        _assert_same_array(np.asarray(got), np.asarray(expected), what, atol)
    else:
        assert got == expected, f"{what}: got {got!r} instead of {expected!r}"


def _assert_same_array(
    got: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], what: str, atol: float
) -> None:
    assert got.shape == expected.shape, f"{what}: shape {got.shape}, {expected.shape}"
    if expected.dtype.kind in "fc" and got.dtype.kind in "fciub":
        same = np.isclose(got, expected, rtol=atol, atol=atol, equal_nan=True)
    elif expected.dtype.kind == "O":
        both = zip(got.ravel(), expected.ravel(), strict=True)
        # A NaN in an object array differs from itself.
        equal = [bool(a == b or (a != a and b != b)) for a, b in both]
        same = np.array(equal, dtype=bool).reshape(got.shape)
    else:
        same = np.asarray(got == expected)
    if not same.all():
        where = tuple(int(i) for i in np.argwhere(~same)[0])
        first = f"{got[where]!r} instead of {expected[where]!r} at {where}"
        msg = (
            f"{what}: {int((~same).sum())} of {same.size} values differ, first {first}"
        )
        raise AssertionError(msg)
