"""Tetrahedra: keep the shape, keep the volume.

With the rest edges D = [x1-x0, x2-x0, x3-x0] the deformation gradient is F = [q1-q0, q2-q0, q3-q0] D⁻¹, linear in q.
The operator A gives Fᵀ: row r of z = A q is column r of F.

    tet-strain   E = κ vol ‖F - R‖²      R the rotation nearest to F [fratarcangeli2018, section 2.3]
    tet-volume   E = κ vol/2 ‖F - G‖²    G the matrix of determinant 1 nearest to F [bouaziz2014, section 5.1]
"""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from .base import Prepared, constraint
from .kernels.rotation import local_rotations, nearest_rotation
from .kernels.volume import local_volumes, nearest_unimodular


def gradient_operator(rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A (m, 3, 4) with A q = Fᵀ, and the rest volumes (m,)."""
    edges = np.stack([rest[:, k] - rest[:, 0] for k in (1, 2, 3)], axis=2)
    volume = np.linalg.det(edges) / 6.0 if len(rest) else np.zeros(0)
    size = np.abs(edges).max(axis=(1, 2), initial=0.0) if len(rest) else volume
    bad = np.flatnonzero(~(volume > 1e-12 * size**3))
    if len(bad):
        kind = "inverted" if volume[bad[0]] < 0 else "flat"
        raise InputError(
            f"tetrahedron {bad[0]} is {kind} at rest (volume {volume[bad[0]]:.3g} m³); repair the mesh first"
        )
    inverse = np.linalg.inv(edges)  # (m, 3, 3): F = Q D⁻¹, so Fᵀ = D⁻ᵀ Qᵀ
    columns = np.swapaxes(inverse, 1, 2)
    return np.concatenate([-columns.sum(axis=2, keepdims=True), columns], axis=2), volume


@constraint("tet-strain", vertices=4, rows=3, kernel=local_rotations, unit="Pa")
class TetStrain:
    """Keeps a tetrahedron's shape whatever its rotation, inverted or flat included; stiffness κ in Pa."""

    @staticmethod
    def prepare(rest: np.ndarray) -> Prepared:
        """The operator that gives the deformation gradient F, and 2 V for the weight."""
        operator, volume = gradient_operator(rest)
        return Prepared(operator=operator, measure=2.0 * volume)

    @staticmethod
    def project(z, parameters, p):
        """The rotation nearest to F."""
        nearest_rotation(z, p)


@constraint("tet-volume", vertices=4, rows=3, kernel=local_volumes, unit="Pa")
class TetVolume:
    """Keeps a tetrahedron's volume and lets its shape change; stiffness in Pa."""

    @staticmethod
    def prepare(rest: np.ndarray) -> Prepared:
        """The operator that gives the deformation gradient F, and V for the weight."""
        operator, volume = gradient_operator(rest)
        return Prepared(operator=operator, measure=volume)

    @staticmethod
    def project(z, parameters, p):
        """The matrix of determinant 1 nearest to F: no change of volume."""
        nearest_unimodular(z, p)
