"""Who holds what: a client has up to ten pointers (a mouse, fingers), and each is a hand that holds a patch.

A hand has a force and slips when that is not enough, see `simulation.hands`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from ..errors import InputError
from ..mesh import Mesh
from ..model import Model
from ..simulation.simulation import Simulation

MOST = 400  # vertices of a patch
RIM = 0.02  # of the share in the middle of a patch: what its rim has, so that nothing is held by nobody
PATCH = 0.04  # of a body's size: radius of the patch unless somebody says another
PULL = 8.0  # times the weight of what is there: a hand's force, unless somebody says another
WEAKEST, STRONGEST = 2.0, 200.0  # N: what that may be; a person pulls with 200 N
WEIGHT = 9.81  # m/s²
Key = tuple[str, int]


@dataclass(eq=False)
class Hold:
    """Vertices and where they are from the one that was grabbed; `target` is where that one is wanted."""

    vertices: np.ndarray
    offsets: np.ndarray
    target: np.ndarray
    shares: np.ndarray

    @property
    def targets(self) -> np.ndarray:
        """Where the held vertices are to be (k, 3), m."""
        targets: np.ndarray = self.target + self.offsets
        return targets


class Pointers:
    """What is held, the same in every simulation. `force`: of each hand (N)."""

    def __init__(self, force: float = STRONGEST) -> None:
        self._holds: dict[Key, Hold] = {}
        self._force = force

    def __contains__(self, key: object) -> bool:
        return key in self._holds

    @property
    def vertices(self) -> tuple[int, ...]:
        """The vertices that were grabbed, without the patches around them."""
        return tuple(int(hold.vertices[0]) for hold in self._holds.values())

    def grab(self, sims: Iterable[Simulation], key: Key, vertex: int, target: np.ndarray, radius: float) -> None:
        """A pointer takes a vertex, and with it those within `radius` (m), and pulls them to `target`."""
        sims = tuple(sims)
        if vertex >= sims[0].model.n:
            raise InputError(f"there is no vertex {vertex} to grab: the scene has {sims[0].model.n}")
        self.release(sims, key)
        taken = {int(v) for hold in self._holds.values() for v in hold.vertices}
        if vertex in taken:
            raise InputError("another pointer holds this vertex")
        positions, pinned = sims[0].positions, sims[0].model.pinned
        taken.update(pinned.tolist())
        away = np.linalg.norm(positions - positions[vertex], axis=1)
        patch = np.array([vertex]) if vertex in taken else hanging_together(sims[0].model.mesh, away <= radius, vertex)
        patch = patch[np.argsort(away[patch], kind="stable")][:MOST]
        vertices = np.array([vertex, *(int(v) for v in patch if v != vertex and int(v) not in taken)])
        offsets = positions[vertices] - positions[vertex]
        shares = RIM + (1.0 - np.minimum(away[vertices] / max(radius, 1e-9), 1.0) ** 2) ** 2
        hold = Hold(vertices, offsets, target, shares)
        for sim in sims:
            sim.grab(vertices, hold.targets, force=self._force, shares=shares)
        self._holds[key] = hold

    def drag(self, sims: Iterable[Simulation], key: Key, target: np.ndarray) -> None:
        """Move what a pointer holds; nothing if it holds nothing."""
        hold = self._holds.get(key)
        if hold is not None:
            hold.target = target
            for sim in sims:
                sim.grab(hold.vertices, hold.targets)

    def use_force(self, sims: Iterable[Simulation], force: float) -> None:
        """Let all hands, those that hold something too, pull with at most so many newtons."""
        self._force = force
        for sim in sims:
            for hold in self._holds.values():
                sim.grab(hold.vertices, hold.targets, force=force)

    def slip(self, sims: Iterable[Simulation]) -> list[Key]:
        """Those whose hold was lost in the last step of a simulation let go in all of them."""
        sims = tuple(sims)
        lost = {vertex for sim in sims for vertex in sim.slipped}
        keys = [key for key, hold in self._holds.items() if int(hold.vertices[0]) in lost] if lost else []
        for key in keys:
            self.release(sims, key)
        return keys

    def release(self, sims: Iterable[Simulation], key: Key) -> None:
        """A pointer lets go of what it holds, if anything."""
        hold = self._holds.pop(key, None)
        if hold is not None:
            for sim in sims:
                sim.release(np.intersect1d(hold.vertices, sim.grabbed))

    def release_client(self, sims: Iterable[Simulation], client: str) -> None:
        """All pointers of a client let go: it has left."""
        for key in [key for key in self._holds if key[0] == client]:
            self.release(sims, key)

    def release_all(self, sims: Iterable[Simulation]) -> None:
        """All pointers let go."""
        for key in list(self._holds):
            self.release(sims, key)

    def join(self, sim: Simulation) -> None:
        """Hold the same in another simulation."""
        for hold in self._holds.values():
            sim.grab(hold.vertices, hold.targets, force=self._force, shares=hold.shares)


def hanging_together(mesh: Mesh, near: np.ndarray, vertex: int) -> np.ndarray:
    """Those of the vertices `near` (n,) bool that edges lead to from `vertex` without leaving them."""
    edges = mesh.edges[near[mesh.edges].all(axis=1)]
    graph = coo_matrix((np.ones(len(edges), bool), (edges[:, 0], edges[:, 1])), shape=(len(near), len(near)))
    labels = connected_components(graph, directed=False)[1]
    return np.flatnonzero(labels == labels[vertex])


def usual_radius(model: Model, most: float) -> float:
    """The radius of a patch that looks like a hand on a body of this size (m)."""
    mesh = model.mesh
    bodies: Collection[str] = [name for name in mesh.groups if name.startswith("body-")]
    sizes = [float(np.ptp(mesh.vertices[mesh.groups[name]], axis=0).max()) for name in bodies if len(mesh.groups[name])]
    size = float(np.median(sizes)) if sizes else float(np.ptp(mesh.vertices, axis=0).max())
    return min(most, round(PATCH * size, 4))


def usual_force(model: Model) -> float:
    """What a hand pulls with (N) that can lift what is there, and no more than a person can."""
    weight = WEIGHT * float(model.masses.sum())
    return float(f"{min(STRONGEST, max(WEAKEST, PULL * weight)):.2g}")
