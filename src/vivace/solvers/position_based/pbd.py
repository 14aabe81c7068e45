"""Position based dynamics, one constraint after the other [mueller2007; fratarcangeli2013, section 2]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...backends.cpu.arguments import Phase
from ...collisions.contacts import Contacts
from ...constraints import ConstraintGroup
from ...energy.system import System
from ..base import SOLVERS
from .base import PositionalSolver
from .contacts import ContactPasses


@SOLVERS.register("pbd")
@dataclass(eq=False)
class Pbd(PositionalSolver):
    """Position based dynamics by serial Gauss-Seidel, in the order of the model: the paper's single core.

    Attributes:
        stiffness: None: compliance from the model's weights (XPBD); or the paper's stiffness, 0 to 1.
        bend: stiffness of bending, if `stiffness` is a number; None: the same.

    Limitations: no energy terms of a model's own, no viscosity, no creases; one thread does all; few iterations leave
    cloth stretched; friction is remembered for one step only, so that heaps creep (`collide(sleep=...)` stops them).
    """

    stiffness: float | None = None
    bend: float | None = None

    name = "pbd"

    def arrange(self, groups: list[ConstraintGroup], system: System) -> list[tuple[np.ndarray, np.ndarray]]:
        """The order of the model, in one colour."""
        return [(np.arange(len(group)), np.array([0, len(group)])) for group in groups]

    def iteration(self) -> list[Phase]:
        """One constraint after the other."""
        return [phase for item in self.listed for phase in item.phases(self.q, serial=True)]

    def iteration_with(self, contacts: Contacts, previous: np.ndarray) -> list[Phase]:
        """The same, then one contact after the other, then colliders."""
        touching = ContactPasses(contacts, contacts.over_four, previous, self.q, self.threads)
        everything = np.array([0, len(contacts.over_four)])
        self.contact_phases = [*touching.in_place(everything, serial=True), *touching.against_walls()]
        return [*self._phases, *self.contact_phases]
