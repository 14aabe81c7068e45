"""`auto`: the solver to use when nobody wants to choose one. What decides is how things move, then their energy.

It is `lattice(multigrid)`, in as many substeps as the budget pays for with two rounds each: two rounds in each of four
substeps follow the true motion more closely than eight rounds in one step, because implicit Euler at 33 ms is itself
far from it, and because less has to turn at once. A body of tetrahedra through which waves travel slowly turns in
small regions that a lattice is too coarse for, and projecting it twice a round costs more than the lattice brings:
there it is `lbfgs(multigrid)`, two iterations a substep. Hyperelastic bodies go by `newton-multigrid`, one Hessian a
substep: of 57,528 neo-Hookean tetrahedra that hang by one hand they are 1 % of their way from the converged motion.

What may touch something is walked in steps of 1/60 s at most, with four rounds at least in each, however late; among
rigid bodies that are free, of 1/120 s.

A small model says how long a round takes; its coefficients were measured (`benchmarks/motion.py` prints iterations and
milliseconds) and stand here. With a budget of milliseconds a round is timed when the solver is prepared, and that
counts from then on: machines differ by a factor of two and more, and with one round in a substep cloth is torn.

The direct and multigrid solvers of projective dynamics, alone or under L-BFGS, reach a smaller energy in the same time
on cloth, and hover (docs/solvers.md): they are there by name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..backends.cpu.arguments import Phase
from ..collisions.contacts import ContactForces, Contacts
from ..constraints import Role
from ..energy.system import Frame, System
from ..hyperelastic.term import Hyperelastic
from ..model.model import Model
from .base import (
    LEAST_ROUNDS,
    SOLVERS,
    Budget,
    Deadline,
    Outcome,
    Solver,
    SubstepsPlan,
    make_solver,
)
from .projective.correcting import CorrectingSolver

FREE_CELLS, TOUCHING_CELLS = 10, 12  # of the lattice: what lies over an edge needs finer ones than what swings
BIG = 60_000  # vertices from which a hierarchy is built in the background, with a budget of time

# Milliseconds of a round on two threads, by what they are proportional to; of an iteration without a lattice.
ROUND_MS = {"once": 0.05, "vertex": 3.5e-5, "spring": 1.0e-5, "quadratic": 0.7e-5, "projected": 8.5e-5}
ITERATION_MS = {"once": 0.05, "vertex": 4.0e-5, "spring": 1.0e-5, "quadratic": 0.7e-5, "projected": 4.0e-5}
HESSIAN_MS = {"once": 0.1, "element": 5.5e-4}  # likewise of a Newton iteration of hyperelastic elements
STEPS = 8  # iterations for each Hessian, as `newton-multigrid` has them
TYPICAL = 0.008  # s: a substep, for the choice between the two
SLOW = 0.3  # of a body's size that a wave travels in it, below which bodies of tetrahedra do without a lattice
SPENT = 0.95  # share of a budget that is planned for
ROUNDS = 2  # wanted of each substep
SHORTEST = 0.004  # s: substeps below this no longer pay
LONGEST = 1 / 60  # s: of what may touch; in longer steps what is dragged goes through edges before it is stopped
LONGEST_PUSHING = 1 / 120  # s: of what pushes rigid bodies; in longer steps light ones are thrown off heavy ones


def is_hyperelastic(model: Model) -> bool:
    """Whether it has terms of hyperelastic materials."""
    return any(isinstance(term, Hyperelastic) for term in model.terms)


def round_ms(model: Model) -> float:
    """What the model expects of one round (ms); of two, a Newton iteration, of hyperelastic bodies."""
    if is_hyperelastic(model):
        return (HESSIAN_MS["once"] + HESSIAN_MS["element"] * len(model.mesh.tets)) / ROUNDS
    count = {role: sum(len(group) for group in model.groups if group.kind.role is role) for role in Role}
    cost = ROUND_MS if wants_lattice(model) else ITERATION_MS
    return (
        cost["once"]
        + cost["vertex"] * model.n
        + cost["spring"] * count[Role.SPRING]
        + cost["quadratic"] * count[Role.QUADRATIC]
        + cost["projected"] * count[Role.PROJECTED]
    )


def wants_lattice(model: Model) -> bool:
    """All but soft bodies of tetrahedra: those in which a wave does not get far in a substep."""
    return not model.mesh.is_volumetric or reach(model, TYPICAL) > SLOW


def reach(model: Model, h: float) -> float:
    """How far a wave travels through a body of tetrahedra in h seconds, in sizes of the body: √(K_ii h²/m) edges."""
    stiffness = np.zeros(model.n)
    for group in model.groups:
        if group.kind.role is Role.PROJECTED:
            own = group.weights[:, None] * np.einsum("mrk,mrk->mk", group.operator, group.operator)
            np.add.at(stiffness, group.vertices, own)
    rest, tets = model.mesh.vertices, model.mesh.tets
    edge = float(np.linalg.norm(rest[tets[:, 0]] - rest[tets[:, 1]], axis=1).mean())
    size = float(np.linalg.norm(np.ptp(rest, axis=0)))
    return edge * float(np.sqrt(np.median(stiffness / model.masses))) * h / size


@SOLVERS.register("auto")
@dataclass(eq=False)
class Auto(Solver):
    """What moves best under the budget: the default.

    Limitations: no constraints known by their value, no energy terms of a model's own but hyperelastic ones; what
    touches gets four rounds in each step, however late; cloth of 10⁶ N/m moves too slowly at 8 ms; contacts between
    surfaces do not remember their forces, so that heaps creep; from 60,000 vertices on with a budget of time, its
    hierarchy is set up in the background, and steps are sweeps until then.
    """

    name = "auto"
    takes_hyperelastic = True
    takes_free_bodies = True

    def __post_init__(self) -> None:
        self._solver: Solver | None = None
        self._measured: tuple[Model, float] | None = None  # ms of a round of this model
        self._timed: Model | None = None  # for which that was measured here

    def substeps_for(self, model: Model, h: float, budget: Budget) -> int:
        """As many as the budget has time for, within what helps; one where there are contacts and no limit."""
        if model.collisions is not None:  # finding contacts takes as long as some rounds
            if budget.ms is None and budget.iterations is None:
                return 1
            pushing = any(not body.immovable for body in model.collisions.bodies)
            longest = LONGEST_PUSHING if pushing else LONGEST
            return max(1, min(math.ceil(h / longest - 0.01), budget.most_iterations // LEAST_ROUNDS))
        most = max(1, round(h / SHORTEST))
        if budget.ms is not None:
            most = min(most, int(SPENT * budget.ms / (ROUNDS * self._round_ms(model))))
        elif budget.iterations is None:
            return 1  # the step is to be solved as it is
        return max(1, min(most, budget.most_iterations // (STEPS if is_hyperelastic(model) else ROUNDS)))

    def _round_ms(self, model: Model) -> float:
        """Found once for models that differ in their pins only."""
        if self._measured is None or self._measured[0].masses is not model.masses:
            self._measured = model, round_ms(model)
        return self._measured[1]

    def time_itself(self, model: Model) -> bool:
        """Replace the model's opinion of a round by a measurement, once for models that differ in their pins only."""
        timed = self._timed is not None and self._timed.masses is model.masses
        ms = self._solver.iteration_ms() if isinstance(self._solver, CorrectingSolver) and not timed else None
        if ms is None:
            return False
        self._measured, self._timed = (model, ms), model
        return True

    def prepare(self, system: System, *, threads: int, seed: int) -> None:
        """Choose a solver for the system, and prepare that one."""
        cells = FREE_CELLS if system.model.collisions is None else TOUCHING_CELLS
        inner = "multigrid:background=True" if system.n >= BIG else "multigrid"
        options = {"inner": inner, "cells": cells} if wants_lattice(system.model) else {"inner": inner}
        solver = ("lattice" if "cells" in options else "lbfgs", options)
        self._solver = make_solver("newton-multigrid" if system.hyperelastic else solver)
        self.snaps_pins = self._solver.snaps_pins
        self._solver.prepare(system, threads=threads, seed=seed)
        self.pushes_bodies = self._solver.pushes_bodies
        self.system, self.colouring = system, self._solver.colouring

    def adapt(self, system: System) -> bool:
        """Let the chosen solver go on, if it can."""
        if self._solver is None or not self._solver.adapt(system):
            return False
        self.system = system
        return True

    def remembered(self) -> dict[str, np.ndarray]:
        """What the chosen solver remembers."""
        return {} if self._solver is None else self._solver.remembered()

    def recall(self, memory: dict[str, np.ndarray]) -> None:
        """Hand it back to the chosen solver."""
        if self._solver is not None:
            self._solver.recall(memory)

    @property
    def plan_key(self) -> object:
        """That of the chosen solver."""
        return None if self._solver is None else self._solver.plan_key

    @property
    def used(self) -> str:
        """The name of the chosen solver."""
        return self.name if self._solver is None else self._solver.name

    def set_contacts(self, contacts: Contacts, previous: np.ndarray, start: np.ndarray) -> None:
        """Hand the contacts to the chosen solver."""
        assert self._solver is not None
        self._solver.set_contacts(contacts, previous, start)

    def contact_forces(self) -> ContactForces | None:
        """Those of the chosen solver."""
        return None if self._solver is None else self._solver.contact_forces()

    def see(self, frame: Frame) -> None:
        """Show the step's problem to the chosen solver."""
        if self._solver is not None:
            self._solver.see(frame)

    def solve(self, start: np.ndarray, constant: np.ndarray, out: np.ndarray, deadline: Deadline) -> Outcome:
        """Let the chosen solver solve; without a time limit it waits for what is made in the background."""
        assert self._solver is not None
        if deadline.budget.ms is None:
            self._solver.wait()  # the result must not depend on when a hierarchy is there
        return self._solver.solve(start, constant, out, deadline)

    def plan_substeps(
        self, start: np.ndarray, constant: np.ndarray, out: np.ndarray, before: Sequence[Phase], after: Sequence[Phase]
    ) -> SubstepsPlan | None:
        """The plan of the chosen solver."""
        assert self._solver is not None
        return self._solver.plan_substeps(start, constant, out, before, after)

    def wait(self) -> None:
        """Wait for what the chosen solver makes in the background."""
        if self._solver is not None:
            self._solver.wait()

    def forget(self) -> None:
        """Let the chosen solver forget."""
        if self._solver is not None:
            self._solver.forget()
