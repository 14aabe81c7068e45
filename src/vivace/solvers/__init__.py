"""Who decides the next iterate. One file a solver; `base` tells how to write another."""

from . import chebyshev, direct, gauss_seidel, jacobi, lbfgs, multigrid, newton, pcg, vivace, weighted_jacobi
from .base import SOLVERS, Budget, Deadline, Outcome, Solver, make_solver, options_of
from .reference import Reference, minimise, relative_error

__all__ = [
    "SOLVERS",
    "Budget",
    "Deadline",
    "Outcome",
    "Reference",
    "Solver",
    "chebyshev",
    "direct",
    "lbfgs",
    "multigrid",
    "pcg",
    "weighted_jacobi",
    "gauss_seidel",
    "jacobi",
    "make_solver",
    "minimise",
    "newton",
    "options_of",
    "relative_error",
    "vivace",
]
