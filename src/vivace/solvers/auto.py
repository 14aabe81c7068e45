"""`auto`: the solver to use when nobody wants to choose one. What decides is how things move, then their energy.

It is `lattice(multigrid)`, in as many substeps as the budget pays for with two rounds each: two rounds in each of four
substeps follow the true motion more closely than eight rounds in one step, because implicit Euler at 33 ms is itself
far from it, and because less has to turn at once. A small model says how long a round takes; its coefficients were
measured (`benchmarks/motion.py --only model` prints them) and stand here, so that the choice, and with it the result,
is the same on every run and every machine.

The direct and multigrid solvers of projective dynamics, alone or under L-BFGS, reach a smaller energy in the same time
and hover (docs/solvers.md): they are there by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..collisions.contacts import Contacts
from ..constraints import Role
from ..kernels.team import Phase
from ..model import Model
from ..system import System
from .base import SOLVERS, Budget, Deadline, Outcome, PartsJob, Solver, make_solver

FREE_CELLS, TOUCHING_CELLS = 10, 16  # of the lattice: what lies over an edge needs finer ones than what swings
BIG = 60_000  # vertices from which a hierarchy is built in the background, with a budget of time

# Milliseconds of a round on two threads, by what they are proportional to.
ROUND_MS = {"once": 0.05, "vertex": 4.0e-5, "spring": 1.0e-5, "quadratic": 0.7e-5, "projected": 7.0e-5}
SPENT = 0.95  # share of a budget that is planned for
ROUNDS = 2  # wanted of each substep
SHORTEST = 0.004  # s: substeps below this no longer pay


def round_ms(model: Model) -> float:
    """What the model expects of one round (ms)."""
    count = {role: sum(len(group) for group in model.groups if group.kind.role is role) for role in Role}
    return (
        ROUND_MS["once"]
        + ROUND_MS["vertex"] * model.n
        + ROUND_MS["spring"] * count[Role.SPRING]
        + ROUND_MS["quadratic"] * count[Role.QUADRATIC]
        + ROUND_MS["projected"] * count[Role.PROJECTED]
    )


@SOLVERS.register("auto")
@dataclass(eq=False)
class Auto(Solver):
    """What moves best under the budget: the default."""

    name = "auto"
    snaps_pins = False

    def __post_init__(self) -> None:
        self._solver: Solver | None = None

    def substeps_for(self, model: Model, h: float, budget: Budget) -> int:
        if model.collisions is not None:
            return 1  # contacts take more rounds a step than one, and finding them takes as long as some
        most = max(1, round(h / SHORTEST))
        if budget.ms is not None:
            most = min(most, int(SPENT * budget.ms / (ROUNDS * round_ms(model))))
        elif budget.iterations is None:
            return 1  # the step is to be solved as it is
        return max(1, min(most, budget.most_iterations // ROUNDS))

    def prepare(self, system: System, *, threads: int, seed: int) -> None:
        cells = FREE_CELLS if system.model.collisions is None else TOUCHING_CELLS
        inner = "multigrid:background=True" if system.n >= BIG else "multigrid"
        self._solver = make_solver(("lattice", {"inner": inner, "cells": cells}))
        self._solver.prepare(system, threads=threads, seed=seed)
        self.system, self.colouring = system, self._solver.colouring

    def adapt(self, system: System) -> bool:
        if self._solver is None or not self._solver.adapt(system):
            return False
        self.system = system
        return True

    @property
    def plan(self) -> object:
        return None if self._solver is None else self._solver.plan

    @property
    def used(self) -> str:
        return self.name if self._solver is None else self._solver.name

    def touch(self, contacts: Contacts, previous: np.ndarray, start: np.ndarray) -> None:
        assert self._solver is not None
        self._solver.touch(contacts, previous, start)

    def solve(self, start: np.ndarray, constant: np.ndarray, out: np.ndarray, deadline: Deadline) -> Outcome:
        assert self._solver is not None
        if deadline.budget.ms is None:
            self._solver.wait()  # the result must not depend on when a hierarchy is there
        return self._solver.solve(start, constant, out, deadline)

    def parts_job(
        self, start: np.ndarray, constant: np.ndarray, out: np.ndarray, before: Sequence[Phase], after: Sequence[Phase]
    ) -> PartsJob | None:
        assert self._solver is not None
        return self._solver.parts_job(start, constant, out, before, after)

    def wait(self) -> None:
        if self._solver is not None:
            self._solver.wait()
