"""One lattice by a peer, in the environment that holds it; prints count and CPU time.

Usage: ``python _concept_lattice_peers.py PEER TABLE.npy REPEATS``, where PEER is
"concepts", "fcapy" or "caspailleur". It imports nothing else of this folder, so that
any Python can run it.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np


def by_concepts(table: Any) -> Callable[[], int]:
    """Lattice with covers by concepts."""
    from concepts import Context

    rows = [tuple(row) for row in table.tolist()]
    objects = [f"g{i}" for i in range(len(table))]
    attributes = [f"m{j}" for j in range(table.shape[1])]
    return lambda: len(Context(objects, attributes, rows).lattice)


def by_fcapy(table: Any) -> Callable[[], int]:
    """Lattice with covers by fcapy."""
    from fcapy.context import FormalContext
    from fcapy.lattice import ConceptLattice

    rows = table.tolist()
    return lambda: len(ConceptLattice.from_context(FormalContext(data=rows)))


def by_caspailleur(table: Any) -> Callable[[], int]:
    """Intents alone by caspailleur; its miner needs scikit-learn before 1.6."""
    from caspailleur.io import to_bitarrays
    from caspailleur.mine_equivalence_classes import list_intents_via_LCM

    rows = to_bitarrays(table.tolist())
    return lambda: len(list_intents_via_LCM(rows))


PEERS = {
    "concepts": by_concepts,
    "fcapy": by_fcapy,
    "caspailleur": by_caspailleur,
}


def main() -> None:
    """Time what the command line names."""
    warnings.simplefilter("ignore")
    name, path, repeats = sys.argv[1:]
    work = PEERS[name](np.load(path))
    found, times = 0, []
    for _ in range(int(repeats)):
        start = time.process_time()
        found = work()
        times.append(time.process_time() - start)
    sys.stdout.write(f"{found} {np.median(times)}\n")


if __name__ == "__main__":
    main()
