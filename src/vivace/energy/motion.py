"""The terms that hold a step to what was before it: inertia, viscosity and pins, all quadratic; and a load, linear."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..constraints import ConstraintGroup
from ..terms.pieces import Alike
from ..terms.term import Frame, Term
from .stiffness import Stiffness


class Inertia(Term):
    """(1 + air h)/(2h²) ‖q - s‖²_M, with the masses and their factor in `inertia` (n,), N/m."""

    constant = True

    def __init__(self, inertia: np.ndarray):
        self.inertia = inertia

    def energy(self, q: np.ndarray, frame: Frame) -> float:
        """½ Σ m/h² |q - s|²: what it costs to be elsewhere than predicted."""
        return 0.5 * float(self.inertia @ _squares(q - frame.s))

    def add_gradient(self, q: np.ndarray, frame: Frame, out: np.ndarray) -> None:
        """Add m/h² (q - s)."""
        out += self.inertia[:, None] * (q - frame.s)

    def hessian(self, q: np.ndarray, frame: Frame | None) -> Iterable[Alike]:
        """The constant diagonal m/h²."""
        yield Alike(self.inertia)


class Load(Term):
    """-f · (q - q_n): the work of external forces, where no prediction has them."""

    constant = True

    def energy(self, q: np.ndarray, frame: Frame) -> float:
        """-f · (q - q_n), in differences, so that nothing cancels far from the origin."""
        return 0.0 if frame.load is None else -float(np.sum(frame.load * (q - frame.previous)))

    def add_gradient(self, q: np.ndarray, frame: Frame, out: np.ndarray) -> None:
        """Subtract f."""
        if frame.load is not None:
            out -= frame.load


class Viscosity(Term):
    """viscosity/(2h) ‖q - q_n‖²_K; `factor` is viscosity/h."""

    constant = True

    def __init__(self, factor: float, stiffness: Stiffness):
        self.factor, self.stiffness = factor, stiffness

    def energy(self, q: np.ndarray, frame: Frame) -> float:
        """½ factor (q - q_n) · K (q - q_n): what it costs to change shape within the step."""
        moved = q - frame.previous
        return 0.5 * self.factor * float(np.sum(moved * self.stiffness.times(moved)))

    def add_gradient(self, q: np.ndarray, frame: Frame, out: np.ndarray) -> None:
        """Add factor K (q - q_n)."""
        out += self.factor * self.stiffness.times(q - frame.previous)

    def hessian(self, q: np.ndarray, frame: Frame | None) -> Iterable[Alike]:
        """The constant matrix, factor K."""
        off, diagonal, _ = self.stiffness.parts
        yield Alike(self.factor * diagonal, off * self.factor)


class Pins(Term):
    """Σ w/2 ‖q_i - target‖² of a group of pins, whose targets begin at `first` of the frame's."""

    constant = True

    def __init__(self, group: ConstraintGroup, first: int, n: int):
        self.group, self._n = group, n
        self._vertices, self._rows = group.vertices[:, 0], slice(first, first + len(group))

    def held(self, frame: Frame) -> np.ndarray:
        """Its targets (m, 3)."""
        return frame.targets[self._rows]

    def energy(self, q: np.ndarray, frame: Frame) -> float:
        """½ Σ w |q - target|² over the pinned vertices."""
        return 0.5 * float(self.group.weights @ _squares(q[self._vertices] - self.held(frame)))

    def add_gradient(self, q: np.ndarray, frame: Frame, out: np.ndarray) -> None:
        """Add w (q - target) at the pinned vertices."""
        np.add.at(out, self._vertices, self.group.weights[:, None] * (q[self._vertices] - self.held(frame)))

    def hessian(self, q: np.ndarray, frame: Frame | None) -> Iterable[Alike]:
        """The constant diagonal: w at the pinned vertices."""
        diagonal = np.zeros(self._n)
        np.add.at(diagonal, self._vertices, self.group.weights)
        yield Alike(diagonal)


def _squares(x: np.ndarray) -> np.ndarray:
    squares: np.ndarray = np.einsum("ic,ic->i", x, x)
    return squares
