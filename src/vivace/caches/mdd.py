"""MDD point caches: LightWave, Blender, Houdini and others. Big-endian, with the time of every frame at the front."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import numpy as np

from .base import About, CacheFormat, Content, cache_format, check_promise, damaged
from .beside import Beside, with_mesh
from .raw import positions_from

HEAD = struct.Struct(">ii")  # frames, points


@cache_format(".mdd")
class PointOven(CacheFormat):
    """MDD point cache."""

    title = "MDD point cache"
    faces = False
    companions = (".obj",)

    def __init__(self, folder: Path, name: str, about: About):
        super().__init__(folder, name, about)
        self._beside = Beside(self.path, about)
        self._times = (folder / "times").open("w+b")  # how many there will be decides where positions begin
        self._positions = (folder / "positions").open("w+b")

    def write(self, positions: np.ndarray, time: float) -> None:
        """Keep time and frame for the end."""
        self._beside.add(positions, time)
        self._times.write(struct.pack(">f", time))
        self._positions.write(positions.astype(">f4").data)

    def finish(self) -> None:
        """Put the parts together."""
        with self.path.open("wb") as file:
            file.write(HEAD.pack(self.written, self.about.vertices))
            for part in (self._times, self._positions):
                part.seek(0)
                shutil.copyfileobj(part, file, 1 << 20)

    def close(self) -> None:
        """Close the parts."""
        self._times.close()
        self._positions.close()

    @classmethod
    def content(cls, path: Path) -> Content:
        """Positions and times, with triangles of the OBJ beside it, where we wrote one."""
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(HEAD.size)
            if len(head) < HEAD.size:
                raise damaged(path, "it is too short")
            count, points = HEAD.unpack(head)
            check_promise(path, count, points, size)
            begin = HEAD.size + 4 * count
            if size != begin + 12 * count * points:
                needed = begin + 12 * count * points
                raise damaged(
                    path, f"it promises {count} frames of {points} vertices, {needed:,} bytes, and has {size:,}"
                )
            with np.errstate(invalid="ignore"):  # what is no number is refused with the others
                times = np.frombuffer(file.read(4 * count), ">f4").astype(np.float64)
        return with_mesh(path, Content(count, points, positions_from(path, begin, count, points, ">f4"), times=times))
