"""Contacts in the layout of projective dynamics: right-hand sides that are computed with the projections.

Contacts come and go, and phases hold addresses; so there is room for a number of contacts, and what is not used is
skipped. Only those that the first guess violates take part: the others would hold their vertices back for nothing.
"""

from __future__ import annotations

import numpy as np

from ..collisions.contacts import Contacts, WallContacts
from ..kernels.assemble import list_corners
from ..kernels.contact import begin_contacts, begin_walls, keep_out, pull_contacts, pull_walls
from ..kernels.local import gather
from ..kernels.team import Job, Phase


class ContactStage:
    """base = before + what contacts add. `rank`: where each vertex of the mesh stands in the layout.

    `room`: contacts that fit; `full` is set when there were more, and the layout has to be made anew with more room.
    """

    def __init__(self, rank: np.ndarray, q: np.ndarray, before: np.ndarray, base: np.ndarray, room: int, threads: int):
        self.rank, self.room, self.threads, self._q = rank, room, threads, q
        self.touched = self.full = False
        self._near: tuple[np.ndarray, np.ndarray] = np.zeros(0, np.int32), np.zeros((0, 4), np.float32)
        n, corners = len(rank), 5 * room
        self._slot_at, self._slots = np.zeros(n + 1, np.int32), np.zeros((corners, 4), np.float32)
        self._pairs, self._walls = self._arrays(4), self._arrays(1)
        tables = [(*arrays[:7], q, self._slots, arrays[7]) for arrays in (self._pairs, self._walls)]
        self.phases = [
            Phase(pull_contacts, tables[0], 0, room),
            Phase(pull_walls, tables[1], 0, room),
            Phase(gather, (self._slot_at, self._slots, before, base), 0, n),
        ]

    def _arrays(self, corners: int) -> tuple[np.ndarray, ...]:
        room, size = self.room, corners * self.room
        rows = (np.zeros((room, 4), np.float32) for _ in range(2))
        friction, weights = np.zeros(2 * room, np.float32), np.zeros(room, np.float32)
        slots, count = np.zeros(size, np.int32), np.zeros(1, np.int64)
        return (np.zeros(size, np.int32), np.zeros(size, np.float32), *rows, friction, weights, slots, count)

    def load(
        self, contacts: Contacts, previous: np.ndarray, start: np.ndarray, diagonal: np.ndarray, stiffness: float | None
    ) -> np.ndarray | None:
        """Take the contacts of a step; returns what they add to the diagonal (n,), None if nothing has changed.

        `diagonal`: of Y without contacts, in the order of the mesh. By default a contact is as stiff as the vertices it
        moves: stiffer, and vertices that slide would be held back by the projections' lag; softer, and they sink in.
        """
        parts = [self._active(contacts.pairs, start, True), self._active(contacts.walls, start, False)]
        self._near = self.rank[contacts.walls.vertices], self._lowered(contacts.walls, previous, contacts.recovery)
        if not self.touched and not any(len(part[0]) for part in parts):
            return None
        self.full = any(len(part[0]) > self.room for part in parts)
        self.touched = any(len(part[0]) > 0 for part in parts)
        recovery, added, corners = np.array([contacts.recovery], np.float32), np.zeros(len(self.rank)), []
        for arrays, (vertices, a, planes, friction), kernel in zip(
            (self._pairs, self._walls), parts, (begin_contacts, begin_walls), strict=True
        ):
            count = min(len(vertices), self.room)
            vertices, a = vertices[:count], a[:count]
            share = np.abs(a) / np.abs(a).sum(axis=1, keepdims=True)
            weights = (share * diagonal[vertices]).sum(axis=1) if stiffness is None else np.full(count, stiffness)
            arrays[7][0] = count
            arrays[0][: vertices.size], arrays[1][: a.size] = self.rank[vertices].ravel(), a.ravel()
            arrays[2][:count], arrays[4][: 2 * count], arrays[5][:count] = (
                planes[:count],
                friction[:count].ravel(),
                weights,
            )
            if count:
                flat = np.ascontiguousarray(vertices.ravel())
                table = (flat, arrays[1], arrays[2], arrays[3], arrays[4], arrays[4], previous, recovery)
                Job([Phase(kernel, table, 0, count)], self.threads).run()
            majorant = weights[:, None] * np.abs(a) * np.abs(a).sum(axis=1, keepdims=True)
            added += np.bincount(vertices.ravel(), majorant.ravel(), minlength=len(added))
            corners.append(self.rank[vertices].ravel())
        starts, _, places = list_corners(np.concatenate(corners).astype(np.int32), len(self.rank))
        self._slot_at[:] = starts
        self._pairs[6][: len(corners[0])] = places[: len(corners[0])]
        self._walls[6][: len(corners[1])] = places[len(corners[0]) :]
        return added

    def keep_out(self) -> list[Phase]:
        """After the last sweep: nothing ends behind a wall, however few there were [fratarcangeli2018, section 2.3].

        Walls that the first guess stayed before are no exception: neighbours may have pulled a vertex into them.
        """
        count = np.array([len(self._near[0])], np.int64)
        return [Phase(keep_out, (*self._near, self._q, count), 0, int(count[0]), serial=True)] if count[0] else []

    @staticmethod
    def _lowered(walls: WallContacts, previous: np.ndarray, recovery: float) -> np.ndarray:
        """All planes (c, 4), as `begin_walls` makes them: those that are violated already recover step by step."""
        planes = walls.planes.copy()
        there = np.einsum("cx,cx->c", planes[:, :3], previous[walls.vertices, :3])
        planes[:, 3] = np.minimum(planes[:, 3], there + np.float32(recovery))
        return planes

    @staticmethod
    def _active(listed, start: np.ndarray, pairs: bool) -> tuple[np.ndarray, ...]:
        """Contacts that `start` violates: vertices (c, k), coefficients (c, k), planes, friction."""
        vertices = listed.vertices if pairs else listed.vertices[:, None]
        a = listed.coefficients if pairs else np.ones((len(listed), 1), np.float32)
        z = np.einsum("ck,ckx->cx", a, start[vertices, :3])
        some = np.einsum("cx,cx->c", z, listed.planes[:, :3]) < listed.planes[:, 3]
        return vertices[some], a[some], listed.planes[some], listed.friction[some]
