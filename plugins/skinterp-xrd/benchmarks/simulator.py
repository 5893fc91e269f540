"""The simulator: speed, exactness, memory, agreement with the released generator."""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from pymatgen.analysis.diffraction.xrd import XRDCalculator
from pymatgen.core import Lattice
from pymatgen.core import Structure as Theirs
from scipy.special import wofz

from benchmarks._harness import interleaved, machine, write
from skinterp_xrd import PowderXRDSimulator, Structure, as_structure, find_peaks
from skinterp_xrd._profiles import scherrer_width, strict_profile

COMMAND = "python -m benchmarks.simulator"
WAVELENGTH = 1.54184


def crystals() -> dict[str, Theirs]:
    """Known crystals, and random ones of low symmetry and more atoms."""
    make = Theirs.from_spacegroup
    rng = np.random.default_rng(0)
    half, origin = [0.5, 0.5, 0.5], [0, 0, 0]
    made = {
        "Fe": make("Im-3m", Lattice.cubic(2.8665), ["Fe"], [origin]),
        "Mg": make(
            "P6_3/mmc",
            Lattice.hexagonal(3.2094, 5.2108),
            ["Mg"],
            [[1 / 3, 2 / 3, 1 / 4]],
        ),
        "Cu": make("Fm-3m", Lattice.cubic(3.6149), ["Cu"], [origin]),
        "SrTiO3": make(
            "Pm-3m",
            Lattice.cubic(3.905),
            ["Sr", "Ti", "O"],
            [half, origin, [0.5, 0, 0]],
        ),
        "rutile": make(
            "P4_2/mnm",
            Lattice.tetragonal(4.594, 2.959),
            ["Ti", "O"],
            [origin, [0.305, 0.305, 0]],
        ),
        "NaCl": make("Fm-3m", Lattice.cubic(5.6402), ["Na", "Cl"], [origin, half]),
        "Si": make("Fd-3m", Lattice.cubic(5.4309), ["Si"], [origin]),
    }
    for m, edges in ((10, (4, 5, 6)), (24, (7, 8, 9)), (48, (9, 10, 11))):
        lattice = Lattice.from_parameters(*edges, 80, 95, 100)
        species = rng.choice(["Ti", "O", "Ba"], m)
        made[f"triclinic {m}"] = Theirs(lattice, species, rng.random((m, 3)))
    lattice = Lattice.orthorhombic(9, 10, 11)
    made["orthorhombic 48"] = Theirs(
        lattice, rng.choice(["Ti", "O", "Ba", "Nd"], 48), rng.random((48, 3))
    )
    return made


def compilation() -> list[dict[str, Any]]:
    """CPU seconds of the first calls in a fresh process without a cache."""
    script = (
        "import time, numpy as np\n"
        "from skinterp_xrd import PowderXRDSimulator, find_peaks, Structure\n"
        "s = Structure(2.9 * np.eye(3), [26], [[0, 0, 0]])\n"
        "def cost(f):\n"
        "    t = time.process_time(); f(); return time.process_time() - t\n"
        "print(cost(lambda: find_peaks(s)))\n"
        "print(cost(lambda: PowderXRDSimulator().transform([s])))\n"
        "print(cost(lambda: PowderXRDSimulator(physics='paper').transform([s])))\n"
    )

    with tempfile.TemporaryDirectory() as cache:
        values = []
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, "-c", script],
                env=os.environ | {"NUMBA_CACHE_DIR": cache},
                capture_output=True,
                text=True,
                check=True,
            )
            values.append([float(v) for v in done.stdout.split()])
    names = ("find_peaks", "strict profiles", "paper profiles")
    return [
        {"what": name, "compiled [CPU s]": first, "from the cache [CPU s]": second}
        for name, first, second in zip(names, *values, strict=True)
    ]


def sticks(repeats: int) -> dict[str, Any]:
    """Times of stick patterns against pymatgen, and their differences."""
    calculator = XRDCalculator(WAVELENGTH)
    rows = []
    for name, theirs in crystals().items():
        ours = as_structure(theirs)
        times = 200 if len(ours) <= 10 else 20

        def us(ours: Structure = ours, times: int = times) -> None:
            for _ in range(times):
                find_peaks(ours)

        def them(theirs: Theirs = theirs) -> None:
            for _ in range(2):
                calculator.get_pattern(theirs, scaled=False, two_theta_range=(10, 80))

        spent = interleaved({"us": us, "them": them}, repeats)
        a, b = spent["us"] / times, spent["them"] / 2
        peaks = find_peaks(ours)
        pattern = calculator.get_pattern(theirs, scaled=False, two_theta_range=(10, 80))
        rows.append(
            {
                "crystal": name,
                "atoms": len(ours),
                "peaks": len(peaks),
                "ours [us]": a * 1e6,
                "pymatgen [us]": b * 1e6,
                "ratio": b / a,
                "largest difference [deg]": float(
                    np.abs(peaks.two_theta - pattern.x).max()
                ),
                "of intensity, relative": float(
                    np.abs(peaks.intensity / pattern.y - 1).max()
                ),
            }
        )
    return {
        "title": "Stick patterns against pymatgen",
        "about": "CPU time of one pattern from 10 to 80 degrees, medians of "
        f"{repeats} runs in turns, of structures already made in either library, after "
        "compilation.",
        "rows": rows,
    }


def profiles(repeats: int) -> dict[str, Any]:
    """Full patterns per second and core."""
    rows = []
    for physics in ("strict", "paper"):
        for name, theirs in crystals().items():
            crystal = as_structure(theirs)
            model = PowderXRDSimulator(physics=physics, random_state=0, n_jobs=1)
            n = 20

            def work(model: Any = model, crystal: Any = crystal, n: int = n) -> None:
                model.simulate([crystal], n)

            seconds = interleaved({"us": work}, repeats)["us"] / n
            told = model.set_params(conditions={"stretch_a": 1.004, "shear_bc": 0.004})
            rows.append(
                {
                    "physics": physics,
                    "crystal": name,
                    "peaks": len(find_peaks(crystal)),
                    "sticks when distorted": len(told.explain([crystal]).two_theta),
                    "[ms]": seconds * 1e3,
                    "per second": 1 / seconds,
                }
            )
    return {
        "title": "Full patterns",
        "about": "Patterns of 3,501 points under random conditions by `simulate`, on "
        f"one thread; CPU time, medians of {repeats} runs of 20 patterns. A distorted "
        "cell splits peaks: more sticks are drawn than the crystal has peaks.",
        "rows": rows,
    }


def exact_peak(x: Any, mu: float, size: float, radius: float) -> Any:
    """Exact Voigt function, axial divergence and slit by sums."""
    width = scherrer_width(math.radians(mu / 2), WAVELENGTH, size)
    h = (np.arange(400) + 0.5) / 400 * 7.5
    weight = np.where(h <= 2.5, 5.0, 7.5 - h)
    centre = np.arccos(math.cos(math.radians(mu)) * np.sqrt(1 + (h / radius) ** 2))
    weight /= np.cos(centre) ** 2 * np.sin(centre)
    weight /= weight.sum()
    sigma, total = math.sqrt(0.001), np.zeros(len(x))
    for place in (np.arange(15) + 0.5) / 15 * 0.1 - 0.05:
        z = x[:, None] - np.degrees(centre) - place + 0.5j * width
        voigt = wofz(z / (sigma * math.sqrt(2))).real
        total += voigt @ weight / (sigma * math.sqrt(2 * np.pi))
    return total / 15


def exactness() -> dict[str, Any]:
    """Strict profiles against slow exact ones."""
    rows = []
    for size in (2, 5, 10, 20, 50, 100):
        row: dict[str, Any] = {"grains [nm]": size}
        for radius in (500, 50):
            worst = 0.0
            for mu in (12.0, 30.0, 60.0, 78.0):
                x = mu + 0.02 * np.arange(-75, 76)
                y = strict_profile(
                    np.array([mu]), np.ones(1), x[0], 0.02, len(x), WAVELENGTH,
                    float(size), 0.001, 0.0, float(radius), 10.0, 5.0, 0.1,
                )  # fmt: skip
                exact = exact_peak(x, mu, size, radius)
                worst = max(worst, float(np.abs(y - exact).max() / exact.max()))
            row[f"radius {radius} mm"] = worst
        rows.append(row)
    return {
        "title": "Strict profiles against exact convolutions",
        "about": "Largest difference within 1.5 degrees of a peak, as a share of its "
        "height, from the Faddeeva function summed over 400 heights of the axial "
        "divergence and 15 places in the slit; worst of four angles from 12 to 78.",
        "rows": rows,
    }


MEMORY = """
import resource, sys, time
import numpy as np
from skinterp_xrd import PowderXRDSimulator, Structure, find_peaks
iron = Structure(2.9 * np.eye(3), [26], [[0, 0, 0]])
find_peaks(iron)
model = PowderXRDSimulator(wavelength=0.5, random_state=0, n_jobs=1)
model.transform([iron])
rng = np.random.default_rng(0)
edge, m = float(sys.argv[1]), int(sys.argv[2])
lattice = edge * np.eye(3) + 0.01 * edge * rng.normal(size=(3, 3))
large = Structure(lattice, rng.choice([6, 7, 8, 26], m), rng.random((m, 3)))
def used():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before, start = used(), time.process_time()
if sys.argv[3] == "transform":
    n = int(model.transform([large]).any())
else:
    n = len(find_peaks(large, 0.5))
print(n, used() - before, time.process_time() - start)
"""


def memory() -> dict[str, Any]:
    """Peak memory of large cells at a short wavelength."""
    rows = []
    for edge, m in ((20, 100), (40, 500), (60, 1000)):
        for what in ("transform", "find_peaks"):
            done = subprocess.run(
                [sys.executable, "-c", MEMORY, str(edge), str(m), what],
                capture_output=True,
                text=True,
                check=True,
            )
            n, megabytes, seconds = map(float, done.stdout.split())
            rows.append(
                {
                    "edge [A]": edge,
                    "atoms": m,
                    "what": what,
                    "reflections": int(
                        4
                        / 3
                        * math.pi
                        * (edge * 2 * math.sin(math.radians(40)) / 0.5) ** 3
                    ),
                    "peaks": int(n) if what == "find_peaks" else "-",
                    "more memory [MB]": megabytes,
                    "[CPU s]": seconds,
                }
            )
    return {
        "title": "Memory",
        "about": "Triclinic cells with atoms at random, 0.5 angstrom, 10 to 80 "
        "degrees: growth of the process's largest memory over that after a small "
        "crystal. The peaks themselves take 56 bytes each.",
        "rows": rows,
    }


def threads() -> dict[str, Any]:
    """Whether threads change anything."""
    made = [as_structure(one) for one in crystals().values()]
    rows = []
    for physics in ("strict", "paper"):
        reference: bytes | None = None
        for n_jobs in (1, 2, 4):
            model = PowderXRDSimulator(physics=physics, random_state=0, n_jobs=n_jobs)
            start = time.perf_counter()
            patterns = model.simulate(made, 20)[0]
            seconds = time.perf_counter() - start
            reference = reference or patterns.tobytes()
            rows.append(
                {
                    "physics": physics,
                    "n_jobs": n_jobs,
                    "patterns": len(patterns),
                    "wall [s]": seconds,
                    "bytes equal to n_jobs=1": patterns.tobytes() == reference,
                }
            )
    return {
        "title": "Threads",
        "about": "The same patterns for any number of threads.",
        "rows": rows,
    }


def paper(python: str, databases: list[str]) -> dict[str, Any]:
    """Paper's physics against the released package."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "peer.npz"
        script = Path(__file__).with_name("_simxrd_peer.py")
        subprocess.run([python, script, out, *databases], check=True)
        found = dict(np.load(out))
    conditions = {"grain_size_nm": 10.0, "displacement": 0.1}
    model = PowderXRDSimulator(physics="paper", conditions=conditions)
    rows = []
    for name in dict.fromkeys(key.rpartition("|")[0] for key in found):
        crystal = Structure(
            *(found[f"{name}|{part}"] for part in ("lattice", "numbers", "coords"))
        )

        def work(crystal: Structure = crystal) -> None:
            model.transform([crystal])

        seconds = interleaved({"us": work}, 5)["us"]
        theirs = found[f"{name}|pattern"]
        ours = model.transform([crystal])[0][: len(theirs)].astype(float)
        cosine = ours @ theirs / math.sqrt((ours @ ours) * (theirs @ theirs))
        peer = float(found[f"{name}|seconds"])
        rows.append(
            {
                "crystal": name.partition("|")[0],
                "peaks": len(find_peaks(crystal)),
                "1 - cosine": 1.0 - float(cosine),
                "ours [ms]": seconds * 1e3,
                "Pysimxrd [ms]": peer * 1e3,
                "ratio": peer / seconds,
            }
        )
    return {
        "title": "Paper's physics against Pysimxrd 1.0.0",
        "about": "Crystals of the demo databases of the authors' repository "
        "(`sim/demo_mp.db`, `src/gpu_test.db`; from the Materials Project, CC BY 4.0), "
        "as the package standardises them: grains of 10, displacement 0.1, no texture, "
        "distortion, background or noise. CPU time of one pattern.",
        "rows": rows,
    }


def main() -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = ["compilation", "sticks", "profiles", "exactness", "memory", "threads"]
    parser.add_argument("--only", choices=[*names, "paper"], action="append")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--peer-python", help="with requirements-simulator.txt")
    parser.add_argument("--peer-data", nargs="+", default=[], help="the databases")
    options = parser.parse_args()
    repeats = 5 if options.quick else 15
    wanted = options.only or [*names, *(["paper"] if options.peer_python else [])]
    facts = machine(["numpy", "numba", "pymatgen-core"])
    made: dict[str, Any] = {}
    for name in wanted:
        if name == "compilation":
            made[name] = {
                "title": "Compilation",
                "about": "CPU time of first calls in a fresh process, on one small "
                "crystal: with an empty cache, and with a full one.",
                "rows": compilation(),
            }
        elif name in ("sticks", "profiles"):
            made[name] = {"sticks": sticks, "profiles": profiles}[name](repeats)
        elif name == "paper":
            made[name] = paper(options.peer_python, options.peer_data)
        else:
            made[name] = {
                "exactness": exactness,
                "memory": memory,
                "threads": threads,
            }[name]()
    write("simulator", COMMAND, facts, made)


if __name__ == "__main__":
    main()
