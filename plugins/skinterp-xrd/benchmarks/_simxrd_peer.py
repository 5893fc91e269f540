"""Run by the peer's Python: its patterns of the crystals in its databases."""

import sys
import time
import warnings

import numpy as np
from ase.db import connect
from Pysimxrd import generator
from Pysimxrd.utils.funs import prim2conv

warnings.filterwarnings("ignore")
QUIET = {
    "grainsize": 10,
    "prefect_orientation": [0.0, 0.0],
    "thermo_vibration": 0.1,
    "zero_shift": 0.0,
    "deformation": False,
    "background_ratio": 0.0,
    "mixture_noise_ratio": 0.0,
}

out, *paths = sys.argv[1:]
found = {}
for path in paths:
    database = connect(path)
    for row in database.select():
        start = time.process_time()
        _, pattern = generator.parser(database, row.id, **QUIET)
        seconds = time.process_time() - start
        _, _, cell = prim2conv(database.get_atoms(id=row.id))
        name = f"{cell.get_chemical_formula()}|{len(found) // 5}"
        found |= {
            f"{name}|pattern": np.array(pattern),
            f"{name}|seconds": seconds,
            f"{name}|lattice": np.array(cell.cell),
            f"{name}|numbers": cell.numbers,
            f"{name}|coords": cell.get_scaled_positions(),
        }
np.savez(out, **found)
