"""One step of rigid bodies, apart from the solve: external impulses, the contact problem, and the way to new poses.

    u' = u + W (h f - h ω × I ω + Jᵀ λ)      [thesis2010, (2.14)]
    s' = s + h S u'                          (2.16), the rotation by its exponential, so that it stays one

Torques of spinning bodies are taken implicitly: explicitly, as in (2.7), a thin body that spins gains energy.
"""

from __future__ import annotations

import numpy as np

from ..checks import LARGEST, as_numbers
from ..errors import InputError
from . import rotation
from .bodies import Bodies
from .contacts import ContactPoints
from .kernels import motion
from .kernels import problem as kernels
from .kernels.proximal import DISC, SUPPORT
from .problem import SPIN, ContactProblem, cross

NOWHERE = np.zeros((0, 3))  # no direction of friction is given
BOUNCING = 0.05  # m/s: slower than that nothing bounces, so that what lies there lies still


def free_velocities(bodies: Bodies, turned: np.ndarray, gravity: np.ndarray, h: float) -> np.ndarray:
    """(M, 6): velocities and spins after a step without contacts."""
    out = np.empty((len(bodies), 6))
    parts = (bodies.velocities, bodies.spins, bodies.movable, bodies.inertias)
    motion.free_velocities(*parts, turned, np.asarray(gravity, float), float(h), out)
    return out


def contact_geometry(bodies: Bodies, turned: np.ndarray, contacts: ContactPoints, radii: np.ndarray) -> ContactProblem:
    """All of a step's problem that does not depend on velocities: frames, arms, friction and inertias; b is zero.

    `turned`: (M, 3, 3) rotations of the bodies; `radii`: (M,) of the areas on which they touch.
    """
    pairs, count = np.ascontiguousarray(contacts.bodies, np.int32), len(contacts)
    frames, arms = np.empty((count, 3, 3)), np.empty((count, 2, 3))
    friction, areas = np.empty((count, 3)), np.empty(count)
    kernels.fill_laws(pairs, bodies.friction, SPIN, radii, friction, areas)
    kinds = np.full(count, DISC, np.int64)
    along, normals, own = NOWHERE, contacts.normals, None
    if bodies.sets:
        along, turn = _own_laws(bodies, turned, pairs, normals, friction, kinds)
        pairs = np.ascontiguousarray(np.where(turn[:, None], pairs[:, ::-1], pairs))  # whose set it is comes first
        normals, own = np.where(turn[:, None], -normals, normals), bodies.laws[0]
    if kernels.fill_frames(pairs, contacts.points, normals, along, bodies.positions, frames, arms):
        raise InputError("the direction of friction must not be along the normal of a contact")
    inverse = bodies.inverse_masses, bodies.inverse_inertias(turned)
    parts = (pairs, frames, arms, np.zeros((count, 4)), friction, areas, kinds, *inverse)
    return ContactProblem(*parts, own=own, points=contacts.points)


def contact_problem(
    bodies: Bodies, geometry: ContactProblem, contacts: ContactPoints, free: np.ndarray, h: float
) -> ContactProblem:
    """The problem of a step, for velocities `free` (M, 6) that it would end with without contacts.

    Contacts that are still apart may close in, and no further: vₙ + gap ÷ h >= 0. Those of bodies that bounce are to
    leave ε times as fast as they came, (2.39). The thesis subtracts ε J u in (2.70) to (2.72), which would let a body
    with ε = 1 through: vₙ' + ε vₙ >= 0 asks for b = J (u + W h f) + ε J u.
    """
    b = geometry.relative(free)
    before = np.concatenate([bodies.velocities, bodies.spins], axis=1)
    parts = (geometry.pairs, geometry.frames, geometry.arms)
    kernels.wish_apart(*parts, contacts.gaps, before, bodies.restitution, BOUNCING, float(h), b)
    return geometry.asking(b)


def _own_laws(
    bodies: Bodies, turned: np.ndarray, pairs: np.ndarray, normals: np.ndarray, friction: np.ndarray, kinds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Directions (K, 3) of first tangents; coefficients and kinds of sets are written over what bodies share.

    A body's own set holds whatever touches it; of two the first one's. And which contacts (K,) are to be turned round:
    a set of any shape is seen from outside of its body, so that this must be the first of the two.
    """
    turn = np.zeros(len(pairs), bool)
    along: np.ndarray = np.eye(3)[np.argmin(np.abs(normals), axis=1)]
    for k in sorted(bodies.sets, reverse=True):
        which = np.flatnonzero((pairs == k).any(axis=1))
        law, grain = bodies.sets[k], turned[k] @ bodies.grains[k]
        friction[which], kinds[which] = (law.mu_s, law.mu_t, law.spin), bodies.laws[1][k]
        turn[which] = (pairs[which, 1] == k) & (law.kind >= SUPPORT)
        flat = np.linalg.norm(cross(normals[which], grain), axis=1) > 1e-6 * np.linalg.norm(grain)
        along[which[flat]] = grain  # where the grain stands on end, any direction will do
    return along, turn


def waiting(bodies: Bodies, contacts: ContactPoints) -> np.ndarray:
    """(K,) bool: contacts of bodies that bounce, before they touch: held back they would not have their speed."""
    if not bodies.restitution.any():
        return np.zeros(len(contacts), bool)
    found: np.ndarray = (contacts.gaps > 0) & (bodies.restitution[contacts.bodies].max(axis=1) > 0)
    return found


def move(bodies: Bodies, velocities: np.ndarray, h: float) -> None:
    """Go to new poses with these velocities (M, 6)."""
    motion.advance(bodies.positions, bodies.orientations, velocities, float(h))


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
