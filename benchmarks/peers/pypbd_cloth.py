"""The tablecloth by pyPBD, the Python interface of PositionBasedDynamics; its constraints run in OpenMP threads.

Springs are its XPBD distance constraints, with our stiffness. Its XPBD bending takes the quadratic energy C of a hinge
as the constraint, so what it minimises is k/2 C², which grows with the fourth power of the angle: k is such that it
equals ours where the sheet is bent to a radius of 10 cm. Air is a factor on velocities after each frame, which is not
timed, because they can be set one by one only.
"""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
import pypbd as pbd
from problem import FRAME_S, Problem, Running, fitting, serve, some

USUAL_STEPS = 33  # its demos take five substeps of 1 ms, one iteration each
RADIUS = 0.1  # m, of the bend at which energies agree


def start(problem: Problem, substeps: int, iterations: int = 1) -> Running:
    simulation = pbd.Simulation.getCurrent()
    simulation.initDefault()
    model = simulation.getModel()
    model.addTriangleModel(list(problem.vertices), problem.triangles.ravel().tolist())
    particles = model.getParticles()
    masses = problem.masses.copy()
    masses[problem.pinned] = 0.0
    for k, mass in enumerate(masses):
        particles.setMass(k, mass)
    for a, b in problem.edges.tolist():
        model.addDistanceConstraint_XPBD(a, b, problem.stretch)
    theta = problem.spacing / RADIUS
    shape = problem.hinge_stiffness() / problem.bend  # C = shape/2 θ², so k/2 C² = bend C
    for (v0, v1, v2, v3), k in zip(problem.hinges.tolist(), 4 * problem.bend / (shape * theta**2), strict=True):
        model.addIsometricBendingConstraint_XPBD(v2, v3, v0, v1, k)
    stepper, clock = simulation.getTimeStep(), pbd.TimeManager.getCurrent()
    clock.setTimeStepSize(FRAME_S)
    stepper.setValueUInt(pbd.TimeStepController.NUM_SUB_STEPS, substeps)
    stepper.setValueUInt(pbd.TimeStepController.MAX_ITERATIONS, iterations)
    keep = 1.0 / (1.0 + problem.air * FRAME_S)

    def air() -> None:
        for k in range(problem.n):
            particles.setVelocity(k, keep * particles.getVelocity(k))

    def positions() -> np.ndarray:
        return np.array(particles.getVertices())

    setting = f"XPBD, {some(substeps, 'step')} x {some(iterations, 'iteration')}"
    return Running(lambda: stepper.step(model), positions, setting, untimed=air)


def fit(problem: Problem):
    work = fitting(lambda k: start(problem, k), [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 25, 30, 50, 100, 200])
    return lambda: start(problem, work)


SETTINGS = {
    "xpbd": lambda problem: lambda: start(problem, USUAL_STEPS),
    "xpbd-iterations": lambda problem: lambda: start(problem, 5, 10),
    "xpbd-fit": fit,
}

if __name__ == "__main__":
    serve("pyPBD", lambda: version("pypbd"), SETTINGS, threads=2)
