# Written by `python -m skinterp._lazy` from the method table; do not edit.
from skinterp import additive as additive
from skinterp import base as base
from skinterp import compat as compat
from skinterp import counterfactual as counterfactual
from skinterp import datasets as datasets
from skinterp import explanation as explanation
from skinterp import kan as kan
from skinterp import lattice as lattice
from skinterp import plugins as plugins
from skinterp import series as series
from skinterp import slices as slices
from skinterp import symbolic as symbolic
from skinterp import tabular as tabular
from skinterp import testing as testing
from skinterp import trees as trees
from skinterp import valuation as valuation
from skinterp._explain import explain as explain
from skinterp.explanation import load as load
from skinterp.plugins import get_method as get_method
from skinterp.plugins import list_methods as list_methods

__version__: str

__all__ = [
    "__version__",
    "explain",
    "get_method",
    "list_methods",
    "load",
]
