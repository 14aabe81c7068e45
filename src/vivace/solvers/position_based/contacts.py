"""The contacts of a step as phases of position based solvers."""

from __future__ import annotations

import numpy as np

from ...backends.cpu.executor import Job, Phase
from ...collisions.contacts import Contacts, PairContacts
from ..kernels.contact import begin_contacts, begin_walls
from .kernels.contact import push_contacts, push_walls


class Touching:
    """Arrays of a step's contacts, and the phases that work on them.

    pairs     the pairs of `contacts` in the order of visit
    previous  positions when the step began (n, 4)
    q         where the solver has its positions
    corners   an impulse for each corner of a contact, for solvers that visit vertices
    """

    def __init__(
        self,
        contacts: Contacts,
        pairs: PairContacts,
        previous: np.ndarray,
        q: np.ndarray,
        threads: int,
        *,
        corners: bool = False,
    ):
        walls, recovery = contacts.walls, np.array([contacts.recovery], np.float32)
        self.touched = len(walls.starts) - 1

        def table(vertices, coefficients, listed, impulses):
            planes = listed.planes.copy()  # gaps that are violated already are lowered
            before = np.zeros((len(listed), 4), np.float32)
            return vertices, coefficients, planes, before, np.zeros((impulses, 4), np.float32), listed.friction

        mine = table(pairs.vertices.ravel(), pairs.coefficients.ravel(), pairs, (4 if corners else 1) * len(pairs))
        walled = table(walls.vertices, recovery, walls, len(walls))
        self.pairs, self.walls = (*mine, q, recovery), (*walled, q, recovery, walls.starts)
        begin = [Phase(begin_contacts, (*mine, previous, recovery), 0, len(pairs))] if len(pairs) else []
        begin += [Phase(begin_walls, (*walled, previous, recovery), 0, len(walls))] if len(walls) else []
        if begin:
            Job(begin, threads).run()

    def in_place(self, pointers: np.ndarray, *, serial: bool = False) -> list[Phase]:
        """A pass over the pairs for each colour."""
        colours = zip(pointers[:-1].tolist(), pointers[1:].tolist(), strict=True)
        return [Phase(push_contacts, self.pairs, begin, end, serial=serial) for begin, end in colours]

    def against_walls(self) -> list[Phase]:
        return [Phase(push_walls, self.walls, 0, self.touched)] if self.touched else []
