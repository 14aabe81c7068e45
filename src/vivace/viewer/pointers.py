"""Who holds what: a client has up to ten pointers (a mouse, fingers), and each holds a vertex or a patch around it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..simulation.simulation import Simulation

MOST = 200  # vertices of a patch
Key = tuple[str, int]


@dataclass(eq=False)
class Hold:
    """Vertices and where they are from the one that was grabbed; `target` is where that one is wanted."""

    vertices: np.ndarray
    offsets: np.ndarray
    target: np.ndarray

    @property
    def targets(self) -> np.ndarray:
        """Where the held vertices are to be (k, 3), m."""
        targets: np.ndarray = self.target + self.offsets
        return targets


class Pointers:
    """What is held, the same in every simulation."""

    def __init__(self) -> None:
        self._holds: dict[Key, Hold] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._holds

    @property
    def vertices(self) -> tuple[int, ...]:
        """The vertices that were grabbed, without the patches around them."""
        return tuple(int(hold.vertices[0]) for hold in self._holds.values())

    def grab(self, sims: Iterable[Simulation], key: Key, vertex: int, target: np.ndarray, radius: float) -> None:
        """A pointer takes a vertex, and with it those within `radius` (m), and holds them at `target`."""
        sims = tuple(sims)
        if vertex >= sims[0].model.n:
            raise InputError(f"there is no vertex {vertex} to grab: the scene has {sims[0].model.n}")
        self.release(sims, key)
        taken = {int(v) for hold in self._holds.values() for v in hold.vertices}
        if vertex in taken:
            raise InputError("another pointer holds this vertex")
        positions = sims[0].positions
        away = np.linalg.norm(positions - positions[vertex], axis=1)
        patch = np.flatnonzero(away <= radius)
        patch = patch[np.argsort(away[patch], kind="stable")][:MOST]
        others = [int(v) for v in patch if v != vertex and int(v) not in taken]
        vertices = np.array([vertex, *others])
        hold = Hold(vertices, positions[vertices] - positions[vertex], target)
        for sim in sims:
            sim.grab(vertices, hold.targets)
        self._holds[key] = hold

    def drag(self, sims: Iterable[Simulation], key: Key, target: np.ndarray) -> None:
        """Move what a pointer holds; nothing if it holds nothing."""
        hold = self._holds.get(key)
        if hold is not None:
            hold.target = target
            for sim in sims:
                sim.grab(hold.vertices, hold.targets)

    def release(self, sims: Iterable[Simulation], key: Key) -> None:
        """A pointer lets go of what it holds, if anything."""
        hold = self._holds.pop(key, None)
        if hold is not None:
            for sim in sims:
                sim.release(hold.vertices)

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
            sim.grab(hold.vertices, hold.targets)
