"""The contacts of one step, as solvers take them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np


def _rows(count: int) -> np.ndarray:
    return np.zeros((count, 4), np.float32)


@dataclass(eq=False)
class WallContacts:
    """Vertices against colliders: n·x >= offset. Sorted by vertex."""

    vertices: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    planes: np.ndarray = field(default_factory=lambda: _rows(0))  # (c, 4) float32: n, offset
    friction: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.float32))  # static, kinetic
    colliders: np.ndarray | None = None  # (c,) int32, which one; None: one for all

    def __len__(self) -> int:
        return len(self.vertices)

    @cached_property
    def keys(self) -> np.ndarray:
        """(c,) int64: the same number, step after step, for a vertex and a collider; sorted."""
        colliders = 0 if self.colliders is None else self.colliders
        return (self.vertices.astype(np.int64) << 32) + colliders

    @cached_property
    def starts(self) -> np.ndarray:
        """Where the contacts of each vertex begin, (touched + 1,)."""
        first = np.flatnonzero(np.diff(self.vertices, prepend=-1))
        return np.append(first, len(self.vertices)).astype(np.int32)


@dataclass(eq=False)
class PairContacts:
    """Surfaces against surfaces: n·Σ a_k x_k >= gap, over four vertices (vertex and triangle, or edge and edge)."""

    vertices: np.ndarray = field(default_factory=lambda: np.zeros((0, 4), np.int32))
    coefficients: np.ndarray = field(default_factory=lambda: _rows(0))
    planes: np.ndarray = field(default_factory=lambda: _rows(0))  # (c, 4) float32: n, gap
    friction: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.float32))

    def __len__(self) -> int:
        return len(self.vertices)

    def ordered(self, order: np.ndarray) -> PairContacts:
        parts = (self.vertices, self.coefficients, self.planes, self.friction)
        return PairContacts(*(np.ascontiguousarray(part[order]) for part in parts))

    @property
    def couples(self) -> np.ndarray:
        """The pairs of vertices that contacts make neighbours, (6 c, 2)."""
        corners = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
        return np.concatenate([self.vertices[:, pair] for pair in corners])


@dataclass(eq=False)
class Contacts:
    """What the collide stage found. `recovery`: how fast gaps that were violated already are restored (m a step)."""

    walls: WallContacts = field(default_factory=WallContacts)
    pairs: PairContacts = field(default_factory=PairContacts)
    recovery: float = 0.001

    def __len__(self) -> int:
        return len(self.walls) + len(self.pairs)


NONE = Contacts()
