"""NPZ: `positions` (f, n, 3), `times`, `triangles`, `uvs`, and `settings`, what made them, as JSON. NumPy reads it.

Not compressed: moving float32 coordinates hardly shrink, and packing them takes longer than simulating them.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from .base import About, CacheFormat, Content, cache_format, check_promise, damaged
from .told import apply_told, told

MOST_OTHER = 1 << 30  # bytes of an array beside the positions
CHUNK = 1 << 20


@cache_format(".npz")
class Npz(CacheFormat):
    """NPZ of positions."""

    title = "NPZ of positions"
    faces = False

    def __init__(self, folder: Path, name: str, about: About):
        super().__init__(folder, name, about)
        self._zip = zipfile.ZipFile(self.path, "w", zipfile.ZIP_STORED, allowZip64=True)
        self._entry = zipfile.ZipInfo("positions.npy")
        self._member: IO[bytes] = self._zip.open(self._entry, "w", force_zip64=True)
        self._member.write(self._head())
        self._times = array("d")
        self.more: dict[str, Any] = {}  # further arrays by name, for the end

    def _head(self) -> bytes:
        """The start of an array's file; as long for any number of frames, so that it can be written again."""
        buffer = io.BytesIO()
        shape = (self.written, self.about.vertices, 3)
        np.lib.format.write_array_header_1_0(buffer, {"descr": "<f4", "fortran_order": False, "shape": shape})
        return buffer.getvalue()

    def write(self, positions: np.ndarray, time: float) -> None:
        """Append the frame."""
        self._member.write(positions.astype("<f4", copy=False).data)
        self._times.append(time)

    def finish(self) -> None:
        """Say how many there are, and add the rest."""
        self._member.close()
        self._correct()
        about, times = self.about, np.frombuffer(self._times, np.float64)
        arrays = {"times": times, "triangles": about.triangles, "settings": np.array(about.provenance()), **self.more}
        if about.uvs is not None:
            arrays["uvs"] = about.uvs
        if about.polygons is not None:
            arrays |= {"polygon_counts": about.polygons.counts, "polygon_corners": about.polygons.corners}
            if about.polygons.uvs is not None:
                arrays["corner_uvs"] = about.polygons.uvs
        for name, values in arrays.items():
            with self._zip.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, np.asanyarray(values), allow_pickle=False)

    def _correct(self) -> None:
        """How many frames there are was not known when the header was written: write it again, and its checksum."""
        file = self._zip.fp
        assert file is not None
        end, size = file.tell(), self._entry.file_size
        begin = end - size
        file.seek(begin)
        file.write(self._head())
        file.seek(begin)
        check, left = 0, size
        while left:
            data = file.read(min(CHUNK, left))
            check, left = zlib.crc32(data, check), left - len(data)
        self._entry.CRC = check
        file.seek(self._entry.header_offset + 14)  # where a local header has it
        file.write(check.to_bytes(4, "little"))
        file.seek(end)

    def close(self) -> None:
        """Close the file."""
        self._member.close()
        self._zip.close()

    @classmethod
    def content(cls, path: Path) -> Content:
        """What we wrote, also by `vivace run` and the live app; or any other NPZ of positions over time."""
        try:
            with zipfile.ZipFile(path) as packed:
                entries = {entry.filename: entry for entry in packed.infolist()}
                if "positions.npy" not in entries:
                    raise damaged(path, f"it has no positions, only {', '.join(entries)[:80] or 'nothing'}")
                small = {
                    name: _small(path, packed, entries[f"{name}.npy"])
                    for name in ("times", "triangles", "uvs", "settings")
                    if f"{name}.npy" in entries
                }
                with packed.open("positions.npy") as member:
                    shape, kind = _shape(path, member, entries["positions.npy"])
        except (
            zipfile.BadZipFile,
            ValueError,
            OSError,
            EOFError,
            zlib.error,
            NotImplementedError,
            RuntimeError,
        ) as error:
            raise error if isinstance(error, type(damaged(path, ""))) else damaged(path, str(error)[:100]) from None
        if len(shape) != 3 or shape[2] != 3 or kind.kind != "f":
            raise damaged(path, f"positions have the shape {shape}, and not (frames, vertices, 3)")
        check_promise(path, shape[0], shape[1], path.stat().st_size)
        content = Content(
            shape[0], shape[1], _frames(path, shape, kind), times=small.get("times"), uvs=small.get("uvs")
        )
        content.triangles = small.get("triangles", content.triangles)
        said = small.get("settings")
        return content if said is None or said.dtype.kind != "U" else apply_told(content, told(str(said)))


def _small(path: Path, packed: zipfile.ZipFile, entry: zipfile.ZipInfo) -> np.ndarray:
    if entry.file_size > MOST_OTHER:
        raise damaged(path, f"{entry.filename} would have {entry.file_size:,} bytes")
    with packed.open(entry) as member:
        return np.lib.format.read_array(member, allow_pickle=False)


def _shape(path: Path, member: IO[bytes], entry: zipfile.ZipInfo) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of an array, whose bytes must be there."""
    version = np.lib.format.read_magic(member)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, kind = read(member)
    if fortran or kind.hasobject:
        raise damaged(path, "its positions are not rows of numbers")
    if int(np.prod([int(side) for side in shape], dtype=object)) * kind.itemsize > entry.file_size:
        raise damaged(path, f"positions of the shape {shape} do not fit into {entry.file_size:,} bytes")
    return shape, kind


def _frames(path: Path, shape: tuple[int, ...], kind: np.dtype[Any]) -> Iterator[np.ndarray]:
    size = 3 * shape[1] * kind.itemsize
    try:
        with zipfile.ZipFile(path) as packed, packed.open("positions.npy") as member:
            _shape(path, member, packed.getinfo("positions.npy"))
            for number in range(shape[0]):
                data = member.read(size)
                if len(data) < size:
                    raise damaged(path, f"it ends in frame {number}")
                yield np.frombuffer(data, kind).reshape(shape[1], 3)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise damaged(path, str(error)[:100]) from None
