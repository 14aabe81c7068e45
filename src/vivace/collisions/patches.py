"""Which triangles meet rigid bodies between their vertices; see `kernels.triangles`.

A contact of a triangle is a plane over three vertices, with barycentric weights that add up to one. It is written as
one over four, as contacts between surfaces are; the fourth vertex is the first one again and has no weight, which is
how solvers know that z = Σ a_k x_k is a point, and not the way between two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from ..backends.cpu.arguments import Phase
from ..backends.cpu.executor import Plan
from .colliders import Collider, Plane
from .contacts import BITS, OF_PATCH, ContactList, feature_ids, patch_ids
from .convex import ConvexMesh
from .kernels import triangles as kernels
from .thickness import thickness_at, thickness_of_elements

NEAR = 0.25  # of the thickness: what triangles keep; bodies that vertices carry, at the whole of it, do not notice them
EDGE = 1e-9  # weight below which a corner has none: the point is on the edge between the other two
PASSES = 20  # over triangles that are pushed out of bodies
ROUND = 0.5  # of the radius of the ball inside a body: how round it counts as for small triangles
THIN = 1e-9  # of the rounding: a core that is no thicker is flat


@dataclass(eq=False)
class Found:
    """Triangles that meet bodies: their numbers, `vertices` (c, 3), barycentric `weights` (c, 3), which body, and more.

    `places`: (c, 7) normal, offset and where the point was when the step began, as the body sees them.
    """

    triangles: np.ndarray
    vertices: np.ndarray
    weights: np.ndarray
    which: np.ndarray
    places: np.ndarray
    ids: np.ndarray

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def over(self) -> np.ndarray:
        """(c,) by how much points were over their planes when the step began, in m."""
        return np.asarray(np.einsum("ci,ci->c", self.places[:, :3], self.places[:, 4:]) - self.places[:, 3])

    def least_over(self, other: Found) -> np.ndarray:
        """(c,) the least of that of the same triangles and bodies in another list; inf for those that it has not."""
        pairs = np.concatenate([np.column_stack([f.triangles, f.which]) for f in (other, self)])
        _, number = np.unique(pairs, axis=0, return_inverse=True)
        number = number.ravel()
        least = np.full(number.max(initial=-1) + 1, np.inf)
        np.minimum.at(least, number[: len(other)], other.over)
        return least[number[len(other) :]]

    def listed(self, friction: np.ndarray) -> ContactList:
        """As contacts without planes; `friction`: (k, 2) of the bodies."""
        vertices = np.concatenate([self.vertices, self.vertices[:, :1]], axis=1)
        weights = np.zeros((len(self), 4), np.float32)
        weights[:, :3] = self.weights
        none = np.zeros((len(self), 4), np.float32)
        return ContactList(np.ascontiguousarray(vertices), weights, none, friction[self.which], self.ids)


class PatchSearch:
    """The search for triangles that meet bodies.

    Args:
        triangles: (t, 3) vertices.
        colliders: the bodies, where they were made; planes are met by vertices alone.
        encoded: `sizes`, `shape`, boxes around and samples of the same.
        thicknesses: (1,) distance that vertices keep, in m, or (n,) that of each; of a triangle, the least of corners.
        first_id: the number of the first body among all that is touched.
        apart: ids of contacts that vertices do not have: neither do triangles that they are corners of.
    """

    def __init__(
        self,
        triangles: np.ndarray,
        colliders: Sequence[Collider],
        encoded: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
        thicknesses: np.ndarray,
        first_id: int,
        apart: np.ndarray,
    ):
        self._first_id, self._apart = first_id, apart
        self._triangles = np.ascontiguousarray(triangles, np.int32)
        self._thicknesses = thickness_of_elements(thicknesses, self._triangles)
        self._near = NEAR * self._thicknesses
        cores = [core(collider) for collider in colliders]
        radii = np.array([radius for _, radius in cores])
        sizes, shape, rest, samples = encoded
        # With its corners at the thickness, a triangle with a spread c comes no nearer than to √((r + thickness)² - c²)
        # of a core that is r inside the body: small ones need no contacts of their own. Sharp corners count as if they
        # were round: between vertices that are close together they come through by a little, and nothing else does.
        round_ = np.array([max(r, ROUND * inscribed(c)) for r, c in zip(radii, colliders, strict=True)])
        self._arrays = {
            "sizes": sizes, "shape": shape, "grid": samples, "rest": rest.ravel(),
            "corners": np.concatenate([np.zeros((0, 3)), *(corners for corners, _ in cores)]).ravel(),
            "corner_at": np.concatenate([[0], np.cumsum([len(corners) for corners, _ in cores])]).astype(np.int64),
            "radii": radii, "rounds": round_,
        }  # fmt: skip
        self._room = kernels.BLOCK

    def find(
        self,
        q: np.ndarray,
        s: np.ndarray,
        first: np.ndarray,
        last: np.ndarray,
        bounds: np.ndarray,
        threads: int,
        only: np.ndarray | None = None,
    ) -> Found:
        """What triangles meet while vertices go from q to s, (n, 4) float32, and bodies from one pose to the other.

        `first`, `last`: rows of poses; `bounds`: (k, 6) boxes around all that bodies reach; `only`: vertices (m,), of
        which one at least is a corner of each triangle that is looked at.
        """
        looked, corners = np.zeros(0, np.int32), self._triangles
        keeping = {"thicknesses": self._thicknesses, "near": self._near}
        if only is not None:
            marked = np.zeros(len(q), bool)
            marked[only] = True
            looked = np.flatnonzero(marked[self._triangles].any(axis=1)).astype(np.int32)
            corners = self._triangles[looked]
            if len(self._near) > 1:
                keeping = {name: array[looked] for name, array in keeping.items()}
        count = len(corners)
        blocks = -(-count // kernels.BLOCK)
        while True:
            cells = blocks * self._room
            places, counts = np.empty(kernels.PLACE * cells), np.zeros(blocks, np.int64)
            triangle, which, slot = (np.empty(cells, np.int32) for _ in range(3))
            arrays = {"first": first, "last": last, "bounds": bounds, "q": q, "s": s, "places": places}
            arrays |= {
                "triangle_of": triangle,
                "collider": which,
                "slot": slot,
                "counts": counts,
                **self._arrays,
                **keeping,
            }
            arrays["triangles"] = corners.ravel()
            phase = Phase(kernels.search_triangles, arrays, 0, count, grain=kernels.BLOCK)
            Plan([phase], threads).run()
            if counts.max(initial=0) <= self._room:
                break
            self._room = 2 * int(counts.max())
        used = np.flatnonzero(np.arange(self._room) < counts[:, None])
        rows = places.reshape(-1, kernels.PLACE)[used]
        triangle, which, slot = triangle[used], which[used], slot[used]
        triangle = triangle if only is None else looked[triangle]
        found = Found(
            triangle,
            self._triangles[triangle],
            rows[:, 7:],
            which,
            rows[:, :7],
            patch_ids(triangle, slot, which + self._first_id, kernels.SLOTS),
        )
        return self._once(found) if len(found) else found

    def _once(self, found: Found) -> Found:
        """Without those of attached vertices, sorted; a point on an edge is a contact of one of its triangles only."""
        keep = np.ones(len(found), bool)
        for k in range(3 if len(self._apart) else 0):
            keep &= ~np.isin(feature_ids(found.vertices[:, k], found.which + self._first_id), self._apart)
        order = np.flatnonzero(keep)
        order = order[np.argsort(found.ids[order], kind="stable")]
        light = found.weights[order] < EDGE
        edge = np.flatnonzero(light.any(axis=1))
        if len(edge):
            ends = np.where(light[edge], -1, found.vertices[order[edge]])
            keys = np.column_stack([np.sort(ends, axis=1), found.which[order[edge]]])
            _, first = np.unique(keys, axis=0, return_index=True)
            again = np.ones(len(edge), bool)
            again[first] = False
            order = np.delete(order, edge[again])
        parts = (found.triangles, found.vertices, found.weights, found.which, found.places, found.ids)
        return Found(*(np.ascontiguousarray(part[order]) for part in parts))

    def near_of(self, found: Found) -> float | np.ndarray:
        """The distance that triangles keep, in m."""
        near: float | np.ndarray = thickness_at(self._near, found.triangles)
        return near

    def pierced(self, found: Found) -> np.ndarray:
        """(c,) whether the core of the body was through the triangle when the step began."""
        return np.asarray(found.over < -(1 - 1e-3) * self.near_of(found) - self._arrays["radii"][found.which])

    @staticmethod
    def push(
        found: Found, normals: np.ndarray, gaps: np.ndarray, x: np.ndarray, inverse: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Move triangles out of bodies: which contacts moved what, (m,), and by how much, (m, 3 corners, 3)."""
        ways = np.zeros((len(found), 3, 3))
        kernels.push_triangles(found.vertices, found.weights, normals, gaps, inverse, x, ways, PASSES)
        moved = np.flatnonzero(ways.any(axis=(1, 2)))
        return moved, ways[moved]


def triangles_of(ids: np.ndarray) -> np.ndarray:
    """The triangles of contacts with such ids."""
    return np.asarray(((ids & ~OF_PATCH) >> BITS) // kernels.SLOTS)


def core(collider: Collider) -> tuple[np.ndarray, float]:
    """The corners (v, 3) of a body's core where it was made, and the radius around it (m); none of a plane."""
    if isinstance(collider, Plane):
        return np.zeros((0, 3)), 0.0
    if isinstance(collider, ConvexMesh):
        return np.asarray(collider.vertices, np.float64), 0.0
    shape = collider.encoded.shape
    centre, rotation, half, radius = shape[:3], shape[3:12].reshape(3, 3), shape[12:15], float(shape[15])
    signs = [(-1.0, 1.0) if side > THIN * radius else (0.0,) for side in half]
    corners = np.array(list(product(*signs))) * half
    return corners @ rotation.T + centre, radius


def inscribed(collider: Collider) -> float:
    """The radius of a ball inside a body, around its centre (m); 0 for a plane."""
    if isinstance(collider, Plane):
        return 0.0
    if isinstance(collider, ConvexMesh):
        corners = (collider.corners[face] for face in collider.faces)
        planes = [(face[0], np.cross(face[1:-1] - face[0], face[2:] - face[0]).sum(axis=0)) for face in corners]
        return float(min(point @ normal / np.linalg.norm(normal) for point, normal in planes))
    shape = collider.encoded.shape
    return float(shape[12:15].min() + shape[15])
