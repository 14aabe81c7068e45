"""Who decides the next iterate. One file a solver; `base` tells how to write another."""

from . import auto
from .base import (
    SOLVERS,
    Budget,
    Deadline,
    Outcome,
    Solver,
    as_budget,
    limitations_of,
    make_solver,
    options_of,
)
from .descent import descent
from .position_based import chebyshev as _chebyshev_jacobi  # noqa: F401
from .position_based import pbd, pbd_coloured, pbd_jacobi, pbd_vivace
from .projective import (
    block_descent,
    chebyshev,
    direct,
    gauss_seidel,
    jacobi,
    lattice,
    lbfgs,
    multigrid,
    newton,
    newton_multigrid,
    pcg,
    vivace,
    weighted_jacobi,
)
from .reference import Reference, minimise, relative_error

__all__ = [
    "SOLVERS",
    "Budget",
    "Deadline",
    "Outcome",
    "Reference",
    "Solver",
    "as_budget",
    "auto",
    "block_descent",
    "chebyshev",
    "descent",
    "direct",
    "gauss_seidel",
    "jacobi",
    "lattice",
    "lbfgs",
    "limitations_of",
    "make_solver",
    "minimise",
    "multigrid",
    "newton",
    "newton_multigrid",
    "options_of",
    "pbd",
    "pbd_coloured",
    "pbd_jacobi",
    "pbd_vivace",
    "pcg",
    "relative_error",
    "vivace",
    "weighted_jacobi",
]
