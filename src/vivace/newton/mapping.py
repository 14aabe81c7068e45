"""What a Newton model has of soft bodies, as a Vivace model: particles, triangles, bending, springs and tetrahedra.

Nothing here imports Newton: what is read are attributes of its `Model`, arrays of Warp that give `.numpy()`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..collisions.colliders import Collider
from ..constraints import ConstraintGroup, make_group
from ..errors import InputError
from ..hyperelastic import HYPERELASTIC
from ..hyperelastic.term import Hyperelastic
from ..mesh import Mesh
from ..model import Model
from ..rigid.bodies import Body
from . import membrane

ACTIVE = 1  # of Newton's ParticleFlags
FIRMER = 10.0  # than pins are by default: Newton's do not give way at all
FLAT = 1e-5  # rad: a rest angle below it is none
__all__ = ["Mapped", "as_numpy", "mapped", "membrane"]


@dataclass(frozen=True, eq=False)
class Mapped:
    """A Newton model as Vivace simulates it.

    Attributes:
        model: of all particles, in their order.
        fixed: (f,) particles that nothing moves but whoever writes their positions, sorted.
        masses: (n,) kg, of Newton's; zero where it says so.
        extra: (n, 3) m/s², gravity of a particle's own world less that of the model.
    """

    model: Model
    fixed: np.ndarray
    masses: np.ndarray
    extra: np.ndarray


def as_numpy(array: Any, *shape: int) -> np.ndarray:
    """A Warp array, or None, as NumPy's; without a copy where it is in the CPU's memory."""
    found = np.zeros(0, np.float32) if array is None else np.asarray(array.numpy())
    return found.reshape(shape) if shape else found


def mapped(
    source: Any,
    *,
    triangles: bool = True,
    springs: bool = True,
    bending: bool = True,
    colliders: Iterable[Collider | Body] = (),
    self_contact: bool = False,
    thickness: float | None = None,
    friction: float | None = None,
    air: float = 0.0,
    viscosity: float = 0.0,
) -> Mapped:
    """Make a model of the particles of a `newton.Model`.

    Args:
        source: the Newton model, finalised.
        triangles: whether `tri_materials` resist stretch and shear.
        springs: whether springs do.
        bending: whether edges between triangles resist bending.
        colliders: what particles touch.
        self_contact: whether surfaces touch themselves and each other.
        thickness: the distance that contacts keep (m); None: the median radius of the particles.
        friction: Coulomb's coefficient; None: `soft_contact_mu`.
        air: rate at which still air slows particles down (1/s).
        viscosity: the damping force is viscosity (s) x stiffness x rate of change.
    """
    n = int(source.particle_count)
    if not n:
        raise InputError("the Newton model has no particles; SolverVivace moves cloth and soft bodies only")
    rest = as_numpy(source.particle_q, -1, 3).astype(np.float64)
    inverse, flags = as_numpy(source.particle_inv_mass), as_numpy(source.particle_flags)
    masses = as_numpy(source.particle_mass).astype(np.float64)
    fixed = np.flatnonzero((inverse <= 0) | (masses <= 0) | (flags & ACTIVE == 0))
    free = np.setdiff1d(np.arange(n), fixed)
    if not len(free):
        raise InputError("all particles of the Newton model are fixed; there is nothing to solve")
    faces = as_numpy(source.tri_indices, -1, 3).astype(np.int32)
    tets = as_numpy(source.tet_indices, -1, 4).astype(np.int32)
    pairs = as_numpy(source.spring_indices, -1, 2).astype(np.int32)
    mesh = Mesh(rest, faces, tets, name="newton", lines=pairs if not len(faces) and not len(tets) else pairs[:0])
    groups: list[ConstraintGroup] = []
    if triangles and len(faces):
        groups += membranes(source, rest, faces)
    if springs and len(pairs):
        groups += _springs(source, rest, pairs)
    if bending and source.edge_count:
        groups += _hinges(source, rest)
    gravity, extra = _gravity(source, n)
    weights = np.where(masses > 0, masses, float(np.median(masses[free])))
    model = Model(mesh, weights, tuple(groups), gravity, air, viscosity, terms=tuple(_bodies(source, mesh)))
    if len(fixed):
        model = model.pin(fixed, stiffness=FIRMER * model.pin_stiffness)
    touched = list(colliders)
    if touched or self_contact:
        apart = float(np.median(as_numpy(source.particle_radius))) if thickness is None else thickness
        rough = float(source.soft_contact_mu) if friction is None else friction
        model = model.collide(touched, thickness=max(apart, 1e-4), friction=rough, itself=self_contact)
    return Mapped(model, fixed, masses, extra)


def membranes(source: Any, rest: np.ndarray, faces: np.ndarray) -> list[ConstraintGroup]:
    """μ and λ of triangles, in their rest poses, which need not be where the particles are."""
    materials = as_numpy(source.tri_materials, -1, 5).astype(np.float64)
    poses = as_numpy(source.tri_poses, -1, 2, 2).astype(np.float64)
    groups = []
    for name, stiffness in (("membrane-strain", materials[:, 0]), ("membrane-area", 2.0 * materials[:, 1])):
        some = np.flatnonzero(stiffness > 0)
        if len(some):
            groups.append(make_group(name, rest, faces[some], stiffness[some], inverse=poses[some]))
    return groups


def _springs(source: Any, rest: np.ndarray, pairs: np.ndarray) -> list[ConstraintGroup]:
    """Springs of their own rest lengths."""
    stiffness = as_numpy(source.spring_stiffness).astype(np.float64)
    some = np.flatnonzero(stiffness > 0)
    if not len(some):
        return []
    group = make_group("spring", rest, pairs[some], stiffness[some])
    lengths = as_numpy(source.spring_rest_length).astype(np.float64)[some, None]
    lengths.setflags(write=False)
    return [replace(group, parameters=lengths)]


def _hinges(source: Any, rest: np.ndarray) -> list[ConstraintGroup]:
    """Bending as `SolverVBD` counts it, E = ke l/2 (θ - θ₀)²: of hinges, k/2 3l²/A (θ - θ₀)², k is ke A/(3 l)."""
    edges = as_numpy(source.edge_indices, -1, 4).astype(np.int32)[:, [2, 3, 0, 1]]  # the edge's own ends first
    stiffness = as_numpy(source.edge_bending_properties, -1, 2)[:, 0].astype(np.float64)
    angles, lengths = as_numpy(source.edge_rest_angle), as_numpy(source.edge_rest_length).astype(np.float64)
    inner = (edges >= 0).all(axis=1) & (stiffness > 0)
    groups = []
    for name, some in (("hinge", np.abs(angles) <= FLAT), ("curved-hinge", np.abs(angles) > FLAT)):
        rows = np.flatnonzero(inner & some)
        if len(rows):
            x = rest[edges[rows]]
            area = sum(0.5 * np.linalg.norm(np.cross(x[:, 1] - x[:, 0], x[:, k] - x[:, 0]), axis=1) for k in (2, 3))
            groups.append(make_group(name, rest, edges[rows], stiffness[rows] * area / (3.0 * lengths[rows])))
    return groups


def _bodies(source: Any, mesh: Mesh) -> Sequence[Hyperelastic]:
    """Tetrahedra of the stable neo-Hookean material with Newton's μ and λ, each its own."""
    if not mesh.is_volumetric:
        return ()
    materials = as_numpy(source.tet_materials, -1, 3).astype(np.float64)
    density = HYPERELASTIC["stable-neo-hookean"]
    unique, which = np.unique(materials[:, :2], axis=0, return_inverse=True)
    rows = np.array([density.of_moduli(*moduli(mu, lam)) for mu, lam in unique])
    return (Hyperelastic(mesh, density, rows[which.ravel()]),)


def moduli(mu: float, lam: float) -> tuple[float, float]:
    """Young's modulus and Poisson's ratio of Lamé's constants."""
    if not mu > 0:
        raise InputError(f"tetrahedra need a positive k_mu, not {mu:g} Pa")
    return mu * (3 * lam + 2 * mu) / (lam + mu), lam / (2 * (lam + mu))


def _gravity(source: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Gravity of the first particle's world, and what others have more than it, (n, 3)."""
    rows = as_numpy(source.gravity, -1, 3).astype(np.float64)
    worlds = as_numpy(source.particle_world).astype(np.int64)
    each = rows[worlds] if len(worlds) == n else np.broadcast_to(rows[0], (n, 3))
    return each[0].copy(), each - each[0]
