"""Multigrid: a V-cycle whose smoother is our coloured sweep, forward on the way down and backward on the way up.

Sweeps remove the rough part of the error and leave the smooth one; a coarser level makes the smooth part rough again.
[fratarcangeli2016, section 6] names it as future work. The hierarchy is PyAMG's (`hierarchy.py`); the cycle is compiled
phases of the team: three coordinates at once, nothing allocated, symmetric because the two sweeps are each other's
transposes, so Chebyshev, conjugate gradients and L-BFGS may accelerate it.

Pins that come and go change the fine level at once and the coarse ones before the next cycle, by a few numbers for each
changed vertex. Should a cycle raise the energy all the same, the rest of the step is made of sweeps alone, and the
report says so.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from ...backends.cpu.arguments import Phase
from ...checks import is_whole
from ...colouring import COLOURINGS, colour
from ...energy.system import System
from ...errors import InputError, UnknownNameError
from ..base import SOLVERS
from .correcting import CorrectingSolver, Corrector, symmetric_sweep
from .hierarchy import COARSE, COARSENINGS, Hierarchy, Level, build
from .kernels.acceleration import add_correction
from .kernels.linear import (
    add_prolonged,
    add_prolonged_unless,
    apply_dense,
    backward_sweep,
    forward_from_zero,
    left_by_forward,
    residual_of,
    restrict_rows,
)
from .layout import CONTACT, Layout
from .ordering import morton_rank
from .safeguarded import safeguarded_steps


@SOLVERS.register("multigrid")
@dataclass(eq=False)
class Multigrid(CorrectingSolver, Corrector):
    """V-cycles with coloured sweeps as smoother: linear in the number of vertices, and pins may change.

    Attributes:
        cycles: V-cycles a correction, 1 to 10; 0: two where projecting costs more than a cycle, else one.
        coarsening: "energy" (energy-minimising prolongation), "smoothed", "evolution" or "plain" aggregation.
        colouring_algorithm: of the fine level (see `vivace list colourings`).
        background: build the hierarchy in a thread of its own and sweep until it is there; with a budget of iterations
            the results then depend on when that is.

    Limitations: no constraints known by their value, no energy terms of a model's own; solved well it hovers: cloth
    that should turn and fall stays behind; contacts between surfaces do not remember their forces, so that heaps creep;
    with background=True steps are sweeps until the hierarchy is there.
    """

    cycles: int = 0
    coarsening: str = "energy"
    colouring_algorithm: str = "greedy"
    background: bool = False

    name = "multigrid"
    whole = True
    contact = CONTACT
    presses = True
    hierarchy: Hierarchy | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.coarsening not in COARSENINGS:
            raise UnknownNameError("coarsening", str(self.coarsening), COARSENINGS)
        COLOURINGS[self.colouring_algorithm]
        if not is_whole(self.cycles) or not 0 <= self.cycles <= 10:
            raise InputError(f"cycles must be a whole number from 0 to 10, not {self.cycles!r}")
        self._builder: _Builder | None = None

    # --- as a corrector -------------------------------------------------------------------------------------------

    def visiting_order(self, system: System, threads: int, seed: int) -> np.ndarray:
        """Colour by colour; begins to build the hierarchy."""
        graph = system.graph
        self.colouring = colour(*graph, self.colouring_algorithm, seed=seed, threads=threads, check=False)
        order, self._pointers = self.colouring.order(morton_rank(system.model.mesh.vertices))
        self.cuts = self._pointers
        self.hierarchy, self._builder = None, _Builder(system, order, self.coarsening, seed)
        if self.background:
            self._builder.start()
        return order

    def correction(self, layout: Layout, r: np.ndarray, e: np.ndarray) -> Sequence[Phase]:
        """V-cycles, or a forward and a backward sweep until the hierarchy is there."""
        if self.hierarchy is None and self._builder is not None and (not self.background or self._builder.done):
            self.hierarchy, self._builder = self._builder.result(), None
            self.hierarchy.adapt(layout.system.diagonal)  # pins may have changed while it was being built
        if self.hierarchy is None or self.hierarchy.down is None:
            return symmetric_sweep(layout, self._pointers, r, e)
        steps = self._fine_cycle(layout, r, e)
        more = (self.cycles or cycles_for(layout.system)) - 1
        if more:
            r_left, e_more = np.zeros_like(r), np.zeros_like(e)
            matrix = residual_of.select(layout.matrix._asdict())
            again = [
                residual_of.over(0, layout.n, tie=layout.tie, r=r, e=e, left=r_left, **matrix),
                *self._fine_cycle(layout, r_left, e_more),
                add_correction.over(0, layout.n, q=e, e=e_more),
            ]
            steps += more * again
        return steps

    def _fine_cycle(self, layout: Layout, r: np.ndarray, e: np.ndarray) -> list[Phase]:
        """One V-cycle from the top: e ≈ Y⁻¹ r."""
        assert self.hierarchy is not None
        assert self.hierarchy.down is not None
        sweeps = symmetric_sweep(layout, self._pointers, r, e)
        half = len(sweeps) // 2
        left = np.zeros_like(r)
        prolong, restrict = self.hierarchy.down
        first = self.hierarchy.levels[0]
        return [
            *sweeps[:half],
            left_by_forward.over(0, layout.n, e=e, left=left, **layout.matrix._asdict()),
            restrict_rows.over(0, first.n, source=left, to=first.r, **restrict._asdict()),
            *(replace(phase, label=COARSE) for phase in self._cycle(0)),
            add_prolonged_unless.over(0, layout.n, source=first.e, to=e, rejected=self.rejected, **prolong._asdict()),
            *sweeps[half:],
        ]

    def _cycle(self, depth: int) -> list[Phase]:
        """Level `depth` and everything below it: e = A⁻¹ r on the coarsest, a V-cycle on the others."""
        assert self.hierarchy is not None
        levels, level = self.hierarchy.levels, self.hierarchy.levels[depth]
        arrays = {"row_at": level.at, "middle": level.middle, "j": level.j, "a": level.a, "inverse": level.inverse}
        arrays |= {"r": level.r, "e": level.e, "left": level.left}
        down, up, colours = forward_from_zero.select(arrays), backward_sweep.select(arrays), _colours(level)
        forward = [Phase(forward_from_zero, down, *colour) for colour in colours]
        backward = [Phase(backward_sweep, up, *colour) for colour in reversed(colours)]
        if depth == len(levels) - 1 and not len(self.hierarchy.dense):
            return [*forward, *backward]
        if depth == len(levels) - 1:
            return [apply_dense.over(0, level.n, inverse=self.hierarchy.dense, r=level.r, e=level.e)]
        below = levels[depth + 1]
        assert level.prolong is not None
        assert level.restrict is not None
        return [
            *forward,
            left_by_forward.over(0, level.n, **left_by_forward.select(arrays)),
            restrict_rows.over(0, below.n, source=level.left, to=below.r, **level.restrict._asdict()),
            *self._cycle(depth + 1),
            add_prolonged.over(0, level.n, source=below.e, to=level.e, **level.prolong._asdict()),
            *backward,
        ]

    def adapt_correction(self, layout: Layout, *, weighed: bool) -> bool:
        """Take the new diagonal to all levels."""
        if self.hierarchy is not None:
            self.hierarchy.adapt(layout.system.diagonal)
        return True

    def wait_for_correction(self) -> None:
        """Wait for the hierarchy."""
        if self._builder is not None:
            self._builder.wait()

    def has_more(self) -> bool:
        """Whether the hierarchy has become ready since corrections were last planned."""
        return self._builder is not None and self._builder.done

    def begin_correction(self) -> None:
        """V-cycles are given another chance in every step."""
        self.rejected[0] = 0.0

    def correction_note(self) -> str:
        """What a user should know: a V-cycle that failed, or a hierarchy that is still being built."""
        if self.rejected[0]:
            return "a V-cycle raised the energy: sweeps only for the rest of the step"
        if self._builder is not None:
            return f"sweeps only: {self._builder.status}"
        return ""

    # --- as a solver of its own -----------------------------------------------------------------------------------

    def update_steps(self, layout: Layout, r: np.ndarray, e: np.ndarray) -> tuple[Sequence[Phase], Sequence[Phase]]:
        """Add corrections, and take them back where they raise the energy."""
        self._state, before, after, _ = safeguarded_steps(layout, r, e, memory=0, rejected=self.rejected)
        return before, after


def cycles_for(system: System) -> int:
    """Two where projecting takes longer than a cycle, as with tetrahedra: the second costs little. Else one."""
    return 2 if sum(len(group) for group in system.projected) > system.n else 1


def _colours(level: Level) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in pairwise(level.pointers)]


class _Builder:
    """Builds a hierarchy when asked to, or in a thread of its own."""

    def __init__(self, system: System, order: np.ndarray, coarsening: str, seed: int):
        self._arguments = system.matrix, order, coarsening, seed
        self._thread: threading.Thread | None = None
        self._result: Hierarchy | None = None
        self._error: BaseException | None = None
        self._stage, self._begin = "starting", time.perf_counter()

    def start(self) -> None:
        self._thread = threading.Thread(target=self._build, name="vivace-hierarchy", daemon=True)
        self._thread.start()

    def _build(self) -> None:
        matrix, order, coarsening, seed = self._arguments
        try:
            self._result = build(matrix, order, coarsening=coarsening, seed=seed, progress=self._tell)
        except BaseException as error:  # shown where the result is asked for
            self._error = error

    def _tell(self, what: str, done: int, total: int) -> None:
        self._stage = f"{what}, level {done} of about {total}"

    @property
    def done(self) -> bool:
        return self._result is not None or self._error is not None

    @property
    def status(self) -> str:
        return f"the hierarchy is being built ({self._stage}, {time.perf_counter() - self._begin:.1f} s)"

    def wait(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def result(self) -> Hierarchy:
        self.wait()
        if not self.done:
            self._build()
        if self._error is not None:
            raise self._error
        assert self._result is not None
        return self._result
