"""What a direction of descent is."""

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
