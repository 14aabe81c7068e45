"""The matrices of newton-multigrid: the Hessian, Galerkin's coarse levels, and a cycle over them."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from solvers.operators import prepared
from solvers.projective.kernels.block_twins import symmetric
from solvers.projective.newton_problems import NAME, H, U, at, fine_matrix, largest, level_matrix, states
from solvers.rounding import rows, small_scene
from vivace import Cloth, Model, Solid, System, Wire, mesh
from vivace.backends.cpu.executor import Plan
from vivace.energy.hessian import Hessian
from vivace.mesh import Mesh
from vivace.scenes import make_scene


@pytest.mark.parametrize("viscosity", [0.0, 0.01])
def test_hessian_of_cloth(viscosity):
    """Springs, hinges, pins, inertia and viscosity: `Hessian` in float64, to rounding, in every state."""
    model = Model.of(mesh.cloth(7, 7), Cloth(stretch=1e3, bend=1e-2), viscosity=viscosity).pin("top-corners")
    system = System(model, H)
    solver, hessian = prepared(NAME, system), Hessian(system)
    for frame in states(system):
        q = rows(frame.previous)[:, :3].astype(np.float64)  # directions of short springs depend on the last digits
        at(solver, system, frame, q)
        exact = hessian(q).toarray()
        np.testing.assert_allclose(fine_matrix(solver), exact, rtol=0, atol=60 * U * largest(exact))


def test_two_springs_between_the_same_vertices():
    """One that is stretched and one that is pressed: a pair has the curvature of both together, which is never less
    than nothing across, and that of `Hessian` where both are stretched."""
    wire = Mesh.from_edges([[0.0, 0, 0], [1.0, 0, 0]], [[0, 1]])
    model = Model.of(wire, Wire(stretch=100.0)).constrain("spring", [[0, 1]], 300.0, scale=0.5)
    system = System(model, H)
    solver = prepared(NAME, system)
    for length in (0.4, 0.9, 1.5):
        q = np.array([[0.0, 0, 0], [0.0, length, 0]])
        frame = system.frame(q, np.zeros_like(q), np.zeros_like(q), np.zeros((0, 3)))
        at(solver, system, frame, q)
        found = fine_matrix(solver)
        assert found[1, 4] == pytest.approx(-sum(g.weights[0] for g in system.springs), rel=1e-5)
        across = sum(g.weights[0] * (1 - g.parameters[0, 0] / length) for g in system.springs)
        assert -found[0, 3] == pytest.approx(max(across, 0.0), abs=1e-3)
        if length > 1:
            np.testing.assert_allclose(found, Hessian(system)(q).toarray(), rtol=0, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tet-strain", "tet-volume"])
def test_hessian_of_tetrahedra_at_rest(kind):
    """At F = R the blocks are the true ones: those of central differences of the gradient, whatever the rotation."""
    box = mesh.cube(3)
    turn, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))
    turn *= np.sign(np.linalg.det(turn))
    model = replace(Model.of(box, Solid()), groups=()).constrain(kind, box.tets, 1e3)
    system = System(model, H)
    solver, q = prepared(NAME, system), box.vertices @ turn.T
    frame = system.frame(q, np.zeros_like(q), np.zeros_like(q), np.zeros((0, 3)))
    at(solver, system, frame, q)
    exact = np.zeros((3 * system.n, 3 * system.n))
    for k in range(3 * system.n):
        more, less = q.copy(), q.copy()
        more.flat[k] += 1e-5
        less.flat[k] -= 1e-5
        exact[:, k] = (system.gradient(more, frame) - system.gradient(less, frame)).ravel() / 2e-5
    np.testing.assert_allclose(fine_matrix(solver), exact, rtol=0, atol=1e-5 * largest(exact))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tablecloth", "bar", "armadillo"])
def test_coarse_matrices_are_galerkins(name):
    """Level by level PᵀHP, with pins outside of all aggregates and inside."""
    system = System(small_scene(name).model, H)
    solver = prepared(NAME, system)
    frame = next(states(system))
    at(solver, system, frame, frame.s)
    levels = solver.levels.levels
    assert len(levels) > 1
    above = level_matrix(levels[0], symmetric(levels[0].ties))
    for level, below in pairwise(levels):
        starts, columns, weights = level.down[0]
        p = np.zeros((level.n, below.n))
        p[np.repeat(np.arange(level.n), np.diff(starts)), columns] = weights
        wide = np.kron(p, np.eye(3))
        found = level_matrix(below, symmetric(below.ties))
        expected = wide.T @ above @ wide
        np.testing.assert_allclose(found, expected, rtol=0, atol=3e-5 * largest(expected))
        above = found


@pytest.mark.parametrize("stretch", [1e2, 1e4, 1e6])
def test_the_cycle_is_symmetric_and_positive(stretch):
    """x·My = y·Mx and x·Mx > 0, to what float32 leaves of the sums."""
    system = System(make_scene("tablecloth", resolution=15, stretch=stretch).model, H)
    solver = prepared(NAME, system)
    r, e = np.zeros((2, system.n, 4), np.float32)
    plan = Plan(solver.levels.cycle(r, e), 1)
    rng = np.random.default_rng(0)

    def cycle(x):
        r[:, :3] = x
        plan.run()
        return e[:, :3].astype(np.float64)

    for frame in list(states(system))[:3]:
        at(solver, system, frame, frame.s)
        for _ in range(3):
            x, y = rng.normal(size=(2, system.n, 3))
            mx, my = cycle(x), cycle(y)
            size = np.sqrt(np.sum(x * mx) * np.sum(y * my))
            assert abs(np.sum(x * my) - np.sum(y * mx)) <= 1e-3 * size
            assert np.sum(x * mx) > 0
