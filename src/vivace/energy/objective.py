"""What a step minimises, as a sum of terms: its energy, gradient and Hessian are the sums of theirs.

How a solver gets to the minimum is another matter: `system` has what projective dynamics makes of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from ..terms.pieces import as_matrix
from ..terms.term import Frame, Term, pieces_of


class Objective:
    """The terms of a step of n vertices.

    Args:
        motion: what holds a step to where it comes from: inertia, viscosity, pins.
        stored: what the constraints store: functions of the positions alone.
        own: the model's own terms.
    """

    def __init__(self, n: int, motion: Sequence[Term], stored: Sequence[Term], own: Sequence[Term] = ()):
        self.n, self.motion, self.stored, self.own = n, tuple(motion), tuple(stored), tuple(own)

    @property
    def terms(self) -> tuple[Term, ...]:
        """All terms, in the order in which they are added up."""
        return (*self.motion, *self.stored, *self.own)

    def energy(self, q: np.ndarray, frame: Frame) -> float:
        """ε(q) in joules."""
        total = _sum(self.motion, q, frame) + _sum(self.stored, q, frame)
        return total + _sum(self.own, q, frame) if self.own else total

    def gradient(self, q: np.ndarray, frame: Frame) -> np.ndarray:
        """∇ε(q), (n, 3) in newtons."""
        out = np.zeros((self.n, 3))
        for term in (*self.stored, *self.motion, *self.own):
            term.add_gradient(q, frame, out)
        return out

    def evaluate(self, q: np.ndarray, frame: Frame) -> tuple[float, np.ndarray]:
        """ε and ∇ε together, with one projection of each constraint."""
        stored, gradient = self.elastic(q)
        total = self.add(self.motion, q, frame, gradient) + stored
        return (total + self.add(self.own, q, frame, gradient) if self.own else total), gradient

    def elastic(self, q: np.ndarray) -> tuple[float, np.ndarray]:
        """What the constraints store, and its gradient (n, 3)."""
        gradient = np.zeros((self.n, 3))
        return self.add(self.stored, q, None, gradient), gradient

    def potential(self, q: np.ndarray) -> float:
        """What the constraints store (J)."""
        return _sum(self.stored, q, None)

    def hessian(self, q: np.ndarray, frame: Frame) -> sp.csr_matrix:
        """The sum of what the terms tell of their second derivatives, 3n x 3n: as simple as it is slow.

        `hessian.Hessian` is what Newton's method takes, with its pattern made once and negative eigenvalues taken away.
        """
        total = sp.csr_matrix((3 * self.n, 3 * self.n))
        for term in self.terms:
            for piece in pieces_of(term, q, frame):
                total = total + as_matrix(piece, self.n)
        return total

    @staticmethod
    def add(terms: Sequence[Term], q: np.ndarray, frame: Frame | None, out: np.ndarray) -> float:
        """The energy of some of the terms; their gradients are added to `out`."""
        total = 0.0
        for term in terms:
            total += term.add(q, frame, out)  # type: ignore[arg-type]
        return total


def _sum(terms: Sequence[Term], q: np.ndarray, frame: Frame | None) -> float:
    total = 0.0
    for term in terms:
        total += term.energy(q, frame)  # type: ignore[arg-type]
    return total
