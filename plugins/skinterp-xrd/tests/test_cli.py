"""The command ``skinterp xrd``: what it writes, and how it fails."""

import io
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

from skinterp.cli import main
from skinterp_xrd import (
    RANDOM_CONDITIONS,
    PowderXRDSimulator,
    find_peaks,
    read_cif,
)
from skinterp_xrd._cli_plot import _indices

IRON = """data_iron
_cell_length_a 2.8665
_cell_length_b 2.8665
_cell_length_c 2.8665
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 90
_symmetry_space_group_name_H-M 'I m -3 m'
loop_
_atom_site_label
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
_atom_site_B_iso_or_equiv
Fe1 0 0 0 0.4
"""


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Run the command in a folder with a CIF; give its code, output, complaints."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "iron.cif").write_text(IRON)

    def command(*arguments):
        code = main(["xrd", "simulate", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


def table(text):
    return pd.read_csv(io.StringIO(text))


def test_a_pattern_is_printed(run):
    code, out, err = run("iron.cif")
    assert (code, err) == (0, "")
    pattern = table(out)
    expected = PowderXRDSimulator(conditions=None).transform([read_cif(IRON)])[0]
    assert pattern.columns.tolist() == ["two_theta", "intensity"]
    assert len(pattern) == 3501
    assert pattern["two_theta"].iloc[[0, 1, -1]].tolist() == [10, 10.02, 80]
    np.testing.assert_allclose(pattern["intensity"], expected, rtol=1e-6)


def test_a_pattern_is_written_and_drawn(run, tmp_path):
    code, out, err = run("iron.cif", "--out", "pattern.csv", "--plot")
    assert (code, out) == (0, "")
    assert err == "Wrote 3501 points to pattern.csv.\nDrew pattern.png.\n"
    assert table((tmp_path / "pattern.csv").read_text())["intensity"].max() == 100
    assert imread(tmp_path / "pattern.png").std() > 0.05


@pytest.mark.parametrize(
    ("arguments", "picture"),
    [
        (("iron.cif", "--plot"), "iron.png"),
        (("--plot", "iron.cif"), "iron.png"),
        (("iron.cif", "--plot", "drawn.svg"), "drawn.svg"),
        (("--plot", "drawn.PNG", "iron.cif"), "drawn.PNG"),
        (("iron.cif", "--plot=drawn.png", "--sticks"), "drawn.png"),
        (("iron.cif", "--plot", "--seed", "1"), "iron.png"),
    ],
)
def test_the_name_of_the_picture_may_be_left_out(run, tmp_path, arguments, picture):
    code, out, err = run(*arguments)
    assert (code, out) == (0, "")
    assert err.endswith(f"Drew {picture}.\n")
    assert (tmp_path / picture).stat().st_size > 5000


def test_sticks(run):
    code, out, _ = run("iron.cif", "--sticks", "--range", 20, 120, "-w", "MoKa")
    sticks = table(out)
    peaks = find_peaks(read_cif(IRON), 0.71073, (20, 120))
    assert code == 0
    assert sticks.columns.tolist() == [
        "two_theta",
        "d",
        "intensity",
        *"hkl",
        "multiplicity",
    ]
    np.testing.assert_allclose(sticks["two_theta"], peaks.two_theta, rtol=1e-6)
    np.testing.assert_allclose(sticks["intensity"], peaks.scaled, rtol=1e-6)
    assert sticks[["h", "k", "l"]].to_numpy().tolist() == peaks.hkl.tolist()


def test_a_seed_draws_conditions(run):
    code, out, err = run("iron.cif", "--seed", 5, "--step", 0.05)
    assert code == 0
    assert err.startswith("Conditions of seed 5: stretch_a ")
    assert "zero_shift" in err
    simulator = PowderXRDSimulator(
        step=0.05, conditions=dict(RANDOM_CONDITIONS), random_state=5
    )
    expected = simulator.fit().transform([read_cif(IRON)])[0]
    np.testing.assert_allclose(table(out)["intensity"], expected, rtol=1e-6)
    assert run("iron.cif", "--seed", 5, "--step", 0.05)[1] == out
    assert run("iron.cif", "--seed", 6, "--step", 0.05)[1] != out


def test_options_reach_the_simulation(run):
    def width(*arguments):
        pattern = table(run("iron.cif", *arguments)[1])
        return (pattern["intensity"] > 50).sum()

    assert width("--grain-size", 5) > 2 * width()
    assert width("--physics", "paper") < width()
    plain, moving = (
        table(run("iron.cif", "--sticks", *more)[1])["intensity"][1]
        for more in ((), ("--displacements",))
    )
    assert moving < plain - 0.5


def test_a_block_is_chosen(run, tmp_path):
    (tmp_path / "two.cif").write_text(IRON + IRON.replace("iron", "tungsten"))
    code, _, err = run("two.cif")
    assert code == 1
    assert "block must be one of 'iron', 'tungsten'" in err
    for block in ("tungsten", "1"):
        assert run("two.cif", "--block", block)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nothing.cif",), "'nothing.cif': no such file"),
        ((".",), "a folder, not a file"),
        (("bad.cif",), "bad: not a readable CIF (line 1"),
        (("dummy.cif",), "dummy: site Q1: 'Q1' is no element"),
        (("iron.cif", "-w", "Xy"), "one of the anodes Ag, Co, Cr, Cu, Fe, Mo"),
        (("iron.cif", "-w", "-1"), "'wavelength' parameter"),
        (("iron.cif", "-w", "nan"), "wavelength"),
        (("iron.cif", "--range", 80, 10), "0 <= low < high < 180"),
        (("iron.cif", "--step", 0), "step"),
        (("iron.cif", "--grain-size", -2), "grain_size_nm"),
        (("iron.cif", "--physics", "best"), "physics"),
        (("iron.cif", "--out", "nowhere/p.csv"), "nowhere/p.csv"),
        (("iron.cif", "--plot=p.xyz"), "xyz"),
    ],
)
def test_an_error_is_one_line(run, tmp_path, arguments, words):
    (tmp_path / "bad.cif").write_text("hello\n")
    (tmp_path / "dummy.cif").write_text(IRON.replace("Fe1", "Q1"))
    code, out, err = run(*arguments)
    assert (code, out) == (1, "")
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert words in err


def test_a_missing_extra_says_what_to_install(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "gemmi", None)
    code, out, err = run("iron.cif")
    assert (code, out) == (1, "")
    assert err.startswith("Error: Reading a CIF needs the package 'gemmi'")
    assert "pip install 'skinterp-xrd[cif]'" in err


@pytest.mark.filterwarnings("default")
def test_a_range_without_peaks_is_told(run):
    code, out, err = run("iron.cif", "--range", 10, 20, "--plot", "p.png")
    assert (code, out) == (0, "")
    assert "Warning: " in err


@pytest.mark.parametrize(
    ("hkl", "text"),
    [
        ((1, 1, 0), "110"),
        ((1, -1, 2), r"1$\bar{1}$2"),
        ((10, 0, -11), r"10 0 $\bar{11}$"),
    ],
)
def test_indices_are_written_with_bars(hkl, text):
    assert _indices(hkl) == text


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from skinterp.cli import main; main(['xrd', 'simulate', '-h']);"
        "heavy = {'numpy', 'numba', 'sklearn', 'torch', 'gemmi', 'matplotlib'};"
        "sys.exit(repr(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "--displacements" in done.stdout
