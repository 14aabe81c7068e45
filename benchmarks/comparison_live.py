"""Live runs for `comparison.py`: each solver in its own simulation, under a budget of milliseconds."""

from __future__ import annotations

import numpy as np

from vivace import Report, Simulation
from vivace.bench.compare import Curve
from vivace.bench.run import relative_gradient, sampled_frames, settle
from vivace.energy.system import Frame, System
from vivace.scenes import Scene
from vivace.solvers import (
    Budget,
    Deadline,
    Reference,
    Solver,
    make_solver,
    minimise,
    relative_error,
)

WARM_UP = 3
FOR_CLOTH, FOR_SOLIDS = 1000, 150  # iterations that leave relative energy errors of 1e-4 or less, as far as we saw


def live(scene: Scene, solver: str, ms: float, frames: int, samples: int) -> Curve:
    """As a curve of `bench.compare.compare`, but references start from a good guess: quicker, above all on cloth.

    It ends where the run is lost: some vertex has moved by ten sizes of the body more than it could by falling.
    """
    sim = scene.simulate(solver=solver, budget=ms)
    sim.prepare(wait=True)
    start = sim.positions, sim.velocities
    for _ in range(WARM_UP):
        sim.step()
    sim.positions, sim.velocities = start
    settle()
    chosen, sampled = set(sampled_frames(frames, samples)), dict[int, Report]()
    spent, sweeps, lost = [], [], 0
    for k in range(1, frames + 1):
        report = sim.step()
        spent.append(report.ms)
        sweeps.append(report.sweeps)
        if beyond(report.positions, start[0], k * scene.time_step, scene):
            lost = k
            break
        if k in chosen:
            sampled[k] = report
    errors, gradients = measured(sim, sampled)
    if lost:
        errors[lost] = gradients[lost] = np.inf
    return Curve(
        *(scene.name, solver, "live", Budget(ms=ms), scene.time_step),
        *(np.array(list(values)) for values in (errors, errors.values(), gradients.values(), sweeps, spent)),
        finite=not lost,
    )


def beyond(q: np.ndarray, start: np.ndarray, seconds: float, scene: Scene) -> bool:
    """Whether some vertex is farther from its start than ten sizes of the body and free fall together, or nowhere."""
    far = 10 * np.ptp(start, axis=0).max() + 0.5 * np.linalg.norm(scene.model.gravity) * seconds**2
    with np.errstate(all="ignore"):
        return not np.linalg.norm(q - start, axis=1).max() < far


def measured(sim: Simulation, sampled: dict[int, Report]) -> tuple[dict[int, float], dict[int, float]]:
    """Relative errors and gradients of some frames of a run, where there is anything to tell."""
    errors, gradients = {}, {}
    if sampled:
        helper = make_solver("lbfgs(direct):memory=10")
        helper.prepare(sim.system, threads=sim.threads, seed=0)
    for k, report in sampled.items():
        q, frame = report.positions.astype(np.float64), report.frame
        error = relative_error(sim.system, frame, q, converged(sim.system, frame, q, helper))
        if not np.isnan(error):
            errors[k], gradients[k] = error, relative_gradient(sim.system, frame, q)
    return errors, gradients


def converged(system: System, frame: Frame, q: np.ndarray, helper: Solver) -> Reference:
    """The step's minimum: many iterations of `helper` in float32, then the float64 reference from the lowest state."""
    iterations = FOR_SOLIDS if system.model.mesh.is_volumetric else FOR_CLOTH
    guesses = (frame.start, q, solved(helper, system, frame, iterations))
    return minimise(system, frame, min(guesses, key=lambda guess: system.energy(guess, frame)))


def solved(solver: Solver, system: System, frame: Frame, iterations: int) -> np.ndarray:
    """Where a prepared solver gets from a frame's first guess."""
    start, constant, out = (np.zeros((system.n, 4), np.float32) for _ in range(3))
    start[:, :3], constant[:, :3] = frame.start, system.constant(frame)
    solver.solve(start, constant, out, Deadline.of(Budget(iterations=iterations)))
    return out[:, :3].astype(np.float64)
