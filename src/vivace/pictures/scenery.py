"""What stands in a scene and does not move: colliders as one mesh to draw, and the ground under everything.

A plane has no end. Where it is level it is the ground, which the backdrop paints; any other is cut to a piece near the
bodies. Surfaces are seen from outside only, so a wall between the eye and the bodies hides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEVEL = 0.999  # cosine of the largest slope of what passes for ground: 2.6 degrees
CREASE = np.cos(np.radians(35))  # sharper edges are not smoothed
LARGEST = 3.0  # things larger than this many times the bodies do not have to fit in the frame
FARTHEST = 0.75  # nor things that are farther away than this many times the size of the bodies
CUT = 1.0  # how far a piece of a plane reaches beyond the bodies, in their size


@dataclass(frozen=True, eq=False)
class Scenery:
    """Made by `Scenery.of`.

    Attributes:
        vertices: (k, 3), one for each side of a crease.
        triangles: (m, 3), counter-clockwise from where they are seen.
        owners: (k,) the number of the collider that each vertex belongs to.
        boxes: (c, 2, 3): lowest and highest corner of each thing with an end.
        ground: height of the ground (m), None where there is none.
        up: which way the height goes.
    """

    vertices: NDArray[Any]
    triangles: NDArray[np.int64]
    owners: NDArray[np.int64]
    boxes: NDArray[Any]
    ground: float | None
    up: tuple[float, float, float] = (0.0, 1.0, 0.0)

    @classmethod
    def of(
        cls, colliders: Iterable[Any], low: ArrayLike, high: ArrayLike, up: tuple[float, float, float] = (0.0, 1.0, 0.0)
    ) -> Scenery | None:
        """Colliders (see `vivace.collisions`) around bodies that stay in the box from `low` to `high`; None if none."""
        from ..collisions import Plane

        colliders = tuple(colliders)
        if not colliders:
            return None
        upward = np.asarray(up, dtype=float) / np.linalg.norm(up)
        planes = [collider for collider in colliders if isinstance(collider, Plane)]
        level = [np.dot(plane.normal, upward) > LEVEL for plane in planes]
        heights = [float(np.dot(plane.point, upward)) for plane, flat in zip(planes, level, strict=True) if flat]
        ground = max(heights, default=None)
        surfaces = [collider.surface() for collider in colliders if not isinstance(collider, Plane)]
        pieces = [(surface.vertices, surface.triangles) for surface in surfaces]
        box = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
        pieces += [_near(plane, *box) for plane, flat in zip(planes, level, strict=True) if not flat]
        solid = [k for k, collider in enumerate(colliders) if not isinstance(collider, Plane)]
        flat = iter(level)
        sloping = [k for k, collider in enumerate(colliders) if isinstance(collider, Plane) and not next(flat)]
        if ground is not None:
            pieces = [_above(*piece, upward, ground) for piece in pieces]
        pieces = [(np.zeros((0, 3)), np.zeros((0, 3), np.int64)), *(creased(*piece) for piece in pieces)]
        offsets = np.cumsum([0, *(len(vertices) for vertices, _ in pieces)])
        return cls(
            np.concatenate([vertices for vertices, _ in pieces]),
            np.concatenate([triangles + first for (_, triangles), first in zip(pieces, offsets, strict=False)]),
            np.repeat([-1, *solid, *sloping], np.diff(offsets)),
            np.array([surface.bounds for surface in surfaces]).reshape(-1, 2, 3),
            ground,
            up,
        )

    def frame(self, lowest: ArrayLike, highest: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
        """The box to look at when the bodies are in the given one: with what stands near them, and the ground."""
        low, high = np.array(lowest, dtype=float), np.array(highest, dtype=float)
        size = float(np.linalg.norm(high - low))
        away = np.linalg.norm(np.maximum(np.maximum(self.boxes[:, 0] - high, low - self.boxes[:, 1]), 0), axis=1)
        extent = np.linalg.norm(self.boxes[:, 1] - self.boxes[:, 0], axis=1)
        near = self.boxes[(away <= FARTHEST * size) & (extent <= LARGEST * size)]
        low = np.minimum(low, near[:, 0].min(axis=0, initial=np.inf))
        high = np.maximum(high, near[:, 1].max(axis=0, initial=-np.inf))
        axis = int(np.argmax(np.abs(self.up)))
        if self.ground is not None and self.up[axis] > LEVEL and low[axis] - self.ground < 0.5 * size:
            low[axis] = min(self.ground, high[axis])  # its shadows are seen, and nothing under it is
        return low, high


def _near(plane: Any, low: NDArray[Any], high: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """A square piece of a plane, under the middle of the box."""
    size, middle, normal = float(np.linalg.norm(high - low)), (low + high) / 2, np.asarray(plane.normal)
    square = plane.surface()
    corners = square.vertices - square.vertices.mean(axis=0)
    foot = middle - np.dot(middle - plane.point, normal) * normal
    reach = (0.5 + CUT) * max(size, 1e-6) / np.abs(np.linalg.norm(corners, axis=1)).max() * np.sqrt(2)
    return foot + reach * corners, square.triangles


def _above(
    vertices: NDArray[Any], triangles: NDArray[Any], up: NDArray[Any], ground: float
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The part of a surface over the ground."""
    heights = vertices @ up - ground
    if heights.min() >= -1e-9 * np.ptp(vertices, axis=0).max():
        return vertices, triangles
    from trimesh.intersections import slice_faces_plane

    sliced = slice_faces_plane(vertices, triangles.astype(np.int64), up, ground * up)
    cut: tuple[NDArray[Any], NDArray[Any]] = sliced[:2]
    return cut


def creased(vertices: NDArray[Any], triangles: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The same surface with vertices of their own on either side of sharp edges, so that shading stops there."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    triangles = np.asarray(triangles, dtype=np.int64)
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    # Half-edges between the same two vertices meet: there, the corners of either triangle are one vertex.
    start, end = triangles.ravel(), triangles[:, [1, 2, 0]].ravel()
    edges = np.sort(np.stack([start, end], axis=1), axis=1)
    order = np.lexsort(edges.T)
    one, two = order[:-1], order[1:]
    smooth = np.einsum("ij,ij->i", normals[one // 3], normals[two // 3]) > CREASE
    one, two = (half[smooth & (edges[one] == edges[two]).all(axis=1)] for half in (one, two))
    next_one, next_two = (half - half % 3 + (half + 1) % 3 for half in (one, two))
    alike = start[one] == start[two]  # where one triangle is inside out
    mine = np.concatenate([one, next_one])
    other = np.concatenate([np.where(alike, two, next_two), np.where(alike, next_two, two)])
    links = coo_array((np.ones(len(mine), bool), (mine, other)), shape=(len(start), len(start)))
    count, corner = connected_components(links, directed=False)
    split = np.zeros((count, 3))
    split[corner] = vertices[start]
    return split, corner.reshape(-1, 3).astype(np.int64)
