"""Rigid bodies in the film of a soft model: their surfaces are drawn as more vertices and triangles of one mesh."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError

Frames = Sequence[NDArray[Any]] | NDArray[Any]

NEAR = 0.5  # of the size of the soft bodies: rigid ones that are farther away do not have to fit in the frame
LARGEST = 3.0  # nor those that are larger than this many times the soft bodies


@dataclass(frozen=True, eq=False)
class Moving:
    """Surfaces of rigid bodies, frame by frame. Made by `vivace.pictures.bodies.film_of_model`.

    Attributes:
        frames: (k, 3) vertices of each frame.
        triangles: (m, 3).
        colours: (k, 3) sRGB.
        owner: (k,) whose vertex each is; bodies are numbered in the order of `Model.collide`.
    """

    frames: Frames
    triangles: NDArray[np.int64]
    colours: NDArray[Any]
    owner: NDArray[np.int64]

    def __getitem__(self, chosen: slice) -> Moving:
        return replace(self, frames=self.frames[chosen])

    def frame(self, lowest: ArrayLike, highest: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
        """The box around soft bodies that are in the given one, and around rigid bodies while they are near them.

        One that is thrown far away would make everything else small.
        """
        low, high = np.array(lowest, dtype=float), np.array(highest, dtype=float)
        size = float(np.linalg.norm(high - low))
        begins = np.flatnonzero(np.diff(self.owner, prepend=-1))  # vertices of a body follow one another
        lows, highs = [low[None]], [high[None]]
        for frame in self.frames:
            one, other = np.minimum.reduceat(frame, begins), np.maximum.reduceat(frame, begins)
            away = np.linalg.norm(np.maximum(np.maximum(one - high, low - other), 0), axis=1)
            seen = (away <= NEAR * size) & (np.linalg.norm(other - one, axis=1) <= LARGEST * size)
            lows.append(one[seen])
            highs.append(other[seen])
        return np.concatenate(lows).min(axis=0), np.concatenate(highs).max(axis=0)


@dataclass(frozen=True, eq=False)
class Joined(Sequence[NDArray[Any]]):
    """Frames of soft vertices with those of rigid bodies after them, made when somebody looks."""

    soft: Frames
    rigid: Frames

    def __post_init__(self) -> None:
        if len(self.soft) != len(self.rigid):
            raise InputError(
                f"there are {len(self.soft)} frames of soft bodies and {len(self.rigid)} of rigid ones; "
                "a film needs as many of both"
            )

    def __len__(self) -> int:
        return len(self.soft)

    @overload
    def __getitem__(self, number: int) -> NDArray[Any]: ...

    @overload
    def __getitem__(self, number: slice) -> Joined: ...

    def __getitem__(self, number: int | slice) -> NDArray[Any] | Joined:
        if isinstance(number, slice):
            return Joined(self.soft[number], self.rigid[number])
        return np.concatenate([self.soft[number], self.rigid[number]])

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self[k] for k in range(len(self)))


def joined(parts: Sequence[Moving]) -> Moving:
    """Surfaces one after the other, as one."""
    whole = parts[0]
    for part in parts[1:]:
        vertices = len(whole.colours)
        whole = Moving(
            Joined(whole.frames, part.frames),
            np.concatenate([whole.triangles, part.triangles + vertices]),
            np.concatenate([whole.colours, part.colours]),
            np.concatenate([whole.owner, part.owner + whole.owner.max() + 1]),
        )
    return whole


def refined(
    vertices: NDArray[Any], triangles: NDArray[np.int64], longest: float
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """The same surface with no edge longer than `longest`, and, for each vertex, an old one of the same face.

    A painter sorts whole triangles by their distance, so large ones of a body do not come out right among small ones.
    """
    origin = np.arange(len(vertices))
    while True:
        edges = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        edges, which = np.unique(edges, axis=0, return_inverse=True)
        long = np.linalg.norm(vertices[edges[:, 0]] - vertices[edges[:, 1]], axis=1) > longest
        if not long.any():
            return vertices, triangles, origin
        middle = len(vertices) + np.cumsum(long) - 1
        vertices = np.concatenate([vertices, vertices[edges[long]].mean(axis=1)])
        origin = np.concatenate([origin, origin[edges[long, 0]]])
        which = which.reshape(-1, 3)
        cut = long[which]
        count = cut.sum(axis=1)
        # Turned so that the first edge is cut and, of two, the second as well.
        first = np.where(count == 2, (np.argmin(cut, axis=1) + 1) % 3, np.argmax(cut, axis=1))
        turn = (first[:, None] + np.arange(3)) % 3
        a, b, c = np.take_along_axis(triangles, turn, axis=1).T
        p, q, r = middle[np.take_along_axis(which, turn, axis=1)].T
        parts = [
            (count == 0, [(a, b, c)]),
            (count == 1, [(a, p, c), (p, b, c)]),
            (count == 2, [(p, b, q), (a, p, q), (a, q, c)]),
            (count == 3, [(a, p, r), (p, b, q), (r, q, c), (p, q, r)]),
        ]
        triangles = np.concatenate([np.stack(new, axis=1)[mine] for mine, news in parts for new in news])
