"""The Hessian of a step's energy ε as a sparse matrix of 3n unknowns, coordinate c of vertex i at 3 i + c.

Inertia, viscosity, pins and quadratic constraints have a constant one. A constraint with a projection has the gradient
w Aᵀ (z - p(z)), z = A q, because p is the nearest point and its own derivative drops out; so its Hessian is

    w Aᵀ C A,     C = I - ∂p/∂z     (r rows of 3 coordinates each)

C is symmetric and at most I, but may have negative eigenvalues (a compressed spring gives way sideways). They are set
to zero, constraint by constraint, so that the sum is positive definite whatever the state: then Newton's direction
leads down.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from ..blocks import BLOCK
from ..constraints import ConstraintGroup, Role
from ..constraints.kernels.local import project_pass
from .kernels.assemble import add_stiffness
from .kernels.curvature import add_curvature
from .system import System

STEP = 2.0**-17  # of central differences, relative: near ∛(2⁻⁵³), where truncation and rounding are both about 1e-10


class Hessian:
    """The matrix for any q; its pattern and its constant part are made once."""

    def __init__(self, system: System):
        n, off = system.n, system.stiffness_off
        self.system = system
        # Ones, because SciPy drops entries that cancel, and they may not be zero elsewhere.
        pattern = sp.csr_matrix((np.ones(off.nnz), off.indices, off.indptr), (n, n)) + sp.identity(n, format="csr")
        pattern.sort_indices()
        self._indptr, self._columns = pattern.indptr, pattern.indices
        values, diagonal = system.viscous * off.data, system.viscous * system.stiffness_diagonal
        for group in system.quadratic:
            add_stiffness(*(off.indptr, off.indices, values, diagonal), group.vertices, group.operator, group.weights)
        diagonal += system.inertia + system.pin_weight
        rows = np.repeat(np.arange(n), np.diff(self._indptr))
        self._constant = np.empty(len(rows))
        self._constant[rows != self._columns] = values
        self._constant[rows == self._columns] = diagonal
        for group in (*system.springs, *system.projected):  # compiled now, not inside the first step's budget
            self._add(group, np.zeros((n, 3)), np.zeros((0, 3, 3)), slice(0))

    def __call__(self, q: np.ndarray) -> sp.csr_matrix:
        """At positions q (n, 3), in float64."""
        blocks = np.zeros((len(self._columns), 3, 3))
        blocks[:, range(3), range(3)] = self._constant[:, None]
        for group in (*self.system.springs, *self.system.projected):
            for begin in range(0, len(group), BLOCK):
                self._add(group, q, blocks, slice(begin, begin + BLOCK))
        size = 3 * self.system.n
        return sp.bsr_matrix((blocks, self._columns, self._indptr), (size, size)).tocsr()

    def _add(self, group: ConstraintGroup, q: np.ndarray, blocks: np.ndarray, part: slice) -> None:
        """Add what `part` of a group has."""
        vertices, operator, parameters = group.vertices[part], group.operator[part], group.parameters[part]
        z = np.einsum("mrk,mkc->mrc", operator, q[vertices])
        if group.kind.role is Role.SPRING:
            c = spring_curvature(z, parameters[:, 0])
        else:
            assert group.kind.project is not None
            c = projected_curvature(group.kind.project, z, parameters)
        add_curvature(self._indptr, self._columns, blocks, vertices, operator, group.weights[part], c)


def spring_curvature(z: np.ndarray, length: np.ndarray) -> np.ndarray:
    """C (m, 1, 3, 1, 3) of springs: 1 along z, 1 - l/|z| across it, and not below 0; 0 for a spring without direction.

    Of p = l z/|z|: ∂p/∂z = l/|z| (I - z zᵀ/|z|²).
    """
    z = z[:, 0]
    size = np.maximum(np.linalg.norm(z, axis=1), 1e-10)  # the least that the projection divides by
    along = np.einsum("mc,md->mcd", z, z) / (size**2)[:, None, None]
    across = np.maximum(1.0 - length / size, 0.0)
    c = along + across[:, None, None] * (np.eye(3) - along)
    return c[:, None, :, None, :]


def projected_curvature(project: Callable, z: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """C (m, r, 3, r, 3) of any projection, by central differences, without its negative eigenvalues.

    Where they are not finite, C = I: the matrix of projective dynamics, which is never less than the Hessian.
    """
    m, r = z.shape[:2]
    through = project_pass(project)

    def at(x: np.ndarray) -> np.ndarray:
        p = np.empty_like(x)
        through(x, parameters, p)
        return p.reshape(m, 3 * r)

    size = np.maximum(np.abs(z).max(axis=(1, 2)), np.abs(at(z)).max(axis=1))
    step = STEP * np.where((size > 0) & np.isfinite(size), size, 1.0)
    c = np.empty((m, 3 * r, 3 * r))
    for k in range(3 * r):
        more, less = z.copy(), z.copy()
        more[:, k // 3, k % 3] += step
        less[:, k // 3, k % 3] -= step
        c[:, :, k] = (at(less) - at(more)) / (more - less)[:, k // 3, k % 3, None]
        c[:, k, k] += 1.0
    return clamped(c).reshape(m, r, 3, r, 3)


def clamped(c: np.ndarray) -> np.ndarray:
    """The positive semidefinite matrices nearest to the symmetric parts of c (m, d, d); I where c is not finite."""
    c = 0.5 * (c + np.swapaxes(c, 1, 2))
    c[~np.isfinite(c).all(axis=(1, 2))] = np.eye(c.shape[1])
    values, vectors = np.linalg.eigh(c)
    vectors *= np.sqrt(np.maximum(values, 0.0))[:, None, :]
    return vectors @ np.swapaxes(vectors, 1, 2)
