"""Position based solvers: what corrections conserve, and one iteration of one constraint in closed form."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solvers.position_based.bodies import SOLVERS, H, step, with_options
from solvers.rounding import U, measure
from vivace import Cloth, Model, Wire, mesh
from vivace.constraints import make_group
from vivace.energy.system import project, values
from vivace.mesh import Mesh

CONSERVING = ["pbd", "pbd-coloured", "pbd-coloured:together=True", "pbd-jacobi:alpha=0.1"]
KINDS = [
    *("spring", "hinge", "curved-hinge", "volume", "dihedral", "tet-strain", "tet-volume", "weld", "attachment"),
]


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
    """|Σ m (v' - v)|, and what float32 can do to it: each visit of a vertex rounds its position, and Δx."""
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
    assert lost > 3 * rounding


# --- one constraint, one iteration ------------------------------------------------------------------------------------


def stretched_pair(masses, stiffness=100.0):
    """A spring of 1 m, stretched to 1.4 m."""
    model = Model.of(Mesh.from_edges(np.array([[0.0, 0, 0], [1, 0, 0]]), [[0, 1]]), Wire(stretch=stiffness))
    model = replace(model, masses=np.array(masses), gravity=np.zeros(3))
    return model, np.array([[0.0, 0, 0], [1.4, 0, 0]])


@pytest.mark.parametrize("solver", ["pbd", "pbd-coloured", "pbd-jacobi", "pbd-jacobi:alpha=1.0"])
@pytest.mark.parametrize("kappa", [0.0, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("masses", [(1.0, 1.0), (1.0, 3.0), (0.01, 20.0)])
def test_stiffness_moves_each_end_by_its_share(masses, kappa, solver):
    """Δx_k = -κ w_k/(w_0 + w_1) C ∇_k C [fratarcangeli2013, Eq. 6]: halves for equal masses; to a few roundings."""
    model, q = stretched_pair(masses)
    sim, report = step(model, with_options(solver, stiffness=kappa), 1, positions=q)
    w = 1 / np.array(masses)
    np.testing.assert_allclose(sim.positions[:, 0], q[:, 0] + kappa * 0.4 * w * [1, -1] / w.sum(), atol=8 * U * 1.4)
    np.testing.assert_array_equal(sim.positions[:, 1:], 0)
    assert report.residual == pytest.approx(0.4, abs=4 * U * 1.4)


@pytest.mark.parametrize("kappa", [0.5, 1.0])
def test_vertex_by_vertex_the_second_sees_what_the_first_has_left(kappa):
    """pbd-vivace: the first end moves by κ C w_0/W, and then the second by its share of the rest."""
    model, q = stretched_pair((1.0, 3.0))
    sim, _ = step(model, with_options("pbd-vivace:plain=True", stiffness=kappa), 1, positions=q)
    shares, signs = np.array([0.75, 0.25]), np.array([1.0, -1.0])
    first, second = np.argsort(sim.colouring.colours)
    expected, left = q[:, 0].copy(), 0.4
    for end in (first, second):
        expected[end] += signs[end] * kappa * left * shares[end]
        left -= kappa * left * shares[end]
    np.testing.assert_allclose(sim.positions[:, 0], expected, atol=8 * U * 1.4)


@pytest.mark.parametrize("solver", ["pbd", "pbd-coloured", "pbd-jacobi", "pbd-jacobi:alpha=1.0"])
@pytest.mark.parametrize("stiffness", [1.0, 100.0, 1e6])
def test_compliance_solves_one_spring_at_once(stiffness, solver):
    """Δλ = -C/(w_0 + w_1 + α), α = 1/(k h²): implicit Euler's own solution, in one iteration; more change nothing."""
    model, q = stretched_pair((1.0, 3.0), stiffness)
    w, alpha = np.array([1.0, 1 / 3]), 1 / (stiffness * H**2)
    expected = q[:, 0] + 0.4 * w * [1, -1] / (w.sum() + alpha)
    for iterations in (1, 10):
        sim, _ = step(model, solver, iterations, positions=q)
        np.testing.assert_allclose(sim.positions[:, 0], expected, atol=16 * U * 1.4)


def test_bending_has_a_stiffness_of_its_own():
    """bend=0 leaves hinges out: the bits of a cloth without them; bend=None is the same as stiffness."""
    sheet = mesh.cloth(5, 5)
    whole, without = Model.of(sheet, Cloth()), Model.of(sheet, Cloth(bend=0.0))
    q = sheet.vertices + 0.05 * np.random.default_rng(0).normal(size=(25, 3))

    def positions(model, solver):
        return step(model, solver, 5, positions=q)[0].positions

    np.testing.assert_array_equal(positions(whole, "pbd:stiffness=0.5,bend=0"), positions(without, "pbd:stiffness=0.5"))
    np.testing.assert_array_equal(positions(whole, "pbd:stiffness=0.5,bend=0.5"), positions(whole, "pbd:stiffness=0.5"))
    assert (positions(whole, "pbd:stiffness=0.5") != positions(without, "pbd:stiffness=0.5")).any()


def test_constraints_without_stiffness_are_left_out():
    """The bits of the model without them."""
    sheet = mesh.cloth(4, 4)
    base = Model.of(sheet, Cloth(bend=0.0))
    stiffness = np.where(np.arange(len(sheet.hinges)) % 2, 0.0, 0.01)
    some = base.constrain("hinge", sheet.hinges, stiffness)
    fewer = base.constrain("hinge", sheet.hinges[stiffness > 0], 0.01)
    q = sheet.vertices + 0.05 * np.random.default_rng(0).normal(size=(16, 3))
    for solver in SOLVERS:
        results = [step(model, solver, 4, positions=q)[0].positions for model in (some, fewer)]
        if solver == "pbd-vivace":  # its colouring depends on the graph, which is the same
            np.testing.assert_allclose(*results, atol=1e-6)
        else:
            np.testing.assert_array_equal(*results)
