"""Hyperelastic bodies in a layout: their local pass, and what solvers that need more than forces ask of them.

Y has a constant matrix for every element (`Hyperelastic.proxy`), and the local pass gives a right-hand side with which
the residual b - Y q is minus the gradient of the true energy. That is all that a solver needs which follows residuals;
it must judge its steps, for Y need not be stiffer than the material.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...backends.cpu.arguments import Phase, phase_kernel
from ...backends.cpu.executor import Plan
from ...backends.cpu.lanes import EIGHT
from ...energy.kernels.assemble import assign_slots
from ...energy.system import Frame, System
from ...hyperelastic.kernels.elements import slots_of
from ...hyperelastic.kernels.phases import BLOCK
from ...hyperelastic.kernels.viscosity import gradients_at, turn_viscous
from ...hyperelastic.tangles import Tangle
from ...hyperelastic.term import Hyperelastic
from .holding import Holding

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
        # Corners in rising order, elements by their first: what is added up vertex by vertex is then met in a row.
        corner = np.argsort(rank[term.vertices], axis=1)
        first = np.take_along_axis(rank[term.vertices], corner, axis=1)
        visit = np.argsort(first[:, 0], kind="stable")
        corner = corner[visit]
        self.vertices = np.ascontiguousarray(first[visit])
        self.held = np.ascontiguousarray(term.interpolants[visit])
        self.visit = visit
        self.slots = assign_slots(cursor, np.take_along_axis(term.vertices[visit], corner, axis=1), rank)
        self._shares, self._q = shares, q
        inverse, which = _turned(e.inverse.reshape(-1, 3, 3)[visit], corner).astype(np.float32), e.which[visit]
        eights = self.count // EIGHT
        whole = which[: EIGHT * eights].reshape(eights, EIGHT)
        alike = np.append((whole == whole[:, :1]).all(axis=1), False).astype(np.int32)  # the last few are no eight
        self._arrays = {
            "vertices": np.ascontiguousarray(self.vertices.ravel()),
            "inverse": inverse.ravel(),
            "volumes": e.volumes[visit].astype(np.float32),
            "which": which,
            "alike": alike,
            "packed": np.ascontiguousarray(
                np.swapaxes(inverse[: EIGHT * eights].reshape(eights, EIGHT, 9), 1, 2)
            ).ravel(),
            "constants": e.constants,
            "held": self.held,
            "q": q,
        }
        self._stiff = term.stiffness[visit].astype(np.float32)
        m, number = self.count, np.empty(self.count, np.int32)
        places = list[np.ndarray]()
        for k, begin, size in ((1, 9 * m, 6), (2, 15 * m, 3)):
            number[np.argsort(self.vertices[:, k], kind="stable")] = np.arange(m)
            places.append(begin + size * number)
        self._second, self._third = (np.ascontiguousarray(place, np.int32) for place in places)
        read = self._arrays["inverse"], self._arrays["volumes"]
        self.tangle = Holding(
            visit, self._stiff, *read, self.slots.ravel(), {"second": self._second, "third": self._third}
        )
        self._before = np.zeros(9 * self.count)  # F at the last positions: without any nothing turns
        self._viscous: dict[str, np.ndarray] = {}
        if viscous:
            slots = assign_slots(cursor, np.take_along_axis(term.vertices[visit], corner, axis=1), rank).ravel()
            weights = (viscous * term.proxy.weights[visit]).astype(np.float32)
            self._viscous = {"slots": slots, "weights": weights, "before": self._before, "out": shares}
            self._viscous["inverse"] = inverse.ravel().copy()  # of held elements, too

    def hold(self, tangle: Tangle | None) -> None:
        """The elements that the next step holds to a rotation; those of `term` leave them out."""
        self.tangle.take(tangle)

    def local_phases(self) -> list[Phase]:
        """The local pass; before it the interpolants, where these are held from one iteration to the next."""
        local = self.term.loops.local.over(
            0, self.count, stiff=self._stiff, slots=self.slots.ravel(), out=self._shares, **self._arrays
        )
        own = [local, self.tangle.local(self._shares)]
        if self._viscous:
            own.append(turn_viscous.over(0, self.count, **turn_viscous.select({**self._arrays, **self._viscous})))
        return own

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

    def diagonal(self, straight: np.ndarray, mixed: np.ndarray) -> list[Phase]:
        """Each corner's own 3 x 3 Hessian in its slot: xx, yy, zz and yz, xz, xy."""
        out = {"straight": straight, "mixed": mixed, "slots": self.slots.ravel()}
        own = self.term.loops.diagonal.over(0, self.count, **out, **self._arrays)
        return [own, self.tangle.diagonal(straight, mixed)]

    def sweeping(
        self, template: Callable[..., Any], arrays: dict[str, np.ndarray]
    ) -> tuple[phase_kernel, dict[str, Any]]:
        """The kernel of a template that visits vertices, and all arrays that it takes beside `arrays`."""
        at, corner = slots_of(self._arrays["vertices"], len(self._q))
        order = np.empty_like(corner)
        order[corner] = np.arange(len(corner), dtype=np.int32)  # by vertices: 4 t + k
        own = {"corner_at": at, "corner": order, "stiff": self._stiff, "slots": self.slots.ravel()}
        kernel = self.term.loops.kernel(template, items="visit")
        return kernel, kernel.select({**self._arrays, **own, "shares": self._shares, **arrays})

    def pairs(self, out: np.ndarray) -> list[Phase]:
        """The Hessian between two corners of every element: 18 rows an element, where `pair_rows` says."""
        places = {"second": self._second, "third": self._third}
        own = self.term.loops.pairs.over(0, self.count, out=out, **places, **self._arrays)
        return [own, self.tangle.pairs(out)]

    @property
    def pair_rows(self) -> np.ndarray:
        """The first of the three rows of every pair of corners, 01, 02, 03, 12, 13, 23: (m, 6)."""
        first = 9 * np.arange(self.count, dtype=np.int32)
        return np.stack([first, first + 3, first + 6, self._second, self._second + 3, self._third], axis=1)

    def storing(self) -> tuple[Phase, np.ndarray]:
        """What the elements store at q: a phase, and sums in blocks (J)."""
        partial = np.zeros(-(-self.count // BLOCK))
        return self.term.loops.stored.over(0, self.count, grain=BLOCK, partial=partial, **self._arrays), partial


def _turned(inverse: np.ndarray, corner: np.ndarray) -> np.ndarray:
    """Inverses of rest edges (m, 3, 3) for corners in another order, `corner` (m, 4), as (m, 9)."""
    rows = np.concatenate([-inverse.sum(axis=1, keepdims=True), inverse], axis=1)
    return np.take_along_axis(rows, corner[:, 1:, None], axis=1).reshape(-1, 9)


class Beginning:
    """Makes the potentials of a layout ready for steps: holds what is tangled, and tells where a step should begin."""

    def __init__(self, potentials: Sequence[Potential], q: np.ndarray, order: np.ndarray, threads: int):
        self._potentials, self._q, self._order = potentials, q, order
        found = [potential.storing() for potential in potentials]
        self._sums = [sums for _, sums in found]
        self._plan = Plan([phase for phase, _ in found], threads) if found else None
        self._much = _much(potential.term for potential in potentials)

    def __call__(self, system: System, frame: Frame) -> np.ndarray | None:
        """Rows (n, 4) where the step should begin, if not at its first guess. The layout's positions are lost."""
        if self._plan is None:
            return None
        tangles = [potential.term.tangle(frame) for potential in self._potentials]
        for potential, tangle in zip(self._potentials, tangles, strict=True):
            potential.hold(tangle)
            potential.leave(frame.previous)
        if all(tangle is None for tangle in tangles):
            self._q[:, :3] = frame.start[self._order]
            self._plan.run()
            with np.errstate(invalid="ignore"):
                if sum(float(sums.sum()) for sums in self._sums) <= self._much:
                    return None
        return last_positions(system, frame) if far_too_high(system, frame) else None


def _much(terms: Iterable[Hyperelastic]) -> float:
    """MUCH of what bodies store when they are stretched to twice their length along all axes (J)."""
    return MUCH * 1.5 * sum(float(term.proxy.weights.sum()) for term in terms)


def far_too_high(system: System, frame: Frame) -> bool:
    """Whether what a step begins with stores far more energy than there is: then it should begin at the last positions.

    Where a body is far out of shape, its prediction may have many times the energy that there is. What a few
    iterations from there leave of it is more than there was, the next prediction is worse, and the body explodes. The
    last positions have the energy that there was, E + |q - s|² m/(2 h²), and that cannot happen. They are a bad start
    otherwise, from which things hardly move in a few iterations. So "far" is told by the material: MUCH of what it
    stores when it is stretched to twice its length along all axes.
    """
    much = _much(system.hyperelastic)
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
