"""PC2 point caches: Blender's Mesh Cache modifier, 3ds Max, and most others.

Positions alone, little-endian, in the order of the mesh's vertices: beside it goes an OBJ of the first frame.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from .base import About, CacheFormat, Content, cache_format, check_promise, damaged
from .beside import Beside, with_mesh
from .raw import positions_from

SIGNATURE = b"POINTCACHE2\0"
HEAD = struct.Struct("<12siiffi")  # signature, version, points, first frame, frames a sample, samples


@cache_format(".pc2")
class PointCache2(CacheFormat):
    """PC2 point cache."""

    title = "PC2 point cache"
    faces = False
    companions = (".obj",)

    def __init__(self, folder: Path, name: str, about: About):
        super().__init__(folder, name, about)
        self._beside = Beside(self.path, about)
        self._file = self.path.open("wb")
        self._file.write(self._head())

    def _head(self) -> bytes:
        return HEAD.pack(SIGNATURE, 1, self.about.vertices, 0.0, 1.0, self.written)

    def write(self, positions: np.ndarray, time: float) -> None:
        """Append the frame."""
        self._beside.add(positions, time)
        self._file.write(positions.astype("<f4", copy=False).data)

    def finish(self) -> None:
        """Say how many there are."""
        self._file.seek(0)
        self._file.write(self._head())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @classmethod
    def content(cls, path: Path) -> Content:
        """Positions, with triangles and times of the OBJ beside it, where we wrote one."""
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(HEAD.size)
        if len(head) < HEAD.size or head[:12] != SIGNATURE:
            raise damaged(path, "it does not begin as a PC2 file does")
        _, version, points, _, _, samples = HEAD.unpack(head)
        check_promise(path, samples, points, size)
        needed = HEAD.size + 12 * points * samples
        if version != 1 or size < needed:
            raise damaged(
                path, f"it promises {samples} frames of {points} vertices, {needed:,} bytes, and has {size:,}"
            )
        frames = positions_from(path, HEAD.size, samples, points, "<f4")
        return with_mesh(path, Content(samples, points, frames))
