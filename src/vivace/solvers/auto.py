"""`auto`: the solver to use when nobody wants to choose one.

Two solvers are seldom far from the best: L-BFGS over multigrid and L-BFGS over a factorisation. They share all but the
correction, so the choice is between many good corrections and fewer exact ones in the same time. A small model says
how long each takes; its coefficients were measured (`benchmarks/solvers.py --only model` prints them) and stand here,
so that the choice, and with it the result, is the same on every run and every machine. Where many pins come and go,
plain sweeps may be the best there is (`--only changing`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..collisions.contacts import Contacts
from ..colouring import Colouring
from ..system import System
from .base import SOLVERS, Deadline, Outcome, Solver, make_solver
from .multigrid import cycles_for

MULTIGRID, DIRECT, SWEEPS = "lbfgs(multigrid)", "lbfgs(direct)", "vivace"
BIG_MULTIGRID = "lbfgs(multigrid:background=True)"

# Milliseconds on two threads, by what they are proportional to.
PASS_MS = {"vertex": 1.8e-5, "projected": 2.0e-5}  # projections, residual, making a step of a correction
CYCLE_MS = {"once": 0.015, "entry": 2.0e-6}  # an entry of Y
SOLVE_MS = {"surface": 0.8e-5, "volume": 0.7e-6}  # n log2 n, and n^(4/3) log2 n: how factors fill in
GOOD_AS = 1.3  # iterations with cycles that are worth one with an exact correction
BIG = 60_000  # vertices from which a hierarchy is built in the background, with a budget of time
HELD = 0.03  # share of vertices with changing pins from which errors are rough, and coarse levels have little to do
# Then sweeps get farther in the time of this many iterations of multigrid: or more on bodies (which sweeps project once
# in four times), or less on cloth.
ENOUGH_BODY, ENOUGH_CLOTH = 1, 12
SETTLED = 30  # steps without a change of the matrix after which a factorisation is worth having again


@dataclass(eq=False)
class Costs:
    """What the model expects of one iteration (ms)."""

    multigrid: float
    direct: float

    @classmethod
    def of(cls, system: System) -> Costs:
        n, entries = system.n, system.off.nnz
        projected = sum(len(group) for group in system.projected)
        shared = n * PASS_MS["vertex"] + projected * PASS_MS["projected"]
        cycle = CYCLE_MS["once"] + entries * CYCLE_MS["entry"]
        volume = system.model.mesh.is_volumetric
        growth = np.log2(max(n, 2)) * (n ** (4 / 3) if volume else n)
        solve = growth * SOLVE_MS["volume" if volume else "surface"]
        return cls(shared + cycles_for(system) * cycle, shared + solve)


@SOLVERS.register("auto")
@dataclass(eq=False)
class Auto(Solver):
    """The best of the others by size, dimension, budget and how often the matrix changes: the default."""

    name = "auto"

    def __post_init__(self) -> None:
        self._solvers: dict[str, Solver] = {}
        self._calm = SETTLED  # steps since the matrix last changed
        self._used = ""
        self._contacts: tuple[Contacts, np.ndarray, np.ndarray] | None = None

    def prepare(self, system: System, *, threads: int, seed: int) -> None:
        self.system, self._threads, self._seed = system, threads, seed
        self._costs = Costs.of(system)
        self._solvers.clear()
        self._calm = SETTLED
        if system.n < BIG:
            self._ready(SWEEPS)  # pins may come in any frame, and then there is no time for a set-up
        self._ready(self.choice(None))

    def adapt(self, system: System) -> bool:
        if self.system is None or not system.shares_structure(self.system):
            return False
        self.system, self._calm = system, 0
        return True

    @property
    def _held(self) -> bool:
        """Many pins that come and go, as contacts do: every vertex is near one. (A clamp stays where it is.)"""
        if self.system is None or self._calm >= SETTLED:
            return False
        touching = len(self._contacts[0]) if self._contacts is not None else 0
        return len(self.system.model.pinned) + touching > HELD * self.system.n

    @property
    def _volumetric(self) -> bool:
        return self.system is not None and self.system.model.mesh.is_volumetric

    @property
    def used(self) -> str:
        return self._used or self.name

    def choice(self, budget_ms: float | None) -> str:
        """The name of the solver for a step of that many milliseconds (None: not limited by time)."""
        costs = self._costs
        if budget_ms is not None and self._held:
            cycles = budget_ms / costs.multigrid
            if (cycles > ENOUGH_BODY) if self._volumetric else (cycles < ENOUGH_CLOTH):
                return SWEEPS
        touching = self.system is not None and self.system.model.collisions is not None  # no time to factorise then
        if touching or self._calm < SETTLED or costs.direct > GOOD_AS * costs.multigrid:
            return MULTIGRID
        if budget_ms is not None and costs.direct > budget_ms > costs.multigrid:
            return MULTIGRID  # not even one exact correction fits
        return DIRECT

    def touch(self, contacts: Contacts, previous: np.ndarray, start: np.ndarray) -> None:
        self._contacts = contacts, previous, start
        if len(contacts):
            self._calm = 0

    def solve(self, start: np.ndarray, constant: np.ndarray, out: np.ndarray, deadline: Deadline) -> Outcome:
        name = self.choice(deadline.budget.ms)
        self._calm += 1
        solver = self._ready(name)
        if deadline.budget.ms is None:
            solver.wait()  # the result must not depend on when a hierarchy is there
        self._used = name
        if self._contacts is not None:
            solver.touch(*self._contacts)
        return solver.solve(start, constant, out, deadline)

    def wait(self) -> None:
        for solver in self._solvers.values():
            solver.wait()

    def _ready(self, name: str) -> Solver:
        """The solver of that name, prepared for the current system."""
        assert self.system is not None
        solver = self._solvers.get(name)
        if solver is None:
            big = name == MULTIGRID and self.system.n >= BIG
            solver = self._solvers[name] = make_solver(BIG_MULTIGRID if big else name)
        if solver.system is not self.system and not solver.adapt(self.system):
            solver.prepare(self.system, threads=self._threads, seed=self._seed)
        self.colouring: Colouring | None = solver.colouring
        return solver
