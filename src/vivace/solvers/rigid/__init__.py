"""Solvers of rigid contact problems.

from vivace.solvers.rigid import make_contact_solver, quality
solution = make_contact_solver("coloured:scheme=factorised").solve(problem, 50)
"""

from . import anderson, parts, rescaled, sweeping  # noqa: F401  they register themselves
from .base import (
    CONTACT_SOLVERS,
    ContactSolver,
    Solution,
    contact_options,
    contact_solver_as_data,
    contact_solver_of_data,
    make_contact_solver,
    quality,
)
from .schemes import Factorised, Naive, Scheme, TScheme, scheme_for

__all__ = [
    "CONTACT_SOLVERS",
    "ContactSolver",
    "Factorised",
    "Naive",
    "Scheme",
    "Solution",
    "TScheme",
    "contact_options",
    "contact_solver_as_data",
    "contact_solver_of_data",
    "make_contact_solver",
    "quality",
    "scheme_for",
]
