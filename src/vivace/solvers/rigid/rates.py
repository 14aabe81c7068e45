"""r-factors: how far a contact goes along its velocity in one iteration [thesis2010, section 3.5].

Any positive r has the same answer; which one decides how soon it is found, or whether. There is one r for both
tangents: with two, the proximal map onto a disc would have other fixed points than the law of friction has answers.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse.linalg as spl

from ...checks import is_number, shown
from ...errors import InputError
from ...rigid.kernels.proximal import COUPLED, SUPPORT
from ...rigid.problem import UNKNOWNS, ContactProblem
from .kernels.ordering import local_rates

STRATEGIES = ("local", "global")


def rates_of(problem: ContactProblem, strategy: str | float, omega: float = 1.0) -> np.ndarray:
    """(K, 3) r-factors of normal, tangents and spin.

    "local" are 1 ÷ A_ii (3.25), "global" 2 ÷ (α_min + α_max) (3.24), or a number for all. `omega` multiplies them:
    projected SOR.
    """
    if strategy == "local":
        out = np.empty((problem.contacts, 3))
        # Sliding and spin may share a set of somebody's own, too.
        kinds = np.where(problem.kinds >= SUPPORT, COUPLED, problem.kinds)
        local_rates(problem.diagonal(), kinds, COUPLED, float(omega), out)
        return out
    if strategy == "global":
        return np.full((problem.contacts, 3), omega * _global(problem))
    if is_number(strategy) and float(strategy) > 0:
        return np.full((problem.contacts, 3), omega * float(strategy))
    raise InputError(f"r must be 'local', 'global' or a positive number, not {shown(strategy)}")


def _global(problem: ContactProblem) -> float:
    """2 ÷ (α_min + α_max) of A. Where contacts are more than bodies can tell apart α_min is zero."""
    jacobian, masses = problem.jacobian().tocsr(), problem.inverse_masses().tocsr()
    size = UNKNOWNS * problem.contacts
    if size <= 4 * UNKNOWNS:
        values = np.linalg.eigvalsh((jacobian @ masses @ jacobian.T).toarray())
        return float(2.0 / (max(values[0], 0.0) + values[-1]))
    operator = spl.LinearOperator((size, size), matvec=lambda x: jacobian @ (masses @ (jacobian.T @ x)), dtype=float)
    start = np.ones(size)
    largest = spl.eigsh(operator, k=1, which="LA", return_eigenvectors=False, v0=start, tol=1e-4)[0]
    if size > FREEDOMS_TOLD * problem.movable.sum():
        return float(2.0 / largest)
    smallest = spl.eigsh(operator, k=1, which="SA", return_eigenvectors=False, v0=start, tol=1e-4)[0]
    return float(2.0 / (max(smallest, 0.0) + largest))


FREEDOMS_TOLD = 6  # more unknowns than six a body are linearly dependent
