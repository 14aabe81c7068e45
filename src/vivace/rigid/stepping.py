"""One step of rigid bodies, apart from the solve: external impulses, the contact problem, and the way to new poses.

    u' = u + W (h f - h ω × I ω + Jᵀ λ)      [thesis2010, (2.14)]
    s' = s + h S u'                          (2.16), the rotation by its exponential, so that it stays one

Torques of spinning bodies are taken implicitly: explicitly, as in (2.7), a thin body that spins gains energy.
"""

from __future__ import annotations

import numpy as np

from ..checks import LARGEST, as_numbers
from . import rotation
from .bodies import Bodies
from .contacts import ContactPoints
from .kernels.proximal import DISC, SUPPORT
from .problem import SPIN, ContactProblem, cross, frames_of

BOUNCING = 0.05  # m/s: slower than that nothing bounces, so that what lies there lies still


def free_velocities(bodies: Bodies, turned: np.ndarray, gravity: np.ndarray, h: float) -> np.ndarray:
    """(M, 6): velocities and spins after a step without contacts."""
    out = np.concatenate([bodies.velocities, bodies.spins], axis=1)
    free = bodies.movable
    out[free, :3] += h * gravity
    out[free, 3:] = _gyroscopic(bodies.inertias[free], turned[free], bodies.spins[free], h)
    return out


def _gyroscopic(inertias: np.ndarray, turned: np.ndarray, spins: np.ndarray, h: float) -> np.ndarray:
    """Spins after I (ω' - ω) = - h ω' × I ω', by one Newton step in the frames of the bodies."""
    local = np.einsum("mji,mj->mi", turned, spins)
    momentum = np.einsum("mij,mj->mi", inertias, local)
    residual = h * cross(local, momentum)
    if not residual.any():  # balls, and what does not spin
        return spins.copy()
    jacobian = inertias + h * (_skew(local) @ inertias - _skew(momentum))
    local = local - np.linalg.solve(jacobian, residual[:, :, None])[:, :, 0]
    out: np.ndarray = np.einsum("mij,mj->mi", turned, local)
    return out


def _skew(vectors: np.ndarray) -> np.ndarray:
    """Matrices of cross products, v × ."""
    out = np.zeros((len(vectors), 3, 3))
    out[:, 2, 1], out[:, 0, 2], out[:, 1, 0] = vectors.T
    out[:, 1, 2], out[:, 2, 0], out[:, 0, 1] = -vectors.T
    return out


def contact_problem(
    bodies: Bodies, turned: np.ndarray, contacts: ContactPoints, free: np.ndarray, radii: np.ndarray, h: float
) -> ContactProblem:
    """The problem of a step, for velocities `free` (M, 6) that it would end with without contacts.

    Contacts that are still apart may close in, and no further: vₙ + gap ÷ h >= 0. Those of bodies that bounce are to
    leave ε times as fast as they came, (2.39). The thesis subtracts ε J u in (2.70) to (2.72), which would let a body
    with ε = 1 through: vₙ' + ε vₙ >= 0 asks for b = J (u + W h f) + ε J u.
    """
    pairs = contacts.bodies
    arms = contacts.points[:, None] - bodies.positions[pairs]
    along, friction, kinds, turn = _laws(bodies, turned, pairs, contacts.normals)
    normals = contacts.normals
    if turn.any():  # the body whose set it is comes first
        pairs, arms = np.where(turn[:, None], pairs[:, ::-1], pairs), np.where(turn[:, None, None], arms[:, ::-1], arms)
        normals = np.where(turn[:, None], -normals, normals)
    problem = ContactProblem(
        pairs=np.ascontiguousarray(pairs, np.int32),
        frames=frames_of(normals, along),
        arms=arms,
        b=np.zeros((len(pairs), 4)),
        friction=friction,
        radii=radii[pairs].max(axis=1),
        kinds=kinds,
        inverse_mass=bodies.inverse_masses,
        inverse_inertia=bodies.inverse_inertias(turned),
        own=bodies.laws[0] if bodies.sets else None,
    )
    if len(pairs):
        blocks = problem.blocks()
        problem.b[:] = np.einsum("ksuf,ksf->ku", blocks, free[pairs])
        before = np.concatenate([bodies.velocities, bodies.spins], axis=1)[pairs]
        approach = np.einsum("ksf,ksf->k", blocks[:, :, 0], before)
        restitution = bodies.restitution[pairs].max(axis=1)
        bounces = (approach < -BOUNCING) & (contacts.gaps <= 0)
        problem.b[:, 0] += np.where(bounces, restitution * approach, np.maximum(contacts.gaps, 0.0) / h)
    return problem


def _laws(
    bodies: Bodies, turned: np.ndarray, pairs: np.ndarray, normals: np.ndarray
) -> tuple[np.ndarray | None, np.ndarray, np.ndarray, np.ndarray]:
    """Directions (K, 3) of first tangents, or None for any; coefficients (K, 3); kinds of sets (K,).

    A body's own set holds whatever touches it; of two the first one's. And which contacts (K,) are to be turned round:
    a set of any shape is seen from outside of its body, so that this must be the first of the two.
    """
    turn = np.zeros(len(pairs), bool)
    mean = np.sqrt(bodies.friction[pairs].prod(axis=1))
    friction, kinds = np.column_stack([mean, mean, SPIN * mean]), np.full(len(pairs), DISC, np.int64)
    if not bodies.sets:
        return None, friction, kinds, turn
    along = np.eye(3)[np.argmin(np.abs(normals), axis=1)]
    for k in sorted(bodies.sets, reverse=True):
        which = np.flatnonzero((pairs == k).any(axis=1))
        law, grain = bodies.sets[k], turned[k] @ bodies.grains[k]
        friction[which], kinds[which] = (law.mu_s, law.mu_t, law.spin), bodies.laws[1][k]
        turn[which] = (pairs[which, 1] == k) & (law.kind >= SUPPORT)
        flat = np.linalg.norm(cross(normals[which], grain), axis=1) > 1e-6 * np.linalg.norm(grain)
        along[which[flat]] = grain  # where the grain stands on end, any direction will do
    return along, friction, kinds, turn


def waiting(bodies: Bodies, contacts: ContactPoints) -> np.ndarray:
    """(K,) bool: contacts of bodies that bounce, before they touch: held back they would not have their speed."""
    found: np.ndarray = (contacts.gaps > 0) & (bodies.restitution[contacts.bodies].max(axis=1) > 0)
    return found


def move(bodies: Bodies, velocities: np.ndarray, h: float) -> None:
    """Go to new poses with these velocities (M, 6)."""
    bodies.positions += h * velocities[:, :3]
    turned = rotation.product(rotation.exponential(h * velocities[:, 3:]), bodies.orientations)
    bodies.orientations[:] = rotation.normalised(turned)


def follow_paths(bodies: Bodies, start: dict[int, tuple[np.ndarray, np.ndarray]], time: float, h: float) -> None:
    """Velocities that bring bodies along their paths to where they are to be after a step."""
    for k, path in bodies.paths.items():
        position, turn = start[k]
        moved, turned = (as_numbers(f"the path of body {k}", part, (3,), most=LARGEST) for part in path(time + h))
        bodies.velocities[k] = (position + moved - bodies.positions[k]) / h
        goal = rotation.product(rotation.exponential(turned), turn)
        conjugate = bodies.orientations[k] * np.array([1.0, -1.0, -1.0, -1.0])
        way = rotation.product(goal, conjugate)
        way = way if way[0] >= 0 else -way
        sine = np.linalg.norm(way[1:])
        angle = 2.0 * np.arctan2(sine, way[0])
        bodies.spins[k] = way[1:] * (angle / sine if sine > 0 else 2.0) / h
