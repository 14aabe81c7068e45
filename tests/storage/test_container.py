"""A container: what was written comes back, and a file that is not one is refused before anything is allocated."""

import io
import json
import zipfile

import numpy as np
import pytest

from vivace import FileError
from vivace.storage import read_container, unpack, write_container


@pytest.fixture
def path(tmp_path):
    return write_container(tmp_path / "x.vivace", {"format": 1}, [np.arange(6.0).reshape(2, 3), "text"])


def rewritten(path, name=None, data=None, compress=zipfile.ZIP_STORED, drop=None):
    with zipfile.ZipFile(path) as old:
        members = {n: old.read(n) for n in old.namelist() if n != drop}
    if name is not None:
        members[name] = data
    with zipfile.ZipFile(path, "w", compress) as new:
        for member, content in members.items():
            new.writestr(member, content)
    return path


def npy(header, data=b""):
    text = f"{header}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def test_there_and_back(path):
    stored = read_container(path, "a test")
    assert stored.about["format"] == 1
    array, text = unpack(stored.about["value"], stored.arrays)
    np.testing.assert_array_equal(array, np.arange(6.0).reshape(2, 3))
    assert text == "text"
    assert array.flags.writeable
    assert [p.name for p in path.parent.iterdir()] == ["x.vivace"]


def test_numpy_reads_it(path):
    with np.load(path) as file:
        np.testing.assert_array_equal(file["0"], np.arange(6.0).reshape(2, 3))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileError, match="there is no such file"):
        read_container(tmp_path / "nothing", "a test")
    with pytest.raises(FileError, match="it is a folder"):
        read_container(tmp_path, "a test")


def test_every_file_that_is_cut_off_is_refused(path):
    data = path.read_bytes()
    for length in range(0, len(data) - 1, 7):
        path.write_bytes(data[:length])
        with pytest.raises(FileError, match=f"cannot read {path}"):
            read_container(path, "a test")


def test_every_flipped_byte_of_an_array_is_noticed(path):
    """Checksums: no other numbers than those that were written."""
    data = path.read_bytes()
    at = data.index(np.arange(6.0).tobytes())
    for k in range(at, at + 48):
        path.write_bytes(data[:k] + bytes([data[k] ^ 1]) + data[k + 1 :])
        with pytest.raises(FileError, match="damaged"):
            read_container(path, "a test")


HUGE = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 1000000), }"


@pytest.mark.parametrize(
    "member",
    [
        npy(HUGE),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }"),
        npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", b"x" * 8),
        npy("{'descr': '<f8', 'fortran_order': True, 'shape': (1, 1), }", b"x" * 8),
        npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }", b"x" * 8),
        npy("__import__('os').system('true')"),
        npy("(" * 60000),
        npy("{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }", b"\x07"),
        b"",
        b"\x80\x04\x95",
    ],
)
def test_arrays_that_lie(path, member):
    """A header that says more than there is, or other things than numbers, is refused for what it says."""
    with pytest.raises(FileError, match="not a test, or damaged"):
        read_container(rewritten(path, "0.npy", member), "a test")


def test_a_bomb_is_refused_before_it_goes_off(path):
    """Only members that are as large as they are in the file are read at all."""
    data = io.BytesIO()
    np.save(data, np.zeros(10_000_000))
    bomb = rewritten(path, "0.npy", data.getvalue(), compress=zipfile.ZIP_DEFLATED)
    assert bomb.stat().st_size < 200_000
    with pytest.raises(FileError, match="is compressed"):
        read_container(bomb, "a test")


def test_members_that_do_not_belong(path):
    with pytest.raises(FileError, match="its members are not those of one"):
        read_container(rewritten(path, "../../evil.npy", b""), "a test")
    with pytest.raises(FileError, match="its members are not those of one"):
        read_container(rewritten(path, drop="about.json"), "a test")


@pytest.mark.parametrize("text", [b"[]", b"{", b"[" * 100_000, json.dumps("x").encode(), b"\xff\xfe"])
def test_text_that_is_none(path, text):
    with pytest.raises(FileError, match="not a test, or damaged"):
        read_container(rewritten(path, "about.json", text), "a test")


def test_nothing_is_written_where_something_is_no_data(tmp_path):
    with pytest.raises(ValueError, match="cannot be stored"):
        write_container(tmp_path / "y.vivace", {}, object())
    assert list(tmp_path.iterdir()) == []
