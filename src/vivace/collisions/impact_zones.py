"""Nothing passes through anything: the check after a solver, and what is done about what it finds.

A solver that stops in time may leave contacts violated. Where surfaces would pass through each other on the straight
way of a step, their vertices are moved apart, contact by contact, and the way is checked again, since that may push
them through something else [bridson2002, section 7.4]. Mostly that settles it. If not, all that would still cross
becomes an impact zone, which finishes the step with one common displacement [provot1997; bridson2002, section 7.5; here
without its rotation]: inside it nothing moves relative to anything else, so nothing crosses there, and zones grow until
nothing crosses anywhere. What did not cross when the step began does not when it ends.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

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
from .surfaces import Surfaces

SHARE = 0.25  # of the thickness: pairs that get nearer than this are looked at
TOUCH = 1 / 16  # of that: nearer, they are taken to be on their way through each other (kernels.proximity.TOUCH)
PARTINGS, PASSES = 12, 30  # rounds in which vertices are moved apart, and passes over their contacts in each
PATIENCE = 36  # rounds after which zones grow by their neighbours too
ROUNDS = 80  # then everything stays where it was


class Guard:
    """Checks the way of a whole step, and keeps apart what would cross on it."""

    def __init__(self, mesh: Mesh, thickness: float, masses: np.ndarray):
        self._masses = masses
        self._surfaces = Surfaces(mesh.vertices, mesh.triangles, SHARE * thickness, margin=0.0, every=True)
        self._least = TOUCH * SHARE * thickness

    def keep_apart(self, q: np.ndarray, x: np.ndarray, contacts: Contacts, held: np.ndarray, threads: int) -> int:
        """Change x, (n, 4) float32, where the way from q to it would lead through a surface; how many vertices.

        `held`: (n,) bool, vertices that are where somebody holds them, and stay there.
        """
        if not np.isfinite(x).all():
            return 0
        changed = np.zeros(len(x), bool)
        zone = np.full(len(x), -1, np.int32)
        moved: np.ndarray | None = None
        parting, zones = _Parting(self._masses, held), _Zones(self._masses, held, self._surfaces.edges)
        for k in range(ROUNDS):
            found = self._surfaces.find(q, x, threads, only=moved)
            bad = violated(found.vertices, found.coefficients, found.planes, q, x, zone, self._least)
            if not bad.any():
                return int(np.count_nonzero(changed))
            if k < PARTINGS:
                moved = parting.apply(found, bad, q, x, contacts.colliders, self._least)
            else:
                moved = zones.apply(found, bad, q, x, contacts.colliders, zone, ring=k >= PATIENCE)
            changed |= moved  # nothing else has changed since the last look
        x[~held] = q[~held]
        return len(x)


class _Parting:
    """Moves what would cross apart; contacts of earlier rounds stay in force."""

    def __init__(self, masses: np.ndarray, held: np.ndarray):
        self._inverse = np.where(held, 0.0, 1.0 / masses)
        self._lists: list[tuple[np.ndarray, ...]] = []

    def apply(
        self, found: ContactList, bad: np.ndarray, q: np.ndarray, x: np.ndarray, colliders: ContactList, least: float
    ) -> np.ndarray:
        """Change x; which vertices have to be looked at again."""
        new = (found.vertices[bad], found.coefficients[bad], found.planes[bad])
        targets = least_separations(*new, q, least)
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

    def __init__(self, masses: np.ndarray, held: np.ndarray, edges: np.ndarray):
        self._masses, self._held, self._edges = masses, held, edges
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
        return zone >= 0
