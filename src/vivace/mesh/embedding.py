"""A fine surface that a coarse mesh carries: barycentric coordinates in its tetrahedra, or on its triangles.

In tetrahedra a point is a weighted sum of four vertices, x = Σ wᵢ qᵢ with Σ wᵢ = 1: every affine motion of the cage is
the point's too, exactly, inside the cage and outside. A triangle carries the foot of a point in its plane in the same
way; what is left, d along the normal, is kept as a vector in a frame that the cage's smooth normals and the triangle's
first edge make, so that a surface beside the cage turns with it, keeps its distance, and has no kinks at its edges.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from ..checks import shown
from ..errors import InputError
from ..storage import storable
from .closest import closest_triangles, containing_tets, plane_weights
from .mesh import Mesh, as_mesh
from .polygons import Polygons
from .surface import Numbered, Surface


@storable("embedding")
@dataclass(frozen=True, eq=False)
class Embedding:
    """Vertices as weighted sums of a cage's, some with an offset beside it.

    Attributes:
        elements: (k, 4) or (k, 3) int32 vertices of the cage.
        weights: (k, 4) or (k, 3); each row's sum is 1.
        offsets: (k, 3) m, in the frames of the triangles: along the first edge, across it, along the normal; (0, 3) for
            tetrahedra.
        shares: (k, 3) how much the normal of each corner counts; (0, 3) for tetrahedra.
        triangles: (m, 3) int32 the cage's, which have the normals; (0, 3) for tetrahedra.
    """

    elements: np.ndarray
    weights: np.ndarray
    offsets: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    shares: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    triangles: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), np.int32))

    def __post_init__(self) -> None:
        set_, size = object.__setattr__, np.shape(self.elements)
        for name, kind in (("elements", np.int32), ("triangles", np.int32), ("weights", float), ("offsets", float)):
            set_(self, name, np.ascontiguousarray(getattr(self, name), kind))
        set_(self, "shares", np.ascontiguousarray(self.shares, float))
        beside = (0, 3) if size[1:] == (4,) else size
        if size[1:] not in ((3,), (4,)) or self.weights.shape != size or self.offsets.shape != beside:
            raise InputError(f"an embedding has three or four vertices and weights a row, not {size}")
        if self.shares.shape != beside or self.triangles.shape[1:] != (3,):
            raise InputError(f"an embedding has shares of three normals a row, not {self.shares.shape}")
        if min(self.elements.min(initial=0), self.triangles.min(initial=0)) < 0:
            raise InputError("an embedding follows vertices that count from 0")

    @property
    def count(self) -> int:
        """How many vertices it carries."""
        return len(self.elements)

    @property
    def needs(self) -> int:
        """How many vertices the cage has to have, at least."""
        return int(max(self.elements.max(initial=-1), self.triangles.max(initial=-1))) + 1

    def at(self, positions: np.ndarray) -> np.ndarray:
        """(k, 3) from (n, 3), in float64."""
        x = np.asarray(positions, np.float64)
        first = x[self.elements[:, 0]]
        # Differences: nothing cancels far from the origin, and where all vertices move alike the sum does too.
        found: np.ndarray = first.copy()
        for k in range(1, self.elements.shape[1]):
            found += self.weights[:, k, None] * (x[self.elements[:, k]] - first)
        if self._beside.size:
            rows = self._beside
            frames = _frames(x, self.elements[rows], self.shares[rows], self._normals(x))
            found[rows] += np.einsum("ka,kai->ki", self.offsets[rows], frames)
        return found

    @cached_property
    def _beside(self) -> np.ndarray:
        """Rows that lie beside the cage and not on it."""
        return np.flatnonzero((self.offsets != 0).any(axis=1))

    @cached_property
    def _around(self) -> csr_matrix:
        """Which triangles each vertex has, as a matrix that adds their normals up."""
        corners = self.triangles.ravel()
        columns = np.repeat(np.arange(len(self.triangles)), 3)
        shape = int(max(corners.max(), self.elements.max())) + 1, len(self.triangles)
        return csr_matrix((np.ones(len(corners)), (corners, columns)), shape)

    def _normals(self, x: np.ndarray) -> np.ndarray:
        """Of the cage's vertices: those of their triangles, by area."""
        a, b, c = (x[self.triangles[:, k]] for k in range(3))
        return _unit(self._around @ np.cross(b - a, c - a))

    def renumbered(self, numbers: np.ndarray) -> Embedding:
        """The same for a cage in which vertex i has become number `numbers[i]`."""
        return replace(self, elements=numbers[self.elements], triangles=numbers[self.triangles])

    def scaled(self, scale: np.ndarray) -> Embedding:
        """The same for a cage that is larger by a factor; offsets grow with it."""
        factor = np.unique(scale)
        if not self._beside.size:
            return self
        if len(factor) > 1:
            raise InputError(
                f"a surface beside its cage cannot be scaled by {scale.tolist()}, which turns normals; embed it again"
            )
        return replace(self, offsets=self.offsets * factor[0])


def embed(fine: Mesh, cage: Any) -> Surface:
    """A fine surface that follows a coarse mesh, with its own UVs, polygons and names.

    Args:
        fine: the surface, as `vivace.mesh.load` reads it, at rest in the same place as the cage.
        cage: the mesh that is simulated; or a model or a simulation of it. A body carries by its tetrahedra, a surface
            by its triangles.

    Returns:
        What `vivace.export` takes as `surface`, and `Mesh.showing` keeps with the cage.
    """
    mesh = as_mesh(getattr(getattr(cage, "model", cage), "mesh", cage))
    if not isinstance(fine, Mesh):
        raise InputError(f"a fine mesh is needed (vivace.mesh.load, ...), not {shown(fine)}")
    if not len(fine.triangles):
        raise InputError(f"{fine.name!r} has no triangles to show")
    own = fine.surface or Surface(_own_numbers(fine), _own_polygons(fine), name=fine.name)
    points = own.at(fine.vertices)
    if mesh.is_volumetric:
        carrier = _in_tets(points, mesh)
    elif len(mesh.triangles):
        carrier = _on_triangles(points, mesh)
    else:
        raise InputError(f"{mesh.name!r} is a wire; a surface is carried by triangles or tetrahedra")
    return replace(own, carrier=carrier)


def _own_numbers(fine: Mesh) -> Numbered:
    return Numbered(np.unique(fine.triangles))


def _own_polygons(fine: Mesh) -> Polygons:
    _, numbers = np.unique(fine.triangles, return_inverse=True)
    return Polygons.of(numbers.reshape(-1, 3))


def _in_tets(points: np.ndarray, cage: Mesh) -> Embedding:
    number = containing_tets(points, cage.vertices, cage.tets)
    outside = np.flatnonzero(number < 0)
    if len(outside):
        nearest, _, _ = closest_triangles(points[outside], cage.vertices, cage.triangles)
        number[outside] = _behind(cage)[nearest]
    elements = cage.tets[number]
    corners = cage.vertices[elements]
    edges = (corners[:, 1:] - corners[:, :1]).transpose(0, 2, 1)
    weights = np.linalg.solve(edges, (points - corners[:, 0])[:, :, None])[:, :, 0]
    return Embedding(elements, np.column_stack([1 - weights.sum(axis=1), weights]))


def _behind(cage: Mesh) -> np.ndarray:
    """The tetrahedron behind each triangle of a body's boundary."""
    faces = np.concatenate([np.delete(cage.tets, k, axis=1) for k in range(4)])
    rows = np.sort(np.concatenate([faces, cage.triangles]), axis=1)
    _, code = np.unique(rows, axis=0, return_inverse=True)
    code = code.ravel()
    owner = np.empty(code.max() + 1, np.int64)
    owner[code[: len(faces)]] = np.tile(np.arange(len(cage.tets)), 4)
    return owner[code[len(faces) :]]


def _on_triangles(points: np.ndarray, cage: Mesh) -> Embedding:
    x = cage.vertices
    number, shares, _ = closest_triangles(points, x, cage.triangles)
    elements = cage.triangles[number]
    weights = plane_weights(points, x[elements])
    carried = Embedding(elements, weights, np.zeros((len(points), 3)), shares, cage.triangles)
    left = points - carried.at(x)
    size = np.linalg.norm(np.ptp(cage.bounds, axis=0))
    left[np.linalg.norm(left, axis=1) <= 1e-13 * (size + np.abs(cage.bounds).max())] = 0.0  # on it, but for rounding
    frames = _frames(x, elements, shares, carried._normals(x))
    return replace(carried, offsets=np.einsum("kai,ki->ka", frames, left))


def _frames(x: np.ndarray, elements: np.ndarray, shares: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """(k, 3, 3): rows along the first edge, across it, and along the smooth normal; orthonormal."""
    a, b, c = (x[elements[:, k]] for k in range(3))
    flat = np.cross(b - a, c - a)
    normal = np.einsum("ki,kij->kj", shares, normals[elements])
    normal = _unit(np.where((np.einsum("ij,ij->i", normal, normal) > 1e-6)[:, None], normal, flat))  # a folded cage
    along = b - a
    along = _unit(along - np.einsum("ij,ij->i", along, normal)[:, None] * normal)
    return np.stack([along, np.cross(normal, along), normal], axis=1)


def _unit(vectors: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: np.ndarray = vectors / np.where(length > 0, length, 1.0)
    return unit
