"""The command ``skinterp xrd``: patterns of structures without writing Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    import pandas as pd

    from skinterp_xrd._simulator import PowderXRDSimulator
    from skinterp_xrd._structures import Structure

app = typer.Typer(help="Powder X-ray diffraction.", no_args_is_help=True)

# K alpha of the usual anodes, the mean of the doublet, in angstrom.
WAVELENGTHS = {
    "Ag": 0.560885,
    "Co": 1.79026,
    "Cr": 2.29100,
    "Cu": 1.54184,
    "Fe": 1.93735,
    "Mo": 0.71073,
}
# What the file of a picture ends with; other words after --plot are not its name.
PICTURES = (".png", ".pdf", ".svg", ".jpg")
# A name that no file has: the picture goes beside the table.
BESIDE = "\0"


class _OptionalName(TyperCommand):
    """A command whose option ``--plot`` may stand with or without a name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Give ``--plot`` a value where it has none."""
        return super().parse_args(ctx, _with_names(args))


def _with_names(args: Sequence[str]) -> list[str]:
    full: list[str] = []
    for i, word in enumerate(args):
        full.append(word)
        after = args[i + 1] if i + 1 < len(args) else ""
        if word == "--plot" and not after.lower().endswith(PICTURES):
            full.append(BESIDE)
    return full


@app.callback()
def _group() -> None:
    """Powder X-ray diffraction: from crystal structure to pattern."""


# -- the options, apart from the function that they belong to --------------------------
File = Annotated[Path, typer.Argument(help="The CIF, plain or .gz.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Table to write (CSV); printed by default."),
]
Plot = Annotated[
    str | None,
    typer.Option(
        help="Draw the pattern, to this file or beside the table.",
        metavar="[PICTURE.png]",
    ),
]
Wavelength = Annotated[
    str,
    typer.Option(
        "--wavelength", "-w", help="In angstrom, or the anode: Cu, Mo, Co ..."
    ),
]
Angles = Annotated[
    tuple[float, float],
    typer.Option("--range", help="First and last two-theta in degrees."),
]
Step = Annotated[float, typer.Option(help="Degrees between points.")]
Sticks = Annotated[
    bool, typer.Option("--sticks", help="Write the Bragg peaks, not a profile.")
]
GrainSize = Annotated[
    float | None, typer.Option(help="Size of the grains in nm (20 by default).")
]
Seed = Annotated[
    int | None,
    typer.Option(
        help="Draw the conditions of a measurement (grains, texture, shift, "
        "background, noise ...) from this seed; ideal conditions without it."
    ),
]
Physics = Annotated[
    str, typer.Option(help="strict, or paper: the numbers of the released generator.")
]
Block = Annotated[str | None, typer.Option(help="Block of the CIF, by name or number.")]
Displacements = Annotated[
    bool,
    typer.Option("--displacements", help="Use the thermal parameters of the CIF."),
]


@app.command("simulate", cls=_OptionalName)
def simulate(
    file: File,
    out: Out = None,
    plot: Plot = None,
    wavelength: Wavelength = "Cu",
    angles: Angles = (10.0, 80.0),
    step: Step = 0.02,
    sticks: Sticks = False,
    grain_size: GrainSize = None,
    seed: Seed = None,
    physics: Physics = "strict",
    block: Block = None,
    displacements: Displacements = False,
) -> None:
    """Simulate the powder pattern of a crystal structure."""
    # Imported here: the help needs none of it.
    from skinterp_xrd._cif import read_cif

    structure = read_cif(file, block=block, displacements=displacements)
    simulator = _simulator(wavelength, angles, step, physics, grain_size, seed)
    peaks = simulator.peaks([structure])[0]
    pattern = None if sticks else _pattern(simulator, structure, seed)
    if out is not None or plot is None:
        _write(_stick_table(peaks) if pattern is None else pattern, out)
    if plot is not None:
        from skinterp_xrd._cli_plot import draw_pattern

        picture = (out or Path(file.name)).with_suffix(".png")
        picture = picture if plot == BESIDE else Path(plot)
        draw_pattern(structure, peaks, pattern, angles, picture)
        typer.echo(f"Drew {picture}.", err=True)


def _simulator(
    wavelength: str,
    angles: tuple[float, float],
    step: float,
    physics: str,
    grain_size: float | None,
    seed: int | None,
) -> PowderXRDSimulator:
    from skinterp_xrd._conditions import IDEAL_CONDITIONS, RANDOM_CONDITIONS
    from skinterp_xrd._simulator import PowderXRDSimulator

    conditions = dict(IDEAL_CONDITIONS if seed is None else RANDOM_CONDITIONS)
    if grain_size is not None:
        conditions["grain_size_nm"] = grain_size
    return PowderXRDSimulator(
        wavelength=_wavelength(wavelength),
        two_theta=angles,
        step=step,
        conditions=conditions,
        physics=physics,
        random_state=seed,
    ).fit()


def _wavelength(text: str) -> float:
    """Read a length, or an anode such as Cu or CuKa."""
    anode = text.strip().lower().removesuffix("ka")
    for name, value in WAVELENGTHS.items():
        if anode == name.lower():
            return value
    try:
        return float(text)
    except ValueError:
        raise ValueError(
            f"wavelength must be a number in angstrom or one of the anodes "
            f"{', '.join(WAVELENGTHS)}, got {text!r}."
        ) from None


def _pattern(
    simulator: PowderXRDSimulator, structure: Structure, seed: int | None
) -> pd.DataFrame:
    import pandas as pd

    patterns, conditions, _ = simulator.simulate([structure])
    if seed is not None:
        drawn = conditions.iloc[0].drop("seed")
        words = ", ".join(f"{name} {value:.4g}" for name, value in drawn.items())
        typer.echo(f"Conditions of seed {seed}: {words}.", err=True)
    # Fractions of a step that no one asked for are rounded off the angles.
    angle = simulator.grid_.round(9)
    return pd.DataFrame({"two_theta": angle, "intensity": patterns[0]})


def _stick_table(peaks: pd.DataFrame) -> pd.DataFrame:
    table = peaks.drop(columns="hkl")
    for i, letter in enumerate("hkl"):
        table.insert(3 + i, letter, [index[i] for index in peaks["hkl"]])
    return table


def _write(table: pd.DataFrame, out: Path | None) -> None:
    text = table.to_csv(index=False, float_format="%.7g", lineterminator="\n")
    if out is None:
        typer.echo(text, nl=False)
        return
    out.write_text(text, encoding="utf-8")
    what = "peaks" if "d" in table else "points"
    typer.echo(f"Wrote {len(table)} {what} to {out}.", err=True)
