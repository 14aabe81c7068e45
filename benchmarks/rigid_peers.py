"""Rigid bodies beside what people use: PyBullet and MuJoCo on the same ramp, stack and grid of balls, in one run.

    pip install "vivace[peers]"
    python benchmarks/rigid_peers.py [--seconds 5] [--step 0.004166]

Each engine has its own defaults for everything but the time step. Friction error: of the coefficient that a sliding box
shows, μ' = tan θ - a ÷ (g cos θ), against the one it was given. Depth: the deepest that bodies are inside each other,
from their poses. Drift: how far the top of the stack moved sideways. Milliseconds are medians of single steps.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Protocol

import numpy as np

from vivace import Body, RigidSimulation
from vivace.collisions import Box, Plane, Sphere

G, MU = 9.81, 0.5
HALF = 0.1  # m: of boxes, and the radius of balls
Place = tuple[float, float, float]


class Engine(Protocol):
    """What is asked of each: make a step, tell positions and velocities of the bodies, without the ground."""

    def step(self) -> None: ...
    def positions(self) -> np.ndarray: ...
    def velocities(self) -> np.ndarray: ...


class Ours:
    """This package."""

    def __init__(self, kind: str, places: list[Place], gravity: np.ndarray, h: float):
        shapes = [Box(p, (HALF,) * 3) if kind == "box" else Sphere(p, HALF) for p in places]
        bodies = [Body(Plane(), fixed=True, friction=MU), *(Body(shape, friction=MU) for shape in shapes)]
        self.sim = RigidSimulation(bodies, time_step=h, substeps=1, gravity=gravity.tolist())

    def step(self) -> None:
        self.sim.step()

    def positions(self) -> np.ndarray:
        return self.sim.positions[1:]

    def velocities(self) -> np.ndarray:
        return self.sim.velocities[1:]


class Bullet:
    """PyBullet: sequential impulses, 50 iterations."""

    def __init__(self, kind: str, places: list[Place], gravity: np.ndarray, h: float):
        import pybullet

        self.p = p = pybullet
        if p.isConnected():
            p.disconnect()
        p.connect(p.DIRECT)
        p.setGravity(*gravity)
        p.setPhysicsEngineParameter(fixedTimeStep=h)
        ground = p.createMultiBody(0, p.createCollisionShape(p.GEOM_PLANE, planeNormal=[0, 1, 0]))
        p.changeDynamics(ground, -1, lateralFriction=1.0)  # coefficients are multiplied
        if kind == "box":
            shape = p.createCollisionShape(p.GEOM_BOX, halfExtents=[HALF] * 3)
        else:
            shape = p.createCollisionShape(p.GEOM_SPHERE, radius=HALF)
        self.bodies = [p.createMultiBody(8.0, shape, basePosition=place) for place in places]
        for body in self.bodies:
            p.changeDynamics(body, -1, lateralFriction=MU, linearDamping=0.0, angularDamping=0.0)

    def step(self) -> None:
        self.p.stepSimulation()

    def positions(self) -> np.ndarray:
        return np.array([self.p.getBasePositionAndOrientation(body)[0] for body in self.bodies])

    def velocities(self) -> np.ndarray:
        return np.array([self.p.getBaseVelocity(body)[0] for body in self.bodies])


class Mujoco:
    """MuJoCo: soft contacts, elliptic cones, Newton's method."""

    def __init__(self, kind: str, places: list[Place], gravity: np.ndarray, h: float):
        import mujoco

        size = f"{HALF} {HALF} {HALF}" if kind == "box" else f"{HALF}"
        shape = f'type="{kind}"' if kind == "box" else 'type="sphere"'
        bodies = "".join(
            f'<body pos="{x} {y} {z}"><freejoint/><geom {shape} size="{size}" mass="8" friction="{MU} 0 0"/></body>'
            for x, y, z in places
        )
        down = " ".join(map(str, gravity))
        xml = f"""<mujoco><option timestep="{h}" gravity="{down}" cone="elliptic"/><worldbody>
            <geom type="plane" size="50 50 1" zaxis="0 1 0" friction="{MU} 0 0"/>{bodies}</worldbody></mujoco>"""
        self.mj, self.model = mujoco, mujoco.MjModel.from_xml_string(xml)
        self.data = mujoco.MjData(self.model)

    def step(self) -> None:
        self.mj.mj_step(self.model, self.data)

    def positions(self) -> np.ndarray:
        return self.data.qpos.reshape(-1, 7)[:, :3].copy()

    def velocities(self) -> np.ndarray:
        return self.data.qvel.reshape(-1, 6)[:, :3].copy()


ENGINES: dict[str, Callable[[str, list[Place], np.ndarray, float], Engine]] = {
    "vivace": Ours,
    "PyBullet": Bullet,
    "MuJoCo": Mujoco,
}


def run(engine: Engine, steps: int) -> np.ndarray:
    """Milliseconds of each step, without the first ten, which compile and warm up."""
    took = []
    for _ in range(steps):
        begin = time.perf_counter()
        engine.step()
        took.append(1e3 * (time.perf_counter() - begin))
    return np.array(took[10:])


def ramp(make: Callable[..., Engine], h: float) -> str:
    """Gravity is tilted instead of the ground."""
    angle = np.arctan(1.2 * MU)
    engine = make("box", [(0.0, HALF, 0.0)], G * np.array([np.sin(angle), -np.cos(angle), 0.0]), h)
    run(engine, round(0.5 / h))
    before = engine.velocities()[0, 0]
    run(engine, round(0.5 / h))
    acceleration = (engine.velocities()[0, 0] - before) / (round(0.5 / h) * h)
    shown = np.tan(angle) - acceleration / (G * np.cos(angle))
    return f"friction error {abs(shown - MU) / MU:.2%}"


def rest(make: Callable[..., Engine], h: float) -> str:
    """At 0.95 of the angle: how fast it creeps."""
    angle = 0.95 * np.arctan(MU)
    engine = make("box", [(0.0, HALF, 0.0)], G * np.array([np.sin(angle), -np.cos(angle), 0.0]), h)
    run(engine, round(1.0 / h))
    before = engine.positions()[0, 0]
    run(engine, round(1.0 / h))
    return f"creeps {1e3 * abs(engine.positions()[0, 0] - before):.3f} mm/s"


def stack(make: Callable[..., Engine], h: float, seconds: float, count: int = 20) -> str:
    places = [(0.0, HALF * (2 * k + 1), 0.0) for k in range(count)]
    engine = make("box", places, np.array([0.0, -G, 0.0]), h)
    took = run(engine, round(seconds / h))
    q = engine.positions()
    gaps = np.diff(np.concatenate([[-HALF], q[:, 1]])) - 2 * HALF
    drift = np.hypot(q[-1, 0], q[-1, 2])
    if drift > HALF:
        return f"{np.median(took):.2f} ms, fell over"
    kept = f"depth {1e3 * max(0, -gaps.min()):.2f} mm, drift {1e3 * drift:.3f} mm"
    return f"{np.median(took):.2f} ms, {kept}, {np.abs(engine.velocities()).max():.1e} m/s"


def grid(make: Callable[..., Engine], h: float, size: int = 8) -> str:
    y, z, x = np.indices((size, size, size)).reshape(3, -1)
    places = [tuple(p) for p in HALF * (2 * np.column_stack([x, y, z]) + np.array([0, 1, 0]))]
    engine = make("ball", places, np.array([0.0, -G, 0.0]), h)
    took = run(engine, 60)
    q = engine.positions()
    depth = max(0.0, float((HALF - q[:, 1]).max()))
    return f"{np.median(took):.2f} ms, depth at the ground {1e3 * depth:.2f} mm"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="that the stack stands (default 5)")
    parser.add_argument("--step", type=float, default=1 / 240, help="time step of all (default 1/240 s)")
    arguments = parser.parse_args()
    h = arguments.step
    print("| engine | ramp, 1.2 μ | ramp, 0.95 of the angle | stack of 20 boxes | 8³ balls |\n|---|---|---|---|---|")
    for name, make in ENGINES.items():
        try:
            cells = [ramp(make, h), rest(make, h), stack(make, h, arguments.seconds), grid(make, h)]
        except ImportError:
            cells = ['pip install "vivace[peers]"']
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
