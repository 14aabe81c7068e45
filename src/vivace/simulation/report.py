"""What a step did, and where its time went."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np

from ..collisions.contacts import Contacts
from ..deprecation import renamed_property
from ..energy.system import Frame, System
from ..solvers.base import Outcome
from ..solvers.reference import (
    Reference,
    minimise_from,
    polish,
    position_error,
    relative_error,
    telling,
)

STAGES = ("predict", "collide", "colour", "solve", "guard", "update")


@dataclass(frozen=True, eq=False)
class BodiesReport:
    """What a step did to the rigid bodies of a model.

    Attributes:
        positions: (B, 3) of their centres of mass, in m.
        orientations: (B, 4) unit quaternions, the scalar first.
        contacts: between rigid bodies.
        depth: the deepest overlap of two of them, in m.
        kinetic_energy: of those that are free, in J.
    """

    positions: np.ndarray
    orientations: np.ndarray
    contacts: int
    depth: float
    kinetic_energy: float


@dataclass(frozen=True, eq=False)
class Report:
    """What a step did.

    Attributes:
        number: of the step, from 1.
        sweeps: how many.
        residual: norm of the residual (N) that the last sweep met; of position based solvers, that of C + λ/(w h²).
        residuals: with `Simulation.trace`, (k, 2): the number of a sweep, from 0, and the residual it met, for every
            sweep over fresh projections, the first 4096 at most; otherwise empty.
        stopped: which limit ended it: "time", "iterations" or "tolerance".
        stages: milliseconds of each stage, in order.
        colours: of the constraint graph; None for solvers that do not colour.
        contacts: how many the collide stage found.
        phases: milliseconds of the solve stage by what was done in it (sweeps, local passes, coarse levels, ...).
        corrected: vertices that the guard had to stop from passing through a surface.
        note: what the solver had to do out of the ordinary; "" when nothing.
        substeps: equal parts that the step was made of; residual, energy, errors and contacts are those of the last
            part.
        bodies: of the model's rigid bodies; None if it has none.
        energy: ε of the step at the result (J), computed when first asked for.
        gradient: norm of ∇ε there (N), likewise; float32 positions leave about 1e-7 m x stiffness of it.
    """

    number: int
    sweeps: int
    residual: float
    residuals: np.ndarray
    stopped: str
    stages: MappingProxyType[str, float]
    colours: int | None
    contacts: int
    corrected: int
    note: str
    _system: System
    _frame: Callable[[], Frame]
    _rows: np.ndarray
    _contacts: Contacts
    substeps: int = 1
    budget_ms: float | None = None
    phases: Mapping[str, float] = field(default_factory=dict)
    bodies: BodiesReport | None = None

    stuck = renamed_property("Report.stuck", "corrected")

    def __repr__(self) -> str:
        return f"<Report of step {self.number}: {self.sweeps} sweeps, {self.ms:.2f} ms, stopped by {self.stopped}>"

    @property
    def ms(self) -> float:
        """The whole step (ms)."""
        return sum(self.stages.values())

    @property
    def late_ms(self) -> float:
        """By how much the step took longer than its budget (ms): no budget buys less than one iteration a substep."""
        return 0.0 if self.budget_ms is None else max(0.0, self.ms - self.budget_ms)

    @property
    def ms_per_sweep(self) -> float:
        """Milliseconds of the solve stage for each sweep."""
        return self.stages["solve"] / self.sweeps

    @property
    def finite(self) -> bool:
        """Whether all positions are finite numbers."""
        return bool(np.isfinite(self._rows).all())

    @property
    def positions(self) -> np.ndarray:
        """Where this step ended (n, 3), m."""
        return self._rows[:, :3]

    def moved(self, positions: np.ndarray) -> Report:
        """The same report of a body that is at `positions` (n, 3): for showing it, not for its energy or errors."""
        rows = np.zeros((len(positions), 4), np.float32)
        rows[:, :3] = positions
        return replace(self, _rows=rows)

    @property
    def frame(self) -> Frame:
        """The problem this step solved, in float64."""
        return self._frame()

    @property
    def system(self) -> System:
        """Matrix, energy and gradient of that problem."""
        return self._system

    @property
    def touching(self) -> np.ndarray:
        """The vertices that the collide stage found in contact."""
        return np.unique(np.concatenate([self._contacts.colliders.corners, self._contacts.over_four.corners]))

    def forces(self) -> np.ndarray:
        """|∇ε| at each vertex (N): what this step has left unsolved there."""
        sizes: np.ndarray = np.linalg.norm(self._system.gradient(self.positions.astype(np.float64), self.frame), axis=1)
        return sizes

    @cached_property
    def energy(self) -> float:
        """ε of the step at the result (J); of the last substep, computed when first asked for."""
        return self._system.energy(self.positions.astype(np.float64), self.frame)

    @cached_property
    def gradient(self) -> float:
        """Norm of ∇ε at the result (N); of the last substep, computed when first asked for."""
        return float(np.linalg.norm(self._system.gradient(self.positions.astype(np.float64), self.frame)))

    @cached_property
    def relative_error(self) -> float:
        """Against the converged minimum of this step: takes seconds, see `vivace.solvers.reference`.

        NaN with contacts: friction has no potential, so there is no such minimum. After several substeps it is the
        last one's.
        """
        if self.contacts:
            return float("nan")
        q = self.positions.astype(np.float64)
        return relative_error(self._system, self.frame, q, self._minimum if self.finite else None)

    @cached_property
    def position_error(self) -> float:
        """RMS distance (m) of the vertices from the converged minimum of this step; NaN where `relative_error` is.

        A small error of the energy says little about it: see `vivace.solvers.reference`.
        """
        if self.contacts:
            return float("nan")
        if not self.finite:
            return float("inf")
        frame, minimum = self.frame, self._minimum
        if telling(self._system, frame, minimum):
            minimum = polish(self._system, frame, minimum.q)
        return position_error(self._system, frame, self.positions.astype(np.float64), minimum)

    @cached_property
    def _minimum(self) -> Reference:
        """By energy: what both errors begin with."""
        return minimise_from(self._system, self.frame, self.positions.astype(np.float64))


@dataclass(frozen=True, eq=False)
class Part:
    """What one of the equal parts of a step did; `frame`: the problem it solved, of the last one only."""

    outcome: Outcome
    contacts: Contacts
    corrected: int
    frame: Callable[[], Frame] | None
    phases: dict[str, int]  # nanoseconds of the solve by phase


class StageClock:
    """Milliseconds of each stage, and the moment the budget started to run."""

    def __init__(self) -> None:
        self.start_ns = self._last = time.perf_counter_ns()
        self._stages = dict.fromkeys(STAGES, 0.0)

    def end(self, name: str) -> int:
        """A stage ends now: count what it took since the last one ended, and return that (ns)."""
        now = time.perf_counter_ns()
        spent, self._last = now - self._last, now
        self._stages[name] = self._stages.get(name, 0.0) + spent / 1e6
        return spent

    def restart_budget(self) -> None:
        """Let the budget run from now on: the set-up of a new solver is not part of it."""
        self.start_ns = time.perf_counter_ns()

    @property
    def stages(self) -> MappingProxyType[str, float]:
        """Milliseconds of each stage so far, in order."""
        return MappingProxyType(self._stages)


def milliseconds(parts: list[dict[str, int]]) -> dict[str, float]:
    """Milliseconds by phase, of all parts of a step, the longest first."""
    total: dict[str, int] = {}
    for part in parts:
        for label, ns in part.items():
            total[label] = total.get(label, 0) + ns
    return {label: total[label] / 1e6 for label in sorted(total, key=lambda label: -total[label])}
