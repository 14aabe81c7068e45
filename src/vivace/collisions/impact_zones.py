"""Nothing passes through anything: the check after a solver, and what is done about what it finds.

A solver that stops in time may leave contacts violated. Where surfaces would pass through each other on the straight
way of a step, their vertices are moved apart, contact by contact, and the way is checked again, since that may push
them through something else [bridson2002, section 7.4]. Mostly that settles it. If not, all that would still cross
becomes an impact zone, which finishes the step with one common displacement [provot1997; bridson2002, section 7.5; here
without its rotation]: inside it nothing moves relative to anything else, so nothing crosses there, and zones grow until
nothing crosses anywhere. What did not cross when the step began does not when it ends.

Vertices of animated meshes (see `driven`) are held, and move. A zone with some of them goes with them, by the affine
map that is nearest to their motion: where they turn or are stretched as one, what is in the zone turns with them.
Should all of that fail, soft bodies go the way that the animated ones around them go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from ..mesh import Mesh
from .contacts import ContactList, Contacts
from .kernels.impact_zones import (
    calm,
    common_displacements,
    displace,
    least_separations,
    part,
    violated,
)
from .surfaces import SurfaceContacts, Surfaces
from .thickness import as_thicknesses, least_of_pairs

if TYPE_CHECKING:
    from .driven import Driven, Sides

SHARE = 0.25  # of the thickness: pairs that get nearer than this are looked at
TOUCH = 1 / 16  # of that: nearer, they are taken to be on their way through each other (kernels.proximity.TOUCH)
PARTINGS, PASSES = 12, 30  # rounds in which vertices are moved apart, and passes over their contacts in each
PATIENCE = 36  # rounds after which zones grow by their neighbours too
ROUNDS = 80  # then everything stays where it was
AROUND = 24  # vertices of animated meshes that a soft one goes with, if everything else has failed


class Guard:
    """Checks the way of a whole step, and keeps apart what would cross on it."""

    def __init__(
        self,
        mesh: Mesh | Driven,
        thickness: float | np.ndarray,
        masses: np.ndarray,
        sides: Sides | None = None,
        bodies: np.ndarray | None = None,
    ):
        """Look at the triangles of `mesh`; `sides`: which of their pairs count, `bodies`: as for `Surfaces`."""
        self._masses, self._sides = masses, sides
        self._driven = np.zeros(len(masses), bool) if sides is None else ~sides.own
        driven = self._driven
        self._near = SHARE * as_thicknesses(thickness, len(masses))
        alike = None if sides is None else sides.alike
        self._surfaces = Surfaces(
            mesh.vertices, mesh.triangles, self._near, bodies, margin=0.0, every=True, passive=driven, alike=alike
        )

    def keep_apart(self, q: np.ndarray, x: np.ndarray, contacts: Contacts, held: np.ndarray, threads: int) -> int:
        """Change x, (n, 4) float32, where the way from q to it would lead through a surface; how many vertices.

        `held`: (n,) bool, vertices that are where somebody holds them, and stay there.
        """
        if not np.isfinite(x).all():
            return 0
        changed = np.zeros(len(x), bool)
        zone = np.full(len(x), -1, np.int32)
        moved = ~self._driven if self._driven.any() else None
        parting = _Parting(self._masses, held)
        zones = _Zones(self._masses, held, self._surfaces.edges, self._driven)
        for k in range(ROUNDS):
            found = self._surfaces.find(q, x, threads, only=moved)
            least = self._least(found)
            bad = violated(found.vertices, found.coefficients, found.planes, q, x, zone, least)
            counts = None if self._sides is None else self._sides.counting(found.vertices)
            bad = bad if counts is None else bad & counts
            if not bad.any():
                return int(np.count_nonzero(changed))
            if k < PARTINGS:
                moved = parting.apply(found, bad, q, x, contacts.colliders, least)
            else:
                moved = zones.apply(found, bad, q, x, contacts.colliders, zone, ring=k >= PATIENCE)
            changed |= moved  # nothing else has changed since the last look
            moved = moved & ~self._driven
        self._give_up(q, x, held)
        return len(x)

    def _least(self, found: SurfaceContacts) -> np.ndarray:
        """(c,) how near pairs are taken to be on their way through each other; passive sides do not count."""
        return TOUCH * least_of_pairs(self._near, found.vertices, found.vertex_triangle, self._driven)

    def _give_up(self, q: np.ndarray, x: np.ndarray, held: np.ndarray) -> None:
        """Everything stays where it was; or, as seen from the animated meshes around it, nearly so."""
        free, driven = ~held, np.flatnonzero(self._driven)
        if not len(driven):
            x[free] = q[free]
            return
        near, at = q[driven, :3].astype(np.float64), q[free, :3].astype(np.float64)
        apart, which = cKDTree(near).query(at, k=min(AROUND, len(driven)))
        apart, which = apart.reshape(len(at), -1), which.reshape(len(at), -1)
        weights = 1.0 / np.maximum(apart, 1e-9) ** 4
        ways = (x[driven, :3].astype(np.float64) - near)[which]
        x[free, :3] = at + affine(near[which], ways, weights, at)


def affine(points: np.ndarray, ways: np.ndarray, weights: np.ndarray, at: np.ndarray) -> np.ndarray:
    """(m, 3) how far `at` (m, 3) are carried by the affine maps nearest to what points (m, k, 3) do, by weight (m, k).

    Where the points lie in a plane or on a line, nothing turns out of it.
    """
    share = weights / weights.sum(axis=1, keepdims=True)
    middle, mean = (np.einsum("mk,mkx->mx", share, a) for a in (points, ways))
    arms = points - middle[:, None]
    spread = np.einsum("mk,mkx,mky->mxy", share, arms, arms)
    size = np.trace(spread, axis1=1, axis2=2)
    spread += (1e-9 * size + 1e-30)[:, None, None] * np.eye(3)
    moved = np.einsum("mk,mkx,mky->mxy", share, ways - mean[:, None], arms)
    lever = np.linalg.solve(spread, (at - middle)[:, :, None])[:, :, 0]
    return np.asarray(mean + np.einsum("mxy,my->mx", moved, lever))


class _Parting:
    """Moves what would cross apart; contacts of earlier rounds stay in force."""

    def __init__(self, masses: np.ndarray, held: np.ndarray):
        self._inverse = np.where(held, 0.0, 1.0 / masses)
        self._lists: list[tuple[np.ndarray, ...]] = []

    def apply(
        self,
        found: ContactList,
        bad: np.ndarray,
        q: np.ndarray,
        x: np.ndarray,
        colliders: ContactList,
        least: np.ndarray,
    ) -> np.ndarray:
        """Change x; which vertices have to be looked at again."""
        new = (found.vertices[bad], found.coefficients[bad], found.planes[bad])
        targets = least_separations(*new, q, least[bad])
        self._lists.append((*new, targets))
        before = x.copy()
        calm(*new, targets, self._inverse, q, x)
        vertices, coefficients, planes, targets = (np.concatenate(parts) for parts in zip(*self._lists, strict=True))
        part(
            *(vertices, coefficients, planes, targets), self._inverse, q, x, colliders.corners, colliders.planes, PASSES
        )
        look_again: np.ndarray = (x != before).any(axis=1)
        look_again[new[0].ravel()] = True  # also at what could not be moved
        return look_again


class _Zones:
    """Lets what would still cross finish the step with one common displacement; zones only grow."""

    def __init__(self, masses: np.ndarray, held: np.ndarray, edges: np.ndarray, driven: np.ndarray):
        self._masses, self._held, self._edges, self._driven = masses, held, edges, driven
        self._links: list[np.ndarray] = []
        self._wanted: np.ndarray | None = None

    def apply(
        self,
        found: ContactList,
        bad: np.ndarray,
        q: np.ndarray,
        x: np.ndarray,
        colliders: ContactList,
        zone: np.ndarray,
        *,
        ring: bool,
    ) -> np.ndarray:
        """Change x and the number of the zone of every vertex, -1 for none; which vertices may have moved."""
        wanted = self._wanted = x.copy() if self._wanted is None else self._wanted
        corners, a = found.vertices[bad], found.coefficients[bad]
        first = corners[np.arange(len(a)), np.argmax(a != 0, axis=1)]
        self._links.append(np.stack([np.broadcast_to(first[:, None], corners.shape)[a != 0], corners[a != 0]], axis=1))
        if ring:  # neighbours too, so that they come to an end
            self._links.append(self._edges[(zone[self._edges] >= 0).any(axis=1)])
        used, index = np.unique(np.concatenate(self._links), return_inverse=True)
        index = index.reshape(-1, 2)
        graph = coo_matrix((np.ones(len(index)), (index[:, 0], index[:, 1])), shape=(len(used), len(used)))
        count, label = connected_components(graph, directed=False)
        zone[:] = -1
        zone[used] = label
        d = common_displacements(zone, count, self._masses, self._held, q, wanted, colliders.corners, colliders.planes)
        x[:] = wanted
        displace(zone, d, self._held, q, x)
        moved: np.ndarray = zone >= 0
        self._go_along(zone, q, x)
        return moved

    def _go_along(self, zone: np.ndarray, q: np.ndarray, x: np.ndarray) -> None:
        """Zones with vertices of animated meshes go with these, which are in none: what is near them is looked at."""
        for number in np.unique(zone[self._driven & (zone >= 0)]).tolist():
            leading, led = (zone == number) & self._driven, (zone == number) & ~self._held
            if led.any():
                points, at = q[leading, :3].astype(np.float64)[None], q[led, :3].astype(np.float64)
                ways = x[leading, :3].astype(np.float64)[None] - points
                count, ones = len(at), np.ones((1, points.shape[1]))
                points, ways, ones = (np.repeat(a, count, axis=0) for a in (points, ways, ones))
                x[led, :3] = at + affine(points, ways, ones, at)
        zone[self._driven] = -1
