# Written by `python -m skinterp._lazy` from the method table; do not edit.
from skinterp.slices._error_slice_finder import ErrorSliceFinder as ErrorSliceFinder

__all__ = [
    "ErrorSliceFinder",
]
