"""Who decides the next iterate. One file a solver; `base` tells how to write another."""

from . import (
    auto,
    block_descent,
    chebyshev,
    direct,
    gauss_seidel,
    jacobi,
    lbfgs,
    multigrid,
    newton,
    pcg,
    vivace,
    weighted_jacobi,
)
from .base import SOLVERS, Budget, Deadline, Outcome, Solver, make_solver, options_of
from .reference import Reference, minimise, relative_error

__all__ = [
    "SOLVERS",
    "Budget",
    "Deadline",
    "Outcome",
    "Reference",
    "Solver",
    "auto",
    "block_descent",
    "chebyshev",
    "direct",
    "gauss_seidel",
    "jacobi",
    "lbfgs",
    "make_solver",
    "minimise",
    "multigrid",
    "newton",
    "options_of",
    "pcg",
    "relative_error",
    "vivace",
    "weighted_jacobi",
]
