import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skinterp_xrd import PowderXRDSimulator, crystal_system_of
from skinterp_xrd._prototypes import ANIONS, CATIONS, PROTOTYPES
from skinterp_xrd.datasets import (
    in_library_split,
    leave_one_prototype_out,
    make_prototype_structures,
    make_xrd_benchmark,
    out_of_library_split,
    prototype_names,
)


class Ruler:
    """A simulator that writes the edges of the cell into the pattern."""

    grid_ = np.linspace(10, 80, 7)

    def fit(self, structures):
        return self

    def simulate(self, structures, n_patterns):
        groups = np.repeat(np.arange(len(structures)), n_patterns)
        edges = np.array([np.linalg.norm(s.lattice, axis=1) for s in structures])
        patterns = np.zeros((len(groups), 7), dtype=np.float32)
        patterns[:, :3] = edges[groups]
        return patterns, pd.DataFrame({"i": np.arange(len(groups))}, groups), groups


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", prototype_names())
def test_prototypes_have_the_space_group_that_they_are_said_to_have(name):
    spglib = pytest.importorskip("spglib")
    prototype = PROTOTYPES[name]
    roles, coords = prototype.positions()
    kinds = [prototype.roles.index(role) + 1 for role in roles]
    cell = (prototype.lattice(1.03, 0.98), coords, kinds)
    found = spglib.get_symmetry_dataset(cell, symprec=1e-4)
    assert found.number == prototype.space_group
    assert crystal_system_of(prototype.space_group) == prototype.crystal_system


def test_there_are_eighteen_prototypes_of_five_systems_and_forty_elements():
    systems = [one.crystal_system for one in PROTOTYPES.values()]
    counts = {name: systems.count(name) for name in set(systems)}
    assert counts == {
        "cubic": 7,
        "hexagonal": 3,
        "tetragonal": 3,
        "orthorhombic": 3,
        "trigonal": 2,
    }
    assert len({*CATIONS, *ANIONS}) == len(CATIONS) + len(ANIONS) == 40


@pytest.mark.parametrize("name", prototype_names())
def test_no_two_atoms_of_a_prototype_are_close(name):
    prototype = PROTOTYPES[name]
    _, coords = prototype.positions()
    away = coords[:, None] - coords[None]
    away -= np.round(away)
    distance = np.linalg.norm(away @ prototype.lattice(1, 1), axis=2)
    assert distance[~np.eye(len(coords), dtype=bool)].min(initial=9.0) > 1.2


def test_crystals_have_different_elements_and_scaled_cells():
    crystals, labels = make_prototype_structures(40, random_state=1)
    assert len(crystals) == len(labels) == 720
    for crystal, name in zip(crystals, labels["prototype"], strict=True):
        prototype = PROTOTYPES[name]
        assert len(set(crystal.species)) == len(prototype.roles)
        a, _, c = np.linalg.norm(crystal.lattice, axis=1) / prototype.lengths
        assert 0.85 <= a <= 1.15
        cubic = prototype.crystal_system == "cubic"
        assert np.isclose(c, a) if cubic else 0.95 <= c / a <= 1.05
    a = np.array([crystal.lattice[0, 0] for crystal in crystals[:40]]) / 3.615
    assert a.min() < 0.9
    assert a.max() > 1.1


def test_the_same_seed_makes_the_same_crystals():
    one, _ = make_prototype_structures(2, random_state=3)
    two, _ = make_prototype_structures(2, random_state=3)
    other, _ = make_prototype_structures(2, random_state=4)
    assert [s.label for s in one] == [s.label for s in two]
    assert all(
        np.array_equal(a.lattice, b.lattice) for a, b in zip(one, two, strict=True)
    )
    assert [s.label for s in one] != [s.label for s in other]


def test_lines_of_a_benchmark_belong_together():
    data = make_xrd_benchmark(
        3, 2, prototypes=["fcc", "rutile"], simulator=Ruler(), random_state=0
    )
    assert data.patterns.shape == (12, 7)
    assert data.groups.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert data.prototypes.tolist() == ["fcc"] * 6 + ["rutile"] * 6
    for row, crystal in zip(data.patterns, data.groups, strict=True):
        edges = np.linalg.norm(data.structures[crystal].lattice, axis=1)
        np.testing.assert_allclose(row[:3], edges, rtol=1e-6)
    assert set(data.labels["space_group"]) == {225, 136}
    assert "12 patterns of 6 crystals, 2 prototypes, 7 points" in repr(data)


@given(
    n_crystals=st.integers(2, 6),
    n_patterns=st.integers(2, 6),
    share=st.floats(0.05, 0.95),
    seed=st.integers(0, 9),
)
def test_splits_hold_what_they_promise(n_crystals, n_patterns, share, seed):
    kinds = np.repeat(["a", "b"], n_crystals * n_patterns)
    groups = np.repeat(np.arange(2 * n_crystals), n_patterns)
    for train, test in (
        in_library_split(groups, share, random_state=seed),
        out_of_library_split(groups, kinds, share, random_state=seed),
    ):
        assert sorted([*train, *test]) == list(range(len(groups)))
        assert set(kinds[train]) == set(kinds[test]) == {"a", "b"}
    assert not set(groups[train]) & set(groups[test])
    train, test = in_library_split(groups, share, random_state=seed)
    assert set(groups[train]) == set(groups[test]) == set(groups)


def test_shares_of_the_splits_are_those_asked_for():
    groups = np.repeat(np.arange(20), 10)
    _, test = in_library_split(groups, 0.3, random_state=0)
    assert np.bincount(groups[test]).tolist() == [3] * 20
    _, test = out_of_library_split(groups, test_size=0.3, random_state=0)
    assert len(set(groups[test])) == 6


def test_the_simulator_given_is_not_changed():
    simulator = PowderXRDSimulator(step=1.0, random_state=0)
    make_xrd_benchmark(1, 1, prototypes="fcc", simulator=simulator, random_state=0)
    assert not hasattr(simulator, "seed_")


def test_each_prototype_is_left_out_once():
    kinds = np.array(["x", "y", "x", "z"])
    parts = leave_one_prototype_out(kinds)
    assert [name for name, _, _ in parts] == ["x", "y", "z"]
    for name, train, test in parts:
        assert set(kinds[test]) == {name}
        assert name not in kinds[train]
        assert len(train) + len(test) == 4


@pytest.mark.parametrize(
    ("work", "words"),
    [
        (lambda: make_prototype_structures(0), "n_per_prototype.*at least 1.*0"),
        (lambda: make_prototype_structures(1.5), "n_per_prototype.*integer.*1.5"),
        (lambda: make_prototype_structures(1, prototypes=["diamond"]), "diamond.*fcc"),
        (lambda: make_prototype_structures(1, prototypes=[]), "empty"),
        (lambda: make_prototype_structures(1, prototypes=[["fcc"]]), "allowed are"),
        (lambda: make_prototype_structures(1, prototypes=5), "holds 5; allowed"),
        (lambda: make_prototype_structures(1, scale=(1.2, 0.8)), "scale.*1.2, 0.8"),
        (lambda: make_prototype_structures(1, scale=(0, 1)), "scale.*0 <"),
        (lambda: make_prototype_structures(1, axis_ratio=3), "axis_ratio.*two"),
        (lambda: make_xrd_benchmark(1, 0), "n_patterns.*at least 1"),
        (lambda: in_library_split([0, 0, 1, 1], 1.0), "test_size.*1.0"),
        (lambda: in_library_split([0, 0, 1], 0.5), "crystal 1 has one pattern"),
        (lambda: in_library_split([]), r"groups.*shape \(0,\)"),
        (lambda: out_of_library_split([0, 1], ["a"]), "1 entries for 2"),
        (lambda: out_of_library_split([0, 0, 1], ["a", "a", "b"]), "'a' has one"),
        (lambda: leave_one_prototype_out(["a", "a"]), "two are needed"),
        (lambda: crystal_system_of(231), "1 to 230, got 231"),
        (lambda: crystal_system_of(True), "integer"),
    ],
)
def test_wrong_input_is_told(work, words):
    with pytest.raises(ValueError, match=words):
        work()
