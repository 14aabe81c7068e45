"""Newton by multigrid: the true Hessian of a step's energy, solved by a few V-cycles, in float32.

    H(q) d ≈ -∇ε(q),     q ← q + α d

Projective dynamics has Y in the place of H, which is as stiff across a spring as along it and lets things turn too
slowly, however well it is inverted. Here every Newton iteration takes the Hessian at q without the constraints'
negative curvature (`kernels.block_galerkin`) and makes a few iterations of conjugate gradients, preconditioned by a
V-cycle on H: a forward sweep of 3 x 3 blocks down, a backward one up, on every level. Coarse matrices PᵀHP are made
anew each time; the prolongations are those of the hierarchy for Y and never change. [fratarcangeli2018, section 1.3.4]
has Newton's method with an exact solve; `newton` is that, in float64.

A step is judged by the trapezium rule, as L-BFGS judges its own (`kernels.quasi_newton`), and what that leaves out of
the springs' energy is added, so that for springs the change of ε is exact. One that would raise ε is halved until it
does not: the energy never rises, whenever time is up. A step starts where the prediction is, pins included: snapped to
their targets they would leave kinks that the first direction obeys.

Measured on the tablecloth, h = 33 ms. Error of d in the norm of H after 1, 2, 3, 4 iterations at 3,600 vertices: 0.06,
0.014, 0.006, 0.003 in the first Newton iteration and 0.34, 0.22, 0.16, 0.12 in the second (10,000: 0.07, 0.02, 0.008,
0.004 and 0.40, 0.31, 0.23, 0.18); a V-cycle in float64 does no better. Aggregates that move as rigid bodies, 6 unknowns
each, have 0.54, 0.17, 0.09, 0.05 with an exact coarse solve and need a K-cycle without one. Centimetres from converged
steps at 10,000 vertices after 8 and 15 frames, by iterations a frame (in Newton iterations of `steps`):

    3 x 1: 1.4, 7.2     2 x 2: 1.2, 5.0     6 x 1: 0.7, 3.5     3 x 2: 1.0, 3.2     2 x 3: 1.0, 2.6
    4 x 2: 0.6, 2.0     3 x 3: 0.5, 2.0     6 x 2: 0.2, 1.1     4 x 3: 0.2, 1.3     3 x 4: 0.4, 2.1

L-BFGS over the inverse of Y is 69 cm away after 15 frames of 13 iterations. Very stiff springs (1e6 N/m) need more
Newton iterations, as exact ones do: 3 of those are 9 cm away after 10 frames at 400 vertices, 12 x 2 of these 11 cm.
A bar of tetrahedra with volume (`bar`, resolution 6) is 0.2 and 0.3 cm away after 8 and 15 frames of 1 x 4 iterations,
L-BFGS 0.5 and 0.7 cm after 12. Hyperelastic ones of 55,000 tetrahedra, per cent of the path after 8, 15 and 30 frames
(`benchmarks/hyperelastic_motion.py`), armadillo and bar: 1 x 8: 0.9, 1.1, 0.8 and 0.6, 1.0, 2.3; 2 x 4: 0.8, 0.5, 0.2
and 0.3, 0.1, 0.3; 2 x 8: 0.1, 0.2, 0.2 and 0, 0, 0.5; 1 x 24 is no better than 1 x 8. On the 10,000 vertices of
the tablecloth, one thread: 1.2 ms for a Hessian and all coarse matrices, 1.0 ms an iteration, 0.35 ms to look and
judge.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from ...backends.cpu.executor import Plan
from ...checks import is_whole
from ...collisions.contacts import ContactForces, Contacts
from ...colouring import COLOURINGS, colour
from ...energy.system import Frame, System
from ...errors import InputError, UnknownNameError
from ..base import SOLVERS, Deadline, Outcome, Solver
from .block_levels import BlockLevels
from .correcting import blocks_of
from .hierarchy import COARSENINGS, build
from .kernels.acceleration import BLOCK, STATE_SIZE, conjugate_direction, product_blocks
from .kernels.block_multigrid import begin_newton, newton_length, newton_step, newton_weight, shorten
from .kernels.quasi_newton import judge_blocks
from .kernels.sweep import store_residual
from .layout import CONTACT, Layout
from .ordering import morton_rank
from .potentials import Beginning

HALVINGS = 12  # of a step that would raise the energy, before it is given up
STATIC_HALVINGS = 24  # without inertia: a first step across a flat cloth, where nothing is stiff, is far too long
LONGER = 4  # times as many iterations in the last Newton iteration of a step, if there is time
LATE = 7  # times that are remembered
ROUNDING = 1e-3  # of the slope: a rise of the energy that may be rounding


@SOLVERS.register("newton-multigrid")
@dataclass(eq=False)
class NewtonMultigrid(Solver):
    """Newton's method with conjugate gradients over V-cycles on the true Hessian: moves as converged steps do.

    An iteration is one of conjugate gradients, with one V-cycle.

    Attributes:
        steps: iterations for each Hessian, 1 to 100; 0: two, or four where there are tetrahedra, with which a Hessian
            takes seven to ten times as long as an iteration.
        coarsening: "energy" (energy-minimising prolongation), "smoothed", "evolution" or "plain" aggregation.
        colouring_algorithm: of the fine level (see `vivace list colourings`).

    Limitations: no constraints known by their value, no energy terms of a model's own but hyperelastic ones; very stiff
    cloth (10⁶ N/m) needs more iterations than a frame has time for; contacts between surfaces do not remember
    their forces, so that heaps creep; its hierarchy is never set up in the background.
    """

    steps: int = 0
    coarsening: str = "energy"
    colouring_algorithm: str = "greedy"

    name = "newton-multigrid"
    takes_hyperelastic = True
    takes_free_bodies = True
    snaps_pins = False
    layout: Layout | None = field(default=None, init=False, repr=False)
    _instead: np.ndarray | None = field(
        default=None, init=False, repr=False
    )  # where the next step begins, if not where it is told to

    def __post_init__(self) -> None:
        if self.coarsening not in COARSENINGS:
            raise UnknownNameError("coarsening", str(self.coarsening), COARSENINGS)
        COLOURINGS[self.colouring_algorithm]
        if not is_whole(self.steps) or not 0 <= self.steps <= 100:
            raise InputError(f"steps must be a whole number from 0 to 100, not {self.steps!r}")

    def prepare(self, system: System, *, threads: int, seed: int) -> None:
        """Colour, lay out, and build the levels once, from the constant matrix."""
        self.system = None  # until all is ready: should something be wrong with it, the next step must not go on
        self.colouring = colour(*system.graph, self.colouring_algorithm, seed=seed, threads=threads, check=False)
        order, self._pointers = self.colouring.order(morton_rank(system.model.mesh.vertices))
        layout = Layout(system, order, threads, contact=CONTACT, potentials=True)
        self._hierarchy, self._seed = build(system.matrix, order, coarsening=self.coarsening, seed=seed), seed
        self._lay_out(layout)
        self.system = system

    def _lay_out(self, layout: Layout) -> None:
        """Jobs: `_look` takes the residual at q, `_set_up` the Hessian, `_cycle` is one iteration."""
        n, threads = layout.n, layout.threads
        self.layout = layout
        self._begin = Beginning(layout.potentials, layout.q, layout.order, threads)
        r, r_old, left, z, p, hp, d, q_old = (np.zeros((n, 4), np.float32) for _ in range(8))
        q, state, self._share = layout.q, np.zeros(STATE_SIZE), np.zeros(1, np.float32)
        self.levels = levels = BlockLevels(layout, self._pointers, self._hierarchy, self._seed)
        self._judged = blocks_of(n, 2)
        missed, self._missed = levels.judging(q_old)
        products, lengths = blocks_of(n), blocks_of(n, 2)
        residual = {**store_residual.select(layout.swept), "tie": levels.tie, "out": r}
        look = [*levels.local, store_residual.over(0, n, **residual)]
        old = {"q": q, "q_old": q_old, "r": r, "r_old": r_old}
        judge = [judge_blocks.over(0, n, partial=self._judged, grain=BLOCK, **old), *missed]
        begin = begin_newton.over(0, n, left=left, d=d, **old)
        cycle = [
            *levels.cycle(left, z),
            product_blocks.over(0, n, x=left, y=z, partial=products, state=state, grain=BLOCK),
            newton_weight.over(0, 1, partial=products, state=state, serial=True),
            conjugate_direction.over(0, n, e=z, p=p, state=state),
            *levels.product(left, p, hp, lengths),
            newton_length.over(0, 1, partial=lengths, state=state, serial=True),
            newton_step.over(0, n, q=q, q_old=q_old, d=d, left=left, p=p, hp=hp, state=state),
        ]
        self._look, self._judge = Plan(look, threads), Plan([*look, *judge], threads)
        self._set_up, self._cycle = Plan([*levels.set_up, begin], threads), Plan(cycle, threads)
        self._shorten = Plan([shorten.over(0, n, q=q, q_old=q_old, d=d, share=self._share)], threads)
        self._state, self._direction = state, d
        self._took = {what: deque([0], LATE) for what in ("look", "set up", "cycle")}  # ns

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
        """Take over the new diagonal; the next Hessian has it on every level."""
        if self.layout is None or self.system is None or not system.shares_structure(self.system):
            return False
        self.layout.adapt(system)
        self.levels.load_ties(system)  # they go into every level with the next Hessian
        self.system = system
        return True

    def set_contacts(self, contacts: Contacts, previous: np.ndarray, start: np.ndarray) -> None:
        """Put the contacts into the layout; the next Hessian has them on every level."""
        if self.layout is None or self.system is None:
            raise InputError(f"solver {self.name!r} has not been prepared for a system")
        changed = self.layout.set_contacts(contacts, previous, start, self.system)
        if self.layout.contacts is not None and self.layout.contacts.full:
            self._lay_out(self.layout.with_room_for(contacts))
            changed = self.layout.set_contacts(contacts, previous, start, self.system)
        if changed:
            self.levels.load_ties(self.system)

    @property
    def pushes_bodies(self) -> bool:  # type: ignore[override]
        """Where contacts remember their forces."""
        return self.layout is not None and self.layout.contacts is not None and self.layout.contacts.remembers

    def contact_forces(self) -> ContactForces | None:
        """Those of the layout's contacts."""
        return None if self.layout is None else self.layout.contact_forces()

    def see(self, frame: Frame) -> None:
        """Hold what is tangled; begin the next step where the last one ended, if its prediction is far too high."""
        if self.system is not None:
            self._instead = self._begin(self.system, frame)

    def solve(self, start: np.ndarray, constant: np.ndarray, out: np.ndarray, deadline: Deadline) -> Outcome:
        """Hessian, some iterations of conjugate gradients, a step along what they found; until a limit is met."""
        if self.layout is None:
            raise InputError(f"solver {self.name!r} has not been prepared for a system")
        layout, budget = self.layout, deadline.budget
        layout.load(start if self._instead is None else self._instead, constant)
        self._instead = None
        self._time("look", self._look)
        met, limit = layout.residual(), -1.0
        if budget.tolerance is not None and np.isfinite(met):
            limit = max(budget.tolerance * met, np.sqrt(layout.resolution()))
        sweeps, halved, stopped, notes, residuals = 0, 0, "", list[str](), list[tuple[int, float]]()
        while not stopped:
            if deadline.trace:
                residuals.append((sweeps, met))
            last = met
            self._time("set up", self._set_up)
            sweeps += self._iterate(met <= limit, budget.most_iterations - sweeps, deadline.at_ns)
            better, tries = self._accept()
            swept_ns = time.perf_counter_ns()
            halved, met = halved + tries, layout.residual()
            if last <= limit:
                stopped = "tolerance"
            elif sweeps >= budget.most_iterations:
                stopped = "iterations"
            elif not better:  # rounding, or what is no number: it would go on like this
                stopped = "tolerance" if limit >= 0 else "time" if budget.iterations is None else "iterations"
                sweeps = budget.most_iterations if stopped == "iterations" else sweeps
                notes.append("down to rounding")
            elif deadline.at_ns is not None and swept_ns + sum(map(self._usual, self._took)) > deadline.at_ns:
                stopped = "time"
        layout.store(out)
        if halved:
            notes.append(f"steps halved {halved} times")
        return Outcome(sweeps, last, stopped, swept_ns, "; ".join(notes), np.reshape(residuals, (-1, 2)))

    def _iterate(self, last: bool, most: int, at_ns: int | None) -> int:
        """Iterations of conjugate gradients, leaving time to judge what they have found; returns how many.

        `last`: it will be over after this, and one will do. Where time is too short for another Hessian, what is left
        of it goes into this one's.
        """
        begin = time.perf_counter_ns()
        usual = 2 if self.levels.fine.turned else 4
        count = 1 if last else self.steps or usual
        if at_ns is not None:
            at_ns -= self._usual("look")
            another = sum(map(self._usual, self._took))
            if begin + count * self._usual("cycle") + another > at_ns:
                count *= LONGER
        # A Hessian of hyperelastic elements takes as long as seven iterations: fewer than four would waste it.
        least = min(4, most) if self.levels.layout.potentials and not last else 1
        count = self._cycle.run(min(count, most), at_ns, least=least)
        self._took["cycle"].append((time.perf_counter_ns() - begin) // count)
        return count

    def _accept(self) -> tuple[bool, int]:
        """Judge q, and go back half-way to q_old until the energy has not risen; whether q has moved, and halvings."""
        most = STATIC_HALVINGS if self.levels.layout.system.static else HALVINGS
        for tries in range(most):
            self._time("look", self._judge, first=1)
            new, old = self._judged.reshape(-1, 2).sum(axis=0)
            gain = 0.5 * (new + old) + sum(float(part.sum()) for part in self._missed)
            if gain >= -0.5 * ROUNDING * abs(old):  # not so if it is no number
                return bool(old > 0), tries
            self._share[0] = 0.5
            self._shorten.run()
        self._share[0] = 0.0
        self._shorten.run()
        self._time("look", self._look)
        return False, most

    def _time(self, what: str, plan: Plan, first: int = 0) -> None:
        begin = time.perf_counter_ns()
        plan.run(1, None, first)
        self._took[what].append(time.perf_counter_ns() - begin)

    def _usual(self, what: str) -> int:
        """How long it takes (ns): the median of late, so that one disturbance does not cost the next frames theirs."""
        late = sorted(self._took[what])
        return late[len(late) // 2]
