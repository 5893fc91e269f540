# Written by `python -m skinterp._lazy` from the method table; do not edit.
from skinterp.lattice._burmeister import read_burmeister as read_burmeister
from skinterp.lattice._burmeister import write_burmeister as write_burmeister
from skinterp.lattice._concept_lattice import ConceptLattice as ConceptLattice
from skinterp.lattice._context_scores import context_scores as context_scores
from skinterp.lattice._context_scores import ranking_scores as ranking_scores
from skinterp.lattice._mlm_context import MLMContext as MLMContext

__all__ = [
    "ConceptLattice",
    "MLMContext",
    "context_scores",
    "ranking_scores",
    "read_burmeister",
    "write_burmeister",
]
