"""Who decides the next iterate. One file a solver; `base` tells how to write another."""

from . import gauss_seidel, jacobi, vivace
from .base import SOLVERS, Budget, Deadline, Outcome, Solver, make_solver, options_of
from .reference import Reference, minimise, relative_error

__all__ = [
    "SOLVERS",
    "Budget",
    "Deadline",
    "Outcome",
    "Reference",
    "Solver",
    "gauss_seidel",
    "jacobi",
    "make_solver",
    "minimise",
    "options_of",
    "relative_error",
    "vivace",
]
