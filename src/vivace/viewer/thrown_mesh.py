"""A mesh of somebody's own as a rigid body: it touches by its convex hull, and looks like itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..collisions.colliders import Encoded
from ..collisions.convex import ConvexMesh
from ..collisions.sampled import Sampled
from ..errors import InputError
from ..mesh import Mesh
from ..storage import storable

CORNERS = 60  # of the hull, at most: rigid contacts try all edges of two of them
CELLS = 40  # along the longest side: what is finer is not drawn, as every vertex goes to the page with every frame
FEW = 2000  # vertices: such a mesh is drawn as it is
ALIKE = 1.02  # times its own volume: a hull of so much is not worth a word


@storable("hulled-mesh")
@dataclass(frozen=True, eq=False, repr=False)
class Hulled(ConvexMesh):
    """The hull of a mesh, drawn as the mesh; `body` is where `vertices` are."""

    body: Mesh | None = None

    def surface(self) -> Mesh:
        """Return the mesh itself."""
        return super().surface() if self.body is None else self.body

    @cached_property
    def encoded(self) -> Encoded:  # type: ignore[override]
        """Samples of the distance from the hull, for soft bodies."""
        return Sampled.of(super().surface()).encoded


class ThrownMesh:
    """A mesh that can be thrown in at any place and size; InputError for one without a volume."""

    def __init__(self, mesh: Mesh):
        self.name = mesh.name
        vertices = np.asarray(mesh.vertices, np.float64)
        size = float(np.ptp(vertices, axis=0).max(initial=0.0)) if len(vertices) else 0.0
        if not size > 0:
            raise InputError(f"{self.name} cannot be thrown in: it has no size")
        vertices = (vertices - vertices.mean(axis=0)) / size
        try:
            hull = ConvexMesh(_outermost(ConvexMesh(vertices).vertices))
        except InputError as error:
            raise InputError(f"{self.name} cannot be thrown in: {error}") from None
        middle = np.array(hull.centre)
        self._corners = hull.vertices - middle
        self._drawn = coarser(vertices - middle, mesh.triangles) if len(mesh.triangles) else None
        self._own = _volume(vertices, mesh.triangles)
        self._volume = hull.volume

    def at(self, place: tuple[float, float, float], size: float) -> Hulled:
        """The body with its centre of mass at `place`, so large (m)."""
        body = None
        if self._drawn is not None:
            body = Mesh.from_triangles(
                size * self._drawn[0] + place, self._drawn[1], name=self.name, repair=True, split=True
            )
        return Hulled(size * self._corners + place, body=body)

    @property
    def told(self) -> str:
        """What people should know of it; "" where it is convex."""
        if 0 < self._volume <= ALIKE * self._own:
            return ""
        return f"{self.name} touches by its convex hull: nothing comes into its hollows."


def coarser(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A surface for looking at: vertices in one cell of a grid are one; triangles that fall together are left out."""
    if len(vertices) <= FEW:
        return vertices, triangles
    size = float(np.ptp(vertices, axis=0).max())
    cells = np.floor((vertices - vertices.min(axis=0)) * (CELLS / size)).astype(np.int64)
    _, own = np.unique(cells, axis=0, return_inverse=True)
    own = own.reshape(-1)
    counts = np.bincount(own)
    middles = np.stack([np.bincount(own, vertices[:, axis]) / counts for axis in range(3)], axis=1)
    merged = own[np.asarray(triangles, np.int64)]
    a, b, c = merged.T
    merged = merged[(a != b) & (b != c) & (c != a)]
    _, first = np.unique(np.sort(merged, axis=1), axis=0, return_index=True)
    return middles, merged[np.sort(first)]


def _outermost(corners: np.ndarray) -> np.ndarray:
    """At most CORNERS of the corners of a hull: those that are farthest out in directions spread over a sphere."""
    if len(corners) <= CORNERS:
        return corners
    k = np.arange(CORNERS) + 0.5
    height, turn = 1.0 - 2.0 * k / CORNERS, np.pi * (1.0 + np.sqrt(5.0)) * k
    across = np.sqrt(1.0 - height**2)
    ways = np.stack([across * np.cos(turn), height, across * np.sin(turn)], axis=1)
    found: np.ndarray = corners[np.unique(np.argmax(corners @ ways.T, axis=0))]
    return found


def _volume(vertices: np.ndarray, triangles: np.ndarray) -> float:
    """That a surface winds around; of one that is open, no more than a guess."""
    if not len(triangles):
        return 0.0
    return abs(float(np.linalg.det(vertices[np.asarray(triangles, np.int64)]).sum())) / 6
