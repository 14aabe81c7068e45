"""Problems and solvers of `vivace bench contact`: what is compared, and in which order contacts stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..errors import InputError
from ..rigid.balls import ball_grid, ball_pile
from ..rigid.problem import ContactProblem
from ..solvers.rigid import make_contact_solver
from ..solvers.rigid.sweeping import ColouredGaussSeidel

CHANCE = 0.25  # of a contact in a pile
MERGED = 16  # colours with less than this part of all contacts are merged by relaxed solvers
ORDERS = ("given", "shuffled")
JACOBI, JACOBI_T, GAUSS_SEIDEL = "jacobi", "jacobi t", "gauss-seidel"
FIXED = ",fixed=true"  # contacts with the ground depend on each other, as in the thesis


class Case(NamedTuple):
    """A problem by its name, and how it is made."""

    name: str
    make: Callable[[], ContactProblem]


CASES = {
    "small": (Case("small grid", lambda: ball_grid(8)), Case("small pile", lambda: ball_pile(40, CHANCE))),
    "medium": (Case("medium grid", lambda: ball_grid(24)),),
    "large": (Case("large grid", lambda: ball_grid(40)), Case("large pile", lambda: ball_pile(80, CHANCE))),
}
DEFAULT_SIZES = ("small", "medium")


class Row(NamedTuple):
    """A solver to compare; `{merged}` becomes a number of contacts. `parallel`: whether more threads are of use."""

    name: str
    solver: str
    parallel: bool = True


ROWS = (  # one line for each solver; those that are the same on a problem are measured once
    Row(JACOBI, "jacobi:scheme=factorised"),
    Row(JACOBI_T, "jacobi:scheme=t"),
    Row(GAUSS_SEIDEL, "gauss-seidel:scheme=factorised", parallel=False),
    Row("gauss-seidel t", "gauss-seidel:scheme=t", parallel=False),
    Row("rigid", "coloured:scheme=factorised"),
    Row("rigid t", "coloured:scheme=t"),
    Row("rigid, balanced", "coloured:scheme=factorised,balance=true"),
    Row("rigid, balanced, fixed", "coloured:scheme=factorised,balance=true" + FIXED),
    Row("relaxed", "coloured:scheme=factorised,merged={merged}"),
    Row("relaxed t", "coloured:scheme=t,merged={merged}"),
    Row("relaxed, fixed", "coloured:scheme=factorised,merged={merged}" + FIXED),
    Row("relaxed t, fixed", "coloured:scheme=t,merged={merged}" + FIXED),
    Row("contact-sets", "contact-sets"),
    Row("naive", "naive-parallel"),
    Row("messages", "message-passing"),
    Row("anderson", "anderson"),
    Row("rescaled", "rescaled"),
)


def rows_of(
    problem: ContactProblem, names: Sequence[str] | None = None, *, omega: float = 1.0, alike: bool = False
) -> dict[str, Row]:
    """Solvers for a problem by name, without those that differ in nothing there, unless `alike`.

    Where no ground is touched it does not matter how it is treated, and where no colour is small nothing is merged.
    """
    grounded = not problem.movable[problem.pairs].all()
    merged = max(problem.contacts // MERGED, 1)
    found: dict[str, Row] = {}
    for row in ROWS:
        text = row.solver.format(merged=merged)
        if (names is not None and row.name not in names) or (text.endswith(FIXED) and not grounded):
            continue
        if alike or not _merges_nothing(text, problem):
            found[row.name] = row._replace(solver=with_omega(text, omega))
    return found


def _merges_nothing(text: str, problem: ContactProblem) -> bool:
    solver = make_contact_solver(text)
    if not isinstance(solver, ColouredGaussSeidel) or not solver.merged:
        return False
    solver.arrange(problem)
    return not solver.unsafe


def with_omega(solver: str, omega: float) -> str:
    """A solver's name with r-factors times `omega`."""
    return solver if omega == 1.0 else f"{solver}{',' if ':' in solver else ':'}omega={omega:g}"


def in_order(problem: ContactProblem, order: str) -> ContactProblem:
    """The same contacts in another order: "given", from the ground up in a grid, or "shuffled"."""
    if order not in ORDERS:
        raise InputError(f"unknown order {order!r}; there are {', '.join(ORDERS)}")
    if order == "given":
        return problem
    at = np.random.default_rng(0).permutation(problem.contacts)
    return replace(
        problem,
        pairs=problem.pairs[at],
        frames=problem.frames[at],
        arms=problem.arms[at],
        b=problem.b[at],
        friction=problem.friction[at],
        radii=problem.radii[at],
        kinds=problem.kinds[at],
    )
