"""Force against stretch of a box that is pulled, against the curve of its material [fratarcangeli2018, Fig. 20].

    python benchmarks/force_stretch.py [--out force_stretch.png]

Both ends of a box are pulled by the force that its material's own curve (`vivace.hyperelastic.uniaxial`) says, spread
over the faces by their area; its sides are free. Steps of a second without velocities lead to where it is at rest. What
is told is how far the force of the stretch that it ends with is from the one that pulled it.
"""

from __future__ import annotations

import argparse

import numpy as np

from vivace import Budget, Model, Simulation, mesh
from vivace.hyperelastic import HYPERELASTIC, uniaxial
from vivace.model.materials import MATERIALS
from vivace.pictures.plots import Panel, panel_grid

SIZE = (0.4, 0.2, 0.2)
CURVE = "its material's curve"
NEAR = 1e-5  # of a stretch: at rest, if a step changes it by less


def face_areas(body: mesh.Mesh, name: str) -> np.ndarray:
    """(n,) a third of the area of the triangles of a face around each vertex, m²."""
    on = np.isin(body.triangles, body.groups[name]).all(axis=1)
    a, b, c = body.vertices[body.triangles[on]].transpose(1, 0, 2)
    share = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 6
    return np.bincount(body.triangles[on].ravel(), np.repeat(share, 3), minlength=body.n_vertices)


def pulled(model: Model, stresses: np.ndarray, solver: str, iterations: int, most: int) -> np.ndarray:
    """The stretch under each nominal stress (Pa), one after the other."""
    body = model.mesh
    left, right = (face_areas(body, name) for name in ("left", "right"))
    sim = Simulation(model, solver=solver, budget=Budget(iterations=iterations, tolerance=1e-7), time_step=1.0)
    found = []
    for stress in stresses:
        before = np.inf
        for _ in range(most):
            sim.apply_forces(stress * np.outer(right - left, [1.0, 0.0, 0.0]))
            sim.velocities = np.zeros((model.n, 3))
            sim.step()
            q = sim.positions.astype(np.float64)
            stretch = float((right @ q[:, 0]) / right.sum() - (left @ q[:, 0]) / left.sum()) / SIZE[0]
            if abs(stretch - before) < NEAR:
                break
            before = stretch
        found.append(stretch)
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--materials", default=",".join(HYPERELASTIC))
    parser.add_argument("--resolution", type=int, default=5, help="vertices across")
    parser.add_argument("--largest", type=float, default=1.8, help="stretch")
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--solver", default="newton-multigrid")
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--most", type=int, default=60, help="steps for each force")
    parser.add_argument("--out", help="draw the curves (.png, .pdf or .svg)")
    given = parser.parse_args()
    n = given.resolution
    body = mesh.bar(2 * n - 1, n, n, SIZE)
    area, panels = SIZE[1] * SIZE[2], []
    for name in given.materials.split(","):
        material = MATERIALS[name](young=1e5, poisson=0.4)
        density, constants = HYPERELASTIC[name], material.constants
        stretches = np.linspace(1.0, given.largest, given.count + 1)[1:]
        stresses = uniaxial(density, constants, stretches)[0]
        known = np.isfinite(stresses)
        stretches, stresses = stretches[known], stresses[known]
        model = Model.of(body, material, gravity=(0, 0, 0))
        found = pulled(model, stresses, given.solver, given.iterations, given.most)
        implied = uniaxial(density, constants, found)[0]
        off = np.abs(implied / stresses - 1)
        pairs = ", ".join(f"{a * area:.0f} N: {b:.4f}" for a, b in zip(stresses, found, strict=True))
        print(f"{name:20s} {pairs}; forces off by {100 * off.max():.2g} % at most", flush=True)
        fine = np.linspace(1.0, float(stretches.max()), 60)
        curve = fine, uniaxial(density, constants, fine)[0] * area / 1e3
        lines = {CURVE: curve, "a box that is pulled": (np.append(1.0, found), np.append(0.0, stresses * area / 1e3))}
        panels.append(Panel(lines, name, "stretch", "force (kN)", linear=True, reference=CURVE))
    if given.out:
        panel_grid(given.out, [panels[k : k + 3] for k in range(0, len(panels), 3)])
        print(f"drawn: {given.out}")


if __name__ == "__main__":
    main()
