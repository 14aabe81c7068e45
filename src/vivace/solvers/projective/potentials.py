"""Hyperelastic bodies in a layout: their local pass, and what solvers that need more than forces ask of them.

Y has a constant matrix for every element (`Hyperelastic.proxy`), and the local pass gives a right-hand side with which
the residual b - Y q is minus the gradient of the true energy. That is all that a solver needs which follows residuals;
it must judge its steps, for Y need not be stiffer than the material.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...backends.cpu.arguments import Phase, phase_kernel
from ...energy.kernels.assemble import assign_slots
from ...energy.system import Frame, System
from ...hyperelastic.kernels.elements import slots_of
from ...hyperelastic.kernels.phases import BLOCK
from ...hyperelastic.kernels.viscosity import gradients_at, turn_viscous
from ...hyperelastic.term import Hyperelastic

MUCH = 0.01


class Potential:
    """One hyperelastic term in the order of a layout.

    Args:
        term: of the model.
        rank: place of each vertex of the mesh.
        cursor: next free slot of each place; moves on.
        q: positions of the layout.
        shares: of all local passes, by slots.
        viscous: factor of the system's viscosity on the stiffness (see `hyperelastic.viscosity`).
    """

    def __init__(
        self,
        term: Hyperelastic,
        rank: np.ndarray,
        cursor: np.ndarray,
        q: np.ndarray,
        shares: np.ndarray,
        viscous: float = 0.0,
    ):
        self.term, self.count = term, len(term)
        e = term.elements
        visit = np.argsort(rank[term.vertices].min(axis=1), kind="stable")  # neighbours in memory are so in the mesh
        self.vertices = rank[term.vertices[visit]]
        self.held = np.ascontiguousarray(term.interpolants[visit])
        self.visit = visit
        self.slots = assign_slots(cursor, term.vertices[visit], rank)
        self._shares, self._q = shares, q
        self._arrays = {
            "vertices": np.ascontiguousarray(self.vertices.ravel()),
            "inverse": e.inverse.reshape(-1, 9)[visit].astype(np.float32).ravel(),
            "volumes": e.volumes[visit].astype(np.float32),
            "which": e.which[visit],
            "constants": e.constants,
            "held": self.held,
            "q": q,
        }
        self._stiff = term.stiffness[visit].astype(np.float32)
        self._before = np.zeros(9 * self.count)  # F at the last positions: without any nothing turns
        self._viscous: dict[str, np.ndarray] = {}
        if viscous:
            slots = assign_slots(cursor, term.vertices[visit], rank).ravel()
            weights = (viscous * term.proxy.weights[visit]).astype(np.float32)
            self._viscous = {"slots": slots, "weights": weights, "before": self._before, "out": shares}

    def local_phases(self) -> list[Phase]:
        """The local pass; before it the interpolants, where these are held from one iteration to the next."""
        local = self.term.loops.local.over(
            0, self.count, stiff=self._stiff, slots=self.slots.ravel(), out=self._shares, **self._arrays
        )
        if not self._viscous:
            return [local]
        return [local, turn_viscous.over(0, self.count, **turn_viscous.select({**self._arrays, **self._viscous}))]

    def leave(self, previous: np.ndarray) -> None:
        """A step begins at positions (n, 3) in the order of the mesh: what viscosity holds its elements to."""
        if self._viscous:
            e = self.term.elements
            found = np.empty((self.count, 9))
            gradients_at(np.ascontiguousarray(previous, np.float64), e.vertices, e.inverse, found.ravel())
            self._before[:] = found[self.visit].ravel()

    def holding(self) -> list[Phase]:
        """Interpolants of the next iteration, where conversion is "held"."""
        conversion = self.term.conversion
        if conversion is None or conversion.way != "held":
            return []
        kernel = self.term.loops.hold
        return [kernel.over(0, self.count, memory=np.array([conversion.memory]), **kernel.select(self._arrays))]

    def judging(self, q_old: np.ndarray) -> tuple[Phase, np.ndarray]:
        """What the trapezium rule makes too much of the energy from `q_old` to q: a phase, and sums in blocks."""
        partial = np.zeros(-(-self.count // BLOCK))
        arrays = {**self._arrays, "q_old": q_old, "partial": partial}
        return self.term.loops.missed.over(0, self.count, grain=BLOCK, **arrays), partial

    def diagonal(self, straight: np.ndarray, mixed: np.ndarray) -> Phase:
        """Each corner's own 3 x 3 Hessian in its slot: xx, yy, zz and yz, xz, xy."""
        out = {"straight": straight, "mixed": mixed, "slots": self.slots.ravel()}
        return self.term.loops.diagonal.over(0, self.count, **out, **self._arrays)

    def sweeping(
        self, template: Callable[..., Any], arrays: dict[str, np.ndarray]
    ) -> tuple[phase_kernel, dict[str, Any]]:
        """The kernel of a template that visits vertices, and all arrays that it takes beside `arrays`."""
        at, corner = slots_of(self._arrays["vertices"], len(self._q))
        order = np.empty_like(corner)
        order[corner] = np.arange(len(corner), dtype=np.int32)  # by vertices: 4 t + k
        own = {"corner_at": at, "corner": order, "stiff": self._stiff, "slots": self.slots.ravel()}
        kernel = self.term.loops.kernel(template, items="visit")
        return kernel, {**self._arrays, **own, "shares": self._shares, **arrays}

    def pairs(self, out: np.ndarray) -> Phase:
        """The Hessian between two corners of every element: 18 rows an element."""
        return self.term.loops.pairs.over(0, self.count, out=out, **self._arrays)


def far_too_high(system: System, frame: Frame) -> bool:
    """Whether what a step begins with stores far more energy than there is: then it should begin at the last positions.

    Where a body is far out of shape, its prediction may have many times the energy that there is. What a few
    iterations from there leave of it is more than there was, the next prediction is worse, and the body explodes. The
    last positions have the energy that there was, E + |q - s|² m/(2 h²), and that cannot happen. They are a bad start
    otherwise, from which things hardly move in a few iterations. So "far" is told by the material: MUCH of what it
    stores when it is stretched to twice its length along all axes.
    """
    much = MUCH * 1.5 * sum(float(term.proxy.weights.sum()) for term in system.hyperelastic)
    stored = sum(term.energy(frame.start, frame) for term in system.hyperelastic)
    if stored <= much:
        return False
    there = sum(term.energy(frame.previous, frame) for term in system.hyperelastic)
    moving = 0.5 * float(system.inertia @ np.square(frame.previous - frame.s).sum(axis=1))
    return bool(not stored <= much + there + moving)


def last_positions(system: System, frame: Frame) -> np.ndarray:
    """Where the last step ended, rows (n, 4), pins at their targets."""
    rows = np.zeros((system.n, 4), np.float32)
    rows[:, :3] = frame.previous
    rows[system.model.pinned, :3] = frame.targets
    return rows
