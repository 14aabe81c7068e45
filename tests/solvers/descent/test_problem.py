"""What descent methods see of a step: the residual is minus the gradient, and changes of ε are those of float64."""

import numpy as np
import pytest

from solvers.descent.bodies import MATERIALS, cube, frame_of, strained, tangled
from solvers.rounding import U, rows
from vivace import Cloth, Model, mesh
from vivace.solvers.descent.problem import Problem
from vivace.solvers.projective.layout import Layout
from vivace.solvers.projective.potentials import Beginning


def problem_at(system, frame, q, threads=1):
    """The problem with the layout at q (n, 3), and the residual taken."""
    layout = Layout(system, np.arange(system.n)[::-1].copy(), threads, potentials=True)
    Beginning(layout.potentials, layout.q, layout.order, threads)(system, frame)
    layout.load(rows(q), rows(system.constant(frame)))
    problem = Problem(layout)
    problem.look()
    return problem


def in_mesh_order(problem, array):
    out = np.empty((len(array), 3))
    out[problem.layout.order] = array[:, :3]
    return out


@pytest.mark.slow
@pytest.mark.parametrize("name", MATERIALS)
@pytest.mark.parametrize("untangle", [True, False])
@pytest.mark.parametrize("state", [strained, tangled])
def test_the_residual_is_minus_the_gradient(name, state, untangle):
    """r = -∇ε(q) to some ulps of the largest force on a vertex, for converted and held elements, too."""
    model = cube(name, early=True, pinned=True, untangle=untangle)
    system, frame = frame_of(model, state(model, 1))
    problem = problem_at(system, frame, frame.start)
    q = in_mesh_order(problem, problem.q)
    gradient = system.gradient(q, frame)
    forces = np.abs(gradient).max() + float((system.diagonal * np.linalg.norm(q, axis=1)).max())
    assert np.abs(in_mesh_order(problem, problem.r) + gradient).max() <= 32 * U * forces
    assert np.abs(gradient).max() > 1e3 * 32 * U * forces  # the test can tell


@pytest.mark.slow
@pytest.mark.parametrize("name", MATERIALS)
@pytest.mark.parametrize("untangle", [True, False])
@pytest.mark.parametrize("size", [1e-3, 1e-1, 1.0])
def test_changes_of_energy_are_those_of_float64(name, size, untangle):
    """ε(q) - ε(old), without the difference of two large numbers: to 3e-4 of the work, for small steps and large ones.

    In tangles float64's own difference has to be right: sizes are such that the change is not lost in ε.
    """
    model = cube(name, early=True, pinned=True, untangle=untangle)
    system, frame = frame_of(model, tangled(model, 2))
    problem = problem_at(system, frame, frame.start)
    old = in_mesh_order(problem, problem.q)
    problem.mark()
    move = size * 0.02 * np.random.default_rng(3).normal(size=(system.n, 4)).astype(np.float32)
    move[:, 3] = 0.0
    problem.q += move
    problem.look()
    new = in_mesh_order(problem, problem.q)
    before, after = system.energy(old, frame), system.energy(new, frame)
    change, _ = problem.change()
    work = float(np.abs(move * (np.abs(problem.r) + np.abs(problem.r_old))).sum())
    assert change == pytest.approx(after - before, abs=3e-4 * work + 1e-12 * abs(before))
    assert abs(after - before) > 1e-3 * work  # not nothing beside nothing


@pytest.mark.slow
def test_changes_of_energy_of_springs():
    """The same for cloth: what the trapezium rule makes too much of springs that turn is taken off."""
    model = Model.of(mesh.cloth(6, 6), Cloth(density=0.3, stretch=1e3)).pin("corners")
    rng = np.random.default_rng(0)
    system, frame = frame_of(model, model.mesh.vertices + 0.05 * rng.normal(size=(36, 3)))
    problem = problem_at(system, frame, frame.start)
    old = in_mesh_order(problem, problem.q)
    problem.mark()
    problem.q[:, :3] += 0.05 * rng.normal(size=(36, 3)).astype(np.float32)
    problem.look()
    expected = system.energy(in_mesh_order(problem, problem.q), frame) - system.energy(old, frame)
    assert problem.change()[0] == pytest.approx(expected, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", MATERIALS)
def test_the_preconditioner_is_the_diagonal_of_the_hessian(name):
    """P_ii = ∂²ε/∂q_i² near rest, where nothing curves downwards; by differences of the gradient in float64."""
    model = cube(name, n=3)
    q = model.mesh.vertices + 1e-4 * np.random.default_rng(0).normal(size=(model.n, 3))
    system, frame = frame_of(model, q)
    problem = problem_at(system, frame, q)
    problem.precondition()
    diagonal, step = in_mesh_order(problem, problem.scale), 1e-5
    for i, axis in ((0, 0), (13, 1), (20, 2)):
        ends = [q.copy(), q.copy()]
        ends[0][i, axis] -= step
        ends[1][i, axis] += step
        low, high = (system.gradient(end, frame)[i, axis] for end in ends)
        curvature = (high - low) / (2 * step)
        assert diagonal[i, axis] == pytest.approx(curvature, rel=2e-2)  # without singular values 1 % is left out
