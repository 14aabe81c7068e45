"""Backtracking: how far to go along a direction of descent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from ...checks import is_number
from ...errors import InputError

Rest = TypeVar("Rest")


@dataclass(frozen=True, eq=False)
class Accepted(Generic[Rest]):
    """Where a line search ended: the step, q + step d, ε there, and what else `evaluate` returned."""

    step: float
    q: np.ndarray
    energy: float
    rest: Rest


def backtrack(
    evaluate: Callable[[np.ndarray], tuple[float, Rest]],
    q: np.ndarray,
    direction: np.ndarray,
    energy: float,
    slope: float = 0.0,
    *,
    control: float = 1e-4,
    shrink: float = 0.5,
    first: float = 1.0,
    smallest: float = 1e-10,
    slack: float = 0.0,
) -> Accepted[Rest] | None:
    """The first step α of first, γ first, γ² first, ... that lowers ε enough [fratarcangeli2018, Eq. 35].

    Enough is ε(q + α d) <= ε(q) + c α d·∇ε(q). None if no step is good enough: on a direction of descent that is
    rounding. An energy that is infinite or not a number (a state outside the energy's domain) counts as too high.

    Args:
        evaluate: q ↦ (ε(q), whatever is worth keeping, such as the gradient).
        q: where to begin.
        direction: d, where to go.
        energy: ε(q).
        slope: d·∇ε(q), negative; not needed with c = 0.
        control: c, [0, 1). 0, the course's choice, asks for less energy and no more: then strictly less, as printed
            there, because equality would let a method swing between two states for ever.
        shrink: γ, (0, 1).
        first: the longest step that is tried.
        smallest: give up below this step, > 0.
        slack: what rounding may add to an energy. ε is flat at its minimum: without slack nothing is seen to fall when
            half of the positions' digits are right, and Newton's method could still find the others.
    """
    if not is_number(control) or not 0 <= control < 1:
        raise InputError(f"the control parameter of a line search must lie in [0, 1), not {control!r}")
    if not is_number(shrink) or not 0 < shrink < 1:
        raise InputError(f"a line search shrinks its step by a factor in (0, 1), not {shrink!r}")
    if not is_number(smallest) or not smallest > 0:
        raise InputError(f"the smallest step of a line search must be positive, not {smallest!r}")
    step = first
    while step >= smallest:
        trial = q + step * direction
        value, rest = evaluate(trial)
        enough = energy + slack + (control * step * slope if control else 0.0)
        if value < enough or (value == enough and control > 0):
            return Accepted(step, trial, value, rest)
        step *= shrink
    return None
