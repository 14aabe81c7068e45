"""Position based dynamics where every constraint sees the last iteration's positions: Jacobi.

A vertex of n constraints moves by their corrections averaged, ω/n Σ Δx [macklin2014], or relaxed by one number for all,
α Σ Δx [fratarcangeli2018, Eq. 27], which conserves momentum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...backends.cpu.arguments import Phase
from ...checks import is_number
from ...collisions.contacts import Contacts
from ...constraints import ConstraintGroup
from ...energy.kernels.assemble import list_corners
from ...energy.system import System
from ...errors import InputError
from ..base import SOLVERS
from ..projective.kernels.acceleration import add_correction
from .base import PositionalSolver
from .contacts import ContactPasses
from .kernels.contact import push_contacts_apart
from .kernels.steps import clear_steps, gather_steps

Update = Callable[[np.ndarray, np.ndarray], list[Phase]]  # what is made of q and the summed corrections


@SOLVERS.register("pbd-jacobi")
@dataclass(eq=False)
class PbdJacobi(PositionalSolver):
    """Position based dynamics by Jacobi: corrections averaged at every vertex, or relaxed by alpha.

    Attributes:
        stiffness: None: compliance from the model's weights (XPBD); or the paper's stiffness, 0 to 1.
        bend: stiffness of bending, if `stiffness` is a number; None: the same.
        omega: over-relaxation of the average, (0, 2).
        alpha: None: averaged; a number: every correction counts by so much, as in the course (0.3 for triangles, 0.045
            for tetrahedra).

    Limitations: no energy terms of a model's own, no viscosity, no creases; few iterations leave cloth stretched, and
    more than Gauss-Seidel's; averages conserve no momentum where vertices have different numbers of neighbours, and
    bodies may turn slowly on the floor; friction is remembered for one step only, so that heaps creep
    (`collide(sleep=...)` stops them).
    """

    stiffness: float | None = None
    bend: float | None = None
    omega: float = 1.0
    alpha: float | None = None

    name = "pbd-jacobi"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_number(self.omega) or not 0 < self.omega < 2:
            raise InputError(f"omega must lie between 0 and 2, not {self.omega!r}")
        if self.alpha is not None and not (is_number(self.alpha) and 0 < self.alpha <= 1):
            raise InputError(f"alpha must lie in (0, 1], or be None to average, not {self.alpha!r}")
        self.update: Update | None = None

    def accelerate(self, update: Update) -> None:
        """Let `update` make the step of the summed corrections.

        Then λ, which is no part of what is accelerated, would not belong to the positions: constraints are taken as the
        course has them, without compliance.
        """
        self.update = update
        if self.stiffness is None:
            self.stiffness = 1.0

    def arrange(self, groups: list[ConstraintGroup], system: System) -> list[tuple[np.ndarray, np.ndarray]]:
        """One colour, sorted by vertex: constraints that read the same positions stand together."""
        self._n = system.n
        visits = [np.argsort(group.vertices.min(axis=1), kind="stable") for group in groups]
        return [(order, np.array([0, len(order)])) for order in visits]

    def iteration(self) -> list[Phase]:
        """All corrections into slots, from the same positions; then every vertex adds up its own."""
        n = self._n
        used = [item.vertices.reshape(len(item.soft), -1)[item.place] for item in self.listed]
        flat = np.concatenate([table.ravel() for table in used]) if used else np.zeros(0, np.int32)
        self._slot_at, _, slot_of = list_corners(flat, n)
        self._slots = np.zeros((len(flat), 4), np.float32)
        self._own = np.diff(self._slot_at)
        self._shares, self._step = np.zeros(n, np.float32), np.zeros((n, 4), np.float32)
        self._share(self._own)
        self._passes, begin = [], 0
        for item, table in zip(self.listed, used, strict=True):
            targets = np.zeros((len(item.soft), table.shape[1]), np.int32)
            targets[item.place] = slot_of[begin : begin + table.size].reshape(table.shape)
            begin += table.size
            self._passes += item.phases(self.q, targets=targets.ravel(), slots=self._slots, shares=self._shares)
        self._gather = gather_steps.over(0, n, slot_at=self._slot_at, slots=self._slots, step=self._step)
        clear = clear_steps.over(0, n, step=self._step)
        make = self.update or (lambda q, e: [add_correction.over(0, n, q=q, e=e)])
        self._before, self._after = [clear], make(self.q, self._step)
        return [*self._before, *self._passes, self._gather, *self._after]

    def _share(self, counts: np.ndarray) -> None:
        shares = self.omega / np.maximum(counts, 1) if self.alpha is None else self.alpha
        self._shares[:] = shares

    def begin(self) -> None:
        """What a step begins with: λ = 0, which stands in the slots."""
        self._slots[:] = 0.0

    def iteration_without(self) -> list[Phase]:
        """The iteration of the model alone; averages no longer count contacts."""
        self._share(self._own)
        return self._phases

    def iteration_with(self, contacts: Contacts, previous: np.ndarray) -> list[Phase]:
        """The same with slots for the contacts, which count in the averages."""
        n, pairs = self._n, contacts.over_four
        touching = ContactPasses(contacts, pairs, previous, self.q, self.threads)
        slot_at, _, slot_of = list_corners(pairs.vertices.ravel(), n)
        self._share(self._own + np.diff(slot_at))
        passes, mine = list(self._passes), list[Phase]()
        if len(pairs):
            slots = np.zeros((len(slot_of), 4), np.float32)
            apart = {"targets": slot_of, "slots": slots, "shares": self._shares}
            mine.append(push_contacts_apart.over(0, len(pairs), **touching.pairs, **apart))
            mine.append(gather_steps.over(0, n, slot_at=slot_at, slots=slots, step=self._step))
        walls, add = touching.against_walls(), add_correction.over(0, n, q=self.q, e=self._step)
        self.contact_phases = [*self._before, *mine, add, *walls]
        return [*self._before, *passes, *mine, self._gather, *self._after, *walls]
