"""Chebyshev's method over the summed corrections of position based dynamics [fratarcangeli2018, section 2.2.3]."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...backends.cpu.arguments import Phase
from ...collisions.contacts import Contacts
from ...energy.system import System
from ...errors import InputError
from ..base import Deadline, Outcome, Solver, make_solver
from ..chebyshev import AUTO, ChebyshevMethod
from .pbd_jacobi import PbdJacobi


@dataclass(eq=False)
class ChebyshevJacobi(ChebyshevMethod, Solver):
    """chebyshev(pbd-jacobi), options as in `ChebyshevMethod`; rho="auto" is the largest for `horizon` iterations.

    Limitations: no energy terms of a model's own, no viscosity, no creases; constraints are as hard as their stiffness
    from 0 to 1 says, without compliance; what is accelerated past its limit sticks, where static friction exceeds
    kinetic; friction is remembered for one step only, so that heaps creep (`collide(sleep=...)` stops them).
    """

    inner: str = "pbd-jacobi"

    starts_anywhere = False
    takes_valued = True
    takes_flowing = False

    def __post_init__(self) -> None:
        self.check_options()
        solver = make_solver(self.inner)
        if not isinstance(solver, PbdJacobi):
            raise InputError(f"this is Chebyshev's method over pbd-jacobi, not over {self.inner!r}")
        solver.accelerate(self._weighed)
        self.positional, self.name = solver, f"chebyshev({solver.name})"  # type: ignore[misc]

    def _weighed(self, q: np.ndarray, e: np.ndarray) -> list[Phase]:
        return self.weigh(q, e, e, first=self.gamma, later=self.gamma, watch=self.watch)

    def prepare(self, system: System, *, threads: int, seed: int) -> None:
        """Prepare the Jacobi iterations; "auto" takes the largest ρ that its horizon allows."""
        self.begin_method()
        if self.rho == AUTO:
            self._rho = self.largest_rho(self.horizon)
        self.positional.prepare(system, threads=threads, seed=seed)
        self.system = system

    def adapt(self, system: System) -> bool:
        """Take over masses and pins."""
        self.system = system
        return self.positional.adapt(system)

    def set_contacts(self, contacts: Contacts, previous: np.ndarray, start: np.ndarray) -> None:
        """Hand the contacts to the Jacobi iterations."""
        self.positional.set_contacts(contacts, previous, start)

    def solve(self, start: np.ndarray, constant: np.ndarray, out: np.ndarray, deadline: Deadline) -> Outcome:
        """Jacobi iterations with Chebyshev's weights; the note tells if ρ had to be reduced."""
        if self.system is not None:
            self.begin_step()
        outcome = self.positional.solve(start, constant, out, deadline)
        self.end_step(outcome.sweeps)
        return replace(outcome, note="; ".join(part for part in (outcome.note, self.method_note()) if part))

    def remembered(self) -> dict[str, np.ndarray]:
        """What Chebyshev's method has learnt."""
        return {} if self.system is None else self.learnt()

    def recall(self, memory: dict[str, np.ndarray]) -> None:
        """Go on with what `remembered` gave."""
        self.learn(memory)


PbdJacobi.wrappers = {"chebyshev": ChebyshevJacobi}
