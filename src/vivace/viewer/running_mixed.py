"""A scene of soft bodies that touch rigid ones, as it runs, and what people hold of both. No threads here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ..checks import LARGEST
from ..errors import InputError
from ..scenes import Scene
from ..simulation.report import Report
from ..simulation.rigid_simulation import RigidSimulation
from ..simulation.simulation import Simulation
from ..solvers import Solver
from .messages import Grab
from .pointers import Pointers
from .running_rigid import FAR, BodyPointers, Key, touched
from .running_scene import RunningScene
from .snapshot import SimulationView


class MixedPointers:
    """Who holds a soft vertex, and who a point of a rigid body; each pointer holds one thing."""

    def __init__(self, soft: Pointers) -> None:
        self.soft, self.rigid = soft, BodyPointers()

    def __contains__(self, key: object) -> bool:
        return key in self.soft or key in self.rigid

    @property
    def vertices(self) -> tuple[int, ...]:
        """The soft vertices that were grabbed."""
        return self.soft.vertices

    def drag(self, sims: Iterable[Simulation], key: Key, target: np.ndarray) -> None:
        """Move what a pointer holds; nothing if it holds nothing."""
        self.soft.drag(sims, key, target)
        self.rigid.drag(_rigid(sims), key, target)

    def use_force(self, sims: Iterable[Simulation], force: float) -> None:
        """Let hands pull at soft bodies with at most so many newtons."""
        self.soft.use_force(sims, force)

    def slip(self, sims: Iterable[Simulation]) -> list[Key]:
        """Those that have lost a soft body in the last step."""
        return self.soft.slip(sims)

    def release(self, sims: Iterable[Simulation], key: Key) -> None:
        """A pointer lets go of what it holds, if anything."""
        self.soft.release(sims, key)
        self.rigid.release(_rigid(sims), key)

    def release_client(self, sims: Iterable[Simulation], client: str) -> None:
        """All pointers of a client let go: it has left."""
        self.soft.release_client(sims, client)
        self.rigid.release_client(_rigid(sims), client)

    def release_all(self, sims: Iterable[Simulation]) -> None:
        """All pointers let go."""
        self.soft.release_all(sims)
        self.rigid.release_all(_rigid(sims))


class RunningMixedScene(RunningScene):
    """A scene of soft bodies and of rigid ones that move; the arguments are those of `RunningScene`."""

    _comparable: ClassVar[bool] = False

    def __init__(self, scene: Scene, sim: Simulation, number: int = 1, **options: Any):
        super().__init__(scene, sim, number, **options)
        self.pointers = MixedPointers(self.pointers)
        mesh = self.backdrop.mesh
        assert mesh is not None
        self.mesh = mesh
        size = max(float(np.ptp(mesh.start, axis=0).max()), 1e-3)
        self._far_bodies = min(max(self._far, float(np.abs(mesh.start).max()) + FAR * size), 0.9 * LARGEST)

    def _is_lost(self, report: Report) -> bool:
        if super()._is_lost(report) or report.bodies is None:
            return True
        bodies = report.bodies
        finite = np.isfinite(bodies.positions).all() and np.isfinite(bodies.orientations).all()
        return not finite or float(np.abs(bodies.positions[self.mesh.owner]).max()) > self._far_bodies

    def _view(self, k: int, sim: Simulation, report: Report) -> SimulationView:
        (rigid,) = _rigid([sim])
        held = tuple(map(tuple, rigid.grabbed_points.tolist()))
        return replace(super()._view(k, sim, report), held_points=held, mesh=self.mesh)

    def grab(self, key: Key, message: Grab) -> None:
        """A pointer takes a soft vertex, and what is around it, or the point of a rigid body that it touched."""
        (sim,) = self.sims
        target = np.array(message.target)
        if message.thing is not None:
            return self._take(key, message.thing, target)
        self._refuse_animated(message.vertex)
        if message.vertex < self.mesh.first:
            self.pointers.soft.grab(self.sims, key, message.vertex, target, self.settings.grab_radius)
            self.pointers.rigid.release(_rigid(self.sims), key)
        else:
            assert sim.bodies is not None
            body, point = touched(self.mesh, message, sim.bodies.positions, sim.bodies.orientations)
            self.pointers.rigid.grab(sim.bodies.rigid, key, sim.bodies.first + body, point, target)
            self.pointers.soft.release(self.sims, key)
        return None

    def check_cuttable(self) -> None:
        """Refused."""
        raise InputError(f"cuts are for scenes without rigid bodies, and {self.scene.name} has some that move")

    def check_comparable(self) -> None:
        """Refused."""
        raise InputError(
            f"two solvers side by side are for scenes without rigid bodies, and {self.scene.name} has some that move"
        )

    def compare_with(self, name: str, solver: Solver) -> None:
        """Refused."""
        self.check_comparable()


def _rigid(sims: Iterable[Simulation]) -> list[RigidSimulation]:
    return [sim.bodies.rigid for sim in sims if sim.bodies is not None]
