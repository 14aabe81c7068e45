"""Frames of what a mesh shows: a surface of its own that follows the vertices which are simulated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh, Surface
from ..mesh.surface import Numbered


@dataclass(frozen=True, eq=False)
class Shown(Sequence[NDArray[Any]]):
    """Frames that are made when somebody looks: vertices of the surface, then those of the mesh that have `points`.

    Attributes:
        frames: (n, 3) each, of what is simulated.
        surface: follows it.
        points: (p,) vertices that are drawn as points.
    """

    frames: Sequence[NDArray[Any]] | NDArray[Any]
    surface: Surface
    points: NDArray[Any]

    def __len__(self) -> int:
        return len(self.frames)

    @overload
    def __getitem__(self, number: int) -> NDArray[Any]: ...

    @overload
    def __getitem__(self, number: slice) -> Shown: ...

    def __getitem__(self, number: int | slice) -> NDArray[Any] | Shown:
        if isinstance(number, slice):
            return Shown(self.frames[number], self.surface, self.points)
        frame = np.asarray(self.frames[number])
        return np.concatenate([self.surface.at(frame), frame[self.points]])

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self[k] for k in range(len(self)))


def is_finer(mesh: Mesh) -> bool:
    """Whether a mesh shows a surface that is another one, and not its own with some vertices doubled."""
    return mesh.surface is not None and not isinstance(mesh.surface.carrier, Numbered)
