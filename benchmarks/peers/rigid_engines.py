"""Rigid bodies in several engines behind one small interface: ours, PyBullet, MuJoCo, and pinocchio's contact solvers.

A world is boxes or balls over a floor at y = 0, perhaps between walls. Each engine has its own defaults for all that is
not said: the time step, and what a setting changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from vivace import Body, Budget, RigidSimulation
from vivace.collisions import Box, Plane, Sphere

MU = 0.5
DENSITY = 1000.0


@dataclass(frozen=True, eq=False)
class World:
    """Bodies of one kind, "box" or "ball", of half sides or radii `sizes` (m) at `places` (n, 3); walls at ± `wall`."""

    kind: str
    places: np.ndarray
    sizes: np.ndarray
    gravity: np.ndarray
    wall: float | None = None

    @property
    def masses(self) -> np.ndarray:
        volume = 8.0 if self.kind == "box" else 4.0 / 3.0 * np.pi
        out: np.ndarray = DENSITY * volume * self.sizes**3
        return out

    @property
    def planes(self) -> list[tuple[tuple[float, float, float], tuple[float, float, float]]]:
        """Points and normals."""
        found = [((0.0, 0.0, 0.0), (0.0, 1.0, 0.0))]
        if self.wall is not None:
            for a, c in ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)):
                found.append(((-a * self.wall, 0.0, -c * self.wall), (a, 0.0, c)))
        return found


class Engine(Protocol):
    """What is asked of each: a step; positions (n, 3), velocities and spins (n, 6) of the bodies."""

    def step(self) -> None: ...
    def positions(self) -> np.ndarray: ...
    def velocities(self) -> np.ndarray: ...


class Ours:
    """This package. `iterations` of the contact solver, or another `solver`."""

    def __init__(self, world: World, h: float, substeps: int = 1, iterations: int = 50, solver: Any = "contact-sets"):
        shapes: Sequence[Box | Sphere] = [
            Box(tuple(p), (s,) * 3) if world.kind == "box" else Sphere(tuple(p), s)
            for p, s in zip(world.places.tolist(), world.sizes.tolist(), strict=True)
        ]
        planes = [Body(Plane(point, normal), fixed=True, friction=MU) for point, normal in world.planes]
        bodies = [*planes, *(Body(shape, DENSITY, friction=MU) for shape in shapes)]
        self.first = len(planes)
        self.sim = RigidSimulation(
            bodies,
            solver=solver,
            time_step=h,
            substeps=substeps,
            gravity=world.gravity.tolist(),
            budget=Budget(iterations=iterations),
        )

    def step(self) -> None:
        self.sim.step()

    def positions(self) -> np.ndarray:
        return self.sim.positions[self.first :]

    def velocities(self) -> np.ndarray:
        return np.concatenate([self.sim.velocities, self.sim.spins], axis=1)[self.first :]


class Bullet:
    """PyBullet: sequential impulses, 50 iterations."""

    def __init__(self, world: World, h: float, substeps: int = 1, iterations: int = 50):
        import pybullet

        self.p = p = pybullet
        if p.isConnected():
            p.disconnect()
        p.connect(p.DIRECT)
        p.setGravity(*world.gravity)
        p.setPhysicsEngineParameter(fixedTimeStep=h / substeps, numSolverIterations=iterations)
        self.substeps = substeps
        for point, normal in world.planes:
            shape = p.createCollisionShape(p.GEOM_PLANE, planeNormal=normal)
            ground = p.createMultiBody(0, shape, basePosition=point)
            p.changeDynamics(ground, -1, lateralFriction=1.0)  # coefficients are multiplied
        self.bodies = []
        for place, size, mass in zip(world.places, world.sizes, world.masses, strict=True):
            if world.kind == "box":
                shape = p.createCollisionShape(p.GEOM_BOX, halfExtents=[size] * 3)
            else:
                shape = p.createCollisionShape(p.GEOM_SPHERE, radius=size)
            body = p.createMultiBody(mass, shape, basePosition=place.tolist())
            p.changeDynamics(body, -1, lateralFriction=MU, linearDamping=0.0, angularDamping=0.0)
            self.bodies.append(body)

    def step(self) -> None:
        for _ in range(self.substeps):
            self.p.stepSimulation()

    def positions(self) -> np.ndarray:
        return np.array([self.p.getBasePositionAndOrientation(body)[0] for body in self.bodies])

    def velocities(self) -> np.ndarray:
        return np.array([np.concatenate(self.p.getBaseVelocity(body)) for body in self.bodies])


class Mujoco:
    """MuJoCo: soft contacts, elliptic cones, Newton's method. `impratio`: friction stiffer than normal forces."""

    def __init__(self, world: World, h: float, substeps: int = 1, impratio: float = 1.0):
        import mujoco

        def geom(place: np.ndarray, size: float, mass: float) -> str:
            x, y, z = place
            shape = f'type="box" size="{size} {size} {size}"' if world.kind == "box" else f'size="{size}"'
            inner = f'<geom {shape} mass="{mass}" friction="{MU} 0 0"/>'
            return f'<body pos="{x} {y} {z}"><freejoint/>{inner}</body>'

        bodies = "".join(map(geom, world.places, world.sizes, world.masses))
        planes = "".join(
            f'<geom type="plane" size="50 50 1" pos="{" ".join(map(str, point))}" '
            f'zaxis="{" ".join(map(str, normal))}" friction="{MU} 0 0"/>'
            for point, normal in world.planes
        )
        down = " ".join(map(str, world.gravity))
        option = f'timestep="{h / substeps}" gravity="{down}" cone="elliptic" impratio="{impratio}"'
        xml = f"<mujoco><option {option}/><worldbody>{planes}{bodies}</worldbody></mujoco>"
        self.mj, self.model, self.substeps = mujoco, mujoco.MjModel.from_xml_string(xml), substeps
        self.data = mujoco.MjData(self.model)

    def step(self) -> None:
        for _ in range(self.substeps):
            self.mj.mj_step(self.model, self.data)

    def positions(self) -> np.ndarray:
        return self.data.qpos.reshape(-1, 7)[:, :3].copy()

    def velocities(self) -> np.ndarray:
        return self.data.qvel.reshape(-1, 6).copy()


class Pgs(Ours):
    """Pinocchio's projected Gauss-Seidel in our step."""

    kind = "PGS"

    def __init__(self, world: World, h: float, substeps: int = 1, tolerance: float = 1e-6):
        from peers.rigid_pinocchio import PinocchioSolver

        super().__init__(world, h, substeps, solver=PinocchioSolver(kind=self.kind, tolerance=tolerance))


class Admm(Pgs):
    """Pinocchio's ADMM in our step."""

    kind = "ADMM"


ENGINES: dict[str, Any] = {
    "vivace": Ours,
    "PyBullet": Bullet,
    "MuJoCo": Mujoco,
    "pinocchio PGS": Pgs,
    "pinocchio ADMM": Admm,
}

# What is varied to be more exact, or faster.
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "vivace": [{"iterations": n} for n in (1, 2, 5, 10, 50)],
    "PyBullet": [{"iterations": n} for n in (10, 50, 500)] + [{"substeps": n} for n in (4, 16, 64, 200)],
    "MuJoCo": [{}, {"impratio": 10.0}, {"impratio": 100.0}] + [{"substeps": n} for n in (4, 16, 64, 200)],
    "pinocchio PGS": [{"tolerance": t} for t in (1e-3, 1e-6, 1e-9)],
    "pinocchio ADMM": [{"tolerance": t} for t in (1e-3, 1e-6, 1e-9)],
}
