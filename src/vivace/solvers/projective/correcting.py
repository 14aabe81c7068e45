"""Solvers that iterate: project the constraints, take the residual r, correct by e ≈ Y⁻¹ r, make a step of it.

How e is found (one Jacobi iteration, a forward and a backward sweep, a V-cycle, a factorisation) and what is made of it
(added, or accelerated by Chebyshev's weights, conjugate gradients or L-BFGS) are independent choices. A `Corrector` is
the first; a `CorrectingSolver` is the second around a corrector.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np

from ...backends.cpu.arguments import Phase
from ...backends.cpu.executor import Plan
from ...collisions.contacts import ContactForces, Contacts
from ...energy.system import System
from ...errors import InputError
from ..base import (
    LEAST_ROUNDS,
    SOLVERS,
    Deadline,
    Outcome,
    Solver,
    SubstepsPlan,
    make_solver,
)
from ..convergence import ConvergenceMonitor
from ..kernels.vectors import clear, watch
from .contacts import NEVER
from .kernels.acceleration import BLOCK, add_correction
from .kernels.linear import backward_sweep, forward_from_zero
from .kernels.sweep import store_residual
from .layout import Layout
from .resolution import check_resolved

TIMED = 4  # iterations from which the fastest tells what one takes
IN_MOTION = 1.25  # times that: what one takes in a frame, with its share of what comes before and after (measured)
PRESSED = 4  # rounds after which contacts renew their forces within a step


class Corrector(ABC):
    """Finds e with Y e ≈ r: linear in r and, for all that accelerate it, symmetric."""

    @abstractmethod
    def visiting_order(self, system: System, threads: int, seed: int) -> np.ndarray:
        """The order in which vertices are stored, and swept."""

    @abstractmethod
    def correction(self, layout: Layout, r: np.ndarray, e: np.ndarray) -> Sequence[Phase]:
        """Steps that write e ≈ Y⁻¹ r; all arrays are (n, 4) float32 in visiting order."""

    def overshoot(self, layout: Layout) -> float:
        """The largest eigenvalue of HY, e = H r: how far a correction overshoots its worst mode; 1: not at all."""
        return 1.0

    def adapt_correction(self, layout: Layout, *, weighed: bool) -> bool:
        """The diagonal has changed (`layout.adapt` has been called): go on with it, or say that it takes too long.

        `weighed`: whoever takes the corrections finds their length, so that they may overshoot.
        """
        return True

    def wait_for_correction(self) -> None:  # noqa: B027
        """Finish what is being set up in the background."""

    @cached_property
    def rejected(self) -> np.ndarray:
        """(1,): not zero once somebody has found that a correction raised the energy of this step."""
        return np.zeros(1)

    def has_more(self) -> bool:
        """Whether `correction` would give better steps by now than it gave last time."""
        return False

    cuts: np.ndarray | None = None  # pointers of the colours in `visiting_order`, where corrections sweep over them
    whole: ClassVar[bool] = False  # whether a correction takes all vertices at once (see `resolution`)
    follows_contacts: ClassVar[bool] = True  # whether corrections can keep up with contacts that change every step
    contact: ClassVar[float] = np.inf  # times m/h²: how stiff contacts are at most (`contact_stage`)

    def begin_correction(self) -> None:  # noqa: B027
        """Called before every solve."""

    def correction_note(self) -> str:
        """What a user should know about the last solve."""
        return ""


def first_share(overshoot: float) -> float:
    """The share of the first correction to take, so that a step of one iteration is stable from frame to frame.

    What it leaves of a mode, μ = 1 - share λ, comes back as velocity, and grows for μ < -1/3 (docs/relaxation.md).
    """
    return min(1.0, 1.3 / overshoot)


def symmetric_sweep(layout: Layout, pointers: np.ndarray | None, r: np.ndarray, e: np.ndarray) -> list[Phase]:
    """A forward and a backward sweep from zero over colours (or, without `pointers`, one vertex after the other).

    Alone, a forward sweep has complex eigenvalues; the two together are symmetric [fratarcangeli2018, section 2.2.1].
    """
    arrays = {**layout.matrix._asdict(), "inverse": layout.inverse, "r": r, "e": e}
    down, up = forward_from_zero.select(arrays), backward_sweep.select(arrays)
    if pointers is None:
        once = 0, layout.n
        return [Phase(forward_from_zero, down, *once, serial=True), Phase(backward_sweep, up, *once, serial=True)]
    colours = [(int(begin), int(end)) for begin, end in pairwise(pointers)]
    forward = [Phase(forward_from_zero, down, *colour) for colour in colours]
    return forward + [Phase(backward_sweep, up, *colour) for colour in reversed(colours)]


def blocks_of(n: int, columns: int = 1) -> np.ndarray:
    """Room for sums in blocks over n vertices."""
    return np.zeros(-(-n // BLOCK) * columns)


class CorrectingSolver(Solver):
    """Adds the corrections of a `Corrector` to q; subclasses make more of them."""

    layout: Layout | None = None
    uses_leftover: ClassVar[bool] = False  # spend what is left of a budget on iterations without new projections
    refresh: ClassVar[int] = 1  # 0: springs are projected with the residual, where projections are never used twice
    presses: ClassVar[bool] = False  # can go on when contacts renew their forces within a step
    weighs: ClassVar[bool] = False  # find the length of every correction, instead of taking it as it is

    @property
    def corrector(self) -> Corrector:
        """Where e comes from: the solver itself, for those that are correctors."""
        assert isinstance(self, Corrector)
        return self

    def update_steps(self, layout: Layout, r: np.ndarray, e: np.ndarray) -> tuple[Sequence[Phase], Sequence[Phase]]:
        """Steps before and after the correction: what is done with r, and what is made of e."""
        return [], [add_correction.over(0, layout.n, q=layout.q, e=e)]

    def opening_steps(
        self, layout: Layout, r: np.ndarray, residual: Sequence[Phase], press: Sequence[Phase]
    ) -> Sequence[Phase]:
        """Steps at the beginning of every iteration; `residual` are those that write r at the present positions.

        `press`: those that renew the forces of contacts, once the last iteration has been judged.
        """
        return []

    def last_steps(self, residual: Sequence[Phase]) -> Sequence[Phase]:
        """Steps after the last iteration, where `wants_last_steps` says so."""
        return []

    def wants_last_steps(self) -> bool:
        """Whether the last iteration has to be looked at."""
        return False

    def note(self) -> str:
        """What a user should know about the last solve."""
        return self.corrector.correction_note()

    @property
    def least_iterations(self) -> int:
        """Iterations that a step gets even if it is late."""
        touches = self.layout is not None and self.layout.contacts is not None and self.layout.contacts.touched
        return LEAST_ROUNDS if touches else 1

    def _least_of(self, deadline: Deadline) -> int:
        """The same for one of several solves that a step is made of: two, or forces mean little to rigid bodies."""
        least = max(self.least_iterations, deadline.least)
        return least if deadline.turns == 1 else max(2, -(-least // deadline.turns))

    @property
    def plan_key(self) -> object:
        """The plan, and whether better corrections are ready to replace it."""
        return self._plan, self.corrector.has_more()

    def prepare(self, system: System, *, threads: int, seed: int) -> None:
        """Lay out the system in the corrector's order, and plan an iteration."""
        self.system = None  # until all is ready: should something be wrong with it, the next step must not go on
        order = self.corrector.visiting_order(system, threads, seed)
        self.colouring = getattr(self.corrector, "colouring", None)
        self.layout = Layout(system, order, threads, refresh=self.refresh, contact=self.corrector.contact)
        if self.corrector.whole:
            check_resolved(system)
        self._plan_steps()
        self.system = system

    def _plan_steps(self) -> None:
        layout = self.layout
        assert layout is not None
        threads = layout.threads
        r, e = (np.zeros((layout.n, 4), np.float32) for _ in range(2))
        before, after = self.update_steps(layout, r, e)
        taken = store_residual.over(0, layout.n, out=r, **store_residual.select(layout.swept))
        residual = [*layout.local_phases, taken]
        press = layout.contacts.press(r) if layout.contacts is not None and self.presses else []
        opening = self.opening_steps(layout, r, [*residual], press)
        closing = [*self.corrector.correction(layout, r, e), *after]
        steps = [*opening, *residual, *before, *([] if opening else press), *closing]
        self._convergence, self._steps = ConvergenceMonitor(), steps
        cuts = self.corrector.cuts
        self._plan = Plan(steps, threads, cuts=cuts)
        last = watch.over(0, layout.n, square=layout.square, serial=True, **self._convergence.arrays)
        self._last_plan = Plan(self.last_steps(residual), threads)
        self._watched_plan = Plan([*steps, last], threads, self._convergence.monitor, cuts=cuts)
        self._short_plan = Plan(steps[len(layout.local_phases) :], threads, cuts=cuts)
        self._short_ns = self._time_short() if self.uses_leftover and layout.local_phases else 0

    def _time_short(self) -> int:
        """How long an iteration without projections takes (ns)."""
        took = []
        for _ in range(3):
            begin = time.perf_counter_ns()
            self._short_plan.run()
            took.append(time.perf_counter_ns() - begin)
        return sorted(took)[1]

    def iteration_ms(self) -> float | None:
        """What an iteration of a frame takes (ms), by some from the rest shape; None while corrections are set up."""
        layout = self.layout
        if layout is None or self.system is None or self.corrector.has_more():
            return None
        start = np.zeros((layout.n, 4), np.float32)
        start[:, :3] = self.system.model.mesh.vertices
        layout.load(start, np.zeros_like(start))
        took = []
        for _ in range(TIMED):
            begin = time.perf_counter_ns()
            self._plan.run()
            took.append(time.perf_counter_ns() - begin)
        self.forget()
        return IN_MOTION * min(took) / 1e6

    def wait(self) -> None:
        """Wait for corrections that are being set up, and plan with them."""
        self.corrector.wait_for_correction()
        if self.layout is not None and self.corrector.has_more():
            self._plan_steps()

    def remembered(self) -> dict[str, np.ndarray]:
        """The forces that contacts remember."""
        contacts = None if self.layout is None else self.layout.contacts
        return {} if contacts is None else contacts.remembered()

    def recall(self, memory: dict[str, np.ndarray]) -> None:
        """Go on with the forces that `remembered` gave."""
        if self.layout is not None and self.layout.contacts is not None and "contacts.keys" in memory:
            self.layout.contacts.recall(memory)

    def forget(self) -> None:
        """Forget the forces of contacts."""
        if self.layout is not None and self.layout.contacts is not None:
            self.layout.contacts.forget()

    def adapt(self, system: System) -> bool:
        """Take over the new diagonal, if the corrector can."""
        if self.layout is None or self.system is None or not system.shares_structure(self.system):
            return False
        self.layout.adapt(system)
        self.system = system
        return self.corrector.adapt_correction(self.layout, weighed=self.weighs)

    def set_contacts(self, contacts: Contacts, previous: np.ndarray, start: np.ndarray) -> None:
        """Put the contacts into the matrix; for correctors that cannot follow them, raise InputError."""
        if self.layout is None or self.system is None:
            raise InputError(f"solver {self.name!r} has not been prepared for a system")
        if len(contacts) and not self.corrector.follows_contacts:
            raise InputError(
                f"solver {self.name!r} cannot follow contacts, which change its matrix in every step; "
                "take auto, multigrid, vivace or a position based solver"
            )
        changed = self.layout.set_contacts(contacts, previous, start, self.system)
        if self.layout.contacts is not None and self.layout.contacts.full:
            self.layout = self.layout.with_room_for(contacts)
            self.layout.set_contacts(contacts, previous, start, self.system)
            self._plan_steps()
        elif changed and not self.corrector.adapt_correction(self.layout, weighed=self.weighs):
            self._plan_steps()

    @property
    def takes_contacts(self) -> bool:
        """Where corrections keep up with them."""
        return self.corrector.follows_contacts

    @property
    def takes_free_bodies(self) -> bool:  # type: ignore[override]
        """Where contacts have a stiffness of their own, so that their forces can be remembered."""
        return bool(np.isfinite(self.corrector.contact))

    @property
    def pushes_bodies(self) -> bool:  # type: ignore[override]
        """Where contacts remember their forces."""
        return self.layout is not None and self.layout.contacts is not None and self.layout.contacts.remembers

    def contact_forces(self) -> ContactForces | None:
        """Those of the layout's contacts."""
        return None if self.layout is None else self.layout.contact_forces()

    def solve(self, start: np.ndarray, constant: np.ndarray, out: np.ndarray, deadline: Deadline) -> Outcome:
        """Residual, correction, update, until a limit is met."""
        if self.layout is None:
            raise InputError(f"solver {self.name!r} has not been prepared for a system")
        if self.corrector.has_more():
            self._plan_steps()
        self.layout.load(start, constant)
        if self.layout.contacts is not None and np.isfinite(self.layout.contact):
            # Where rigid bodies may give way they do that between solves, and what presses them is not pressed more.
            self.layout.contacts.pressing[0] = PRESSED if self.presses and deadline.turns == 1 else NEVER
        self.corrector.begin_correction()
        budget, convergence = deadline.budget, self._convergence
        plan = self._watched_plan if convergence.begin(deadline, self.layout.resolution) else self._plan
        sweeps = plan.run(budget.most_iterations, deadline.at_ns, least=self._least_of(deadline))
        if deadline.at_ns is not None and deadline.turns == 1:
            sweeps += self._press_on(plan, sweeps)
        done = convergence.satisfied
        if self._short_ns and deadline.at_ns is not None and not done and sweeps < budget.most_iterations:
            sweeps += self._use_leftover(sweeps, budget.most_iterations - sweeps, deadline.at_ns)
        if self.wants_last_steps():
            self._last_plan.run(first=sweeps)
        swept_ns = time.perf_counter_ns()
        self.layout.store(out)
        stopped = "iterations" if sweeps >= budget.most_iterations else "time"
        if done:
            stopped = "tolerance"
        return Outcome(sweeps, self.layout.residual(), stopped, swept_ns, self.note(), convergence.residuals)

    def _press_on(self, plan: Plan, sweeps: int) -> int:
        """Iterations that a step gets beyond its budget of time; how many."""
        return 0

    def plan_substeps(
        self, start: np.ndarray, constant: np.ndarray, out: np.ndarray, before: Sequence[Phase], after: Sequence[Phase]
    ) -> SubstepsPlan | None:
        """All substeps in one plan; None where contacts or leftover time need a look in between."""
        layout = self.layout
        if layout is None or layout.contacts is not None or self.uses_leftover:
            return None
        if self.corrector.has_more():
            self._plan_steps()
        begin = [
            *before,
            layout.loading(start, constant),
            clear.over(0, 1, values=self.corrector.rejected, serial=True),
        ]
        closing = [layout.storing(out), *after]
        plan = Plan(self._steps, layout.threads, before=begin, after=closing, cuts=self.corrector.cuts)

        def solve(deadlines: Sequence[Deadline]) -> Outcome:
            most = [deadline.budget.most_iterations for deadline in deadlines]
            least = max(deadline.least for deadline in deadlines)
            sweeps = plan.run_parts(most, [deadline.at_ns for deadline in deadlines], least)
            stopped = "iterations" if sweeps >= sum(most) else "time"
            return Outcome(sweeps, layout.residual(), stopped, time.perf_counter_ns(), self.note())

        return solve

    def _use_leftover(self, first: int, most: int, deadline_ns: int) -> int:
        """Iterations over the last projections in the time that is too short for one with new ones."""
        begin = time.perf_counter_ns()
        if begin + 1.2 * self._short_ns > deadline_ns:
            return 0
        count = self._short_plan.run(most, deadline_ns, first)
        self._short_ns += ((time.perf_counter_ns() - begin) // count - self._short_ns) // 8
        return count


class Accelerated(CorrectingSolver):
    """A wrapper: `inner` names the solver whose corrections it accelerates."""

    inner: str = ""
    wrapper: ClassVar[str] = ""

    def _adopt(self, inner: object) -> None:
        """Check and make the inner solver; the wrapper's name says both."""
        solver = make_solver(inner)  # type: ignore[arg-type]
        if not isinstance(solver, Corrector):
            able = sorted(name for name, cls in SOLVERS.items() if issubclass(cls, Corrector))
            raise InputError(
                f"{self.wrapper} accelerates solvers that make linear corrections ({', '.join(able)}), not {inner!r}"
            )
        self._corrector = solver
        self.name = f"{self.wrapper}({solver.name})"  # type: ignore[misc]

    @property
    def corrector(self) -> Corrector:
        """The corrector of the solver inside."""
        return self._corrector
