"""Bending over an edge and its two triangles: E = k/2 · 3/(A₁+A₂) ‖Σ c_i x_i‖² [bergou2006].

The four coefficients c come from the cotangents of the rest angles at the edge. On a flat rest shape Σ c_i x_i is zero
and the energy is quadratic: it goes into the matrix and needs no projection [fratarcangeli2018, section 2.3].
"""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from .base import Prepared, Role, constraint
from .kernels.gradients import curved_hinge, flat_hinge
from .spring import Spring


def _cotangent(corner, a, b):
    u, v = a - corner, b - corner
    return np.einsum("mc,mc->m", u, v) / np.linalg.norm(np.cross(u, v), axis=1)


def coefficients(rest):
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


@constraint("hinge", vertices=4, rows=1, role=Role.QUADRATIC, gradients=flat_hinge, unit="N·m")
class Hinge:
    """Resists bending of an initially flat surface; stiffness in N·m."""

    @staticmethod
    def prepare(rest):
        rows, area = coefficients(rest)
        return Prepared(operator=rows[:, None, :], measure=3.0 / area)


@constraint("curved-hinge", vertices=4, rows=1, parameters=("rest_size",), gradients=curved_hinge, unit="N·m")
class CurvedHinge:
    """Resists bending away from a curved rest shape: keeps the size of the hinge vector; stiffness in N·m."""

    @staticmethod
    def prepare(rest):
        rows, area = coefficients(rest)
        size = np.linalg.norm(np.einsum("mk,mkc->mc", rows, rest), axis=1)
        return Prepared(operator=rows[:, None, :], parameters=size[:, None], measure=3.0 / area)

    project = staticmethod(Spring.project)  # a vector of given size, for a spring as for a hinge
