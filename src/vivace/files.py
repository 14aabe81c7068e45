"""Writing without losing anything: a file appears whole, under its name, or not at all.

While it is written it stands beside its target as `.STEM-PLACE-PID-RANDOM.SUFFIX`. A process that is killed cannot
remove that file; whoever writes to the same target next does, once no process of that number runs any longer.
"""

from __future__ import annotations

import os
import re
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

from .errors import FileError, VivaceError

LONGEST_STEM = 120  # bytes of the target's stem in a temporary name: file systems end names at 255


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path` with the same suffix; rename it into place if the block succeeds.

    Folders on the way are made. An error inside the block removes the temporary file and leaves `path` untouched.
    What killed processes left of their own attempts at `path` is removed first.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale(path)
        prefix = f"{_temporary_stem(path)}-{os.getpid()}-"
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=path.suffix, dir=path.parent)
        os.close(handle)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}; choose another place") from error
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        try:
            temporary.replace(path)
        except OSError as error:
            raise FileError(f"cannot write {path}: {error.strerror or error}; choose another place") from error
    finally:
        temporary.unlink(missing_ok=True)


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
    try:
        with replacing(probe) as temporary:
            temporary.touch()
        probe.unlink()
    except FileError as error:
        raise FileError(str(error).replace(str(probe), str(path))) from error


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


def _remove_stale(path: Path) -> None:
    """Remove temporary files for `path` whose processes have ended. Those of living ones, and of other places, stay."""
    if os.name != "posix":
        return  # there is no harmless way to ask for a process by its number
    pattern = re.compile(rf"{re.escape(_temporary_stem(path))}-([0-9]{{1,9}})-\w{{8}}{re.escape(path.suffix)}")
    with suppress(OSError):  # a folder that we may write to, but not list
        for name in os.listdir(path.parent):
            match = pattern.fullmatch(name)
            if match is not None and not _runs(int(match[1])):
                (path.parent / name).unlink(missing_ok=True)  # somebody else may have been quicker


def _runs(pid: int) -> bool:
    """Whether there is a process of that number; one that we may not ask about counts."""
    try:
        os.kill(pid, 0)  # sends nothing
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
