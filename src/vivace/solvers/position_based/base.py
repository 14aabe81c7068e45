"""What the position based solvers share: constraints laid out for their passes, one plan of phases, one way to stop.

Position based dynamics moves vertices until the constraints hold, instead of minimising a sum of energies
[mueller2007; fratarcangeli2018, section 1.3.5]. With `stiffness=None` each constraint has the compliance 1/w of its
weight w in the model [macklin2016], and the iterations converge to the minimum of the very energy that projective
dynamics minimises, up to what gradients turn between iterations; with a number, the paper's stiffness κ
[fratarcangeli2013, Eq. 6], how hard a constraint is depends on the number of iterations. Pins are exact: a pinned
vertex has no inverse mass.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...backends.cpu.arguments import GRAIN, Phase, phase_kernel
from ...backends.cpu.executor import SMALL, Plan
from ...checks import is_number
from ...collisions.contacts import Contacts
from ...constraints import ConstraintGroup
from ...constraints.kernels.local import no_projection
from ...energy.system import System
from ...errors import InputError
from ..base import LEAST_SWEEPS, Deadline, Outcome, Solver, refuse_flowing, refuse_terms
from ..convergence import ConvergenceMonitor
from .kernels.positional import any_kernel, fast_kernel
from .kernels.steps import add_up, load_positions, store_positions, watch_violation

LAST_WORD = 16  # passes over the contacts after the last iteration: rather a stretched cloth than one that is pierced
BENDING_UNIT = "N·m"  # constraints whose stiffness is a moment are bending


def check_stiffness(name: str, value: object) -> None:
    """None, or the paper's κ in [0, 1]."""
    if value is not None and not (is_number(value) and 0 <= value <= 1):  # type: ignore[operator]
        raise InputError(f"{name} must lie in 0 to 1, or be None for the compliance of the model, not {value!r}")


@dataclass(eq=False)
class Listed:
    """A constraint group in visiting order: colour c is the constraints begins[c] to ends[c].

    Colours begin at multiples of GRAIN, with unused places between them, so that every chunk of a phase has a partial
    sum of its own. All arrays in float32, and flat.
    """

    group: ConstraintGroup
    place: np.ndarray  # (m,) where constraint c of the group stands
    begins: np.ndarray
    ends: np.ndarray
    vertices: np.ndarray
    parameters: np.ndarray
    operator: np.ndarray
    soft: np.ndarray  # α = 1/(w h²)
    lambdas: np.ndarray
    sums: np.ndarray
    settings: np.ndarray  # see kernels.positional

    @classmethod
    def of(
        cls, group: ConstraintGroup, order: np.ndarray, pointers: np.ndarray, h: float, kappa: float | None
    ) -> Listed:
        """Lay out a group: `order` and `pointers` as `PositionalSolver.arrange` gives them, κ None for compliance."""
        sizes = np.diff(pointers)
        begins = np.concatenate([[0], np.cumsum(-(-sizes // GRAIN) * GRAIN)])
        place = np.empty(len(group), np.int64)
        place[order] = np.repeat(begins[:-1] - pointers[:-1], sizes) + np.arange(len(group))
        room = int(begins[-1])

        def spread(values: np.ndarray, dtype: type = np.float32) -> np.ndarray:
            out: np.ndarray = np.zeros((room, values[:1].size if len(values) else 0), dtype)
            out[place] = values.reshape(len(group), -1)
            return out.ravel()

        with np.errstate(divide="ignore", over="ignore"):
            soft = (1.0 / (group.weights * h**2)).astype(np.float32)
        if not np.isfinite(soft).all():
            raise InputError(f"a stiffness of {group.kind.name!r} is too small for float32 at h = {h} s; leave it out")
        settings = np.array([1.0 if kappa is None else kappa, kappa is None, 0.0], np.float32)
        return cls(
            *(group, place, begins[:-1], begins[:-1] + sizes),
            *(spread(group.vertices, np.int32), spread(group.parameters), spread(group.operator), spread(soft)),
            *(np.zeros(room, np.float32), np.zeros(room // GRAIN + 1), settings),
        )

    @property
    def compliant(self) -> bool:
        """Whether its constraints have compliance, and not a stiffness κ."""
        return bool(self.settings[1])

    def kernel(self, *, by_vertex: bool = False, coloured: bool = False) -> phase_kernel:
        """The kernel of a pass: the type's hand-written form if it has one, otherwise one made for it."""
        kind = self.group.kind
        if kind.gradients is not None:
            return fast_kernel(kind.gradients, kind.vertices, by_vertex=by_vertex, coloured=coloured)
        numbers = (kind.vertices, kind.rows, len(kind.parameters))
        if kind.evaluate is not None:
            return any_kernel(kind.evaluate, *numbers, by_vertex=by_vertex, projects=False)
        return any_kernel(kind.project or no_projection, *numbers, by_vertex=by_vertex, projects=True)

    def phases(
        self,
        q: np.ndarray,
        *,
        targets: np.ndarray | None = None,
        slots: np.ndarray | None = None,
        shares: np.ndarray | None = None,
        serial: bool = False,
    ) -> list[Phase]:
        """A pass over the group, colour by colour: in place, or into `slots`."""
        self.settings[2] = slots is not None
        kernel = self.kernel(coloured=slots is None and not serial)
        arrays = kernel.select(
            {
                "vertices": self.vertices,
                "parameters": self.parameters,
                "operator": self.operator,
                "soft": self.soft,
                "lambdas": self.lambdas,
                "settings": self.settings,
                "sums": self.sums,
                "q": q,
                "targets": self.vertices if targets is None else targets,
                "out": q if slots is None else slots,
                "shares": self.soft if shares is None else shares,
            }
        )
        limits = zip(self.begins.tolist(), self.ends.tolist(), strict=True)
        return [Phase(kernel, arrays, begin, end, serial=serial) for begin, end in limits]


class PositionalSolver(Solver):
    """A position based solver; subclasses say in which order the constraints are visited, and how.

    Attributes:
        stiffness: None: compliance from the model's weights; or the paper's κ in [0, 1] for every constraint.
        bend: κ of constraints that resist bending, if `stiffness` is a number; None: the same.
    """

    stiffness: float | None = None
    bend: float | None = None
    starts_anywhere = False  # its inertia is where it starts
    takes_valued = True
    takes_flowing = False
    listed: list[Listed]
    contact_phases: Sequence[Phase] = ()
    _plan: Plan | None = None
    _last_word: Plan | None = None
    _touched = False

    def __post_init__(self) -> None:
        check_stiffness("stiffness", self.stiffness)
        check_stiffness("bend", self.bend)
        if self.stiffness is None and self.bend is not None:
            raise InputError("bend needs stiffness: give both as numbers in 0 to 1, or neither")

    @abstractmethod
    def arrange(self, groups: list[ConstraintGroup], system: System) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each group the order in which its constraints are visited, and where each colour of them begins."""

    @abstractmethod
    def iteration(self) -> list[Phase]:
        """One iteration over all constraints of the model: self.listed, on self.q."""

    @abstractmethod
    def iteration_with(self, contacts: Contacts, previous: np.ndarray) -> list[Phase]:
        """The same and the contacts of a step, which began at `previous` (n, 4).

        Sets `self.contact_phases`, those of the contacts alone.
        """

    def iteration_without(self) -> list[Phase]:
        """The first iteration again, when contacts have ended; undoes what `iteration_with` has changed."""
        return self._phases

    def set_contacts(self, contacts: Contacts, previous: np.ndarray, start: np.ndarray) -> None:
        """Plan iterations with the contacts, or without when they have ended."""
        if self._plan is None:
            raise InputError(f"solver {self.name!r} has not been prepared for a system")
        self._last_word = None
        if len(contacts):
            self._make_plan(self.iteration_with(contacts, previous))
            self._last_word = Plan(self.contact_phases, self.threads)
        elif self._touched:
            self._make_plan(self.iteration_without())
        self._touched = len(contacts) > 0

    def prepare(self, system: System, *, threads: int, seed: int) -> None:
        """Arrange and lay out the constraints that have any stiffness, and plan an iteration."""
        self.system, self._plan = None, None
        refuse_terms(system.model, "position based dynamics")
        refuse_flowing(system.model, "position based dynamics")
        self.threads, self.seed = threads, seed
        if system.static:
            raise InputError(
                f"position based solvers such as {self.name!r} put forces into the prediction, which a step without "
                'inertia has not; with integrator="quasi-static" take solver="auto" or another of projective dynamics'
            )
        groups = [*system.springs, *system.projected, *system.quadratic, *system.positional]
        groups.sort(key=lambda group: [other is group for other in system.model.groups].index(True))
        groups = [_stiff_ones(group) for group in groups]
        groups = [group for group in groups if len(group)]
        n = system.n
        self.q = np.zeros((n, 4), np.float32)
        self.inverse = np.zeros(n, np.float32)
        self.listed = [
            Listed.of(group, order, pointers, system.h, self._kappa(group))
            for group, (order, pointers) in zip(groups, self.arrange(groups, system), strict=True)
        ]
        self._convergence = ConvergenceMonitor()
        self._weigh(system)
        self._last_word = None
        self._last_ns = 0  # what it took lately
        self._phases = self.iteration()
        self._make_plan(self._phases)
        self._touched = False
        _ = load_positions.address, store_positions.address
        self.system = system

    def adapt(self, system: System) -> bool:
        """Take over masses and pins; the layout stays."""
        if self._plan is None or self.system is None or not system.shares_structure(self.system):
            return False
        self._weigh(system)
        self.system = system
        return True

    def _weigh(self, system: System) -> None:
        """Inverse masses: none for pinned vertices; air makes the others a little heavier, as in `System.inertia`."""
        with np.errstate(over="ignore"):
            inverse = np.where(system.pin_weight > 0, 0.0, 1.0 / (system.inertia * system.h**2)).astype(np.float32)
        if not np.isfinite(inverse).all():
            raise InputError("a mass is too small for what float32 holds; rescale the scene")
        self.inverse[:] = inverse

    def _kappa(self, group: ConstraintGroup) -> float | None:
        if self.stiffness is None or self.bend is None or group.kind.unit != BENDING_UNIT:
            return self.stiffness
        return self.bend

    def _make_plan(self, phases: list[Phase]) -> None:
        self._planned = phases or [store_positions.over(0, 0, q=self.q, out=self.q, serial=True)]  # nothing to do
        self._plan = Plan(self._planned, self.threads)
        self._watched: Plan | None = None

    def _watching(self) -> Plan:
        """The plan with an eye on the violation."""
        if self._watched is None:
            parts = self.partial_sums()
            totals = np.zeros(len(parts))
            last = [
                add_up.over(0, len(sums), sums=sums, total=totals[k : k + 1], serial=True)
                for k, sums in enumerate(parts)
            ]
            watch = watch_violation.over(0, len(parts), totals=totals, serial=True, **self._convergence.arrays)
            self._watched = Plan([*self._planned, *last, watch], self.threads, self._convergence.monitor)
        return self._watched

    def begin(self) -> None:
        """What a step begins with: λ = 0."""
        for item in self.listed:
            if item.compliant:
                item.lambdas[:] = 0.0

    def solve(self, start: np.ndarray, constant: np.ndarray, out: np.ndarray, deadline: Deadline) -> Outcome:
        """Iterate from the first guess, which has the inertia in it; contacts have the last word."""
        if self._plan is None or self.system is None:
            raise InputError(f"solver {self.name!r} has not been prepared for a system")
        n, budget, convergence = len(start), deadline.budget, self._convergence
        copying = self.threads if n > SMALL else 1
        Plan([load_positions.over(0, n, start=start, inverse=self.inverse, q=self.q)], copying).run()
        self.begin()
        plan = self._watching() if convergence.begin(deadline) else self._plan
        at_ns, last = deadline.at_ns, self._last_word
        until = at_ns if at_ns is None or last is None else at_ns - self._last_ns
        sweeps = plan.run(budget.most_iterations, until, least=LEAST_SWEEPS if self._touched else 1)
        swept_ns = time.perf_counter_ns()
        if last is not None:
            begin_ns = swept_ns
            last.run(LAST_WORD)
            swept_ns = time.perf_counter_ns()
            self._last_ns = swept_ns - begin_ns
        Plan([store_positions.over(0, n, q=self.q, out=out)], copying).run()
        stopped = "iterations" if sweeps >= budget.most_iterations else "time"
        if convergence.satisfied:
            stopped = "tolerance"
        return Outcome(sweeps, self.violation(), stopped, swept_ns, self.note(), convergence.residuals)

    def partial_sums(self) -> list[np.ndarray]:
        """Arrays that add up to Σ (C + α λ)², or Σ C² without compliance."""
        return [item.sums for item in self.listed]

    def violation(self) -> float:
        """Root of that sum, as the last iteration met it."""
        return float(np.sqrt(sum(sums.sum() for sums in self.partial_sums())))

    def note(self) -> str:
        """What a user should know: viscosity is left out."""
        viscous = self.system is not None and self.system.viscous > 0
        return "viscosity is not part of position based dynamics and was left out" if viscous else ""


def _stiff_ones(group: ConstraintGroup) -> ConstraintGroup:
    """The constraints of a group that have any stiffness."""
    if (group.weights > 0).all():
        return group
    some = group.weights > 0
    parts: Sequence[np.ndarray] = [a[some] for a in (group.vertices, group.operator, group.weights, group.parameters)]
    return ConstraintGroup(group.kind, *parts)
