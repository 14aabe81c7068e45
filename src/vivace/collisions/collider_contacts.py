"""Which vertices meet which colliders on their way through a step, and the planes they must stay before."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any

import numpy as np

from ..backends.cpu.arguments import Phase
from ..backends.cpu.executor import Plan, check_threads
from ..checks import as_list, shown
from ..errors import InputError
from .colliders import Collider, check_points, encode
from .contacts import ContactList, feature_ids
from .kernels import distance as kernels
from .settings import as_friction
from .thickness import as_thicknesses, thickness_at

FLOAT32 = 1e-3  # of the thickness: how deep rounding may leave a vertex


class ColliderSearch:
    """The search for contacts with colliders that do not move.

    A vertex that comes closer to a collider than the thickness, anywhere on the straight way from q to s, gets the
    tangent plane there: continuous detection, so no box is too thin. One that starts closer than that gets the plane at
    its start, which it has not crossed yet; one that starts deeper than the thickness has lost its side, and gets the
    nearest face at its end. One that comes close without touching gets a plane too, because the solver may lead it
    elsewhere than to s: "close" is twice the thickness, or the thickness and half the way if that is more.

    Args:
        colliders: any number of them.
        thickness: distance to keep, in m, positive; or (n,) that of each vertex.
        friction: for colliders that have none of their own: a coefficient or (static, kinetic).
    """

    def __init__(
        self, colliders: Iterable[Collider], thickness: float | np.ndarray = 0.004, friction: Any = (0.4, 0.3)
    ):
        if isinstance(colliders, Collider):
            raise InputError("colliders must be a list; write [collider] for a single one")
        self.colliders = tuple(as_list("colliders", colliders))
        self.thicknesses = as_thicknesses(thickness)
        self.thickness = float(self.thicknesses.max())
        self.friction = as_friction(friction)
        self._sizes, self._shape, self._bounds, self._samples = encode(self.colliders)
        pairs = [self.friction if c.friction is None else c.friction for c in self.colliders]
        self._friction = np.array(pairs, np.float32).reshape(-1, 2)
        self._search: tuple[tuple[object, ...], Plan] | None = None  # what the last plan was made for, and the plan
        self._room: tuple[np.ndarray, ...] = ()
        self._checking: ColliderSearch | None = None  # the same for `keep_out`, whose arrays are other ones

    def find(
        self, q: np.ndarray, s: np.ndarray, threads: int | None = None, some: np.ndarray | None = None
    ) -> ContactList:
        """Return the contacts of vertices that go from q to s, the same for any number of threads.

        Args:
            q: (n, 4) float32 rows, in m: positions at the start of the step. A vertex whose positions are not finite
                has no contacts.
            s: predicted positions, likewise.
            threads: None for one a core.
            some: (n,) which vertices these are, where each has a thickness of its own; None: all.
        """
        threads = check_threads(threads)
        for name, array in (("q", q), ("s", s)):
            if not isinstance(array, np.ndarray) or array.dtype != np.float32 or array.shape[1:] != (4,):
                raise InputError(f"{name} must be an (n, 4) float32 array")
            if not array.flags.c_contiguous:
                raise InputError(f"{name} must be C-contiguous; pass numpy.ascontiguousarray({name})")
        if q.shape != s.shape:
            raise InputError(f"q and s must have the same shape, not {q.shape} and {s.shape}")
        if not self.colliders or not len(q):
            return ContactList.none(1)
        each = self.thicknesses if some is None or len(self.thicknesses) == 1 else self.thicknesses[some]
        if len(each) not in (1, len(q)):
            raise InputError(f"there are {len(each)} thicknesses for {len(q)} vertices; say which these are")
        self._searching(q, s, each, threads).run()
        planes, vertex, collider, counts = self._room
        starts = np.concatenate([[0], np.cumsum(counts)])
        c = int(starts[-1])
        vertices, which = np.empty(c, np.int32), np.empty(c, np.int32)
        found_planes, friction = np.empty((c, 4), np.float32), np.empty((c, 2), np.float32)
        if c:
            arrays = {
                "planes": planes,
                "vertex": vertex,
                "collider": collider,
                "starts": starts,
                "friction": self._friction,
                "to_planes": found_planes,
                "to_vertex": vertices,
                "to_collider": which,
                "to_friction": friction,
            }
            Plan([Phase(kernels.gather, arrays, 0, len(q), grain=kernels.BLOCK)], threads).run()
        ones = np.ones((c, 1), np.float32)
        return ContactList(vertices[:, None], ones, found_planes, friction, feature_ids(vertices, which))

    def keep_out(
        self,
        q: np.ndarray,
        x: np.ndarray,
        held: np.ndarray,
        recovery: float | np.ndarray,
        among: np.ndarray | None = None,
    ) -> int:
        """Push vertices that would end inside a collider, after a way from q to x, back to where they met it.

        For what a solver has led elsewhere than it was expected to go. One that was inside at q already gets out by
        `recovery` (m) at most, one for all or (n,). Returns how many were moved. `held`: those that are left alone.
        `among`: which vertices these are, where each has a thickness of its own; None: all.
        """
        some = kernels.may_enter(self._sizes, self._shape, self._bounds, q, x, held)
        named = some if among is None else among[some]
        danger = self._in_danger(q[some, :3], x[some, :3], thickness_at(self.thicknesses, named))
        some, named = some[danger], named[danger]
        if not len(some):
            return 0
        if self._checking is None:
            self._checking = copy(self)
            self._checking._search, self._checking._room = None, ()
        found = self._checking.find(q[some], x[some], 1, named)
        least, moved = np.broadcast_to(np.asarray(recovery, np.float32), len(q)), np.zeros(len(some), bool)
        for collider in range(len(self.colliders)):
            mine = found.second == collider
            which, n = found.vertices[mine, 0], found.planes[mine, :3]
            where = some[which]
            gap = np.minimum(found.planes[mine, 3], np.einsum("cx,cx->c", n, q[where, :3]) + least[where])
            depth = gap - np.einsum("cx,cx->c", n, x[where, :3])
            deep = depth > 0
            x[where[deep], :3] += depth[deep, None] * n[deep]
            moved[which[deep]] = True
        self._send_back(q, x, some[moved], named[moved])
        return int(np.count_nonzero(moved))

    def entered(self, q: np.ndarray, x: np.ndarray, some: np.ndarray | None = None) -> np.ndarray:
        """Which vertices, (n,) bool, are deeper inside a collider at x than they were at q; `some`: which these are."""
        now, before = (penetration(self.colliders, a[:, :3].astype(np.float64)) for a in (x, q))
        thickness = thickness_at(self.thicknesses, slice(None) if some is None else some)
        deeper: np.ndarray = now > np.maximum(before, FLOAT32 * thickness)
        return deeper

    def _send_back(self, q: np.ndarray, x: np.ndarray, some: np.ndarray, named: np.ndarray) -> None:
        """Who is pushed out of one collider into another, where they meet, stays where it was."""
        worse = some[self.entered(q[some], x[some], named)]
        x[worse] = q[worse]

    def _in_danger(self, q: np.ndarray, x: np.ndarray, thickness: float | np.ndarray) -> np.ndarray:
        """Which (m, 3) end close to a surface or below it, or have come a way on which they may have passed through."""
        danger: np.ndarray = np.einsum("nx,nx->n", x - q, x - q) > thickness**2
        for collider in self.colliders if len(x) else ():
            danger |= collider.distance(x.astype(np.float64)) < 0.5 * thickness
        return danger

    def __reduce__(self) -> tuple[Any, ...]:
        """A plan holds addresses: a copy makes its own."""
        return ColliderSearch, (
            self.colliders,
            self.thicknesses,
            self.friction,
        )

    def _searching(self, q: np.ndarray, s: np.ndarray, each: np.ndarray, threads: int) -> Plan:
        """Return the plan for these arrays: the last one, if it was for the same."""
        key = (q.ctypes.data, s.ctypes.data, len(q), threads, each.ctypes.data)
        if self._search is None or self._search[0] != key:
            cells, blocks = len(q) * len(self.colliders), -(-len(q) // kernels.BLOCK)
            if self._search is None or self._search[0][2] != len(q):
                kinds = ((cells, 4), np.float32), ((cells,), np.int32), ((cells,), np.int32), ((blocks,), np.int64)
                self._room = tuple(np.empty(shape, kind) for shape, kind in kinds)
            planes, vertex, collider, counts = self._room
            arrays = {
                "sizes": self._sizes,
                "shape": self._shape,
                "grid": self._samples,
                "bounds": self._bounds,
                "thicknesses": each,
                "q": q,
                "s": s,
                "planes": planes,
                "vertex": vertex,
                "collider": collider,
                "counts": counts,
            }
            phase = Phase(kernels.search, arrays, 0, len(q), grain=kernels.BLOCK)
            self._search = key, Plan([phase], threads)
        return self._search[1]


def penetration(colliders: Iterable[Collider], points: Any) -> np.ndarray:
    """Return how deep (m, 3) points lie inside the colliders, in m: the deepest for each, 0 outside all of them."""
    points = check_points(points)
    deepest = np.zeros(len(points))
    for collider in as_list("colliders", colliders):
        if not isinstance(collider, Collider):
            raise InputError(f"colliders must be Plane, Sphere, Box, Capsule or Sampled, not {shown(collider)}")
        np.maximum(deepest, -collider.distance(points), out=deepest)
    return deepest
