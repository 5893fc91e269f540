"""Structures of one's own, of pymatgen and of ASE, and how wrong ones are refused."""

import copy
import pickle

import numpy as np
import pytest
from ase import Atoms
from ase.spacegroup import crystal
from pymatgen.core import Lattice
from pymatgen.core import Structure as Theirs

from skinterp_xrd import Structure, as_structure
from skinterp_xrd._elements import (
    atomic_number,
    form_factor_coefficients,
    symbols,
)
from skinterp_xrd._structures import as_structures

CUBE = np.eye(3) * 3.0
ORIGIN = [[0.0, 0.0, 0.0]]
PAIR = [[0.0, 0.0, 0.0], [0.5, 0.5, 0.5]]


def test_a_structure_keeps_what_it_is_given():
    made = Structure(CUBE, [55, 17], PAIR, [1, 0.5], [0.2, 0.3], "salt")
    assert made.species == ("Cs", "Cl")
    assert made.formula == "Cs1 Cl0.5"
    assert made.volume == pytest.approx(27)
    assert len(made) == 2
    assert repr(made) == "Structure(Cs1 Cl0.5, 2 sites, 27.000 cubic angstrom, 'salt')"
    for name in ("lattice", "coords", "occupancies", "b_iso"):
        assert getattr(made, name).dtype == np.float64
        assert not getattr(made, name).flags.writeable
    assert made.numbers.dtype == np.int64


def test_a_structure_copies_what_it_is_given():
    lattice = CUBE.copy()
    made = Structure(lattice, [84], ORIGIN)
    lattice[0, 0] = 99
    assert made.lattice[0, 0] == 3
    assert made.occupancies.tolist() == [1]
    assert made.b_iso.tolist() == [0]


@pytest.mark.parametrize(
    "twin", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))]
)
def test_a_structure_pickles_and_copies(twin):
    made = Structure(CUBE, [55, 17], PAIR, [1, 0.5], [0.2, 0.3], "salt")
    other = twin(made)
    assert repr(other) == repr(made)
    assert other.b_iso.tolist() == [0.2, 0.3]
    assert not other.lattice.flags.writeable


def test_with_b_iso():
    made = Structure(CUBE, [55, 17], PAIR, label="salt")
    assert made.with_b_iso(0.5).b_iso.tolist() == [0.5, 0.5]
    assert made.with_b_iso([0.1, 0.2]).b_iso.tolist() == [0.1, 0.2]
    assert made.with_b_iso(0.5).label == "salt"
    with pytest.raises(ValueError, match=r"site 0 \(Cs\): b_iso must be .*-1"):
        made.with_b_iso(-1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lattice": np.zeros((3, 3))}, "singular cell"),
        ({"lattice": [[1, 0, 0], [0, 1, 0], [1, 1, 1e-12]]}, "singular cell"),
        ({"lattice": np.eye(3) * np.nan}, "lattice must be finite"),
        ({"lattice": [3, 3, 3]}, r"lattice must have the shape \(3, 3\)"),
        ({"lattice": "abc"}, "lattice must be numbers"),
        ({"numbers": []}, "one or more atomic numbers"),
        ({"numbers": [55.0, 17.0]}, "one or more atomic numbers"),
        ({"numbers": [55, 0]}, "site 1: 0 is no element"),
        ({"numbers": [99, 17]}, "site 0: 99 is no element with a form factor"),
        ({"coords": ORIGIN}, r"coords must have the shape \(2, 3\)"),
        ({"coords": [[0, 0, 0], [0, np.inf, 0]]}, r"site 1 \(Cl\): coordinates.*inf"),
        ({"occupancies": [1, 0]}, r"site 1 \(Cl\): occupancy must be above 0.*0\.0"),
        ({"occupancies": [1.2, 1]}, r"site 0 \(Cs\): occupancy.*1\.2"),
        ({"occupancies": [1, np.nan]}, r"site 1 \(Cl\): occupancy.*nan"),
        ({"b_iso": [0, np.inf]}, r"site 1 \(Cl\): b_iso"),
    ],
)
def test_a_wrong_structure_is_refused_by_site_and_value(change, words):
    given = {"lattice": CUBE, "numbers": [55, 17], "coords": PAIR} | change
    with pytest.raises(ValueError, match=words):
        Structure(**given)
    with pytest.raises(ValueError, match=f"salt: .*{words}"):
        Structure(**given, label="salt")


def test_parts_become_a_structure():
    made = as_structure((CUBE, ["Cs+", "Cl1-"], PAIR))
    assert made.species == ("Cs", "Cl")
    mixed = as_structure((CUBE, np.array([29, 30]), [[0, 0, 0]] * 2, [0.5, 0.5]))
    assert mixed.formula == "Cu0.5 Zn0.5"
    assert as_structure((CUBE, ["D"], ORIGIN), label="ice").label == "ice"
    assert as_structure(made) is made


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ((CUBE, ["Cs", "Xx"], PAIR), "site 1: 'Xx' is no element"),
        ((CUBE, ["Cs", ""], PAIR), "site 1: '' is no element"),
        ((CUBE, ["Cs", True], PAIR), "site 1: True is no element"),
        ((CUBE, "CsCl", PAIR), "species must be a list"),
        ((CUBE, ["Cs"], PAIR), "shape"),
        ((CUBE, ["Es"], ORIGIN), "site 0: 'Es' is no element with a form factor"),
    ],
)
def test_wrong_parts_are_refused(parts, words):
    with pytest.raises(ValueError, match=words):
        as_structure(parts)


@pytest.mark.parametrize("source", [3, None, {"a": 1}, (1, 2), [CUBE]])
def test_other_things_are_refused_with_what_there_is(source):
    with pytest.raises(TypeError, match=r"tuple \(lattice, species, coords"):
        as_structure(source)


def test_a_structure_of_pymatgen():
    theirs = Theirs(
        Lattice.hexagonal(3, 5),
        [{"Fe2+": 0.25, "Mg2+": 0.5}, "O2-"],
        [[0, 0, 0], [1 / 3, 2 / 3, 0.25]],
    )
    made = as_structure(theirs)
    assert sorted(zip(made.species, made.occupancies.tolist(), strict=True)) == [
        ("Fe", 0.25),
        ("Mg", 0.5),
        ("O", 1.0),
    ]
    assert made.coords[0].tolist() == made.coords[1].tolist()
    np.testing.assert_array_equal(made.lattice, theirs.lattice.matrix)
    heavy = Theirs(Lattice.cubic(3), ["D"], ORIGIN)
    assert as_structure(heavy).species == ("H",)
    dummy = Theirs(Lattice.cubic(3), ["X0+"], ORIGIN)
    with pytest.raises(ValueError, match="site 0: 'X' is no element"):
        as_structure(dummy)


def test_atoms_of_ase():
    salt = crystal(
        ["Na", "Cl"],
        [(0, 0, 0), (0.5, 0.5, 0.5)],
        spacegroup=225,
        cellpar=[5.64, 5.64, 5.64, 90, 90, 90],
    )
    made = as_structure(salt)
    assert made.formula == "Na4 Cl4"
    np.testing.assert_allclose(made.coords @ made.lattice, salt.positions, atol=1e-12)


def test_atoms_of_ase_with_shared_sites():
    alloy = crystal(
        ["Cu", "O"],
        [(0, 0, 0), (0.5, 0.5, 0.5)],
        spacegroup=225,
        cellpar=[4.2, 4.2, 4.2, 90, 90, 90],
        occupancies=[0.7, 1.0],
    )
    alloy.info["occupancy"]["0"] = {"Cu": 0.7, "Zn": 0.2}
    made = as_structure(alloy)
    assert made.formula == "Cu2.8 Zn0.8 O4"


def test_atoms_that_are_no_crystal_are_refused():
    with pytest.raises(ValueError, match=r"periodic.*\[False, False, False\]"):
        as_structure(Atoms("H2", positions=[[0, 0, 0], [0, 0, 1]]))
    with pytest.raises(ValueError, match="singular cell"):
        as_structure(Atoms("H", pbc=True))
    with pytest.raises(ValueError, match="no atoms"):
        as_structure(Atoms(cell=CUBE, pbc=True))
    with pytest.raises(ValueError, match="site 0: 0 is no element"):
        as_structure(Atoms("X", cell=CUBE, pbc=True))


def test_several_structures():
    one = (CUBE, ["Po"], ORIGIN)
    assert len(as_structures(one)) == 1
    assert len(as_structures([one, one])) == 2
    assert len(as_structures((one, one, one))) == 3
    assert len(as_structures(as_structure(one))) == 1
    assert len(as_structures(as_structure(x) for x in (one, one))) == 2
    with pytest.raises(ValueError, match=r"Structure 1: site 0: 'Xx'"):
        as_structures([one, (CUBE, ["Xx"], ORIGIN)])
    with pytest.raises(TypeError, match=r"Structure 1: A structure must be"):
        as_structures([one, 3])
    with pytest.raises(ValueError, match="at least one"):
        as_structures([])
    with pytest.raises(TypeError, match="A structure must be"):
        as_structures(3)


def test_elements():
    known = symbols()
    assert known[:3] == ("H", "He", "Li")
    assert len(known) == len(set(known)) == 98
    for z, symbol in enumerate(known, start=1):
        assert atomic_number(symbol) == atomic_number(z) == z
    for text, z in (("Fe2+", 26), ("O-2", 8), ("Na+", 11), (" Ti4+ ", 22), ("T", 1)):
        assert atomic_number(text) == z
    for wrong in ("fe", "Fe2", "2+", "X", "Q", 0, 99, -1, 2.0, None, True):
        with pytest.raises(ValueError, match="no element with a form factor"):
            atomic_number(wrong, "there")


def test_form_factors_are_those_of_pymatgen():
    from pymatgen.analysis.diffraction.xrd import ATOMIC_SCATTERING_PARAMS

    ours = form_factor_coefficients(range(1, 99))
    for symbol, values in zip(symbols(), ours, strict=True):
        assert values.tolist() == ATOMIC_SCATTERING_PARAMS[symbol]
    for wrong in (0, 99):
        with pytest.raises(ValueError, match=f"atomic number {wrong}"):
            form_factor_coefficients([8, wrong])


def test_form_factors_count_electrons_and_fall():
    coefficients = form_factor_coefficients(range(1, 99))
    a, b = coefficients[..., 0], coefficients[..., 1]
    s2 = np.linspace(0, 0.5, 40)[:, None, None]
    falls = 41.78214 * s2[..., 0] * (a * np.exp(-b * s2)).sum(-1)
    f = np.arange(1, 99) - falls
    np.testing.assert_array_equal(f[0], np.arange(1, 99))
    assert (np.diff(f, axis=0) < 1e-2).all()
    assert (f > -0.01).all()


def test_elements_of_pymatgen_are_symbols():
    from pymatgen.core import Element, Species

    kinds = [Element("Fe"), Species("O", -2), np.str_("Cl"), np.int64(11)]
    made = as_structure((CUBE, kinds, np.arange(12).reshape(4, 3) / 12))
    assert made.species == ("Fe", "O", "Cl", "Na")
