"""Contacts with animated meshes, whose vertices go through a step as they must.

    q, s of the soft bodies ┐
                            ├─► one search between ─► vertex against animated triangle   a plane, as of colliders
    animated, from t to t+h ┘   surfaces              triangle against animated vertex   a patch
                                                      edge against animated edge         a patch
                                                      soft against soft                  as ever

The vertices of animated meshes stand behind those of the soft bodies in the search and in the guard, and nowhere else:
a contact with them is a plane over soft vertices alone, because where the others end a step is known. So solvers see
nothing new. Both ends of the step being known, its motion is, too: friction holds on to what moves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..mesh import Mesh, topology
from .animated import AnimatedMesh
from .contacts import ContactList
from .kernels.driven import in_front, left_over, look_outwards, met_first, patch_rows, wall_rows
from .settings import Collisions
from .surfaces import SurfaceContacts, Surfaces

NEAR = 0.5  # of the thickness: what triangles and edges keep, so that they do not argue with vertices, which keep all
SETTLING = 4  # rounds in which vertices are moved in front of their deepest walls
SPARE = 1 / 3  # of the thickness: patches with more to spare, where vertices are in front of walls, are left out


@dataclass(eq=False)
class Sides:
    """Which pairs of features of joined surfaces count.

    Attributes:
        n: vertices of the soft bodies; those of animated meshes follow.
        own: (n + driven,) bool: those of the soft bodies.
        itself: whether soft surfaces touch each other.
        alike: (n + driven,) numbers, one for all that are sewn together, none above a vertex's own; None: none are.
    """

    n: int
    own: np.ndarray
    itself: bool = True
    alike: np.ndarray | None = None

    @classmethod
    def of(cls, n: int, driven: int, itself: bool, welds: np.ndarray | None) -> Sides:
        """`welds`: (w, 2) pairs of vertices that are sewn together."""
        alike = None
        if welds is not None and len(welds):
            alike = topology.connected_components(n + driven, welds)[1]
        return cls(n, np.arange(n + driven) < n, itself, alike)

    def counting(self, vertices: np.ndarray) -> np.ndarray | None:
        """(c,) which contacts over four vertices count; None: all. What is sewn together at a vertex shares it."""
        count: np.ndarray | None = None if self.itself else np.asarray((vertices >= self.n).any(axis=1))
        if self.alike is not None and len(vertices):
            a, b, c, d = self.alike[vertices].T
            apart: np.ndarray = ~((a == b) | (a == c) | (a == d) | (b == c) | (b == d))
            count = apart if count is None else count & apart
        return count

    def bodies(self, edges: np.ndarray, welds: np.ndarray | None) -> np.ndarray | None:
        """Which vertices have a rest shape in common, if something is sewn; None: those that edges connect."""
        if self.alike is None or welds is None:
            return None
        return topology.connected_components(len(self.own), np.concatenate([edges, welds.astype(edges.dtype)]))[1]


class Driven:
    """The surfaces of a mesh and of the animated meshes that it may touch.

    Attributes:
        vertices: (n + driven, 3) of all, where they are at first.
        triangles: of all, those of the mesh first.
        fastest: the longest way of a vertex of the animated meshes in this step (m).
    """

    def __init__(self, mesh: Mesh, settings: Collisions, first_id: int):
        if not len(mesh.triangles):
            raise InputError(f"{mesh.name!r} has no triangles; what touches an animated mesh is a surface")
        self.meshes: tuple[AnimatedMesh, ...] = settings.animated
        self.n, self._first_id, self._thicknesses = mesh.n_vertices, first_id, settings.per_vertex
        counts = [one.n_vertices for one in self.meshes]
        offsets = self.n + np.cumsum([0, *counts[:-1]])
        self.vertices = np.concatenate([mesh.vertices, *(one.at(-np.inf) for one in self.meshes)])
        parts = [one.triangles + first for one, first in zip(self.meshes, offsets, strict=True)]
        self.triangles = np.concatenate([mesh.triangles, *parts]).astype(np.int32)
        self.count = sum(counts)
        self._owner = np.repeat(np.arange(len(counts)), counts)
        pairs = [settings.friction if one.friction is None else one.friction for one in self.meshes]
        self._friction = np.array(pairs, np.float32).reshape(-1, 2)
        self._soft_triangles = len(mesh.triangles)
        self._q, self._s = (np.zeros((self.n + self.count, 4), np.float32) for _ in range(2))
        self._third: np.ndarray | None = None
        self._faces = np.concatenate(parts).astype(np.int64) - self.n
        self._open = self._on_borders()
        self.drive(0.0, 0.0)

    def drive(self, begin: float, end: float) -> None:
        """Animated meshes go from where they are at one time (s) to where they are at another."""
        self._q[self.n :, :3] = np.concatenate([one.at(begin) for one in self.meshes])
        self._s[self.n :, :3] = np.concatenate([one.at(end) for one in self.meshes])
        way = self._s[self.n :, :3] - self._q[self.n :, :3]
        self.fastest = float(np.sqrt(np.einsum("nx,nx->n", way, way).max()))
        self._look_outwards()

    def _on_borders(self) -> np.ndarray:
        """(driven,) which vertices of animated meshes are ends of edges that have one triangle, or more than two."""
        sides = np.sort(np.stack([self._faces, np.roll(self._faces, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
        ends, counts = np.unique(sides, axis=0, return_counts=True)
        border = np.zeros(self.count, bool)
        border[ends[counts != 2]] = True
        return border

    def _look_outwards(self) -> None:
        """Normals of animated vertices when the step begins, and their least cosine with triangles around them."""
        self._normals, self._least = look_outwards(self._q, self.n, self._faces, self._open)

    def joined(self, q: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Soft vertices that go from q to s (n, 4), and after them the others: views of arrays that are used again."""
        self._q[: self.n], self._s[: self.n] = q, s
        return self._q, self._s

    # --- contacts ---------------------------------------------------------------------------------------------------

    def parted(
        self, found: SurfaceContacts, surfaces: Surfaces, counts: np.ndarray | None
    ) -> tuple[ContactList, ContactList, ContactList]:
        """Contacts of the last `joined`: with animated meshes over one vertex and over three, and soft with soft."""
        vertices = found.vertices
        of_edges = np.arange(len(found)) >= found.vertex_triangle
        first = vertices[:, 0] < self.n
        second = vertices[:, 2] < self.n  # a corner of the triangle, or an end of the other edge
        use = np.ones(len(found), bool) if counts is None else counts
        led = use & (first != second)
        led[led] = self._met_first(found, np.flatnonzero(led), surfaces)
        walls = self._walls(found, np.flatnonzero(led & first & ~of_edges))
        patches = self._patches(found, surfaces, np.flatnonzero(led & (of_edges | second)))
        needed = self._needed(walls, patches)
        patches = patches.ordered(needed[np.argsort(patches.ids[needed], kind="stable")])
        return walls, patches, found.ordered(np.flatnonzero(use & first & second))

    def _thickness(self, vertices: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """(c,) of the soft points of contacts (c, 4), in m."""
        if len(self._thicknesses) == 1:
            return np.full(len(vertices), self._thicknesses[0])
        weights = np.where(vertices < self.n, np.abs(coefficients), 0.0).astype(np.float64)
        own = self._thicknesses[np.minimum(vertices, self.n - 1)]
        return np.asarray(np.einsum("ck,ck->c", weights, own) / weights.sum(axis=1))

    def _met_first(self, found: SurfaceContacts, some: np.ndarray, surfaces: Surfaces) -> np.ndarray:
        """Which contacts with animated meshes count, of those that are met on the way, and not within reach before.

        A step is long: what goes in through one side of a body may meet another from within, and would be held there,
        and what goes through a triangle comes by the sides of its neighbours. So normals must not lie in the surface,
        and of the contacts of a vertex with a mesh those count that it meets with the first, give or take the
        thickness; of a contact over several vertices, all are asked. What is within reach when the step begins counts.
        """
        thickness = self._thickness(found.vertices[some], found.coefficients[some])
        reach = np.broadcast_to(surfaces.reach_of_passive(thickness), len(some)).copy()
        return np.asarray(
            met_first(
                *(some, found.vertices, found.coefficients, found.planes, found.vertex_triangle, self._q, self._s),
                *(self.n, self._owner, len(self.meshes), self._normals, self._least, thickness, reach),
            )
        )

    def _needed(self, walls: ContactList, patches: ContactList) -> np.ndarray:
        """Patches that do not hold by themselves, or only just, where walls hold.

        On a body that is as fine as the cloth there are ten patches to a vertex, and hardly one says what vertices do
        not. All of them together stretch cloth more, and cost more, than those that are needed.
        """
        x, held = in_front(walls.vertices, walls.planes, self._s, self.n, SETTLING if len(patches) else 0)
        given = patches.vertices, patches.coefficients, patches.planes, patches.motions
        spare = SPARE * self._thickness(patches.vertices, patches.coefficients)
        return np.flatnonzero(left_over(*given, x, held, self._q, spare))

    def _walls(self, found: SurfaceContacts, some: np.ndarray) -> ContactList:
        """A vertex against a triangle: as a collider that carries it along."""
        own, planes, motion, which, ids = wall_rows(
            *(some, found.vertices, found.coefficients, found.planes, found.ids, self._q, self._s),
            *(self.n, self._owner, len(self.meshes), self._first_id),
        )
        ones = np.ones((len(some), 1), np.float32)
        listed = ContactList(own, ones, planes, self._friction[which], ids, motion)
        return listed.ordered(np.argsort(ids, kind="stable"))

    def _patches(self, found: SurfaceContacts, surfaces: Surfaces, some: np.ndarray) -> ContactList:
        """A triangle against a vertex, and an edge against an edge: planes over three vertices."""
        near = (NEAR * self._thickness(found.vertices[some], found.coefficients[some])).astype(np.float32)
        own, weights, planes, motion, which, ids = patch_rows(
            *(some, found.vertices, found.coefficients, found.planes, found.ids, found.vertex_triangle),
            *(self._q, self._s, self.n, self._across(surfaces), self._soft_triangles, self._owner, len(self.meshes)),
            *(self._first_id, near),
        )
        return ContactList(own, weights, planes, self._friction[which], ids, motion)

    def _across(self, surfaces: Surfaces) -> np.ndarray:
        """For each edge of the joined surfaces, a corner of a triangle that it is a side of, and not its end."""
        if self._third is None:
            corners = surfaces.triangles.astype(np.int64)
            sides = np.stack([corners, np.roll(corners, -1, axis=1)], axis=2).reshape(-1, 2)
            keys = topology.edge_keys(np.sort(sides, axis=1))
            third = np.roll(corners, -2, axis=1).reshape(-1)
            order = np.argsort(keys, kind="stable")
            wanted = topology.edge_keys(np.sort(surfaces.edges, axis=1))
            self._third = third[order[np.searchsorted(keys[order], wanted)]]
        return self._third
