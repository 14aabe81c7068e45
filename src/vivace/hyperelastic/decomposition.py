"""Singular values and rotations of many 3 x 3 matrices at once, for users; `kernels.svd` has the method."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..checks import real_array, shown
from ..errors import InputError
from .kernels.svd import polar_all, svd_all


def svd(matrices: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U, σ and V with F = U diag(σ) Vᵀ, U and V rotations, σ₁ ≥ σ₂ ≥ |σ₃| and σ₃ of the sign of det F.

    Args:
        matrices: (m, 3, 3), or one (3, 3); float32 stays float32, all else becomes float64.

    Returns:
        U (m, 3, 3), σ (m, 3) and V (m, 3, 3). NumPy's third matrix is Vᵀ, and its σ has no signs.
    """
    f, shape = _as_rows(matrices)
    u, sigma, v = np.empty_like(f), np.empty((len(f), 3), f.dtype), np.empty_like(f)
    svd_all(f, u, sigma, v)
    return u.reshape(shape), sigma.reshape(shape[:-1]), v.reshape(shape)


def polar_rotation(matrices: ArrayLike) -> np.ndarray:
    """R = U Vᵀ, the rotation nearest to each matrix, inverted ones included: (m, 3, 3), or one (3, 3)."""
    f, shape = _as_rows(matrices)
    r = np.empty_like(f)
    polar_all(f, r)
    return r.reshape(shape)


def _as_rows(matrices: ArrayLike) -> tuple[np.ndarray, tuple[int, ...]]:
    single = isinstance(matrices, np.ndarray) and matrices.dtype == np.float32
    found = matrices if single else real_array(matrices)
    if found is None or np.ndim(found) not in (2, 3) or np.shape(found)[-2:] != (3, 3):
        raise InputError(f"matrices must be numbers of shape (m, 3, 3) or (3, 3), not {shown(matrices)}")
    array = np.ascontiguousarray(found)
    bad = np.flatnonzero(~np.isfinite(array).all(axis=(-2, -1)))
    if len(bad):
        raise InputError(f"matrix {bad[0]} is not finite ({len(bad)} such matrices)")
    return array.reshape(-1, 9), array.shape
