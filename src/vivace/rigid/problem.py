"""The contact problem of one step: impulses λ in their legal sets, with which nothing is entered and slip dissipates.

    v = A λ + b      A = J W Jᵀ      what the contact points do after the step      [thesis2010, (2.69)]
    λₙ = prox_N(λₙ - rₙ vₙ)          a normal impulse pushes, or nothing touches     (2.53)
    λ_f = prox_F(λ_f - r_f v_f)      friction dissipates as much as its set allows   (2.54)

A contact has four unknowns: along its normal n, along two tangents s and t, and a spin about n. It touches two bodies,
so J has two blocks of 4 x 6 a row, (2.62) and (2.63), which are never stored where the frame and the two arms of a
contact say the same in half the numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ..errors import InputError
from .kernels import problem as kernels
from .kernels.proximal import DISC, SUPPORT
from .proximal import FrictionMap

UNKNOWNS = 4  # of a contact: normal, two tangents, spin
FREEDOMS = 6  # of a body: velocity, angular velocity
NOBODY = np.zeros(0, np.int64), np.zeros((0, FREEDOMS, FREEDOMS))  # is held by springs
SPIN = 2.0 / 3.0  # of μ λn is what Contensou's spin friction reaches at most (2.37)


@dataclass(eq=False)
class ContactProblem:
    """Contacts and the bodies they touch, as solvers read them.

    Attributes:
        pairs: (K, 2) int32, bodies i and j.
        frames: (K, 3, 3) with the rows n (from i to j), s and t; right-handed.
        arms: (K, 2, 3), from the centres of mass of i and j to the contact point.
        b: (K, 4), contact velocities without contact impulses, the wish for a bounce or a gap included.
        friction: (K, 3), coefficients along s and t, and of the spin: 2/3 of the tangents' mean.
        radii: (K,), of the contact area, in m, by which spin and its torque are measured (2.35, 2.36).
        kinds: (K,) int64, which set friction lies in, see `proximal`.
        inverse_mass: (M,), 0 for bodies that contacts cannot move.
        inverse_inertia: (M, 3, 3), about the centre of mass, in world axes.
        own: the map onto friction sets of one's own, which have kinds beyond the usual ones; None: there are none.
        held: (H,) int64, bodies that springs hold, such as the soft surface they lie on; None for none.
        held_inverse: (H, 6, 6), the inverse of their inertia and h² times the stiffness of these springs.
        points: (K, 3), where contacts are, in m; None: nobody said, and solvers that ask for it refuse.
    """

    pairs: np.ndarray
    frames: np.ndarray
    arms: np.ndarray
    b: np.ndarray
    friction: np.ndarray
    radii: np.ndarray
    kinds: np.ndarray
    inverse_mass: np.ndarray
    inverse_inertia: np.ndarray
    held: np.ndarray | None = None
    held_inverse: np.ndarray | None = None
    own: FrictionMap | None = None
    points: np.ndarray | None = None

    def __post_init__(self) -> None:
        contacts, bodies = self.contacts, self.bodies
        parts = (self.frames, self.arms, self.b, self.friction, self.inverse_mass, self.inverse_inertia)
        if kernels.all_well(self.pairs, bodies, *parts):
            return
        if contacts and not (self.pairs.min() >= 0 and self.pairs.max() < bodies):
            raise InputError(f"contacts name bodies from {self.pairs.min()} to {self.pairs.max()}; there are {bodies}")
        if (self.pairs[:, 0] == self.pairs[:, 1]).any():
            raise InputError("a contact must be between two different bodies")
        for name in ("frames", "arms", "b", "friction", "inverse_mass", "inverse_inertia"):
            if not np.isfinite(getattr(self, name)).all():
                raise InputError(f"{name} of a contact problem must be finite")
        if (self.friction < 0).any():
            raise InputError(f"coefficients of friction must not be negative, not {self.friction.min():g}")

    def asking(self, b: np.ndarray, held: tuple[np.ndarray, np.ndarray] | None = None) -> ContactProblem:
        """The same contacts with another b, and perhaps bodies that springs hold."""
        return self._with(b, self.friction, self.kinds, self.own, held)

    def smooth(self, b: np.ndarray) -> ContactProblem:
        """The same contacts with another b and without friction."""
        kinds = np.where(self.kinds >= SUPPORT, DISC, self.kinds)  # sets of one's own know no coefficients
        return self._with(b, np.zeros_like(self.friction), kinds, None, None)

    def _with(
        self,
        b: np.ndarray,
        friction: np.ndarray,
        kinds: np.ndarray,
        own: FrictionMap | None,
        held: tuple[np.ndarray, np.ndarray] | None,
    ) -> ContactProblem:
        parts = (self.pairs, self.frames, self.arms, b, friction, self.radii, kinds)
        found = held or (self.held, self.held_inverse)
        return ContactProblem(*parts, self.inverse_mass, self.inverse_inertia, *found, own, self.points)

    @property
    def contacts(self) -> int:
        """How many contacts there are, K."""
        return len(self.pairs)

    @property
    def bodies(self) -> int:
        """How many bodies there are, M."""
        return len(self.inverse_mass)

    @property
    def movable(self) -> np.ndarray:
        """(M,) bool: bodies that contact impulses move."""
        return self.inverse_mass > 0

    @cached_property
    def _blocks(self) -> np.ndarray:
        out = np.zeros((self.contacts, 2, UNKNOWNS, FREEDOMS))
        for side, sign in ((0, -1.0), (1, 1.0)):
            out[:, side, :3, :3] = sign * self.frames
            out[:, side, :3, 3:] = sign * cross(self.arms[:, side, None, :], self.frames)
            out[:, side, 3, 3:] = sign * self.radii[:, None] * self.frames[:, 0]
        return out

    def blocks(self) -> np.ndarray:
        """The two blocks of each row of J, (K, 2, 4, 6): (2.62) and (2.63), the row of the spin times its radius."""
        return self._blocks

    def jacobian(self) -> sp.bsr_array:
        """J as K x M blocks of 4 x 6."""
        flip = self.pairs[:, 0] > self.pairs[:, 1]  # columns of a row stand in order
        data, columns = self.blocks().copy(), self.pairs.copy()
        data[flip], columns[flip] = data[flip, ::-1], columns[flip, ::-1]
        shape = (UNKNOWNS * self.contacts, FREEDOMS * self.bodies)
        parts = (data.reshape(-1, UNKNOWNS, FREEDOMS), columns.ravel(), 2 * np.arange(self.contacts + 1))
        return sp.bsr_array(parts, shape=shape)

    def inverse_masses(self) -> sp.bsr_array:
        """W = M⁻¹, block by block on the diagonal."""
        data = np.zeros((self.bodies, FREEDOMS, FREEDOMS))
        data[:, [0, 1, 2], [0, 1, 2]] = self.inverse_mass[:, None]
        data[:, 3:, 3:] = self.inverse_inertia
        if self.held is not None:
            data[self.held] = self.held_inverse
        return sp.bsr_array((data, np.arange(self.bodies), np.arange(self.bodies + 1)))

    def operator(self) -> sp.bsr_array:
        """A = J W Jᵀ (3.3) in blocks of 4 x 4, those between contacts that share a body that moves."""
        jacobian = self.jacobian()
        free = np.repeat(self.movable, FREEDOMS)
        masked = (jacobian @ sp.diags_array(free.astype(float))).tobsr((UNKNOWNS, FREEDOMS))
        masked = _without_empty(masked)
        product = (masked @ self.inverse_masses()).tobsr((UNKNOWNS, FREEDOMS))
        found = (product @ masked.T.tobsr((FREEDOMS, UNKNOWNS))).tobsr((UNKNOWNS, UNKNOWNS))
        found.sort_indices()
        return found

    def nonzero_blocks(self, *, fixed_couple: bool = False) -> int:
        """How many blocks of A are not zero, N, without making it: n_a + n_b - n_ab a row (corollary 3.2).

        `fixed_couple`: count contacts with the same immovable body as dependent, too, as Tables 3.2 and 3.4 do.
        """
        degree = np.bincount(self.pairs.ravel(), minlength=self.bodies)
        pairs = np.sort(self.pairs, axis=1).astype(np.int64)
        _, which, times = np.unique(pairs[:, 0] * self.bodies + pairs[:, 1], return_inverse=True, return_counts=True)
        both = times[which.ravel()]
        if fixed_couple:
            return int((degree[self.pairs].sum(axis=1) - both).sum())
        moves = self.movable[self.pairs]
        return int(((degree[self.pairs] * moves).sum(axis=1) - both * moves.all(axis=1)).sum())

    def velocities(self, impulses: np.ndarray) -> np.ndarray:
        """What impulses (K, 4) do to the bodies: w = W Jᵀ λ, (M, 6), see (3.18)."""
        return self.accelerated(self.momenta(impulses))

    def momenta(self, impulses: np.ndarray) -> np.ndarray:
        """What impulses (K, 4) give to the bodies: Jᵀ λ, (M, 6)."""
        out = np.zeros((self.bodies, FREEDOMS))
        kernels.add_momenta(self.pairs, self.frames, self.arms, self.radii, impulses, out)
        return out

    def accelerated(self, momenta: np.ndarray) -> np.ndarray:
        """What impulses and torques (M, 6) do to the velocities of bodies, W p."""
        out = np.empty_like(momenta)
        kernels.accelerate(momenta, self.inverse_mass, self.inverse_inertia, out)
        if self.held is not None and self.held_inverse is not None:
            out[self.held] = np.einsum("hij,hj->hi", self.held_inverse, momenta[self.held])
        return out

    def contact_velocities(self, impulses: np.ndarray) -> np.ndarray:
        """v = A λ + b, (K, 4)."""
        out: np.ndarray = self.relative(self.velocities(impulses)) + self.b
        return out

    def relative(self, velocities: np.ndarray) -> np.ndarray:
        """What velocities of the bodies (M, 6) are at the contacts: J u, (K, 4)."""
        out = np.empty((self.contacts, UNKNOWNS))
        kernels.relative_velocities(self.pairs, self.frames, self.arms, self.radii, velocities, out)
        return out

    def approaches(self, velocities: np.ndarray) -> np.ndarray:
        """The same along the normals only, (K,)."""
        out = np.empty(self.contacts)
        kernels.normal_velocities(self.pairs, self.frames, self.arms, velocities, out)
        return out

    def diagonal(self) -> np.ndarray:
        """The diagonal of A, (K, 4)."""
        out = np.empty((self.contacts, UNKNOWNS))
        held = NOBODY if self.held is None or self.held_inverse is None else (self.held, self.held_inverse)
        parts = (self.pairs, self.frames, self.arms, self.radii, self.inverse_mass, self.inverse_inertia)
        kernels.diagonal(*parts, *held, out)
        return out


def _without_empty(matrix: sp.bsr_array) -> sp.bsr_array:
    """A BSR matrix without blocks that are all zero."""
    keep = matrix.data.any(axis=(1, 2))
    starts = np.concatenate([[0], np.cumsum(keep)])[matrix.indptr]
    return sp.bsr_array((matrix.data[keep], matrix.indices[keep], starts), shape=matrix.shape)


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a × b of (..., 3) arrays that broadcast; several times as fast as NumPy's for few vectors."""
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def frames_of(normals: np.ndarray, along: np.ndarray | None = None) -> np.ndarray:
    """(K, 3, 3) with the rows n, s, t, right-handed; s is near to `along`, or to the axis that n is least along.

    The same normal has the same frame in every step, so that impulses can be carried over.
    """
    if along is None:
        axis = np.argmin(np.abs(normals), axis=1)
        along = np.eye(3)[axis]
    s = along - np.einsum("ki,ki->k", along, normals)[:, None] * normals
    length = np.linalg.norm(s, axis=1, keepdims=True)
    if (length < 1e-9).any():
        raise InputError("the direction of friction must not be along the normal of a contact")
    s = s / length
    return np.stack([normals, s, cross(normals, s)], axis=1)
