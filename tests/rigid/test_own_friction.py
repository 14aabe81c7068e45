"""Bodies with friction sets of one's own: what slides on them stops as far away as their support mapping says."""

from __future__ import annotations

import math

import numpy as np
import pytest

import vivace as vv
from vivace.collisions import Box
from vivace.rigid.proximal import ConvexSet, Disc, Polygon
from vivace.solvers.rigid import make_contact_solver
from vivace.solvers.rigid.base import quality

G = 9.81
# Of impulses that the ground gives: 0.6 along +x, 0.1 along -x, 0.3 along +z (-t, as t = n × s = y × x), 0.2 along -z.
KITE = Polygon([(0.6, 0.0), (-0.1, 0.0), (0.0, 0.2), (0.0, -0.3)])


def round_set(dx, dy):
    return 0.3 * dx, 0.3 * dy


def bulged(dx, dy, dtau):
    length = math.sqrt((0.4 * dx) ** 2 + (0.2 * dy) ** 2 + (0.1 * dtau) ** 2)
    return 0.16 * dx / length, 0.04 * dy / length, 0.01 * dtau / length


def sliding(friction, velocity, *, first: bool = True, solver: str = "contact-sets", grain=(1, 0, 0)):
    """A flat box on a ground with that set; `first`: the ground is the first of the two bodies."""
    ground = vv.Body(Box((0, -0.5, 0), (9, 0.5, 9)), fixed=True, friction=friction, grain=grain)
    flat = vv.Body(Box((0, 0.02, 0), (0.2, 0.02, 0.2)), velocity=velocity)
    bodies = [ground, flat] if first else [flat, ground]
    budget = vv.Budget(iterations=60)
    return vv.RigidSimulation(bodies, solver=solver, budget=budget, time_step=1 / 60, substeps=2, threads=1)


def way(sim, first: bool = True, frames: int = 120) -> np.ndarray:
    """How far the box has gone when it has come to rest."""
    mine = 1 if first else 0
    start = sim.positions[mine].copy()
    for _ in range(frames):
        sim.step()
    assert np.abs(sim.velocities[mine]).max() < 1e-6
    return sim.positions[mine] - start


@pytest.mark.slow
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("direction", "mu"), [((1, 0, 0), 0.1), ((-1, 0, 0), 0.6), ((0, 0, 1), 0.2), ((0, 0, -1), 0.3)]
)
def test_what_slides_stops_after_v_squared_over_two_mu_g(first, direction, mu):
    """The set says what the ground can do against a motion, seen from outside of it, whichever body is named first."""
    speed = 1.0
    far = way(sliding(KITE, speed * np.array(direction, float), first=first), first)
    expected = speed**2 / (2 * mu * G)  # a step of h changes it by v h ÷ 2
    assert far @ direction == pytest.approx(expected, abs=speed / 120)
    assert np.linalg.norm(far - (far @ direction) * np.array(direction)) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(
    "solver", ["jacobi", "gauss-seidel:scheme=t", "gauss-seidel:scheme=naive", "coloured:scheme=factorised"]
)
def test_every_scheme_knows_it(solver):
    far = way(sliding(KITE, (1.0, 0, 0), solver=solver))
    assert far[0] == pytest.approx(1 / (2 * 0.1 * G), abs=1 / 120)


@pytest.mark.slow
def test_a_disc_by_its_support_mapping_is_a_disc():
    for velocity in ((1.0, 0.0, 0.5), (-0.3, 0.0, 0.8)):
        own, usual = (way(sliding(law, velocity)) for law in (ConvexSet(round_set), Disc(0.3)))
        assert own == pytest.approx(usual, abs=1e-6)


@pytest.mark.slow
def test_a_set_with_spin_in_it():
    """An ellipsoid in (s, t, τ): without spin it is the ellipse of its first two half axes."""
    far = way(sliding(ConvexSet(bulged), (1.0, 0, 0)))
    assert far[0] == pytest.approx(1 / (2 * 0.4 * G), abs=1 / 120)


@pytest.mark.slow
def test_the_answer_is_a_fixed_point():
    """γ = ½ ‖prox(λ - r (A λ + b)) - λ‖² with the set itself."""
    from vivace.rigid.stepping import contact_problem

    sim = sliding(KITE, (1.0, 0, 0.4))
    for _ in range(3):
        sim.step()
    begun = sim.begin_substep(1 / 120)
    problem = contact_problem(sim.bodies, begun.geometry, begun.contacts, begun.free, begun.h)
    assert problem.own is not None
    found = make_contact_solver("gauss-seidel").solve(problem, 2000, threads=1)
    assert found.impulses[:, 0].sum() > 0
    assert quality(problem, found.impulses) < 1e-12
    slack = KITE.project(found.impulses[:, 1:3], found.impulses[:, 0]) - found.impulses[:, 1:3]
    assert np.abs(slack).max() < 1e-9


@pytest.mark.slow
def test_a_soft_body_takes_its_first_coefficient():
    ground = vv.Body(Box((0, -0.5, 0), (2, 0.5, 2)), fixed=True, friction=KITE)
    assert ground.soft_friction == (0.6, 0.6)
    cloth = vv.Model.of(vv.mesh.cloth(4, 4, plane="horizontal")).collide([ground], itself=False)
    assert vv.Simulation(cloth, budget=vv.Budget(iterations=2)).step().finite
