"""Bodies that springs hold: their inverse inertia is a full matrix of 6 x 6, in every scheme."""

from __future__ import annotations

import numpy as np
import pytest

from vivace.rigid.problem import ContactProblem, frames_of
from vivace.solvers.rigid import CONTACT_SOLVERS, make_contact_solver


def held_problem(seed: int = 0, bodies: int = 7, contacts: int = 16) -> ContactProblem:
    """Random contacts between bodies, of which the second and fourth are held, and the first cannot move."""
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.choice(bodies, 2, replace=False) for _ in range(contacts)], np.int32)
    normals = rng.normal(size=(contacts, 3))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    roots = rng.normal(size=(bodies, 3, 3))
    mass, inertia = rng.uniform(0.5, 2.0, bodies), roots @ roots.transpose(0, 2, 1) + np.eye(3)
    moves = (np.arange(bodies) > 0).astype(float)
    held = np.array([1, 3])
    springs = rng.normal(size=(2, 6, 6))
    whole = np.zeros((2, 6, 6))
    whole[:, :3, :3], whole[:, 3:, 3:] = mass[held, None, None] * np.eye(3), inertia[held]
    return ContactProblem(
        pairs, frames_of(normals), rng.normal(size=(contacts, 2, 3)), rng.normal(size=(contacts, 4)),
        np.tile([0.4, 0.4, 0.3], (contacts, 1)), np.full(contacts, 0.1), np.zeros(contacts, np.int64), moves / mass,
        np.linalg.inv(inertia) * moves[:, None, None], held,
        np.linalg.inv(whole + springs @ springs.transpose(0, 2, 1)), points=rng.normal(size=(contacts, 3)),
    )  # fmt: skip


def test_all_forms_of_the_operator_agree():
    problem = held_problem()
    operator, rng = problem.operator().toarray(), np.random.default_rng(1)
    impulses = rng.normal(size=(problem.contacts, 4))
    assert problem.contact_velocities(impulses).ravel() == pytest.approx(
        operator @ impulses.ravel() + problem.b.ravel(), abs=1e-12
    )
    assert problem.diagonal().ravel() == pytest.approx(np.diag(operator), abs=1e-12)


@pytest.mark.parametrize("name", sorted(CONTACT_SOLVERS))
def test_every_solver_finds_the_same_velocities(name):
    """Impulses may not be unique; contact velocities are, up to friction's tie with the normal, so each law is held."""
    problem = held_problem()
    alone = {"naive-parallel", "message-passing"}  # more parts do not converge where all contacts depend on each other
    found = make_contact_solver(f"{name}:parts=1" if name in alone else name).solve(problem, 4000).impulses
    v = problem.contact_velocities(found)
    assert found[:, 0].min() >= 0
    assert v[:, 0].min() > -1e-6
    assert np.abs(found[:, 0] * v[:, 0]).max() < 1e-6
    limit = 0.4 * found[:, 0]
    assert (np.linalg.norm(found[:, 1:3], axis=1) <= limit * (1 + 1e-9) + 1e-12).all()
