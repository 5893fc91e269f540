# Written by `python -m skinterp._lazy` from the method table; do not edit.
from skinterp.lattice._burmeister import read_burmeister as read_burmeister
from skinterp.lattice._burmeister import write_burmeister as write_burmeister
from skinterp.lattice._concept_lattice import ConceptLattice as ConceptLattice

__all__ = [
    "ConceptLattice",
    "read_burmeister",
    "write_burmeister",
]
