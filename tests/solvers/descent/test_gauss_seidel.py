"""Gauss-Seidel by 3 x 3 blocks on hyperelastic bodies: a sweep is what its equations say, and it cannot raise ε."""

from dataclasses import replace

import numpy as np
import pytest

import vivace as vv
from solvers.descent.bodies import MATERIALS, cube, frame_of, strained, tangled
from solvers.rounding import run
from vivace import Budget, InputError, Model, Simulation, mesh
from vivace.colouring import colour
from vivace.hyperelastic.term import Hyperelastic
from vivace.solvers import make_solver

PLAIN = "descent:direction=gauss-seidel,momentum=none"


def prepared(what, system, threads=1):
    solver = make_solver(what)
    solver.prepare(system, threads=threads, seed=0)
    return solver


def swept(system, frame):
    """One sweep in float64, as slowly as can be: for each vertex the gradient and the diagonal blocks of everything."""
    model = system.model
    term, q = model.terms[0], frame.start.copy()
    colours = colour(*system.graph, "greedy-smallest-last", check=False).colours
    own = system.inertia + system.pin_weight
    q -= system.gradient(q, frame).sum(axis=0) / own.sum()  # the body as a whole
    for one in range(colours.max() + 1):
        mine = colours == one
        gradient, blocks = system.gradient(q, frame), term.diagonal_blocks(q) + own[:, None, None] * np.eye(3)
        step = np.linalg.solve(blocks[mine], -gradient[mine][..., None])[..., 0]
        q[mine] += step
    return q


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "strain", "near"), [("stvk", 1.0, 1e-4), ("mooney-rivlin", 1.0, 1e-4), ("neo-hookean", 0.1, 0.02)]
)
def test_a_sweep_is_newtons_step_at_each_vertex(name, strain, near):
    """Against the sweep in float64, near rest where no step has to be halved: to rounding.

    Neo-Hookean has its curvature without stretches, whose positive part is not exactly the true one: the less it is
    strained the nearer (`tests/hyperelastic/test_phases.py`).
    """
    model = cube(name, n=3, pinned=True)
    rest = model.mesh.vertices
    system, frame = frame_of(model, rest + strain * (strained(model, noise=0.003) - rest))
    found, expected = run(prepared(PLAIN, system), system, frame, 1), swept(system, frame)
    assert np.abs(found - expected).max() < near * np.abs(expected - frame.start).max()


@pytest.mark.slow
@pytest.mark.parametrize("name", MATERIALS)
def test_no_sweep_raises_the_energy_whatever_the_state(name):
    """From tangles, with blocks that are 32 sweeps old: ε after k sweeps falls with k."""
    model = cube(name, n=3, early=True, pinned=True)
    system, frame = frame_of(model, tangled(model, 2))
    solver = prepared(PLAIN, system)
    energies = [system.energy(frame.start, frame)]
    for k in (1, 2, 5, 12):
        solver.forget()
        energies.append(system.energy(run(solver, system, frame, k), frame))
    assert (np.diff(energies) < 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("momentum", ["chebyshev", "none"])
def test_threads_and_states(momentum):
    """1 and 2 threads, and a state that was taken between two steps, give the same bits; 343 vertices."""
    model = cube("neo-hookean", n=7, pinned=True)
    what = f"descent:direction=gauss-seidel,momentum={momentum}"
    found, state = [], None
    for threads in (1, 2):
        sim = Simulation(model, solver=what, budget=Budget(iterations=9), threads=threads)
        sim.positions = strained(model)
        for frame in range(4):
            state = sim.state if frame == 2 else state
            sim.step()
        found.append(sim.positions)
    other = Simulation(model, solver=what, budget=Budget(iterations=9), threads=1)
    other.state = state
    for _ in range(2):
        other.step()
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], other.positions)


@pytest.mark.slow
def test_two_bodies_of_two_materials():
    """Each vertex by the density of its body: the minimum is Newton's. Vertices of two densities are refused."""
    parts = mesh.join([mesh.cube(3, 0.2), mesh.cube(3, 0.2).transformed(translate=(1, 0, 0))])
    half = len(parts.tets) // 2
    first, second = (
        mesh.Mesh(parts.vertices, parts.triangles, tets) for tets in (parts.tets[:half], parts.tets[half:])
    )
    model = replace(Model.of(parts), groups=(), terms=())
    model = model.add(Hyperelastic(first, "stvk", (1e4, 2e4))).add(Hyperelastic(second, "neo-hookean", (1e4, 2e4)))
    model = model.pin(np.flatnonzero(parts.vertices[:, 1] > 0.099))
    system, frame = frame_of(model, strained(model, noise=0.002))
    newton = prepared("newton", system)
    newton.see(frame)
    best, first_energy = system.energy(run(newton, system, frame, 20), frame), system.energy(frame.start, frame)
    found = system.energy(run(prepared("descent:direction=gauss-seidel", system), system, frame, 100), frame)
    assert found - best < 1e-4 * (first_energy - best)
    both = model.add(Hyperelastic(first, "corotated", (1e4, 2e4)))
    with pytest.raises(InputError, match="belong to two hyperelastic terms"):
        prepared("descent:direction=gauss-seidel", frame_of(both, parts.vertices)[0])


def test_cloth_is_sent_to_block_descent():
    with pytest.raises(InputError, match="block-descent"):
        prepared(PLAIN, vv.System(Model.of(mesh.cloth(4, 4)), 1 / 30))
