"""What a format is: a class that writes frame by frame and reads the same, one file and one decorator each.

@cache_format(".pc2")
class PointCache(CacheFormat):
    title = "PC2 point cache"

    def write(self, positions, time): ...
    def finish(self): ...
    @classmethod
    def content(cls, path): ...
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..errors import FileError, MissingExtraError
from ..files import provenance
from ..mesh import Polygons
from ..registry import Registry

MOST_BYTES = 1 << 30  # of positions that any file may hold
MOST_RATIO = 20  # of a larger one, so many times its size: nothing packs moving vertices better


@dataclass(frozen=True, eq=False)
class About:
    """What does not change from frame to frame.

    Attributes:
        vertices: how many.
        triangles: (m, 3) int32; (0, 3): none.
        uvs: (n, 2) float32 or None.
        name: of the mesh.
        time_step: seconds from one frame to the next.
        unit: of the numbers in the file, such as "cm".
        up: the axis that points up in the file.
        settings: what made it; goes into the file.
        polygons: the faces that `triangles` are cut from, with UVs of corners and names; None: there are only these.
    """

    vertices: int
    triangles: np.ndarray
    uvs: np.ndarray | None = None
    name: str = "mesh"
    time_step: float = 1 / 30
    unit: str = "m"
    up: str = "y"
    settings: Mapping[str, Any] = field(default_factory=dict)
    polygons: Polygons | None = None

    @cached_property
    def faces(self) -> Polygons:
        """Polygons; where there are only triangles, these."""
        return Polygons.of(self.triangles) if self.polygons is None else self.polygons

    @cached_property
    def parted(self) -> Parted:
        """As formats have it in which a vertex has one pair of UVs: those with several are there several times."""
        faces = self.faces
        if faces.uvs is None:
            return Parted(None, self.triangles, self.uvs)
        pairs, number = np.unique(
            np.column_stack([faces.corners, faces.uvs.view(np.uint32)]), axis=0, return_inverse=True
        )
        uvs = np.ascontiguousarray(pairs[:, 1:].astype(np.uint32)).view(np.float32)
        return Parted(pairs[:, 0], number.ravel()[faces.cuts].astype(np.int32), uvs)

    @property
    def identifier(self) -> str:
        """The name as programs take it: letters, digits and underscores."""
        word = re.sub(r"\W", "_", self.name, flags=re.ASCII) or "mesh"
        return word if not word[0].isdigit() else f"_{word}"

    def provenance(self, **more: Any) -> str:
        """What made the file, and what its numbers mean, as one line of JSON."""
        own = {"name": self.name, "time_step": self.time_step, "unit": self.unit, "up": self.up}
        return provenance({**own, **more, "settings": self.settings})


class Parted(NamedTuple):
    """Vertices with one pair of UVs each.

    Attributes:
        source: (k,) the vertex that each is at; None: they are the surface's own.
        triangles: (m, 3) int32 of them.
        uvs: (k, 2) float32 or None.
    """

    source: np.ndarray | None
    triangles: np.ndarray
    uvs: np.ndarray | None

    def at(self, positions: np.ndarray) -> np.ndarray:
        """(k, 3) from those of the surface."""
        return positions if self.source is None else positions[self.source]


@dataclass(eq=False)
class Content:
    """What a file holds, its frames not read yet. Numbers are as in the file.

    Attributes:
        times: (f,) seconds; None: the file does not say.
        count: how many frames there are.
        vertices: how many.
        frames: (n, 3) each, made when somebody looks.
        triangles: (m, 3).
        uvs: (n, 2) or None.
        name: of the mesh; None: the file does not say; as for unit and up.
        metres: that the file's unit of length has.
        up: the axis that points up.
    """

    count: int
    vertices: int
    frames: Iterator[np.ndarray]
    triangles: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), np.int32))
    times: np.ndarray | None = None
    uvs: np.ndarray | None = None
    name: str | None = None
    metres: float | None = None
    up: str | None = None


class CacheFormat(ABC):
    """A format. An instance is a file that is being written, into a folder that is moved into place when it is whole.

    Attributes:
        title: for people.
        needs: the library that must be there, as Python imports it; "": none.
        sequence: whether each frame is a file of its own, and the cache a folder of them.
        faces: whether it cannot be without triangles.
        metric: whether the format is in metres with y up by definition.
        foreign: whether its reader is somebody else's and gets a process of its own.
        companions: suffixes of further files that come with it, beside it.
    """

    title: ClassVar[str]
    needs: ClassVar[str] = ""
    sequence: ClassVar[bool] = False
    faces: ClassVar[bool] = True
    metric: ClassVar[bool] = False
    foreign: ClassVar[bool] = False
    companions: ClassVar[tuple[str, ...]] = ()

    def __init__(self, folder: Path, name: str, about: About):
        self.folder, self.name, self.about = folder, name, about
        self.path = folder / name
        self.written = 0

    def add(self, positions: np.ndarray, time: float) -> None:
        """The next frame."""
        self.write(positions, time)
        self.written += 1

    @abstractmethod
    def write(self, positions: np.ndarray, time: float) -> None:
        """Write a frame: (n, 3) float32 in the file's unit and axes, at so many seconds; it is number `written`."""

    @abstractmethod
    def finish(self) -> None:
        """Complete the file; `written` frames have been added, at least one."""

    def close(self) -> None:  # noqa: B027  not everybody has something open
        """Let go of what is open: after `finish`, or where there will be no file."""

    @classmethod
    @abstractmethod
    def content(cls, path: Path) -> Content:
        """What a file holds. Raises FileError, before anything is allocated that the file is too short for."""


CACHES: Registry[type[CacheFormat]] = Registry("format of caches")


def cache_format(*suffixes: str) -> Callable[[type[CacheFormat]], type[CacheFormat]]:
    """Register a format under the suffixes of its files."""

    def add(kind: type[CacheFormat]) -> type[CacheFormat]:
        for suffix in suffixes:
            CACHES.register(suffix)(kind)
        return kind

    return add


def is_installed(kind: type[CacheFormat]) -> bool:
    """Whether what the format needs is there."""
    return not kind.needs or find_spec(kind.needs) is not None


def check_installed(kind: type[CacheFormat]) -> None:
    """MissingExtraError, unless what the format needs is there."""
    if not is_installed(kind):
        raise MissingExtraError(kind.title, "caches")


def damaged(path: Path, why: str) -> FileError:
    """What is said of a file that cannot be read."""
    return FileError(f"cannot read {path}: {why}; it is truncated, corrupt, or not a {path.suffix} file")


def check_promise(path: Path, frames: int, vertices: int, size: int) -> None:
    """Refuse a file of `size` bytes that promises more positions than anything packs into it."""
    promised = 12 * frames * vertices
    if frames < 1 or vertices < 1:
        raise damaged(path, f"it promises {frames} frames of {vertices} vertices")
    if promised > max(MOST_BYTES, MOST_RATIO * size):
        raise damaged(
            path, f"it promises {frames:,} frames of {vertices:,} vertices ({promised / 1e9:.3g} GB) in {size:,} bytes"
        )
