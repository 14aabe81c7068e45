"""Whether the energy of a step ever rises within it: hyperelastic bodies that swing hard, without any damping.

    python benchmarks/descent_energy.py [--frames 300] [--iterations 1,4,16,96] [--solvers ...] [--materials ...]

A bar of 225 vertices, held at one end and thrown around it at 30 rad/s, h = 1/30 s. For every solver, material and
number of iterations: whether all was finite, the largest ε(end) - ε(start) of a frame in float64, relative to ε(start)
and the kinetic energy together, and how high stored, kinetic and gravity's energy came in all, in units of what they
were.
ε(start) is where the solver began: at the first guess, or at the last positions if the guess was far too high.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

import vivace as vv
from vivace.solvers.projective.potentials import far_too_high, last_positions

H = 1 / 30  # s
SPIN = 30.0  # rad/s
MATERIALS = {
    "stvk": vv.stvk,
    "neo-hookean": vv.neo_hookean,
    "mooney-rivlin": vv.mooney_rivlin,
    "fung": vv.fung,
    "corotated": vv.corotated,
    "stable-neo-hookean": vv.stable_neo_hookean,
}
DIRECTIONS = ("gradient", "nonlinear-cg", "l-bfgs", "newton", "gauss-seidel")
SOLVERS = ("descent", *(f"descent:direction={name}" for name in DIRECTIONS), "newton-multigrid")


def body(material: str) -> vv.Model:
    """The bar, held at its left end."""
    made = vv.Model.of(vv.mesh.bar(9, 5, 5, (0.8, 0.3, 0.3)), MATERIALS[material](young=1e5, poisson=0.4))
    x = made.mesh.vertices[:, 0]
    return made.pin(np.flatnonzero(x <= x.min() + 1e-6))


def swing(model: vv.Model, solver: str, iterations: int, frames: int) -> tuple[bool, float, float]:
    """Whether all stays finite, the largest relative rise within a frame, and the highest total energy."""
    sim = vv.Simulation(model, solver=solver, budget=vv.Budget(iterations=iterations), time_step=H, substeps=1)
    rest, rise, highest = model.mesh.vertices, -np.inf, 0.0
    sim.velocities = np.cross([0.0, 0.3 * SPIN, SPIN], rest - rest[model.pinned].mean(axis=0))

    def total() -> float:
        q, v = sim.positions.astype(np.float64), sim.velocities.astype(np.float64)
        falling = -float(model.masses @ (q - rest) @ model.gravity)
        return moving(model, v) + model.terms[0].energy(q, None) + falling

    first = total()
    for _ in range(frames):
        v = sim.velocities.astype(np.float64)
        report = sim.step()
        if not report.finite:
            return False, np.inf, np.inf
        system, frame = sim.system, report.frame
        begun = last_positions(system, frame)[:, :3] if far_too_high(system, frame) else frame.start
        start, end = (system.energy(q.astype(np.float64), frame) for q in (begun, report.positions))
        rise = max(rise, (end - start) / (start + moving(model, v)))
        highest = max(highest, total() / first)
    return True, rise, highest


def moving(model: vv.Model, v: np.ndarray) -> float:
    """Kinetic energy (J)."""
    return 0.5 * float(model.masses @ np.square(v).sum(axis=1))


def main() -> None:
    """Run all and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=300)
    parser.add_argument("--iterations", default="1,4,16,96")
    parser.add_argument("--solvers", default=" ".join(SOLVERS), help="with blanks between them")
    parser.add_argument("--materials", default=",".join(MATERIALS))
    parser.add_argument("--factorised", type=int, default=4, help="most iterations of direction newton")
    given = parser.parse_args()
    print(f"{'solver':30} {'material':20} iterations  largest rise in a frame  highest total energy")
    worst = -np.inf
    for solver in given.solvers.split():
        for material in given.materials.split(","):
            for iterations in map(int, given.iterations.split(",")):
                if solver.endswith("=newton") and iterations > given.factorised:
                    continue
                finite, rise, highest = swing(body(material), solver, iterations, given.frames)
                worst = max(worst, rise)
                told = f"{rise:24.2e} {highest:21.3f}" if finite else "not finite"
                print(f"{solver:30} {material:20} {iterations:10} {told}", flush=True)
    print(f"largest of all: {worst:.2e}")
    sys.exit(0 if np.isfinite(worst) else 1)


if __name__ == "__main__":
    main()
