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
from .contacts import BITS, OF_EDGES, ContactList, feature_ids, patch_ids
from .settings import Collisions
from .surfaces import SurfaceContacts, Surfaces

NEAR = 0.5  # of the thickness: what triangles and edges keep, so that they do not argue with vertices, which keep all

EDGE = 1e-6  # weight below which a corner has none
ASKEW = 0.06  # how much less than that of the triangles around may the cosine of a normal with that of the body be
SETTLING = 4  # rounds in which vertices are moved in front of their deepest walls
SPARE = 1 / 3  # of the thickness: patches with more to spare, where vertices are in front of walls, are left out
FACING = 0.5  # cosine of the largest angle between the normal of what is met on the way and that of the surface


@dataclass(eq=False)
class Sides:
    """Which pairs of features of joined surfaces count.

    Attributes:
        n: vertices of the soft bodies; those of animated meshes follow.
        own: (n + driven,) bool: those of the soft bodies.
        itself: whether soft surfaces touch each other.
        alike: (n + driven,) for each vertex the first of those that are sewn to it; None: none are.
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
        self.n, self._first_id, self._thickness = mesh.n_vertices, first_id, settings.thickness
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
        x = self._q[self.n :, :3].astype(np.float64)
        a, b, c = (x[self._faces[:, k]] for k in range(3))
        across = np.cross(b - a, c - a)
        corners = self._faces.ravel()
        sums = [np.bincount(corners, np.repeat(across[:, k], 3), self.count) for k in range(3)]
        self._normals = _unit(np.stack(sums, axis=1))
        cosines = np.einsum("tkx,tx->tk", self._normals[self._faces], _unit(across))
        self._least = np.ones(self.count)
        np.minimum.at(self._least, corners, cosines.ravel())
        self._least[self._open] = -1.0

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
        led[led] = self._met_first(found, np.flatnonzero(led), surfaces.thickness + surfaces.passive_margin)
        walls = self._walls(found, np.flatnonzero(led & first & ~of_edges))
        patches = self._patches(found, surfaces, np.flatnonzero(led & (of_edges | second)))
        patches = patches.ordered(self._needed(walls, patches))
        return walls, patches, found.ordered(np.flatnonzero(use & first & second))

    def _met_first(self, found: SurfaceContacts, some: np.ndarray, reach: float) -> np.ndarray:
        """Which contacts with animated meshes count, of those that are met on the way, and not within reach (m) before.

        A step is long: what goes in through one side of a body may meet another from within, and would be held there,
        and what goes through a triangle comes by the sides of its neighbours. So normals must not lie in the surface,
        and of the contacts of a vertex with a mesh those count that it meets with the first, give or take the
        thickness; of a contact over several vertices, all are asked. What is within reach when the step begins counts.
        """
        vertices, a = found.vertices[some], found.coefficients[some].astype(np.float64)
        began, ends = (np.einsum("ck,ckx->cx", a, x[vertices, :3].astype(np.float64)) for x in (self._q, self._s))
        normals = found.planes[some, :3].astype(np.float64)
        before, after = (np.einsum("cx,cx->c", normals, z) for z in (began, ends))
        apart = np.linalg.norm(began, axis=1)
        met = (apart > reach) | (before < 0.99 * apart)  # on the way, and not there when the step began
        corners = self._q[vertices, :3].astype(np.float64)
        edges = some >= found.vertex_triangle
        one = np.where(edges[:, None], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 1])
        two = np.where(edges[:, None], corners[:, 3] - corners[:, 2], corners[:, 3] - corners[:, 1])
        face = np.cross(one, two)
        facing = np.abs(np.einsum("cx,cx->c", normals, face)) > FACING * np.linalg.norm(face, axis=1)
        use = (~met | facing) & self._outwards(vertices, a, normals)
        # When it is met; what is not is met last, and what is close already at once.
        time = np.where(before > self._thickness, before / np.maximum(before - after, np.maximum(before, 1e-30)), 0.0)
        slack = self._thickness / np.maximum(np.linalg.norm(ends - began, axis=1), self._thickness)
        mine = vertices < self.n
        which = self._owner[np.where(mine, 0, vertices - self.n).max(axis=1)]
        slots = np.where(mine, vertices, 0) * len(self.meshes) + which[:, None]
        counted = mine & (np.abs(a) > EDGE) & use[:, None]
        late = np.zeros(len(some), bool)
        alone = ~edges & mine[:, 0]  # of one vertex: what triangles around it meet before says nothing of where it does
        for these, asked in ((np.ones(len(some), bool), ~alone), (alone, alone)):
            first = np.full(self.n * len(self.meshes), np.inf)
            told = counted & these[:, None]
            np.minimum.at(first, slots[told], np.repeat((time + slack)[:, None], 4, axis=1)[told])
            late |= asked & (counted & (time[:, None] > first[slots])).any(axis=1)
        return np.asarray(use & ~(met & late))

    def _needed(self, walls: ContactList, patches: ContactList) -> np.ndarray:
        """Patches that do not hold by themselves, or only just, where walls hold.

        On a body that is as fine as the cloth there are ten patches to a vertex, and hardly one says what vertices do
        not. All of them together stretch cloth more, and cost more, than those that are needed.
        """
        x, held = self._s[: self.n, :3].astype(np.float64), np.zeros(self.n, bool)
        vertices, normals = walls.vertices[:, 0], walls.planes[:, :3].astype(np.float64)
        held[vertices] = True
        for k in range(SETTLING if len(patches) else 0):
            depths = walls.planes[:, 3] - np.einsum("cx,cx->c", normals, x[vertices])
            order = np.lexsort((depths, vertices))
            last = order[np.append(vertices[order[1:]] != vertices[order[:-1]], True)] if len(order) else order
            deepest = last if k == 0 else last[depths[last] > 0]  # at first all come down to their walls
            x[vertices[deepest]] += depths[deepest, None] * normals[deepest]
        a, planes = patches.coefficients.astype(np.float64), patches.planes.astype(np.float64)
        z = np.einsum("ck,ckx->cx", a, x[patches.vertices])
        over = np.einsum("cx,cx->c", z, planes[:, :3]) - planes[:, 3]
        # Vertices without walls end nobody knows where: perhaps as far off as they were.
        began = np.einsum("ck,ckx->cx", a, self._q[patches.vertices, :3].astype(np.float64)) + patches.motions
        loose = (~held[patches.vertices] & (a > EDGE)).any(axis=1)
        over = np.where(loose, np.minimum(over, np.einsum("cx,cx->c", began, planes[:, :3]) - planes[:, 3]), over)
        return np.flatnonzero(over < SPARE * self._thickness)

    def _outwards(self, vertices: np.ndarray, a: np.ndarray, normals: np.ndarray) -> np.ndarray:
        """Which contacts have a normal that animated meshes have there, between those of the triangles around."""
        other = vertices >= self.n
        weights, rows = np.where(other, np.abs(a), 0.0), np.where(other, vertices - self.n, 0)
        own = _unit(np.einsum("ck,ckx->cx", weights, self._normals[rows]))
        least = np.where(weights > EDGE, self._least[rows], 1.0).min(axis=1)
        return np.asarray(np.abs(np.einsum("cx,cx->c", own, normals)) >= least - ASKEW)

    def _walls(self, found: SurfaceContacts, some: np.ndarray) -> ContactList:
        """A vertex against a triangle: as a collider that carries it along."""
        vertices = found.vertices[some]
        own, other = vertices[:, 0], vertices[:, 1:]
        weights = -found.coefficients[some, 1:].astype(np.float64)
        normals, gaps = found.planes[some, :3].astype(np.float64), found.planes[some, 3].astype(np.float64)
        which = self._owner[other[:, 0] - self.n]
        alone = np.bincount(own, minlength=self.n)[own] == 1
        ids = feature_ids(own, self._numbers(which, found.ids[some], alone))
        ones = np.ones((len(some), 1), np.float32)
        return self._listed(own[:, None], ones, normals, gaps, weights, other, which, ids)

    def _patches(self, found: SurfaceContacts, surfaces: Surfaces, some: np.ndarray) -> ContactList:
        """A triangle against a vertex, and an edge against an edge: planes over three vertices."""
        vertices, a = found.vertices[some], found.coefficients[some].astype(np.float64)
        edges = some >= found.vertex_triangle
        mine_first = vertices[:, 0] < self.n  # an edge that comes first; a triangle comes second
        ids = found.ids[some] & ~OF_EDGES
        one, two = ids >> BITS, ids & ((1 << BITS) - 1)
        sign = np.where(mine_first, 1.0, -1.0)
        normals, gaps = (
            sign[:, None] * found.planes[some, :3],
            np.minimum(found.planes[some, 3], NEAR * self._thickness),
        )
        own, weights = np.empty((len(some), 3), np.int64), np.zeros((len(some), 3))
        other, shares = np.empty((len(some), 3), np.int64), np.zeros((len(some), 3))
        flat = ~edges
        own[flat], weights[flat] = vertices[flat, 1:], -a[flat, 1:]
        other[flat], shares[flat, 0] = vertices[flat, :1], 1.0
        for ahead in (True, False):
            rows = np.flatnonzero(edges & (mine_first == ahead))
            mine, its = (slice(0, 2), slice(2, 4)) if ahead else (slice(2, 4), slice(0, 2))
            number = one[rows] if ahead else two[rows]
            own[rows, :2], weights[rows, :2] = vertices[rows, mine], np.abs(a[rows, mine])
            own[rows, 2] = self._across(surfaces)[number]
            other[rows, :2], shares[rows, :2] = vertices[rows, its], np.abs(a[rows, its])
            other[rows, 2] = vertices[rows, its.start]
        feature = np.where(edges, self._soft_triangles + np.where(mine_first, one, two), two)
        which = self._owner[other[:, 0] - self.n]
        its = np.where(edges & ~mine_first, one, np.where(edges, two, one))  # an edge or a vertex of the mesh
        keys = patch_ids(feature, np.zeros(len(some), np.int64), self._numbers(which, its), 1)
        corners = np.concatenate([own, own[:, :1]], axis=1)
        four = np.concatenate([weights, np.zeros((len(some), 1))], axis=1).astype(np.float32)
        return self._listed(corners, four, normals, gaps, shares, other, which, keys)

    def _listed(
        self,
        vertices: np.ndarray,
        coefficients: np.ndarray,
        normals: np.ndarray,
        gaps: np.ndarray,
        weights: np.ndarray,
        other: np.ndarray,
        which: np.ndarray,
        ids: np.ndarray,
    ) -> ContactList:
        """Planes in front of points of animated meshes, the means of vertices `other` (c, 3) by weight."""
        began, ends = (np.einsum("ck,ckx->cx", weights, a[other, :3].astype(np.float64)) for a in (self._q, self._s))
        planes = np.empty((len(ids), 4), np.float32)
        planes[:, :3], planes[:, 3] = normals, gaps + np.einsum("cx,cx->c", normals, ends)
        motion = (ends - began).astype(np.float32)
        listed = ContactList(vertices.astype(np.int32), coefficients, planes, self._friction[which], ids, motion)
        return listed.ordered(np.argsort(ids, kind="stable"))

    def _numbers(self, which: np.ndarray, ids: np.ndarray, alone: np.ndarray | None = None) -> np.ndarray:
        """What contacts call an animated mesh: another number for each of its features.

        A vertex that is `alone` with one of them calls it by the same number, whichever it is: it keeps its name, and
        with it its force, as it slides over the mesh.
        """
        feature = ids & ((1 << BITS) - 1)
        feature = 1 + feature if alone is None else np.where(alone, 0, 1 + feature)
        return np.asarray(self._first_id + which + len(self.meshes) * feature)

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


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Rows of length one, or zero."""
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30))
