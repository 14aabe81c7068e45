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
