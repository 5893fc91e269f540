"""Files in Burmeister's format: read, written, and refused with the line."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skinterp.lattice import read_burmeister, write_burmeister

TEXT = "B\n\n2\n3\n\nduck\ncarp\nflies\nswims\nlays eggs\nXXX\n.XX\n"


def test_reading(tmp_path):
    path = tmp_path / "a.cxt"
    for text in (TEXT, TEXT.replace("B\n\n", "B\nname\n"), TEXT.replace("\n", "\r\n")):
        path.write_bytes(text.encode())
        table = read_burmeister(path)
        assert table.index.tolist() == ["duck", "carp"]
        assert table.columns.tolist() == ["flies", "swims", "lays eggs"]
        assert table.to_numpy().tolist() == [[1, 1, 1], [0, 1, 1]]


@pytest.mark.parametrize("name", ["B\n\n", "B\n", "B\n5\n", "\ufeffB\nname\n"])
@pytest.mark.parametrize("blank", ["", "\n"])
def test_names_that_are_numbers_and_lines_left_out(tmp_path, name, blank):
    path = tmp_path / "a.cxt"
    crosses = f"{blank}X.\n{blank}xX\n\n"
    path.write_text(f"{name}2\n2\n{blank}7\n8\n1\nb\u2028c\n{crosses}", "utf-8")
    table = read_burmeister(path)
    assert table.index.tolist() == ["7", "8"]
    assert table.columns.tolist() == ["1", "b\u2028c"]
    assert table.to_numpy().tolist() == [[1, 0], [1, 1]]


def test_frames_of_other_libraries_give_their_columns(tmp_path):
    polars = pytest.importorskip("polars")
    path = tmp_path / "a.cxt"
    write_burmeister(polars.DataFrame({"flies": [True, False]}), path)
    assert read_burmeister(path).columns.tolist() == ["flies"]


@given(arrays(bool, st.tuples(st.integers(0, 5), st.integers(0, 5))))
def test_what_is_written_is_read(tmp_path_factory, table):
    path = tmp_path_factory.mktemp("cxt") / "a.cxt"
    frame = pd.DataFrame(
        table,
        index=pd.Index([f"größe {i}" for i in range(len(table))], dtype=object),
        columns=pd.Index([f"1{j}" for j in range(table.shape[1])], dtype=object),
    )
    write_burmeister(frame, path, name="12")
    read = read_burmeister(path)
    assert np.array_equal(read.to_numpy(), table)
    assert list(read.index) == list(frame.index)
    assert list(read.columns) == list(frame.columns)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A\n", "line 1 must be 'B'"),
        ("B\n\nx\n3\n", "numbers of objects"),
        (TEXT[:-5], "ends at line 11"),
        (TEXT.replace(".XX", "?XX"), "line 12"),
        (TEXT.replace(".XX", "XX"), "line 12"),
    ],
)
def test_wrong_files_are_refused(tmp_path, text, message):
    path = tmp_path / "a.cxt"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_burmeister(path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": [[2, 0]]}, "X holds 2"),
        ({"X": pd.DataFrame({"a": pd.array([1, None], "boolean")})}, "X holds <NA>"),
        ({"X": [[1, 0]], "attributes": ["a\n", "c"]}, "line break"),
        ({"X": [[1, 0]], "attributes": ["a", "c\r"]}, "line break"),
        ({"X": [1, 0]}, "two dimensions"),
        ({"X": [[1, 0]], "objects": ["a", "b"]}, "objects has 2 names for 1"),
        ({"X": [[1, 0]], "attributes": ["a\nb", "c"]}, "line break"),
    ],
)
def test_wrong_tables_are_refused(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        write_burmeister(path=tmp_path / "a.cxt", **arguments)
