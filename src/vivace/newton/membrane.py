"""Triangles of a membrane: Newton's `tri_ke` and `tri_ka`, as projective dynamics takes them.

With the rest edges D (2 x 2, in the plane of the triangle) the deformation gradient is F = [q1-q0, q2-q0] D⁻¹ (3 x 2),
linear in q. The operator A gives Fᵀ: row r of z = A q is column r of F. With its singular values σ₁ ≥ σ₂ ≥ 0:

    membrane-strain   E = κ area ‖F - R‖²      R = U Vᵀ, both singular values 1
    membrane-area     E = κ area/2 ‖F - G‖²    G the matrix with σ₁ σ₂ = 1 nearest to F

For small strains ε the first is κ ‖ε‖² and the second κ/4 tr(ε)², each times the area: stiffnesses of μ and 2 λ make
the linear elastic sheet of Lamé's μ ‖ε‖² + λ/2 tr(ε)², which Newton's neo-Hookean membrane is for small strains, too.
"""

from __future__ import annotations

import numpy as np

from ..constraints import Prepared, constraint
from ..errors import InputError
from .kernels.membrane import composed, decomposed, nearest_area


def flat_inverse(rest: np.ndarray) -> np.ndarray:
    """D⁻¹ (m, 2, 2) of triangles (m, 3, 3), in axes of which the first lies along the first edge."""
    a, b = rest[:, 1] - rest[:, 0], rest[:, 2] - rest[:, 0]
    length = np.linalg.norm(a, axis=1)
    height = np.linalg.norm(np.cross(a, b), axis=1)
    bad = np.flatnonzero(~(height > 1e-12 * (length**2 + np.einsum("mc,mc->m", b, b))))
    if len(bad):
        raise InputError(f"triangle {bad[0]} has no area at rest; repair the mesh first")
    along, height = np.einsum("mc,mc->m", a, b) / length, height / length
    inverse = np.zeros((len(rest), 2, 2))
    inverse[:, 0, 0], inverse[:, 1, 1] = 1 / length, 1 / height
    inverse[:, 0, 1] = -along / (length * height)
    return inverse


def _prepared(rest: np.ndarray, inverse: np.ndarray | None, factor: float) -> Prepared:
    found = flat_inverse(rest) if inverse is None else np.asarray(inverse, np.float64)
    columns = np.swapaxes(found, 1, 2)  # F = Q D⁻¹, so Fᵀ = D⁻ᵀ Qᵀ
    operator = np.concatenate([-columns.sum(axis=2, keepdims=True), columns], axis=2)
    return Prepared(operator=operator, measure=factor * 0.5 / np.linalg.det(found))


@constraint("membrane-strain", vertices=3, rows=2, unit="N/m")
class MembraneStrain:
    """Keeps the lengths and angles of a triangle, however it is turned; stiffness κ in N/m, the sheet's μ."""

    @staticmethod
    def prepare(rest: np.ndarray, inverse: np.ndarray | None = None) -> Prepared:
        """The operator that gives F, and twice the area for the weight; `inverse`: D⁻¹ if it is known, (m, 2, 2)."""
        return _prepared(rest, inverse, 2.0)

    @staticmethod
    def project(z, parameters, p):
        """The nearest F without strain."""
        _, _, c, s, a0, a1, a2, b0, b1, b2 = decomposed(z)
        composed(1.0, 1.0, c, s, a0, a1, a2, b0, b1, b2, p)


@constraint("membrane-area", vertices=3, rows=2, unit="N/m")
class MembraneArea:
    """Keeps the area of a triangle, and lets its shape change; stiffness in N/m, twice the sheet's λ."""

    @staticmethod
    def prepare(rest: np.ndarray, inverse: np.ndarray | None = None) -> Prepared:
        """The operator that gives F, and the area for the weight; `inverse`: D⁻¹ if it is known, (m, 2, 2)."""
        return _prepared(rest, inverse, 1.0)

    @staticmethod
    def project(z, parameters, p):
        """The nearest F of the same area."""
        first, second, c, s, a0, a1, a2, b0, b1, b2 = decomposed(z)
        x = nearest_area(first, second)
        composed(x, 1.0 / x, c, s, a0, a1, a2, b0, b1, b2, p)
