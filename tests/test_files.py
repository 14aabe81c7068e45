"""A file appears whole, under its name, or not at all."""

import os
import stat

import pytest

from vivace import FileError
from vivace.files import replacing, write_text


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_when_the_block_ends(tmp_path):
    path = tmp_path / "data.csv"
    with replacing(path) as temporary:
        assert temporary.parent == path.parent
        assert temporary.suffix == ".csv"
        assert temporary != path
        temporary.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"
    assert names(tmp_path) == ["data.csv"]


def test_an_older_file_is_replaced_at_once(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("old")
    with replacing(str(path)) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert names(tmp_path) == ["data.csv"]


@pytest.mark.parametrize("error", [ValueError, OSError, KeyboardInterrupt, SystemExit])
def test_an_error_leaves_the_older_file(tmp_path, error):
    path = tmp_path / "data.csv"
    path.write_text("old")

    def write_half():
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise error("half-way")

    with pytest.raises(error, match="half-way"):
        write_half()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["data.csv"]


def test_an_error_without_an_older_file_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "data.csv"):
        _ = 1 / 0
    assert names(tmp_path) == []


def test_a_block_that_removes_its_file(tmp_path):
    with pytest.raises(OSError, match=r"data|No such file"), replacing(tmp_path / "data.csv") as temporary:
        temporary.unlink()
    assert names(tmp_path) == []


def test_folders_on_the_way_are_made(tmp_path):
    path = tmp_path / "a" / "b" / "c" / "data.txt"
    write_text(path, "text")
    assert path.read_text() == "text"
    assert names(path.parent) == ["data.txt"]


def test_a_folder_in_the_way(tmp_path):
    path = tmp_path / "data.txt"
    path.mkdir()
    with pytest.raises(FileError, match=r"cannot write .*data\.txt: Is a directory"):
        write_text(path, "text")
    assert names(tmp_path) == ["data.txt"]


def test_a_file_where_a_folder_should_be(tmp_path):
    (tmp_path / "a").write_text("kept")
    with pytest.raises(FileError, match=r"cannot write .*choose another place"):
        write_text(tmp_path / "a" / "data.txt", "text")
    assert (tmp_path / "a").read_text() == "kept"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    with pytest.raises(FileError, match="Permission denied"):
        write_text(folder / "data.txt", "text")


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_permissions_follow_the_umask(tmp_path, umask, mode):
    """As open() would make it, not as the private temporary file was made."""
    before = os.umask(umask)
    try:
        write_text(tmp_path / "data.txt", "text")
        assert os.umask(umask) == umask
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "data.txt").stat().st_mode) == mode


def test_odd_names(tmp_path):
    for name in ("Ünïcode ゆ 🧵.txt", "no suffix", ".hidden", "two.dots.txt", "new\nline.txt", "[b].txt"):
        write_text(tmp_path / name, "tëxt")
        assert (tmp_path / name).read_bytes() == "tëxt".encode()
    assert len(names(tmp_path)) == 6


def test_two_writers_at_once(tmp_path):
    """Each has a temporary file of its own; the last to finish wins, whole."""
    path = tmp_path / "data.txt"
    with replacing(path) as first, replacing(path) as second:
        assert first != second
        first.write_text("first")
        second.write_text("second")
    assert path.read_text() == "first"
    assert names(tmp_path) == ["data.txt"]
