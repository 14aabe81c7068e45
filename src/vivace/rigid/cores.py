"""The cores of bodies as tables that compiled code reads: corners, faces, and edges between them.

Bodies have corners of their own size, and share what is alike in them: all boxes have the same six normals and twelve
edges. A half space has no core.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from ..collisions.colliders import Collider, Plane
from ..collisions.convex import ConvexMesh
from .geometry import rounded_cores, singly

HALF_SPACE = -1  # in place of a dimension
THIN = 1e-9  # of the radius around it: a core no thicker than that is flat


@dataclass(frozen=True, eq=False)
class Pattern:
    """What is alike in cores of one kind.

    dimension  0 a point, 1 a line, 2 flat, 3 solid
    corners    (v, 3): times the half sides, these are the corners of a box
    normals    (f, 3) of faces, outwards
    loops      corners around each face, counter-clockwise from outside
    edges      (e, 4) int32: two corners, and the two faces beside them (-1 for none)
    """

    dimension: int
    corners: np.ndarray
    normals: np.ndarray
    loops: Sequence[np.ndarray]
    edges: np.ndarray

    @classmethod
    def of(cls, dimension: int, corners: np.ndarray, normals: np.ndarray, loops: Sequence[np.ndarray]) -> Pattern:
        """With edges where the loops meet; a line is its only edge."""
        beside: dict[tuple[int, int], list[int]] = {} if dimension != 1 else {(0, 1): [-1, -1]}
        for face, loop in enumerate(loops):
            for a, b in zip(loop.tolist(), np.roll(loop, -1).tolist(), strict=True):
                beside.setdefault((min(a, b), max(a, b)), []).append(face)
        rows = [(*corners, *faces) for corners, faces in beside.items()]
        return cls(dimension, corners, normals, loops, np.array(rows, np.int32).reshape(-1, 4))

    @classmethod
    def of_box(cls, axes: Sequence[int]) -> Pattern:
        """Of boxes that extend along some of the axes."""
        corners = np.zeros((2 ** len(axes), 3))
        corners[:, list(axes)] = list(product((-1.0, 1.0), repeat=len(axes)))
        normals, loops = [], []
        for axis, sign in product(range(3), (-1.0, 1.0)):
            u, v = (axis + 1) % 3, (axis + 2) % 3
            if u in axes and v in axes:  # if the axis is not one of them, both faces have the same corners
                face = np.flatnonzero((corners[:, axis] == sign) | (axis not in axes))
                order = np.argsort(np.arctan2(corners[face, v], corners[face, u]))
                loops.append(face[order] if sign > 0 else face[order][::-1])
                normals.append(sign * np.eye(3)[axis])
        return cls.of(len(axes), corners, np.array(normals).reshape(-1, 3), loops)

    @classmethod
    def of_hull(cls, hull: ConvexMesh) -> Pattern:
        """Of a convex mesh. Loops begin with the corner that is farthest out: all others are on one side of it."""
        normals, loops = [], []
        for face in hull.faces:
            loop = hull.corners[face] - hull.corners[face[0]]
            normal = np.cross(loop[1:-1], loop[2:]).sum(axis=0)
            normals.append(normal / np.linalg.norm(normal))
            loops.append(np.roll(face, -int(np.argmax(hull.corners[face] @ normal))))
        return cls.of(3, hull.corners, np.array(normals), loops)


@cache
def _boxes() -> tuple[Pattern, ...]:
    """Of boxes that extend along no axis, along x, along y, along x and y, along z, ..."""
    return tuple(Pattern.of_box([axis for axis in range(3) if kind >> axis & 1]) for kind in range(8))


class Cores:
    """The cores of bodies.

    dimensions  (M,) int32: of each core; HALF_SPACE for half spaces
    pattern     (M,) int32: what kind of core
    first, last (M,) int64: which of the vertices are its own
    radii       (M,) of what is around the core, in m
    sizes       (M,) radius of a ball around the position that holds the body, in m
    tables      by the names that kernels have for them
    """

    def __init__(self, geometries: Sequence[Collider]):
        count = len(geometries)
        which, rows = rounded_cores(geometries)
        core, radius = rows[:, 12:15].copy(), rows[:, 15]
        core[core <= THIN * radius[:, None]] = 0.0
        boxes = _boxes()
        kinds = (core > 0) @ np.array([1, 2, 4])
        hulls = {k: geometry for k, geometry in singly(geometries) if isinstance(geometry, ConvexMesh)}
        known: dict[int, int] = {}  # one table for all bodies that are the same object
        self.patterns = list(boxes)
        self.pattern = np.zeros(count, np.int32)
        self.first, self.last = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.radii, self.sizes = np.zeros(count), np.full(count, np.inf)
        self.pattern[which], self.radii[which] = kinds, radius
        self.sizes[which] = np.linalg.norm(core, axis=1) + radius
        vertices, total = [np.zeros((1, 3))], 1  # the first is the only one of all points
        self.last[which[kinds == 0]] = 1
        for kind in range(1, 8):
            own = np.flatnonzero(kinds == kind)
            different, same = np.unique(core[own], axis=0, return_inverse=True)
            corners = boxes[kind].corners
            vertices.append((different[:, None, :] * corners).reshape(-1, 3))
            self.first[which[own]] = total + len(corners) * same.reshape(-1)
            self.last[which[own]] = self.first[which[own]] + len(corners)
            total += len(vertices[-1])
        for k, hull in hulls.items():
            if id(hull) not in known:
                known[id(hull)] = k
                self.pattern[k], self.first[k] = len(self.patterns), total
                self.patterns.append(Pattern.of_hull(hull))
                vertices.append(hull.corners)
                total += len(hull.corners)
            first = known[id(hull)]
            self.pattern[k], self.first[k] = self.pattern[first], self.first[first]
            self.last[k] = self.first[k] + len(hull.corners)
            self.sizes[k] = np.linalg.norm(hull.corners, axis=1).max()
        self.dimensions = np.array([pattern.dimension for pattern in self.patterns], np.int32)[self.pattern]
        planes = [k for k, geometry in singly(geometries) if isinstance(geometry, Plane)]
        self.dimensions[planes] = HALF_SPACE
        self.vertices = np.concatenate(vertices)
        self.tables = self._tables()
        self.most_corners = max(len(pattern.corners) for pattern in self.patterns)
        self.longest_loop = max(len(loop) for pattern in self.patterns for loop in pattern.loops)

    def _tables(self) -> dict[str, np.ndarray]:
        loops = [loop for pattern in self.patterns for loop in pattern.loops]
        beside = []
        for pattern in self.patterns:
            number = {tuple(edge): k for k, edge in enumerate(pattern.edges[:, :2].tolist())}
            for loop in pattern.loops:
                sides = zip(loop.tolist(), np.roll(loop, -1).tolist(), strict=True)
                beside.append([number[min(a, b), max(a, b)] for a, b in sides])
        return {
            "vertices": self.vertices.ravel(),
            "normals": np.concatenate([pattern.normals for pattern in self.patterns]).ravel(),
            "faces_at": _starts([len(pattern.loops) for pattern in self.patterns]),
            "edges_at": _starts([len(pattern.edges) for pattern in self.patterns]),
            "edges": np.concatenate([pattern.edges for pattern in self.patterns]).ravel(),
            "loops_at": _starts([len(loop) for loop in loops]),
            "loops": np.concatenate(loops).astype(np.int32),
            "loop_edges": np.concatenate(beside).astype(np.int32),
        }


def _starts(lengths: list[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
