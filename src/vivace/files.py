"""Writing without losing anything: a file, or a folder, appears whole, under its name, or not at all.

While it is written it stands beside its target as `.STEM-PLACE-PID-RANDOM.SUFFIX`. A process that is killed cannot
remove that; whoever writes to the same target next does, once no process of that number runs any longer.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from ._version import __version__
from .errors import FileError, VivaceError

LONGEST_STEM = 120  # bytes of the target's stem in a temporary name: file systems end names at 255


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path` with the same suffix; rename it into place if the block succeeds.

    Folders on the way are made. An error inside the block removes the temporary file and leaves `path` untouched.
    What killed processes left of their own attempts at `path` is removed first.
    """
    path = Path(path)
    with _said_plainly(path):
        handle, name = tempfile.mkstemp(prefix=_ready_beside(path), suffix=path.suffix, dir=path.parent)
        os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        with _said_plainly(path):
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def staging(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary folder beside `path`, for what takes several files; it is gone after the block.

    Whoever has made `path` there moves it into place: by `Path.replace`, or `replace_folder`. As in `replacing`,
    folders on the way are made, and what killed processes left of theirs is removed first.
    """
    path = Path(path)
    with _said_plainly(path):
        folder = Path(tempfile.mkdtemp(prefix=_ready_beside(path), suffix=path.suffix, dir=path.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def replace_folder(new: Path, path: Path, stage: Path) -> None:
    """Give the folder `new` the name `path`; one that was there goes into `stage`, and with it.

    A folder cannot take another's place in one step: killed in between, there is none of that name.
    """
    with _said_plainly(path):
        if path.is_dir():
            path.rename(stage / "before")
        new.chmod(0o777 & ~_umask())
        new.rename(path)


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """As `replacing`, found out early for folders, and with a full disk or a failed encoder said plainly."""
    if path.is_dir():
        raise FileError(f"cannot write {path}: it is a folder; choose another name")
    try:
        with replacing(path) as temporary:
            yield temporary
    except VivaceError:
        raise
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}; choose another place") from error


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` to `path` as UTF-8, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def check_writable(path: Path) -> None:
    """Fail before a long run rather than after it."""
    if path.is_dir():
        raise FileError(f"cannot write {path}: it is a folder; choose another name")
    probe = path.with_name(f".{path.name}-probe")
    missing = [folder for folder in path.parents if not folder.exists()]
    try:
        with replacing(probe) as temporary:
            temporary.touch()
        probe.unlink()
    except FileError as error:
        raise FileError(str(error).replace(str(probe), str(path))) from error
    finally:
        with suppress(OSError):  # somebody else has begun to use them
            for folder in missing:
                folder.rmdir()


def provenance(settings: Mapping[str, Any] | None) -> str:
    """What made a file, as one line of ASCII JSON: the version of this package, and the settings given."""
    return json.dumps({"vivace": __version__, **(settings or {})}, default=_plain)


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask


@contextmanager
def _said_plainly(path: Path) -> Iterator[None]:
    """What the system has against writing `path`, as an error of ours."""
    try:
        yield
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}; choose another place") from error


# --- what killed processes leave behind ------------------------------------------------------------------------------


@cache
def _place() -> str:
    """Where the numbers of our processes mean something: other machines and containers may share the folder."""
    try:
        namespace = os.stat("/proc/self/ns/pid").st_ino
    except OSError:  # not Linux
        namespace = 0
    return sha256(f"{socket.gethostname()} {namespace}".encode()).hexdigest()[:8]


def _temporary_stem(path: Path) -> str:
    """How all names of temporary files for `path` begin that were made here."""
    stem = path.stem.encode("utf-8", "surrogateescape")[:LONGEST_STEM].decode("utf-8", "ignore")
    return f".{stem}-{_place()}"


def _ready_beside(path: Path) -> str:
    """How names of temporary files for `path` begin, in a folder that is there and without what killed ones left."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_stale(path)
    return f"{_temporary_stem(path)}-{os.getpid()}-"


def _remove_stale(path: Path) -> None:
    """Remove what is temporary for `path` and whose process has ended. What living ones and other places have stays."""
    if os.name != "posix":
        return  # there is no harmless way to ask for a process by its number
    pattern = re.compile(rf"{re.escape(_temporary_stem(path))}-([0-9]{{1,9}})-\w{{8}}{re.escape(path.suffix)}")
    with suppress(OSError):  # a folder that we may write to, but not list
        for name in os.listdir(path.parent):
            match = pattern.fullmatch(name)
            if match is not None and not _runs(int(match[1])):
                left = path.parent / name
                if left.is_dir() and not left.is_symlink():
                    shutil.rmtree(left, ignore_errors=True)
                else:
                    left.unlink(missing_ok=True)  # somebody else may have been quicker


def _runs(pid: int) -> bool:
    """Whether there is a process of that number; one that we may not ask about counts."""
    try:
        os.kill(pid, 0)  # sends nothing
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
