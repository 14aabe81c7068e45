"""What meets colliders that move through a step, rigid bodies, free or on a path: vertices, and triangles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..backends.cpu.arguments import Phase
from ..backends.cpu.executor import Plan
from .colliders import Collider, encode
from .contacts import ContactList, feature_ids
from .kernels import moving as kernels
from .kernels.distance import BLOCK
from .patches import Found, PatchSearch
from .thickness import as_thicknesses

# How stiff contacts with a body of mass M that gives way are: all n of them together κ M/h². Soft and rigid bodies are
# solved in turns, and the one must not hold fast what the other should move: a turn leaves w ÷ (w + S) times
# n w ÷ (n w + M/h²) of what is wrong, S what a vertex resists with, which is κ ÷ (κ + 1) at most, for light bodies and
# for heavy ones. And the forces that contacts remember grow with what they pull, step by step: a body that is held so
# swings up where κ is below one (the largest eigenvalue of a step is then above one; at three it is 0.78).
KAPPA = 3.0
USUAL, MOST = 300.0, 3000.0  # m/h²: what contacts with walls have, and the most that those with bodies have
LOOKS = 4  # at triangles that are pushed out of bodies
ROOM = 2 * BLOCK  # contacts of a block of vertices, at first


@dataclass(eq=False)
class Poses:
    """Where colliders are: `turns` (k, 3, 3) and `shifts` (k, 3) lead from the world to where each was made."""

    turns: np.ndarray
    shifts: np.ndarray

    def rows(self) -> np.ndarray:
        """As the kernel reads them, (12 k,)."""
        return np.concatenate([self.turns.reshape(-1, 9), self.shifts], axis=1).ravel()


@dataclass(eq=False)
class Pushes:
    """Vertices that were inside colliders, which these were, their normals (c, 3), and by how much they were moved."""

    vertices: np.ndarray
    colliders: np.ndarray
    normals: np.ndarray
    ways: np.ndarray

    @classmethod
    def none(cls) -> Pushes:
        """No pushes."""
        return Pushes(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros((0, 3)), np.zeros((0, 3)))

    def selected(self, which: np.ndarray) -> Pushes:
        """Some of them."""
        return Pushes(self.vertices[which], self.colliders[which], self.normals[which], self.ways[which])

    def joined(self, other: Pushes) -> Pushes:
        """These and others."""
        names = ("vertices", "colliders", "normals", "ways")
        return Pushes(*(np.concatenate([getattr(self, name), getattr(other, name)]) for name in names))


class MovingSearch:
    """The search for contacts with colliders that move.

    Args:
        colliders: where they were made.
        friction: (k, 2) static and kinetic coefficients.
        thickness: distance to keep, in m; or (n,) that of each vertex.
        first_id: the number of the first of them among all that is touched.
        masses: (k,) in kg, infinite for those that contacts cannot move.
        vertex_masses: (n,) in kg.
        apart: ids of contacts that there are not: of vertices with the bodies that they are attached to.
        triangles: (t, 3) of the mesh, which meet colliders between their vertices.

    Attributes:
        patches: what triangles met in the last search, followed as its contacts are.
    """

    def __init__(
        self,
        colliders: Sequence[Collider],
        friction: np.ndarray,
        thickness: float | np.ndarray,
        first_id: int,
        masses: np.ndarray,
        vertex_masses: np.ndarray,
        apart: np.ndarray | None = None,
        triangles: np.ndarray | None = None,
    ):
        self._apart = np.zeros(0, np.int64) if apart is None else apart
        self._thicknesses, self._first_id = as_thicknesses(thickness), first_id
        self._masses, self._vertex_masses = masses, vertex_masses
        self._friction = np.asarray(friction, np.float32).reshape(-1, 2)
        self._sizes, self._shape, rest, self._samples = encode(colliders)
        # Planes have no end; a pose does not change that.
        self._low, self._high = rest[:, :3], rest[:, 3:]
        self._room = ROOM
        surface = np.zeros((0, 3), np.int32) if triangles is None else triangles
        encoded = self._sizes, self._shape, rest, self._samples
        self._patches = PatchSearch(surface, colliders, encoded, self._thicknesses, first_id, self._apart)
        self.patches = ContactList.none(4)
        self.place(Poses(np.tile(np.eye(3), (len(colliders), 1, 1)), np.zeros((len(colliders), 3))))

    def place(self, before: Poses, after: Poses | None = None) -> None:
        """Where the colliders are when the step begins, and where they will be when it ends."""
        self._before, self._after = before, before if after is None else after
        low, high = _boxes(self._low, self._high, self._before)
        if after is not None:
            low_after, high_after = _boxes(self._low, self._high, after)
            low, high = np.minimum(low, low_after), np.maximum(high, high_after)
        self._bounds = np.concatenate([low, high], axis=1)

    def find(self, q: np.ndarray, s: np.ndarray, threads: int) -> ContactList:
        """The contacts of vertices that go from q to s, (n, 4) float32, while colliders go where `place` said.

        Those of triangles are `patches` from then on.
        """
        found, self._places = self._search(q, s, threads)
        self._which = found.second - self._first_id
        self._met = met = self._meet(q, s, threads)
        self.patches = met.listed(self._friction)
        count = len(self._masses)
        contacts = np.bincount(self._which, minlength=count) + np.bincount(met.which, minlength=count)
        each = self._masses / np.maximum(contacts, 1)
        found.share = _shares(each[self._which], self._vertex_masses[found.vertices[:, 0]])
        masses = np.einsum("ck,ck->c", met.weights, self._vertex_masses[met.vertices])
        self.patches.share = _shares(each[met.which], masses)
        return self.follow(found, self._after)

    def _meet(self, q: np.ndarray, s: np.ndarray, threads: int) -> Found:
        """What triangles meet."""
        first, last = self._before.rows(), self._after.rows()
        return self._patches.find(q, s, first, last, self._bounds, threads)

    def follow(self, found: ContactList, after: Poses) -> ContactList:
        """The contacts of the last search with colliders that end the step elsewhere."""
        self._after = after
        if len(self.patches):
            self.patches = self._carried(self.patches, self._met.places, self._met.which)
        return self._carried(found, self._places, self._which)

    def _carried(self, found: ContactList, places: np.ndarray, which: np.ndarray) -> ContactList:
        """Contacts with the planes and motions that colliders have in the last pose."""
        turns, shifts = self._after.turns[which], self._after.shifts[which]
        normals = places[:, :3]
        planes = np.empty((len(found), 4), np.float32)
        planes[:, :3] = np.einsum("cji,cj->ci", turns, normals)
        planes[:, 3] = places[:, 3] - np.einsum("ci,ci->c", normals, shifts)
        carried = np.einsum("cji,cj->ci", turns, places[:, 4:] - shifts)
        before = self._before
        began = np.einsum("cji,cj->ci", before.turns[which], places[:, 4:] - before.shifts[which])
        motion = (carried - began).astype(np.float32)
        return ContactList(found.vertices, found.coefficients, planes, found.friction, found.ids, motion, found.share)

    def keep_out(
        self, q: np.ndarray, x: np.ndarray, held: np.ndarray, recovery: float | np.ndarray, threads: int
    ) -> Pushes:
        """Push what would end inside a collider back to where it met it; what was pushed how far.

        What was inside already when the step began gets out by `recovery` (m) at most, one for all or (n,). First
        vertices, then triangles; if some of these have moved, their vertices again.
        """
        pushes = self._keep_vertices_out(q, x, held, recovery, threads)
        more = self._keep_triangles_out(q, x, held, recovery, threads)
        if not len(more.vertices):
            return pushes
        again = self._keep_vertices_out(q, x, held, recovery, threads, only=np.unique(more.vertices))
        return pushes.joined(more).joined(again)

    def _keep_triangles_out(
        self, q: np.ndarray, x: np.ndarray, held: np.ndarray, recovery: float | np.ndarray, threads: int
    ) -> Pushes:
        inverse, pushes = np.where(held, 0.0, 1.0 / self._vertex_masses), Pushes.none()
        first = found = self._meet(q, x, threads)
        recovering = np.minimum(first.over + _recovery(recovery, first), 0.0)  # and no further than to the surface
        for _ in range(LOOKS if len(first) else 0):
            n, gaps = self._limits(found.places, found.which, np.inf)
            moved, ways = self._patches.push(
                found, n, gaps + np.minimum(recovering, -self._patches.near_of(found)), x, inverse
            )
            if not len(moved):
                break
            corners, which = found.vertices[moved].ravel(), np.repeat(found.which[moved], 3)
            pushes = pushes.joined(Pushes(corners, which, np.repeat(n[moved], 3, axis=0), ways.reshape(-1, 3)))
            # Triangles turn and slide as they are pushed: look again at where everything has come to. What is deep now
            # and was not met on the way has been pushed there, and what has been pierced may be at either side: they
            # are moved by a little.
            last = self._after.rows()
            found = self._patches.find(x, x, last, last, self._bounds, threads, only=corners)
            before, over = found.least_over(first), found.over
            sure = np.isfinite(before) & ~self._patches.pierced(found)
            slowly = before + _recovery(recovery, found)
            recovering = np.minimum(np.where(sure, slowly, over + self._patches.near_of(found)), 0.0)
        return pushes

    def _limits(
        self, places: np.ndarray, which: np.ndarray, recovery: float | np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Normals (c, 3) and gaps (c,) in the last pose; gaps that were violated already recover by so much."""
        turns, shifts = self._after.turns[which], self._after.shifts[which]
        n: np.ndarray = np.einsum("cji,cj->ci", turns, places[:, :3])
        offset = np.einsum("ci,ci->c", places[:, :3], shifts)
        gaps = np.minimum(places[:, 3], np.einsum("ci,ci->c", places[:, :3], places[:, 4:]) + recovery) - offset
        return n, gaps

    def _keep_vertices_out(
        self,
        q: np.ndarray,
        x: np.ndarray,
        held: np.ndarray,
        recovery: float | np.ndarray,
        threads: int,
        only: np.ndarray | None = None,
    ) -> Pushes:
        listed, places = self._search(q, x, threads, only)
        which = listed.second - self._first_id
        vertices, pushed, ways = listed.vertices[:, 0], [], []
        slowly = recovery[vertices] if isinstance(recovery, np.ndarray) else recovery
        n, gaps = self._limits(places, which, slowly)
        depths = gaps - np.einsum("ci,ci->c", n, x[vertices, :3])
        for c in np.flatnonzero((depths > 0) & ~held[vertices]):  # few, and a vertex may have two
            depth = gaps[c] - n[c] @ x[vertices[c], :3]
            if depth > 0:
                x[vertices[c], :3] += depth * n[c]
                pushed.append(c)
                ways.append(depth * n[c])
        return Pushes(vertices[pushed], which[pushed], n[pushed], np.array(ways).reshape(-1, 3))

    def _search(
        self, q: np.ndarray, s: np.ndarray, threads: int, only: np.ndarray | None = None
    ) -> tuple[ContactList, np.ndarray]:
        """Contacts without planes, sorted, and what the kernel tells of them: normal, offset, first place.

        `only`: vertices (m,) that are looked at.
        """
        each = self._thicknesses
        if only is not None:
            q, s = np.ascontiguousarray(q[only]), np.ascontiguousarray(s[only])
            each = each if len(each) == 1 else each[only]
        blocks = -(-len(q) // BLOCK)
        while True:
            cells = blocks * self._room
            places, counts = np.empty(kernels.PLACE * cells), np.zeros(blocks, np.int64)
            vertex, which = np.empty(cells, np.int32), np.empty(cells, np.int32)
            arrays = {
                "sizes": self._sizes, "shape": self._shape, "grid": self._samples, "bounds": self._bounds,
                "first": self._before.rows(), "last": self._after.rows(), "thicknesses": each,
                "q": q, "s": s, "places": places, "vertex": vertex, "collider": which, "counts": counts,
            }  # fmt: skip
            Plan([Phase(kernels.search_moving, arrays, 0, len(q), grain=BLOCK)], threads).run()
            if counts.max(initial=0) <= self._room:
                break
            self._room = 2 * int(counts.max())
        used = np.flatnonzero(np.arange(self._room) < counts[:, None])
        vertex = vertex if only is None else _looked_up(only, vertex, used)
        ids = feature_ids(vertex[used], which[used] + self._first_id)
        if len(self._apart):
            touching = ~np.isin(ids, self._apart)
            used, ids = used[touching], ids[touching]
        order = np.argsort(ids, kind="stable")
        used = used[order]
        vertices, friction = vertex[used][:, None], self._friction[which[used]]
        none = np.zeros((len(used), 4), np.float32)
        listed = ContactList(vertices, np.ones((len(used), 1), np.float32), none, friction, ids[order])
        return listed, places.reshape(-1, kernels.PLACE)[used]


def _recovery(recovery: float | np.ndarray, found: Found) -> float | np.ndarray:
    """By how much triangles may get out in a step: as the slowest of their corners."""
    return recovery[found.vertices].min(axis=1) if isinstance(recovery, np.ndarray) else recovery


def _looked_up(numbers: np.ndarray, vertex: np.ndarray, used: np.ndarray) -> np.ndarray:
    """`vertex` with the numbers that some of its entries stand for."""
    out = vertex.copy()
    out[used] = numbers[vertex[used]]
    return out


def _shares(masses: np.ndarray, touched: np.ndarray) -> np.ndarray:
    """(c,) of the stiffness that contacts with walls have, for bodies that have so much mass for each contact."""
    wanted = KAPPA * masses / touched  # m/h²
    return np.where(~np.isfinite(wanted), 1.0, np.minimum(wanted, MOST) / USUAL).astype(np.float32)


def _boxes(low: np.ndarray, high: np.ndarray, poses: Poses) -> tuple[np.ndarray, np.ndarray]:
    """Boxes around what was in other boxes before it was moved; infinite ones stay so."""
    with np.errstate(invalid="ignore"):
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
    endless = ~np.isfinite(low).all(axis=1)
    middle[endless], half[endless] = 0.0, 0.0
    centre = np.einsum("kji,kj->ki", poses.turns, middle - poses.shifts)
    reach = np.einsum("kji,kj->ki", np.abs(poses.turns), half)
    reach[endless] = np.inf
    return centre - reach, centre + reach
