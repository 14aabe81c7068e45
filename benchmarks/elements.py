"""Passes over hyperelastic elements, eight at a time and one after the other, in one run.

    python benchmarks/elements.py [--resolution 22] [--materials neo-hookean,stvk] [--repeat 30]

Prints nanoseconds for each tetrahedron, one thread: the least of many runs in turns, and the ratio. Forces are what
every iteration of a descent method takes; "judged" is how far the energy has fallen; curvature is what a Hessian takes.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np

import vivace as vv
from vivace.backends.cpu.executor import Plan
from vivace.hyperelastic import HYPERELASTIC, Hyperelastic
from vivace.solvers.projective.potentials import Potential

MATERIALS = "neo-hookean", "stable-neo-hookean", "fung", "mooney-rivlin", "stvk"


def plans(mesh: vv.mesh.Mesh, name: str, eights: bool) -> dict[str, Plan]:
    """The passes over a body that is somewhat out of shape."""
    density, n = HYPERELASTIC[name], mesh.n_vertices
    term = Hyperelastic(mesh, replace(density, eights=eights), density.of_moduli(1e5, 0.4))
    counts = np.bincount(mesh.tets.ravel(), minlength=n)
    cursor = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int32)
    q, shares = np.zeros((n, 4), np.float32), np.zeros((4 * len(mesh.tets), 4), np.float32)
    edge = np.linalg.norm(np.diff(mesh.vertices[mesh.tets[0][:2]], axis=0))
    q[:, :3] = mesh.vertices + 0.05 * edge * np.random.default_rng(0).normal(size=(n, 3))
    potential = Potential(term, np.arange(n, dtype=np.int32), cursor, q, shares)
    passes = {
        "forces": potential.local_phases(),
        "judged": [potential.judging(q + np.float32(0.001 * edge))[0]],
        "energy": [potential.storing()[0]],
        "diagonal": potential.diagonal(np.zeros_like(shares), np.zeros_like(shares)),
        "curvature": potential.pairs(np.zeros((18 * potential.count, 4), np.float32)),
    }
    return {what: Plan(phases, 1) for what, phases in passes.items()}


def main() -> None:
    """Time all in turns, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--resolution", type=int, default=22, help="vertices along each side of a cube (default 22)")
    parser.add_argument("--materials", default=",".join(MATERIALS))
    parser.add_argument("--repeat", type=int, default=30)
    given = parser.parse_args()
    mesh = vv.mesh.cube(given.resolution)
    print(f"{len(mesh.tets)} tetrahedra; ns for each, eight at a time / one by one (ratio)")
    for name in given.materials.split(","):
        both = [plans(mesh, name, eights) for eights in (True, False)]
        told = []
        for what in both[0]:
            spent = np.full((2, given.repeat), np.inf)
            for turn in range(given.repeat):
                for way, made in enumerate(both):
                    clock = time.perf_counter_ns()
                    made[what].run()
                    spent[way, turn] = (time.perf_counter_ns() - clock) / len(mesh.tets)
            fast, slow = spent.min(axis=1)
            told.append(f"{what} {fast:.0f} / {slow:.0f} ({slow / fast:.1f})")
        print(f"{name:20} {'   '.join(told)}", flush=True)


if __name__ == "__main__":
    main()
