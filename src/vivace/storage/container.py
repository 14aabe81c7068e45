"""The file that stored things are in: a zip of .npy arrays and one JSON text, as `numpy.load` reads it, too.

Members are stored as they are, not compressed: then nothing in the file can be larger than the file, and what a reader
has to allocate is known before it does. Every member has a checksum, which is looked at. Files appear whole or not at
all, on the disk and not only in its cache.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError
from ..files import writing
from .values import pack

ABOUT = "about.json"
MOST_TEXT = 2**26  # bytes of JSON
MOST_ARRAYS = 100_000
LONGEST_HEADER = 10_000  # bytes, of a .npy member


@dataclass(frozen=True)
class Stored:
    """What is in a container.

    Attributes:
        about: the JSON text, as values.
        arrays: in their order.
    """

    about: dict[str, Any]
    arrays: list[np.ndarray]


def write_container(path: str | PathLike[str], about: dict[str, Any], value: Any) -> Path:
    """Write plain values and a packed value; see `values.pack`. Refused before anything is written.

    Args:
        path: of the file, which is replaced.
        about: what a reader should know first; numbers, text, lists and dicts.
        value: what is stored.
    """
    path = Path(path)
    packed, arrays = pack(value)
    text = json.dumps({**about, "value": packed}, allow_nan=False).encode()
    if len(text) > MOST_TEXT:
        raise FileError(f"cannot write {path}: it would have {len(text)} bytes of text, and {MOST_TEXT} are the most")
    with writing(path) as temporary, temporary.open("wb") as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as container:
            container.writestr(zipfile.ZipInfo(ABOUT), text)
            for k, array in enumerate(arrays):
                member = io.BytesIO()
                np.lib.format.write_array(member, np.ascontiguousarray(array).reshape(array.shape), allow_pickle=False)
                container.writestr(zipfile.ZipInfo(f"{k}.npy"), member.getbuffer())
        file.flush()
        os.fsync(file.fileno())
    return path


def read_container(path: str | PathLike[str], what: str) -> Stored:
    """Read what `write_container` has written.

    Args:
        path: of the file.
        what: it should be, for messages: "a checkpoint".
    """
    path = Path(path)
    try:
        size = path.stat().st_size
        with path.open("rb") as file, zipfile.ZipFile(file) as container:
            return _read(container, size)
    except FileNotFoundError:
        raise FileError(f"cannot read {path}: there is no such file") from None
    except IsADirectoryError:
        raise FileError(f"cannot read {path}: it is a folder, not {what}") from None
    except _Wrong as error:
        raise FileError(f"cannot read {path}: it is not {what}, or damaged ({error})") from None
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or 'it is damaged'}") from None
    except Exception as error:  # zipfile raises a dozen kinds of errors for what is no zip file
        raise FileError(f"cannot read {path}: it is not {what}, or damaged ({_first(error)})") from None


class _Wrong(Exception):
    """What is wrong with a container."""


def _first(error: Exception) -> str:
    return (str(error).strip().partition("\n")[0] or type(error).__name__)[:200]


def _read(container: zipfile.ZipFile, size: int) -> Stored:
    members = container.infolist()
    if len(members) > MOST_ARRAYS:
        raise _Wrong(f"{len(members)} members")
    for member in members:
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise _Wrong(f"{member.filename[:40]!r} is compressed")
    if sum(member.file_size for member in members) > size:
        raise _Wrong("its members are larger than the file")
    if [member.filename for member in members] != [ABOUT, *(f"{k}.npy" for k in range(len(members) - 1))]:
        raise _Wrong("its members are not those of one")
    if members[0].file_size > MOST_TEXT:
        raise _Wrong(f"{members[0].file_size} bytes of text")
    about = json.loads(container.read(members[0]))
    if not isinstance(about, dict):
        raise _Wrong("its text is no object")
    return Stored(about, [_array(container.read(member), member.filename) for member in members[1:]])


def _array(data: bytes, name: str) -> np.ndarray:
    """The array of a .npy member whose header says as much as there is; read-only where it is not copied."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
    if read is None:
        raise _Wrong(f"{name} has the version {version}")
    shape, fortran, dtype = read(stream, max_header_size=LONGEST_HEADER)
    if dtype.kind not in "biuf" or dtype.itemsize > 8 or dtype.fields or dtype.subdtype or not dtype.isnative:
        raise _Wrong(f"{name} is of {str(dtype)[:40]}")
    count = 1
    for length in shape:
        if type(length) is not int or length < 0:
            raise _Wrong(f"{name} has the shape {str(shape)[:40]}")
        count *= length
    rest = len(data) - stream.tell()
    if fortran or len(shape) > 8 or count * dtype.itemsize != rest:
        raise _Wrong(f"{name} says {str(shape)[:40]} of {dtype} and has {rest} bytes")
    found = np.frombuffer(data, dtype, count, stream.tell()).reshape(shape).copy()
    if dtype.kind == "b" and not np.isin(np.frombuffer(data, np.uint8, count, stream.tell()), (0, 1)).all():
        raise _Wrong(f"{name} has truth values that are neither true nor false")
    return found
