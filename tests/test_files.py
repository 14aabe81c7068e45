"""A file appears whole, under its name, or not at all."""

import os
import signal
import stat
import subprocess
import sys
from contextlib import contextmanager

import pytest

from vivace import FileError, files
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


# --- what killed processes leave behind ------------------------------------------------------------------------------

WRITER = """
import sys
from contextlib import ExitStack
from vivace.files import replacing
with ExitStack() as stack:
    for path in sys.argv[1:]:
        temporary = stack.enter_context(replacing(path))
        temporary.write_text("half")
        print(temporary.name, flush=True)
    sys.stdin.read()
"""
needs_posix = pytest.mark.skipif(os.name != "posix", reason="processes are asked for by their number on POSIX only")


@contextmanager
def writer(*paths):
    """(process, names of its temporary files): another process that is half-way through writing them, and waits."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, *map(str, paths)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process, *(process.stdout.readline().strip() for _ in paths)
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def kill(process):
    """As a system does that is short of memory; the process is gone when this returns."""
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


@pytest.mark.slow
@needs_posix
def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path):
    written = ["film.mp4", "no suffix", ".hidden", "[b] ü 🧵.two.gif", "n" * 230 + ".npz"]
    paths = [tmp_path / str(k) / name for k, name in enumerate(written)]
    for path in paths:
        path.parent.mkdir()
    with writer(*paths) as (process, *left):
        kill(process)
    for path, name in zip(paths, left, strict=True):
        assert names(path.parent) == [name]
        write_text(path, "whole")
        assert names(path.parent) == [path.name]
        assert path.read_text() == "whole"


@pytest.mark.slow
@needs_posix
def test_a_living_writer_keeps_its_file(tmp_path):
    path = tmp_path / "film.mp4"
    with writer(path) as (process, left):
        assert str(process.pid) in left
        write_text(path, "ours")
        assert names(tmp_path) == sorted([left, "film.mp4"])
        process.stdin.close()  # it goes on, and ends
        assert process.wait() == 0
    assert path.read_text() == "half"
    assert names(tmp_path) == ["film.mp4"]


@pytest.mark.slow
@needs_posix
def test_files_for_other_targets_stay(tmp_path):
    with writer(tmp_path / "film.mp4") as (process, left):
        kill(process)
    for name in ("film.gif", "other.mp4", "film", "fil.mp4", "film-1.mp4"):
        write_text(tmp_path / name, "text")
        assert left in names(tmp_path), name


@pytest.mark.slow
@needs_posix
def test_files_of_other_machines_stay(tmp_path, monkeypatch):
    """A number means another process there; folders are shared over networks and with containers."""
    path = tmp_path / "film.mp4"
    with writer(path) as (process, left):
        kill(process)
    files._place.cache_clear()
    monkeypatch.setattr(files.socket, "gethostname", lambda: "another")
    try:
        write_text(path, "text")
        assert names(tmp_path) == sorted([left, "film.mp4"])
    finally:
        files._place.cache_clear()


@pytest.mark.slow
@needs_posix
def test_what_only_looks_like_one_stays(tmp_path):
    with writer(tmp_path / "film.mp4") as (process, left):
        kill(process)
    others = ["x" + left, left + "x", left.replace(str(process.pid), "12x"), left.replace(str(process.pid), "")]
    for name in others:
        (tmp_path / name).write_text("somebody's own")
    write_text(tmp_path / "film.mp4", "text")
    assert names(tmp_path) == sorted([*others, "film.mp4"])


@needs_posix
def test_a_process_of_somebody_else_counts_as_running(monkeypatch):
    """Asking for it is refused, which says that it is there."""

    def refuse(pid, number):
        assert number == 0
        raise PermissionError

    monkeypatch.setattr(files.os, "kill", refuse)
    assert files._runs(1)
