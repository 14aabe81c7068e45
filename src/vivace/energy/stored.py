"""The terms that constraints store energy in: distances to what satisfies them, and values that should be zero."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ..constraints import ConstraintGroup
from ..constraints.kernels.local import project_pass, value_pass
from ..terms.curvature import projected_curvature, slopes_jacobian, spring_curvature
from ..terms.pieces import Blocks, Congruent
from ..terms.term import Frame, Term, parts_of, scatter


class Projected(Term):
    """Σ w/2 ‖A q - p‖², p the projection of A q. Its own derivative drops out of the gradient: p is the nearest point.

    Its Hessian is without negative curvature, constraint by constraint (see `curvature`).
    """

    def __init__(self, group: ConstraintGroup, n: int):
        self.group, self._n = group, n

    @cached_property
    def operator(self) -> sp.csr_matrix:
        """Every A of the group stacked: (m r) x n."""
        m, r, k = self.group.operator.shape
        columns = np.repeat(self.group.vertices, r, axis=0).ravel()
        pointers = np.arange(0, m * r * k + 1, k)
        return sp.csr_matrix((self.group.operator.ravel(), columns, pointers), (m * r, self._n))

    @property
    def weights(self) -> np.ndarray:
        """w of every stacked row (m r, 1)."""
        return np.repeat(self.group.weights, self.group.kind.rows)[:, None]

    def offset(self, z: np.ndarray) -> np.ndarray:
        """z - p for stacked measures (m r, 3)."""
        offset: np.ndarray = z - project(self.group, z)
        return offset

    def energy(self, q: np.ndarray, frame: Frame | None) -> float:
        """Σ w/2 ‖A q - p‖², with the projections of these very positions."""
        offset = self.offset(self.operator @ q)
        return 0.5 * float(np.sum(self.weights * offset * offset))

    def add_gradient(self, q: np.ndarray, frame: Frame | None, out: np.ndarray) -> None:
        """Add Aᵀ w (A q - p): p is the nearest point, so that its own derivative drops out."""
        self.add(q, frame, out)

    def add(self, q: np.ndarray, frame: Frame | None, out: np.ndarray) -> float:
        """Energy and gradient from the same projections."""
        offset, weights = self.offset(self.operator @ q), self.weights
        out += self.operator.T @ (weights * offset)
        return 0.5 * float(np.sum(weights * offset * offset))

    def hessian(self, q: np.ndarray, frame: Frame | None) -> Iterable[Congruent]:
        """Its pieces, some constraints at a time."""
        for part in parts_of(len(self.group)):
            yield self.piece(q, part)

    def piece(self, q: np.ndarray, part: slice) -> Congruent:
        """The Hessian of some of its constraints."""
        group = self.group
        vertices, operator = group.vertices[part], group.operator[part]
        z = np.einsum("mrk,mkc->mrc", operator, q[vertices])
        return Congruent(vertices, operator, group.weights[part], self.curvature(z, group.parameters[part]))

    def curvature(self, z: np.ndarray, parameters: np.ndarray) -> np.ndarray | None:
        """C (m, r, 3, r, 3) at measures z (m, r, 3)."""
        assert self.group.kind.project is not None
        if self.group.kind.curvature is not None:
            return self.group.kind.curvature(z, parameters)
        return projected_curvature(self.group.kind.project, z, parameters)


class Springs(Projected):
    """Projected constraints whose curvature has a closed form."""

    def curvature(self, z: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """C of springs, in closed form."""
        return spring_curvature(z, parameters[:, 0])


class Quadratic(Projected):
    """Σ w/2 ‖A q‖²: p = 0."""

    constant = True

    def offset(self, z: np.ndarray) -> np.ndarray:
        """z itself: nothing is projected."""
        return z

    def piece(self, q: np.ndarray, part: slice) -> Congruent:
        """The Hessian of some of its constraints: w AᵀA."""
        group = self.group
        return Congruent(group.vertices[part], group.operator[part], group.weights[part])


class Valued(Term):
    """Σ w/2 C(x)² of constraints that are known by their value and its gradient (Role.POSITION).

    The Hessian of one is w (∇C ∇Cᵀ + C ∇²C): the first part is never negative; the second comes from differences of ∇C,
    and is left out where these are not finite.
    """

    def __init__(self, group: ConstraintGroup):
        self.group = group

    def energy(self, q: np.ndarray, frame: Frame | None) -> float:
        """Σ w/2 C(x)²."""
        c, _ = values(self.group, q)
        return 0.5 * float(self.group.weights @ (c * c))

    def add_gradient(self, q: np.ndarray, frame: Frame | None, out: np.ndarray) -> None:
        """Add w C ∇C at the corners of each constraint."""
        self.add(q, frame, out)

    def add(self, q: np.ndarray, frame: Frame | None, out: np.ndarray) -> float:
        """Energy and gradient from the same values."""
        c, slopes = values(self.group, q)
        scatter(self.group.vertices, (self.group.weights * c)[:, None, None] * slopes, out)
        return 0.5 * float(self.group.weights @ (c * c))

    def hessian(self, q: np.ndarray, frame: Frame | None) -> Iterable[Blocks]:
        """Its pieces, some constraints at a time."""
        for part in parts_of(len(self.group)):
            yield self.piece(q, part)

    def piece(self, q: np.ndarray, part: slice) -> Blocks:
        """The Hessian of some of its constraints."""
        group = self.group
        vertices, parameters, weights = group.vertices[part], group.parameters[part], group.weights[part]
        m, k = vertices.shape
        apart = np.arange(m * k, dtype=np.int32).reshape(m, k)  # no two constraints share a vertex while they are moved
        assert group.kind.evaluate is not None
        through = value_pass(group.kind.evaluate)
        c = np.empty(m)

        def slopes(x: np.ndarray) -> np.ndarray:
            out = np.empty((m, k, 3))
            through(np.ascontiguousarray(x).reshape(-1, 3), apart, parameters, c, out)
            return out

        x = q[vertices]
        second = slopes_jacobian(slopes, x)
        second[~np.isfinite(second).all(axis=(1, 2))] = 0.0
        flat = slopes(x).reshape(m, 3 * k)  # last, so that c is that of x
        blocks = flat[:, :, None] * flat[:, None, :] + c[:, None, None] * second
        return Blocks(vertices, weights[:, None, None] * blocks)


def project(group: ConstraintGroup, z: np.ndarray) -> np.ndarray:
    """p of every constraint of a group for its stacked measures z (m r, 3), in float64."""
    assert group.kind.project is not None
    shape = (len(group), group.kind.rows, 3)
    p = np.empty(shape)
    project_pass(group.kind.project)(np.ascontiguousarray(z).reshape(shape), group.parameters, p)
    return p.reshape(z.shape)


def values(group: ConstraintGroup, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """C (m,) and its gradients (m, k, 3) for constraints that are known by these, in float64."""
    assert group.kind.evaluate is not None
    c, gradient = np.empty(len(group)), np.empty((*group.vertices.shape, 3))
    value_pass(group.kind.evaluate)(np.ascontiguousarray(q), group.vertices, group.parameters, c, gradient)
    return c, gradient
