"""The checks that all arguments go through."""

import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from vivace import FileError, InputError, UnknownNameError, checks, mesh
from vivace.checks import as_numbers, as_path, check_file, is_number, is_whole, real_array, shown, whole_array


@pytest.mark.parametrize("value", [0, -1, 1.5, np.float32(2), np.int8(3), np.uint64(2**63), 10**300, 2**64])
def test_numbers(value):
    assert is_number(value)


@pytest.mark.parametrize(
    "value",
    [True, np.bool_(True), float("nan"), float("inf"), np.float32("nan"), 10**400, 1j, np.complex64(1), "1", None, [1]],
)
def test_what_is_no_number(value):
    assert not is_number(value)


def test_whole_numbers():
    assert all(map(is_whole, (0, -5, 10**5000, np.int8(1), np.uint64(7))))
    assert not any(map(is_whole, (True, np.bool_(False), 1.0, np.float32(1), "1", None, 1j)))


def test_values_are_shown_in_a_line_whatever_they_are():
    class Silent:
        def __repr__(self):
            raise RuntimeError

    assert shown("a\nb") == repr("a\nb")
    assert shown(np.zeros((3, 3))).count("\n") == 0
    assert len(shown("x" * 10_000)) == 120
    assert shown(10**5000) == "a value of the type int"
    assert shown(Silent()) == "a value of the type Silent"


def test_real_arrays():
    np.testing.assert_array_equal(real_array([[1, 2], [3, 4]]), [[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(real_array([10**30, 1]), [1e30, 1.0])
    np.testing.assert_array_equal(real_array([Fraction(1, 2)]), [0.5])
    mine = np.zeros((4, 3))
    assert real_array(mine) is mine
    for value in ([[1, 2], [3]], [1j], np.zeros(3, complex), "12", ["1", "2"], [True, False], {1}, len, [10**400]):
        assert real_array(value) is None


def test_arrays_of_vertex_numbers():
    assert whole_array([[0, 1]], "it").tolist() == [[0, 1]]
    assert whole_array([], "it").size == 0
    for value in ([[0, 1], [2]], [0.5], ["a"], [1j], [2**64], None, [[None]]):
        with pytest.raises(InputError, match="it must hold whole vertex numbers"):
            whole_array(value, "it")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1, 2], r"it must have shape \(3,\), not \(2,\)"),
        ([1, 2, np.nan], r"it must be finite, not \[1.0, 2.0, nan\]"),
        ([1, 2, 1j], r"it must be numbers of shape \(3,\), not \[1, 2, 1j\]"),
        ([1, 2, -101], r"it must lie within 100 m of zero: -101.0; float32, in which steps are computed, overflows"),
        ("abc", r"it must be numbers of shape \(3,\), not 'abc'"),
    ],
)
def test_three_numbers(value, message):
    with pytest.raises(InputError, match=message):
        as_numbers("it", value, (3,), most=100)


def test_complex_vertices_are_refused_and_do_not_lose_a_part(recwarn):
    square = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])
    for vertices in (square * (1 + 1j), square.astype(complex), (square * 1j).tolist()):
        with pytest.raises(InputError, match=r"vertices must be an \(n, 3\) array of numbers"):
            mesh.Mesh.from_triangles(vertices, [[0, 1, 2], [1, 3, 2]])
    assert not list(recwarn)


@pytest.mark.parametrize("what", ["vertices", "triangles"])
def test_ragged_meshes_are_refused(what):
    arrays = {"vertices": [[0, 0, 0], [1, 0, 0], [0, 1, 0]], "triangles": [[0, 1, 2]]}
    arrays[what] = [*arrays[what], [0, 1]]
    with pytest.raises(InputError, match=what):
        mesh.Mesh.from_triangles(**arrays)


@pytest.mark.parametrize("what", [None, 3, "cloth", np.zeros((3, 3))])
def test_what_is_no_mesh(what, tmp_path):
    with pytest.raises(InputError, match="a Mesh is needed"):
        mesh.save(what, tmp_path / "a.obj")
    with pytest.raises(InputError, match="a Mesh is needed"):
        mesh.tetrahedralise(what)
    assert list(tmp_path.iterdir()) == []


def test_vertices_beyond_float32_are_refused_with_the_bound():
    with pytest.raises(InputError, match=r"vertices must lie within 1e\+06 m of zero; vertex 0 is not: -5e\+29"):
        mesh.cloth(3, 3).transformed(scale=1e30)
    with pytest.raises(InputError, match=r"width must be at most 1e\+06 m, not 1e\+300: float32"):
        mesh.cloth(3, 3, width=1e300)
    with pytest.raises(InputError, match="width must be at least 1e-12 m, not 1e-300: float32"):
        mesh.cloth(3, 3, width=1e-300)


def test_paths():
    assert as_path("a/b.obj") == Path("a/b.obj")
    assert as_path(Path("c")) == Path("c")

    class Bytes(os.PathLike):
        def __fspath__(self):
            return b"x"

    for value in (None, 3, b"x", ["x"], Bytes()):
        with pytest.raises(InputError, match=r"a path must be text or a pathlib.Path, not "):
            as_path(value)
    with pytest.raises(InputError, match=r"--out holds a null byte, which no file name can have: 'a\\x00b'"):
        as_path("a\0b", "--out")
    with pytest.raises(InputError, match="a path holds characters that no file name can have"):
        as_path("\ud800")


@pytest.mark.parametrize(
    "name", ["missing.obj", "folder.obj", "file.obj/inner.obj", "n" * 300 + ".obj", "n/" * 3000 + "x.obj"]
)
def test_files_that_are_none(tmp_path, name):
    (tmp_path / "folder.obj").mkdir()
    (tmp_path / "file.obj").write_text("")
    for read in (check_file, mesh.load):
        with pytest.raises(FileError, match="cannot read") as caught:
            read(tmp_path / name)
        assert ("too long" in str(caught.value)) == (len(name) > 250)
    with pytest.raises(FileError, match="cannot write"):
        mesh.save(mesh.cloth(3, 3), tmp_path / ("folder.obj" if name == "missing.obj" else name))


def test_names():
    assert checks.check_name("plane", "vertical", ["vertical"]) == "vertical"
    for value in ("vertica", None, 3, ["vertical"], np.zeros(3), 10**5000):
        with pytest.raises(UnknownNameError, match="unknown plane"):
            checks.check_name("plane", value, ["vertical"])
