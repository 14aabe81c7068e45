"""Bending over an edge and its two triangles: E = k/2 · 3/(A₁+A₂) ‖Σ c_i x_i‖² [bergou2006].

The four coefficients c come from the cotangents of the rest angles at the edge. On a flat rest shape Σ c_i x_i is zero
and the energy is quadratic: it goes into the matrix and needs no projection [fratarcangeli2018, section 2.3].
"""

from __future__ import annotations

import numpy as np

from ..backends.cpu.compiling import function, inlined
from ..backends.cpu.vectors import dot, entry, xyz4
from ..errors import InputError
from .base import Prepared, Role, constraint
from .spring import SMALLEST_SQUARE, Spring

# --- its maths --------------------------------------------------------------------------------------------------------


def _cotangent(corner: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    u, v = a - corner, b - corner
    cotangent: np.ndarray = np.einsum("mc,mc->m", u, v) / np.linalg.norm(np.cross(u, v), axis=1)
    return cotangent


def coefficients(rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the operator (m, 4) for corners (edge start, edge end, opposite, opposite), and the area A₁ + A₂."""
    x0, x1, x2, x3 = (rest[:, k] for k in range(4))
    area = 0.5 * np.linalg.norm(np.cross(x1 - x0, x2 - x0), axis=1)
    area = area + 0.5 * np.linalg.norm(np.cross(x1 - x0, x3 - x0), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        start2, start3 = _cotangent(x0, x1, x2), _cotangent(x0, x1, x3)
        end2, end3 = _cotangent(x1, x0, x2), _cotangent(x1, x0, x3)
        rows = np.stack([end2 + end3, start2 + start3, -(start2 + end2), -(start3 + end3)], axis=1)
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(bad):
        raise InputError(f"hinge {bad[0]} lies on a triangle without area; repair the mesh first")
    return rows, area


@inlined
def hinge_vector(x0, x1, x2, x3, c1, c2, c3):
    """Σ c_k x_k, in differences to the first vertex: the coefficients add up to zero."""
    return xyz4(c1 * (x1 - x0) + c2 * (x2 - x0) + c3 * (x3 - x0))


@inlined
def _vector(x0, x1, x2, x3, operator, c):
    return hinge_vector(
        x0, x1, x2, x3, entry(operator, 4 * c + 1), entry(operator, 4 * c + 2), entry(operator, 4 * c + 3)
    )


@inlined
def _value(v, rest, operator, c):
    """C = ‖v‖ - rest and its gradients, v = Σ c_k x_k."""
    square = dot(v, v)
    size = np.sqrt(square)
    n = v * (np.float32(1.0) / size if square > SMALLEST_SQUARE else np.float32(0.0))
    return (
        size - rest,
        entry(operator, 4 * c) * n,
        entry(operator, 4 * c + 1) * n,
        entry(operator, 4 * c + 2) * n,
        entry(operator, 4 * c + 3) * n,
    )


@function
def flat_hinge(x0, x1, x2, x3, operator, parameters, c):
    """C = ‖Σ c_k x_k‖: the root of the quadratic energy of [bergou2006], so that w C²/2 is that energy."""
    return _value(_vector(x0, x1, x2, x3, operator, c), np.float32(0.0), operator, c)


@function
def curved_hinge(x0, x1, x2, x3, operator, parameters, c):
    """C = ‖Σ c_k x_k‖ - its size at rest."""
    return _value(_vector(x0, x1, x2, x3, operator, c), entry(parameters, c), operator, c)


# --- what they store, and their names ---------------------------------------------------------------------------------


@constraint("hinge", vertices=4, rows=1, role=Role.QUADRATIC, gradients=flat_hinge, unit="N·m")
class Hinge:
    """Resists bending of an initially flat surface; stiffness in N·m."""

    @staticmethod
    def prepare(rest: np.ndarray) -> Prepared:
        """The operator that measures how far a hinge is bent, and 3/A for the weight."""
        rows, area = coefficients(rest)
        return Prepared(operator=rows[:, None, :], measure=3.0 / area)


@constraint("curved-hinge", vertices=4, rows=1, parameters=("rest_size",), gradients=curved_hinge, unit="N·m")
class CurvedHinge:
    """Resists bending away from a curved rest shape: keeps the size of the hinge vector; stiffness in N·m."""

    @staticmethod
    def prepare(rest: np.ndarray) -> Prepared:
        """The operator of `Hinge`, and the size of each hinge vector at rest."""
        rows, area = coefficients(rest)
        size = np.linalg.norm(np.einsum("mk,mkc->mc", rows, rest), axis=1)
        return Prepared(operator=rows[:, None, :], parameters=size[:, None], measure=3.0 / area)

    project = staticmethod(Spring.project)  # a vector of given size, for a spring as for a hinge
