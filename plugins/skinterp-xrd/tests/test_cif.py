"""CIF: symmetry, shared and partial sites, odd files, and what is refused."""

import gzip
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pymatgen.io.cif import CifParser

from skinterp_xrd import as_structure, read_cif
from skinterp_xrd._cif_symmetry import exact

CELL = """data_{name}
_cell_length_a {a}
_cell_length_b {b}
_cell_length_c {c}
_cell_angle_alpha {alpha}
_cell_angle_beta {beta}
_cell_angle_gamma {gamma}
"""
CUBE = {"a": 4, "b": 4, "c": 4, "alpha": 90, "beta": 90, "gamma": 90}
P1 = "_symmetry_equiv_pos_as_xyz 'x,y,z'\n"


def cif(
    *sites,
    columns=("label", "fract_x", "fract_y", "fract_z"),
    extra=P1,
    name="made",
    **cell,
):
    values = CUBE | {"name": name} | cell
    lines = [CELL.format(**values) + extra + "loop_"]
    lines += [f"_atom_site_{column}" for column in columns]
    return "\n".join([*lines, *sites, ""])


def content(structure):
    """Return elements, occupancies and places, in an order of their own."""
    # Four digits: pymatgen knows thirds, but leaves sixths and twelfths rounded.
    places = np.round(structure.coords, 4) % 1
    rows = zip(structure.species, structure.occupancies, places, strict=True)
    return sorted((s, round(o, 9), *np.round(p, 4)) for s, o, p in rows)


def theirs(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (made,) = CifParser.from_str(text).parse_structures(primitive=False)
    return as_structure(made)


def test_uncertainties_and_charges_are_dropped():
    text = cif(
        "Fe1 Fe3+ 0.0 0 0 1.0",
        "O1 O2- .25(3) -0.25(12) 0.5(1) 0.75(2)",
        columns=("label", "type_symbol", "fract_x", "fract_y", "fract_z", "occupancy"),
        a="4.123(2)",
        gamma="90.0(1)",
    )
    made = read_cif(text)
    assert made.formula == "Fe1 O0.75"
    assert made.lattice[0].tolist() == [4.123, 0, 0]
    assert made.coords[1].tolist() == [0.25, 0.75, 0.5]
    assert made.label == "made"


FLUORITE = cif("Ca1 0 0 0", "F1 0.25 0.25 0.25", a=5.46, b=5.46, c=5.46, extra="{}")


@pytest.mark.parametrize(
    "symmetry",
    [
        "_symmetry_space_group_name_H-M 'F m -3 m'",
        "_space_group_name_H-M_alt Fm-3m",
        "_symmetry_space_group_name_Hall '-F 4 2 3'",
        "_space_group_IT_number 225",
        "_symmetry_Int_Tables_number 225\n_symmetry_space_group_name_H-M ?",
    ],
)
def test_symmetry_without_operations(symmetry):
    made = read_cif(FLUORITE.format(symmetry + "\n"))
    assert made.formula == "Ca4 F8"
    if "Hall" not in symmetry:  # which pymatgen does not read
        assert content(made) == content(theirs(FLUORITE.format(symmetry + "\n")))


def test_listed_operations_win_over_a_name():
    listed = "loop_\n_space_group_symop_operation_xyz\nx,y,z\n1/2+x,1/2+y,1/2+z\n"
    text = cif("W1 0 0 0", extra="_space_group_IT_number 225\n" + listed)
    assert read_cif(text).formula == "W2"


def test_a_rhombohedral_group_follows_the_cell():
    name = "_symmetry_space_group_name_H-M 'R -3 m'\n"
    hexagonal = cif("Bi1 0 0 0.234", a=4.5, b=4.5, c=11.8, gamma=120, extra=name)
    assert read_cif(hexagonal).formula == "Bi6"
    rhombohedral = cif(
        "Bi1 0.234 0.234 0.234", alpha=57.2, beta=57.2, gamma=57.2, extra=name
    )
    assert read_cif(rhombohedral).formula == "Bi2"
    assert read_cif(hexagonal.replace("R -3 m'", "R -3 m H'")).formula == "Bi6"


DIAMOND = cif(
    "C1 {} {} {}",
    a=3.567,
    b=3.567,
    c=3.567,
    extra="_symmetry_space_group_name_H-M 'F d -3 m{}'\n{}",
)
EIGHT = "_chemical_formula_sum 'C'\n_cell_formula_units_Z 8\n"


@pytest.mark.parametrize(
    ("setting", "x"), [(":1", 0), (":2", 0.125), (" S", 0), (" Z", 0.125)]
)
def test_the_choice_of_origin_is_read(setting, x):
    assert read_cif(DIAMOND.format(setting, "", x, x, x)).formula == "C8"


def test_an_open_choice_of_origin_is_settled_by_the_formula_or_refused():
    for x in (0, 0.125):
        assert read_cif(DIAMOND.format("", EIGHT, x, x, x)).formula == "C8"
    with pytest.raises(ValueError, match=r"made: .*'F d -3 m:1' or 'F d -3 m:2'"):
        read_cif(DIAMOND.format("", "", 0, 0, 0))
    number = DIAMOND.replace("_symmetry_space_group_name_H-M 'F d -3 m{}'", "{}")
    text = number.format("_space_group_IT_number 227", EIGHT, 0.125, 0.125, 0.125)
    assert read_cif(text).formula == "C8"


def test_no_symmetry_at_all_is_the_whole_cell_with_a_warning():
    with pytest.warns(UserWarning, match="neither symmetry operations nor"):
        made = read_cif(cif("Cs1 0 0 0", "Cl1 .5 .5 .5", extra=""))
    assert made.formula == "Cs1 Cl1"


MIXED = ("label", "fract_x", "fract_y", "fract_z", "occupancy")


def test_elements_share_a_site():
    body = "_symmetry_space_group_name_H-M 'I m -3 m'\n"
    text = cif(
        *("Cu1 0 0 0 0.5", "Zn1 0.5 0.5 0.5 0.3", "O1 0.25 0 0.5 ?", "H9 .1 .2 .3 0"),
        columns=MIXED,
        extra=body,
    )
    made = read_cif(text)
    assert made.formula == "Cu1 Zn0.6 O12"
    # Zn stands where an image of Cu is: one site, at one place.
    copper = made.coords[made.numbers == 29]
    zinc = made.coords[made.numbers == 30]
    assert copper.tolist() == zinc.tolist()
    assert content(made) == content(theirs(text))


def test_occupancies_that_exceed_one_by_rounding_are_scaled():
    sites = ("Cu1 0 0 0 0.334", "Zn1 0 0 0 0.334", "Ni1 0 0 0 0.334")
    made = read_cif(cif(*sites, columns=MIXED))
    np.testing.assert_allclose(made.occupancies, 1 / 3)
    with pytest.raises(ValueError, match=r"made: .*sum to 1.1.*Cu1 0.6, Zn1 0.5"):
        read_cif(cif("Cu1 0 0 0 0.6", "Zn1 0 0 0 0.5", columns=MIXED))
    with pytest.raises(ValueError, match=r"sum to 2.*Cu1 1, Cu2 1"):
        read_cif(cif("Cu1 0 0 0 1", "Cu2 1 0 0 1", columns=MIXED))


def test_rounded_thirds_stay_one_site():
    name = "_symmetry_space_group_name_H-M 'P 63/m m c'\n"
    cell = {"a": 3.2, "b": 3.2, "c": 5.2, "gamma": 120, "extra": name}
    for third, two in (("0.333", "0.667"), ("0.3333", "0.6667"), ("0.33333(1)", "2/3")):
        two = "0.66667" if "/" in two else two
        made = read_cif(cif(f"Mg1 {third} {two} 0.25", **cell))
        assert made.formula == "Mg2"
        assert made.coords[0].tolist() == [1 / 3, 2 / 3, 0.25]


def test_rounded_coordinates_on_a_mirror_stay_one_site():
    # (x, 2x) with a rounded x: the images differ in the last digit.
    name = "_symmetry_space_group_name_H-M 'P 63/m m c'\n"
    text = cif("Ni1 0.123 0.247 0.25", a=5, b=5, c=4, gamma=120, extra=name)
    assert read_cif(text).formula == "Ni6"
    split = cif("Ni1 0.12 0.26 0.25", a=5, b=5, c=4, gamma=120, extra=name)
    assert read_cif(split).formula == "Ni12"


@pytest.mark.parametrize(
    ("value", "decimals", "expected"),
    [
        (0.3333, 4, 1 / 3),
        (0.667, 3, 2 / 3),
        (-0.3333, 4, -1 / 3),
        (1.1667, 4, 7 / 6),
        (0.0833, 4, 1 / 12),
        (0.8333, 4, 10 / 12),
        (0.33, 2, 0.33),
        (0.3340, 4, 0.334),
        (0.33325, 5, 0.33325),
        (0.83325, 6, 0.83325),
        (0.25, 2, 0.25),
        (0.0, 9, 0.0),
    ],
)
def test_fractions(value, decimals, expected):
    assert exact(value, decimals) == pytest.approx(expected, abs=1e-15)


@given(st.integers(-30, 30), st.integers(3, 8))
def test_a_twelfth_is_found_from_its_digits(k, decimals):
    text = f"{k / 12:.{decimals}f}"
    assert exact(float(text), decimals) == pytest.approx(k / 12, abs=1e-15)


SPECIES = {
    "FE1": "Fe",
    "Fe": "Fe",
    "SI2A": "Si",
    "O1W": "O",
    "Ow1": "O",
    "OW2": "O",
    "OH": "O",
    "Hw1": "H",
    "D1": "H",
    "SiT": "Si",
    "CaM2": "Ca",
    "Na+": "Na",
    "B1": "B",
    "U(1)": "U",
    "XE1": "Xe",
}


@pytest.mark.parametrize("label", SPECIES)
def test_a_label_names_its_element(label):
    assert read_cif(cif(f"{label} 0 0 0")).species == (SPECIES[label],)


def test_an_ambiguous_label_is_settled_by_the_formula_or_refused():
    for formula, element in (("'Ca O'", "Ca"), ("'C2 H6'", "C")):
        extra = f"{P1}_chemical_formula_sum {formula}\n"
        assert read_cif(cif("CA1 0 0 0", extra=extra)).species == (element,)
    with pytest.raises(ValueError, match=r"made: site CA1: 'CA1' is no element"):
        read_cif(cif("CA1 0 0 0"))


@pytest.mark.parametrize("label", ["Dummy1", "X1", "Wat1", "M1A", "Va", "q", "Es1"])
def test_a_dummy_or_unknown_atom_is_refused_by_name(label):
    with pytest.raises(ValueError, match=f"made: site {label}: '{label}' is no"):
        read_cif(cif("Cs1 0.5 0.5 0.5", f"{label} 0 0 0"))


def test_an_atom_without_a_name_is_refused_by_its_number():
    with pytest.raises(ValueError, match="made: site 2 has neither a type symbol"):
        read_cif(cif("Cs1 0.5 0.5 0.5", "? 0 0 0"))


def test_a_dummy_flag_is_refused():
    columns = ("label", "fract_x", "fract_y", "fract_z", "calc_flag")
    dummy = "C9 0.1 0.1 0.1 dum"  # codespell:ignore dum
    with pytest.raises(ValueError, match="site C9 is flagged as a dummy"):
        read_cif(cif("C1 0 0 0 d", dummy, columns=columns))


WRONG = {
    "": ("no block has sites", "none"),
    "hello\nworld": ("not a readable CIF", "line 1"),
    "data_a\nloop_\n_a\n_b\n1 2 3\n": ("not a readable CIF", "number of values"),
    "data_a\n_cell_length_a 3\n": ("no block has sites", "blocks: a"),
    cif("Cs1 0 0 ?"): ("site Cs1", "'\\?' is no number"),
    cif("Cs1 0 0 abc"): ("site Cs1", "'abc' is no number"),
    cif("Cs1 0 0 0", a="?"): ("_cell_length_a", "'\\?' is no number"),
    cif("Cs1 0 0 0", a=-4): ("The cell -4 4 4", "no volume"),
    cif("Cs1 0 0 0", alpha=20, beta=20, gamma=90): ("The cell", "possible together"),
    cif("Cs1 0 0 0", gamma=180): ("The cell", "no volume"),
    cif("Cs1 0 0 0 -0.5", columns=MIXED): ("site Cs1", "positive, got -0.5"),
    cif("Cs1 0 0 0 0", columns=MIXED): ("no atoms", "occupancy 0"),
    cif("Cs1 0 0 0", extra="_space_group_symop_operation_xyz 'x,y'\n"): (
        "The symmetry operation 'x,y'",
        "like 'x,1/2",
    ),
    cif("Cs1 0 0 0", extra="_space_group_name_H-M_alt 'Q 4'\n"): (
        "The space group 'Q 4' is unknown",
        "must list its operations",
    ),
    cif("Cs1 0 0 0", extra="_space_group_name_Hall 'Q 4'\n"): (
        "made: The Hall symbol",
        "'Q 4' is wrong",
    ),
    cif("Cs1 0 0 0", extra="_space_group_IT_number 231\n"): (
        "made: ",
        "1 to 230, got '231'",
    ),
    cif("Cs1 0 0 0", extra="_space_group_symop_magn_operation.xyz 'x,y,z,+1'\n"): (
        "Magnetic and modulated",
        "_space_group_symop_magn_operation.xyz",
    ),
}


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_a_wrong_cif_says_what_and_where(text):
    for words in WRONG[text]:
        with pytest.raises(ValueError, match=words):
            read_cif(text if "\n" in text else text + "\n")


def test_of_several_blocks_one_is_chosen():
    empty = "data_global\n_audit_creation_method 'by hand'\n"
    text = empty + cif("Cs1 0 0 0", name="first") + cif("Po1 0 0 0", name="second")
    for block in ("second", 1, "1", -1):
        assert read_cif(text, block=block).formula == "Po1"
    assert read_cif(empty + cif("Cs1 0 0 0")).formula == "Cs1"
    for block in (None, "third", 2, 1.5):
        with pytest.raises(ValueError, match=r"one of 'first', 'second', or a number"):
            read_cif(text, block=block)


def test_files(tmp_path):
    path = tmp_path / "salt.cif"
    path.write_bytes(b"# M\xfcller\n" + cif("Cs1 0 0 0").encode())
    packed = tmp_path / "packed.cif.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert as_structure(str(path)).label == as_structure(path).label == "salt"
    assert as_structure(packed).label == "packed"
    with pytest.raises(FileNotFoundError, match=r"nothing.cif'?: no such file"):
        as_structure(tmp_path / "nothing.cif")
    with pytest.raises(FileNotFoundError, match="a folder, not a file"):
        as_structure(tmp_path)
    (tmp_path / "bad.cif").write_text("hello")
    with pytest.raises(ValueError, match="bad: not a readable CIF"):
        as_structure(tmp_path / "bad.cif")
    with pytest.raises(FileNotFoundError, match="no such file"):
        as_structure("x" * 5000)
    for content_ in (b"hello", packed.read_bytes()[:-20], packed.read_bytes()[:-4]):
        (tmp_path / "bad.cif.gz").write_bytes(content_)
        with pytest.raises(ValueError, match=r"bad.cif.gz: not a complete gzip file"):
            as_structure(tmp_path / "bad.cif.gz")


def test_marks_of_the_byte_order_are_no_text(tmp_path):
    text = "\ufeff" + cif("Cs1 0 0 0")
    path = tmp_path / "windows.cif"
    path.write_text(text, encoding="utf-8", newline="\r\n")
    assert read_cif(text).formula == read_cif(path).formula == "Cs1"


@pytest.mark.parametrize("angle", [0, -60, 180, 240])
def test_angles_that_no_cell_has(angle):
    with pytest.raises(ValueError, match="has no volume"):
        read_cif(cif("Cs1 0 0 0", gamma=angle))


def test_an_operation_that_flattens_the_crystal_is_refused():
    extra = "loop_\n_symmetry_equiv_pos_as_xyz\n'x,y,z'\n'x,x,z'\n"
    with pytest.raises(ValueError, match="'x,x,z' does not keep volumes"):
        read_cif(cif("Cs1 .1 .2 .3", extra=extra))


def test_displacements_are_used_on_request():
    columns = ("label", "fract_x", "fract_y", "fract_z", "U_iso_or_equiv")
    sites = ("Cs1 0 0 0 0.01(1)", "Cl1 .5 .5 .5 ?", "F1 .5 0 0 .")
    aniso = """loop_
_atom_site_aniso_label
_atom_site_aniso_U_11
_atom_site_aniso_U_22
_atom_site_aniso_U_33
Cl1 0.01 0.02 0.03
"""
    text = cif(*sites, columns=columns) + aniso
    assert read_cif(text).b_iso.tolist() == [0, 0, 0]
    found = read_cif(text, displacements=True).b_iso
    np.testing.assert_allclose(found, 8 * np.pi**2 * np.array([0.01, 0.02, 0]))
    b = ("label", "fract_x", "fract_y", "fract_z", "B_iso_or_equiv")
    text = cif("Cs1 0 0 0 0.7", columns=b)
    assert read_cif(text, displacements=True).b_iso.tolist() == [0.7]
    with pytest.raises(ValueError, match=r"site Cs1: the displacement.*B = -0\.7"):
        read_cif(text.replace("0.7", "-0.7"), displacements=True)


GROUPS = (2, 14, 62, 88, 136, 148, 167, 176, 194, 205, 221, 225, 227, 230)


@settings(max_examples=25)
@given(
    st.sampled_from(GROUPS),
    st.lists(st.integers(0, 24), min_size=3, max_size=3),
    st.sampled_from([1.0, 0.5]),
)
def test_the_cell_is_filled_as_pymatgen_fills_it(number, place, occupancy):
    import gemmi

    group = gemmi.find_spacegroup_by_number(number)
    cell = {"a": 6, "b": 7, "c": 8}
    if number in (148, 167, 176, 194):
        cell |= {"b": 6, "gamma": 120}
    elif number > 75:
        cell |= {"b": 6} | ({"c": 6} if number > 194 else {})
    lines = [f"'{op.triplet()}'" for op in group.operations()]
    extra = "\n".join(["loop_", "_symmetry_equiv_pos_as_xyz", *lines, ""])
    # Twenty-fourths: general and special positions, rounded to five digits.
    at = " ".join(f"{k / 24:.5f}" for k in place)
    text = cif(f"Fe1 {at} {occupancy}", columns=MIXED, extra=extra, **cell)
    assert content(read_cif(text)) == content(theirs(text))


def test_without_gemmi_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gemmi", None)
    with pytest.raises(ImportError, match=r"pip install 'skinterp-xrd\[cif\]'"):
        read_cif(cif("Cs1 0 0 0"))


def test_other_structures_need_no_gemmi():
    code = (
        "import sys; sys.modules['gemmi'] = None\n"
        "import skinterp_xrd as x\n"
        "s = x.as_structure(([[3,0,0],[0,3,0],[0,0,3]], ['Po'], [[0,0,0]]))\n"
        "assert not {'pymatgen', 'ase', 'torch', 'skorch'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
