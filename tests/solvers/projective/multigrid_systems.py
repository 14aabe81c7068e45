"""Systems for multigrid, and what its levels must be."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from solvers.operators import EPS32
from vivace import System
from vivace.scenes import make_scene


def cloth_system(resolution=14) -> System:
    return System(make_scene("tablecloth", resolution=resolution).model, 0.033)


def body_system(resolution=6) -> System:
    return System(make_scene("cube", resolution=resolution).model, 1 / 30)


SYSTEMS = {"cloth": cloth_system, "body": body_system}


def dense(level) -> np.ndarray:
    """A level's matrix in float64."""
    return sp.csr_array((level.wide, level.j, level.at), shape=(level.n, level.n)).toarray() + np.diag(level.diagonal)


def check_galerkin(hierarchy, matrix):
    """Every level is QᵀYQ, its float32 copies are of it, and the coarsest inverse is its inverse."""
    for level, q in zip(hierarchy.levels, hierarchy.from_fine, strict=True):
        exact = (q.T @ matrix @ q).toarray()
        np.testing.assert_allclose(dense(level), exact, rtol=0, atol=1e-11 * np.abs(exact).max())
        np.testing.assert_allclose(level.a, -level.wide, rtol=EPS32)
        np.testing.assert_allclose(level.inverse * level.diagonal, 1.0, rtol=0, atol=2 * EPS32)
    if len(hierarchy.dense):
        inverse = np.linalg.inv(exact)
        np.testing.assert_allclose(hierarchy.dense, inverse, rtol=0, atol=1e-5 * np.abs(inverse).max())
