"""Cloth that touches: laid over a table, dropped on a sphere, dragged and flung by a corner. Parts of `motion.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from motion_common import Options, Row

from vivace import Budget, Cloth, Model, Simulation, mesh
from vivace.bench.motion import stretch
from vivace.collisions import Plane, Sphere
from vivace.collisions.collider_contacts import penetration
from vivace.collisions.crossings import crossings
from vivace.scenes import make_scene
from vivace.scenes.thickness import sheet_thickness

TOP = 0.5  # m: height of the table
CONVERGED = Budget(iterations=100)
LEAST = Budget(iterations=4)  # what `lattice` makes of a step that touches, however late it is


class Lived(NamedTuple):
    """What a simulation went through: milliseconds, mean and largest stretch of every frame, and the deepest vertex."""

    ms: np.ndarray
    mean: np.ndarray
    largest: np.ndarray
    depth: float

    def __str__(self) -> str:
        p99 = np.percentile(self.ms, 99)
        return (
            f"{np.median(self.ms):.3g} ms a frame, p99 {p99:.3g}; mean stretch {100 * self.mean[-1]:.2g} % at the end, "
            f"{100 * self.mean.max():.2g} at most; largest {100 * self.largest[-1]:.2g} % at the end, "
            f"{100 * self.largest.max():.2g} at most"
        )

    @property
    def values(self) -> dict[str, object]:
        return {
            "ms": float(np.median(self.ms)),
            "ms_p99": float(np.percentile(self.ms, 99)),
            "mean_end": float(self.mean[-1]),
            "mean_most": float(self.mean.max()),
            "largest_end": float(self.largest[-1]),
            "largest_most": float(self.largest.max()),
            "depth": self.depth,
        }


def live(sim: Simulation, frames: int, hand: Callable[[int], None] | None = None) -> Lived:
    ms, mean, largest, depth = [], [], [], 0.0
    colliders = sim.model.collisions.colliders if sim.model.collisions else ()
    for k in range(frames):
        if hand is not None:
            hand(k)
        ms.append(sim.step().ms)
        strain = stretch(sim.model, sim.positions)
        assert strain is not None
        mean.append(strain.mean)
        largest.append(strain.largest)
        free = np.setdiff1d(np.arange(sim.model.n), sim.grabbed)
        depth = max(depth, float(penetration(colliders, sim.positions[free]).max()))
    return Lived(np.array(ms), np.array(mean), np.array(largest), depth)


def warm(make: Callable[[], Simulation]) -> Simulation:
    """A simulation whose kernels have been compiled by another."""
    first = make()
    for _ in range(20):
        first.step()
    sim = make()
    sim.prepare(wait=True)
    return sim


def label(budget: Budget) -> str:
    return f"{budget.ms:g} ms" if budget.ms is not None else f"{budget.iterations} rounds"


def table(options: Options) -> Iterator[Row]:
    """Laid over a table, after 5 s; how low the corners hang, and how fast what should rest still is."""
    scene = make_scene("tablecloth", resolution=options.resolution, table=True)
    n, frames = options.resolution, round(5.0 / scene.time_step)
    for budget in (CONVERGED, Budget(ms=8), Budget(ms=16)):
        sim = warm(lambda b=budget: scene.simulate(solver=options.solver, budget=b, threads=options.threads))
        lived = live(sim, frames)
        corners = 100 * (TOP - sim.positions[[0, n - 1, n * n - n, n * n - 1], 1])
        fastest = 1e3 * np.linalg.norm(sim.velocities, axis=1).max()
        hang = ", ".join(f"{c:.1f}" for c in corners)
        text = f"{lived}; corners {hang} cm below the top; fastest vertex {fastest:.2g} mm/s; depth {lived.depth:.1g} m"
        values = lived.values | {"corners_cm": corners.tolist(), "fastest_mm_s": float(fastest)}
        yield Row(f"tablecloth on its table, {label(budget)}, after 5 s", text, values)


def sphere(options: Options) -> Iterator[Row]:
    """A cloth of 1 m that falls on a sphere of 0.3 m on the floor, and touches itself; 120 frames of 1/60 s."""
    n = options.resolution
    sheet = mesh.cloth(n, n, 1.0, 1.0, plane="horizontal").transformed(translate=(0, 0.75, 0))
    model = Model.of(sheet, Cloth(0.2, 1e4, 1e-4), air=0.5)
    model = model.collide(
        [Plane(), Sphere((0, 0.3, 0), 0.3)], thickness=sheet_thickness(1 / (n - 1)), friction=0.4, itself=True
    )
    for budget in (LEAST, Budget(ms=8), Budget(ms=16), Budget(ms=33)):
        sim = warm(
            lambda b=budget: Simulation(
                model, solver=options.solver, budget=b, time_step=1 / 60, threads=options.threads
            )
        )
        lived = live(sim, 120)
        pierced = len(crossings(sim.positions, sheet.triangles)[0])
        text = f"{lived}; {pierced} edges through triangles; depth {lived.depth:.1g} m"
        yield Row(f"cloth on a sphere, {label(budget)}", text, lived.values | {"pierced": pierced})


def drag(options: Options) -> Iterator[Row]:
    """Live at 8 ms: a corner of the cloth on its table is pulled, and let go.

    It is dragged outwards at 2 m/s, or flung over the table at 3 m/s.
    """
    scene = make_scene("tablecloth", resolution=options.resolution, table=True)
    corner, h = 0, scene.time_step
    far = np.array([0.5, TOP, 0.5])

    def path(name: str, home: np.ndarray, seconds: float) -> np.ndarray:
        if name == "dragged":
            return home + min(2.0 * seconds, 0.6) * np.array([-0.6, 0.4, -0.69])
        done = min(1.0, 3.0 * seconds / (np.linalg.norm(far - home) + 0.4))
        return (1.0 - done) * home + done * far + np.array([0.0, 0.4 * np.sin(np.pi * done), 0.0])

    for name, seconds in (("dragged", 1.0), ("flung", 0.6)):
        sim = warm(lambda: scene.simulate(solver=options.solver, budget=Budget(ms=8), threads=options.threads))
        live(sim, round(2.0 / h))
        home = sim.positions[corner].copy()

        def hand(k: int, name=name, sim=sim, home=home) -> None:
            sim.grab(corner, path(name, home, h * (k + 1)))

        parts = {name: live(sim, round(seconds / h), hand)}
        sim.release()
        parts["let go"] = live(sim, round(15.0 / h))
        fastest = 1e3 * np.linalg.norm(sim.velocities, axis=1).max()
        for what, lived in parts.items():
            rest = f"; fastest vertex {fastest:.2g} mm/s after 15 s" if what == "let go" else ""
            label_ = name if what == name else f"{name}, then let go"
            yield Row(f"a corner, 8 ms: {label_}", f"{lived}; depth {lived.depth:.1g} m{rest}", lived.values)
