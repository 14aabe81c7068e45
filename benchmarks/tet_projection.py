"""Tetrahedra: project in a pass before each sweep, or inside the vertex update? The measurement behind the choice.

    python benchmarks/tet_projection.py [--mesh armadillo.msh] [--threads 2]

Inside the update every vertex sees rotations of the newest positions, but each rotation is computed once for each of
its four corners instead of once. Both share the four-at-a-time rotations of constraints/kernels/rotation.py.
"""

from __future__ import annotations

import argparse
import time
from itertools import pairwise

import numpy as np
from numba import njit

import vivace as vv
from vivace.backends.cpu.arguments import floats, ints, phase_kernel, rows
from vivace.backends.cpu.executor import Plan
from vivace.backends.cpu.simd import at, load4, store4
from vivace.constraints.kernels.rotation import gradient, rotation, rotations4
from vivace.scenes import make_scene
from vivace.solvers import minimise
from vivace.solvers.projective.vivace import Vivace


@phase_kernel(items="q")
def sweep_projecting(
    begin, end, iteration, other_at: ints, other_j: ints, other_a: floats, tie: floats, inverse: floats, constant: rows,
    q: rows, weights: floats, tet_at: ints, tet: ints, corner: ints, vertices: ints, operator: floats,
    stiffness: floats,
):  # fmt: skip
    """One colour: r_i = k (c - q_i) + Σ a_j (q_j - q_i) + Σ_tets w Aᵀ R(newest), then q_i += ω r_i / Y_ii."""
    omega = weights[min(iteration, weights.shape[0] - 1)]
    for i in range(begin, end):
        qi = load4(q, i)
        acc = load4(constant, i) - at(tie, i) * qi
        for k in range(at(other_at, i), at(other_at, i + 1)):
            acc += at(other_a, k) * (load4(q, at(other_j, k)) - qi)
        t = at(tet_at, i)
        last = at(tet_at, i + 1)
        while t < last:
            t1, t2, t3 = min(t + 1, last - 1), min(t + 2, last - 1), min(t + 3, last - 1)
            fa = gradient(at(tet, t), vertices, operator, q)
            fb = gradient(at(tet, t1), vertices, operator, q)
            fc = gradient(at(tet, t2), vertices, operator, q)
            fd = gradient(at(tet, t3), vertices, operator, q)
            certain, a, b, c, d = rotations4(fa, fb, fc, fd)
            if not certain:
                a, b, c, d = rotation(fa), rotation(fb), rotation(fc), rotation(fd)
            acc += _share(at(tet, t), at(corner, t), a, operator, stiffness)
            if t + 1 < last:
                acc += _share(at(tet, t1), at(corner, t1), b, operator, stiffness)
            if t + 2 < last:
                acc += _share(at(tet, t2), at(corner, t2), c, operator, stiffness)
            if t + 3 < last:
                acc += _share(at(tet, t3), at(corner, t3), d, operator, stiffness)
            t += 4
        store4(q, i, qi + (omega * at(inverse, i)) * acc)


@njit(inline="always")
def _share(t, k, r, operator, stiffness):
    w = at(stiffness, t)
    return (
        (w * at(operator, 12 * t + k)) * r[0]
        + (w * at(operator, 12 * t + 4 + k)) * r[1]
        + (w * at(operator, 12 * t + 8 + k)) * r[2]
    )


def projecting_plan(solver: Vivace, threads: int) -> Plan:
    """The plan that sweeps with projections inside the vertex update, on the arrays of a prepared solver."""
    layout = solver.layout
    local = layout.local_phases[0].arrays
    corners = local["vertices"].ravel()
    order = np.argsort(corners, kind="stable")
    arrays = {
        **sweep_projecting.select(layout.swept),
        "constant": layout.constant,
        "weights": solver.weights(),
        "tet_at": np.concatenate([[0], np.cumsum(np.bincount(corners, minlength=layout.n))]).astype(np.int32),
        "tet": (order // 4).astype(np.int32),
        "corner": (order % 4).astype(np.int32),
        "vertices": local["vertices"],
        "operator": local["operator"],
        "stiffness": local["weights"],
    }
    ends = pairwise(solver._pointers.tolist())
    return Plan([sweep_projecting.over(begin, end, **arrays) for begin, end in ends], threads)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mesh", default="")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    scene = make_scene("armadillo", path=arguments.mesh)
    sim = scene.simulate(budget=vv.Budget(iterations=60), threads=arguments.threads)
    for _ in range(15):
        report = sim.step()
    system, frame = sim.system, report.frame
    best = minimise(system, frame, start=report.positions.astype(float), accuracy=1e-7, most=3000).energy
    gap = system.energy(frame.start, frame) - best
    layout = sim.solver.layout
    plans = {
        "pass before each sweep": sim.solver._plan,
        "inside the update": projecting_plan(sim.solver, arguments.threads),
    }
    s, constant = (
        np.column_stack([x, np.zeros(len(x))]).astype(np.float32) for x in (frame.start, system.constant(frame))
    )
    out = np.zeros_like(s)
    print(f"{system.n} vertices, {len(scene.model.mesh.tets)} tetrahedra, {arguments.threads} threads")
    for name, plan in plans.items():
        spent = []
        for _ in range(9):
            layout.load(s, constant)
            begin = time.perf_counter()
            plan.run(10)
            spent.append((time.perf_counter() - begin) * 100)
        errors = []
        for count in (1, 2, 5, 10, 20, 40):
            layout.load(s, constant)
            plan.run(count)
            layout.store(out)
            errors.append((system.energy(out[:, :3].astype(float), frame) - best) / gap)
        low, middle, high = np.percentile(spent, [10, 50, 90])
        print(f"{name:24s} {middle:.3f} ms a sweep ({low:.3f} to {high:.3f}); relative error after")
        print(" " * 25 + ", ".join(f"{k} sweeps {e:.4f}" for k, e in zip((1, 2, 5, 10, 20, 40), errors, strict=True)))


if __name__ == "__main__":
    main()
