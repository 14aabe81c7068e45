"""Viscosity that lets hyperelastic elements turn: what it costs to change shape within a step, and not to rotate.

A model's viscosity is ½ f ‖q - q_n‖²_K with f = viscosity/h, of an element ½ w ‖F - F_n‖², w = f (λ + 2μ) V. That would
slow rotation as well: a cube that spins stands still within a quarter of a second at a viscosity of a millisecond. So
an element is held to the nearest of all rotations of what it was,

    ½ w min_R ‖F - R F_n‖²  =  ½ w ‖F - F_n‖²  -  w (F - F_n):(R - I) F_n  +  ½ w ‖(R - I) F_n‖²,

whose gradient is w (F - R F_n), because R is the best one. The first part is in K and in Y, which lies above this
energy; `Turning` is the rest.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..terms.pieces import Blocks
from ..terms.term import Frame, Term, scatter
from .kernels.viscosity import gradients_at, turned_all
from .term import Hyperelastic


class Turning(Term):
    """What rotating costs a body too much in ½ f ‖q - q_n‖²_K, taken away. `factor` is f, of one hyperelastic term."""

    def __init__(self, body: Hyperelastic, factor: float):
        self._body, e = body, body.elements
        self._weights = factor * body.proxy.weights
        self._flat = e.vertices, e.inverse

    def _parts(self, q: np.ndarray, frame: Frame) -> tuple[np.ndarray, np.ndarray]:
        """F - F_n and (R - I) F_n, (m, 3, 3)."""
        before, now, out = (np.empty(9 * len(self._body)) for _ in range(3))
        gradients_at(np.ascontiguousarray(frame.previous), *self._flat, before)
        turned_all(np.ascontiguousarray(q), *self._flat, before, now, out)
        return (now - before).reshape(-1, 3, 3), out.reshape(-1, 3, 3)

    def energy(self, q: np.ndarray, frame: Frame) -> float:
        """Σ w (½ |D|² - (F - F_n):D), D = (R - I) F_n."""
        moved, turned = self._parts(q, frame)
        return float(self._weights @ (turned * (0.5 * turned - moved)).sum(axis=(1, 2)))

    def add_gradient(self, q: np.ndarray, frame: Frame, out: np.ndarray) -> None:
        """Add -w Aᵀ D."""
        _, turned = self._parts(q, frame)
        rows = np.einsum("t,tcr,tkr->tkc", -self._weights, turned, self._flat[1].reshape(-1, 3, 3))
        scatter(self._body.vertices, np.concatenate([-rows.sum(axis=1, keepdims=True), rows], axis=1), out)

    def hessian(self, q: np.ndarray, frame: Frame | None) -> Iterable[Blocks]:
        """None: K alone lies above both."""
        return ()
