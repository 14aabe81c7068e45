"""Position based solvers: what they conserve, where they converge to, what their options do."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from vivace import Budget, Cloth, InputError, Jelly, Model, Simulation, Wire, mesh
from vivace.colouring import is_valid_constraint_colouring
from vivace.constraints import make_group
from vivace.mesh import Mesh
from vivace.solvers import Deadline, make_solver
from vivace.solvers.pbd_coloured import PbdColoured
from vivace.system import project, values

from .rounding import U, measure

SOLVERS = ["pbd", "pbd-coloured", "pbd-coloured:together=True", "pbd-jacobi", "pbd-vivace"]
CONSERVING = ["pbd", "pbd-coloured", "pbd-coloured:together=True", "pbd-jacobi:alpha=0.1"]
KINDS = [
    *("spring", "hinge", "curved-hinge", "volume", "dihedral", "tet-strain", "tet-volume", "weld", "attachment"),
]
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


# --- conservation -----------------------------------------------------------------------------------------------------


def of_kind(name, seed=0) -> Model:
    """A body held together by one kind of constraint alone, with masses from 0.1 to 10, without gravity."""
    rng = np.random.default_rng(seed)
    if name in ("volume", "tet-strain", "tet-volume"):
        body = mesh.cube(3)
        tables = body.tets
    else:
        flat = mesh.cloth(5, 4, irregular=True)
        rest = flat.vertices.copy()
        if name in ("curved-hinge", "dihedral"):
            rest[:, 1] = 0.2 * np.sin(4 * rest[:, 0])
        body = Mesh.from_triangles(rest, flat.triangles)
        tables = body.edges if name in ("spring", "weld") else body.hinges
    group = make_group(name, body.vertices, tables, rng.uniform(10, 100, len(tables)))
    return Model(body, np.exp(rng.uniform(np.log(0.1), np.log(10), body.n_vertices)), (group,), np.zeros(3))


def gradients(group, q):
    """∇C of every constraint, (m, k, 3), in float64."""
    if group.kind.evaluate is not None:
        return values(group, q)[1]
    z = measure(group, q)
    p = project(group, z.reshape(-1, 3)).reshape(z.shape) if group.kind.project is not None else np.zeros_like(z)
    size = np.sqrt(((z - p) ** 2).sum(axis=(1, 2)))
    return np.einsum("mrk,mrc->mkc", group.operator, z - p) / size[:, None, None]


@pytest.mark.parametrize("name", KINDS)
def test_corrections_of_a_constraint_conserve_both_momenta(name):
    """Δx_k = w_k Δλ ∇_k C: Σ m Δx = Δλ Σ ∇_k C = 0 and Σ m x × Δx = Δλ Σ x_k × ∇_k C = 0, in float64."""
    model = of_kind(name)
    group = model.groups[0]
    q = model.mesh.vertices + 0.1 * np.random.default_rng(1).normal(size=(model.n, 3))
    slopes, x = gradients(group, q), q[group.vertices]
    size = np.abs(slopes).sum(axis=(1, 2))
    reach = np.maximum(size, np.abs(group.operator).sum(axis=(1, 2)) if group.kind.rows else size)
    assert (size > 0).all()
    assert (np.abs(slopes.sum(axis=1)).max(axis=1) <= 1e-13 * reach).all()
    assert (np.abs(np.cross(x, slopes).sum(axis=1)).max(axis=1) <= 1e-11 * reach).all()


def momentum_lost(model, solver, iterations=10):
    """|Σ m (v' - v)|, and what float32 can do to it: each visit of a vertex rounds its position, and Δx of its corners."""
    rng = np.random.default_rng(2)
    positions = model.mesh.vertices + 0.1 * rng.normal(size=(model.n, 3))
    velocities = rng.normal(size=(model.n, 3))
    sim, report = step(model, solver, iterations, positions=positions, velocities=velocities)
    before = model.masses @ velocities.astype(np.float32).astype(np.float64)
    after = model.masses @ sim.velocities.astype(np.float64)
    visits = iterations * np.bincount(model.groups[0].vertices.ravel(), minlength=model.n) + 2
    assert report.finite
    assert np.abs(sim.velocities - velocities).max() > 0.1  # the constraints have done something
    return np.abs(after - before).max(), 4 * U * np.abs(positions).max() * float(model.masses @ visits) / H


@pytest.mark.parametrize("solver", CONSERVING)
@pytest.mark.parametrize("name", KINDS)
def test_steps_conserve_linear_momentum(name, solver):
    """Σ m v is the same after a step, whatever the masses."""
    lost, rounding = momentum_lost(of_kind(name), solver)
    assert lost <= rounding


@pytest.mark.parametrize("solver", ["pbd-jacobi", "pbd-vivace"])
def test_corrections_that_are_averaged_do_not_conserve_it(solver):
    """A vertex of 3 constraints takes a third of each, one of 6 a sixth: what one end gains the other does not lose."""
    lost, rounding = momentum_lost(of_kind("spring"), solver)
    assert lost > 10 * rounding


# --- one constraint, one iteration ------------------------------------------------------------------------------------


def stretched_pair(masses, stiffness=100.0):
    """A spring of 1 m, stretched to 1.4 m."""
    model = Model.of(Mesh.from_edges(np.array([[0.0, 0, 0], [1, 0, 0]]), [[0, 1]]), Wire(stretch=stiffness))
    model = replace(model, masses=np.array(masses), gravity=np.zeros(3))
    return model, np.array([[0.0, 0, 0], [1.4, 0, 0]])


@pytest.mark.parametrize("kappa", [0.0, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("masses", [(1.0, 1.0), (1.0, 3.0), (0.01, 20.0)])
def test_stiffness_moves_each_end_by_its_share(masses, kappa):
    """Δx_k = -κ w_k/(w_0 + w_1) C ∇_k C [fratarcangeli2013, Eq. 6]: halves for equal masses; rounding 4 u."""
    model, q = stretched_pair(masses)
    for solver in ("pbd", "pbd-coloured", "pbd-jacobi", "pbd-jacobi:alpha=1.0", "pbd-vivace:plain=True"):
        sim, _ = step(model, (*make_name(solver), kappa), 1, positions=q)
        w = 1 / np.array(masses)
        expected = q[:, 0] + kappa * 0.4 * np.array([w[0], -w[1]]) / w.sum()
        if "vivace" in solver:  # one end after the other: the second sees what the first has left
            first, other = (0, 1) if sim.colouring.colours[0] == 0 else (1, 0)
            shares = w / w.sum()
            left = 0.4 * (1 - kappa * shares[first])
            signs = np.array([1.0, -1.0])
            expected = q[:, 0].copy()
            expected[first] += signs[first] * kappa * 0.4 * shares[first]
            expected[other] += signs[other] * kappa * left * shares[other]
        np.testing.assert_allclose(sim.positions[:, 0], expected, atol=8 * U * 1.4)
        np.testing.assert_array_equal(sim.positions[:, 1:], 0)


def make_name(text):
    """A solver's name as ("name", {options}) without its stiffness, which is added by `step`."""
    return (text,)


@pytest.fixture(autouse=True)
def _no_state():
    """Nothing: tests here share no state."""
