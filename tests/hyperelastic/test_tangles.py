"""Tangles: which elements are held, to which rotation, and that all see the same energy."""

import dataclasses

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from solvers.descent.bodies import MATERIALS, cube, frame_of, strained, tangled
from solvers.rounding import run
from vivace import Budget, InputError, Model, Simulation, mesh
from vivace.hyperelastic import Conversion, polar_rotation
from vivace.hyperelastic.kernels.tangles import inverted, parts_of, widen
from vivace.hyperelastic.tangles import ENOUGH
from vivace.mesh.measure import tet_volumes
from vivace.solvers import make_solver


def turn(seed):
    """A rotation."""
    return polar_rotation(np.random.default_rng(seed).normal(size=(3, 3)))


def deformations(term, q):
    x = q[term.vertices]
    return (x[:, 1:] - x[:, :1]).transpose(0, 2, 1) @ term.elements.inverse.reshape(-1, 3, 3)


def partly(model, seed, inside):
    """Positions of a body turned, of which the vertices `inside` are anywhere in the box that these filled."""
    q = model.mesh.vertices @ turn(9).T
    low, high = q[inside].min(axis=0), q[inside].max(axis=0)
    q[inside] = np.random.default_rng(seed).uniform(low, high, (int(inside.sum()), 3))
    return q


# --- kernels and their twins ------------------------------------------------------------------------------------------


def test_inverted_is_a_volume_that_is_not_positive():
    body = mesh.cube(4)
    q = tangled(cube("stvk"), 0)
    q[0] = np.nan
    flags = np.zeros(len(body.tets), bool)
    count = inverted(q, body.tets.astype(np.int32).ravel(), flags)
    np.testing.assert_array_equal(flags, ~(tet_volumes(q, body.tets) > 0))
    assert 0 < count == flags.sum() < len(flags)


def test_widened_by_what_has_a_vertex_in_common():
    body = mesh.bar(9, 3, 3)
    flags = np.zeros(len(body.tets), bool)
    flags[[0, 70]] = True
    near = np.isin(body.tets, body.tets[flags]).any(axis=1)
    widen(body.tets.astype(np.int32).ravel(), flags, body.n_vertices)
    np.testing.assert_array_equal(flags, near)


def test_parts_are_connected_components():
    """Two elements are in a part if, and only if, a path of flagged elements leads from one to the other."""
    body, rng = mesh.cube(6), np.random.default_rng(0)
    for share in (0.02, 0.1, 0.3, 1.0):
        flags = rng.uniform(size=len(body.tets)) < share
        name = parts_of(body.tets.astype(np.int32).ravel(), flags, body.n_vertices)
        pairs = np.concatenate([body.tets[flags][:, [0, k]] for k in (1, 2, 3)])
        n = body.n_vertices
        expected = connected_components(coo_array((np.ones(len(pairs)), pairs.T), (n, n)), directed=False)[1]
        assert len(np.unique(name)) == expected.max() + 1
        assert len(np.unique(np.stack([name, expected]), axis=1).T) == expected.max() + 1
        assert (name <= np.arange(n)).all()


# --- what is held -----------------------------------------------------------------------------------------------------


def test_nothing_is_held_where_nothing_is_inverted():
    """A body pressed to 0.4 of its length, among others: curves of force against stretch are the material's."""
    model = cube("neo-hookean")
    pressed = model.mesh.vertices * [0.4, 1.1, 1.1]
    for q in (model.mesh.vertices, strained(model), pressed):
        assert model.terms[0].tangle(frame_of(model, q)[1]) is None
        assert (model.terms[0].converted(q) < 1).all()


def test_a_tangle_is_held_and_converted_says_so():
    model = cube("corotated")
    q = tangled(model, 0)
    tangle = model.terms[0].tangle(frame_of(model, q)[1])
    assert len(tangle.elements) == len(model.terms[0])
    assert (model.terms[0].converted(q) == 1).all()
    free = cube("corotated", untangle=False)
    assert free.terms[0].tangle(frame_of(free, q)[1]) is None
    assert (free.terms[0].converted(q) == 0).all()


def test_a_few_inverted_elements_are_no_tangle():
    """One vertex pushed through the element below it: less than a fifth of its part is inverted."""
    model = cube("neo-hookean", n=6)
    term, q = model.terms[0], model.mesh.vertices.copy()
    middle = int(np.argmin(np.linalg.norm(q - q.mean(axis=0), axis=1)))
    q[middle] += [0.07, 0.0, 0.0]
    volumes = tet_volumes(q, model.mesh.tets)
    assert 0 < (volumes <= 0).sum() < ENOUGH * len(term)
    assert term.tangle(frame_of(model, q)[1]) is None


@pytest.mark.parametrize("pinned", [False, True])
def test_what_is_not_tangled_tells_the_rotation(pinned):
    """Of a body that is turned and tangled at one end, held by the rest of it or by pins alone."""
    model = Model.of(mesh.bar(9, 4, 4), MATERIALS["neo-hookean"](), gravity=(0, 0, 0))
    x = model.mesh.vertices[:, 0]
    inside = x > (x.min() if pinned else x.mean())
    q = partly(model, 0, inside)
    model = model.pin("left") if pinned else model
    frame = dataclasses.replace(frame_of(model, q)[1], targets=q[model.pinned])
    tangle = model.terms[0].tangle(frame)
    assert (len(tangle.elements) == len(model.terms[0])) == pinned
    turns = tangle.turns.reshape(-1, 3, 3)
    assert np.abs(turns - turns[0]).max() == 0
    assert np.linalg.norm(turns[0] - turn(9)) < 0.05


def test_a_body_by_itself_has_the_mean_of_its_deformation():
    model = cube("stvk")
    q = tangled(model, 3)
    term = model.terms[0]
    f = np.average(deformations(term, q), axis=0, weights=term.elements.volumes)
    _, frame = frame_of(model, q)
    frame = dataclasses.replace(frame, s=q)
    np.testing.assert_allclose(term.tangle(frame).turns, np.tile(polar_rotation(f).ravel(), (len(term), 1)), atol=1e-9)


def test_what_turns_goes_on_turning():
    """R is the prediction's: a body that turns by a tenth in a step is held to where it will be."""
    model, h, rate = cube("stvk", gravity=(0, 0, 0)), 1 / 30, 3.0
    q = tangled(model, 3)
    frames = [frame_of(model, q, v)[1] for v in (np.zeros_like(q), np.cross([0, 0, rate], q))]
    before, after = (model.terms[0].tangle(frame).turns[0].reshape(3, 3) for frame in frames)
    angle = np.arctan2((after @ before.T)[1, 0], (after @ before.T)[0, 0])
    assert angle == pytest.approx(np.arctan(rate * h), rel=0.2)


def test_positions_that_are_no_numbers_do_not_raise():
    model = cube("neo-hookean")
    q = tangled(model, 0)
    q[5] = np.nan
    assert np.isfinite(model.terms[0].tangle(frame_of(model, q)[1]).turns).all()


# --- one energy for all -----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", MATERIALS)
def test_derivatives_in_a_tangle(name):
    """Gradient and Hessian are those of the energy: of a quadratic, so that central differences are exact."""
    model = cube(name, n=3)
    term, q = model.terms[0], tangled(model, 1)
    _, frame = frame_of(model, q)
    rng = np.random.default_rng(0)
    at, d = rng.normal(size=q.shape), rng.normal(size=q.shape)
    gradients = []
    for step in (-1.0, 0.0, 1.0):
        out = np.zeros_like(q)
        assert term.add(at + step * d, frame, out) == pytest.approx(term.energy(at + step * d, frame), rel=1e-14)
        gradients.append(out)
    slope = term.energy(at + d, frame) - term.energy(at - d, frame)
    assert 2 * np.sum(gradients[1] * d) == pytest.approx(slope, rel=1e-9)
    piece = term.hessian(at, frame)
    through = np.zeros_like(q)
    shares = np.einsum("eij,ej->ei", piece.blocks, d[piece.vertices].reshape(-1, 12)).reshape(-1, 4, 3)
    np.add.at(through, piece.vertices, shares)
    np.testing.assert_allclose(through, gradients[2] - gradients[1], rtol=1e-9, atol=1e-9 * np.abs(through).max())


@pytest.mark.slow
def test_fung_is_finite_where_its_exponential_is_not():
    """Elements that store more than numbers can say are lost as inverted ones are; the body comes back."""
    model = Model.of(mesh.cube(3, 0.3), MATERIALS["fung"](growth=20.0), gravity=(0, 0, 0), air=2.0)
    q = tangled(model, 0)
    term, frame = model.terms[0], frame_of(model, q)[1]
    assert not np.isfinite(term.energies(q)).all()
    assert np.isfinite(term.energy(q, frame))
    sim = Simulation(model, budget=Budget(iterations=16), threads=1)
    sim.positions = q
    for _ in range(20):
        assert sim.step().finite
    assert np.abs(term.stretches(sim.positions.astype(np.float64)) - 1).max() < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("what", ["newton-multigrid", "descent:direction=l-bfgs"])
@pytest.mark.parametrize("name", ["neo-hookean", "fung", "corotated"])
def test_solvers_find_the_minimum_that_newton_finds(name, what):
    """Of a body half tangled, with pins: (ε - ε*)/(ε(start) - ε*) below 1e-4."""
    model = Model.of(mesh.bar(7, 3, 3), MATERIALS[name](young=1e5), gravity=(0, 0, -9.81)).pin("left")
    inside = model.mesh.vertices[:, 0] > model.mesh.vertices[:, 0].mean()
    q = np.where(inside[:, None], tangled(model, 2), model.mesh.vertices)
    system, frame = frame_of(model, q)
    assert 0 < len(model.terms[0].tangle(frame).elements) < len(model.terms[0])
    ends = []
    for solver in ("newton", what):
        made = make_solver(solver)
        made.prepare(system, threads=1, seed=0)
        ends.append(system.energy(run(made, system, frame, 40 if solver == "newton" else 200), frame))
    assert ends[1] - ends[0] <= 1e-4 * (system.energy(frame.start, frame) - ends[0])


def test_untangle_is_true_or_false():
    with pytest.raises(InputError, match="untangle must be true or false"):
        Conversion(untangle=1)
