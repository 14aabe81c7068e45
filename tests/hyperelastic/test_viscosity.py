"""Viscosity of hyperelastic bodies: its equation, its gradient, and that turning costs nothing."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import vivace as vv
from vivace import Frame, Model, System, mesh
from vivace.hyperelastic import polar_rotation
from vivace.hyperelastic.viscosity import Turning
from vivace.solvers import make_solver

H, VISCOSITY = 1 / 30, 0.02


@pytest.fixture(scope="module")
def model():
    return Model.of(mesh.cube(3, 0.3), vv.stvk(young=1e4, poisson=0.3), viscosity=VISCOSITY).pin([0])


def shaken(model, seed, size=0.03):
    return model.mesh.vertices + size * np.random.default_rng(seed).normal(size=(model.n, 3))


def frame_from(previous, q):
    return Frame(q, q, previous, previous[:1], H)


def deformations(term, q):
    x = q[term.vertices]
    return (x[:, 1:] - x[:, :1]).transpose(0, 2, 1) @ term.elements.inverse.reshape(-1, 3, 3)


def test_it_is_the_distance_to_all_rotations_of_what_was(model):
    """½ w min_R ‖F - R F_n‖², w = viscosity/h (λ + 2μ) V, is what K and `Turning` have together."""
    system, term = System(model, H), model.terms[0]
    previous, q = shaken(model, 0), Rotation.from_rotvec([0.3, 1.0, -0.4]).apply(shaken(model, 1))
    frame = frame_from(previous, q)
    f, before = deformations(term, q), deformations(term, previous)
    apart = f - polar_rotation(f @ before.transpose(0, 2, 1)) @ before
    weights = VISCOSITY / H * term.stiffness * term.elements.volumes
    expected = 0.5 * float(weights @ np.square(apart).sum(axis=(1, 2)))
    moved = q - previous
    linear = 0.5 * system.viscous * np.sum(moved * (system.stiffness_off @ moved))
    linear += 0.5 * system.viscous * float(system.stiffness_diagonal @ np.square(moved).sum(axis=1))
    assert linear + Turning(term, system.viscous).energy(q, frame) == pytest.approx(expected, rel=1e-10)
    assert linear > 2 * expected


def test_a_rigid_motion_costs_nothing(model):
    system, previous = System(model, H), shaken(model, 2)
    q = np.array([1.0, -2.0, 0.5]) + Rotation.from_rotvec([0.0, 0.2, 2.5]).apply(previous)
    still = Model.of(mesh.cube(3, 0.3), vv.stvk(young=1e4, poisson=0.3)).pin([0])
    frame = frame_from(previous, q)
    scale = np.abs(System(still, H).gradient(shaken(model, 3), frame)).max()
    difference = system.gradient(q, frame) - System(still, H).gradient(q, frame)
    assert np.abs(difference).max() < 1e-9 * scale


def test_the_gradient_is_that_of_the_energy(model):
    """Against central differences, whose error is h² of the third derivative."""
    term = Turning(model.terms[0], VISCOSITY / H)
    q, frame = shaken(model, 4), frame_from(shaken(model, 5), shaken(model, 4))
    found = np.zeros_like(q)
    term.add_gradient(q, frame, found)
    rng = np.random.default_rng(6)
    for _ in range(5):
        way = 1e-5 * rng.normal(size=q.shape)
        slope = (term.energy(q + way, frame) - term.energy(q - way, frame)) / 2
        assert slope == pytest.approx(float(np.sum(found * way)), rel=1e-5)
    assert np.abs(found.sum(axis=0)).max() < 1e-10 * np.abs(found).max()  # momentum


@pytest.mark.slow
def test_solvers_have_the_same_gradient_in_float32(model):
    """Minus the residual of `descent` at q, after it has seen where the step begins."""
    system = System(model, H)
    previous = shaken(model, 7)
    q = Rotation.from_rotvec([0.0, 0.0, 0.5]).apply(shaken(model, 8))
    frame = frame_from(previous, q)
    solver = make_solver("descent")
    solver.prepare(system, threads=1, seed=0)
    solver.see(frame)
    rows = np.zeros((2, model.n, 4), np.float32)
    rows[0, :, :3], rows[1, :, :3] = q, system.constant(frame)
    solver.layout.load(rows[0], rows[1])
    solver.problem.look()
    expected = -system.gradient(q, frame)[solver.layout.order]
    np.testing.assert_allclose(solver.problem.r[:, :3], expected, atol=1e-5 * np.abs(expected).max())
