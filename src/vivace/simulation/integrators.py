"""BDF2: second order in time, and no energy out of nothing.

    q_(n+1) = (4 q_n - q_(n-1))/3 + h_e v_(n+1),   v_(n+1) = (4 v_n - v_(n-1))/3 + h_e (a(q_(n+1)) - air v_(n+1)),

h_e = 2h/3. With Q = (4 q_n - q_(n-1))/3 and V = (4 v_n - v_(n-1))/3 this is implicit Euler's step of h_e from (Q, V):
the same ε(q), with s = Q + (h_e V + h_e² M⁻¹ f)/(1 + air h_e), and Q in the place of q_n where viscosity is concerned,
because (q - Q)/h_e is v_(n+1). So every solver works as it is, on a `System` of h_e.

**Without a history** (at the start, after positions, velocities, the model or the length of steps were changed) Q is
q_n + h v_n/3 and V is v_n. The solve finds an acceleration a = ((q - Q)/h_e - V)/h_e, from which a history is made,
q_n - h v_n + h² a/2 and v_n - h a, and the step is solved again. Models that may touch something are solved once, and
the velocity is V + h a. (With V + h_e a, a third of gravity would be missing in that step: an error of order h.) Pins
may come and go, and the solver may change: the history holds.

**Energy.** BDF2 damps what is solved to the end, but gains energy from solves that stop early: M a is then not the
force at q_(n+1), and no estimate from accelerations can tell. So energies are measured. Let U be what constraints
store, P_t what pins store with targets t, T the kinetic energy and f the external forces of the step (gravity, wind,
others). A balance B begins as T + U and must cover every step:

    T_(n+1) <= L,   L = B_n + P_t(q_n) + f·(q_(n+1) - q_n) - U(q_(n+1)) - P_t(q_(n+1)),   t of step n+1,
    B_(n+1) = T_(n+1) + U(q_(n+1)) + min(L - T_(n+1), LENT T_late).

So B changes by the work of f and of pins that move, and otherwise only falls; T + U stays below it. What a step has
lost may come back, up to LENT = 1 % of the kinetic energy of late: rounding and BDF2 itself make energies swing a
little, and to cut them at every swing would brake. Where T_(n+1) > L, v_(n+1) is scaled: first the motion relative to
the mean velocity, so that a free body keeps its momentum, then, if that is not enough, all of it. Where L < 0 the
positions alone have more energy than there is: they go back towards q_n by halves, at the fifth time all the way, where
L = B_n - U(q_n) >= 0. With pins at rest and no f but gravity, the sum of T, U, P and gravity's potential is then never
more than at the beginning, nor more than LENT T_late above what it was at any time, whatever the solver does. A pin
that moves does work on the vertex it holds, P_t(q_n) of it at most; air and viscosity take away.

**What touches.** Contacts and the guard stop vertices suddenly, and an extrapolation would throw them back. Their
velocities are kept near the way of the step, do not lead away from the obstacle faster than it, and their history
begins anew (`kernels.integration.settle`). An obstacle does work, which no balance here knows. So in models that may
touch something positions do not go back, and velocities are not scaled below the energy of Euler's, (q_(n+1) - q_n)/h:
there BDF2 may gain what implicit Euler would have.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..backends.cpu.arguments import Phase
from ..backends.cpu.executor import SMALL, Plan
from ..collisions.contacts import Contacts
from ..constraints import Role
from ..constraints.kernels.local import no_projection
from ..energy.system import System, row_sums
from ..solvers.projective.kernels.acceleration import BLOCK
from .kernels import bdf2 as kernels

RETREATS = (0.5, 0.5, 0.5, 0.5, 0.0)
SMALL_MEASURED = 2_000  # vertices below which no helper is woken for measuring energies


class Bdf2:
    """The history of a simulation, and what comes before and after each solve.

    `q`, `v`, `new`, `acceleration`: the simulation's own arrays (n, 4). `from_q`, `from_v`: Q and V.
    """

    reach = 2.0 / 3.0  # h_e / h

    def __init__(self, q: np.ndarray, v: np.ndarray, new: np.ndarray, acceleration: np.ndarray):
        self._q, self._v, self._new, self._acceleration = q, v, new, acceleration
        self.from_q, self.from_v, self._q_before, self._v_before, self.pulled = (np.zeros_like(q) for _ in range(5))
        self._fresh = np.ones(len(q), np.float32)  # 1: this vertex has no history
        self._state = np.zeros(kernels.STATE_SIZE)
        self._measured, self.starting = False, True

    def restart(self) -> None:
        """Forget the history: positions, velocities or the length of steps are others now."""
        self._fresh[:] = 1.0
        self._measured, self.starting = False, True

    def memory(self) -> dict[str, np.ndarray]:
        """The history, and the balance of energies: copies, by name."""
        own = {"bdf2.q": self._q_before, "bdf2.v": self._v_before, "bdf2.fresh": self._fresh, "bdf2.state": self._state}
        flags = np.array([self._measured, self.starting])
        return {**{name: array.copy() for name, array in own.items()}, "bdf2.flags": flags}

    def recall(self, memory: dict[str, np.ndarray]) -> None:
        """Go on with what `memory` gave."""
        self._q_before[:], self._v_before[:] = memory["bdf2.q"], memory["bdf2.v"]
        self._fresh[:], self._state[:] = memory["bdf2.fresh"], memory["bdf2.state"]
        self._measured, self.starting = (bool(flag) for flag in memory["bdf2.flags"])

    def prepare(self, system: System, h: float, pin: np.ndarray, target: np.ndarray, threads: int) -> None:
        """Phases for a system of h_e and steps of h seconds; `pin`, `target`: weights and targets of pins."""
        n, model, q, new, state = system.n, system.model, self._q, self._new, self._state
        self._h, self._inverse = h, np.where(system.pin_weight > 0, 0.0, 1.0 / model.masses)
        step, masses = np.array([h], np.float32), np.ascontiguousarray(model.masses, np.float64)
        mass = np.array([masses.sum()])
        history = {"q_before": self._q_before, "v_before": self._v_before, "fresh": self._fresh}
        moving = {"q": q, "v": self._v, **history, "from_q": self.from_q, "from_v": self.from_v, "h": step}
        self.opening = kernels.extrapolate.over(0, n, acceleration=self._acceleration, pulled=self.pulled, **moving)
        self._backward = Plan([kernels.look_back.over(0, n, new=new, **moving)], 1)

        blocks = -(-n // BLOCK)
        worked, moved = np.zeros(kernels.WORK * blocks), np.zeros(kernels.KINETIC * blocks)
        stored, measure_new, measure_q = _energies(system, new, q, state)
        self._touches = model.collisions is not None
        least = np.array([1.0 / h**2 if self._touches else 0.0])
        work = {"pulled": self.pulled, "masses": masses, "pin": pin, "target": target, "partial": worked}
        weighing = [
            *measure_new,
            kernels.work_blocks.over(0, n, q=q, new=new, state=state, grain=BLOCK, **work),
            kernels.weigh.over(0, 1, stored=stored, worked=worked, state=state, least=least, serial=True),
        ]
        ask = kernels.ask.over(0, 1, state=state, serial=True)
        judging = [ask, *weighing]
        if not self._touches:
            for share in RETREATS:
                back = kernels.retreat.over(0, n, q=q, new=new, state=state, share=np.array([share], np.float32))
                judging += [back, *weighing]
        judging.append(kernels.land.over(0, n, new=new, **kernels.land.select(moving)))
        closing = [
            kernels.kinetic_blocks.over(0, n, v=self.from_v, masses=masses, partial=moved, grain=BLOCK),
            kernels.balance.over(0, 1, partial=moved, state=state, mass=mass, serial=True),
            kernels.shift.over(0, n, new=new, newer=self.from_v, q=q, v=self._v, state=state, mass=mass, **history),
        ]
        self.closing = [*judging, *closing]
        first = [
            ask,
            *measure_q,
            kernels.kinetic_blocks.over(0, n, v=self._v, masses=masses, partial=moved, grain=BLOCK),
            kernels.begin_balance.over(0, 1, stored=stored, moved=moved, state=state, serial=True),
        ]
        threads = threads if n > min(SMALL, SMALL_MEASURED) else 1
        self._first, self._judge, self._close = (Plan(phases, threads) for phases in (first, judging, closing))
        self.restart()

    def begin(self) -> None:
        """Before a step: the energy at the beginning, where the last step has not left it."""
        if not self._measured:
            self._first.run()
            self._measured = True

    def look_back(self) -> bool:
        """After the solve of a first step: make a history of what it found. Whether to solve again, with that."""
        first, self.starting = self.starting, False
        if first and not self._touches:
            self._backward.run()
            return True
        return False

    def land(self, contacts: Contacts, stopped: np.ndarray) -> None:
        """After a solve: new positions and velocities. `stopped`: vertices that the guard has moved."""
        self._judge.run()
        walls, pairs = contacts.colliders, contacts.surfaces
        touching = np.unique(np.concatenate([walls.corners, pairs.corners, stopped]))
        if len(touching):
            moved = (self._q, self._new, self.from_v, self._inverse, self._h)
            kernels.settle(touching, walls.vertices, walls.coefficients, walls.planes, *moved)
            none = touching[:0]
            kernels.settle(none, pairs.vertices, pairs.coefficients, pairs.planes, *moved)
        self._close.run()
        self._fresh[touching] = 1.0


def _energies(
    system: System, new: np.ndarray, q: np.ndarray, state: np.ndarray
) -> tuple[np.ndarray, list[Phase], list[Phase]]:
    """Sums in blocks, and the phases that write them for `new` and for `q`: what all constraints but pins store."""
    groups = [*system.springs, *system.projected, *system.quadratic, *system.positional]
    ends = np.cumsum([0, *(-(-len(group) // BLOCK) for group in groups)])
    stored = np.zeros(int(ends[-1]))
    phases: tuple[list[Phase], list[Phase]] = [], []
    for group, (begin, end) in zip(groups, pairwise(ends), strict=True):
        kind = group.kind
        sizes = kind.vertices, kind.rows, len(kind.parameters)
        given = {"vertices": np.ascontiguousarray(group.vertices, np.int32)}
        given |= {"weights": np.ascontiguousarray(group.weights, np.float64)}
        given |= {"parameters": np.ascontiguousarray(group.parameters, np.float64)}
        if kind.role is Role.POSITION:
            kernel = kernels.valued_pass(kind.evaluate, *sizes)
        else:
            project = no_projection if kind.role is Role.QUADRATIC else kind.project
            kernel = kernels.stored_pass(project, *sizes)
            given |= {"operator": np.ascontiguousarray(group.operator, np.float64), "sums": row_sums(group.operator)}
        for rows, into in zip((new, q), phases, strict=True):
            sums = stored[begin:end]
            into.append(kernel.over(0, len(group), q=rows, partial=sums, state=state, grain=BLOCK, **given))
    return stored, *phases
