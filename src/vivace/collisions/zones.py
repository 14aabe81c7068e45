"""Nothing passes through anything: the check after a solver, and what is done about what it finds.

A solver that stops in time may leave contacts violated. Surfaces that would pass through each other on the straight way
of a step, and all that touches them, become an impact zone, which finishes the step with one common displacement
[provot1997, bridson2002, section 7.5; here without its rotation]: inside it nothing moves relative to anything else, so
nothing crosses there. Zones grow until nothing crosses anywhere. What did not cross when the step began does not when
it ends.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from ..kernels.zones import common_displacements, displace, violated
from ..mesh import Mesh
from .contacts import Contacts
from .surfaces import Surfaces

SHARE = 0.25  # of the thickness: pairs that get nearer than this are looked at
TOUCH = 1 / 16  # of that: nearer, they are taken to be on their way through each other (kernels.proximity.TOUCH)
PATIENCE = 24  # rounds after which zones grow by their neighbours too
ROUNDS = 60  # then everything stays where it was


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
        wanted, n = x.copy(), len(x)
        links: list[np.ndarray] = []
        zone, moved = np.full(n, -1, np.int32), None
        for k in range(ROUNDS):
            found = self._surfaces.find(q, x, threads, only=moved)
            bad = violated(found.vertices, found.coefficients, found.planes, q, x, zone, self._least)
            if not bad.any():
                return int(np.count_nonzero(zone >= 0))
            corners, a = found.vertices[bad], found.coefficients[bad]
            first = corners[np.arange(len(a)), np.argmax(a != 0, axis=1)]
            new = np.stack([np.broadcast_to(first[:, None], corners.shape)[a != 0], corners[a != 0]], axis=1)
            links.append(new)
            if k >= PATIENCE:  # a ring of neighbours for every zone, so that they come to an end
                ends = zone[self._surfaces.edges]
                links.append(self._surfaces.edges[(ends >= 0).any(axis=1)])
            pairs = np.concatenate(links)
            used, index = np.unique(pairs, return_inverse=True)
            index = index.reshape(-1, 2)
            graph = coo_matrix((np.ones(len(index)), (index[:, 0], index[:, 1])), shape=(len(used), len(used)))
            count, label = connected_components(graph, directed=False)
            zone[:] = -1
            zone[used] = label
            walls = contacts.walls
            d = common_displacements(zone, count, self._masses, held, q, wanted, walls.vertices, walls.planes)
            x[:] = wanted
            displace(zone, d, held, q, x)
            moved = zone >= 0  # nothing else has changed since the last look
        x[~held] = q[~held]
        return n
