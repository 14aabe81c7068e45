"""Answers that must not depend on the budget: what `motion.py --only budgets` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from motion_common import Options, Row, spread, turning

from vivace import Budget, Cloth, Model, Simulation, Solid, System, mesh
from vivace.bench.converged import converged
from vivace.scenes import Scene, make_scene
from vivace.solvers.reference import polish

BUDGETS = (4.0, 8.0, 16.0, 32.0)
PULL = 0.05  # m


def budgets(options: Options) -> Iterator[Row]:
    for name, unit, exact, measure in (
        ("stiff cantilever's tip after 5 s", "mm", *cantilever(options)),
        ("tablecloth's drop after 0.5 s", "cm", *drop(options)),
        ("tablecloth's half swing", "s", *swing(options)),
        (f"force to pull a corner by {100 * PULL:g} cm", "N", *pull(options)),
    ):
        answers = {}
        for ms in BUDGETS:
            found = [measure(Budget(ms=ms)) for _ in range(options.repeat)]
            answers[ms] = float(np.median(found))
            values = {"found": found, "converged": exact, "unit": unit}
            text = f"{spread(found)} {unit}, {100 * (answers[ms] / exact - 1):+.2g} % of converged {exact:.4g}"
            yield Row(f"{name}, {ms:g} ms", text, values)
        apart = 100 * (max(answers.values()) - min(answers.values())) / abs(exact)
        yield Row(f"{name}, all budgets", f"{apart:.2g} % of converged between them", {"percent": apart})


Measure = tuple[float, Callable[[Budget], float]]


def cantilever(options: Options) -> Measure:
    """41 x 5 x 5 vertices, 1 m long, E = 200 MPa, held at its left end: how far the other end hangs (mm)."""
    body = mesh.bar(41, 5, 5, (1.0, 0.1, 0.1))
    model = Model.of(body, Solid(1000.0, 2e8, 0.0)).pin("left")
    tip = int(np.argmax(body.vertices[:, 0] - body.vertices[:, 1]))
    scene = Scene("cantilever", model, 1 / 30)

    def measure(budget: Budget) -> float:
        sim = simulated(scene, budget, options)
        for _ in range(150):
            sim.step()
        return 1e3 * float(body.vertices[tip, 1] - sim.positions[tip, 1])

    rest = at_rest(model, body.vertices)
    return 1e3 * float(body.vertices[tip, 1] - rest[tip, 1]), measure


def drop(options: Options) -> Measure:
    """How far the lowest vertex has come in half a second (cm)."""
    scene = make_scene("tablecloth", resolution=options.resolution)
    frames = round(0.5 / scene.time_step)

    def lowest(q: np.ndarray) -> float:
        return -100 * float(q[:, 1].min())

    def measure(budget: Budget) -> float:
        sim = simulated(scene, budget, options)
        for _ in range(frames):
            sim.step()
        return lowest(sim.positions)

    return lowest(converged(scene, frames, progress=options.tell).positions[-1]), measure


def swing(options: Options) -> Measure:
    """Half a period: when the middle of the cloth turns back on the far side of the corners (s)."""
    scene = make_scene("tablecloth", resolution=options.resolution)
    frames = round(2.0 / scene.time_step)
    times = scene.time_step * np.arange(frames + 1)

    def turned(middle: np.ndarray) -> float:
        return turning(times, middle).seconds or float("nan")

    def measure(budget: Budget) -> float:
        sim = simulated(scene, budget, options)
        middle = [float(sim.positions[:, 2].mean())]
        for _ in range(frames):
            sim.step()
            middle.append(float(sim.positions[:, 2].mean()))
        return turned(np.array(middle))

    exact = converged(scene, frames, progress=options.tell)
    return turned(exact.positions[:, :, 2].mean(axis=1)), measure


def pull(options: Options) -> Measure:
    """A cloth hangs from two corners; a third is led down by PULL in a second, and two seconds later pulls by (N)."""
    sheet = mesh.cloth(options.resolution, options.resolution, plane="vertical")
    model = Model.of(sheet, Cloth(0.2, 1e4, 1e-4), air=0.5).pin("top-corners")
    corner = int(sheet.select("bottom-corners")[0])
    scene = Scene("pulled cloth", model, 0.033)
    start = sheet.vertices[corner]

    def force(held: Model, target: np.ndarray, q: np.ndarray) -> float:
        weight = System(held, scene.time_step).pin_weight[corner]
        return float(weight * np.linalg.norm(target - q[corner]))

    def measure(budget: Budget) -> float:
        sim = simulated(scene, budget, options)
        for k in range(91):
            sim.grab(corner, start - np.array([0.0, PULL * min(1.0, k / 30), 0.0]))
            sim.step()
        forces = []
        for _ in range(5):
            sim.step()
            forces.append(force(sim.model, start - np.array([0.0, PULL, 0.0]), sim.positions.astype(np.float64)))
        return float(np.median(forces))

    target = start - np.array([0.0, PULL, 0.0])
    held = model.pin([corner], target=target)
    stretched = sheet.vertices * np.array([1.0, 1.0 + PULL, 1.0])
    return force(held, target, at_rest(held, stretched)), measure


def simulated(scene: Scene, budget: Budget, options: Options) -> Simulation:
    sim = scene.simulate(solver=options.solver, budget=budget, threads=options.threads)
    sim.prepare(wait=True)
    return sim


def at_rest(model: Model, q: np.ndarray, steps: int = 40, h: float = 0.25) -> np.ndarray:
    """Where it comes to rest: converged steps so long that little of the motion lasts, the last ones without any."""
    model = replace(model, air=max(model.air, 2.0))
    system = System(model, h)
    q, v = np.array(q, np.float64), np.zeros(q.shape)
    for k in range(steps):
        frame = system.frame(q, v, np.broadcast_to(model.gravity, q.shape), model.targets)
        new = polish(system, frame, within=1e-7, most=100).q
        q, v = new, (new - q) / h if k < steps // 2 else np.zeros(q.shape)
    return q
