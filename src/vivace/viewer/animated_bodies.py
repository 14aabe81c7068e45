"""Animated meshes for the page: their surfaces as one mesh, after all others, where they are at the simulation's time.

They go as they must, so nobody can take them, and nothing of them is kept but the time.
"""

from __future__ import annotations

import numpy as np

from ..collisions.animated import AnimatedMesh
from ..errors import InputError
from ..model.model import Model
from ..pictures.bodies import LED


class AnimatedBodies:
    """The animated meshes of a model, as one mesh.

    Attributes:
        first: the number that the page has for the first vertex: how many there are of all other bodies.
        count: of vertices.
        triangles: (m, 3), from 0 on.
        colours: (n, 3), those of what follows a path.
    """

    def __init__(self, meshes: tuple[AnimatedMesh, ...], first: int):
        self._meshes, self.first = meshes, first
        counts = [one.n_vertices for one in meshes]
        offsets = np.cumsum([0, *counts[:-1]])
        self.count = sum(counts)
        self._ends = offsets + counts
        self.triangles = np.concatenate([one.triangles + k for one, k in zip(meshes, offsets, strict=True)])
        self.colours = np.tile(LED, (self.count, 1))

    @classmethod
    def of(cls, model: Model, first: int) -> AnimatedBodies | None:
        """Those that a model touches; None without any."""
        meshes = model.collisions.animated if model.collisions is not None else ()
        return cls(meshes, first) if meshes else None

    def at(self, time: float) -> np.ndarray:
        """(n, 3) where the vertices are at a simulated time (s), in m, float32."""
        return np.concatenate([one.at(time) for one in self._meshes]).astype(np.float32)

    @property
    def bounds(self) -> np.ndarray:
        """(2, 3) the box that they never leave (m)."""
        frames = [one.animation.positions.reshape(-1, 3) for one in self._meshes]
        lows, highs = [x.min(axis=0) for x in frames], [x.max(axis=0) for x in frames]
        return np.array([np.min(lows, axis=0), np.max(highs, axis=0)], np.float64)

    def refuse(self, vertex: int) -> None:
        """Raise InputError if a vertex, by the page's number, is one of these."""
        own = vertex - self.first
        if 0 <= own < self.count:
            name = self._meshes[int(np.searchsorted(self._ends, own, side="right"))].name or "an animated mesh"
            raise InputError(f"{name} moves as its animation says and cannot be grabbed")
