"""Triangles that rigid bodies touch between their vertices, in the layout of projective dynamics.

They are the last of a stage's contacts over four vertices (`contacts`). Unlike contacts between surfaces, and like
those with walls, they have the stiffness that their body can bear, and remember their forces; the bodies are told of
them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...backends.cpu.arguments import Phase
from ...backends.cpu.executor import Plan
from ...collisions.contacts import ContactForces, ContactList
from ...collisions.kernels.triangles import push_triangles
from .kernels.contact import any_patch_behind, press_patches, remember_patches

PASSES = 10  # over triangles that are pushed out of bodies when a solve has ended


@dataclass(eq=False)
class Chosen:
    """Patches that take part in a step: their contacts, weights (c,) in N/m, and what they remember, (c, 4) in N."""

    listed: ContactList
    weights: np.ndarray
    held: np.ndarray


class Patches:
    """The patches of a stage.

    `pairs`: its table of contacts over four vertices. `remembers`: forces are kept from step to step.
    """

    def __init__(self, pairs: dict[str, np.ndarray], *, remembers: bool):
        self._pairs, self._remembers = pairs, remembers
        room = len(pairs["planes"])
        self._span = np.zeros(2, np.int64)  # which of the pairs they are
        self._places, self._forces = (np.zeros((room, 4), np.float32) for _ in range(2))
        self._keys = np.zeros(0, np.int64)
        self._near: tuple[np.ndarray, ...] = ()  # all that are close: vertices, weights, normals, gaps, ids
        self.pushed = no_forces()  # what it took to push them out of bodies when the last solve had ended

    def see(self, listed: ContactList, rank: np.ndarray, previous: np.ndarray, recovery: np.ndarray) -> None:
        """All that are close, for `keep_out`; gaps violated at `previous` already recover by so much (c,) (m)."""
        self.pushed, self._near = no_forces(), ()
        if len(listed):
            a, n = listed.coefficients[:, :3].astype(np.float64), listed.planes[:, :3].astype(np.float64)
            began = np.einsum("ck,ckx->cx", a, previous[listed.vertices[:, :3], :3]) + listed.motions
            gaps = np.minimum(listed.planes[:, 3], np.einsum("cx,cx->c", n, began) + recovery)
            self._near = rank[listed.vertices[:, :3]], a, n, gaps.astype(np.float64), listed.ids

    def keep_out(self, q: np.ndarray, inertia: np.ndarray, held: np.ndarray) -> None:
        """Push triangles out of bodies, but for vertices that are held; `pushed` are the forces that it took."""
        if not self._near:
            return
        vertices, a, n, gaps, ids = self._near
        ways, gives = np.zeros((len(a), 3, 3)), np.where(held, 0.0, 1.0 / inertia)
        push_triangles(vertices, a, n, gaps, gives, q, ways, PASSES)
        some = np.flatnonzero(ways.any(axis=(1, 2)))
        forces = np.einsum("ck,ckx->cx", inertia[vertices[some]], ways[some])
        points = np.einsum("ck,ckx->cx", a[some], q[vertices[some], :3])
        resisting = 1.0 / np.einsum("ck,ck->c", a[some] ** 2, gives[vertices[some]])
        self.pushed = ContactForces(ids[some], points, n[some], forces, forces, resisting, np.zeros(len(some)))

    def choose(
        self,
        listed: ContactList,
        start: np.ndarray,
        diagonal: np.ndarray,
        stiffness: float | None,
        held: tuple[np.ndarray, np.ndarray],
    ) -> Chosen:
        """Those that `start` violates, or that held something, with their forces in `held` (keys and forces).

        A body is carried by one patch, where it would be carried by several vertices. Once it has been pushed away, the
        first guess of the next turn does not touch it; if its force were forgotten then, turns would go to and fro.
        """
        a = listed.coefficients
        weights = np.einsum("ck,ck->c", a, diagonal[listed.vertices]) if stiffness is None else stiffness
        weights, forces = listed.shares * weights, np.zeros((len(listed), 4), np.float32)
        if len(listed) and len(held[0]):
            at = listed.places_in(held[0])
            forces[at >= 0] = held[1][at[at >= 0]]
        z = np.einsum("ck,ckx->cx", a, start[listed.vertices, :3])
        gaps = listed.planes[:, 3] + forces[:, 3] / weights
        some = np.flatnonzero((np.einsum("cx,cx->c", z, listed.planes[:, :3]) < gaps) | (forces[:, 3] > 0))
        return Chosen(listed.ordered(some), weights[some], forces[some])

    def settle(self, first: int, chosen: Chosen) -> None:
        """Take the pairs from `first` on, whose planes and places are those of the step, and raise them by forces."""
        last = first + len(chosen.weights)
        self._span[:], self._keys = (first, last), chosen.listed.ids
        planes, before = self._pairs["planes"][first:last], self._pairs["before"][first:last]
        places, n = self._places[first:last], planes[:, :3]
        places[:, :3], places[:, 3] = before[:, :3], planes[:, 3]
        if self._remembers:
            across = chosen.held[:, :3] - np.einsum("ci,ci->c", chosen.held[:, :3], n)[:, None] * n
            before[:, :3] += across / chosen.weights[:, None]
            planes[:, 3] += chosen.held[:, 3] / chosen.weights

    def press(self, r: np.ndarray, pressing: np.ndarray, deep: np.ndarray, q: np.ndarray) -> Phase:
        """Renew their forces, if they do not hold, and with them the residual r."""
        table = {**press_patches.select(self._pairs), "q": q, "patches": self._span, "places": self._places}
        return press_patches.over(0, len(self._places), serial=True, pressing=pressing, deep=deep, r=r, **table)

    def is_deep(self, q: np.ndarray, deep: float) -> bool:
        """Whether one of their points is behind its plane by more than so many metres."""
        pairs, (first, last) = self._pairs, self._span
        return bool(
            any_patch_behind(pairs["vertices"], pairs["a"], pairs["planes"], self._places, q, first, last, deep)
        )

    def remember(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What they hold with: keys, sorted, and forces (T, N)."""
        first, last = self._span.tolist()
        if not self._remembers or first == last:
            return self._keys[:0], self._forces[:0]
        table = remember_patches.select(self._pairs)
        Plan([remember_patches.over(first, last, q=q, forces=self._forces, **table)], 1).run()
        return self._keys, self._forces[first:last].copy()

    def held_with(self, q: np.ndarray) -> ContactForces:
        """Their forces, now."""
        pairs, (first, last) = self._pairs, self._span.tolist()
        corners = pairs["vertices"].reshape(-1, 4)[first:last]
        a = pairs["a"].reshape(-1, 4)[first:last].astype(np.float64)
        z = np.einsum("ck,ckx->cx", a, q[corners, :3].astype(np.float64))
        planes, before, weights = (pairs[name][first:last] for name in ("planes", "before", "weights"))
        friction = pairs["friction"].reshape(-1, 2)[first:last]
        return holding(self._keys.copy(), z, planes, before, weights, friction, self._places[first:last])


def no_forces() -> ContactForces:
    """Of no contacts."""
    vectors, numbers = np.zeros((0, 3)), np.zeros(0)
    return ContactForces(np.zeros(0, np.int64), vectors, vectors, vectors, vectors, numbers, numbers)


def holding(
    ids: np.ndarray,
    z: np.ndarray,
    planes: np.ndarray,
    before: np.ndarray,
    weights: np.ndarray,
    friction: np.ndarray,
    places: np.ndarray,
) -> ContactForces:
    """The forces of contacts whose points are at z (c, 3), now."""
    n, gap = planes[:, :3].astype(np.float64), planes[:, 3]
    w = weights.astype(np.float64)
    depth = np.maximum(gap - np.einsum("ci,ci->c", n, z), 0.0)
    u = z - before[:, :3]
    u -= np.einsum("ci,ci->c", n, u)[:, None] * n
    size = np.linalg.norm(u, axis=1)
    holds = size <= friction[:, 0] * depth
    grip = np.where(holds, 1.0, friction[:, 1] * depth / np.maximum(size, 1e-30))
    active = depth > 0
    forces = w[:, None] * (depth[:, None] * n - grip[:, None] * u) * active[:, None]
    places = places.astype(np.float64)
    slip = z - places[:, :3]
    slip -= np.einsum("ci,ci->c", n, slip)[:, None] * n
    more = np.maximum(depth + places[:, 3] - np.einsum("ci,ci->c", n, z), 0.0)  # along the normal, in m
    across = grip[:, None] * u + np.where(holds, 1.0, 0.0)[:, None] * slip
    size, most = np.linalg.norm(across, axis=1), friction[:, 1] * more
    across *= np.minimum(1.0, most / np.maximum(size, 1e-30))[:, None]
    renewed = w[:, None] * (more[:, None] * n - across) * active[:, None]
    return ContactForces(ids, z, n, forces, renewed, w * active, grip)
