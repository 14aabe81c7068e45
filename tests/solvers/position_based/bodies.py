"""Bodies for position based solvers, and one step of them."""

from __future__ import annotations

import numpy as np

from vivace import Budget, Cloth, Jelly, Model, Simulation, Wire, mesh
from vivace.mesh import Mesh

SOLVERS = ["pbd", "pbd-coloured", "pbd-coloured:together=True", "pbd-jacobi", "pbd-vivace"]
H = 1 / 30


def step(model, solver, iterations, *, positions=None, velocities=None, **options):
    """One step from a given state: the simulation and its report."""
    sim = Simulation(model, solver=solver, budget=Budget(iterations=iterations), time_step=H, threads=1, **options)
    if positions is not None:
        sim.positions = positions
    if velocities is not None:
        sim.velocities = velocities
    return sim, sim.step()


def rope(springs, *, length=1.0, stiffness=20.0, density=1.0, **options) -> Model:
    """A rope that hangs down from the origin: `stiffness` EA (N), so that each of its springs has EA/l."""
    points = np.zeros((springs + 1, 3))
    points[:, 1] = -length * np.arange(springs + 1) / springs
    edges = np.stack([np.arange(springs), np.arange(1, springs + 1)], axis=1)
    return Model.of(
        Mesh.from_edges(points, edges), Wire(density=density, stretch=stiffness * springs / length), **options
    )


def with_options(solver, **options):
    """A solver's name with more options."""
    more = ",".join(f"{name}={value}" for name, value in options.items())
    return f"{solver}{',' if ':' in solver else ':'}{more}"


BODIES = {
    "cloth": lambda: Model.of(mesh.cloth(10, 10), Cloth()).pin("top-corners"),
    "bent cloth": lambda: Model.of(mesh.cloth(10, 10), Cloth(bend=1e-2, bending="dihedral")).pin("top-corners"),
    "jelly": lambda: Model.of(mesh.cube(4, side=0.5), Jelly()).pin([0, 1, 2]),
}
