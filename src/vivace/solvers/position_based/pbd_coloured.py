"""Position based dynamics over coloured constraints: one parallel pass a colour [fratarcangeli2013, section 3].

Two constraints are neighbours when they share a vertex; those of one colour share none and are solved in parallel.
Each type of constraint has colours of its own, as in Table 1 of the paper, or all types are coloured together.
Contacts, new in every frame, are coloured against themselves, or against all others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...backends.cpu.arguments import Phase
from ...backends.cpu.executor import SMALLEST_CHUNK
from ...checks import is_whole
from ...collisions.contacts import Contacts
from ...colouring import (
    COLOURINGS,
    Colouring,
    ContactColours,
    colour_constraints,
    merge_small,
    split,
)
from ...constraints import ConstraintGroup
from ...energy.system import System
from ...errors import InputError
from ..base import SOLVERS
from .base import PositionalSolver
from .contacts import ContactPasses


@SOLVERS.register("pbd-coloured")
@dataclass(eq=False)
class PbdColoured(PositionalSolver):
    """Position based dynamics by Gauss-Seidel over coloured constraints, each colour in parallel.

    Attributes:
        stiffness: None: compliance from the model's weights (XPBD); or the paper's stiffness, 0 to 1.
        bend: stiffness of bending, if `stiffness` is a number; None: the same.
        together: colour all types of constraints together, instead of each by itself.
        colouring_algorithm: name of a colouring (see `vivace list colourings`); the paper's is smallest-last.
        smallest: colours with fewer constraints are merged where possible; 0: none.
        largest: colours with more constraints are split; 0: none.

    Limitations: no energy terms of a model's own, no viscosity, no creases; few iterations leave cloth stretched;
    friction is remembered for one step only, so that heaps creep (`collide(sleep=...)` stops them).
    """

    stiffness: float | None = None
    bend: float | None = None
    together: bool = False
    colouring_algorithm: str = "greedy-smallest-last"
    smallest: int = 0
    largest: int = 0

    name = "pbd-coloured"

    def __post_init__(self) -> None:
        super().__post_init__()
        COLOURINGS[self.colouring_algorithm]
        for what in ("smallest", "largest"):
            value = getattr(self, what)
            if not is_whole(value) or value < 0:
                raise InputError(f"{what} must be a whole number of constraints, zero or more, not {value!r}")
        self.colourings: dict[str, Colouring] = {}  # of each type; "all" when they are coloured together

    def arrange(self, groups: list[ConstraintGroup], system: System) -> list[tuple[np.ndarray, np.ndarray]]:
        """Colour by colour: each group coloured by itself, or all together."""
        self._n = system.n
        tables = [group.vertices for group in groups]
        self._contact_colours = ContactColours((), system.n, np.zeros(0, np.int32))
        self._contact_count = 0
        if not self.together:
            self.colourings, found = {}, []
            for group in groups:
                colouring = self._colour(group.vertices)
                name = group.kind.name
                while name in self.colourings:
                    name += "'"  # a second group of the same type
                self.colourings[name] = colouring
                found.append(colouring.order(group.vertices.min(axis=1)))
            return found
        whole = self._colour(tables) if tables else None
        self.colourings = {"all": whole} if whole else {}
        self.colouring = whole
        if whole is None:
            return []
        self._contact_colours = ContactColours(tables, system.n, whole.colours)
        bounds = np.cumsum([0, *(len(table) for table in tables)])
        found = []
        for k, table in enumerate(tables):
            mine = whole.colours[bounds[k] : bounds[k + 1]]
            order = np.lexsort((table.min(axis=1), mine))
            found.append((order, np.concatenate([[0], np.cumsum(np.bincount(mine, minlength=whole.count))])))
        return found

    def _colour(self, vertices: np.ndarray | list[np.ndarray]) -> Colouring:
        found = colour_constraints(vertices, self._n, self.colouring_algorithm, seed=self.seed, threads=self.threads)
        if self.smallest:
            found = merge_small(vertices, self._n, found, self.smallest)
        return split(found, self.largest) if self.largest else found

    @property
    def colours(self) -> int | None:
        """Phases of an iteration: the colours of all types, and those of the contacts."""
        own = sum(colouring.count for colouring in self.colourings.values())
        return max(own, self._contact_count) if self.together else own + self._contact_count

    def iteration(self) -> list[Phase]:
        """One colour after the other, the constraints of each in parallel."""
        return [phase for colour in self._by_colour() for phase in colour]

    def _by_colour(self) -> list[list[Phase]]:
        """Phases of each colour: type after type, or, coloured together, all types of a colour."""
        types = [item.phases(self.q) for item in self.listed]
        if not self.together:
            return [[phase] for phases in types for phase in phases]
        return [[phase for phase in colour if phase.end > phase.begin] for colour in zip(*types, strict=True)]

    def iteration_without(self) -> list[Phase]:
        """The iteration of the model alone; contacts have no colours any more."""
        self._contact_count = 0
        return self._phases

    def iteration_with(self, contacts: Contacts, previous: np.ndarray) -> list[Phase]:
        """The same with the contacts, which are coloured for each step and share the colours where these are common."""
        colours = self._contact_colours.colour(contacts.over_four.vertices)
        sizes = np.bincount(colours)
        self._contact_count = len(sizes) if self.together else int(np.count_nonzero(sizes))
        if not self.together:
            return self._apart(contacts, previous, colours, sizes)
        pairs = contacts.over_four.ordered(np.argsort(colours.astype(np.uint16), kind="stable"))
        touching = ContactPasses(contacts, pairs, previous, self.q, self.threads)
        passes = touching.in_place(np.concatenate([[0], np.cumsum(sizes)]))
        self.contact_phases = [*(p for p in passes if p.end > p.begin), *touching.against_walls()]
        mixed: list[Phase] = []
        own = self._by_colour()
        for k in range(max(len(own), len(passes))):
            mixed += own[k] if k < len(own) else []
            mixed += [passes[k]] if k < len(passes) and passes[k].end > passes[k].begin else []
        return [*mixed, *touching.against_walls()]

    def _apart(self, contacts: Contacts, previous: np.ndarray, colours: np.ndarray, sizes: np.ndarray) -> list[Phase]:
        """Contacts after all others.

        Where many meet at a vertex there are many small colours, for which a second thread brings nothing: they are
        visited one contact after the other, in one phase.
        """
        small = sizes < SMALLEST_CHUNK
        rank = np.cumsum(~small) - 1
        overflow = int(rank[-1]) + 1 if len(sizes) else 0
        rank[small] = overflow
        place = rank[colours].astype(np.uint16)
        pairs = contacts.over_four.ordered(np.argsort(place, kind="stable"))
        touching = ContactPasses(contacts, pairs, previous, self.q, self.threads)
        pointers = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=overflow + 1))])
        passes = [*touching.in_place(pointers[:-1]), *touching.in_place(pointers[-2:], serial=True)]
        self.contact_phases = [*(p for p in passes if p.end > p.begin), *touching.against_walls()]
        return [*self._phases, *self.contact_phases]
