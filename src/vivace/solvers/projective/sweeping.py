"""What the sweeping solvers share: one layout, one plan of phases, one way to stop."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from ...backends.cpu.arguments import Phase
from ...backends.cpu.executor import Plan
from ...checks import is_number, is_whole
from ...collisions.contacts import Contacts
from ...energy.system import System
from ...errors import InputError
from ..base import LEAST_SWEEPS, Deadline, Outcome, Solver
from ..convergence import ConvergenceMonitor
from ..kernels.vectors import watch
from .layout import Layout


class SweepingSolver(Solver):
    """A solver whose iteration is: project the constraints (when their turn has come), then sweep."""

    refresh: int = 0  # sweeps for which projections are kept; 0: springs from the newest positions, in the update
    layout: Layout | None = None

    @abstractmethod
    def visiting_order(self, system: System, threads: int, seed: int) -> np.ndarray:
        """The order in which a sweep visits the vertices."""

    @abstractmethod
    def sweep_phases(self, layout: Layout) -> Sequence[Phase]:
        """One sweep over layout.q."""

    def prepare(self, system: System, *, threads: int, seed: int) -> None:
        """Lay out the system in visiting order, and plan a sweep."""
        self.system = None  # until all is ready: should something be wrong with it, the next step must not go on
        order = self.visiting_order(system, threads, seed)
        self._lay_out(Layout(system, order, threads, refresh=self.refresh))
        self.system = system

    def _lay_out(self, layout: Layout) -> None:
        self.layout, threads = layout, layout.threads
        phases = [*layout.local_phases, *self.sweep_phases(layout)]
        self._plan = Plan(phases, threads)
        self._convergence = ConvergenceMonitor()
        # Only sweeps over fresh projections meet the true residual.
        every = max(1, self.refresh)
        last = watch.over(0, layout.n, square=layout.square, serial=True, every=every, **self._convergence.arrays)
        self._watched_plan = Plan([*phases, last], threads, self._convergence.monitor)

    def set_contacts(self, contacts: Contacts, previous: np.ndarray, start: np.ndarray) -> None:
        """Put the contacts into the matrix; makes room for more of them when there is none left."""
        if self.layout is None or self.system is None:
            raise InputError(f"solver {self.name!r} has not been prepared for a system")
        self.layout.set_contacts(contacts, previous, start, self.system)
        if self.layout.contacts is not None and self.layout.contacts.full:
            self._lay_out(self.layout.with_room_for(contacts))
            self.layout.set_contacts(contacts, previous, start, self.system)

    def adapt(self, system: System) -> bool:
        """Take over the new diagonal; the layout stays."""
        if self.layout is None or self.system is None or not system.shares_structure(self.system):
            return False
        self.layout.adapt(system)
        self.system = system
        return True

    def solve(self, start: np.ndarray, constant: np.ndarray, out: np.ndarray, deadline: Deadline) -> Outcome:
        """Sweep from the first guess until a limit is met."""
        if self.layout is None:
            raise InputError(f"solver {self.name!r} has not been prepared for a system")
        self.layout.load(start, constant)
        budget, convergence = deadline.budget, self._convergence
        plan = self._watched_plan if convergence.begin(deadline, self.layout.resolution) else self._plan
        contacts = self.layout.contacts
        least = LEAST_SWEEPS if contacts is not None and contacts.touched else 1
        sweeps = plan.run(budget.most_iterations, deadline.at_ns, least=least)
        swept_ns = time.perf_counter_ns()
        self.layout.store(out)
        stopped = "iterations" if sweeps >= budget.most_iterations else "time"
        if convergence.satisfied:
            stopped = "tolerance"
        return Outcome(sweeps, self.layout.residual(), stopped, swept_ns, residuals=convergence.residuals)


def check_omega(omega: float, below: float) -> None:
    """Relaxation must be a number in (0, below]."""
    if not is_number(omega) or not 0 < omega <= below:
        raise InputError(f"the relaxation omega must lie in (0, {below:g}], not {omega!r}")


def check_refresh(refresh: object) -> None:
    """A whole number of sweeps, 0 or more."""
    if not is_whole(refresh) or not 0 <= refresh <= 1000:  # type: ignore[operator]
        raise InputError(f"refresh must be a whole number of sweeps from 0 to 1000, not {refresh!r}")
