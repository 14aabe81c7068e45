"""What is shown of a mesh: polygons, UVs and names as a file has them, on vertices of their own that follow the mesh's.

Physics wants one vertex at each place; files have several along the seams of UVs, and polygons, and vertices in an
order that other programs rely on. So a mesh that was read knows its `surface`, and what is written is that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ..checks import real_array, shown, whole_array
from ..errors import InputError
from ..storage import storable
from .polygons import KINDS, Polygons


class Carrier(Protocol):
    """Says where a surface's vertices are, from where those of the mesh are."""

    @property
    def count(self) -> int:
        """How many vertices it carries."""

    @property
    def needs(self) -> int:
        """How many vertices the mesh has to have, at least."""

    def at(self, positions: np.ndarray) -> np.ndarray:
        """(k, 3) from (n, 3)."""

    def renumbered(self, numbers: np.ndarray) -> Carrier:
        """The same for a mesh in which vertex i has become number `numbers[i]`."""

    def scaled(self, scale: np.ndarray) -> Carrier:
        """The same for a mesh that is larger by a factor, or three of them."""


@storable("numbered")
@dataclass(frozen=True, eq=False)
class Numbered:
    """Every vertex is where one of the mesh is; `numbers` (k,) says which."""

    numbers: np.ndarray

    def __post_init__(self) -> None:
        numbers = whole_array(self.numbers, "numbers of vertices").astype(np.int32).ravel()
        if numbers.min(initial=0) < 0:
            raise InputError(f"a surface follows vertex {numbers.min()}; vertices count from 0")
        numbers.flags.writeable = False
        object.__setattr__(self, "numbers", numbers)

    @property
    def count(self) -> int:
        """How many vertices it carries."""
        return len(self.numbers)

    @property
    def needs(self) -> int:
        """How many vertices the mesh has to have, at least."""
        return int(self.numbers.max(initial=-1)) + 1

    def at(self, positions: np.ndarray) -> np.ndarray:
        """(k, 3) from (n, 3)."""
        found: np.ndarray = positions[self.numbers]
        return found

    def renumbered(self, numbers: np.ndarray) -> Numbered:
        """The same for a mesh in which vertex i has become number `numbers[i]`."""
        return Numbered(numbers[self.numbers])

    def scaled(self, scale: np.ndarray) -> Numbered:
        """Places of vertices do not depend on size."""
        return self


@storable("carriers")
@dataclass(frozen=True, eq=False)
class Several:
    """Parts that follow the parts of a joined mesh; `ends`: how many vertices of that come before the end of each."""

    parts: tuple[Any, ...]
    ends: tuple[int, ...]

    def __post_init__(self) -> None:
        starts = (0, *self.ends[:-1])
        if len(self.parts) != len(self.ends) or any(
            part.needs > b - a for part, a, b in zip(self.parts, starts, self.ends, strict=True)
        ):
            raise InputError("a joined surface follows vertices that its parts do not have")

    @property
    def count(self) -> int:
        """How many vertices it carries."""
        return sum(part.count for part in self.parts)

    @property
    def needs(self) -> int:
        """How many vertices the mesh has to have, at least."""
        return max(self.ends, default=0)

    def at(self, positions: np.ndarray) -> np.ndarray:
        """(k, 3) from (n, 3)."""
        starts = (0, *self.ends[:-1])
        pieces = [part.at(positions[a:b]) for part, a, b in zip(self.parts, starts, self.ends, strict=True)]
        return np.concatenate(pieces)

    def renumbered(self, numbers: np.ndarray) -> Several:
        """Only as they are: what is joined is not renumbered."""
        if not np.array_equal(numbers, np.arange(len(numbers))):
            raise InputError("a joined surface cannot follow vertices in another order; renumber the parts")
        return self

    def scaled(self, scale: np.ndarray) -> Several:
        """The same for a mesh that is larger by a factor, or three of them."""
        return Several(tuple(part.scaled(scale) for part in self.parts), self.ends)


@storable("surface")
@dataclass(frozen=True, eq=False)
class Surface:
    """What is shown of a mesh, and written to files.

    Attributes:
        carrier: says where the vertices are.
        polygons: faces of these vertices, with names and perhaps UVs of corners.
        uvs: (k, 2) float32 texture coordinates of the vertices, v up; None: corners have them, or there are none.
        name: what to call it.
        unit: of the file that it came from: what is written has it too, unless told otherwise.
        up: the axis that points up there.
    """

    carrier: Any
    polygons: Polygons
    uvs: np.ndarray | None = None
    name: str = "surface"
    unit: str = "m"
    up: str = "y"

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        if self.polygons.n_vertices > self.n_vertices:
            raise InputError(f"faces name vertex {self.polygons.n_vertices - 1}, and there are {self.n_vertices}")
        if self.uvs is not None:
            uvs = real_array(self.uvs)
            if uvs is None or uvs.shape != (self.n_vertices, 2) or not np.isfinite(uvs).all():
                raise InputError(f"UVs of {self.n_vertices} vertices are as many finite pairs, not {shown(self.uvs)}")
            uvs = uvs.astype(np.float32)
            uvs.flags.writeable = False
            set_(self, "uvs", uvs)

    @property
    def triangles(self) -> np.ndarray:
        """(m, 3) int32: the polygons, cut."""
        return self.polygons.triangles

    @property
    def n_vertices(self) -> int:
        """How many vertices it has."""
        return int(self.carrier.count)

    def at(self, positions: Any) -> np.ndarray:
        """Where its vertices are, (k, 3), when those of the mesh are at (n, 3)."""
        found: np.ndarray = self.carrier.at(np.asarray(positions))
        return found

    def renumbered(self, numbers: np.ndarray) -> Surface:
        """The same for a mesh in which vertex i has become number `numbers[i]`."""
        return replace(self, carrier=self.carrier.renumbered(numbers))

    def scaled(self, scale: Any) -> Surface:
        """The same for a mesh that is larger by a factor, or three of them."""
        return replace(self, carrier=self.carrier.scaled(np.asarray(scale, float)))

    def __repr__(self) -> str:
        return f"<Surface {self.name!r}: {self.n_vertices} vertices, {len(self.polygons.counts)} faces>"


def joined(parts: Sequence[Surface], ends: Sequence[int] | np.ndarray, name: str) -> Surface:
    """Surfaces of the parts of a joined mesh as one; names of faces get the number of their part before them."""
    first = np.cumsum([0, *(part.n_vertices for part in parts)])
    corners = np.cumsum([0, *(len(part.polygons.corners) for part in parts)])
    faces = np.cumsum([0, *(len(part.polygons.counts) for part in parts)])
    named: dict[str, dict[str, np.ndarray]] = {kind: {} for kind in KINDS}
    for k, part in enumerate(parts):
        for kind in KINDS:
            for word, members in getattr(part.polygons, kind).items():
                named[kind][f"{k}:{word}"] = members + faces[k]
        named["objects"][f"{k}:{part.name}"] = np.arange(faces[k], faces[k + 1])
    bare = all(part.polygons.uvs is None for part in parts)
    textured = any(part.uvs is not None for part in parts)
    polygons = Polygons(
        np.concatenate([part.polygons.counts for part in parts]),
        np.concatenate([part.polygons.corners + start for part, start in zip(parts, first[:-1], strict=True)]),
        None if bare else np.concatenate([_corner_uvs(part) for part in parts]),
        **named,
        cuts=np.concatenate([part.polygons.cuts + start for part, start in zip(parts, corners[:-1], strict=True)]),
    )
    uvs = [np.zeros((part.n_vertices, 2), np.float32) if part.uvs is None else part.uvs for part in parts]
    return Surface(
        Several(tuple(part.carrier for part in parts), tuple(int(end) for end in ends)),
        polygons,
        np.concatenate(uvs) if bare and textured else None,
        name,
        parts[0].unit,
        parts[0].up,
    )


def _corner_uvs(part: Surface) -> np.ndarray:
    if part.polygons.uvs is not None:
        return part.polygons.uvs
    if part.uvs is not None:
        found: np.ndarray = part.uvs[part.polygons.corners]
        return found
    return np.zeros((len(part.polygons.corners), 2), np.float32)
