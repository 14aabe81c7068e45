"""A Newton step in a smooth lattice before every correction: bodies that turn as they should.

Gravity moves all vertices of the prediction alike, so no edge has turned yet; the local step keeps those directions,
and the better the global step is solved, the more every edge is held to them: projective dynamics hovers. Y is as stiff
across a spring as along it, where the Hessian is not. So every round first makes a Newton step of the true energy in a
space of smooth motions, some hundred unknowns that turn without stretching (`lattice_space`, `kernels.lattice`), and
then a correction by Y, which is what removes stretch.

The start is the prediction, with pinned vertices where it puts them: snapped to their targets, the kink at a pin is
what everything else obeys, and the cure is lost.

Both steps are judged: should one raise the energy, it is taken back.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ...backends.cpu.arguments import Phase
from ...backends.cpu.executor import Plan
from ...checks import is_whole
from ...collisions.contacts import Contacts
from ...energy.system import System
from ...errors import InputError
from ..base import SOLVERS, Deadline, Outcome
from .correcting import PRESSED
from .hierarchy import transfer_of
from .kernels.acceleration import BLOCK
from .kernels.lattice import (
    REJECTIONS,
    STATE_SIZE,
    judge_lattice,
    judge_lattice_blocks,
    keep_lattice_step,
    lattice_step,
)
from .lattice_space import LatticeSpace, lattice_spaces
from .layout import Layout
from .lbfgs import LBFGS

# How far a lattice step may turn its slope round. The matrix of springs lies above the true one, so they overshoot only
# because turning stretches, by a fourth power of the angle: the energy has fallen up to twice the slope. That of
# sampled tetrahedra is not above the true one: what it overshoots by comes back as velocity, and would grow from step
# to step beyond a third (docs/relaxation.md).
SPRINGS_BACK, SAMPLED_BACK = 2.0, 1 / 3
# Rounds that a step gets, however late, while walls do not hold. With 24 a hand that drags a tablecloth over the edge
# of its table waits for 75 ms a step, with 8 for a third of that; the largest stretch is 24 % instead of 17.
MOST_PRESSED = 8
# ... and where they are slower than real time: 40,000 vertices that are dragged take 65 ms a frame instead of 76.
MOST_LATE = 6
PATIENCE = 30  # steps with time to spare after which what touches gets another round


@SOLVERS.register("lattice")
@dataclass(eq=False)
class Lattice(LBFGS):
    """A Newton step in a smooth lattice, then a step of L-BFGS over another solver's corrections: lattice(multigrid).

    Attributes:
        inner: the solver that makes the corrections.
        memory: steps that are remembered, 1 to 20.
        keep: remember them from one time step to the next.
        cells: of the lattice along the longest side of a part, at most, 1 to 64; small bodies get fewer.

    Limitations: no constraints known by their value, no energy terms of a model's own, no contacts over `direct`; what
    turns in regions smaller than a cell, as soft tetrahedra and buckling tubes do, hovers all the same; over
    `multigrid` contacts between surfaces do not remember their forces, so that heaps creep; its own set-up is never in
    the background.
    """

    cells: int = 16

    wrapper = "lattice"
    uses_leftover = False
    refresh = 0
    snaps_pins = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_whole(self.cells) or not 1 <= self.cells <= 64:
            raise InputError(f"cells must be a whole number from 1 to 64, not {self.cells!r}")

    def prepare(self, system: System, *, threads: int, seed: int) -> None:
        """Lay a lattice over each part, then prepare the solver inside."""
        self._spaces: list[LatticeSpace] = lattice_spaces(system, self.cells)
        self._turning = np.zeros(STATE_SIZE)  # of the lattice's own steps
        self._beyond, self._most = 0, MOST_PRESSED  # rounds of the last step beyond its budget; what it may have
        self._real_time: int | None = None  # when a step becomes slower than what it simulates, ns
        self._usual, self._spare = 0, 0  # rounds of a step that touches, and for how many there has been time for more
        super().prepare(system, threads=threads, seed=seed)

    def adapt(self, system: System) -> bool:
        """Take over the new diagonal, in the lattice too."""
        if not super().adapt(system):
            return False
        self._follow()
        return True

    def set_contacts(self, contacts: Contacts, previous: np.ndarray, start: np.ndarray) -> None:
        """Put the contacts into the matrix, and into that of the lattice."""
        super().set_contacts(contacts, previous, start)
        self._follow()

    def solve(self, start: np.ndarray, constant: np.ndarray, out: np.ndarray, deadline: Deadline) -> Outcome:
        """What touches gets the same number of rounds step after step, as far as time allows.

        A step ends a little short of its minimum, where depends on how many rounds it had; one more or less from step
        to step, as a clock gives them, and what should lie still trembles.
        """
        budget, at_ns = deadline.budget, deadline.at_ns
        if at_ns is None or self.least_iterations == 1:
            self._usual, self._spare, self._real_time = 0, 0, None
            return super().solve(start, constant, out, deadline)
        begin, self._beyond = time.perf_counter_ns(), 0
        assert self.system is not None
        self._most, self._real_time = budget.most_iterations, begin + round(1e9 * self.system.h)
        if 0 < self._usual < budget.most_iterations:
            deadline = replace(deadline, budget=replace(budget, iterations=self._usual))
        outcome = super().solve(start, constant, out, deadline)
        took = (outcome.swept_ns - begin) / max(outcome.sweeps, 1)
        self._spare = self._spare + 1 if outcome.swept_ns + 2 * took < at_ns else 0
        self._usual = outcome.sweeps - self._beyond
        if self._spare >= PATIENCE:
            self._usual, self._spare = self._usual + 1, 0
        limited = outcome.stopped == "iterations" and outcome.sweeps < budget.most_iterations
        return replace(outcome, stopped="time") if limited else outcome

    def _press_on(self, plan: Plan, sweeps: int) -> int:
        """A step that drags cloth into a wall, and has not found the forces to hold it there, is not over."""
        assert self.layout is not None
        contacts, more = self.layout.contacts, 0
        late = self._real_time is not None and time.perf_counter_ns() > self._real_time
        most = min(MOST_LATE if late else MOST_PRESSED, self._most)
        while contacts is not None and contacts.is_deep() and sweeps + more < most:
            more += plan.run(min(PRESSED, most - sweeps - more), None, PRESSED)  # which begins by renewing the forces
        self._beyond = more
        return more

    def _follow(self) -> None:
        """Take what holds the vertices now to the lattices."""
        assert self.layout is not None
        for space in self._spaces:
            space.adapt(self.layout.system)

    def update_steps(self, layout: Layout, r: np.ndarray, e: np.ndarray) -> tuple[Sequence[Phase], Sequence[Phase]]:
        """The steps of L-BFGS, and before them what judges the last step of the lattice."""
        self._judge, after = super().update_steps(layout, r, e)
        if not self._spaces:
            return self._judge, after
        n, back = layout.n, SAMPLED_BACK if any(space.sampled for space in self._spaces) else SPRINGS_BACK
        self._q_old, self._r_old = (np.zeros((n, 4), np.float32) for _ in range(2))
        pair = {"q": layout.q, "q_old": self._q_old, "r": r, "r_old": self._r_old}
        partial, state = np.zeros(2 * -(-n // BLOCK)), self._turning
        judge = [
            judge_lattice_blocks.over(0, n, partial=partial, grain=BLOCK, **pair),
            judge_lattice.over(0, 1, partial=partial, state=state, most_back=np.array([back]), serial=True),
            keep_lattice_step.over(0, n, state=state, **pair),
        ]
        return judge, after

    def opening_steps(
        self, layout: Layout, r: np.ndarray, residual: Sequence[Phase], press: Sequence[Phase]
    ) -> Sequence[Phase]:
        """The last correction is judged; then the lattice's own step, which is judged by the next residual."""
        if not self._spaces:
            return []
        x = np.zeros((sum(space.nodes for space in self._spaces), 4), np.float32)
        steps, first = [*residual, *self._judge, *press], 0
        for space in self._spaces:
            steps += space.bind(layout, r, x[first : first + space.nodes])
            first += space.nodes
        p = sp.csr_array(sp.hstack([space.prolongation for space in self._spaces], format="csr")[layout.order])
        pair = {"q": layout.q, "q_old": self._q_old, "r": r, "r_old": self._r_old}
        return [*steps, lattice_step.over(0, layout.n, x=x, state=self._turning, **pair, **transfer_of(p)._asdict())]

    def note(self) -> str:
        """What a user should know: steps of the lattice that were cut back, and what L-BFGS tells."""
        back = int(self._turning[REJECTIONS])
        own = f"{back} lattice steps cut back" if back else ""
        return "; ".join(part for part in (own, super().note()) if part)
