"""Writing without losing anything: a file appears whole, under its name, or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import FileError


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary path beside `path` with the same suffix; rename it into place if the block succeeds.

    Folders on the way are made. An error inside the block removes the temporary file and leaves `path` untouched.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
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


def write_text(path: str | os.PathLike, text: str) -> None:
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
