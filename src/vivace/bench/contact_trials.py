"""How many iterations an answer of a certain quality takes, found by trial [thesis2010, section 3.8]."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..rigid.problem import ContactProblem
from ..solvers.rigid import Solution, make_contact_solver, quality
from .contact_cases import GAUSS_SEIDEL, rows_of

ITERATIONS = 50  # of sequential Gauss-Seidel, whose quality is the goal
SAME = 1e-6  # relative: rounding does not count as worse
MOST = 1000  # iterations that are tried before one gives up


def goal_of(problem: ContactProblem, omega: float = 1.0) -> float:
    """The quality of 50 iterations of Gauss-Seidel on one thread."""
    row = rows_of(problem, [GAUSS_SEIDEL], omega=omega)[GAUSS_SEIDEL]
    return quality(problem, make_contact_solver(row.solver).solve(problem, ITERATIONS, threads=1).impulses)


def iterations_to(
    goal: float, solve: Callable[[int], Solution], problem: ContactProblem, guess: int = ITERATIONS, most: int = MOST
) -> tuple[int | None, Solution]:
    """The fewest iterations with a quality of `goal`, by trial, and their answer; None where `most` are not enough.

    Begins at `guess` and goes on where a quality that falls by the same factor in each iteration would reach the goal,
    in turns with the middle of what is left. Jacobi may get worse in every other iteration, so from there every other
    one is tried backwards.
    """
    low, high, number = 0, most + 1, min(max(guess, 1), most)
    seen: dict[int, float] = {}  # logarithms of quality ÷ goal
    while high - low > 1:
        found = solve(number)
        ratio = quality(problem, found.impulses) / max(goal, 1e-300)
        seen[number] = float(np.log(min(max(ratio, 1e-300), 1e300)))
        if ratio <= 1.0 + SAME:
            high, best = number, found
        else:
            low = number
        number = _next(seen, low, high, most)
    if high > most:
        return None, found
    while high - 2 > 0 and high != guess and high - 2 not in seen:
        found = solve(high - 2)
        if quality(problem, found.impulses) > goal * (1.0 + SAME):
            break
        high, best = high - 2, found
    return high, best


def _next(seen: dict[int, float], low: int, high: int, most: int) -> int:
    """Where to try next between `low`, which is not enough, and `high`, which is."""
    if len(seen) == 1 and high <= most:  # a guess that was right ends here
        return high - 1
    if high > most:
        least, largest = low + max(low // 4, 1), 4 * low
    elif low == 0:
        least, largest = high // 4, high - max(high // 4, 1)
    elif len(seen) % 2:
        return (low + high) // 2
    else:
        least, largest = low + 1, high - 1
    (a, at), (b, bt) = sorted(sorted([*seen.items(), (0, np.inf)], key=lambda item: abs(item[1]))[:2])
    place = b + (b - a) * bt / (at - bt) if np.inf > at > bt else 2.0 * low
    return int(np.clip(np.ceil(place), max(least, 1), min(largest, most)))
