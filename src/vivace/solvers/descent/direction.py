"""What a direction of descent is, and the simplest."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from .momentum import Momentum
from .problem import Problem


class Direction(ABC):
    """What all have: a problem, and a step. `history`: how many steps before it may look back at."""

    searches = True  # whether every step is looked at
    momentum = False

    def __init__(self, problem: Problem, history: int = 8):
        self.problem, self.history = problem, history

    def begin(self) -> None:  # noqa: B027
        """What was before leads nowhere: a step begins, or something was taken back."""

    def scale(self) -> np.ndarray:
        """P: what the gradient is divided by."""
        return self.problem.scale

    @abstractmethod
    def step(self, length: float, momentum: Momentum) -> float:
        """Move q; returns the step length to go on with."""


class Jacobi(Direction):
    """Along the gradient, every coordinate by its own curvature."""

    searches, momentum = False, True

    def step(self, length: float, momentum: Momentum) -> float:
        """q̄ = q + α Δq, and what the momentum makes of it."""
        problem = self.problem
        with np.errstate(invalid="ignore"):  # a force that is no number moves nothing: the energy tells
            new = problem.r / self.scale()
        new *= np.float32(length)
        new += problem.q
        momentum.next(problem.q, new)
        return length
